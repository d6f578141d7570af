"""Conversions between frames and the tables of other libraries: Arrow, pandas and Spark."""
