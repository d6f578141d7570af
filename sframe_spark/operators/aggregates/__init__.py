"""Aggregate functions: importing this package fills the table."""

from sframe_spark.operators.aggregates import base, collected, extremes, numeric, runs

__all__ = ["collected", "extremes", "numeric", "runs"]

base.AGGREGATES.close()
