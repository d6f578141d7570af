"""Aggregate functions: importing this package fills the table."""

from sframe_spark.operators.aggregates import base, collected, extremes, histograms, items, labelled, numeric, ranks, runs, summaries

__all__ = ["collected", "extremes", "histograms", "items", "labelled", "numeric", "ranks", "runs", "summaries"]

base.AGGREGATES.close()
