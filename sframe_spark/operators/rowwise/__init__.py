"""Operators whose row is made of one row of each input: programs, projections, columns side by side."""
