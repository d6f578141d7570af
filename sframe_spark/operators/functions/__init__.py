"""Scalar functions: importing this package fills the table."""
