"""Physical planning: how each part of a plan is to run, as a tree of sections, decided before anything runs."""
