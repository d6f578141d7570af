"""Operators that make one row of each group."""
