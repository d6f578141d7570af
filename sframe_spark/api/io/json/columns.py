"""The columns of JSON rows: their names and types, collected from all blocks, and conversion of values to these types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.object_columns import LARGE_INT, TYPES, JsonColumn, JsonMembers, TypedMembers
from sframe_spark.api.io.json.parser import JsonValues
from sframe_spark.errors import JsonError, SchemaError, SFrameError
from sframe_spark.message_text import is_unicode, visible
from sframe_spark.storage.segments.partition_columns import PartitionColumn, repeated
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.export import cell_json_text
from sframe_spark.values.tagged_json import MAX_LEVELS, too_deep
from sframe_spark.values.value_model import LARGEST_INT, SMALLEST_INT

# Column types from the kinds of all values

# Up to this number, a float holds every int exactly.
_EXACT = 2**53
_NUMBERS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"int", "float"}): FLOAT}
_ELEMENTS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"str"}): STR}


@attrs.define
class ColumnKinds:
    """The kinds of values seen so far in a column, such as ``int`` or ``str``.

    Parameters
    ----------
    kinds
        Kinds of the values that are not missing.
    inner
        Kinds of the items, for lists and objects.
    """

    kinds: set[str] = attrs.Factory(set)
    inner: set[str] = attrs.Factory(set)

    def learn(self, values: Iterable[Any]) -> None:
        """Add the kinds of more values, some of which may be missing."""
        cells = [value for value in values if value is not None]
        block = _kinds(cells)
        self.kinds |= block
        if "list" in block:
            self.inner |= _kinds([item for cell in cells if isinstance(cell, list) for item in cell if item is not None])
        if "dict" in block:
            self.inner |= _kinds([item for cell in cells if isinstance(cell, dict) for item in cell.values() if item is not None])

    def add(self, other: ColumnKinds | JsonColumn) -> None:
        """Add the kinds that another object has collected, or that a column has."""
        self.kinds |= other.kinds
        self.inner |= other.inner

    @property
    def are_of_one_kind(self) -> bool:
        """Whether the values have a common type without being converted to strings."""
        return len(kinds := _of_ints(self.kinds)) <= 1 or kinds in _NUMBERS

    @property
    def type(self) -> ColumnType:
        """The type that holds all values unchanged; string if the values differ in kind, float if all are missing."""
        kinds, element = _of_ints(self.kinds), _ELEMENTS.get(_of_ints(self.inner))
        if not kinds:
            return FLOAT
        if kinds == {"list"}:
            return ENCODED_LIST if element is None else list_of(element)
        if kinds == {"dict"}:
            return ENCODED_DICT if element is None else dict_of(STR, element)
        return _NUMBERS.get(kinds, STR)


def kind_name(value: Any) -> str:
    """Return the kind of a value: its class name; for ints ``int``, or ``large int`` (no float holds it), or ``long int`` (more than 64 bits).

    Examples
    --------
    >>> kind_name("a"), kind_name(7), kind_name(2**64)
    ('str', 'int', 'long int')
    """
    if isinstance(value, int):
        if not SMALLEST_INT <= value <= LARGEST_INT:
            return "long int"
        return "int" if int(float(value)) == value else LARGE_INT
    return type(value).__name__


def _kinds(cells: list[Any]) -> set[str]:
    """Return the set of kinds of some values, none of which is missing."""
    classes = set(map(type, cells))
    kinds = {kind.__name__ for kind in classes - {int, bool}}
    if classes & {int, bool}:
        ints = cells if classes <= {int, bool} else [cell for cell in cells if isinstance(cell, int)]
        are_exact = min(ints) >= -_EXACT and max(ints) <= _EXACT
        kinds |= {"int"} if are_exact else set(map(kind_name, ints))
    return kinds


def _of_ints(kinds: set[str]) -> frozenset[str]:
    """Return the kinds with large ints counted as ints; if there are floats too, they stay separate, because no float holds them."""
    return frozenset(kinds if "float" in kinds else {"int" if kind == LARGE_INT else kind for kind in kinds})


COLUMN_NAME = "X1"


@attrs.frozen
class JsonForm:
    """Names and types of all columns, with partition columns; ``is_mixed``: the values of a column have no common type other than string."""

    names: tuple[str, ...]
    own: tuple[ColumnType, ...]
    partitions: tuple[PartitionColumn, ...]
    is_mixed: bool

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """The types of all columns, partition columns last."""
        return (*self.own, *(column.type for column in self.partitions))

    @property
    def all_names(self) -> list[str]:
        """The names of all columns, partition columns last."""
        return [*_named(list(self.names)), *(column.name for column in self.partitions)]

    def arrays(self, block: JsonValues, columns: JsonColumns) -> list[pa.Array]:
        """Return the values of a block as one array per column."""
        number, count = columns.numbers[block.path], len(block.values)
        own = [columns.encoded(block, name, kind) for name, kind in zip(self.names, self.own, strict=True)]
        return [*own, *(repeated(column.values[number], column.type, count) for column in self.partitions)]


@attrs.define
class JsonColumns:
    """The columns of JSON files, as far as they are known.

    Parameters
    ----------
    origin
        Name of the first file, for errors.
    partitions
        Partition columns, whose values are in the names of directories.
    numbers
        Maps the path of each file to its number.
    is_array
        Whether each file is one array, rather than a value per line.
    are_values
        Whether the elements of the array are the values of one column, not rows.
    columns
        Maps each name to the kinds of its values.
    has_objects
        Whether rows are objects; None if this is not known yet.
    rows
        Number of rows read.
    """

    origin: str
    partitions: tuple[PartitionColumn, ...]
    numbers: Mapping[str, int]
    is_array: bool
    are_values: bool = False
    columns: dict[str, ColumnKinds] = attrs.Factory(dict)
    has_objects: bool | None = None
    rows: int = 0

    def form(self) -> JsonForm:
        """Return the names and types that follow from the rows read so far."""
        names = tuple(sorted(self.columns.keys() - {column.name for column in self.partitions}))
        is_mixed = self.are_values and not self.columns[COLUMN_NAME].are_of_one_kind
        return JsonForm(names, tuple(self.columns[name].type for name in names), self.partitions, is_mixed)

    def plain_types(self) -> dict[str, pa.DataType]:
        """Return the Arrow types of members, if each name so far has only numbers or only strings; otherwise an empty dict."""
        types = {name: TYPES.get(frozenset(column.kinds)) for name, column in self.columns.items()} if self.has_objects else {}
        return {} if self.are_values or None in types.values() else types

    def final_form(self) -> JsonForm:
        """Return the names and types after everything was read.

        Raises
        ------
        JsonError
            If there are no columns.
        SchemaError
            If ``are_values``, and the values have no common type.
        """
        if self.are_values and not self.columns[COLUMN_NAME].are_of_one_kind:
            kinds = " and ".join(sorted(_of_ints(self.columns[COLUMN_NAME].kinds)))
            raise SchemaError(f"the values have no common type, they are {kinds}: read_json() of SFrame takes objects")
        if not self.columns:
            raise JsonError(f"{visible(self.origin)} has {self.rows} rows, but no object has a member: a frame of rows has columns")
        return self.form()

    def add(self, other: JsonColumns) -> None:
        """Add what was collected from other rows."""
        self.rows += other.rows
        self.has_objects = other.has_objects if self.has_objects is None else self.has_objects
        for name, kinds in other.columns.items():
            self.columns.setdefault(name, ColumnKinds()).add(kinds)

    def learn(self, block: JsonValues) -> None:
        """Add the number of values in a block, and the names and kinds of their members.

        Raises
        ------
        JsonError
            If rows must be objects and a value is not, or only some values are objects.
        """
        self.rows += len(block.values)
        if self.are_values:
            self.has_objects = False
            column = self.columns.setdefault(COLUMN_NAME, ColumnKinds())
            if block.members is not None and block.members.objects is not None:
                column.add(block.members.objects)
            else:
                column.learn(block.values)
            return
        if block.members is not None and self.has_objects is not False:
            self._learn_members(block.members, block)
            return
        if set(map(type, block.values)) <= {dict, NoneType} and self.has_objects is not False:
            self._learn_objects([value for value in block.values if value is not None], block)
            return
        for value, line in zip(block.values, block.lines, strict=True):
            if value is None:
                continue
            is_object = isinstance(value, dict)
            if self.has_objects is None:
                self.has_objects = is_object
            if is_object != self.has_objects or (self.is_array and not is_object):
                class_text = "an object" if is_object else f"a {kind_name(value)}, no object"
                raise JsonError(f"{visible(block.path)}, line {line}: the value is {class_text}: a frame is made of objects, each of which is a row")
            if is_object:
                self._learn_objects([value], block)
            else:
                self.columns.setdefault(COLUMN_NAME, ColumnKinds()).learn([value])

    def _learn_members(self, members: JsonMembers | TypedMembers, block: JsonValues) -> None:
        """Add the kinds of objects whose members are already columns."""
        self.has_objects = True
        for name in members.names:
            kinds, column = self.columns.setdefault(name, ColumnKinds()), members.column(name)
            if column is None:
                kinds.learn([value.get(name) for value in block.values])
            else:
                kinds.add(column)

    def _learn_objects(self, objects: list[dict[str, Any]], block: JsonValues) -> None:
        """Add the kinds of the members of objects, column by column."""
        if objects:
            self.has_objects = True
        for name in dict.fromkeys(chain.from_iterable(objects)):
            if name not in self.columns and not is_unicode(name):
                line = next(line for value, line in zip(block.values, block.lines, strict=True) if value is not None and name in value)
                raise JsonError(f"{visible(block.path)}, line {line}: the name {name!r:.60} is not Unicode text: it has half of a character")
            self.columns.setdefault(name, ColumnKinds()).learn([value.get(name) for value in objects])

    def encoded(self, block: JsonValues, name: str, kind: ColumnType) -> pa.Array:
        """Return the values of one column of a block as an array.

        Raises
        ------
        JsonError
            If a value cannot be stored; the error names the line.
        """
        if (parsed := self._parsed(block, name, kind)) is not None:
            return parsed
        cells = [None if value is None else value.get(name) for value in block.values] if self.has_objects else block.values
        try:
            return _array(cells, kind, block.is_plain)
        except UnicodeEncodeError:
            reason = "a text is not Unicode, it has half of a character"
        except SFrameError as error:
            reason = str(error)
        line = block.lines[_first_wrong(cells, kind, block.is_plain)]
        raise JsonError(f"{visible(block.path)}, line {line}, column {name!r:.60}: {reason}")

    def _parsed(self, block: JsonValues, name: str, kind: ColumnType) -> pa.Array | None:
        """Return one column of a block if it was already parsed as an array of that type; else None."""
        members = block.members
        if members is None:
            return None
        if not self.has_objects:
            return None if members.objects is None else members.objects.by_type.get(kind)
        if name not in members.places:
            return pa.nulls(len(members.counts), kind.physical)
        column = members.column(name)
        if column is None:
            return None
        return column.by_type.get(kind) if column.kinds else pa.nulls(len(members.counts), kind.physical)


def _first_wrong(cells: Sequence[Any], kind: ColumnType, are_plain: bool) -> int:
    """Return the index of the first cell that cannot be converted, by bisection; there must be one."""
    first, stop = 0, len(cells)
    while stop - first > 1:
        middle = (first + stop) // 2
        try:
            _array(cells[first:middle], kind, are_plain)
        except (UnicodeEncodeError, SFrameError):
            stop = middle
        else:
            first = middle
    return first


def _array(cells: Sequence[Any], kind: ColumnType, are_plain: bool) -> pa.Array:
    if are_plain and kind in (INT, FLOAT) and set(map(type, cells)) <= {kind.python_class, NoneType}:
        return pa.array(cells, kind.physical)
    if kind in (INT, FLOAT):
        return pa.array([None if cell is None else kind.python_class(cell) for cell in cells], kind.physical)
    if kind == STR:
        return pa.array([cell if cell is None or isinstance(cell, str) else _text(cell) for cell in cells], kind.physical)
    is_checked = are_plain or _are_plain(cells)
    return encode_plain(list(cells) if is_checked else [None if cell is None else _plain(cell, MAX_LEVELS) for cell in cells], kind)


def _text(cell: Any) -> str:
    return cell_json_text(_plain(cell, MAX_LEVELS) if isinstance(cell, (list, dict)) else cell)


def _are_plain(cells: Sequence[Any]) -> bool:
    """Return whether the items of all lists and objects are strings, floats, missing, or ints of at most 64 bits."""
    lists = [cell for cell in cells if isinstance(cell, list)]
    objects = [cell for cell in cells if isinstance(cell, dict)]
    items = [*chain.from_iterable(lists), *chain.from_iterable(cell.values() for cell in objects)]
    classes = set(map(type, items))
    if not classes <= {str, float, int, NoneType}:
        return False
    ints = [item for item in items if type(item) is int]
    return not ints or (min(ints) >= SMALLEST_INT and max(ints) <= LARGEST_INT)


def _plain(value: Any, levels: int) -> Any:
    """Return a value with true and false at any level replaced by 1 and 0, and ints of more than 64 bits by strings.

    Raises
    ------
    SchemaError
        If lists and objects are nested more than ``levels`` deep.
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
    """Return the column names, with an automatic name such as ``X1`` for a member whose name is empty."""
    used, number = set(names), 1
    while f"X{number}" in used:
        number += 1
    return [name or f"X{number}" for name in names]
