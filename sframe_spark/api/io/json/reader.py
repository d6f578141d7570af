"""Reads JSON files: in one process block by block, or in parallel in parts. A part is whole files, or the lines that start in a range of a file.

In JSON, a line feed always ends a line, so each part finds its own lines, but it does not know their line numbers. If a part has an error, it is
read again when the number of its first line is known, so that the message can name the line.
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
from sframe_spark.engine.runtime.parallel_scan import (
    RowsOfPart,
    buffered_or_written,
    in_memory_if_few,
    parts_of,
    read_in_parts,
    reservation_for_rows,
    run_parts,
    source_of_parts,
    threads_that_read,
    whole_files,
)
from sframe_spark.engine.runtime.results import keep_runs, new_dataset
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import CsvEncodingError, JsonError, MisfitError
from sframe_spark.locations import is_remote_location
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.threads import in_threads_ahead, raise_if_cancelled
from sframe_spark.storage.filesystem.byte_streams import FileRange, WatchedFiles
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.path_resolution import DataFile, DataFiles, resolve
from sframe_spark.storage.segments.partition_columns import partition_columns
from sframe_spark.types import FLOAT

# Larger files are read in parts. Smaller ones are not, because reading in parts reads the first block twice, to find the columns.
SINGLE_READER_BYTES = 32 << 20
# The first bytes of a file, which show whether several threads read it faster than one.
FIRST_BYTES = 64 << 10


@attrs.frozen(eq=False)
class JsonPlan(SharedValue):
    """What all tasks that read parts have in common.

    Parameters
    ----------
    columns
        The columns as far as they are known.
    form
        The columns of the segments to write; None if no row had a member yet.
    encoding
        Encoding of the files.
    directory
        Directory of the segments.
    memory
        Memory reservation for rows that stay in this process; None: all rows are written to segments.
    """

    columns: JsonColumns
    form: JsonForm | None
    encoding: str
    directory: str
    memory: MemoryReservation | None = None


@attrs.frozen(eq=False)
class JsonPart:
    """The result of reading one part.

    Parameters
    ----------
    columns
        The columns known after reading the part: those known before, extended by those of its rows.
    rows
        The rows, in a segment or in memory; None if its columns differ from the plan's ``form``, or reading failed.
    line_ends
        Number of line ends read in its last file.
    failed
        Whether reading raised an error about the contents.
    """

    columns: JsonColumns
    rows: RowsOfPart | None = None
    line_ends: int = 0
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """The ranges of files that a task reads, and the number of line ends read so far."""

    plan: JsonPlan
    ranges: Sequence[FileRange]
    columns: JsonColumns
    first_line: int
    reports_position: bool
    line_ends: int = 0

    def blocks(self) -> Iterator[JsonValues]:
        """Yield the values of all ranges in blocks, each after adding its names and types to ``columns``."""
        for part in self.ranges:
            with open_json(part, self.plan.encoding, self.first_line, self.reports_position, self.columns.plain_types) as text:
                for block in text.elements() if self.columns.is_array else text.on_lines():
                    raise_if_cancelled()
                    self.columns.learn(block)
                    yield block
                self.line_ends = text.line - self.first_line


@attrs.frozen(eq=False)
class JsonTask:
    """A task that reads whole files, or the lines that start in a range of one file, and writes their rows to a segment.

    Parameters
    ----------
    plan
        What all tasks have in common.
    ranges
        The ranges to read.
    number
        Number of the segment.
    """

    plan: JsonPlan
    ranges: tuple[FileRange, ...]
    number: int

    def __call__(self) -> JsonPart:
        """Read and write the rows. An error about the contents is only recorded, because its line number is not known yet."""
        columns = self._columns(self.plan.columns.has_objects)
        try:
            return self._written(columns, 1, reports_position=False)
        except (JsonError, CsvEncodingError):
            return JsonPart(_without_files(columns), failed=True)

    def read_or_raise(self, first_line: int, has_objects: bool | None) -> JsonPart:
        """Read and write the rows, given the number of the first line, and raise errors.

        Raises
        ------
        JsonError
            If something is not valid JSON, or a value is not a valid row.
        CsvEncodingError
            If bytes are not valid in the encoding.
        """
        return self._written(self._columns(has_objects), first_line, reports_position=True)

    def _columns(self, has_objects: bool | None) -> JsonColumns:
        planned = self.plan.columns
        kinds = {name: ColumnKinds(set(column.kinds), set(column.inner)) for name, column in planned.columns.items()}
        return attrs.evolve(planned, numbers={part.path: part.number for part in self.ranges}, columns=kinds, has_objects=has_objects, rows=0)

    def _written(self, columns: JsonColumns, first_line: int, reports_position: bool) -> JsonPart:
        reading = _Reading(self.plan, self.ranges, columns, first_line, reports_position)
        blocks, plan, form, rows = reading.blocks(), self.plan, self.plan.form, None
        try:
            if form is None:
                raise MisfitError
            rows = buffered_or_written(self._runs(blocks, form, columns), form.types, plan.memory, plan.directory, self.number)
        except MisfitError:
            # The columns differ from the expected ones, so everything will be read again. Collect the columns of the remaining blocks for that.
            for _ in blocks:
                pass
        return JsonPart(_without_files(columns), rows, reading.line_ends)

    def _runs(self, blocks: Iterator[JsonValues], form: JsonForm, columns: JsonColumns) -> Iterator[list[pa.Array]]:
        for block in blocks:
            if columns.form() != form:
                raise MisfitError
            yield form.arrays(block, columns)


def _without_files(columns: JsonColumns) -> JsonColumns:
    """Return the columns without the data about files, which the driver has anyway."""
    return attrs.evolve(columns, partitions=(), numbers={})


def split_rows(files: DataFiles, columns: JsonColumns, encoding: str) -> tuple[PlannerNode, list[str]] | None:
    """Return a source of all rows, and the column names, after reading the files in parts; None if reading them in parts is not worthwhile."""
    has_lines = not columns.is_array and encoding in UTF_8
    data_files = read_in_parts(
        files.files,
        has_lines,
        SINGLE_READER_BYTES.__ge__,
        WatchedFiles(()).seen,
        lambda longest: _is_read_as_columns(longest, columns, encoding, has_lines),
    )
    if data_files is None:
        return None
    whole = whole_files(data_files)
    parts = parts_of(whole, has_lines)
    first = next((block for file in data_files for block in values_of(file.path, columns.is_array, encoding, file.state)), None)
    if first is None:
        return memory_source([], [], 0), []
    columns.learn(first)
    columns.rows = 0
    while True:
        form = columns.form() if columns.columns else None
        with new_dataset(form.types if form is not None else (), MaterializeOptions()) as dataset:
            plan = JsonPlan(attrs.evolve(columns, numbers={}), form, encoding, dataset.directory, reservation_for_rows(whole))
            tasks = [JsonTask(plan, ranges, number) for number, ranges in enumerate(parts)]
            done = run_parts(tasks, whole, dataset.directory, "reading JSON files")
            columns = merged(tasks, done, columns)
            rows = [part.rows for part in done]
            if form is not None and columns.final_form() == form and None not in rows:
                return in_memory_if_few(source_of_parts(rows, dataset), whole), form.all_names
            # Rare: a part had other columns. Release the memory of these rows, and read everything again with the columns known now.
            columns.final_form()
            dataset.handle.discard()
            del done, rows


def _is_read_as_columns(file: DataFile, columns: JsonColumns, encoding: str, has_lines: bool) -> bool:
    """Return whether the first rows can be parsed as columns. Otherwise Python parses each value, and threads would wait for each other."""
    is_cut = has_lines and packing_of(file.path) is None
    with open_json(FileRange(file.path, file.state, 0, stop=FIRST_BYTES if is_cut else None), encoding) as text:
        try:
            first = next(text.elements() if columns.is_array else text.on_lines(), None)
        except (JsonError, CsvEncodingError):
            # A single reader reports the error, or one in an earlier file.
            return False
    return first is not None and (first.members is not None or first.is_sparse)


def merged(tasks: Sequence[JsonTask], done: list[JsonPart], known: JsonColumns) -> JsonColumns:
    """Return the columns of all parts together. A part that failed is read again with its line number, which raises its error.

    If the first block did not show whether rows are objects, the result differs from ``known``, and everything is read again.

    Raises
    ------
    JsonError
        If the contents of a part are not valid.
    CsvEncodingError
        If a part has bytes that are not valid in the encoding.
    """
    columns, line = attrs.evolve(known, rows=0), 1
    for number, (task, part) in enumerate(zip(tasks, done, strict=True)):
        line = line if task.ranges[0].start else 1
        # It is an error if some parts have objects, and others have other values.
        if part.failed or (columns.has_objects, part.columns.has_objects) in ((True, False), (False, True)):
            done[number] = part = task.read_or_raise(line, columns.has_objects)
        columns.add(part.columns)
        line += part.line_ends
    return columns


# A single reader

# Estimated bytes in memory for each character of values in the file.
BYTES_OF_CHARACTER = 8
# Size of blocks after the first; small, so that several threads get blocks even of a short file.
LATER_BYTES = 1 << 20


def read_json(url: Any, orient: str, encoding: str = "utf-8") -> tuple[PlannerNode, list[str]]:
    """Return the rows of JSON files as a source, and the sorted column names; each column gets a type that holds all its values unchanged.

    Raises
    ------
    JsonError
        If a file is not JSON in the form that ``orient`` gives.
    InvalidArgumentError
        If ``orient`` or the encoding is unknown.
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
        If a file does not contain one array.
    SchemaError
        If the values have no common type.
    """
    named = text_encoding(encoding)
    files = resolve(url, str)
    with files.named_in_errors():
        return _Reader(files, named, _nothing_known(files, is_array=True, are_values=True)).read()[0]


def _nothing_known(files: DataFiles, is_array: bool, are_values: bool = False) -> JsonColumns:
    """Return the object that collects names and types of columns, before anything was read."""
    numbers = {file.path: number for number, file in enumerate(files.files)}
    return JsonColumns(files.files[0].origin, tuple(partition_columns(files.files)), numbers, is_array, are_values)


@attrs.define
class _Reader:
    """Reads files in order: into memory if there are few rows, else into segments; again from the start if names or types change later."""

    files: DataFiles
    encoding: str
    columns: JsonColumns
    watched: WatchedFiles = attrs.field()

    @watched.default
    def _watched(self) -> WatchedFiles:
        return WatchedFiles((file.path, file.state) for file in self.files.files)

    def read(self) -> tuple[PlannerNode, list[str]]:
        """Return a source of all rows, and the column names."""
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
        """Return the first blocks, up to the memory limit and one more, and whether these are all blocks."""
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
        """Yield the columns of each block, until a block changes the names or types of columns.

        Raises
        ------
        MisfitError
            If a block changes them.
        """
        for block in blocks:
            if self.columns.form() != form:
                raise MisfitError
            yield form.arrays(block, self.columns)

    def _all(self) -> Iterator[JsonValues]:
        for file in self.files.files:
            # Types and values may come from two readings of the file, so it must not change between them.
            self.watched.require_unchanged(file.path)
            # For remote files, a small request takes as long as a large one, so the default block size is used.
            blocks = None if is_remote_location(file.path) else (FIRST_BYTES, LATER_BYTES)
            columns, whole = self.columns, FileRange(file.path, file.state, 0)
            with open_json(whole, self.encoding, known=columns.plain_types, blocks=blocks, are_rows=not columns.are_values) as text:
                yield from text.elements() if self.columns.is_array else self._on_lines(text)
            self.watched.require_unchanged(file.path)

    def _on_lines(self, text: JsonText) -> Iterator[JsonValues]:
        """Yield the values on lines; on several threads if Arrow can parse them, because threads that parse in Python wait for each other."""
        lines = text.lines()
        for block in lines:
            if len((values := block.read()).values):
                yield values
            if self.columns.plain_types():
                break
        with closing(in_threads_ahead(JsonLines.read, lines, threads_that_read())) as results:
            yield from (values for values in results if len(values.values))
