"""What physical planning knows: the site, where nodes may run, where columns come from, and which users' DataFrames are evaluated first."""
