"""What columns the items of lists, arrays and dicts become: which there are, and of which types."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import Any

from sframe_spark.api.node_values import first_values, reduce_values
from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import (
    ARRAY_KIND,
    DATETIME_KIND,
    ENCODED_LIST,
    FLOAT,
    FLOAT_KIND,
    INT_KIND,
    LIST_KIND,
    STANDARD_TYPES,
    STR,
    ZONED_DATETIME,
    ColumnType,
    of_any_offset,
)
from sframe_spark.values.infer import column_type_for
from sframe_spark.values.plain import families_of

# Rows that tell how long lists are.
SAMPLE = 100
_NUMBERS = frozenset({INT_KIND, FLOAT_KIND})
_SEQUENCES = frozenset({LIST_KIND, ARRAY_KIND})


def merged_type(kinds: Collection[str]) -> ColumnType:
    """The type of a column that holds values of some kinds: text where nothing else does.

    Examples
    --------
    >>> merged_type({"int", "float"}).kind, merged_type({"int", "str"}).kind, merged_type(()).kind
    ('float', 'str', 'float')
    """
    found = set(kinds)
    if not found or found == _NUMBERS:
        return FLOAT
    if found == _SEQUENCES:
        return ENCODED_LIST
    if DATETIME_KIND in found and found <= {*_NUMBERS, DATETIME_KIND}:
        return ZONED_DATETIME
    return STANDARD_TYPES[found.pop()] if len(found) == 1 else STR


def types_of_keys(node: PlannerNode, wanted: Sequence[Any] | None = None) -> dict[Any, ColumnType]:
    """All keys of a column of dicts, or those of the wanted ones that there are, in order, with the type of their values, from all rows."""
    parameters = () if wanted is None else (tuple(wanted),)
    kinds: dict[Any, str] = reduce_values(node, [Aggregation("item_kinds", (0,), parameters)])[0]
    return {key: merged_type(kinds[key].split()) for key in sorted(kinds, key=_place_of_key)}


def _place_of_key(key: Any) -> tuple[str, Any]:
    """Numbers by their size, texts by their characters, other keys by what they look like."""
    if isinstance(key, (int, float)):
        return "", key
    return (type(key).__name__, key) if isinstance(key, (str, datetime.datetime)) else (type(key).__name__, repr(key))


def types_of_places(node: PlannerNode) -> list[ColumnType]:
    """The types of the items at each place of a column of lists, from the first rows, of which the longest tells how many there are."""
    cells = [cell for cell in first_values(node, SAMPLE)[0] if cell is not None]
    width = max(map(len, cells), default=0)
    if not width:
        raise UnsupportedOperationError("no list of the first rows has an item, so there is no column to unpack to: give column_types=")
    if node.schema[0].kind == ARRAY_KIND:
        return [FLOAT] * width
    return [merged_type(families_of(cell[place] for cell in cells if place < len(cell))) for place in range(width)]


def asked_types(column_types: Any) -> list[ColumnType]:
    """The types that a user asks for.

    Raises
    ------
    SchemaError
        If they are no list of classes of columns.
    """
    if isinstance(column_types, (str, type)) or not hasattr(column_types, "__iter__"):
        raise SchemaError(f"column_types is a list of classes, one for each column, not {column_types!r:.80}")
    if wrong := [item for item in column_types if not isinstance(item, type) or item is bool]:
        raise SchemaError(f"column_types is a list of classes such as int, float, str, list and dict, and {wrong[0]!r:.60} is none")
    types = [column_type_for(item) for item in column_types]
    if not types:
        raise UnsupportedOperationError("column_types is empty: one column at least is needed to unpack to")
    return list(map(of_any_offset, types))
