"""Aggregate functions: importing this package fills the table."""

from sframe_spark.expressions.aggregates import base, collected, extremes, histograms, items, labelled, numeric, profiling, ranks, runs

__all__ = ["collected", "extremes", "histograms", "items", "labelled", "numeric", "profiling", "ranks", "runs"]

base.AGGREGATES.close()
