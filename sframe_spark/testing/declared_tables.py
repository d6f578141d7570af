"""Rows for the tables that text files of plans declare: values of all kinds, within what the declaration states of each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from sframe_spark.operators.sources.row_source import Rows, RowSource
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.operators.sources.source_table import SourceTable, table_of_sources
from sframe_spark.planner.chunk import Chunk, column_names
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.testing.generated_inputs import chunk_of, values_of
from sframe_spark.types import ColumnType


class DeclaredSource(RowSource):
    """A source of the rows of a declared table, which makes use of predicates. Its columns are named as plans name them."""

    threads: ClassVar[bool] = True
    filters: ClassVar[bool] = True

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns, by position."""
        return dict(zip(column_names(len(self._manifest.types)), self._manifest.types, strict=True))

    def length(self) -> int:
        """Return the declared number of rows."""
        return self._manifest.rows

    def called(self) -> str:
        """Return the name of the table."""
        return self._manifest.directory

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[Rows]:
        """Yield rows of the table, without those that a predicate excludes."""
        rows = rows_of_table(self._manifest).slice(start, stop)
        table = pa.table(list(rows.columns), names=column_names(len(rows.columns))).select(list(columns))
        yield table if predicate is None else predicate.filter(table)


def source_table(manifest: Manifest) -> SourceTable:
    """Return a declared table as a plug-in's source."""
    return table_of_sources([DeclaredSource(manifest)])


def rows_of_table(manifest: Manifest) -> Chunk:
    """Return rows of a declared table; the same ones each time.

    Examples
    --------
    >>> from sframe_spark.testing.plan_parser import read_declarations
    >>> table = read_declarations(["table a(int, str) x 6 with c0 ascending 1..6"]).tables["a"]
    >>> rows_of_table(table).columns[0].to_pylist()
    [1, 2, 3, 4, 5, 6]
    """
    columns: list[list[Any]] = [[] for _ in manifest.types]
    for segment in manifest.segments:
        for place, kind in enumerate(manifest.types):
            known = segment.columns[place] if place < len(segment.columns) else None
            columns[place] += values_of_segment(kind, known, segment.rows, place)
    rows = list(zip(*columns, strict=True)) if columns else [()] * manifest.rows
    return chunk_of(rows, manifest.types)


def values_of_segment(kind: ColumnType, known: ColumnStatistics | None, rows: int, place: int) -> list[Any]:
    """Return values of one column in one segment: between its stated bounds, or of all kinds if none are stated."""
    if known is None or not known.bounds_known or known.minimum is None:
        values = values_of(kind)
        return [values[(number * (1 + 2 * place) + place + number * number % 3) % len(values)] for number in range(rows)]
    low: Any = known.minimum
    high: Any = known.maximum
    if known.constant:
        return [low] * rows
    spread = [type(low)(low + (high - low) * number // max(rows - 1, 1)) for number in range(rows)]
    if known.descending or known.strictly_descending:
        return spread[::-1]
    return spread if known.ascending or known.strictly_ascending else spread[::2] + spread[1::2][::-1]
