"""JSON files as frames: a column for each name that an object has, typed by all its values, so that none is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.files.csv.encoding import text_encoding
from sframe_spark.api.files.json_members import LARGE_INT, JsonColumn, JsonMembers
from sframe_spark.api.files.json_values import JsonValues, values_of
from sframe_spark.api.files.json_writer import RECORDS, require_orient
from sframe_spark.config import config
from sframe_spark.engine.datasets.new_datasets import write_runs
from sframe_spark.errors import JsonError, SchemaError, SFrameError
from sframe_spark.operators.sources.source import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.files.file_state import FileState, unchanged
from sframe_spark.storage.files.places import DataFiles, resolve
from sframe_spark.storage.rows.partitions import partition_columns, repeated
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.outgoing.json_text import cell_json_text
from sframe_spark.values.plain import LARGEST_INT, SMALLEST_INT, plain_number
from sframe_spark.values.text import MOST_LEVELS, too_deep
from sframe_spark.visible import is_unicode, visible

IN_MEMORY_ROWS = 100_000
# Values take so many times their text in memory.
BYTES_OF_CHARACTER = 8
COLUMN_NAME = "X1"
# Floats hold all ints up to it.
_EXACT = 2**53
_NUMBERS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"int", "float"}): FLOAT}
_ELEMENTS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"str"}): STR}


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


@attrs.define
class _Column:
    """What is known of the values of a column.

    Parameters
    ----------
    kinds
        Their kinds, missing ones apart.
    inner
        Kinds of what lists and objects hold.
    """

    kinds: set[str] = attrs.Factory(set)
    inner: set[str] = attrs.Factory(set)

    def learn(self, values: Iterable[Any]) -> None:
        """Look at more values, missing ones among them."""
        cells = [value for value in values if value is not None]
        found = _kinds(cells)
        self.kinds |= found
        if "list" in found:
            self.inner |= _kinds([item for cell in cells if isinstance(cell, list) for item in cell if item is not None])
        if "dict" in found:
            self.inner |= _kinds([item for cell in cells if isinstance(cell, dict) for item in cell.values() if item is not None])

    def learn_column(self, found: JsonColumn) -> None:
        """Look at values that are a column already."""
        self.kinds |= found.kinds
        self.inner |= found.inner

    def require_one_kind(self) -> None:
        """Refuse values that only text would hold together.

        Raises
        ------
        SchemaError
            If there are such.
        """
        if len(kinds := _of_ints(self.kinds)) > 1 and kinds not in _NUMBERS:
            raise SchemaError(f"the values have no common type, they are {' and '.join(sorted(kinds))}: read_json() of SFrame takes objects")

    @property
    def type(self) -> ColumnType:
        """The type that holds all of them as they are; text, where they are of several kinds."""
        kinds, element = _of_ints(self.kinds), _ELEMENTS.get(_of_ints(self.inner))
        if not kinds:
            return FLOAT
        if kinds == {"list"}:
            return ENCODED_LIST if element is None else list_of(element)
        if kinds == {"dict"}:
            return ENCODED_DICT if element is None else dict_of(STR, element)
        return _NUMBERS.get(kinds, STR)


def _kind(value: Any) -> str:
    if isinstance(value, int):
        if not SMALLEST_INT <= value <= LARGEST_INT:
            return "long int"
        return "int" if int(float(value)) == value else LARGE_INT
    return type(value).__name__


def _kinds(cells: list[Any]) -> set[str]:
    """Kinds of values, none of which is missing."""
    classes = set(map(type, cells))
    if not classes & {int, bool}:
        return {found.__name__ for found in classes}
    ints = [cell for cell in cells if isinstance(cell, int)]
    within = min(ints) >= -_EXACT and max(ints) <= _EXACT
    return {found.__name__ for found in classes - {int, bool}} | ({"int"} if within else set(map(_kind, ints)))


def _of_ints(kinds: set[str]) -> frozenset[str]:
    """Kinds of values: large ints are ints, except beside floats, which do not hold them."""
    return frozenset(kinds if "float" in kinds else {"int" if kind == LARGE_INT else kind for kind in kinds})


@attrs.define
class _Reader:
    """Reads the files: into memory if there are few rows, else once to learn the types and once more into segments."""

    files: DataFiles
    is_array: bool
    encoding: str
    columns: dict[str, _Column] = attrs.Factory(dict)
    has_objects: bool | None = None
    are_values: bool = False
    states: dict[str, FileState] = attrs.Factory(dict)

    def read(self) -> tuple[PlannerNode, list[str]]:
        """A source of all rows, and its names."""
        kept: list[JsonValues] | None = []
        rows = size = 0
        for found in self._all():
            self._learn(found)
            rows, size = rows + len(found.values), size + found.size
            if kept is not None and rows <= IN_MEMORY_ROWS and size * BYTES_OF_CHARACTER <= config.memory_budget:
                kept.append(found)
            else:
                kept = None
        if not rows:
            return (memory_source([pa.nulls(0, FLOAT.physical)], [FLOAT]), [COLUMN_NAME]) if self.are_values else (memory_source([], [], 0), [])
        if self.are_values:
            self.columns[COLUMN_NAME].require_one_kind()
        if not self.columns:
            raise JsonError(f"{visible(self.files.files[0].origin)} has {rows} rows, but no object has a member: a frame of rows has columns")
        names, types = sorted(self.columns), [self.columns[name].type for name in sorted(self.columns)]
        partitions = partition_columns(self.files.files)
        places = [place for place, name in enumerate(names) if name not in {column.name for column in partitions}]
        names, types = [names[place] for place in places], [types[place] for place in places]
        numbers = {file.path: number for number, file in enumerate(self.files.files)}

        def arrays(found: JsonValues) -> list[pa.Array]:
            number, count = numbers[found.path], len(found.values)
            own = [self._encoded(found, name, kind) for name, kind in zip(names, types, strict=True)]
            return [*own, *(repeated(column.values[number], column.type, count) for column in partitions)]

        whole = (*types, *(column.type for column in partitions))
        all_names = [*_named(names), *(column.name for column in partitions)]
        if kept is None:
            return write_runs(map(arrays, self._all()), whole), all_names
        runs = list(map(arrays, kept))
        joined = [pa.chunked_array([run[place] for run in runs], kind.physical).combine_chunks() for place, kind in enumerate(whole)]
        return memory_source(joined, list(whole), rows), all_names

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
            column = self.columns.setdefault(COLUMN_NAME, _Column())
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
                others = "an object" if is_object else f"a {_kind(value)}, no object"
                raise JsonError(f"{visible(found.path)}, line {line}: the value is {others}: a frame is made of objects, each of which is a row")
            if is_object:
                self._learn_objects([value], found)
            else:
                self.columns.setdefault(COLUMN_NAME, _Column()).learn([value])

    def _learn_members(self, members: JsonMembers, found: JsonValues) -> None:
        """Column by column, which are there already."""
        self.has_objects = True
        for name in members.names:
            column = members.column(name)
            if column is None:
                self.columns.setdefault(name, _Column()).learn([value.get(name) for value in found.values])
            else:
                self.columns.setdefault(name, _Column()).learn_column(column)

    def _learn_objects(self, objects: list[dict[str, Any]], found: JsonValues) -> None:
        """Column by column."""
        if objects:
            self.has_objects = True
        for name in dict.fromkeys(chain.from_iterable(objects)):
            if name not in self.columns:
                self.columns[self._name(name, found)] = _Column()
            self.columns[name].learn([value.get(name) for value in objects])

    def _name(self, name: str, found: JsonValues) -> str:
        if not is_unicode(name):
            line = next(line for value, line in zip(found.values, found.lines, strict=True) if value is not None and name in value)
            raise JsonError(f"{visible(found.path)}, line {line}: the name {name!r:.60} is not Unicode text: it has half of a character")
        return name

    def _encoded(self, found: JsonValues, name: str, kind: ColumnType) -> pa.Array:
        """A column of some values."""
        if (known := self._known(found, name, kind)) is not None:
            return known
        cells = [None if value is None else value.get(name) for value in found.values] if self.has_objects else found.values
        try:
            return _array(cells, kind, found.is_plain)
        except UnicodeEncodeError:
            raise JsonError(f"{_place(found)}, column {name!r:.60}: a text is not Unicode, it has half of a character") from None
        except OverflowError:
            told = "a whole number in a list or an object is larger than any float: write it as a text"
            raise JsonError(f"{_place(found)}, column {name!r:.60}: {told}") from None
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
    """A value with numbers for true and false, at any level; whole numbers of more than 64 bits are floats, as everywhere in lists and dicts.

    Raises
    ------
    SchemaError
        If it has more levels than that.
    """
    if isinstance(value, int):
        return plain_number(value)
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
