"""Aggregates of rows whose equal values are next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.compute.key_runs import run_starts
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.types import INT, ColumnType

COMPARED = ("int", "float", "str", "datetime")


def infer_run_count(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """An int, of values that can be compared with their neighbours."""
    require("count_runs", types[0], COMPARED)
    return INT


def reduce_run_count(arrays: Sequence[pa.Array], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Any:
    """Number of runs of equal values, missing included: of values in order the number of distinct ones.

    Examples
    --------
    >>> reduce_run_count([pa.array([None, 1, 1, 3])], [INT], ())
    3
    """
    return len(run_starts(arrays, types, len(arrays[0])))


define_aggregate("count_runs", infer_run_count, reduce_run_count)
