"""Operators whose row depends on the rows before it: running values, windows, shifts, smoothing."""
