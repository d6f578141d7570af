"""Reads single rows through a cache of ranges around the rows read last, with the mixin by which SFrame and SArray use the cache."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from sframe_spark.api.node_value_conversion import python_columns, rows_of
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.length_and_order_inference import infer_planner_node_length
from sframe_spark.planner.node import PlannerNode

with lazy_imports(globals()):
    from sframe_spark.engine.execution.changed_file_checks import require_unchanged_files, watched_manifests
    from sframe_spark.engine.execution.materialize_count_and_read_rows import is_materialized

Row = tuple[Any, ...]

MAX_RANGE_ROWS = 4096
"""Rows in the largest range that is read for one row."""
MAX_RANGE_BYTES = 1 << 20
"""Ranges do not grow beyond this number of bytes. If a range has more, because its rows are large, it is the only one that is cached."""
MAX_RANGES = 8
"""Number of ranges that are cached."""


class RecentRows:
    """A cache for reading single rows: ranges of rows around those read last, which grow while nearby rows are requested.

    If a user's function computes the rows, reading may be slow. Then ranges grow only when the range directly before that of the requested row is
    cached.

    Parameters
    ----------
    node
        The node whose rows are read.
    names
        Names of its columns, which errors use.
    """

    def __init__(self, node: PlannerNode, names: list[str] | None = None) -> None:
        self.node = node
        self._names = names
        self._last, self._may_grow = -MAX_RANGE_ROWS, True
        # Number of rows per range, and a dict from range number to rows; both in one tuple, which is replaced atomically because threads share it.
        self._ranges: tuple[int, dict[int, list[Row]]] = 1, {}
        # Files on this machine are checked for changes before each cached row is returned; remote files are not, as each check would take a request.
        self._is_change_checked = not all(is_remote_location(manifest.directory) for manifest in watched_manifests(node))
        self._is_mutable = any(column_type.has_items for column_type in node.schema)

    def cached(self, index: int) -> Row | None:
        """Return a cached row; None if the row is not cached or the number is negative.

        Raises
        ------
        StorageError
            If the files that the row was read from have changed.
        """
        size, ranges = self._ranges
        rows = ranges.get(index // size)
        if rows is None or index % size >= len(rows):
            return None
        if self._is_change_checked:
            require_unchanged_files(self.node)
        return self._safe_copy(rows[index % size])

    def row(self, index: int) -> Row:
        """Return the row with the given number, from the cache or by reading it; the row must exist."""
        row = self.cached(index)
        return self._safe_copy(self._read(index)) if row is None else row

    def _safe_copy(self, row: Row) -> Row:
        # A copy, because users may modify the lists, dicts and arrays in a row.
        return copy.deepcopy(row) if self._is_mutable else row

    def _read(self, index: int) -> Row:
        size, ranges = self._ranges
        if self._may_grow and size < MAX_RANGE_ROWS and self._is_near(index, size, ranges):
            size, ranges = size * 2, {}
        self._last = index
        with contextlib.suppress(Exception):
            return self._read_range(index // size, size, ranges)[index % size]
        # Computing another row of the range may have raised the error, so read only the requested row.
        return self._read_range(index, 1, {})[0]

    def _is_near(self, index: int, size: int, ranges: dict[int, list[Row]]) -> bool:
        """Return whether ranges should grow: the row follows a cached range, is near the last row read, or the frame has few rows."""
        if index // size - 1 in ranges:
            return True
        if not ranges or calls_user_functions(self.node):
            return False
        rows = infer_planner_node_length(self.node)
        return (rows is not None and rows <= MAX_RANGES * MAX_RANGE_ROWS) or abs(index - self._last) < MAX_RANGE_ROWS

    def _read_range(self, number: int, size: int, ranges: dict[int, list[Row]]) -> list[Row]:
        """Read one of the ranges of ``size`` rows, add it to the cached ranges of this size, and return its rows."""
        chunk = rows_of(self.node, number * size, (number + 1) * size, as_objects=True)
        columns = python_columns(chunk, self.node.schema, number * size, self._names)
        bytes_read = sum(column.nbytes for column in chunk.columns)
        # A range of the next size has twice as many rows, so about twice as many bytes.
        self._may_grow = 2 * bytes_read <= MAX_RANGE_BYTES
        kept_ranges = [] if bytes_read > MAX_RANGE_BYTES else list(ranges.items())[1 - MAX_RANGES :]
        rows = list(zip(*columns, strict=True))
        self._ranges = size, {**dict(kept_ranges), number: rows}
        return rows


class RowAccess:
    """Mixin of SFrame and SArray: a cache of recently read rows, and the methods ``__is_materialized__`` and ``__has_size__``."""

    _node: PlannerNode
    _recent: RecentRows | None = None

    def _recent_rows(self, names: list[str] | None = None) -> RecentRows:
        if self._recent is None or self._recent.node is not self._node:
            self._recent = RecentRows(self._node, names)
        return self._recent

    def _cached_row(self, key: Any) -> Row | None:
        """Return the cached row with the given number from 0; None if it is not cached or ``key`` is not an int."""
        recent = self._recent
        return recent.cached(key) if recent is not None and type(key) is int and recent.node is self._node else None

    def __is_materialized__(self) -> bool:
        return is_materialized(self._node)

    def __has_size__(self) -> bool:
        return infer_planner_node_length(self._node) is not None
