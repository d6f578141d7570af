"""Operators whose output row depends on nearby or earlier rows: running values, rolling windows, shifts, smoothing."""
