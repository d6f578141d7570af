"""Operators that add a column computed from a row and the rows before it."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.order.facts import Column, OrderingItem
from sframe_spark.order.outcomes import Direction, NullPlacement
from sframe_spark.order.properties import OrderingProperties


def cumulative_max(properties: OrderingProperties, of: Column, column: Column, per: Sequence[Column] = ()) -> OrderingProperties:
    """Properties with an added running maximum; missing values are passed over, it is missing until there is a value.

    Parameters
    ----------
    properties
        Of the input.
    of, column
        The column read, and the one added.
    per
        Columns for each of whose values the maximum is taken apart.

    Examples
    --------
    >>> cumulative_max(OrderingProperties(), "a", "m").satisfies([("m", "asc")])
    True
    >>> cumulative_max(OrderingProperties(orderings=[[("a", "asc")]]), "a", "m").equivalent("a", "m")
    True
    """
    return _running_extreme(properties, of, column, per, "asc", "desc")


def cumulative_min(properties: OrderingProperties, of: Column, column: Column, per: Sequence[Column] = ()) -> OrderingProperties:
    """Properties with an added running minimum; see :func:`cumulative_max`.

    Examples
    --------
    >>> cumulative_min(OrderingProperties(), "a", "m").satisfies([("m", "desc", "nulls_first")])
    True
    """
    return _running_extreme(properties, of, column, per, "desc", "asc")


def _running_extreme(
    properties: OrderingProperties, of: Column, column: Column, per: Sequence[Column], towards: Direction, away: Direction
) -> OrderingProperties:
    among_equal = [OrderingItem(key, "any") for key in per]
    not_null = [column] if properties.is_not_null(of) else []
    if properties.satisfies([*among_equal, OrderingItem(of, towards, "nulls_first")]):
        return properties.add(equivalences=[(of, column)])
    if properties.satisfies([*among_equal, OrderingItem(of, away, "nulls_last")]):
        return properties.add(functional_dependencies=[(per, (column,))], not_null=not_null)
    return properties.add(orderings=[[*among_equal, OrderingItem(column, towards, "nulls_first")]], not_null=not_null)


def cumulative_sum(properties: OrderingProperties, of: Column, column: Column, non_negative: bool, positive: bool = False) -> OrderingProperties:
    """Properties with an added running sum.

    Parameters
    ----------
    properties
        Of the input.
    of, column
        The column read, and the one added.
    non_negative
        No value is below 0, and no sum overflows or is rounded.
    positive
        No value is 0 either, and none is missing.

    Examples
    --------
    >>> cumulative_sum(OrderingProperties(), "a", "s", non_negative=True).satisfies([("s", "asc")])
    True
    >>> cumulative_sum(OrderingProperties(), "a", "s", non_negative=False).satisfies([("s", "asc")])
    False
    """
    if not non_negative:
        return properties
    if positive:
        return properties.add(orderings=[[(column, "asc")]], keys=[[column]], not_null=[column])
    if properties.is_not_null(of):
        # The sum of two rows ties only if the later row adds 0, the smallest summand.
        return properties.add(orderings=[[(column, "asc"), (of, "desc")]], not_null=[column])
    return properties.add(orderings=[[(column, "asc")]])


def lag(properties: OrderingProperties, of: Column, column: Column, missing_first: bool) -> OrderingProperties:
    """Properties with an added column that holds an earlier row's value.

    Parameters
    ----------
    properties
        Of the input.
    of, column
        The column read, and the one added.
    missing_first
        The first rows hold null; otherwise they repeat the first value.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "desc")]], not_null=["a"])
    >>> lag(known, "a", "p", True).satisfies([("p", "desc", "nulls_first")])
    True
    """
    if not missing_first and properties.is_constant(of):
        return properties.add(equivalences=[(of, column)])
    placements: tuple[NullPlacement, ...] = ("nulls_first",) if missing_first else ("nulls_first", "nulls_last")
    directions: tuple[Direction, ...] = ("asc", "desc")
    known = [(direction, nulls) for direction in directions for nulls in placements if properties.satisfies([(of, direction, nulls)])]
    not_null = [column] if properties.is_not_null(of) and not missing_first else []
    return properties.add(orderings=[[(column, direction, nulls)] for direction, nulls in known], not_null=not_null)
