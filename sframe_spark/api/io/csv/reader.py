"""CSV files: read block by block, types from all values of the file, so that no value is ever corrupted."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.csv.block_reader import ArrowLines, block_bytes_for, first_block_bytes, open_csv_range
from sframe_spark.api.io.csv.column_types import CsvForm, LeftOut, TextBlock, ValueBlock, wider
from sframe_spark.api.io.csv.options import CsvRequest, hinted_types
from sframe_spark.api.io.csv.parser import NO_NUMBERS
from sframe_spark.api.io.csv.scan import CsvFiles
from sframe_spark.api.io.text_encoding import UTF_8
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
from sframe_spark.errors import CsvEncodingError, CsvLineError, MisfitError
from sframe_spark.locations import is_remote_location
from sframe_spark.message_text import visible
from sframe_spark.operators.project import project
from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches, result_memory_left
from sframe_spark.process.threads import in_threads_ahead
from sframe_spark.redaction import without_secrets
from sframe_spark.session.deployment import is_spark_requested
from sframe_spark.storage.filesystem.byte_streams import FileRange, WatchedFiles
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.path_resolution import resolve
from sframe_spark.storage.segments.partition_columns import partition_columns

# Parts of CSV files as works that do not depend on each other: of each the rows are written as a segment.


@attrs.frozen(eq=False)
class CsvPlan(Shared):
    """What all works have in common.

    Parameters
    ----------
    files
        How the files are read; of them the first one.
    forms
        What is known of the fields, whose types are those of the segments.
    directory
        Where segments go.
    room
        Bytes in which a work keeps lines that are no rows.
    memory
        Room for rows that stay in this process; None: all are written.
    """

    files: CsvFiles
    forms: Sequence[CsvForm | None]
    directory: str
    room: int
    memory: MemoryReservation | None = None


@attrs.frozen(eq=False)
class CsvPart:
    """What was read of a part.

    Parameters
    ----------
    start
        Where its first line starts.
    end
        Where the next line after its last one starts.
    forms
        Of its fields, and of all that were known before.
    rows
        Its rows, as they were written or in memory; None where a value is none of the types that were known.
    left_out
        Lines that are no rows, by file.
    failed
        Whether something is wrong with it, if its start is right.
    """

    start: int
    end: int
    forms: Sequence[CsvForm | None] = ()
    rows: RowsOfPart | None = None
    left_out: Mapping[str, LeftOut] = attrs.Factory(dict)
    failed: bool = False


@attrs.define(eq=False)
class _Reading:
    """FrameFiles that are read from one place to another."""

    files: CsvFiles
    places: Sequence[FileRange]
    reports_position: bool
    start: int = 0
    end: int = 0

    def blocks(self) -> Iterator[ArrowLines | TextBlock]:
        """Their lines."""
        for place in self.places:
            with open_csv_range(place, self.files.options, self.reports_position) as text:
                if not place.start:
                    self.files.begin(text)
                elif not place.is_line:
                    text.find_line(place.start, len(self.files.names))
                self.start = text.position
                yield from self.files.blocks_from(text)
                self.end = text.position


@attrs.frozen(eq=False)
class CsvTask:
    """Reads whole files, or one part of a file.

    Parameters
    ----------
    plan
        How.
    places
        What.
    number
        That of its segment.
    """

    plan: CsvPlan
    places: tuple[FileRange, ...]
    number: int

    @property
    def is_continued(self) -> bool:
        """Whether another part of the file comes before."""
        return self.places[0].start > 0

    def begins_before(self, place: int) -> bool:
        """Whether a line that starts at a place in its file is one of the part, or of one before."""
        part = self.places[0]
        assert part.state is not None
        return place < (part.state.size if part.stop is None else part.stop)

    def from_line(self, start: int) -> CsvTask:
        """The same part where it is known at which place its first line starts."""
        return attrs.evolve(self, places=(attrs.evolve(self.places[0], start=start, is_line=True),)) if self.is_continued else self

    def __call__(self) -> CsvPart:
        """Read and write the rows; what is wrong with them is not told yet."""
        reading = self._reading(reports_position=False)
        try:
            return self._written(reading)
        except (CsvLineError, CsvEncodingError):
            return CsvPart(reading.start, reading.end, failed=True)

    def read_or_raise(self) -> CsvPart:
        """The same, of a part that begins with a line.

        Raises
        ------
        CsvLineError
            If a line is no row, and that is an error.
        CsvEncodingError
            If something is no text.
        """
        return self._written(self._reading(reports_position=True))

    def _reading(self, reports_position: bool) -> _Reading:
        watched = WatchedFiles((place.path, place.state) for place in self.places)
        numbers = {place.path: place.number for place in self.places}
        files = attrs.evolve(self.plan.files, bad_lines={}, room=self.plan.room, watched=watched, numbers=numbers)
        return _Reading(files, self.places, reports_position)

    def _written(self, reading: _Reading) -> CsvPart:
        files, forms = reading.files, list(self.plan.forms)
        types = files.types_of(forms)
        files.know(types)
        blocks = (files.read(block, forms, types) for block in reading.blocks())
        rows = None
        try:
            runs = files.fitting(blocks, forms)
            rows = buffered_or_written(runs, (*types, *files.types_of_directories), self.plan.memory, self.plan.directory, self.number)
        except MisfitError:
            # The types of the others are found, too: all is read once more then.
            files.learn_rest(forms, blocks)
        return CsvPart(reading.start, reading.end, forms, rows, files.bad_lines)


# Large CSV files elsewhere, that a cluster shares, or whose rows are written, read in parts at once: rows are those that one reader finds.

# So little is not worth to be written by several threads.
SINGLE_READER_BYTES = 128 << 20
# Rows of text take so many times its bytes in memory, or less.
BYTES_OF_CHARACTER = 2
# What tells the types of files here; where the rest tells others, it is read twice.
TYPES_BYTES = 1 << 20
_RunTasks = Callable[[Sequence[CsvTask]], list[CsvPart]]


class _OtherFormsError(Exception):
    """Fields have other types than those that parts were written with; it tells the parts and the forms of all fields."""

    def __init__(self, parts: list[tuple[FileRange, ...]], forms: list[CsvForm | None]) -> None:
        super().__init__("parts have other types")
        self.parts, self.forms = parts, forms


def split_rows(files: CsvFiles) -> PlannerNode | None:
    """A source of all rows, with the types that all their fields have; None where files are not read in parts, or rows are counted."""
    has_lines = files.options.encoding in UTF_8
    if not files.names or files.options.nrows is not None:
        return None
    placed = read_in_parts(files.files, has_lines, _fits_one_reader, files.watched.seen, lambda _: files.is_arrow_safe())
    if placed is None:
        return None
    files.files = placed
    # As text, which takes four times as long; elsewhere a request for more takes as long as one for little.
    files.first_bytes = None if is_remote_location(placed[0].path) else TYPES_BYTES
    forms = files.no_forms()
    files.first_rows(forms, files.blocks())
    whole = whole_files(files.files)
    parts = parts_of(whole, has_lines)
    while True:
        try:
            return _written(files, whole, parts, forms)
        except _OtherFormsError as found:
            # Rare: once more, with the types that are known now.
            parts, forms = found.parts, found.forms


def _fits_one_reader(size: int) -> bool:
    """Whether one reader takes so many bytes of this machine from the first line to the last, whose blocks threads read: rows that stay in memory.

    Others are written, which several threads do for a part each.
    """
    # What there is room for is asked of the system.
    return size <= SINGLE_READER_BYTES or (not is_spark_requested() and size <= result_memory_left() // BYTES_OF_CHARACTER)


def _written(files: CsvFiles, whole: Sequence[FileRange], parts: Sequence[tuple[FileRange, ...]], forms: list[CsvForm | None]) -> PlannerNode:
    """A source of all rows.

    Raises
    ------
    _OtherFormsError
        If they have other types.
    """
    files.bad_lines, files.room = {}, config.memory_budget if files.keeps_bad_lines else 0
    types = files.types_of(forms)
    with new_dataset((*types, *files.types_of_directories), MaterializeOptions()) as dataset:
        of_all = attrs.evolve(files, files=files.files[:1], watched=WatchedFiles(()))
        plan = CsvPlan(of_all, forms, dataset.directory, files.room // len(parts), reservation_for_rows(whole))
        tasks = [CsvTask(plan, places, number) for number, places in enumerate(parts)]
        done = in_order(tasks, lambda some: run_parts(some, whole, dataset.directory, "reading CSV files"))
        all_forms = [functools.reduce(wider, column) for column in zip(forms, *(part.forms for part in done if part.forms), strict=True)]
        if files.types_of(all_forms) != types or any(part.forms and part.rows is None for part in done):
            again = [work.from_line(part.start).places for work, part in zip(tasks, done, strict=True) if part.forms]
            raise _OtherFormsError(again, all_forms)
        for part in done:
            for path, left_out in part.left_out.items():
                files.keep(path, left_out.lines, left_out.number)
        return brought(source_of_parts([part.rows for part in done], dataset), whole)


def in_order(tasks: Sequence[CsvTask], run: _RunTasks) -> list[CsvPart]:
    """What is in parts of files, each of which begins where the one before it ends; one without any line has no forms."""
    done = run(tasks)
    again = [number for number, work in enumerate(tasks) if work.is_continued and _is_misaligned(work, done[number], done[number - 1])]
    if again:
        # Nearly all of these are right then. The end of a part that began amid a field may still be that of another one.
        for number, part in zip(again, run([tasks[number].from_line(done[number - 1].end) for number in again]), strict=True):
            done[number] = part
    for number, work in enumerate(tasks):
        place = done[number - 1].end if work.is_continued else 0
        if work.is_continued and not work.begins_before(place):
            done[number] = CsvPart(place, place)
        elif work.is_continued and done[number].start != place:
            done[number] = run([work.from_line(place)])[0]
        if done[number].failed:
            # Its start is right, so there is something to tell.
            done[number] = work.from_line(place).read_or_raise()
    return done


def _is_misaligned(work: CsvTask, part: CsvPart, before: CsvPart) -> bool:
    """Whether a part has lines, and begins elsewhere than the one before it ends; of one that failed nobody knows where it does."""
    return not before.failed and part.start != before.end and work.begins_before(before.end)


LOG = logging.getLogger("sframe_spark")
# To start threads takes as long as to read a fifth of that.
BYTES_FOR_THREADS = 1 << 20


def read_csv(request: CsvRequest) -> tuple[PlannerNode, list[str]]:
    """Rows of CSV files as a source; each column gets the narrowest type that all its values have.

    Rows stay in memory while there is room; otherwise blocks of the file go to segments one after the other, so that a file
    may be larger than memory, or parts of it, which threads or tasks read. Lines that are no rows are left out and logged.

    Parameters
    ----------
    request
        The files, how they are written, and which of their rows and columns are wanted.

    Raises
    ------
    OSError
        If there is no such file, or it is not text.
    RuntimeError
        If a hint or a chosen name does not fit the file, or a line is no row and ``error_bad_lines`` is set.
    """
    node, files = _read(request, keeps_bad_lines=False)
    for path, left_out in files.bad_lines.items():
        LOG.warning(
            "%s: %d line(s) left out that do not fit the columns, the first: %.100r%s",
            visible(without_secrets(path)),
            left_out.number,
            left_out.lines[0],
            _other_delimiter(files.names, files.options.delimiter),
        )
    return node, files.chosen_names


def warn_of_header_number(header: Any) -> None:
    """Warn who names the line of the header by its number, as pandas has it: here 0 is False, and every other number True, as in the reference."""
    if isinstance(header, int) and not isinstance(header, bool):
        meaning = "the first line holds the names of columns" if header else "no line holds the names of columns"
        LOG.warning(
            "header=%d is no number of a line: it is taken as %s, so that %s; the first line is named by header=True, others by skiprows",
            header,
            bool(header),
            meaning,
        )


def _other_delimiter(names: Sequence[str], delimiter: str) -> str:
    """What to try where the whole header is one name and has another usual delimiter in it; else nothing."""
    candidates = [other for other in (";", "\t", ",", "|") if other != delimiter and len(names) == 1 and other in names[0]]
    return f"; the header is one name with {candidates[0]!r} in it: is delimiter={candidates[0]!r} meant?" if candidates else ""


def read_csv_with_errors(request: CsvRequest) -> tuple[PlannerNode, list[str], dict[str, list[str]]]:
    """Rows of CSV files as :func:`read_csv` gives them, and the lines that are no rows, by file: as many as the memory budget allows."""
    node, files = _read(request, keeps_bad_lines=True)
    for path, left_out in files.bad_lines.items():
        if len(left_out.lines) < left_out.number:
            displayed_path = visible(without_secrets(path))
            LOG.warning("%s: only the first %d of %d lines left out fit memory_budget", displayed_path, len(left_out.lines), left_out.number)
    return node, files.chosen_names, {path: left_out.lines for path, left_out in files.bad_lines.items()}


def _read(request: CsvRequest, keeps_bad_lines: bool) -> tuple[PlannerNode, CsvFiles]:
    warn_of_header_number(request.header)
    resolved = resolve(request.url, str, in_place=True)
    files = CsvFiles(resolved.files, request.dialect(), request.values(), request.error_bad_lines, keeps_bad_lines=keeps_bad_lines)
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
    if request.verbose:
        LOG.info("read %s rows of %d columns from %s", node.length, len(files.selected), visible(_loggable(request.url)))
    return node, files


def _loggable(url: Any) -> str:
    """What was read, as it can be logged."""
    return str([_loggable(one) for one in url]) if isinstance(url, (list, tuple)) else without_secrets(os.fsdecode(url))


@attrs.define(eq=False)
class _Reader:
    """Reads the files from the first line to the last, blocks of them by threads: into memory if there is room, else into segments.

    Parameters
    ----------
    files
        The files.
    rows_to_infer
        How many of their rows tell the types at least.
    """

    files: CsvFiles
    rows_to_infer: int

    @memory_for_batches()
    def read(self) -> PlannerNode:
        """A source of all rows."""
        forms, size = self.files.no_forms(), self.files.size_of_first()
        self.files.first_bytes = first_block_bytes(size)
        # Elsewhere a request for little takes as long as one for much.
        threads = 1 if self._is_little(size) else threads_that_read()
        self.files.later_bytes = None if is_remote_location(self.files.files[0].path) else block_bytes_for(size, threads)
        for block in self._more_rows():
            self.files.learn(forms, block.read(NO_NUMBERS))
        with closing(self.files.blocks()) as blocks:
            first = self.files.first_rows(forms, blocks)
            with closing(self._values_of(chain(first, blocks), forms, threads)) as values:
                try:
                    return self._source(self.files.fitting(values, forms), forms)
                except MisfitError:
                    # Rare: read on to learn the types, and once more with these.
                    self.files.learn_rest(forms, values)
        with closing(self.files.blocks()) as blocks, closing(self._values_of(blocks, forms, threads)) as values:
            return self._source(self.files.fitting(values, forms), forms)

    def _is_little(self, size: int) -> bool:
        """Whether all is in one file of so few bytes that one thread reads them sooner than others start."""
        return size < BYTES_FOR_THREADS and len(self.files.files) == 1 and packing_of(self.files.files[0].path) is None

    def _more_rows(self) -> Iterator[ArrowLines | TextBlock]:
        """The rows that tell the types where fewer of them are read: the types are then those of the files, not of a few rows."""
        options = self.files.options
        if options.nrows is not None and options.nrows < self.rows_to_infer:
            more = attrs.evolve(options, nrows=self.rows_to_infer)
            yield from attrs.evolve(self.files, options=more, error_bad_lines=False, keeps_bad_lines=False).blocks()

    def _values_of(self, blocks: Iterator[ArrowLines | TextBlock], forms: Sequence[CsvForm | None], threads: int) -> Generator[ValueBlock]:
        """The rows of blocks as values of the types of some forms, as they are now; so many threads make them."""
        known, types = list(forms), self.files.types_of(forms)
        return in_threads_ahead(lambda block: self.files.read(block, known, types), blocks, threads)

    def _source(self, runs: Iterator[list[pa.Array]], forms: Sequence[CsvForm | None]) -> PlannerNode:
        """A source of rows: few are one array for each column."""
        types = (*self.files.types_of(forms), *self.files.types_of_directories)
        first: list[list[pa.Array]] = []
        rows = size = 0
        for run in runs:
            first.append(run)
            rows, size = rows + (len(run[0]) if run else 0), size + sum(column.nbytes for column in run)
            if rows > IN_MEMORY_ROWS or size > config.memory_budget:
                return keep_runs(_chained(first, runs), types)
        columns = [pa.chunked_array([run[place] for run in first], kind.physical).combine_chunks() for place, kind in enumerate(types)]
        return memory_source(columns, types, rows)


def _chained(first: list[list[pa.Array]], rest: Iterator[list[pa.Array]]) -> Iterator[list[pa.Array]]:
    """The rows read already, each let go as it is passed on, then the others."""
    while first:
        yield first.pop(0)
    yield from rest
