"""Operators that keep or give one row for each value of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.order.facts import Column
from sframe_spark.order.properties import OrderingProperties
from sframe_spark.order.sorting import unordered


def unique_first(properties: OrderingProperties, on: Sequence[Column]) -> OrderingProperties:
    """Properties of the first row of each value, in input order.

    Examples
    --------
    >>> unique_first(OrderingProperties(orderings=[[("a", "asc")]]), ["a"]).satisfies([("a", "asc"), ("b", "desc")])
    True
    """
    return properties.add(keys=[on])


def group_any_order(properties: OrderingProperties, by: Sequence[Column], count: Column | None = None) -> OrderingProperties:
    """Properties of the groups of a hash aggregate: a key and no order.

    Parameters
    ----------
    properties
        Of the input.
    by
        The columns grouped by.
    count
        An output column that counts the rows of each group; nothing is known of other aggregates.

    Examples
    --------
    >>> groups = group_any_order(OrderingProperties(orderings=[[("a", "asc")]]), ["a"])
    >>> groups.satisfies([("a", "asc")]), groups.has_key(["a"])
    (False, True)
    """
    groups = unordered(properties).project({column: column for column in by})
    return groups.add(keys=[by], constants=_counts_of_one(properties, by, count))


def group_streaming(
    properties: OrderingProperties, by: Sequence[Column], first: Mapping[Any, Column] | None = None, count: Column | None = None
) -> OrderingProperties:
    """Properties with one row for each run of equal neighbours.

    Parameters
    ----------
    properties
        Of the input.
    by
        The columns whose runs are taken.
    first
        Output columns that hold the first row's value of an input column.
    count
        An output column that counts the rows of each run; nothing is known of other aggregates.

    Examples
    --------
    >>> runs = group_streaming(OrderingProperties(orderings=[[("a", "desc"), ("b", "asc")]]), ["b", "a"])
    >>> runs.satisfies([("a", "desc"), ("b", "asc")]), runs.has_key(["a", "b"])
    (True, True)
    """
    outputs = {**{column: column for column in by}, **(first or {})}
    # Rows that are equal on a column that leads and determines the others are in one run.
    candidates = [(by, by), *(((shown,), (column,)) for shown, column in outputs.items())]
    keys = [shown for shown, read in candidates if properties.satisfies_set(read) is not None and properties.determines(read, by)]
    return properties.project(outputs).add(keys=keys, constants=_counts_of_one(properties, by, count))


def _counts_of_one(properties: OrderingProperties, by: Sequence[Column], count: Column | None) -> list[Column]:
    """A count that is 1 in every group, because no two rows are equal on the columns grouped by."""
    return [] if count is None or not properties.has_key(by) else [count]
