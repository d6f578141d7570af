"""Operators that put rows in a new order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sframe_spark.order.facts import Case, FunctionalDependency, Hidden, SequenceFacts, ordering
from sframe_spark.order.outcomes import ALL, TIES
from sframe_spark.order.properties import OrderingProperties
from sframe_spark.order.turned import turned_facts

# Of two rows in their new order: it ties if their old order was the same.
_MOVED = Hidden("moved")


def sort(properties: OrderingProperties, by: Iterable[Sequence[Any]], stable: bool) -> OrderingProperties:
    """Properties after a sort.

    Parameters
    ----------
    properties
        Of the input.
    by
        The ordering sorted by.
    stable
        Rows that tie keep their order.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc")]])
    >>> sort(known, [("b", "desc")], stable=True).satisfies([("b", "desc"), ("a", "asc")])
    True
    >>> sort(known, [("b", "desc")], stable=False).satisfies([("b", "desc"), ("a", "asc")])
    False
    """
    items = ordering(by)
    if stable and properties.satisfies(items):
        return properties
    facts = reordered(properties.facts)
    if not stable:
        return OrderingProperties.of(facts._replace(orderings=(items,)))
    ties_stay = FunctionalDependency(tuple(item.column for item in items), (_MOVED,))
    return OrderingProperties.of(
        facts._replace(
            orderings=(items, *(items + old for old in properties.orderings)),
            functional_dependencies=(*facts.functional_dependencies, ties_stay),
        )
    )


def unordered(properties: OrderingProperties) -> OrderingProperties:
    """Properties of the same rows in an unknown order.

    Two rows still compare as before or the other way round, which a later sort can make use of.

    Examples
    --------
    >>> known = unordered(OrderingProperties(orderings=[[("a", "asc")], [("b", "asc")]], keys=[["a"]]))
    >>> known.satisfies([("a", "asc")]), known.has_key(["a"])
    (False, True)
    >>> sort(known, [("a", "asc")], stable=True).satisfies([("a", "asc"), ("b", "asc")])
    True
    """
    return OrderingProperties.of(reordered(properties.facts))


def reordered(facts: SequenceFacts) -> SequenceFacts:
    """Facts about rows that may have moved: what says nothing of order stays, the rest holds as before or turned round."""
    ordered = SequenceFacts(orderings=facts.orderings, cases=facts.cases)
    if ordered == SequenceFacts():
        return facts
    return facts._replace(orderings=(), cases=(Case(_MOVED, TIES, ordered), Case(_MOVED, ALL & ~TIES, turned_facts(ordered))))
