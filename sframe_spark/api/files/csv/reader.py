"""CSV files: read block by block, types from all values of the file, so that no value is ever corrupted."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import attrs
import pyarrow as pa

from sframe_spark.api.files.csv.arrow import NO_NUMBERS
from sframe_spark.api.files.csv.files import CsvFiles
from sframe_spark.api.files.csv.lines import TextBlock, bytes_first
from sframe_spark.api.files.csv.options import CsvRequest, hinted_types
from sframe_spark.api.files.csv.split import split_rows
from sframe_spark.api.files.csv.types import CsvForm
from sframe_spark.config import config
from sframe_spark.engine.datasets.new_datasets import keep_runs
from sframe_spark.engine.options import IN_MEMORY_ROWS
from sframe_spark.errors import MisfitError
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.operators.sources.memory_source import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.files.places import resolve
from sframe_spark.storage.rows.partitions import partition_columns
from sframe_spark.types import ColumnType
from sframe_spark.visible import visible

LOG = logging.getLogger("sframe_spark")


def read_csv(request: CsvRequest) -> tuple[PlannerNode, list[str]]:
    """Rows of CSV files as a source; each column gets the narrowest type that all its values have.

    Few rows stay in memory; otherwise blocks of the file go to segments one after the other, so that a file may be
    larger than memory. Large files are read in parts, by threads or tasks. Lines that are no rows are left out and logged.

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
            visible(path),
            left_out.number,
            left_out.lines[0],
            _other_delimiter(files.names, files.options.delimiter),
        )
    return node, files.chosen_names


def _other_delimiter(names: Sequence[str], delimiter: str) -> str:
    """What to try where the whole header is one name and has another usual delimiter in it; else nothing."""
    others = [other for other in (";", "\t", ",", "|") if other != delimiter and len(names) == 1 and other in names[0]]
    return f"; the header is one name with {others[0]!r} in it: is delimiter={others[0]!r} meant?" if others else ""


def read_csv_with_errors(request: CsvRequest) -> tuple[PlannerNode, list[str], dict[str, list[str]]]:
    """Rows of CSV files as :func:`read_csv` gives them, and the lines that are no rows, by file: as many as the memory budget allows."""
    node, files = _read(request, keeps_bad_lines=True)
    for path, left_out in files.bad_lines.items():
        if len(left_out.lines) < left_out.number:
            LOG.warning("%s: only the first %d of %d lines left out fit memory_budget", visible(path), len(left_out.lines), left_out.number)
    return node, files.chosen_names, {path: left_out.lines for path, left_out in files.bad_lines.items()}


def _read(request: CsvRequest, keeps_bad_lines: bool) -> tuple[PlannerNode, CsvFiles]:
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
        LOG.info("read %s rows of %d columns from %s", node.length, len(files.wanted), visible(str(request.url)))
    return node, files


@attrs.define(eq=False)
class _Reader:
    """Reads the files: into memory if there are few rows, else into segments.

    Parameters
    ----------
    files
        The files.
    rows_to_infer
        How many of their rows tell the types at least.
    """

    files: CsvFiles
    rows_to_infer: int

    def read(self) -> PlannerNode:
        """A source of all rows."""
        files = self.files
        try:
            forms, first, rest = self._first_rows(knows_numbers=True)
        except MisfitError:
            forms, first, rest = self._first_rows(knows_numbers=False)
        for block in self._more_rows():
            files.learn(forms, block)
        types = files.types_of(forms)
        if rest is None:
            chunks = [files.values_of(block, types) for block in first]
            whole = [*types, *files.types_of_directories]
            columns = [pa.chunked_array([chunk[i] for chunk in chunks], kind.physical).combine_chunks() for i, kind in enumerate(whole)]
            return memory_source(columns, whole, len(columns[0]) if columns else 0)
        files.know(types)
        try:
            return self._to_segments(_chained(first, files.fitting(rest, forms, types)), types)
        except MisfitError:
            # Rare: read on to learn the types, and once more to write.
            files.learn_rest(forms, rest)
            types = files.types_of(forms)
            files.know(types)
            return self._to_segments(files.blocks(), types)

    def _more_rows(self) -> Iterator[TextBlock]:
        """The rows that tell the types where fewer of them are read: the types are then those of the files, not of a few rows."""
        options = self.files.options
        if options.nrows is not None and options.nrows < self.rows_to_infer:
            more = attrs.evolve(options, nrows=self.rows_to_infer)
            yield from attrs.evolve(self.files, options=more, error_bad_lines=False, keeps_bad_lines=False).blocks()

    def _first_rows(self, knows_numbers: bool) -> tuple[list[CsvForm | None], list[TextBlock], Iterator[TextBlock] | None]:
        """The forms of the first rows, blocks up to the number of rows, and of bytes, that may stay in memory; the others, if there are more.

        Parameters
        ----------
        knows_numbers
            Whether what are numbers in the first block, a short one then, is read as such in the others.

        Raises
        ------
        MisfitError
            If a column that was read as numbers holds others than those, or none.
        """
        files = self.files
        files.first_bytes = bytes_first(files.size_of_first()) if knows_numbers else None
        files.known = NO_NUMBERS
        forms, blocks = files.no_forms(), files.blocks()
        first: list[TextBlock] = []
        rows = size = 0
        for block in blocks:
            first.append(block)
            files.learn(forms, block)
            files.require_known(forms)
            if knows_numbers and len(first) == 1:
                files.know(files.types_of(forms))
            rows, size = rows + block.rows, size + sum(column.nbytes for column in block.columns)
            if rows > IN_MEMORY_ROWS or size > config.memory_budget:
                return forms, first, blocks
        return forms, first, None

    def _to_segments(self, blocks: Iterator[TextBlock], types: list[ColumnType]) -> PlannerNode:
        """A source of the rows of blocks."""
        runs = (self.files.values_of(block, types) for block in blocks)
        return keep_runs(runs, (*types, *self.files.types_of_directories))


def _chained(first: list[TextBlock], rest: Iterator[TextBlock]) -> Iterator[TextBlock]:
    """The blocks read already, each let go as it is passed on, then the others."""
    while first:
        yield first.pop(0)
    yield from rest
