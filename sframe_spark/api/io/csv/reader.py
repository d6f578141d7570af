"""Reads CSV files: in one process block by block, or in parts by several threads or tasks. Types are inferred from all values that are read."""

from __future__ import annotations

import functools
import logging
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.column_names import first_positions, unique_names
from sframe_spark.api.io.csv.block_reader import ArrowLines, CsvText, block_bytes_for, first_block_bytes, open_csv, open_csv_range
from sframe_spark.api.io.csv.column_type_inference_and_field_conversion import Converted, CsvForm, converted, failed_rows, misfits, narrowest, wider
from sframe_spark.api.io.csv.options import IN_NO_TEXT, CsvOptions, CsvRequest, CsvValues, chosen_columns, hinted_types
from sframe_spark.api.io.csv.parser import NO_NUMBERS, NumberColumns
from sframe_spark.api.io.csv.row_blocks import LeftOut, TextBlock, ValueBlock
from sframe_spark.api.io.text_encoding import UTF_8
from sframe_spark.api.node_value_conversion import drained, joined_source
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS, MaterializeOptions
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.engine.runtime.result_storage import keep_runs, new_dataset
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import CsvEncodingError, CsvLineError, CsvNoLineError, CsvWarning, MisfitError, StorageError, listed, users_level
from sframe_spark.message_text import visible
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_budget, memory_for_batches, result_memory_left
from sframe_spark.process.threads import in_threads_ahead, raise_if_cancelled
from sframe_spark.redaction import without_secrets
from sframe_spark.session.spark_locality import is_spark_requested
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import FileRange, WatchedFiles
from sframe_spark.storage.filesystem.input_files import DataFile, DataFiles, is_open_file, resolve
from sframe_spark.storage.segments.partition_columns import PartitionColumn, partition_columns, repeated
from sframe_spark.types import FLOAT, INT, STR, ColumnType

# Files with the same columns: their blocks as strings or as values, and the lines that do not fit the columns

# Estimated bytes of memory for a stored line, in addition to its characters.
BYTES_A_LINE = 64
HEADER_BYTES = 64 << 10


@attrs.define(eq=False)
class CsvFiles:
    """CSV files with the same columns, which can be read repeatedly.

    Parameters
    ----------
    files
        The files, in order.
    options
        Their dialect.
    values
        Fields with a special meaning.
    error_bad_lines
        Whether a line that does not fit the columns is an error; otherwise it is left out.
    names
        Column names, from the first file that has a line.
    named_by
        Path of that file.
    selected
        Indices of the columns to read.
    hinted
        For each column to read, the type that the user requests; None if it is inferred.
    bad_lines
        Lines that were left out, by file; filled while reading.
    keeps_bad_lines
        Whether to store more than the first such line of each file.
    room
        Bytes left for storing such lines.
    watched
        Checks that files do not change between readings.
    partitions
        Partition columns, whose values are in directory names; after ``read_names``, only the requested ones.
    order
        For each requested column, its index among the columns that are read: first those of the files, then partition columns.
    numbers
        Maps the path of a file to its number; filled when a partition column is needed.
    known
        The columns that are numeric in all rows read so far.
    quoted_empty
        Indices of columns that have an empty field in quotes among the rows by which types were inferred first.
    first_bytes
        Size of the first block of the first file; None: as for other blocks.
    later_bytes
        Size of all other blocks; None: the default.
    """

    files: Sequence[DataFile]
    options: CsvOptions
    values: CsvValues
    error_bad_lines: bool
    names: list[str] = attrs.Factory(list)
    named_by: str = ""
    selected: list[int] = attrs.Factory(list)
    hinted: list[ColumnType | None] = attrs.Factory(list)
    bad_lines: dict[str, LeftOut] = attrs.Factory(dict)
    keeps_bad_lines: bool = False
    room: int = 0
    watched: WatchedFiles = attrs.field()
    partitions: Sequence[PartitionColumn] = ()
    order: list[int] = attrs.Factory(list)
    numbers: dict[str, int] = attrs.Factory(dict)
    known: NumberColumns = NO_NUMBERS
    quoted_empty: set[int] = attrs.Factory(set)
    first_bytes: int | None = None
    later_bytes: int | None = None

    @watched.default
    def _watched(self) -> WatchedFiles:
        return WatchedFiles((file.path, file.state) for file in self.files)

    def read_names(self, usecols: Any) -> None:
        """Read column names from the first file that has a line, and choose the columns to read.

        Raises
        ------
        CsvNoLineError
            If the files have text, but no line is left after skipped lines and comments.
        """
        is_empty = True
        for file in self.files:
            self.watched.require_unchanged(file.path)
            with open_csv(file.path, self.options, file.state, HEADER_BYTES) as text:
                is_empty = not text.start() and is_empty
                self.names, self.named_by = self._names(text.header()), file.path
            if self.names:
                break
        if not self.names and not is_empty:
            raise CsvNoLineError(f"{self.files[0].path} has no line after those skipped: check skiprows and comment_char")
        self._choose(usecols)

    def _choose(self, usecols: Any) -> None:
        """Choose among the columns of the files and partition columns; if both have a column of one name, the partition column is used."""
        partitions = {column.name: column for column in self.partitions}
        in_files = [index for index, name in enumerate(self.names) if name not in partitions]
        names = [*(self.names[index] for index in in_files), *partitions] if self.names else []
        chosen = chosen_columns(names, usecols)
        # One column is always read, because its rows have to be counted.
        self.selected = [in_files[index] for index in chosen if index < len(in_files)] or ([0] if partitions and self.names else [])
        self.partitions = [partitions[names[index]] for index in chosen if index >= len(in_files)]
        of_files = first_positions(self.selected_names)
        of_directories = first_positions([column.name for column in self.partitions], len(self.selected))
        self.order = [(of_files if index < len(in_files) else of_directories)[names[index]] for index in chosen]

    @property
    def selected_names(self) -> list[str]:
        """Names of the columns that are read from the files."""
        return [self.names[index] for index in self.selected]

    @property
    def chosen_names(self) -> list[str]:
        """Names of the requested columns, in the requested order."""
        read = [*self.selected_names, *(column.name for column in self.partitions)]
        return [read[index] for index in self.order]

    def _names(self, fields: list[str]) -> list[str]:
        """Return the column names that a first line gives; without a header, X1, X2 and so on."""
        numbered = [f"X{i + 1}" for i in range(len(fields))]
        return unique_names([name or number for name, number in zip(fields, numbered, strict=True)]) if self.options.header else numbered

    def blocks(self) -> Generator[ArrowLines | TextBlock]:
        """Yield the lines of all files in blocks, up to the last requested row."""
        left = self.options.nrows
        self.bad_lines, self.room = {}, memory_budget() if self.keeps_bad_lines else 0
        for file in self.files:
            for block in self._blocks_of(file):
                if left is None:
                    yield block
                    continue
                first_rows, counted = self._first_of(block.read(NO_NUMBERS), left)
                yield first_rows
                left -= counted
                if not left:
                    return

    def _first_of(self, block: TextBlock, limit: int) -> tuple[TextBlock, int]:
        """Return a block cut after ``limit`` rows, and their number. Rows with a value that does not have its requested type are not counted."""
        bad = misfits(block.columns, self.hinted, self.values)
        good = range(block.rows) if bad is None else np.flatnonzero(~bad.to_numpy(zero_copy_only=False))
        rows = block.rows if limit > len(good) else int(good[limit - 1]) + 1 if limit else 0
        columns = tuple(column[:rows] for column in block.columns)
        masks = tuple(None if mask is None else mask[:rows] for mask in block.quoted_empty)
        return attrs.evolve(block, columns=columns, rows=rows, quoted_empty=masks), min(limit, len(good))

    def _blocks_of(self, file: DataFile) -> Iterator[ArrowLines | TextBlock]:
        self.watched.require_unchanged(file.path)
        first_bytes = self.first_bytes if file is self.files[0] else None
        with open_csv(file.path, self.options, file.state, first_bytes, self.later_bytes) as text:
            self.begin(text)
            yield from self.blocks_from(text)
        self.watched.require_unchanged(file.path)

    def begin(self, text: CsvText) -> None:
        """Skip the header of a file, and check that the file has the same columns as the first file."""
        text.start()
        fields = text.header()
        # If the file has changed in the meantime, report that instead of different columns.
        self.watched.require_unchanged(text.path)
        self._require_same_columns(text.path, fields)

    def is_arrow_safe(self) -> bool:
        """Return whether Arrow can parse the first rows of the first file."""
        with open_csv(self.files[0].path, self.options, self.files[0].state, HEADER_BYTES) as text:
            self.begin(text)
            return text.is_arrow_safe(len(self.names))

    def blocks_from(self, text: CsvText) -> Iterator[ArrowLines | TextBlock]:
        """Yield the remaining lines of a file in blocks."""
        for block in text.blocks(len(self.names), self.selected):
            raise_if_cancelled()
            yield block

    def know(self, types: Sequence[ColumnType]) -> None:
        """From now on parse numeric columns as numbers, unless messages may need a field's text, or fields may stand for other values."""
        values, plain = self.values, {INT: pa.int64(), FLOAT: pa.float64()}
        if self.options.nrows is None and not (values.true_values or values.false_values) and {*self.hinted} <= {None, INT, FLOAT, STR}:
            self.known = NumberColumns(tuple(map(plain.get, types)), values.missing, values.quoted_empty_is_text)

    def _require_same_columns(self, path: str, fields: list[str]) -> None:
        """Raise an error if a file has other columns: values are assigned by position, and a first line that is not a header would be lost.

        Raises
        ------
        StorageError
            If the columns differ in number or names from those of the file ``named_by``.
        """
        if fields and len(fields) != len(self.names):
            raise StorageError(f"{path} has {len(fields)} columns, {self.named_by} has {len(self.names)}: read them one by one")
        if fields and self.options.header and (names := self._names(fields)) != self.names:
            own, expected = next(pair for pair in zip(names, self.names, strict=True) if pair[0] != pair[1])
            raise StorageError(
                f"{path} has {own!r:.100} in the header where {self.named_by} has {expected!r:.100}: read them one by one, "
                "with header=False where there is none"
            )

    def left_out(self, path: str, lines: Sequence[str], reason: str) -> None:
        """Record lines that are left out; lines that start with ``#`` are ignored as comments, unless the user has set ``comment_char``.

        Raises
        ------
        CsvLineError
            If ``error_bad_lines`` is set.
        """
        if not self.options.comment_char:
            lines = [line for line in lines if not line.lstrip().startswith("#")]
        if not lines:
            return
        if self.error_bad_lines:
            raise CsvLineError(f"{path}: line {lines[0]!r:.200} {reason}. Leave out error_bad_lines=True to read the other lines")
        self.keep(path, lines, len(lines))

    def keep(self, path: str, lines: Sequence[str], number: int) -> None:
        """Store lines that are left out, while memory allows; no line is stored after one that is not. ``number`` counts all lines."""
        kept = self.bad_lines.setdefault(path, LeftOut(0, [lines[0]]))
        for line in lines[0 if kept.number else 1 :]:
            self.room -= len(line.encode()) + BYTES_A_LINE
            if self.room < 0:
                break
            kept.lines.append(line)
        if len(lines) < number:
            self.room = min(self.room, -1)
        kept.number += number

    def no_forms(self) -> list[CsvForm | None]:
        """Return a list with None for each column: the forms before anything was read."""
        return [None] * len(self.hinted)

    def learn(self, forms: list[CsvForm | None], block: TextBlock) -> None:
        """Widen the forms of columns without a requested type, so that they include the fields of a block."""
        for index, column in enumerate(() if block.is_learned else block.columns):
            if self.hinted[index] is None and forms[index] != CsvForm.TEXT and pa.types.is_string(column.type):
                form = CsvForm.TEXT if self.values.quoted_empty_is_text and _has_any(block.quoted_empty[index]) else narrowest(column, self.values)
                forms[index] = wider(forms[index], form)

    def first_rows(self, forms: list[CsvForm | None], blocks: Iterator[ArrowLines | TextBlock]) -> list[TextBlock]:
        """Read blocks up to the first that has rows, set ``forms`` and the numeric columns by them, and return these blocks."""
        read: list[TextBlock] = []
        for block in blocks:
            text = block.read(NO_NUMBERS)
            self.learn(forms, text)
            self.quoted_empty.update(index for index, mask in enumerate(text.quoted_empty) if mask is not None and _has_any(mask))
            read.append(attrs.evolve(text, is_learned=True))
            if read[-1].rows:
                break
        self.know(self.types_of(forms))
        return read

    def read(self, block: ArrowLines | TextBlock, forms: Sequence[CsvForm | None], types: Sequence[ColumnType]) -> ValueBlock:
        """Convert the fields of a block to the given types, if all fields have these types. This changes no state, so any thread may call it."""
        text, own = block.read(self.known), list(forms)
        self.learn(own, text)
        left_out = [(text.bad_lines, f"does not have the same number of fields as {len(self.names)}")]
        if self.types_of(own) != types:
            return ValueBlock(text.path, own, None, left_out)
        values, misfit = self._values_of(text, types)
        return ValueBlock(text.path, own, values, [*left_out, (misfit, "holds a value of another type")])

    def fitting(self, blocks: Iterator[ValueBlock], forms: list[CsvForm | None]) -> Iterator[list[pa.Array]]:
        """Yield the values of blocks, and record the lines that are left out, until a block has fields of other types.

        Raises
        ------
        MisfitError
            If a block has fields of other types.
        """
        for block in blocks:
            for lines, reason in block.left_out:
                self.left_out(block.path, lines, reason)
            forms[:] = map(wider, forms, block.forms)
            if block.values is None:
                raise MisfitError
            yield block.values

    def learn_rest(self, forms: list[CsvForm | None], blocks: Iterator[ValueBlock]) -> None:
        """Widen the forms by all remaining blocks, after a block that had fields of other types."""
        self.know(self.types_of(forms))
        for block in blocks:
            forms[:] = map(wider, forms, block.forms)
            # Columns that were numeric so far are now parsed as numbers.
            self.know(self.types_of(forms))

    def types_of(self, forms: Sequence[CsvForm | None]) -> list[ColumnType]:
        """Return the types of the columns in files: the requested type, else the type of the form; string for a column without values."""
        return [hint or (STR if form is None else form.type) for hint, form in zip(self.hinted, forms, strict=True)]

    @property
    def types_of_directories(self) -> list[ColumnType]:
        """The types of the partition columns."""
        return [column.type for column in self.partitions]

    def _values_of(self, block: TextBlock, types: Sequence[ColumnType]) -> tuple[list[pa.Array], list[str]]:
        """Return the values of a block, then its partition columns; and the lines left out because a value does not have its requested type."""
        cells = [
            converted(column, kind, self.values, hint is not None) if pa.types.is_string(column.type) else Converted(column)
            for column, kind, hint in zip(block.columns, types, self.hinted, strict=True)
        ]
        arrays, bad, rows, lines = [cell.values for cell in cells], failed_rows(cells), block.rows, list[str]()
        if bad is not None:
            lines = list(map(self.options.delimiter.join, zip(*(column.filter(bad).to_pylist() for column in block.columns), strict=True)))
            arrays = [array.filter(pc.invert(bad)) for array in arrays]
            rows = len(arrays[0])
        if self.partitions and not self.numbers:
            # Searching the list for each block would take time quadratic in the number of files.
            self.numbers = {file.path: number for number, file in enumerate(self.files)}
        return [*arrays, *(repeated(column.values[self.numbers[block.path]], column.type, rows) for column in self.partitions)], lines


def _has_any(mask: pa.Array | None) -> bool:
    """Return whether a mask holds for a row."""
    return mask is not None and pc.any(mask).as_py() is True


# Tasks that each read one part of the files


@attrs.frozen(eq=False)
class CsvPlan(SharedValue):
    """The information that all tasks reading parts of the files share.

    Parameters
    ----------
    files
        How files are read. Its list of files contains only the first.
    forms
        The forms known so far, which give the types of the segments to write.
    directory
        Directory of the segments.
    room
        Bytes in which a task may store lines that are left out.
    memory
        Memory reservation for rows that stay in this process; None: all rows are written to segments.
    """

    files: CsvFiles
    forms: Sequence[CsvForm | None]
    directory: str
    room: int
    memory: MemoryReservation | None = None


@attrs.frozen(eq=False)
class CsvPart:
    """The result of reading one part.

    Parameters
    ----------
    start
        Offset of its first line.
    end
        Offset of the first line after it.
    forms
        Forms of its fields, combined with those known before; empty if it has no lines or reading failed.
    rows
        The rows, in a segment or in memory; None if a field did not have the known type.
    left_out
        Lines that do not fit the columns, by file.
    failed
        Whether reading raised an error about the contents. It is a real error only if ``start`` is right.
    """

    start: int
    end: int
    forms: Sequence[CsvForm | None] = ()
    rows: external_file_import.RowsOfPart | None = None
    left_out: Mapping[str, LeftOut] = attrs.Factory(dict)
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """The ranges of files that a task reads; sets ``start`` and ``end`` to the offsets of the first line and after the last line."""

    files: CsvFiles
    ranges: Sequence[FileRange]
    reports_position: bool
    start: int = 0
    end: int = 0

    def blocks(self) -> Iterator[ArrowLines | TextBlock]:
        """Yield the lines of all ranges in blocks."""
        for part in self.ranges:
            with open_csv_range(part, self.files.options, self.reports_position) as text:
                if not part.start:
                    self.files.begin(text)
                elif not part.is_line:
                    text.find_line(part.start, len(self.files.names))
                self.start = text.position
                yield from self.files.blocks_from(text)
                self.end = text.position


@attrs.frozen(eq=False)
class CsvTask:
    """A task that reads whole files, or a range of one file, and writes the rows to a segment.

    Parameters
    ----------
    plan
        What all tasks have in common.
    ranges
        The ranges to read.
    number
        Number of the segment.
    """

    plan: CsvPlan
    ranges: tuple[FileRange, ...]
    number: int

    @property
    def is_continued(self) -> bool:
        """Whether the first range starts in the middle of a file."""
        return self.ranges[0].start > 0

    def begins_before(self, offset: int) -> bool:
        """Return whether a line that starts at an offset of the file belongs to this part or an earlier one."""
        part = self.ranges[0]
        assert part.state is not None
        return offset < (part.state.size if part.stop is None else part.stop)

    def from_line(self, start: int) -> CsvTask:
        """Return the task with its range beginning at ``start``, where a line is known to start; the same task for whole files."""
        return attrs.evolve(self, ranges=(attrs.evolve(self.ranges[0], start=start, is_line=True),)) if self.is_continued else self

    def __call__(self) -> CsvPart:
        """Read and write the rows. An error about the contents is only recorded, because the start of the range may be a wrong guess."""
        reading = self._reading(reports_position=False)
        try:
            return self._written(reading)
        except (CsvLineError, CsvEncodingError):
            return CsvPart(reading.start, reading.end, failed=True)

    def read_or_raise(self) -> CsvPart:
        """Read and write the rows of a part whose start is known to be right, and raise errors.

        Raises
        ------
        CsvLineError
            If a line does not fit the columns and ``error_bad_lines`` is set.
        CsvEncodingError
            If bytes are not valid in the encoding.
        """
        return self._written(self._reading(reports_position=True))

    def _reading(self, reports_position: bool) -> _Reading:
        watched = WatchedFiles((part.path, part.state) for part in self.ranges)
        numbers = {part.path: part.number for part in self.ranges}
        files = attrs.evolve(self.plan.files, bad_lines={}, room=self.plan.room, watched=watched, numbers=numbers)
        return _Reading(files, self.ranges, reports_position)

    def _written(self, reading: _Reading) -> CsvPart:
        files, forms = reading.files, list(self.plan.forms)
        types = files.types_of(forms)
        files.know(types)
        blocks = (files.read(block, forms, types) for block in reading.blocks())
        rows = None
        try:
            runs = files.fitting(blocks, forms)
            rows = external_file_import.buffered_or_written(
                runs, (*types, *files.types_of_directories), self.plan.memory, self.plan.directory, self.number
            )
        except MisfitError:
            # Fields have other types than expected, so everything is read again. Collect the types of the remaining blocks for that.
            files.learn_rest(forms, blocks)
        return CsvPart(reading.start, reading.end, forms, rows, files.bad_lines)


# Parallel reading of large files in parts, with the same rows as a single reader

# Up to this size files are always read by a single reader, because writing segments in parallel is not worthwhile.
SINGLE_READER_BYTES = 128 << 20
# Rows of strings take at most this multiple of their bytes in the file as memory.
BYTES_OF_CHARACTER = 2
# Number of bytes of a local file from which types are inferred first. If later rows have other types, everything is read twice.
TYPES_BYTES = 1 << 20
_RunTasks = Callable[[Sequence[CsvTask]], list[CsvPart]]


class _OtherFormsError(Exception):
    """Raised if parts were written with types that do not hold all fields; they are to be read again with ``parts`` and ``forms``."""

    def __init__(self, parts: list[tuple[FileRange, ...]], forms: list[CsvForm | None]) -> None:
        super().__init__("parts have other types")
        self.parts, self.forms = parts, forms


def split_rows(files: CsvFiles) -> PlannerNode | None:
    """Return a source of all rows after reading the files in parts; None if that is not worthwhile or ``nrows`` limits the number of rows."""
    has_lines = files.options.encoding in UTF_8
    if not files.names or files.options.nrows is not None:
        return None
    data_files = external_file_import.read_in_parts(files.files, has_lines, _fits_one_reader, files.watched.seen, lambda _: files.is_arrow_safe())
    if data_files is None:
        return None
    files.files = data_files
    # This block is parsed as strings, which takes four times as long as parsing numbers. For remote files, a larger request costs nothing.
    files.first_bytes = None if is_remote_location(data_files[0].path) else TYPES_BYTES
    forms = files.no_forms()
    files.first_rows(forms, files.blocks())
    whole = external_file_import.whole_files(files.files)
    parts = external_file_import.parts_of(whole, has_lines)
    while True:
        try:
            return _written(files, whole, parts, forms)
        except _OtherFormsError as error:
            # Rare: fields had other types. Read again with the types known now.
            parts, forms = error.parts, error.forms


def _fits_one_reader(size: int) -> bool:
    """Return whether files of ``size`` bytes are read by a single reader, with threads that parse its blocks, because the rows fit in memory.

    Larger files are read in parts by several threads, each of which writes a segment.
    """
    # Asking the system for the available memory takes time, so it is done last.
    return size <= SINGLE_READER_BYTES or (not is_spark_requested() and size <= result_memory_left() // BYTES_OF_CHARACTER)


def _written(files: CsvFiles, whole: Sequence[FileRange], parts: Sequence[tuple[FileRange, ...]], forms: list[CsvForm | None]) -> PlannerNode:
    """Read all parts and return a source of their rows.

    Raises
    ------
    _OtherFormsError
        If fields have other types than ``forms`` gives.
    """
    files.bad_lines, files.room = {}, memory_budget() if files.keeps_bad_lines else 0
    types = files.types_of(forms)
    with new_dataset((*types, *files.types_of_directories), MaterializeOptions()) as dataset:
        first_only = attrs.evolve(files, files=files.files[:1], watched=WatchedFiles(()))
        plan = CsvPlan(first_only, forms, dataset.directory, files.room // len(parts), external_file_import.reservation_for_rows(whole))
        tasks = [CsvTask(plan, ranges, number) for number, ranges in enumerate(parts)]
        done = in_order(tasks, lambda chosen: external_file_import.run_parts(chosen, whole, dataset.directory, "reading CSV files"))
        all_forms = [functools.reduce(wider, column) for column in zip(forms, *(part.forms for part in done if part.forms), strict=True)]
        if files.types_of(all_forms) != types or any(part.forms and part.rows is None for part in done):
            raise _OtherFormsError([task.from_line(part.start).ranges for task, part in zip(tasks, done, strict=True) if part.forms], all_forms)
        for part in done:
            for path, left_out in part.left_out.items():
                files.keep(path, left_out.lines, left_out.number)
        return external_file_import.in_memory_if_few(external_file_import.source_of_parts([part.rows for part in done], dataset), whole)


def in_order(tasks: Sequence[CsvTask], run: _RunTasks) -> list[CsvPart]:
    """Run tasks until each part begins where the previous one ends; a part in which no line starts has no forms."""
    done = run(tasks)
    misaligned = []
    for number, task in enumerate(tasks):
        before = done[number - 1]
        if task.is_continued and not before.failed and done[number].start != before.end and task.begins_before(before.end):
            misaligned.append(number)
    if misaligned:
        # Nearly all parts are right now. But a part that had begun inside a quoted field may also have ended at a wrong offset.
        for number, part in zip(misaligned, run([tasks[number].from_line(done[number - 1].end) for number in misaligned]), strict=True):
            done[number] = part
    for number, task in enumerate(tasks):
        start = done[number - 1].end if task.is_continued else 0
        if task.is_continued and not task.begins_before(start):
            done[number] = CsvPart(start, start)
        elif task.is_continued and done[number].start != start:
            done[number] = run([task.from_line(start)])[0]
        if done[number].failed:
            # The part begins at the right offset, so reading it again raises a real error.
            done[number] = task.from_line(start).read_or_raise()
    return done


# A single reader

LOG = logging.getLogger("sframe_spark")
# Starting threads takes as long as reading a fifth of this number of bytes.
BYTES_FOR_THREADS = 1 << 20


def read_csv(request: CsvRequest) -> tuple[PlannerNode, list[str]]:
    """Return the rows of CSV files as a source, and the column names; each column gets the narrowest type that holds all its values.

    Rows stay in memory if they fit; otherwise they are written to segments, block by block or in parts by several threads or tasks. So files may be
    larger than memory. Lines that do not fit the columns are left out, with a warning.

    Parameters
    ----------
    request
        The files, their dialect, and the rows and columns to read.

    Raises
    ------
    OSError
        If there is no such file, or it is not text.
    RuntimeError
        If a type hint or a name in ``usecols`` does not fit the file, or a line does not fit the columns and ``error_bad_lines`` is set.
    """
    node, files = _read(request, keeps_bad_lines=False)
    advice = _other_delimiter(files.names, files.options.delimiter)
    for path, left_out in files.bad_lines.items():
        lines = "line is" if left_out.number == 1 else "lines are"
        remedy = advice or "error_bad_lines=True raises an error, read_csv_with_errors() returns the lines"
        message = f"{left_out.number:,} {lines} left out that {'does' if left_out.number == 1 else 'do'} not fit the columns"
        _warn(f"{without_secrets(path)}: {message}, the first: {left_out.lines[0]!r:.100}; {remedy}")
    if not files.names:
        _warn(f"{without_secrets(files.files[0].path)} has no lines, so the frame has no columns")
    if advice and not files.bad_lines:
        _warn(f"{without_secrets(files.named_by)}: {advice}")
    return node, files.chosen_names


def _warn(message: str) -> None:
    warnings.warn(CsvWarning(message), stacklevel=users_level())


def warn_of_header_number(header: Any) -> None:
    """Log a warning if ``header`` is a number, as in pandas. Here 0 means False and other numbers True, as in Turi Create."""
    if isinstance(header, int) and not isinstance(header, bool):
        meaning = "the first line contains the column names" if header else "no line contains column names"
        LOG.warning(
            "header=%d is not a line number: it means %s, so %s; header=True means the first line, and skiprows skips lines before it",
            header,
            bool(header),
            meaning,
        )


def _other_delimiter(names: Sequence[str], delimiter: str) -> str:
    """Return advice if the only column name contains another common delimiter, so that the delimiter may be wrong; else an empty string."""
    # With a line break as the delimiter, lines are asked for.
    if delimiter == IN_NO_TEXT:
        return ""
    candidates = [other for other in (";", "\t", ",", "|") if other != delimiter and len(names) == 1 and other in names[0]]
    return f"the header is a single name that contains {candidates[0]!r}: did you mean delimiter={candidates[0]!r}?" if candidates else ""


def read_csv_with_errors(request: CsvRequest) -> tuple[PlannerNode, list[str], dict[str, list[str]]]:
    """Read as :func:`read_csv`; also return the lines that do not fit the columns, by file, as many as the memory budget allows."""
    node, files = _read(request, keeps_bad_lines=True)
    for path, left_out in files.bad_lines.items():
        if len(left_out.lines) < left_out.number:
            displayed_path = visible(without_secrets(path))
            LOG.warning("%s: only the first %d of %d lines left out fit memory_budget", displayed_path, len(left_out.lines), left_out.number)
    return node, files.chosen_names, {path: left_out.lines for path, left_out in files.bad_lines.items()}


def _read(request: CsvRequest, keeps_bad_lines: bool) -> tuple[PlannerNode, CsvFiles]:
    warn_of_header_number(request.header)
    dialect, values = request.dialect(), request.values()
    resolved = resolve(request.url, str, in_place=True)
    files = CsvFiles(resolved.files, dialect, values, request.error_bad_lines, keeps_bad_lines=keeps_bad_lines)
    files.partitions = partition_columns(resolved.files)
    with resolved.named_in_errors():
        files.read_names(request.usecols)
        hints = hinted_types(request.column_type_hints, files.selected_names)
        files.hinted = [hints.get(name) for name in files.selected_names]
        node = split_rows(files)
        if node is None:
            node = _Reader(files, request.rows_to_infer).read()
        if files.order != list(range(len(node.schema))):
            node = project(node, files.order)
    if files.quoted_empty and "" not in values.missing:
        _warn_of_quoted_empty_fields(files, dict(zip(files.chosen_names, node.schema, strict=True)))
    if request.verbose:
        LOG.info("read %s rows of %d columns from %s", node.length, len(files.selected), visible(_loggable(request.url)))
    return node, files


def _warn_of_quoted_empty_fields(files: CsvFiles, types: Mapping[str, ColumnType]) -> None:
    """Log a warning that names columns whose empty fields in quotes became missing values, where their types were not requested."""
    names = [files.selected_names[index] for index in sorted(files.quoted_empty) if files.hinted[index] is None]
    names = [name for name in names if name in types and types[name] != STR]
    if names:
        LOG.warning(
            '%s: empty fields in quotes ("") are missing values in column%s %s, whose other fields are no texts; '
            'quoted_empty="text" makes such columns texts, as in Turi Create, na_values=["", "NA"] says that they are missing values',
            visible(without_secrets(files.named_by)),
            "s" * (len(names) != 1),
            listed(names),
        )


def _loggable(url: Any) -> str:
    """Return the paths or URLs as a string for the log, without secrets."""
    if isinstance(url, DataFiles):
        url = [file.origin for file in url.files]
    if isinstance(url, (list, tuple)):
        return str(list(map(_loggable, url)))
    return f"an open {type(url).__name__}" if is_open_file(url) else without_secrets(os.fsdecode(url))


@attrs.define(eq=False)
class _Reader:
    """Reads files in order; several threads parse the blocks. Rows stay in memory if they fit, else they are written to segments.

    Parameters
    ----------
    files
        The files.
    rows_to_infer
        Minimum number of rows from which types are inferred.
    """

    files: CsvFiles
    rows_to_infer: int

    @memory_for_batches()
    def read(self) -> PlannerNode:
        """Return a source of all rows."""
        forms, first_file = self.files.no_forms(), self.files.files[0]
        size = (first_file.state or self.files.watched.seen(first_file.path)).size
        self.files.first_bytes = first_block_bytes(size)
        # Reading one small file is faster than starting threads.
        is_small = size < BYTES_FOR_THREADS and len(self.files.files) == 1 and packing_of(first_file.path) is None
        threads = 1 if is_small else external_file_import.threads_that_read()
        # For remote files, a small request takes as long as a large one, so the default block size is used.
        self.files.later_bytes = None if is_remote_location(first_file.path) else block_bytes_for(size, threads)
        for block in self._more_rows():
            self.files.learn(forms, block.read(NO_NUMBERS))
        with closing(self.files.blocks()) as blocks:
            first = self.files.first_rows(forms, blocks)
            with closing(self._values_of(chain(first, blocks), forms, threads)) as values:
                try:
                    return self._source(self.files.fitting(values, forms), forms)
                except MisfitError:
                    # Rare: later fields had other types. Read the rest to learn all types, then read everything again.
                    self.files.learn_rest(forms, values)
        with closing(self.files.blocks()) as blocks, closing(self._values_of(blocks, forms, threads)) as values:
            return self._source(self.files.fitting(values, forms), forms)

    def _more_rows(self) -> Iterator[ArrowLines | TextBlock]:
        """Yield more rows for type inference, if ``nrows`` is smaller than ``rows_to_infer``; otherwise nothing."""
        options = self.files.options
        if options.nrows is not None and options.nrows < self.rows_to_infer:
            more = attrs.evolve(options, nrows=self.rows_to_infer)
            yield from attrs.evolve(self.files, options=more, error_bad_lines=False, keeps_bad_lines=False).blocks()

    def _values_of(self, blocks: Iterator[ArrowLines | TextBlock], forms: Sequence[CsvForm | None], threads: int) -> Generator[ValueBlock]:
        """Yield blocks converted by several threads to the types of the current forms."""
        current, types = list(forms), self.files.types_of(forms)
        return in_threads_ahead(lambda block: self.files.read(block, current, types), blocks, threads)

    def _source(self, runs: Iterator[list[pa.Array]], forms: Sequence[CsvForm | None]) -> PlannerNode:
        """Return a source of rows: in memory, with one array per column, if they fit; else segments."""
        types = (*self.files.types_of(forms), *self.files.types_of_directories)
        first: list[list[pa.Array]] = []
        rows = size = 0
        for run in runs:
            first.append(run)
            rows, size = rows + (len(run[0]) if run else 0), size + sum(column.nbytes for column in run)
            if rows > IN_MEMORY_ROWS or size > memory_budget():
                batches: Iterator[list[pa.Array]] = chain(drained(first), runs)
                return keep_runs(batches, types)
        return joined_source(first, types, rows)
