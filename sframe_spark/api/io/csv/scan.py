"""The class ``CsvFiles``: reads files with the same columns, as strings or as values, and collects the lines that do not fit the columns."""

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
            raise CsvNoLineError(f"{self.files[0].path} has no line after those left out: look at skiprows and comment_char")
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

    def size_of_first(self) -> int:
        """Return the size of the first file in bytes."""
        first = self.files[0]
        return (first.state or self.watched.seen(first.path)).size

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
        """Return a block cut after ``limit`` rows, and their number; rows that have a value of another type than requested are not counted."""
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
        """Skip the header of a file, and check that the columns are those of the first file."""
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
            self.known = NumberColumns(tuple(map(plain.get, types)), values.missing)

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
                forms[index] = wider(forms[index], narrowest(column, self.values))

    def first_rows(self, forms: list[CsvForm | None], blocks: Iterator[ArrowLines | TextBlock]) -> list[TextBlock]:
        """Read blocks up to the first that has rows, set ``forms`` and the numeric columns by them, and return these blocks."""
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
        """Convert the fields of a block to the given types, if all fields have these types. This changes no state, so any thread may call it."""
        text, own = block.read(self.known), list(forms)
        self.learn(own, text)
        left_out = [(text.bad_lines, f"has another number of fields than {len(self.names)}")]
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
        """Return the types of the columns in files: the requested types, else those of the forms; string for a column without values."""
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
