"""Types of the columns of JSON, found in the kinds of all their values, so that none is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from sframe_spark.api.io.json.object_columns import LARGE_INT, JsonColumn
from sframe_spark.errors import SchemaError
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.value_model import LARGEST_INT, SMALLEST_INT

# Floats hold all ints up to it.
_EXACT = 2**53
_NUMBERS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"int", "float"}): FLOAT}
_ELEMENTS = {frozenset({"int"}): INT, frozenset({"float"}): FLOAT, frozenset({"str"}): STR}


@attrs.define
class ColumnKinds:
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

    def add(self, other: ColumnKinds) -> None:
        """Take what others know of other values into account."""
        self.kinds |= other.kinds
        self.inner |= other.inner

    def require_one_kind(self) -> None:
        """Refuse values that only text would hold together.

        Raises
        ------
        SchemaError
            If there are such.
        """
        if not self.are_of_one_kind:
            kinds = " and ".join(sorted(_of_ints(self.kinds)))
            raise SchemaError(f"the values have no common type, they are {kinds}: read_json() of SFrame takes objects")

    @property
    def are_of_one_kind(self) -> bool:
        """Whether not only text would hold them together."""
        return len(kinds := _of_ints(self.kinds)) <= 1 or kinds in _NUMBERS

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


def kind_name(value: Any) -> str:
    """The kind of a value that is there: the name of its class, and for whole numbers whether INT, and a float, hold them.

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
    """Kinds of values, none of which is missing."""
    classes = set(map(type, cells))
    if not classes & {int, bool}:
        return {found.__name__ for found in classes}
    ints = cells if classes <= {int, bool} else [cell for cell in cells if isinstance(cell, int)]
    within = min(ints) >= -_EXACT and max(ints) <= _EXACT
    return {found.__name__ for found in classes - {int, bool}} | ({"int"} if within else set(map(kind_name, ints)))


def _of_ints(kinds: set[str]) -> frozenset[str]:
    """Kinds of values: large ints are ints, except beside floats, which do not hold them."""
    return frozenset(kinds if "float" in kinds else {"int" if kind == LARGE_INT else kind for kind in kinds})
