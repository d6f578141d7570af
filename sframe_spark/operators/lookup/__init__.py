"""Operators that search rows of an ordered input."""
