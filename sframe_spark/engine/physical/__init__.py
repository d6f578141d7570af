"""The physical plan: where each part of a plan runs, as a tree of sections, decided before anything runs."""
