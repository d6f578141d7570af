"""The scalar function that puts numbers into bins between edges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, SchemaError, listed
from sframe_spark.expressions.functions.scalar_function import Argument, array_of, define_function
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.types import INT, STR, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.key_runs import plain_numbers

SIDES = ("right", "left")
Parameters = tuple[Any, ...]


def _infer(types: Sequence[ColumnType], parameters: Parameters) -> ColumnType:
    edges, closed, labels = parameters
    if not types[0].is_numeric:
        raise SchemaError(f"cut() takes numbers, not values of type {types[0].kind}")
    if len(edges) < 2 or not all(first < second for first, second in itertools.pairwise(edges)):
        raise InvalidArgumentError(f"the edges of bins must be two or more ascending numbers, got {brief(list(edges))}")
    if closed not in SIDES:
        raise InvalidArgumentError(f"closed must be one of {listed(SIDES)}, got {brief(closed)}")
    if labels is not None and (len(labels) != len(edges) - 1 or not all(isinstance(label, str) for label in labels)):
        raise InvalidArgumentError(f"labels must be {len(edges) - 1} texts, one for each bin, got {brief(list(labels))}")
    return INT if labels is None else STR


def _compute(values: Sequence[Argument], types: Sequence[ColumnType], parameters: Parameters, rows: int) -> pa.Array:
    """Return for each number how many edges are below it, less one."""
    edges, closed, labels = parameters
    column = array_of(values[0], rows)
    numbers = plain_numbers(column)
    is_exact = numbers.dtype.kind != "f" and all(isinstance(edge, int) and -(2**63) <= edge < 2**63 for edge in edges)
    limits = np.array(edges, dtype=np.int64 if is_exact else np.float64)
    found = np.searchsorted(limits, numbers if is_exact else numbers.astype(np.float64), "left" if closed == "right" else "right") - 1
    missing = (found < 0) | (found >= len(edges) - 1) | column.is_null().to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        missing |= np.isnan(numbers)
    bins = pa.array(found, mask=missing)
    return bins if labels is None else pa.array(labels, pa.string()).take(bins)


define_function("bin_between", _infer, _compute, arguments=1)
