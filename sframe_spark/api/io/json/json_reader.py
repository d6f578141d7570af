"""JSON files as frames: a column for each name that an object has, typed by all its values, so that none is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.columns import COLUMN_NAME, JsonColumns, JsonForm
from sframe_spark.api.io.json.json_blocks import JsonValues, LinesOfJson
from sframe_spark.api.io.json.parser import JsonText, opened_values
from sframe_spark.api.io.json.reader import split_rows
from sframe_spark.api.io.json.writer import RECORDS, require_orient
from sframe_spark.api.io.text_encoding import text_encoding
from sframe_spark.config import config
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS
from sframe_spark.engine.runtime.dataset_writer import keep_runs
from sframe_spark.engine.runtime.parallel_scan import threads_that_read
from sframe_spark.errors import MisfitError
from sframe_spark.locations import is_elsewhere
from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.threads import in_threads_ahead
from sframe_spark.storage.filesystem.byte_streams import FileRange, WatchedFiles
from sframe_spark.storage.filesystem.path_resolution import DataFiles, resolve
from sframe_spark.storage.segments.partition_columns import partition_columns
from sframe_spark.types import FLOAT

# Values take so many times their text in memory.
BYTES_OF_CHARACTER = 8
# They tell which members are numbers and texts: until then the text is looked at in ways that take three times as long.
FIRST_BYTES = 64 << 10
# Each core has some blocks of a short file.
LATER_BYTES = 1 << 20


def read_json(url: Any, orient: str, encoding: str = "utf-8") -> tuple[PlannerNode, list[str]]:
    """Rows of JSON files as a source, and the names of its columns, in the order of their names.

    Raises
    ------
    JsonError
        If a file is not JSON of that form.
    InvalidArgumentError
        If the form or the encoding is unknown.
    """
    require_orient(orient)
    named = text_encoding(encoding)
    files = resolve(url, str, in_place=True)
    with files.named_in_errors():
        columns = _nothing_known(files, orient == RECORDS)
        found = split_rows(files, columns, named)
        return _Reader(files, named, columns).read() if found is None else found


def read_json_values(url: Any, encoding: str = "utf-8") -> PlannerNode:
    """The elements of the arrays in JSON files as one column, whatever they are.

    Raises
    ------
    JsonError
        If a file is not one array.
    SchemaError
        If the values have no common type.
    """
    named = text_encoding(encoding)
    files = resolve(url, str)
    with files.named_in_errors():
        return _Reader(files, named, _nothing_known(files, is_array=True, are_values=True)).read()[0]


def _nothing_known(files: DataFiles, is_array: bool, are_values: bool = False) -> JsonColumns:
    """The columns of files of which nothing was read."""
    numbers = {file.path: number for number, file in enumerate(files.files)}
    return JsonColumns(files.files[0].origin, tuple(partition_columns(files.files)), numbers, is_array, are_values)


def _emptied(blocks: list[JsonValues]) -> Iterator[JsonValues]:
    """The blocks, of which none is kept."""
    while blocks:
        yield blocks.pop(0)


@attrs.define
class _Reader:
    """Reads the files: into memory if there are few rows, else into segments of the types that the first rows tell, once more if others tell more."""

    files: DataFiles
    encoding: str
    columns: JsonColumns
    watched: WatchedFiles = attrs.field()

    @watched.default
    def _watched(self) -> WatchedFiles:
        return WatchedFiles((file.path, file.state) for file in self.files.files)

    def read(self) -> tuple[PlannerNode, list[str]]:
        """A source of all rows, and its names."""
        columns, blocks = self.columns, self._learned(self._all())
        first, are_all = self._first_of(blocks)
        if not first:
            return (memory_source([pa.nulls(0, FLOAT.physical)], [FLOAT]), [COLUMN_NAME]) if columns.are_values else (memory_source([], [], 0), [])
        if are_all:
            form = columns.final_form()
            runs = [form.arrays(found, columns) for found in first]
            joined = [pa.chunked_array([run[place] for run in runs], kind.physical).combine_chunks() for place, kind in enumerate(form.types)]
            return memory_source(joined, list(form.types), sum(len(found.values) for found in first)), form.all_names
        form = columns.form()
        if columns.columns and not form.is_mixed:
            try:
                return keep_runs(self._runs(chain(_emptied(first), blocks), form), form.types), form.all_names
            except MisfitError:
                pass
        for _ in blocks:
            pass
        form = columns.final_form()
        return keep_runs((form.arrays(found, columns) for found in self._all()), form.types), form.all_names

    def _first_of(self, blocks: Iterator[JsonValues]) -> tuple[list[JsonValues], bool]:
        """The first blocks, as many as are kept in memory and one more, and whether that is all."""
        first: list[JsonValues] = []
        rows = size = 0
        for found in blocks:
            first.append(found)
            rows, size = rows + len(found.values), size + found.size
            if rows > IN_MEMORY_ROWS or size * BYTES_OF_CHARACTER > config.memory_budget:
                return first, False
        return first, True

    def _learned(self, blocks: Iterator[JsonValues]) -> Iterator[JsonValues]:
        for found in blocks:
            self.columns.learn(found)
            yield found

    def _runs(self, blocks: Iterable[JsonValues], form: JsonForm) -> Iterator[list[pa.Array]]:
        """The columns of each block, as long as none of them changes the names or types of columns.

        Raises
        ------
        MisfitError
            If one does.
        """
        for found in blocks:
            if self.columns.form() != form:
                raise MisfitError
            yield form.arrays(found, self.columns)

    def _all(self) -> Iterator[JsonValues]:
        for file in self.files.files:
            # Types and values may come from two readings of a file, which must find the same.
            self.watched.require_unchanged(file.path)
            # A store takes as long to send little as to send much.
            blocks = None if is_elsewhere(file.path) else (FIRST_BYTES, LATER_BYTES)
            columns, place = self.columns, FileRange(file.path, file.state, 0)
            with opened_values(place, self.encoding, known=columns.plain_types, blocks=blocks, are_rows=not columns.are_values) as text:
                yield from text.elements() if self.columns.is_array else self._on_lines(text)
            self.watched.require_unchanged(file.path)

    def _on_lines(self, text: JsonText) -> Iterator[JsonValues]:
        """The values on lines, by several threads from where it is known that Arrow may read them: others' would wait for each other."""
        lines = text.lines()
        for block in lines:
            yield from _some(block.read())
            if self.columns.plain_types():
                break
        with closing(in_threads_ahead(LinesOfJson.read, lines, threads_that_read())) as found:
            for values in found:
                yield from _some(values)


def _some(found: JsonValues) -> list[JsonValues]:
    """A block, unless it is empty."""
    return [found] if len(found.values) else []
