"""Aggregate functions: importing this package fills the table."""

from sframe_spark.expressions.aggregates import (
    aggregate_function,
    chosen_rows,
    counts,
    distinct_values,
    extremes,
    frequencies,
    histograms_summaries_and_rank_counts,
    lists_and_dicts,
    moment_aggregates,
    products,
    quantiles,
    skewness_and_correlation,
    spreads,
    sums_and_means,
    vectors,
)

__all__ = [
    "chosen_rows",
    "counts",
    "distinct_values",
    "extremes",
    "frequencies",
    "histograms_summaries_and_rank_counts",
    "lists_and_dicts",
    "moment_aggregates",
    "products",
    "quantiles",
    "skewness_and_correlation",
    "spreads",
    "sums_and_means",
    "vectors",
]

aggregate_function.AGGREGATES.close()
