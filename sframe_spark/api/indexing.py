"""Interprets indices, slices, masks and flags, and reads single rows in cached ranges."""

from __future__ import annotations

import contextlib
import copy
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sframe_spark.api.node_values import python_columns, rows_of
from sframe_spark.api.user_functions import compute_captured
from sframe_spark.config import config
from sframe_spark.engine.execution.source_validation import require_unchanged_files, watched_manifests
from sframe_spark.errors import (
    BeyondRangeError,
    InvalidArgumentError,
    MaskLengthError,
    NegativeCountError,
    NotCallableError,
    RowNotFoundError,
    SchemaError,
    ZeroStepError,
)
from sframe_spark.locations import is_remote_location
from sframe_spark.message_text import brief
from sframe_spark.operators.slice import slice_rows
from sframe_spark.operators.udf_calls import calls_user_functions
from sframe_spark.planner.inference import infer_planner_node_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND
from sframe_spark.udf.bound_function import FunctionAsNow
from sframe_spark.values.input_values import is_of_spark
from sframe_spark.values.value_model import is_number, one_value

ROW_LIMIT = 2**62
"""More rows than any frame has, with room for adding."""


def mask_error(mask: int, rows: int, what: str) -> MaskLengthError:
    """Return the error about a mask whose length is not that of the rows."""
    return MaskLengthError(f"the mask has {mask} rows, the {what} has {rows}: a mask needs one value per row")


def immutable_rows_error(column: str) -> SchemaError:
    """Return the error about assigning or deleting rows, as columns are immutable.

    Examples
    --------
    >>> print(immutable_rows_error("sf['a']"))
    rows are not changed, columns are replaced: sf['a'] = SArray.where(sf['a'] > 9, 9, sf['a']); a filter leaves rows out
    """
    return SchemaError(f"rows are not changed, columns are replaced: {column} = SArray.where({column} > 9, 9, {column}); a filter leaves rows out")


def bind_function(
    fn: Any, what: str, rows: int | None, tried: int = 0, form: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
) -> FunctionAsNow:
    """Return a user's function with its names bound to their present values.

    Parameters
    ----------
    fn
        The user's argument.
    what
        What messages call it.
    rows, tried
        The maximum number of rows it is called for, and how many of them are tried at once; for later rows the present values are kept.
    form
        Wraps the function.

    Raises
    ------
    NotCallableError
        If it is something else.
    """
    if not callable(fn):
        raise NotCallableError(f"{what} takes a function, got {type(fn).__name__}")
    bound = FunctionAsNow(fn, form)
    compute_captured(bound)
    if rows is None or rows > tried:
        bound.keep(is_for_other_processes=rows is None or rows > config.small_rows)
    return bound


def whole(value: Any, what: str) -> int:
    """Return a whole number of rows; floats are truncated, as in the reference, and huge numbers limited to ``ROW_LIMIT``.

    Raises
    ------
    SchemaError
        If the value is not a number.
    InvalidArgumentError
        If it is infinite (an OverflowError too) or NaN.
    """
    value = one_value(value)
    if not (is_number(value) or isinstance(value, np.bool_)):
        raise SchemaError(f"{what} is a whole number, got {value!r}")
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise (InvalidArgumentError if math.isnan(value) else BeyondRangeError)(f"{what} is a whole number, got {value!r}")
    return max(-ROW_LIMIT, min(int(value), ROW_LIMIT))


def flag(value: Any, what: str) -> bool:
    """Return whether a flag is set, given as a truth value or as a number, which is truncated as in the reference.

    Raises
    ------
    SchemaError
        If it is neither.
    """
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise SchemaError(f"{what} is True or False, got {value!r}")
    return bool(whole(value, what))


def row_number(index: Any, rows: int, what: str) -> int:
    """Return the row number, from 0, of an index that may be negative.

    Raises
    ------
    IndexError
        If there is no such row.
    """
    number = int(index)
    if number < 0:
        number += rows
    if not 0 <= number < rows:
        raise RowNotFoundError(f"{what} has {rows} rows, so there is no row {brief(index)}")
    return number


def is_collection(values: Any) -> bool:
    """Return whether values can be iterated over; a Spark Column only seems to be iterable."""
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)) and not is_of_spark(values)


def is_row_index(key: Any) -> bool:
    """Return whether a key is an integer of any library."""
    return isinstance(key, numbers.Integral)


def sliced(node: PlannerNode, key: slice, count: Callable[[], int]) -> PlannerNode:
    """Return the rows of a slice; negative bounds count from the end, the step is positive.

    Raises
    ------
    OverflowError
        If the step is negative.
    ValueError
        If the step is zero.
    """
    start = 0 if key.start is None else whole(key.start, "the start of a slice")
    stop = None if key.stop is None else whole(key.stop, "the end of a slice")
    step = 1 if key.step is None else whole(key.step, "the step of a slice")
    if step < 0:
        backwards = "sf.add_row_number('id').sort('id', ascending=False) turns them round"
        raise NegativeCountError(f"rows are read forwards only: the step of a slice must be positive; {backwards}")
    if step == 0:
        raise ZeroStepError("the step of a slice cannot be zero")
    if start < 0 or (stop is not None and stop < 0):
        rows = count()
        start, stop, step = slice(start, stop, step).indices(rows)
    if stop is not None and stop < start:
        stop = start
    return slice_rows(node, start, stop, step)


def head_count(n: Any) -> int:
    """Return a checked number of rows to take.

    Raises
    ------
    OverflowError
        If it is negative.
    """
    count = whole(n, "the number of rows to take")
    if count < 0:
        raise NegativeCountError(f"the number of rows to take cannot be negative, got {brief(n)}")
    return count


Row = tuple[Any, ...]

MAX_RANGE_ROWS = 4096
"""Rows in the largest range that is read for one row."""
MAX_RANGE_BYTES = 1 << 20
"""Bytes of a range beyond which ranges do not grow, and only one is cached."""
MAX_RANGES = 8

_MUTABLE = (ARRAY_KIND, DICT_KIND, LIST_KIND)


class RecentRows:
    """Cached ranges of rows around those read last, which grow as long as neighbouring rows are requested.

    As a user's function may be slow, no more rows are computed ahead than were requested so far.

    Parameters
    ----------
    node
        The node whose rows are read.
    names
        Names of its columns, for errors.
    """

    def __init__(self, node: PlannerNode, names: list[str] | None = None) -> None:
        self.node = node
        self._names = names
        self._last, self._may_grow = -MAX_RANGE_ROWS, True
        # Rows in a range, and ranges by their number: one tuple, replaced atomically, as several threads may read.
        self._cached: tuple[int, dict[int, list[Row]]] = 1, {}
        # For remote files, checking for changes would take a request per row.
        self._is_change_checked = not all(is_remote_location(manifest.directory) for manifest in watched_manifests(node))
        self._is_mutable = any(kind.kind in _MUTABLE for kind in node.schema)

    def known(self, index: int) -> Row | None:
        """Return a cached row; None for other rows, and for negative numbers.

        Raises
        ------
        StorageError
            If the files that it was read from have changed.
        """
        size, ranges = self._cached
        rows = ranges.get(index // size)
        if rows is None or index % size >= len(rows):
            return None
        if self._is_change_checked:
            require_unchanged_files(self.node)
        return self._safe_copy(rows[index % size])

    def row(self, index: int) -> Row:
        """Return a row, which must exist."""
        cached = self.known(index)
        return self._safe_copy(self._read(index)) if cached is None else cached

    def _safe_copy(self, row: Row) -> Row:
        # Users may modify the lists that they get.
        return copy.deepcopy(row) if self._is_mutable else row

    def _read(self, index: int) -> Row:
        size, ranges = self._cached
        if self._may_grow and size < MAX_RANGE_ROWS and self._is_near(index, size, ranges):
            size, ranges = size * 2, {}
        self._last = index
        with contextlib.suppress(Exception):
            return self._read_range(index // size, size, ranges)[index % size]
        # Another row of the range may have failed: read only this one.
        return self._read_range(index, 1, {})[0]

    def _is_near(self, index: int, size: int, ranges: dict[int, list[Row]]) -> bool:
        """Return whether ranges should grow: the row is next to cached ones, or there are few rows in all."""
        if index // size - 1 in ranges:
            return True
        if not ranges or calls_user_functions(self.node):
            return False
        rows = infer_planner_node_length(self.node)
        return (rows is not None and rows <= MAX_RANGES * MAX_RANGE_ROWS) or abs(index - self._last) < MAX_RANGE_ROWS

    def _read_range(self, place: int, size: int, ranges: dict[int, list[Row]]) -> list[Row]:
        """Read a range of rows, and cache it with others of its size."""
        chunk = rows_of(self.node, place * size, (place + 1) * size, as_objects=True)
        columns = python_columns(chunk, self.node.schema, place * size, self._names)
        bytes_read = sum(column.nbytes for column in chunk.columns)
        self._may_grow = 2 * bytes_read <= MAX_RANGE_BYTES
        kept_ranges = [] if bytes_read > MAX_RANGE_BYTES else list(ranges.items())[1 - MAX_RANGES :]
        rows = list(zip(*columns, strict=True))
        self._cached = size, {**dict(kept_ranges), place: rows}
        return rows


class RowAccess:
    """Mixin: access to single rows by number."""

    _node: PlannerNode
    _recent: RecentRows | None = None

    def _recent_rows(self, names: list[str] | None = None) -> RecentRows:
        if self._recent is None or self._recent.node is not self._node:
            self._recent = RecentRows(self._node, names)
        return self._recent

    def _known_row(self, key: Any) -> Row | None:
        """Return a cached row by its number from 0; None for other keys and rows."""
        recent = self._recent
        return recent.known(key) if recent is not None and type(key) is int and recent.node is self._node else None
