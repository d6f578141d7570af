"""Operators that bring the rows of two inputs together one after the other, merged, or side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sframe_spark.order.branches import common_row_facts, facts_of_rows_of_both
from sframe_spark.order.facts import Ordering, SequenceFacts, merged, ordering
from sframe_spark.order.properties import OrderingProperties


def append(left: OrderingProperties, right: OrderingProperties, boundary: Iterable[Sequence[Any]] = (), strict: bool = False) -> OrderingProperties:
    """Properties of all rows of one input, then all rows of the other, which has the same columns.

    Parameters
    ----------
    left, right
        Of the inputs.
    boundary
        An ordering that is known to hold between the last row of the left and the first row of the right.
    strict
        Those two rows do not tie on it.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
    >>> append(known, known).satisfies([("a", "asc")])
    False
    >>> append(known, known, boundary=[("a", "asc")]).satisfies([("a", "asc")])
    True
    >>> append(known, known, boundary=[("a", "asc")], strict=True).satisfies([("a", "asc"), ("b", "asc")])
    True
    """
    items = ordering(boundary)
    # From the boundary's two rows to all rows: both sides must be in its order.
    length = min(left.satisfied_length(items), right.satisfied_length(items))
    across = SequenceFacts(orderings=(items[:length],), keys=(_columns(items),) if strict and length == len(items) else ())
    if not length:
        return OrderingProperties.of(common_row_facts(left.facts, right.facts))
    facts = facts_of_rows_of_both(left.facts, right.facts, across, None)
    return OrderingProperties.of(facts._replace(orderings=_orderings_of_all(left, right, across, items[:length])))


def merge_sorted(left: OrderingProperties, right: OrderingProperties, by: Iterable[Sequence[Any]]) -> OrderingProperties:
    """Properties of a two-way merge, left rows first where both tie.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
    >>> merge_sorted(known, known, [("a", "asc")]).satisfies([("a", "asc")])
    True
    """
    items = ordering(by)
    length = min(left.satisfied_length(items), right.satisfied_length(items))
    across = SequenceFacts(orderings=(items[:length],))
    ties = (_columns(items),) if length == len(items) else ()
    facts = facts_of_rows_of_both(left.facts, right.facts, across, across._replace(keys=ties))
    return OrderingProperties.of(facts._replace(orderings=_orderings_of_all(left, right, across, items[:length])))


def zip_rows(left: OrderingProperties, right: OrderingProperties) -> OrderingProperties:
    """Properties of rows side by side: all facts of both.

    Examples
    --------
    >>> known = zip_rows(OrderingProperties(orderings=[[("a", "asc")]]), OrderingProperties(orderings=[[("b", "asc")]]))
    >>> known.satisfies([("b", "asc"), ("a", "asc")])
    True
    """
    return left.meet(right)


def _columns(items: Ordering) -> tuple[Any, ...]:
    return tuple(item.column for item in items)


def _orderings_of_all(left: OrderingProperties, right: OrderingProperties, across: SequenceFacts, items: Ordering) -> tuple[Ordering, ...]:
    """Orderings of both sides that hold across them too: they stay even where the cases of the two sides are given up."""
    between = OrderingProperties.of(merged(common_row_facts(left.facts, right.facts), across))
    candidates = [items, *left.common_orderings(right)]
    return tuple(filter(None, (candidate[: between.satisfied_length(candidate)] for candidate in candidates)))
