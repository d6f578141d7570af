"""The scalar functions of time lines: where a session begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_float_distances import last_until
from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.errors import ExecutionError, SchemaError
from sframe_spark.expressions.functions.scalar_function import Argument, array_of, define_function
from sframe_spark.types import DATETIME_KIND, INT, ColumnType
from sframe_spark.values.datetimes import timestamp_text


def _infer_start(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the int type; parameter: the longest distance within a session, in the unit of the times."""
    if not types[0].is_numeric and types[0].kind != DATETIME_KIND:
        raise SchemaError(f"sessions need times of int, float or datetime, not of {types[0].kind}")
    if types[0] != types[1]:
        raise SchemaError(f"sessions compare times of one type, not {types[0]} and {types[1]}")
    return INT


def _compute_start(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    """Return 1 where a time is further than the gap from the known time before it, or the first one; 0 elsewhere; missing without a time."""
    (gap,) = parameters
    columns = [array_of(argument, rows) for argument in arguments]
    times, before = (plain_numbers(comparable(column, column_type)) for column, column_type in zip(columns, types, strict=True))
    known, follows = (column.is_valid().to_numpy(zero_copy_only=False) for column in columns)
    both = known & follows
    backwards = both & (times < before)
    if backwards.any():
        row = int(np.argmax(backwards))
        shown = [timestamp_text(int(values[row])) if types[0].kind == DATETIME_KIND else values[row] for values in (times, before)]
        raise ExecutionError(f"sessions need times that do not go backwards, but {shown[0]} comes after {shown[1]}: sort by time first")
    return pa.array((~follows | _is_far(times, before, gap)).astype(np.int64), mask=~known)


def _is_far(times: np.ndarray, before: np.ndarray, gap: int | float) -> np.ndarray:
    """Return which times are more than a gap after those before them."""
    if times.dtype.kind == "f":
        return times > last_until(before, float(gap))
    # As unsigned numbers distances between ints do not overflow.
    return times.view(np.uint64) - before.view(np.uint64) > np.uint64(gap)


define_function("session_start", _infer_start, _compute_start, may_fail=True, arguments=2)
