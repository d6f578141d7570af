"""CSV files: read block by block, types from all values of the file, so that no value is ever corrupted."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.files.csv.arrow import NO_NUMBERS, NumberColumns
from sframe_spark.api.files.csv.lines import CsvText, LeftOut, TextBlock, opened_text
from sframe_spark.api.files.csv.options import CsvOptions, CsvRequest, CsvValues, chosen_columns, hinted_types
from sframe_spark.api.files.csv.types import Converted, CsvForm, converted, failed_rows, misfits, narrowest, wider
from sframe_spark.api.names import first_places, unique_names
from sframe_spark.config import config
from sframe_spark.engine.datasets.new_datasets import keep_runs
from sframe_spark.errors import CsvLineError, CsvNoLineError, MisfitError, StorageError
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.operators.sources.memory_source import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.files.file_state import FileState, unchanged
from sframe_spark.storage.files.places import resolve
from sframe_spark.storage.rows.partitions import PartitionColumn, partition_columns, repeated
from sframe_spark.types import FLOAT, INT, STR, ColumnType
from sframe_spark.visible import visible

IN_MEMORY_ROWS = 100_000
# What a line takes in memory besides its characters.
BYTES_A_LINE = 64
LOG = logging.getLogger("sframe_spark")


@attrs.define(eq=False)
class CsvFiles:
    """Files with the same columns, to be read any number of times.

    Parameters
    ----------
    paths
        The files, in order.
    options
        Their dialect.
    values
        How fields become values.
    error_bad_lines
        Whether a line that is no row is an error; otherwise it is left out.
    names
        Column names, from the first file.
    wanted
        Places of the columns to read.
    hinted
        Types asked for, for each of these.
    bad_lines
        Lines left out, by file; filled while reading.
    room
        Bytes that are left for keeping such lines; the first of each file is kept in any case.
    states
        The files as they were when they were opened first.
    partitions
        Columns that the directories of the files name; of those the wanted ones once names were read.
    order
        Places, in what is asked for, of the columns read: those of the files, then those of directories.
    numbers
        The number of each file, once a column of directories was asked for.
    known
        Columns that are numbers as far as was read.
    """

    paths: Sequence[str]
    options: CsvOptions
    values: CsvValues
    error_bad_lines: bool
    names: list[str] = attrs.Factory(list)
    wanted: list[int] = attrs.Factory(list)
    hinted: list[ColumnType | None] = attrs.Factory(list)
    bad_lines: dict[str, LeftOut] = attrs.Factory(dict)
    keeps_bad_lines: bool = False
    room: int = 0
    states: dict[str, FileState] = attrs.Factory(dict)
    partitions: Sequence[PartitionColumn] = ()
    order: list[int] = attrs.Factory(list)
    numbers: dict[str, int] = attrs.Factory(dict)
    known: NumberColumns = NO_NUMBERS

    def read_names(self, usecols: Any) -> None:
        """Take column names from the first file that has a line, and choose among them.

        Raises
        ------
        CsvNoLineError
            If there is text, but no line after those to leave out.
        """
        is_empty = True
        for path in self.paths:
            self._require_unchanged(path)
            with opened_text(path, self.options) as text:
                is_empty = not text.start() and is_empty
                self.names = self._names(text.header())
            if self.names:
                break
        if not self.names and not is_empty:
            raise CsvNoLineError(f"{self.paths[0]} has no line after those left out: look at skiprows and comment_char")
        self._choose(usecols)

    def _choose(self, usecols: Any) -> None:
        """Choose among the columns of the files and those of directories, which count where both have a name."""
        named = {column.name: column for column in self.partitions}
        places = [place for place, name in enumerate(self.names) if name not in named]
        names = [*(self.names[place] for place in places), *named] if self.names else []
        chosen = chosen_columns(names, usecols)
        # Rows are counted by a column of theirs.
        self.wanted = [places[place] for place in chosen if place < len(places)] or ([0] if named and self.names else [])
        self.partitions = [named[names[place]] for place in chosen if place >= len(places)]
        read = [*(self.names[place] for place in self.wanted), *(column.name for column in self.partitions)]
        of_files = first_places(read[: len(self.wanted)])
        of_directories = first_places(read[len(self.wanted) :], len(self.wanted))
        self.order = [(of_files if place < len(places) else of_directories)[names[place]] for place in chosen]

    @property
    def wanted_names(self) -> list[str]:
        """Names of the columns to read from files."""
        return [self.names[place] for place in self.wanted]

    @property
    def chosen_names(self) -> list[str]:
        """Names of the columns asked for."""
        read = [*self.wanted_names, *(column.name for column in self.partitions)]
        return [read[place] for place in self.order]

    def of_directories(self, path: str, rows: int) -> list[pa.Array]:
        """The columns that directories name, for so many rows of a file."""
        if self.partitions and not self.numbers:
            # A look through the list for each block is work by the square of the number of files.
            self.numbers = {place: number for number, place in enumerate(self.paths)}
        return [repeated(column.values[self.numbers[path]], column.type, rows) for column in self.partitions]

    def _names(self, fields: list[str]) -> list[str]:
        """Column names for the fields of the first line."""
        numbered = [f"X{i + 1}" for i in range(len(fields))]
        return unique_names([name or number for name, number in zip(fields, numbered, strict=True)]) if self.options.header else numbered

    def blocks(self) -> Iterator[TextBlock]:
        """The rows of all files as text, a block at a time, at most as many as wanted."""
        left = self.options.nrows
        self.bad_lines, self.room = {}, config.memory_budget if self.keeps_bad_lines else 0
        for path in self.paths:
            for block in self._blocks_of(path):
                if left is None:
                    yield block
                    continue
                found, counted = self._first_of(block, left)
                yield found
                left -= counted
                if not left:
                    return

    def _first_of(self, block: TextBlock, most: int) -> tuple[TextBlock, int]:
        """A block up to its last row that is wanted, and how many of its rows count: not those that have a value of another type than asked for."""
        bad = misfits(block.columns, self.hinted, self.values)
        good = range(block.rows) if bad is None else np.flatnonzero(~bad.to_numpy(zero_copy_only=False))
        rows = block.rows if most > len(good) else int(good[most - 1]) + 1 if most else 0
        return attrs.evolve(block, columns=tuple(column[:rows] for column in block.columns), rows=rows), min(most, len(good))

    def _require_unchanged(self, path: str) -> None:
        """Names, types and values come from several readings of a file, which must find the same.

        Raises
        ------
        StorageError
            If it was changed since it was read first.
        """
        self.states[path] = unchanged(path, self.states.get(path))

    def _blocks_of(self, path: str) -> Iterator[TextBlock]:
        self._require_unchanged(path)
        with opened_text(path, self.options) as text:
            text.start()
            fields = text.header()
            # Other columns than before are told as what they are where the file was changed since.
            self._require_unchanged(path)
            self._require_same_columns(path, fields)
            blocks = text.blocks(len(self.names), self.wanted)
            while (block := self._next(text, blocks)) is not None:
                self.left_out(path, block.bad_lines, f"has another number of fields than {len(self.names)}")
                yield block
        self._require_unchanged(path)

    def _next(self, text: CsvText, blocks: Iterator[TextBlock]) -> TextBlock | None:
        """The next block, whose columns of numbers are read as such as soon as they are known."""
        text.numbers = self.known
        return next(blocks, None)

    def _require_same_columns(self, path: str, fields: list[str]) -> None:
        """Values go to columns by their place, so each file must have the same ones; the first line is lost where it is taken for a header.

        Raises
        ------
        StorageError
            If a file has other columns than the first.
        """
        if fields and len(fields) != len(self.names):
            raise StorageError(f"{path} has {len(fields)} columns, {self.paths[0]} has {len(self.names)}: read them one by one")
        if fields and self.options.header and (found := self._names(fields)) != self.names:
            place = next(place for place, name in enumerate(found) if name != self.names[place])
            raise StorageError(
                f"{path} has {found[place]!r:.100} in the header where {self.paths[0]} has {self.names[place]!r:.100}: read them one by one, "
                "with header=False where there is none"
            )

    def left_out(self, path: str, lines: Sequence[str], reason: str) -> None:
        """Remember lines that are no rows, or refuse the first; those that begin with ``#`` are comments where nobody said how these begin.

        Raises
        ------
        CsvLineError
            If such lines are errors.
        """
        if not self.options.comment_char:
            lines = [line for line in lines if not line.lstrip().startswith("#")]
        if not lines:
            return
        if self.error_bad_lines:
            raise CsvLineError(f"{path}: line {lines[0]!r:.200} {reason}. Leave out error_bad_lines=True to read the other lines")
        found = self.bad_lines.setdefault(path, LeftOut(0, [lines[0]]))
        for line in lines[0 if found.number else 1 :]:
            self.room -= len(line.encode()) + BYTES_A_LINE
            if self.room < 0:
                break
            found.lines.append(line)
        found.number += len(lines)


def read_csv(request: CsvRequest) -> tuple[PlannerNode, list[str]]:
    """Rows of CSV files as a source; each column gets the narrowest type that all its values have.

    Few rows stay in memory; otherwise blocks of the file go to segments one after the other, so that a file may be
    larger than memory. Lines that are no rows are left out and logged.

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
    found = resolve(request.url, str)
    files = CsvFiles(found.paths, request.dialect(), request.values(), request.error_bad_lines, keeps_bad_lines=keeps_bad_lines)
    files.partitions = partition_columns(found.files)
    with found.named_in_errors():
        files.read_names(request.usecols)
        hints = hinted_types(request.column_type_hints, files.wanted_names)
        files.hinted = [hints.get(name) for name in files.wanted_names]
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
        hinted = self.files.hinted
        forms: list[CsvForm | None] = [None] * len(hinted)
        first, rest = self._first_rows()
        for block in (*first, *self._more_rows()):
            self._learn(forms, block, hinted)
        types = _types(forms, hinted)
        if rest is None:
            chunks = [self._values(block, types, hinted) for block in first]
            whole = [*types, *self._types_of_directories]
            columns = [pa.chunked_array([chunk[i] for chunk in chunks], kind.physical).combine_chunks() for i, kind in enumerate(whole)]
            return memory_source(columns, whole, len(columns[0]) if columns else 0)
        self._knows(types)
        try:
            return self._to_segments(_chained(first, self._fitting(rest, forms, types, hinted)), types, hinted)
        except MisfitError:
            # Rare: read on to learn the types, and once more to write.
            self.files.known = NO_NUMBERS
            for block in rest:
                self._learn(forms, block, hinted)
            types = _types(forms, hinted)
            self._knows(types)
            return self._to_segments(self.files.blocks(), types, hinted)

    def _knows(self, types: Sequence[ColumnType]) -> None:
        """Let columns of numbers be read as such, where no field may have to be told as it stands in the file, or stands for another one."""
        values, plain = self.files.values, {INT: pa.int64(), FLOAT: pa.float64()}
        if self.files.options.nrows is None and not (values.true_values or values.false_values) and {*self.files.hinted} <= {None, INT, FLOAT, STR}:
            self.files.known = NumberColumns(tuple(map(plain.get, types)), values.missing)

    def _more_rows(self) -> Iterator[TextBlock]:
        """The rows that tell the types where fewer of them are read: the types are then those of the files, not of a few rows."""
        options = self.files.options
        if options.nrows is not None and options.nrows < self.rows_to_infer:
            more = attrs.evolve(options, nrows=self.rows_to_infer)
            yield from attrs.evolve(self.files, options=more, error_bad_lines=False, keeps_bad_lines=False).blocks()

    def _first_rows(self) -> tuple[list[TextBlock], Iterator[TextBlock] | None]:
        """Blocks up to the number of rows, and of bytes, that may stay in memory; the others, if there are more."""
        blocks = self.files.blocks()
        first: list[TextBlock] = []
        rows = size = 0
        for block in blocks:
            first.append(block)
            rows, size = rows + block.rows, size + sum(column.nbytes for column in block.columns)
            if rows > IN_MEMORY_ROWS or size > config.memory_budget:
                return first, blocks
        return first, None

    def _learn(self, forms: list[CsvForm | None], block: TextBlock, hinted: Sequence[ColumnType | None]) -> None:
        """Let the forms of the columns whose type is not asked for be those of a block's fields too."""
        for place, column in enumerate(block.columns):
            if hinted[place] is None and forms[place] != CsvForm.TEXT and pa.types.is_string(column.type):
                forms[place] = wider(forms[place], narrowest(column, self.files.values))

    def _fitting(
        self, blocks: Iterator[TextBlock], forms: list[CsvForm | None], types: list[ColumnType], hinted: Sequence[ColumnType | None]
    ) -> Iterator[TextBlock]:
        """The blocks, as long as the types of the columns stay what they are.

        Raises
        ------
        MisfitError
            If they do not.
        """
        for block in blocks:
            self._learn(forms, block, hinted)
            if _types(forms, hinted) != types:
                raise MisfitError
            yield block

    def _values(self, block: TextBlock, types: Sequence[ColumnType], hinted: Sequence[ColumnType | None]) -> list[pa.Array]:
        """The rows of a block as values, with those of directories; rows with a value that is not of the type asked for are left out."""
        cells = [
            converted(column, kind, self.files.values, asked is not None) if pa.types.is_string(column.type) else Converted(column)
            for column, kind, asked in zip(block.columns, types, hinted, strict=True)
        ]
        arrays, bad = [cell.values for cell in cells], failed_rows(cells)
        if bad is None:
            return [*arrays, *self.files.of_directories(block.path, block.rows)]
        lines = zip(*(column.filter(bad).to_pylist() for column in block.columns), strict=True)
        self.files.left_out(block.path, [self.files.options.delimiter.join(line) for line in lines], "holds a value of another type")
        arrays = [array.filter(pc.invert(bad)) for array in arrays]
        return [*arrays, *self.files.of_directories(block.path, len(arrays[0]))]

    @property
    def _types_of_directories(self) -> list[ColumnType]:
        return [column.type for column in self.files.partitions]

    def _to_segments(self, blocks: Iterator[TextBlock], types: list[ColumnType], hinted: Sequence[ColumnType | None]) -> PlannerNode:
        """Write blocks as segments of a temporary dataset."""
        runs = (self._values(block, types, hinted) for block in blocks)
        return keep_runs(runs, (*types, *self._types_of_directories))


def _types(forms: Sequence[CsvForm | None], hinted: Sequence[ColumnType | None]) -> list[ColumnType]:
    """The types of the columns: those asked for, else those of their forms; a column without any value is one of text."""
    return [asked or (STR if form is None else form.type) for asked, form in zip(hinted, forms, strict=True)]


def _chained(first: list[TextBlock], rest: Iterator[TextBlock]) -> Iterator[TextBlock]:
    """The blocks read already, each let go as it is passed on, then the others."""
    while first:
        yield first.pop(0)
    yield from rest
