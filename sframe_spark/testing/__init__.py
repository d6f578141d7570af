"""Doors for authors of operators and laws."""
