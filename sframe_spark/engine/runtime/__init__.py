"""Kernels of a section over ranges of rows, here or in Spark's tasks."""
