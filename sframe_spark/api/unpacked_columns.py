"""Names and types of the columns that ``unpack`` makes from the items of lists, arrays and dicts; and checks of its arguments."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sframe_spark import types
from sframe_spark.api.node_value_conversion import preview_values, reduce_values
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.invalid_unicode_errors import require_unicode_values
from sframe_spark.values.plain_values import families_of, plain_number
from sframe_spark.values.python_to_arrow import column_type_for, is_type
from sframe_spark.values.tagged_json_display_and_canonical_text import display_text


def require_prefix(prefix: Any) -> None:
    """Raise an error if the prefix of column names is not a string.

    Raises
    ------
    SchemaError
        If it is neither a string nor None.
    """
    if prefix is not None and not isinstance(prefix, str):
        raise SchemaError(f"column_name_prefix must be a text, or None for none, not {type(prefix).__name__}")


def prefixed(prefix: str | None, key: Any) -> str:
    """Return the column name for an item: the prefix, a dot, and the item's key or index as a string; without a prefix, the key alone.

    Examples
    --------
    >>> prefixed("X", 0), prefixed(None, "year"), prefixed("X", (1, "a"))
    ('X.0', 'year', 'X.[1,"a"]')
    """
    text = str(key) if key is None else display_text(key)
    return f"{prefix}.{text}" if prefix else text


def distinct_keys(limit: Any, key_class: type | None = None) -> list[Any]:
    """Return the keys (or indices) in ``limit`` as a list, after checking it.

    Raises
    ------
    SchemaError
        If ``limit`` is not a list, is empty, or its keys are not all of one class, or not of ``key_class`` if given.
    BeyondRangeError
        If a key is an int beyond the largest float.
    InvalidArgumentError
        If a key occurs twice, or is a string that is not valid Unicode.
    """
    if isinstance(limit, (str, bytes, Mapping)) or not isinstance(limit, Iterable):
        raise SchemaError(f"limit must be a list of the parts that become columns, not {type(limit).__name__}")
    keys = [int(key) if isinstance(key, np.integer) else key for key in limit]
    if len({type(key) for key in keys}) != 1:
        raise SchemaError("limit must be a list of at least one part, all of one class")
    if key_class is not None and type(keys[0]) is not key_class:
        raise SchemaError(f"limit must be a list of {key_class.__name__} here, but {keys[0]!r:.60} is of {type(keys[0]).__name__}")
    if len(set(keys)) < len(keys):
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise InvalidArgumentError(f"limit names {twice!r:.60} twice")
    for key in keys:
        # No stored item has an int key beyond the largest float.
        if isinstance(key, int):
            plain_number(key)
    require_unicode_values(keys)
    return keys


def names_for_new_columns(existing: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names for new columns; if an existing column has one of them, a number is appended to all of them.

    Examples
    --------
    >>> names_for_new_columns(["a"], ["a", "b"])
    ['a.1', 'b.1']
    """
    number, new_names = 0, list(names)
    while set(new_names) & set(existing):
        number += 1
        new_names = [f"{name}.{number}" for name in names]
    return new_names


# Number of rows from which the length of lists is inferred.
SAMPLE = 100
_NUMBERS = frozenset({types.INT_KIND, types.FLOAT_KIND})
_SEQUENCES = frozenset({types.LIST_KIND, types.ARRAY_KIND})


def merged_type(kinds: Collection[str]) -> types.ColumnType:
    """Return the type of a column for values of all given kinds; strings if no other type can hold them.

    Examples
    --------
    >>> merged_type({"int", "float"}).kind, merged_type({"int", "str"}).kind, merged_type(()).kind
    ('float', 'str', 'float')
    """
    distinct = set(kinds)
    if not distinct or distinct == _NUMBERS:
        return types.FLOAT
    if distinct == _SEQUENCES:
        return types.ENCODED_LIST
    if distinct == {types.ARRAY_KIND, types.NDARRAY_KIND}:
        return types.ARRAY
    if types.DATETIME_KIND in distinct and distinct <= {*_NUMBERS, types.DATETIME_KIND}:
        return types.ZONED_DATETIME
    return types.STANDARD_TYPES[distinct.pop()] if len(distinct) == 1 else types.STR


def types_of_keys(node: PlannerNode, requested: Sequence[Any] | None = None) -> dict[Any, types.ColumnType]:
    """Return a dict from each key of a column of dicts (only ``requested`` keys if given) to its values' type, sorted by key. Reads all rows."""
    parameters = () if requested is None else (tuple(requested),)
    kinds: dict[Any, str] = reduce_values(node, [Aggregation("item_kinds", (0,), parameters)])[0]
    return {key: merged_type(kinds[key].split()) for key in sorted(kinds, key=_sort_key)}


def _sort_key(key: Any) -> tuple[str, Any]:
    """Return the sort key of a dict key: numbers first, by value; other keys by class, strings and date-times by value, the rest by ``repr``."""
    if isinstance(key, (int, float)):
        return "", key
    return (type(key).__name__, key) if isinstance(key, (str, datetime.datetime)) else (type(key).__name__, repr(key))


def types_of_positions(node: PlannerNode) -> list[types.ColumnType]:
    """Return the type of the items at each index of a column of lists or arrays; as many as the longest of the first rows has.

    Raises
    ------
    UnsupportedOperationError
        If none of the first rows has an item.
    """
    cells = [cell for cell in preview_values(node, SAMPLE)[0] if cell is not None]
    width = max(map(len, cells), default=0)
    if not width:
        raise UnsupportedOperationError("none of the first lists has an item, so there is no column to unpack to: give column_types=")
    if node.schema[0].kind == types.ARRAY_KIND:
        return [types.FLOAT] * width
    return [merged_type(families_of(cell[index] for cell in cells if index < len(cell))) for index in range(width)]


def requested_types(column_types: Any) -> list[types.ColumnType]:
    """Return the column types of the classes that a user requests.

    Raises
    ------
    SchemaError
        If ``column_types`` is not a list of classes that a column can hold.
    UnsupportedOperationError
        If ``column_types`` is empty.
    """
    if isinstance(column_types, (str, type)) or not hasattr(column_types, "__iter__"):
        raise SchemaError(f"column_types must be a list of classes, one for each column, not {column_types!r:.80}")
    if wrong := [item for item in column_types if not is_type(item) or item is bool]:
        raise SchemaError(f"column_types must be a list of classes such as int, float, str, list and dict, but contains {wrong[0]!r:.60}")
    requested = [types.of_any_offset(column_type_for(item)) for item in column_types]
    if not requested:
        raise UnsupportedOperationError("column_types is empty: there must be at least one column to unpack to")
    return requested
