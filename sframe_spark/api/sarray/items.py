"""Members of SArray for the items of lists, arrays and dicts, which may also become rows or columns; and for the characters of strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sframe_spark.api.aggregates.argument_types import ColumnClass, Names
from sframe_spark.api.class_registry import SArray, SFrame, make_array, make_frame
from sframe_spark.api.node_value_conversion import literal_of
from sframe_spark.api.unpacked_columns import distinct_keys, prefixed, requested_types, require_prefix, types_of_keys, types_of_positions
from sframe_spark.errors import BoundsError, InvalidArgumentError, NegativeCountError, RowNotFoundError, SchemaError, UnsupportedOperationError
from sframe_spark.expressions.functions.column_packing import value_parameter
from sframe_spark.expressions.functions.element_access import item_type
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.message_text import brief
from sframe_spark.operators.elementwise import apply_function, apply_program
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT, LIST_KIND, ColumnType
from sframe_spark.values.plain_values import is_number, one_value, plain, plain_number

# A number larger than the count of items in any value.
MAX_ITEMS = 2**40
# Name of the column while it is the only one of a frame.
_ALONE = "SArray"


class Items:
    """Mixin of SArray: parts of lists, arrays, dicts and strings."""

    _node: PlannerNode

    def dict_keys(self) -> SArray:
        """Return the keys of each dict as a list, in their order; missing where the dict is missing.

        Raises
        ------
        RuntimeError
            If the values are not dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2}, {}, None]).dict_keys())
        [['a', 'b'], [], None]
        """
        return make_array(apply_function("dict_keys", self._node))

    def dict_values(self) -> SArray:
        """Return the values of each dict as a list, in the order of their keys; missing where the dict is missing.

        Raises
        ------
        RuntimeError
            If the values are not dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2}, {}, None]).dict_values())
        [[1, 2], [], None]
        """
        return make_array(apply_function("dict_values", self._node))

    def dict_has_any_keys(self, keys: Any) -> SArray:
        """Return a column with 1 where a dict has at least one of the keys, else 0; missing where the dict is missing.

        Parameters
        ----------
        keys
            A list or other collection of keys, or one key; of the same class as the keys of the dicts.

        Raises
        ------
        RuntimeError
            If the values are not dicts; or, when rows are computed, if all keys of a dict are of another class.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2}, {}, None]).dict_has_any_keys(["b", "c"]))
        [1, 0, None]
        """
        return make_array(apply_function("dict_has_keys", self._node, parameters=(_keys(keys), False)))

    def dict_has_all_keys(self, keys: Any) -> SArray:
        """Return a column with 1 where a dict has all of the keys, else 0; missing where the dict is missing.

        Parameters
        ----------
        keys
            A list or other collection of keys, or one key. A key whose class differs from the class of a dict's own keys counts as absent.

        Raises
        ------
        RuntimeError
            If the values are not dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2}, {}, None]).dict_has_all_keys(["a", "b"]))
        [1, 0, None]
        """
        return make_array(apply_function("dict_has_keys", self._node, parameters=(_keys(keys), True)))

    def dict_trim_by_keys(self, keys: Any, exclude: bool = True) -> SArray:
        """Return each dict without the given keys, or with only these keys.

        Parameters
        ----------
        keys
            A list or other collection of keys, or one key; of the same class as the keys of the dicts.
        exclude
            Whether to remove the keys; otherwise all other keys are removed.

        Raises
        ------
        RuntimeError
            If the values are not dicts; or, when rows are computed, if all keys of a dict are of another class.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2}, {}, None]).dict_trim_by_keys(["b"]))
        [{'a': 1}, {}, None]
        """
        return make_array(apply_function("dict_trim_keys", self._node, parameters=(_keys(keys), bool(exclude))))

    def dict_trim_by_values(self, lower: float | None = None, upper: float | None = None) -> SArray:
        """Return each dict without the numbers outside of a range; other values are kept.

        Parameters
        ----------
        lower, upper
            The smallest and the largest number to keep; None: no bound.

        Raises
        ------
        TypeError
            If a bound is not a number.
        RuntimeError
            If the values are not dicts, or ``lower`` is above ``upper``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2, "c": 3}]).dict_trim_by_values(2, 2))
        [{'b': 2}]
        """
        bounds = _bound("lower", lower), _bound("upper", upper)
        if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
            raise BoundsError(f"no number is at least {lower!r} and at most {upper!r}")
        return make_array(apply_function("dict_trim_values", self._node, parameters=bounds))

    def vector_slice(self, start: int, end: int | None = None) -> SArray:
        """Return the items at indices from ``start`` up to, not including, ``end`` of each list or array; missing where there are fewer items.

        Parameters
        ----------
        start
            First index, from 0.
        end
            Index after the last; None: only the item at ``start``. A single item of an array is returned as a number, of a list as a list.

        Raises
        ------
        OverflowError
            If an index is negative.
        RuntimeError
            If ``end`` is not above ``start``, or the values are neither lists nor arrays.
        TypeError
            If an index is not a number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> vectors = SArray([[1, 2, 3], [4]])
        >>> list(vectors.vector_slice(0)), list(vectors.vector_slice(0, 2))
        ([1.0, 4.0], [array('d', [1.0, 2.0]), None])
        """
        if self._node.schema[0].kind not in (LIST_KIND, ARRAY_KIND):
            raise UnsupportedOperationError(f"values of type {self._node.schema[0].kind} have no ordered items: only lists and arrays have")
        first = _index("start", start)
        stop = first + 1 if end is None else _index("end", end)
        if stop <= first:
            raise BoundsError(f"the slice ends at {stop}, which is not after its start at {first}")
        return make_array(apply_function("vector_slice", self._node, parameters=(first, stop)))

    def element_slice(self, start: int | None = None, stop: int | None = None, step: int | None = None) -> SArray:
        """Return the slice ``value[start:stop:step]`` of each string, list or array, as in Python; strings are sliced by characters.

        Parameters
        ----------
        start, stop, step
            The bounds and step of the slice; None as in Python.

        Raises
        ------
        TypeError
            If the values cannot be sliced.
        RuntimeError
            If a bound or the step is not an int, or the step is zero.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["abcdef", "xyz"]).element_slice(-2))
        ['ef', 'yz']
        """
        for name, value in (("start", start), ("stop", stop), ("step", step)):
            if value is not None and not isinstance(value, (int, np.integer)):
                raise UnsupportedOperationError(f"{name} of a slice must be a whole number or None, not {value!r:.60}")
        if step == 0:
            raise BoundsError("the step of a slice must not be zero")
        bounds = tuple(None if value is None else max(-MAX_ITEMS, min(int(value), MAX_ITEMS)) for value in (start, stop, step))
        return make_array(apply_function("element_slice", self._node, parameters=bounds))

    def str_pad(self, width: int, side: str = "left", fill: str = " ") -> SArray:
        """Return strings padded with a character to at least ``width`` characters; longer strings and missing values do not change.

        Parameters
        ----------
        width
            Minimum number of characters.
        side
            Where characters are added: ``"left"``, ``"right"`` or ``"both"``, as by Python's ``rjust``, ``ljust`` and ``center``.
        fill
            The character to add.

        Raises
        ------
        TypeError
            If the values are not strings.
        ValueError
            If ``width`` is not an int, ``side`` is unknown, or ``fill`` is not one character.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["7", "42", "1234"]).str_pad(3, fill="0"))
        ['007', '042', '1234']
        >>> list(SArray(["ann", None]).str_pad(5, side="right", fill="."))
        ['ann..', None]
        """
        length = int(width) if isinstance(width, (int, np.integer)) and not isinstance(width, bool) else width
        return make_array(apply_function("str_pad", self._node, parameters=(length, side, fill)))

    def stack(
        self, new_column_name: Names | None = None, drop_na: bool = False, new_column_type: ColumnClass | Sequence[ColumnClass] | None = None
    ) -> SFrame:
        """Return a frame with one row for each item of the lists, arrays or dicts, in their order; see :meth:`SFrame.stack`.

        Parameters
        ----------
        new_column_name, drop_na, new_column_type
            As in :meth:`SFrame.stack`.

        Raises
        ------
        TypeError
            If the values are not lists, arrays or dicts, or names or classes are given in another form.
        ValueError
            If the values are dicts and not two classes are given.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([{"a": 1, "b": 2}]).stack(["key", "value"])["value"])
        [1, 2]
        """
        return make_frame(self._node, [_ALONE]).stack(_ALONE, new_column_name, drop_na, new_column_type)

    def unpack(
        self,
        column_name_prefix: str | None = "X",
        column_types: Sequence[ColumnClass] | Mapping[str, ColumnClass] | None = None,
        na_value: Any = None,
        limit: Sequence[Any] | None = None,
    ) -> SFrame:
        """Return a frame with one column for each index of the lists or arrays, or for each key of the dicts.

        Parameters
        ----------
        column_name_prefix
            Beginning of the column names, before a dot and the index or key; None: the names are the indices or keys.
        column_types
            Classes of the columns. If not given: for dicts, all rows are read, and each column can hold all values of its key; for lists, the first
            100 rows decide the number of columns and their types.
        na_value
            A value that becomes missing.
        limit
            The indices or keys that become columns; required for dicts if ``column_types`` is given.

        Raises
        ------
        TypeError
            If the values are not lists, arrays or dicts, or an argument has another form.
        ValueError
            If ``limit`` contains something twice, or has another number of items than ``column_types``.
        RuntimeError
            If no row has an item; or, when rows are computed, if a value is not of its column's class.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> print(SArray([{"a": 1, "b": "x"}, {"a": 2}]).unpack())
        +-----+------+
        | X.a | X.b  |
        +-----+------+
        |  1  |  x   |
        |  2  | None |
        +-----+------+
        [2 rows x 2 columns]
        """
        column_type = self._node.schema[0]
        if column_type.kind not in (DICT_KIND, LIST_KIND, ARRAY_KIND):
            raise SchemaError(f"unpack() takes lists, arrays or dicts, not values of {column_type.kind}")
        require_prefix(column_name_prefix)
        columns_of = _columns_of_dicts if column_type.kind == DICT_KIND else _columns_of_lists
        requested = columns_of(self._node, column_types, limit)
        node = unpacked(self._node, requested, na_value)
        return make_frame(node, [prefixed(column_name_prefix, key) for key, _ in requested])


def _keys(keys: Any) -> tuple[Any, ...]:
    """Return one key or a collection of keys as a tuple, converted to the classes that dicts store."""
    several = keys if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes)) else (keys,)
    plain_keys = tuple(map(plain, several))
    for key in plain_keys:
        # Raises an error if no column can hold the key.
        literal_of(key)
    return plain_keys


def _bound(name: str, value: Any) -> int | float | None:
    if value is None:
        return None
    value = one_value(value)
    if not is_number(value):
        raise SchemaError(f"the {name} bound must be a number or None, not {value!r:.60}")
    return plain_number(value)


def _index(name: str, value: Any) -> int:
    if not is_number(value):
        raise SchemaError(f"{name} must be a position in lists, a number, not {value!r:.60}")
    if value < 0:
        raise NegativeCountError(
            f"{name} must be a position in lists, counted from 0, but {brief(value)} is negative: element_slice() counts from the end"
        )
    return int(min(value, MAX_ITEMS))


def _columns_of_dicts(node: PlannerNode, column_types: Any, limit: Any) -> list[tuple[Any, ColumnType]]:
    """Return pairs of a key and its column's type; sorted by key if no types are requested."""
    keys = None if limit is None else distinct_keys(limit)
    if column_types is not None:
        requested = requested_types(column_types)
        if keys is None:
            raise InvalidArgumentError("column_types need the keys they belong to: name these with limit=")
        return _paired(keys, requested)
    if keys is not None:
        types = types_of_keys(node, keys)
        if types or types_of_keys(node):
            return [(key, types.get(key, FLOAT)) for key in sorted(keys)]
    types = types_of_keys(node)
    if not types:
        raise UnsupportedOperationError("no dict has a key, so there is no column to unpack to: give limit= and column_types=")
    return list(types.items())


def _columns_of_lists(node: PlannerNode, column_types: Any, limit: Any) -> list[tuple[Any, ColumnType]]:
    """Return pairs of an index and its column's type; the types of the first rows' items if no types are requested."""
    indices = None if limit is None else distinct_keys(limit, int)
    if indices is not None and (negative := [index for index in indices if index < 0]):
        raise RowNotFoundError(f"limit: {brief(negative[0])} is not a position in a list: positions are counted from 0")
    types = types_of_positions(node) if column_types is None else requested_types(column_types)
    if indices is None:
        return list(enumerate(types))
    if column_types is not None:
        return _paired(indices, types)
    return [(index, types[index] if index < len(types) else FLOAT) for index in indices]


def _paired(keys: list[Any], types: list[ColumnType]) -> list[tuple[Any, ColumnType]]:
    if len(keys) != len(types):
        raise InvalidArgumentError(f"limit has {len(keys)} name(s) but column_types has {len(types)} class(es): give one class for each name")
    return list(zip(keys, types, strict=True))


def unpacked(node: PlannerNode, columns: Sequence[tuple[Any, ColumnType]], na_value: Any = None) -> PlannerNode:
    """Return the items with given keys or indices as columns of given types; each value is parsed once for all columns.

    Parameters
    ----------
    node
        A column of lists, arrays or dicts.
    columns
        For each new column a key or an index, and the column's type.
    na_value
        An item that becomes missing.
    """
    are_encoded = item_type(node.schema[0]) is None
    steps = [Step("slots", (Register(0),), (tuple(key for key, _ in columns),))]
    steps += [Step("slot", (Register(1),), (number, kind, are_encoded, value_parameter(na_value))) for number, (_, kind) in enumerate(columns)]
    return apply_program(node, Program(1, tuple(steps), tuple(Register(2 + number) for number in range(len(columns)))))
