"""Reads JSON files: in one process block by block, or in parallel in parts, each the lines that start in a range of a file, or whole files.

A line feed always ends a line, so each part finds its own lines, but not their numbers: a part with an error is read again once the number of its
first line is known, so that the message names the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.columns import COLUMN_NAME, ColumnKinds, JsonColumns, JsonForm
from sframe_spark.api.io.json.parser import JsonLines, JsonText, JsonValues, open_json, values_of
from sframe_spark.api.io.json.writer import RECORDS, require_orient
from sframe_spark.api.io.text_encoding import UTF_8, text_encoding
from sframe_spark.api.node_values import drained, joined_source
from sframe_spark.config import config
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS, MaterializeOptions
from sframe_spark.engine.memory_budget import MemoryReservation
from sframe_spark.engine.runtime.dataset_writer import keep_runs, new_dataset
from sframe_spark.engine.runtime.parallel_scan import (
    RowsOfPart,
    brought,
    buffered_or_written,
    parts_of,
    read_in_parts,
    reservation_for_rows,
    run_parts,
    source_of_parts,
    threads_that_read,
    whole_files,
)
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import CsvEncodingError, JsonError, MisfitError
from sframe_spark.locations import is_remote_location
from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.threads import in_threads_ahead, raise_if_cancelled
from sframe_spark.storage.filesystem.byte_streams import FileRange, WatchedFiles
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.path_resolution import DataFile, DataFiles, resolve
from sframe_spark.storage.segments.partition_columns import partition_columns
from sframe_spark.types import FLOAT

# Up to this size a single reader is preferred: in parts, the first block is read twice to learn the columns.
SINGLE_READER_BYTES = 32 << 20
# Bytes that show whether several threads read faster than one.
FIRST_BYTES = 64 << 10


@attrs.frozen(eq=False)
class JsonPlan(SharedValue):
    """What all tasks share.

    Parameters
    ----------
    columns
        What is known of the columns.
    form
        The columns of the segments; None if no row had any.
    encoding
        The text encoding.
    directory
        The directory of the segments.
    memory
        Memory reservation for rows that stay in this process; None: all are written.
    """

    columns: JsonColumns
    form: JsonForm | None
    encoding: str
    directory: str
    memory: MemoryReservation | None = None


@attrs.frozen(eq=False)
class JsonPart:
    """The result of reading a part.

    Parameters
    ----------
    columns
        What is known of its columns, combined with what was known before.
    rows
        Its rows, written or in memory; None if the columns were not the known ones.
    line_ends
        The number of line ends in the last of its files.
    failed
        Whether reading failed.
    """

    columns: JsonColumns
    rows: RowsOfPart | None = None
    line_ends: int = 0
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """Ranges of files that are being read, with a count of line ends."""

    plan: JsonPlan
    places: Sequence[FileRange]
    columns: JsonColumns
    first_line: int
    reports_position: bool
    line_ends: int = 0

    def blocks(self) -> Iterator[JsonValues]:
        """Yield the values, after the columns have learned from them."""
        for place in self.places:
            with open_json(place, self.plan.encoding, self.first_line, self.reports_position, self.columns.plain_types) as text:
                for block in text.elements() if self.columns.is_array else text.on_lines():
                    raise_if_cancelled()
                    self.columns.learn(block)
                    yield block
                self.line_ends = text.line - self.first_line


@attrs.frozen(eq=False)
class JsonTask:
    """Reads whole files, or the lines that start in a part of one, and writes their rows.

    Parameters
    ----------
    plan
        What all tasks share.
    places
        The ranges to read.
    number
        The number of its segment.
    """

    plan: JsonPlan
    places: tuple[FileRange, ...]
    number: int

    def __call__(self) -> JsonPart:
        """Read and write the rows; a failure is recorded, not raised, as its line number is unknown."""
        columns = self._columns(self.plan.columns.has_objects)
        try:
            return self._written(columns, 1, reports_position=False)
        except (JsonError, CsvEncodingError):
            return JsonPart(_without_files(columns), failed=True)

    def read_or_raise(self, first_line: int, has_objects: bool | None) -> JsonPart:
        """Read a part whose first line number is known, raising its errors.

        Raises
        ------
        JsonError
            If something is no value, or no row.
        CsvEncodingError
            If something is no text.
        """
        return self._written(self._columns(has_objects), first_line, reports_position=True)

    def _columns(self, has_objects: bool | None) -> JsonColumns:
        known = self.plan.columns
        kinds = {name: ColumnKinds(set(column.kinds), set(column.inner)) for name, column in known.columns.items()}
        return attrs.evolve(known, numbers={place.path: place.number for place in self.places}, columns=kinds, has_objects=has_objects, rows=0)

    def _written(self, columns: JsonColumns, first_line: int, reports_position: bool) -> JsonPart:
        reading = _Reading(self.plan, self.places, columns, first_line, reports_position)
        blocks, plan, form, rows = reading.blocks(), self.plan, self.plan.form, None
        try:
            if form is None:
                raise MisfitError
            rows = buffered_or_written(self._runs(blocks, form, columns), form.types, plan.memory, plan.directory, self.number)
        except MisfitError:
            # Learn the columns of the rest as well: everything is read again then.
            for _ in blocks:
                pass
        return JsonPart(_without_files(columns), rows, reading.line_ends)

    def _runs(self, blocks: Iterator[JsonValues], form: JsonForm, columns: JsonColumns) -> Iterator[list[pa.Array]]:
        for block in blocks:
            if columns.form() != form:
                raise MisfitError
            yield form.arrays(block, columns)


def _without_files(columns: JsonColumns) -> JsonColumns:
    """Return what was learned, without facts about files that the driver knows."""
    return attrs.evolve(columns, partitions=(), numbers={})


def split_rows(files: DataFiles, columns: JsonColumns, encoding: str) -> tuple[PlannerNode, list[str]] | None:
    """Return a source of all rows, and its names; None if the files are not read in parts."""
    has_lines = not columns.is_array and encoding in UTF_8
    placed = read_in_parts(
        files.files,
        has_lines,
        SINGLE_READER_BYTES.__ge__,
        WatchedFiles(()).seen,
        lambda longest: _is_read_as_columns(longest, columns, encoding, has_lines),
    )
    if placed is None:
        return None
    whole = whole_files(placed)
    parts = parts_of(whole, has_lines)
    first = next((block for file in placed for block in values_of(file.path, columns.is_array, encoding, file.state)), None)
    if first is None:
        return memory_source([], [], 0), []
    columns.learn(first)
    columns.rows = 0
    while True:
        form = columns.form() if columns.columns else None
        with new_dataset(form.types if form is not None else (), MaterializeOptions()) as dataset:
            plan = JsonPlan(attrs.evolve(columns, numbers={}), form, encoding, dataset.directory, reservation_for_rows(whole))
            tasks = [JsonTask(plan, places, number) for number, places in enumerate(parts)]
            done = run_parts(tasks, whole, dataset.directory, "reading JSON files")
            columns = merged(tasks, done, columns)
            rows = [part.rows for part in done]
            if form is not None and columns.final_form() == form and None not in rows:
                return brought(source_of_parts(rows, dataset), whole), form.all_names
            # Rare: read again with the columns known now, after releasing the memory of these rows.
            columns.final_form()
            dataset.handle.discard()
            del done, rows


def _is_read_as_columns(file: DataFile, columns: JsonColumns, encoding: str, has_lines: bool) -> bool:
    """Return whether the first rows of a file can be read column by column; where Python parses them, threads wait for each other."""
    is_cut = has_lines and packing_of(file.path) is None
    with open_json(FileRange(file.path, file.state, 0, stop=FIRST_BYTES if is_cut else None), encoding) as text:
        try:
            first = next(text.elements() if columns.is_array else text.on_lines(), None)
        except (JsonError, CsvEncodingError):
            # An earlier file may have an error as well, which a single reader reports first.
            return False
    return first is not None and (first.members is not None or first.is_sparse)


def merged(tasks: Sequence[JsonTask], done: list[JsonPart], known: JsonColumns) -> JsonColumns:
    """Return what all parts tell about the columns; a part that failed is read again, which raises its error.

    If the first block does not show whether rows are objects, no columns are known, and everything is read again.

    Raises
    ------
    JsonError
        If there is one.
    CsvEncodingError
        If one is no text.
    """
    columns, line = attrs.evolve(known, rows=0), 1
    for number, (work, part) in enumerate(zip(tasks, done, strict=True)):
        line = line if work.places[0].start else 1
        # Objects in some parts and other values in others are an error.
        if part.failed or (columns.has_objects, part.columns.has_objects) in ((True, False), (False, True)):
            done[number] = part = work.read_or_raise(line, columns.has_objects)
        columns.add(part.columns)
        line += part.line_ends
    return columns


# A single reader

# Memory of values as a multiple of their text.
BYTES_OF_CHARACTER = 8
# Block size after the first, so that each core gets blocks of a short file.
LATER_BYTES = 1 << 20


def read_json(url: Any, orient: str, encoding: str = "utf-8") -> tuple[PlannerNode, list[str]]:
    """Return the rows of JSON files as a source, and its column names, sorted; each column gets a type that holds all its values unchanged.

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
        split = split_rows(files, columns, named)
        return _Reader(files, named, columns).read() if split is None else split


def read_json_values(url: Any, encoding: str = "utf-8") -> PlannerNode:
    """Return the elements of the arrays in JSON files as one column.

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
    """Return the columns of files of which nothing was read yet."""
    numbers = {file.path: number for number, file in enumerate(files.files)}
    return JsonColumns(files.files[0].origin, tuple(partition_columns(files.files)), numbers, is_array, are_values)


@attrs.define
class _Reader:
    """Reads the files in order: into memory if there are few rows, else into segments of the first rows' types, and again if these change."""

    files: DataFiles
    encoding: str
    columns: JsonColumns
    watched: WatchedFiles = attrs.field()

    @watched.default
    def _watched(self) -> WatchedFiles:
        return WatchedFiles((file.path, file.state) for file in self.files.files)

    def read(self) -> tuple[PlannerNode, list[str]]:
        """Return a source of all rows, and its names."""
        columns, blocks = self.columns, self._learned(self._all())
        first, are_all = self._first_of(blocks)
        if not first:
            return (memory_source([pa.nulls(0, FLOAT.physical)], [FLOAT]), [COLUMN_NAME]) if columns.are_values else (memory_source([], [], 0), [])
        if are_all:
            form = columns.final_form()
            runs = [form.arrays(block, columns) for block in first]
            return joined_source(runs, form.types, sum(len(block.values) for block in first)), form.all_names
        form = columns.form()
        if columns.columns and not form.is_mixed:
            try:
                return keep_runs(self._runs(chain(drained(first), blocks), form), form.types), form.all_names
            except MisfitError:
                pass
        for _ in blocks:
            pass
        form = columns.final_form()
        return keep_runs((form.arrays(block, columns) for block in self._all()), form.types), form.all_names

    def _first_of(self, blocks: Iterator[JsonValues]) -> tuple[list[JsonValues], bool]:
        """Return the first blocks, up to one more than memory holds, and whether these are all."""
        first: list[JsonValues] = []
        rows = size = 0
        for block in blocks:
            first.append(block)
            rows, size = rows + len(block.values), size + block.size
            if rows > IN_MEMORY_ROWS or size * BYTES_OF_CHARACTER > config.memory_budget:
                return first, False
        return first, True

    def _learned(self, blocks: Iterator[JsonValues]) -> Iterator[JsonValues]:
        for block in blocks:
            self.columns.learn(block)
            yield block

    def _runs(self, blocks: Iterable[JsonValues], form: JsonForm) -> Iterator[list[pa.Array]]:
        """Yield the columns of each block, as long as none changes the names or types of columns.

        Raises
        ------
        MisfitError
            If one does.
        """
        for block in blocks:
            if self.columns.form() != form:
                raise MisfitError
            yield form.arrays(block, self.columns)

    def _all(self) -> Iterator[JsonValues]:
        for file in self.files.files:
            # Types and values may come from two readings, so the file must not change.
            self.watched.require_unchanged(file.path)
            # For remote files a small request takes as long as a large one.
            blocks = None if is_remote_location(file.path) else (FIRST_BYTES, LATER_BYTES)
            columns, place = self.columns, FileRange(file.path, file.state, 0)
            with open_json(place, self.encoding, known=columns.plain_types, blocks=blocks, are_rows=not columns.are_values) as text:
                yield from text.elements() if self.columns.is_array else self._on_lines(text)
            self.watched.require_unchanged(file.path)

    def _on_lines(self, text: JsonText) -> Iterator[JsonValues]:
        """Yield the values on lines, on several threads once Arrow can read them; parsing in Python, threads would wait for each other."""
        lines = text.lines()
        for block in lines:
            yield from _some(block.read())
            if self.columns.plain_types():
                break
        with closing(in_threads_ahead(JsonLines.read, lines, threads_that_read())) as results:
            for values in results:
                yield from _some(values)


def _some(block: JsonValues) -> list[JsonValues]:
    """Return a list of the block, without it if it is empty."""
    return [block] if len(block.values) else []
