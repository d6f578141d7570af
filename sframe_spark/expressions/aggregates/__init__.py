"""Aggregate functions: importing this package fills the table."""

from sframe_spark.expressions.aggregates import (
    aggregate_function,
    chosen_rows,
    collecting_aggregates,
    extremes,
    histograms_summaries_and_rank_counts,
    sums_means_and_variances,
)

__all__ = ["chosen_rows", "collecting_aggregates", "extremes", "histograms_summaries_and_rank_counts", "sums_means_and_variances"]

aggregate_function.AGGREGATES.close()
