"""CSV files: read block by block, types from all values of the file, so that no value is ever corrupted."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.csv.block_reader import SureLines, bytes_at_a_time, bytes_first
from sframe_spark.api.io.csv.blocks import TextBlock, ValueBlock
from sframe_spark.api.io.csv.column_types import CsvForm
from sframe_spark.api.io.csv.options import CsvRequest, hinted_types
from sframe_spark.api.io.csv.parser import NO_NUMBERS
from sframe_spark.api.io.csv.scan import CsvFiles
from sframe_spark.api.io.csv.split import split_rows
from sframe_spark.config import config
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS
from sframe_spark.engine.runtime.dataset_writer import keep_runs
from sframe_spark.engine.runtime.parallel_scan import threads_that_read
from sframe_spark.errors import MisfitError
from sframe_spark.locations import is_elsewhere
from sframe_spark.message_text import visible
from sframe_spark.operators.project import project
from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.process.threads import in_threads_ahead
from sframe_spark.redaction import without_secrets
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.path_resolution import resolve
from sframe_spark.storage.segments.partition_columns import partition_columns

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


def tell_of_number(header: Any) -> None:
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
    others = [other for other in (";", "\t", ",", "|") if other != delimiter and len(names) == 1 and other in names[0]]
    return f"; the header is one name with {others[0]!r} in it: is delimiter={others[0]!r} meant?" if others else ""


def read_csv_with_errors(request: CsvRequest) -> tuple[PlannerNode, list[str], dict[str, list[str]]]:
    """Rows of CSV files as :func:`read_csv` gives them, and the lines that are no rows, by file: as many as the memory budget allows."""
    node, files = _read(request, keeps_bad_lines=True)
    for path, left_out in files.bad_lines.items():
        if len(left_out.lines) < left_out.number:
            shown = visible(without_secrets(path))
            LOG.warning("%s: only the first %d of %d lines left out fit memory_budget", shown, len(left_out.lines), left_out.number)
    return node, files.chosen_names, {path: left_out.lines for path, left_out in files.bad_lines.items()}


def _read(request: CsvRequest, keeps_bad_lines: bool) -> tuple[PlannerNode, CsvFiles]:
    tell_of_number(request.header)
    found = resolve(request.url, str, in_place=True)
    files = CsvFiles(found.files, request.dialect(), request.values(), request.error_bad_lines, keeps_bad_lines=keeps_bad_lines)
    files.partitions = partition_columns(found.files)
    with found.named_in_errors():
        files.read_names(request.usecols)
        hints = hinted_types(request.column_type_hints, files.wanted_names)
        files.hinted = [hints.get(name) for name in files.wanted_names]
        node = split_rows(files)
        if node is None:
            node = _Reader(files, request.rows_to_infer).read()
        if files.order != list(range(len(node.schema))):
            node = project(node, files.order)
    if request.verbose:
        LOG.info("read %s rows of %d columns from %s", node.length, len(files.wanted), visible(_shown(request.url)))
    return node, files


def _shown(url: Any) -> str:
    """What was read, as it can be logged."""
    return str([_shown(one) for one in url]) if isinstance(url, (list, tuple)) else without_secrets(os.fsdecode(url))


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
        self.files.first_bytes = bytes_first(size)
        # Elsewhere a request for little takes as long as one for much.
        threads = 1 if self._is_little(size) else threads_that_read()
        self.files.later_bytes = None if is_elsewhere(self.files.files[0].path) else bytes_at_a_time(size, threads)
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

    def _more_rows(self) -> Iterator[SureLines | TextBlock]:
        """The rows that tell the types where fewer of them are read: the types are then those of the files, not of a few rows."""
        options = self.files.options
        if options.nrows is not None and options.nrows < self.rows_to_infer:
            more = attrs.evolve(options, nrows=self.rows_to_infer)
            yield from attrs.evolve(self.files, options=more, error_bad_lines=False, keeps_bad_lines=False).blocks()

    def _values_of(self, blocks: Iterator[SureLines | TextBlock], forms: Sequence[CsvForm | None], threads: int) -> Generator[ValueBlock]:
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
