"""Rows that are read one at a time, in a loop over their numbers: their neighbours are read with them."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from sframe_spark.api.node_values import python_columns, rows_of
from sframe_spark.engine.runs.watched_files import require_unchanged_files, watched_manifests
from sframe_spark.locations import is_elsewhere
from sframe_spark.operators.user_calls import calls_users
from sframe_spark.planner.infer import infer_planner_node_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND

Row = tuple[Any, ...]

MOST_ROWS = 4096
"""Of a piece that is read for one row."""
MOST_BYTES = 1 << 20
"""Of a piece in Arrow's form, unless it is of one row; a larger one is kept alone."""
PIECES_KEPT = 8

_MUTABLE = (ARRAY_KIND, DICT_KIND, LIST_KIND)


class RecentRows:
    """The rows of a node near those that were read last, in pieces of a number of rows that grows as long as neighbours are asked for.

    What has to be computed is read ahead no further than as many rows as were asked for, one after the other: a user's function may be slow.

    Parameters
    ----------
    node
        Whose rows.
    names
        Of its columns, for errors.
    """

    def __init__(self, node: PlannerNode, names: list[str] | None = None) -> None:
        self.node = node
        self._names = names
        self._last, self._may_grow = -MOST_ROWS, True
        # How many rows a piece has, and pieces by their place: one object, as several threads may read.
        self._kept: tuple[int, dict[int, list[Row]]] = 1, {}
        # To ask for each row whether a file elsewhere still is the one that it was read from would be a request for each.
        self._is_watched = not all(is_elsewhere(manifest.directory) for manifest in watched_manifests(node))
        self._is_mutable = any(kind.kind in _MUTABLE for kind in node.schema)

    def known(self, index: int) -> Row | None:
        """A row that was read before; None for others, and for numbers from the end.

        Raises
        ------
        StorageError
            If others have changed the files that it was read from.
        """
        size, pieces = self._kept
        piece = pieces.get(index // size)
        if piece is None or index % size >= len(piece):
            return None
        if self._is_watched:
            require_unchanged_files(self.node)
        return self._given(piece[index % size])

    def row(self, index: int) -> Row:
        """A row of which it is certain that it is there."""
        found = self.known(index)
        return self._given(self._read(index)) if found is None else found

    def _given(self, row: Row) -> Row:
        # What the user does to a list is no matter of ours.
        return copy.deepcopy(row) if self._is_mutable else row

    def _read(self, index: int) -> Row:
        size, pieces = self._kept
        if self._may_grow and size < MOST_ROWS and self._is_near(index, size, pieces):
            size, pieces = size * 2, {}
        self._last = index
        with contextlib.suppress(Exception):
            return self._read_piece(index // size, size, pieces)[index % size]
        # What failed may be about another row; what fails now is told without it.
        return self._read_piece(index, 1, {})[0]

    def _is_near(self, index: int, size: int, pieces: dict[int, list[Row]]) -> bool:
        """Say whether more rows are read at a time from now on: this one is beside those before, or all are few."""
        if index // size - 1 in pieces:
            return True
        if not pieces or calls_users(self.node):
            return False
        rows = infer_planner_node_length(self.node)
        return (rows is not None and rows <= PIECES_KEPT * MOST_ROWS) or abs(index - self._last) < MOST_ROWS

    def _read_piece(self, place: int, size: int, pieces: dict[int, list[Row]]) -> list[Row]:
        """Read a piece, to be kept with others of its size."""
        chunk = rows_of(self.node, place * size, (place + 1) * size, as_objects=True)
        columns = python_columns(chunk, self.node.schema, place * size, self._names)
        bytes_read = sum(column.nbytes for column in chunk.columns)
        self._may_grow = 2 * bytes_read <= MOST_BYTES
        others = [] if bytes_read > MOST_BYTES else list(pieces.items())[1 - PIECES_KEPT :]
        rows = list(zip(*columns, strict=True))
        self._kept = size, {**dict(others), place: rows}
        return rows


class ReadOneByOne:
    """Access to single rows."""

    _node: PlannerNode
    _recent: RecentRows | None = None

    def _recent_rows(self, names: list[str] | None = None) -> RecentRows:
        if self._recent is None or self._recent.node is not self._node:
            self._recent = RecentRows(self._node, names)
        return self._recent

    def _known_row(self, key: Any) -> Row | None:
        """A row that was read before, by a number from 0; None if that is not what is asked for."""
        recent = self._recent
        return recent.known(key) if recent is not None and type(key) is int and recent.node is self._node else None
