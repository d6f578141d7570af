"""Aggregate functions: importing this package fills the table."""

from sframe_spark.expressions.aggregates import (
    aggregate_function,
    chosen_rows,
    distinct_values,
    extremes,
    frequencies,
    histograms_summaries_and_rank_counts,
    lists_and_dicts,
    quantiles,
    sums_means_and_variances,
)

__all__ = [
    "chosen_rows",
    "distinct_values",
    "extremes",
    "frequencies",
    "histograms_summaries_and_rank_counts",
    "lists_and_dicts",
    "quantiles",
    "sums_means_and_variances",
]

aggregate_function.AGGREGATES.close()
