"""JSON files elsewhere, that a cluster shares or of many bytes, read in parts at once: lines that start in some bytes of a file, or whole files.

A line feed ends a line, whatever stands before it, so each part knows its lines. What it does not know is their numbers: a part with something
wrong is read again by whoever knows what came before it, and tells.
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
from sframe_spark.engine.task_pickling import Shared
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

# The first block is read once more, which tells the columns.
SINGLE_READER_BYTES = 32 << 20
# What tells whether several threads read sooner than one.
FIRST_BYTES = 64 << 10


@attrs.frozen(eq=False)
class JsonPlan(Shared):
    """What all works have in common.

    Parameters
    ----------
    columns
        What is known of the columns.
    form
        Those of the segments; None where no row told of any.
    encoding
        How characters are written.
    directory
        Where segments go.
    memory
        Room for rows that stay in this process; None: all are written.
    """

    columns: JsonColumns
    form: JsonForm | None
    encoding: str
    directory: str
    memory: MemoryReservation | None = None


@attrs.frozen(eq=False)
class JsonPart:
    """What was read of a part.

    Parameters
    ----------
    columns
        What is known of its columns, and was before.
    rows
        Its rows, as they were written or in memory; None where the columns are not those that were known.
    line_ends
        How many there are in the last of its files.
    failed
        Whether something is wrong with it.
    """

    columns: JsonColumns
    rows: RowsOfPart | None = None
    line_ends: int = 0
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """FrameFiles, or a part of one, that are read; it counts ends of lines."""

    plan: JsonPlan
    places: Sequence[FileRange]
    columns: JsonColumns
    first_line: int
    reports_position: bool
    line_ends: int = 0

    def blocks(self) -> Iterator[JsonValues]:
        """The values, of which the columns have learned."""
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
        How.
    places
        What.
    number
        That of its segment.
    """

    plan: JsonPlan
    places: tuple[FileRange, ...]
    number: int

    def __call__(self) -> JsonPart:
        """Read and write the rows; what is wrong with them is not told yet."""
        columns = self._columns(self.plan.columns.has_objects)
        try:
            return self._written(columns, 1, reports_position=False)
        except (JsonError, CsvEncodingError):
            return JsonPart(_without_files(columns), failed=True)

    def read_or_raise(self, first_line: int, has_objects: bool | None) -> JsonPart:
        """The same, where it is known what came before.

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
            # What columns the others have is found, too: all is read once more then.
            for _ in blocks:
                pass
        return JsonPart(_without_files(columns), rows, reading.line_ends)

    def _runs(self, blocks: Iterator[JsonValues], form: JsonForm, columns: JsonColumns) -> Iterator[list[pa.Array]]:
        for block in blocks:
            if columns.form() != form:
                raise MisfitError
            yield form.arrays(block, columns)


def _without_files(columns: JsonColumns) -> JsonColumns:
    """What was learned, without what whoever asks knows of the files."""
    return attrs.evolve(columns, partitions=(), numbers={})


def split_rows(files: DataFiles, columns: JsonColumns, encoding: str) -> tuple[PlannerNode, list[str]] | None:
    """A source of all rows, and its names; None where files are not read in parts."""
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
            # Rare: once more, with the columns that are known now, in the room that these rows took.
            columns.final_form()
            dataset.handle.discard()
            del done, rows


def _is_read_as_columns(file: DataFile, columns: JsonColumns, encoding: str, has_lines: bool) -> bool:
    """Whether the first rows of a file are read as columns: where Python reads them, threads wait for each other."""
    is_cut = has_lines and packing_of(file.path) is None
    with open_json(FileRange(file.path, file.state, 0, stop=FIRST_BYTES if is_cut else None), encoding) as text:
        try:
            first = next(text.elements() if columns.is_array else text.on_lines(), None)
        except (JsonError, CsvEncodingError):
            # Something may be wrong in a file before it, which one thread tells first.
            return False
    return first is not None and (first.members is not None or first.is_sparse)


def merged(tasks: Sequence[JsonTask], done: list[JsonPart], known: JsonColumns) -> JsonColumns:
    """What all parts tell of the columns; one with something wrong is read again and tells.

    Whether rows are objects is found once more where the first block does not tell: no columns are known then, and all is read again.

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
        # Where others found objects and this one values, or the other way round, no columns hold both.
        if part.failed or (columns.has_objects, part.columns.has_objects) in ((True, False), (False, True)):
            done[number] = part = work.read_or_raise(line, columns.has_objects)
        columns.add(part.columns)
        line += part.line_ends
    return columns


# JSON files as frames: a column for each name that an object has, typed by all its values, so that none is changed.

# Values take so many times their text in memory.
BYTES_OF_CHARACTER = 8
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
        split = split_rows(files, columns, named)
        return _Reader(files, named, columns).read() if split is None else split


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
            runs = [form.arrays(block, columns) for block in first]
            joined = [pa.chunked_array([run[place] for run in runs], kind.physical).combine_chunks() for place, kind in enumerate(form.types)]
            return memory_source(joined, list(form.types), sum(len(block.values) for block in first)), form.all_names
        form = columns.form()
        if columns.columns and not form.is_mixed:
            try:
                return keep_runs(self._runs(chain(_emptied(first), blocks), form), form.types), form.all_names
            except MisfitError:
                pass
        for _ in blocks:
            pass
        form = columns.final_form()
        return keep_runs((form.arrays(block, columns) for block in self._all()), form.types), form.all_names

    def _first_of(self, blocks: Iterator[JsonValues]) -> tuple[list[JsonValues], bool]:
        """The first blocks, as many as are kept in memory and one more, and whether that is all."""
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
        """The columns of each block, as long as none of them changes the names or types of columns.

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
            # Types and values may come from two readings of a file, which must find the same.
            self.watched.require_unchanged(file.path)
            # A store takes as long to send little as to send much.
            blocks = None if is_remote_location(file.path) else (FIRST_BYTES, LATER_BYTES)
            columns, place = self.columns, FileRange(file.path, file.state, 0)
            with open_json(place, self.encoding, known=columns.plain_types, blocks=blocks, are_rows=not columns.are_values) as text:
                yield from text.elements() if self.columns.is_array else self._on_lines(text)
            self.watched.require_unchanged(file.path)

    def _on_lines(self, text: JsonText) -> Iterator[JsonValues]:
        """The values on lines, by several threads from where it is known that Arrow may read them: others' would wait for each other."""
        lines = text.lines()
        for block in lines:
            yield from _some(block.read())
            if self.columns.plain_types():
                break
        with closing(in_threads_ahead(JsonLines.read, lines, threads_that_read())) as results:
            for values in results:
                yield from _some(values)


def _some(block: JsonValues) -> list[JsonValues]:
    """A block, unless it is empty."""
    return [block] if len(block.values) else []
