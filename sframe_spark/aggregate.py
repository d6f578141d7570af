"""Aggregates for :meth:`SFrame.groupby`, for windows and for runs of rows.

Examples
--------
>>> import sframe_spark.aggregate as agg
>>> from sframe_spark import SFrame
>>> SFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]}).groupby("k", {"sum": agg.SUM("v")}).to_arrow().to_pydict()
{'k': ['a', 'b'], 'sum': [4, 2]}
"""

from typing import Any

from sframe_spark.api.aggregate import (
    ARGMAX,
    ARGMIN,
    AVG,
    CONCAT,
    CORRELATION,
    COUNT,
    COUNT_DISTINCT,
    DISTINCT,
    FREQ_COUNT,
    MAX,
    MEAN,
    MIN,
    QUANTILE,
    SELECT_ONE,
    SKEWNESS,
    STD,
    STDV,
    SUM,
    VAR,
    VARIANCE,
)
from sframe_spark.api.error_hints import no_aggregate

__all__ = [
    "ARGMAX", "ARGMIN", "AVG", "CONCAT", "CORRELATION", "COUNT", "COUNT_DISTINCT", "DISTINCT", "FREQ_COUNT", "MAX", "MEAN", "MIN",
    "QUANTILE", "SELECT_ONE", "SKEWNESS", "STD", "STDV", "SUM", "VAR", "VARIANCE",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Raise an error for any other name, with a hint for aggregates of other libraries."""
    raise AttributeError(name) if name.startswith("__") else no_aggregate(name, __all__)
