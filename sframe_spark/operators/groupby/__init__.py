"""Operators that make one row of each group, and operators over all rows of one time (cycles and intervals)."""
