"""Rows of a dataset: written with their statistics, read by ranges, left out where bounds say so."""
