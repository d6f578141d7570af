"""JSON files as frames: a column for each name that an object has, typed by all its values, so that none is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.files.csv.encoding import text_encoding
from sframe_spark.api.files.json_kinds import ColumnKinds, kind_name
from sframe_spark.api.files.json_members import JsonMembers
from sframe_spark.api.files.json_values import JsonValues, values_of
from sframe_spark.api.files.json_writer import RECORDS, require_orient
from sframe_spark.config import config
from sframe_spark.engine.datasets.new_datasets import keep_runs
from sframe_spark.errors import JsonError, SFrameError
from sframe_spark.operators.sources.memory_source import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.files.file_state import FileState, unchanged
from sframe_spark.storage.files.places import DataFiles, resolve
from sframe_spark.storage.rows.partitions import PartitionColumn, partition_columns, repeated
from sframe_spark.types import FLOAT, INT, STR, ColumnType
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.outgoing.json_text import cell_json_text
from sframe_spark.values.plain import LARGEST_INT, SMALLEST_INT
from sframe_spark.values.text import MOST_LEVELS, too_deep
from sframe_spark.visible import is_unicode, visible

IN_MEMORY_ROWS = 100_000
# Values take so many times their text in memory.
BYTES_OF_CHARACTER = 8
COLUMN_NAME = "X1"


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
    files = resolve(url, str)
    with files.named_in_errors():
        return _Reader(files, orient == RECORDS, named).read()


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
        return _Reader(files, True, named, are_values=True).read()[0]


class _OtherFormError(Exception):
    """Rows change what those before them told of the columns."""


@attrs.frozen
class _Form:
    """Columns of a frame: those of the objects, and those that directories name; mixed is a column that only text would hold together."""

    names: tuple[str, ...]
    own: tuple[ColumnType, ...]
    partitions: tuple[PartitionColumn, ...]
    is_mixed: bool

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """Types of all columns."""
        return (*self.own, *(column.type for column in self.partitions))

    @property
    def all_names(self) -> list[str]:
        """Names of all columns."""
        return [*_named(list(self.names)), *(column.name for column in self.partitions)]

    def arrays(self, found: JsonValues, reader: _Reader) -> list[pa.Array]:
        """All columns of a block."""
        number, count = reader.numbers[found.path], len(found.values)
        own = [reader.encoded(found, name, kind) for name, kind in zip(self.names, self.own, strict=True)]
        return [*own, *(repeated(column.values[number], column.type, count) for column in self.partitions)]


def _emptied(blocks: list[JsonValues]) -> Iterator[JsonValues]:
    """The blocks, of which none is kept."""
    while blocks:
        yield blocks.pop(0)


@attrs.define
class _Reader:
    """Reads the files: into memory if there are few rows, else into segments of the types that the first rows tell, once more if others tell more."""

    files: DataFiles
    is_array: bool
    encoding: str
    columns: dict[str, ColumnKinds] = attrs.Factory(dict)
    has_objects: bool | None = None
    are_values: bool = False
    states: dict[str, FileState] = attrs.Factory(dict)
    partitions: tuple[PartitionColumn, ...] | None = None
    rows: int = 0
    numbers: dict[str, int] = attrs.field(init=False)

    @numbers.default
    def _numbers_of_files(self) -> dict[str, int]:
        return {file.path: number for number, file in enumerate(self.files.files)}

    def read(self) -> tuple[PlannerNode, list[str]]:
        """A source of all rows, and its names."""
        blocks = self._learned(self._all())
        first, are_all = self._first_of(blocks)
        if not first:
            return (memory_source([pa.nulls(0, FLOAT.physical)], [FLOAT]), [COLUMN_NAME]) if self.are_values else (memory_source([], [], 0), [])
        if are_all:
            form = self._final_form()
            runs = [form.arrays(found, self) for found in first]
            joined = [pa.chunked_array([run[place] for run in runs], kind.physical).combine_chunks() for place, kind in enumerate(form.types)]
            return memory_source(joined, list(form.types), sum(len(found.values) for found in first)), form.all_names
        form = self._form()
        if self.columns and not form.is_mixed:
            try:
                return keep_runs(self._runs(chain(_emptied(first), blocks), form), form.types), form.all_names
            except _OtherFormError:
                pass
        for _ in blocks:
            pass
        form = self._final_form()
        return keep_runs((form.arrays(found, self) for found in self._all()), form.types), form.all_names

    def _first_of(self, blocks: Iterator[JsonValues]) -> tuple[list[JsonValues], bool]:
        """The first blocks, as many as are kept in memory and one more, and whether that is all."""
        first: list[JsonValues] = []
        rows = size = 0
        for found in blocks:
            first.append(found)
            rows, size = rows + len(found.values), size + found.size
            if rows > IN_MEMORY_ROWS or size * BYTES_OF_CHARACTER > config.memory_budget:
                return first, False
        return first, True

    def _learned(self, blocks: Iterator[JsonValues]) -> Iterator[JsonValues]:
        for found in blocks:
            self._learn(found)
            self.rows += len(found.values)
            yield found

    def _runs(self, blocks: Iterable[JsonValues], form: _Form) -> Iterator[list[pa.Array]]:
        """The columns of each block, as long as none of them changes the names or types of columns.

        Raises
        ------
        _OtherFormError
            If one does.
        """
        for found in blocks:
            if self._form() != form:
                raise _OtherFormError
            yield form.arrays(found, self)

    def _form(self) -> _Form:
        """Names and types as all that was read so far tells them."""
        if self.partitions is None:
            self.partitions = tuple(partition_columns(self.files.files))
        names = tuple(sorted(self.columns.keys() - {column.name for column in self.partitions}))
        is_mixed = self.are_values and not self.columns[COLUMN_NAME].are_of_one_kind
        return _Form(names, tuple(self.columns[name].type for name in names), self.partitions, is_mixed)

    def _final_form(self) -> _Form:
        """The same when all was read.

        Raises
        ------
        JsonError
            If there are no columns.
        SchemaError
            If values that are one column have no common type.
        """
        if self.are_values:
            self.columns[COLUMN_NAME].require_one_kind()
        if not self.columns:
            raise JsonError(f"{visible(self.files.files[0].origin)} has {self.rows} rows, but no object has a member: a frame of rows has columns")
        return self._form()

    def _all(self) -> Iterator[JsonValues]:
        for path in self.files.paths:
            self._require_unchanged(path)
            yield from values_of(path, self.is_array, self.encoding)
            self._require_unchanged(path)

    def _require_unchanged(self, path: str) -> None:
        """Types and values may come from two readings of a file, which must find the same."""
        self.states[path] = unchanged(path, self.states.get(path))

    def _learn(self, found: JsonValues) -> None:
        """Take the kinds of values into account.

        Raises
        ------
        JsonError
            If values are no objects where there must be, or some are and others not.
        """
        if self.are_values:
            self.has_objects = False
            column = self.columns.setdefault(COLUMN_NAME, ColumnKinds())
            if found.members is not None and found.members.objects is not None:
                column.learn_column(found.members.objects)
            else:
                column.learn(found.values)
            return
        if found.members is not None and self.has_objects is not False:
            self._learn_members(found.members, found)
            return
        if set(map(type, found.values)) <= {dict, NoneType} and self.has_objects is not False:
            self._learn_objects([value for value in found.values if value is not None], found)
            return
        for value, line in zip(found.values, found.lines, strict=True):
            if value is None:
                continue
            is_object = isinstance(value, dict)
            if self.has_objects is None:
                self.has_objects = is_object
            if is_object != self.has_objects or (self.is_array and not is_object):
                others = "an object" if is_object else f"a {kind_name(value)}, no object"
                raise JsonError(f"{visible(found.path)}, line {line}: the value is {others}: a frame is made of objects, each of which is a row")
            if is_object:
                self._learn_objects([value], found)
            else:
                self.columns.setdefault(COLUMN_NAME, ColumnKinds()).learn([value])

    def _learn_members(self, members: JsonMembers, found: JsonValues) -> None:
        """Column by column, which are there already."""
        self.has_objects = True
        for name in members.names:
            column = members.column(name)
            if column is None:
                self.columns.setdefault(name, ColumnKinds()).learn([value.get(name) for value in found.values])
            else:
                self.columns.setdefault(name, ColumnKinds()).learn_column(column)

    def _learn_objects(self, objects: list[dict[str, Any]], found: JsonValues) -> None:
        """Column by column."""
        if objects:
            self.has_objects = True
        for name in dict.fromkeys(chain.from_iterable(objects)):
            if name not in self.columns:
                self.columns[self._name(name, found)] = ColumnKinds()
            self.columns[name].learn([value.get(name) for value in objects])

    def _name(self, name: str, found: JsonValues) -> str:
        if not is_unicode(name):
            line = next(line for value, line in zip(found.values, found.lines, strict=True) if value is not None and name in value)
            raise JsonError(f"{visible(found.path)}, line {line}: the name {name!r:.60} is not Unicode text: it has half of a character")
        return name

    def encoded(self, found: JsonValues, name: str, kind: ColumnType) -> pa.Array:
        """A column of some values."""
        if (known := self._known(found, name, kind)) is not None:
            return known
        cells = [None if value is None else value.get(name) for value in found.values] if self.has_objects else found.values
        try:
            return _array(cells, kind, found.is_plain)
        except UnicodeEncodeError:
            raise JsonError(f"{_place(found)}, column {name!r:.60}: a text is not Unicode, it has half of a character") from None
        except SFrameError as error:
            raise JsonError(f"{_place(found)}, column {name!r:.60}: {error}") from None

    def _known(self, found: JsonValues, name: str, kind: ColumnType) -> pa.Array | None:
        """The same where it is a column of that type already."""
        members = found.members
        if members is None:
            return None
        if not self.has_objects:
            return None if members.objects is None else members.objects.by_type.get(kind)
        if name not in members.names:
            return pa.nulls(len(members.counts), kind.physical)
        column = members.column(name)
        if column is None:
            return None
        return column.by_type.get(kind) if column.kinds else pa.nulls(len(members.counts), kind.physical)


def _place(found: JsonValues) -> str:
    return f"{visible(found.path)}, lines {found.lines[0]} to {found.lines[-1]}"


def _array(cells: Sequence[Any], kind: ColumnType, are_plain: bool) -> pa.Array:
    if are_plain and kind in (INT, FLOAT) and set(map(type, cells)) <= {kind.python_class, NoneType}:
        return pa.array(cells, kind.physical)
    if kind == INT:
        return pa.array([None if cell is None else int(cell) for cell in cells], kind.physical)
    if kind == FLOAT:
        return pa.array([None if cell is None else float(cell) for cell in cells], kind.physical)
    if kind == STR:
        return pa.array([cell if cell is None or isinstance(cell, str) else _text(cell) for cell in cells], kind.physical)
    known = are_plain or _are_plain(cells)
    return encode_plain(list(cells) if known else [None if cell is None else _plain(cell, MOST_LEVELS) for cell in cells], kind)


def _text(cell: Any) -> str:
    return cell_json_text(_plain(cell, MOST_LEVELS) if isinstance(cell, (list, dict)) else cell)


def _are_plain(cells: Sequence[Any]) -> bool:
    """Whether lists and objects hold nothing but texts and numbers that are what they are in columns."""
    lists = [cell for cell in cells if isinstance(cell, list)]
    objects = [cell for cell in cells if isinstance(cell, dict)]
    items = [*chain.from_iterable(lists), *chain.from_iterable(cell.values() for cell in objects)]
    classes = set(map(type, items))
    if not classes <= {str, float, int, NoneType}:
        return False
    ints = [item for item in items if type(item) is int]
    return not ints or (min(ints) >= SMALLEST_INT and max(ints) <= LARGEST_INT)


def _plain(value: Any, levels: int) -> Any:
    """A value with numbers for true and false, at any level; whole numbers of more than 64 bits are texts, which keep their digits.

    Raises
    ------
    SchemaError
        If it has more levels than that.
    """
    if isinstance(value, int):
        return int(value) if SMALLEST_INT <= value <= LARGEST_INT else str(value)
    if not isinstance(value, (list, dict)):
        return value
    if not levels:
        raise too_deep()
    if isinstance(value, list):
        return [_plain(item, levels - 1) for item in value]
    return {key: _plain(item, levels - 1) for key, item in value.items()}


def _named(names: list[str]) -> list[str]:
    """Names of columns, with one for a member whose name is empty."""
    taken, number = set(names), 1
    while f"X{number}" in taken:
        number += 1
    return [name or f"X{number}" for name in names]
