"""Operators that keep or give one row for each value of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.planner.properties.derive.sorting import unordered
from sframe_spark.planner.properties.items import Column
from sframe_spark.planner.properties.ordering import OrderingProperties


def unique_first(properties: OrderingProperties, on: Sequence[Column]) -> OrderingProperties:
    """Properties of the first row of each value, in input order.

    Examples
    --------
    >>> unique_first(OrderingProperties(orderings=[[("a", "asc")]]), ["a"]).satisfies([("a", "asc"), ("b", "desc")])
    True
    """
    return properties.add(keys=[on])


def group_any_order(properties: OrderingProperties, by: Sequence[Column]) -> OrderingProperties:
    """Properties of the groups of a hash aggregate: a key and no order; nothing is known of the aggregates.

    Examples
    --------
    >>> groups = group_any_order(OrderingProperties(orderings=[[("a", "asc")]]), ["a"])
    >>> groups.satisfies([("a", "asc")]), groups.has_key(["a"])
    (False, True)
    """
    return unordered(properties).project({column: column for column in by}).add(keys=[by])


def group_streaming(
    properties: OrderingProperties, by: Sequence[Column], first: Mapping[Any, Column] | None = None
) -> OrderingProperties:
    """Properties with one row for each run of equal neighbours.

    Parameters
    ----------
    properties
        Of the input.
    by
        The columns whose runs are taken.
    first
        Output columns that hold the first row's value of an input column; nothing is known of other aggregates.

    Examples
    --------
    >>> runs = group_streaming(OrderingProperties(orderings=[[("a", "desc"), ("b", "asc")]]), ["b", "a"])
    >>> runs.satisfies([("a", "desc"), ("b", "asc")]), runs.has_key(["a", "b"])
    (True, True)
    """
    outputs = {**{column: column for column in by}, **(first or {})}
    return properties.project(outputs).add(keys=[by] if properties.satisfies_set(by) is not None else ())
