"""Joins on equal keys."""
