"""What the rows of an operator say about the order that it claims for them: which claims are false."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sframe_spark.order import OrderingItem, OrderingProperties
from sframe_spark.order.properties import RelationProperties

Row = Sequence[Any]

MISSING_VALUES = {"nulls_first": "missing values first", "nulls_last": "missing values last"}


def rank(value: Any) -> tuple[int, Any]:
    """Return a key that sorts values as the engine does in ascending order: missing values first, NaN last, datetimes by instant.

    Values that the engine does not sort, such as lists, are sorted by their ``repr``.

    Examples
    --------
    >>> sorted([2.0, float("nan"), None, -0.0], key=rank)
    [None, -0.0, 2.0, nan]
    """
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    if isinstance(value, datetime):
        return (1, _instant(value))
    return (1, value if isinstance(value, (int, float, str)) else repr(value))


def tie(row: Row, columns: Sequence[Hashable]) -> tuple[Any, ...]:
    """Return the sort keys of a row's values in some columns, without hidden columns."""
    return tuple(rank(row[column]) for column in columns if isinstance(column, int))


def out_of_order(before: Row, after: Row, items: Sequence[OrderingItem]) -> bool:
    """Return whether two consecutive rows are in the wrong order, in an ordering of visible columns."""
    for item in items:
        first, second = rank(before[item.column]), rank(after[item.column])  # type: ignore[call-overload]
        if first == second:
            continue
        if (first[0] == 0) != (second[0] == 0):
            return (second[0] == 0) == (item.nulls == "nulls_first")
        return bool(second < first) == (item.direction == "asc")
    return False


def item_text(item: OrderingItem) -> str:
    """Return an item of an order for a message, such as ``column 0 asc (missing values first)``."""
    return f"column {item.column} {item.direction} ({MISSING_VALUES[item.nulls]})"


def false_claims(properties: RelationProperties, rows: Sequence[Row]) -> list[str]:
    """Return the claims about visible columns that the rows contradict, each as a sentence.

    Examples
    --------
    >>> known = RelationProperties(OrderingProperties(orderings=[[(0, "asc")]], keys=[[0]]))
    >>> false_claims(known, [(1,), (1,), (3,)])
    ['rows 0 and 1 are equal in the columns [0], which are claimed to be a key']
    """
    order = properties.order
    found = [f"column {c} is not constant" for c in order.constants if len({rank(row[c]) for row in rows}) > 1]  # type: ignore[call-overload]
    for group in order.equivalences:
        columns = [column for column in group if isinstance(column, int)]
        found += [f"columns {columns} differ in row {i}" for i, row in enumerate(rows) if len({rank(row[c]) for c in columns}) > 1][:1]
    for items in order.orderings:
        if all(isinstance(item.column, int) and item.direction != "any" for item in items):
            wrong = [i for i, (a, b) in enumerate(pairwise(rows)) if out_of_order(a, b, items)]
            found += [f"rows {i} and {i + 1} are not in the order {', '.join(map(item_text, items))}" for i in wrong[:1]]
    found += false_dependencies(order, rows)
    found += [f"column {c} has a missing value" for c in order.not_null if isinstance(c, int) and any(row[c] is None for row in rows)]
    for column, (low, high) in properties.bounds.items():
        values = [rank(bound_scale(row[column])) for row in rows]
        if any(not rank(low) <= value <= rank(high) for value in values):
            found.append(f"column {column} has values outside of {low}..{high}")
    return found


def bound_scale(value: Any) -> Any:
    """Convert a value to the scale of recorded bounds: datetimes to microseconds of their instants."""
    if isinstance(value, datetime):
        return (_instant(value) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return value


def _instant(value: datetime) -> datetime:
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def false_dependencies(order: OrderingProperties, rows: Sequence[Row]) -> list[str]:
    """Return the keys and functional dependencies of visible columns that the rows contradict, each as a sentence."""
    found = []
    for key in order.keys:
        if all(isinstance(column, int) for column in key):
            seen: dict[Any, int] = {}
            for i, row in enumerate(rows):
                first = seen.setdefault(tie(row, key), i)
                if first != i:
                    found.append(f"rows {first} and {i} are equal in the columns {list(key)}, which are claimed to be a key")
                    break
    for determinant, dependent in order.functional_dependencies:
        if all(isinstance(column, int) for column in (*determinant, *dependent)):
            values: dict[Any, Any] = {}
            if any(values.setdefault(tie(row, determinant), tie(row, dependent)) != tie(row, dependent) for row in rows):
                found.append(f"columns {determinant} do not determine {dependent}")
    return found
