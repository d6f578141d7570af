"""Aggregate functions: importing this package fills the table."""

from sframe_spark.expressions.aggregates import aggregate_function, collected, extremes, numeric, profiling

__all__ = ["collected", "extremes", "numeric", "profiling"]

aggregate_function.AGGREGATES.close()
