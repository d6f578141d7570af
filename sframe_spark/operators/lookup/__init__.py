"""Readers of source rows by index, and searches for rows by key, which operators such as joins use."""
