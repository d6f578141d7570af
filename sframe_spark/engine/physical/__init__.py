"""The information for physical planning: the site, where nodes may run, where columns come from, and which users' DataFrames are evaluated first."""
