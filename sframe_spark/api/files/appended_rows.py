"""Rows of Python values that come one after the other, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine.datasets.new_datasets import write_runs
from sframe_spark.operators.relational.rows import append
from sframe_spark.operators.sources.memory_source import memory_source, memory_source_of_parts
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.pieces import aligned_chunks
from sframe_spark.types import ColumnType
from sframe_spark.values.encode import encode, encode_parts

# Rows that are kept as Python objects until they become columns.
ROWS_PER_RUN = 8192


class AppendedRows:
    """Rows that come one after the other: they go to disk once they take too much memory.

    Parameters
    ----------
    types
        Types of the columns.
    """

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self.types = tuple(types)
        self._rows: list[Sequence[Any]] = []
        self._runs: list[list[pa.Array]] = []
        self._bytes = 0
        self._written: list[PlannerNode] = []

    def add(self, row: Sequence[Any]) -> None:
        """One more row, of values that fit the types."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_RUN:
            self._make_run()

    def _make_run(self) -> None:
        columns = zip(*self._rows, strict=True)
        parts = [encode_parts(list(column), column_type) for column, column_type in zip(columns, self.types, strict=True)]
        self._rows = []
        for run in aligned_chunks(parts):
            self._runs.append(list(run.columns))
            self._bytes += run.size
        if self._bytes > config.memory_budget:
            self._written.append(write_runs(self._runs, self.types))
            self._runs, self._bytes = [], 0

    def parts(self) -> list[PlannerNode]:
        """Sources of all rows, in order."""
        if self._rows:
            self._make_run()
        kept = [Chunk(tuple(run), len(run[0])) for run in self._runs]
        return [*self._written, *([_in_memory(kept, self.types)] if kept else [])]


def node_from_runs(runs: Iterable[Sequence[pa.Array]], types: Sequence[ColumnType]) -> PlannerNode:
    """Runs of rows as a source: in memory where they fit its budget, otherwise in temporary files, with one run at a time in memory."""
    coming = iter(runs)
    kept: list[Sequence[pa.Array]] = []
    size = 0
    for run in coming:
        kept.append(run)
        size += sum(column.nbytes for column in run)
        if size > config.memory_budget:
            return write_runs(chain(kept, coming), tuple(types))
    return _in_memory([Chunk(tuple(run), len(run[0])) for run in kept], types)


def _in_memory(runs: Sequence[Chunk], types: Sequence[ColumnType]) -> PlannerNode:
    """Runs as a source, each column in one array where that holds all."""
    columns: list[Sequence[pa.Array]] = list(zip(*(run.columns for run in runs), strict=True))
    columns = columns or [[pa.array([], kind.physical)] for kind in types]
    return memory_source_of_parts(columns, types)


def appended(segments: Sequence[AppendedRows]) -> PlannerNode:
    """All rows of some segments of the same types: those of the first one first."""
    parts = [part for segment in segments for part in segment.parts()]
    if parts:
        return append(*parts) if len(parts) > 1 else parts[0]
    types = segments[0].types
    return memory_source([encode([], column_type) for column_type in types], list(types), 0)
