"""Datasets that the engine makes, and sources made ready for Spark."""
