"""CSV files with the same columns: their names, their rows as text and as values, and the lines that are no rows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.column_names import first_positions, unique_names
from sframe_spark.api.io.csv.block_reader import ArrowLines, CsvText, open_csv
from sframe_spark.api.io.csv.column_types import Converted, CsvForm, LeftOut, TextBlock, ValueBlock, converted, failed_rows, misfits, narrowest, wider
from sframe_spark.api.io.csv.options import CsvOptions, CsvValues, chosen_columns
from sframe_spark.api.io.csv.parser import NO_NUMBERS, NumberColumns
from sframe_spark.config import config
from sframe_spark.errors import CsvLineError, CsvNoLineError, MisfitError, StorageError
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.byte_streams import WatchedFiles
from sframe_spark.storage.filesystem.path_resolution import DataFile
from sframe_spark.storage.segments.partition_columns import PartitionColumn, repeated
from sframe_spark.types import FLOAT, INT, STR, ColumnType

# Memory overhead of a retained line, beyond its characters.
BYTES_A_LINE = 64
HEADER_BYTES = 64 << 10


@attrs.define(eq=False)
class CsvFiles:
    """CSV files with the same columns, which can be read any number of times.

    Parameters
    ----------
    files
        The files, in order.
    options
        Their dialect.
    values
        How fields become values.
    error_bad_lines
        Whether a line that is no row is an error; otherwise it is left out.
    names
        Column names, from the first file that has a line.
    named_by
        That file.
    wanted
        Indices of the columns to read.
    hinted
        The requested type of each of these; None where it is inferred.
    bad_lines
        Lines that were left out, by file; filled while reading.
    room
        Bytes left for retaining such lines; the first of each file is always retained.
    watched
        Checks that a file does not change between readings.
    partitions
        Partition columns named by the directories of the files; only the requested ones once names were read.
    order
        For each requested column, its index among the columns read: those of the files, then those of directories.
    numbers
        The number of each file, filled when a partition column is needed.
    known
        Columns that are numeric as far as is known.
    first_bytes
        Size of the first block of the first file.
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
    first_bytes: int | None = None
    later_bytes: int | None = None

    @watched.default
    def _watched(self) -> WatchedFiles:
        return WatchedFiles((file.path, file.state) for file in self.files)

    def read_names(self, usecols: Any) -> None:
        """Take column names from the first file that has a line, and choose among them.

        Raises
        ------
        CsvNoLineError
            If there is text, but no line after those to leave out.
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
            raise CsvNoLineError(f"{self.files[0].path} has no line after those left out: look at skiprows and comment_char")
        self._choose(usecols)

    def _choose(self, usecols: Any) -> None:
        """Choose among the columns of the files and partition columns, which take precedence where both have a name."""
        named = {column.name: column for column in self.partitions}
        places = [place for place, name in enumerate(self.names) if name not in named]
        names = [*(self.names[place] for place in places), *named] if self.names else []
        chosen = chosen_columns(names, usecols)
        # At least one column of the file is needed to count its rows.
        self.selected = [places[place] for place in chosen if place < len(places)] or ([0] if named and self.names else [])
        self.partitions = [named[names[place]] for place in chosen if place >= len(places)]
        read = [*(self.names[place] for place in self.selected), *(column.name for column in self.partitions)]
        of_files = first_positions(read[: len(self.selected)])
        of_directories = first_positions(read[len(self.selected) :], len(self.selected))
        self.order = [(of_files if place < len(places) else of_directories)[names[place]] for place in chosen]

    def size_of_first(self) -> int:
        """Return the size of the first file when it was listed."""
        first = self.files[0]
        return (first.state or self.watched.seen(first.path)).size

    @property
    def selected_names(self) -> list[str]:
        """Names of the columns to read from files."""
        return [self.names[place] for place in self.selected]

    @property
    def chosen_names(self) -> list[str]:
        """Names of the requested columns."""
        read = [*self.selected_names, *(column.name for column in self.partitions)]
        return [read[place] for place in self.order]

    def of_directories(self, path: str, rows: int) -> list[pa.Array]:
        """Return the partition columns for a number of rows of a file."""
        if self.partitions and not self.numbers:
            # Searching the list for each block would take time quadratic in the number of files.
            self.numbers = {file.path: number for number, file in enumerate(self.files)}
        return [repeated(column.values[self.numbers[path]], column.type, rows) for column in self.partitions]

    def _names(self, fields: list[str]) -> list[str]:
        """Return column names for the fields of the first line."""
        numbered = [f"X{i + 1}" for i in range(len(fields))]
        return unique_names([name or number for name, number in zip(fields, numbered, strict=True)]) if self.options.header else numbered

    def blocks(self) -> Generator[ArrowLines | TextBlock]:
        """Yield the lines of all files, block by block, up to the last requested row."""
        left = self.options.nrows
        self.bad_lines, self.room = {}, config.memory_budget if self.keeps_bad_lines else 0
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
        """Return a block up to its last requested row, and how many of its rows count: rows with a value of another type than requested do not."""
        bad = misfits(block.columns, self.hinted, self.values)
        good = range(block.rows) if bad is None else np.flatnonzero(~bad.to_numpy(zero_copy_only=False))
        rows = block.rows if limit > len(good) else int(good[limit - 1]) + 1 if limit else 0
        return attrs.evolve(block, columns=tuple(column[:rows] for column in block.columns), rows=rows), min(limit, len(good))

    def _blocks_of(self, file: DataFile) -> Iterator[ArrowLines | TextBlock]:
        self.watched.require_unchanged(file.path)
        first_bytes = self.first_bytes if file is self.files[0] else None
        with open_csv(file.path, self.options, file.state, first_bytes, self.later_bytes) as text:
            self.begin(text)
            yield from self.blocks_from(text)
        self.watched.require_unchanged(file.path)

    def begin(self, text: CsvText) -> None:
        """Skip the header of a file, which must have the same columns as the first one."""
        text.start()
        fields = text.header()
        # If the file was changed meanwhile, report that instead of different columns.
        self.watched.require_unchanged(text.path)
        self._require_same_columns(text.path, fields)

    def is_arrow_safe(self) -> bool:
        """Return whether Arrow can parse the first rows of the first file."""
        with open_csv(self.files[0].path, self.options, self.files[0].state, HEADER_BYTES) as text:
            self.begin(text)
            return text.is_arrow_safe(len(self.names))

    def blocks_from(self, text: CsvText) -> Iterator[ArrowLines | TextBlock]:
        """Yield the remaining lines of a file, block by block."""
        for block in text.blocks(len(self.names), self.selected):
            raise_if_cancelled()
            yield block

    def know(self, types: Sequence[ColumnType]) -> None:
        """Let numeric columns be parsed as numbers, unless the text of a field may be needed in a message or stands for another value."""
        values, plain = self.values, {INT: pa.int64(), FLOAT: pa.float64()}
        if self.options.nrows is None and not (values.true_values or values.false_values) and {*self.hinted} <= {None, INT, FLOAT, STR}:
            self.known = NumberColumns(tuple(map(plain.get, types)), values.missing)

    def _require_same_columns(self, path: str, fields: list[str]) -> None:
        """Refuse a file with other columns: values are assigned by position, and a first line that is no header would be lost.

        Raises
        ------
        StorageError
            If a file has other columns than the one that named them.
        """
        if fields and len(fields) != len(self.names):
            raise StorageError(f"{path} has {len(fields)} columns, {self.named_by} has {len(self.names)}: read them one by one")
        if fields and self.options.header and (names := self._names(fields)) != self.names:
            place = next(place for place, name in enumerate(names) if name != self.names[place])
            raise StorageError(
                f"{path} has {names[place]!r:.100} in the header where {self.named_by} has {self.names[place]!r:.100}: read them one by one, "
                "with header=False where there is none"
            )

    def left_out(self, path: str, lines: Sequence[str], reason: str) -> None:
        """Record lines that are no rows, or refuse the first; lines that begin with ``#`` are comments unless another sign was requested.

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
        self.keep(path, lines, len(lines))

    def keep(self, path: str, lines: Sequence[str], number: int) -> None:
        """Retain the first of some lines that are no rows as far as memory allows; once a line was not retained, no later one is."""
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
        """Return the forms of columns of which nothing was read yet."""
        return [None] * len(self.hinted)

    def learn(self, forms: list[CsvForm | None], block: TextBlock) -> None:
        """Widen the forms of the columns without a requested type to those of the fields of a block."""
        for place, column in enumerate(() if block.is_learned else block.columns):
            if self.hinted[place] is None and forms[place] != CsvForm.TEXT and pa.types.is_string(column.type):
                forms[place] = wider(forms[place], narrowest(column, self.values))

    def first_rows(self, forms: list[CsvForm | None], blocks: Iterator[ArrowLines | TextBlock]) -> list[TextBlock]:
        """Return the blocks up to the first with rows, whose fields initialize the forms and the known numeric columns."""
        read: list[TextBlock] = []
        for block in blocks:
            text = block.read(NO_NUMBERS)
            self.learn(forms, text)
            read.append(attrs.evolve(text, is_learned=True))
            if read[-1].rows:
                break
        self.know(self.types_of(forms))
        return read

    def read(self, block: ArrowLines | TextBlock, forms: Sequence[CsvForm | None], types: Sequence[ColumnType]) -> ValueBlock:
        """Convert a block to some types, if its fields fit them; safe to call on any thread, as nothing is recorded."""
        text, own = block.read(self.known), list(forms)
        self.learn(own, text)
        left_out = [(text.bad_lines, f"has another number of fields than {len(self.names)}")]
        if self.types_of(own) != types:
            return ValueBlock(text.path, own, None, left_out)
        values, misfit = self._values_of(text, types)
        return ValueBlock(text.path, own, values, [*left_out, (misfit, "holds a value of another type")])

    def fitting(self, blocks: Iterator[ValueBlock], forms: list[CsvForm | None]) -> Iterator[list[pa.Array]]:
        """Yield the values of blocks as long as all fit the types that they were read with, and record the lines that are left out.

        Raises
        ------
        MisfitError
            If a block does not fit.
        """
        for block in blocks:
            for lines, reason in block.left_out:
                self.left_out(block.path, lines, reason)
            forms[:] = map(wider, forms, block.forms)
            if block.values is None:
                raise MisfitError
            yield block.values

    def learn_rest(self, forms: list[CsvForm | None], blocks: Iterator[ValueBlock]) -> None:
        """Widen the forms by all remaining blocks, after one that did not fit."""
        self.know(self.types_of(forms))
        for block in blocks:
            forms[:] = map(wider, forms, block.forms)
            # Columns that were numeric so far are parsed as numbers from now on.
            self.know(self.types_of(forms))

    def types_of(self, forms: Sequence[CsvForm | None]) -> list[ColumnType]:
        """Return the types of the file columns: the requested ones, else those of their forms; a column without values is text."""
        return [hint or (STR if form is None else form.type) for hint, form in zip(self.hinted, forms, strict=True)]

    @property
    def types_of_directories(self) -> list[ColumnType]:
        """The types of the partition columns."""
        return [column.type for column in self.partitions]

    def _values_of(self, block: TextBlock, types: Sequence[ColumnType]) -> tuple[list[pa.Array], list[str]]:
        """Return the values of a block, with partition columns, and the lines left out for a value that does not have its requested type."""
        cells = [
            converted(column, kind, self.values, hint is not None) if pa.types.is_string(column.type) else Converted(column)
            for column, kind, hint in zip(block.columns, types, self.hinted, strict=True)
        ]
        arrays, bad = [cell.values for cell in cells], failed_rows(cells)
        if bad is None:
            return [*arrays, *self.of_directories(block.path, block.rows)], []
        lines = zip(*(column.filter(bad).to_pylist() for column in block.columns), strict=True)
        arrays = [array.filter(pc.invert(bad)) for array in arrays]
        return [*arrays, *self.of_directories(block.path, len(arrays[0]))], list(map(self.options.delimiter.join, lines))
