"""What is known of rows of several inputs one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sframe_spark.order import OrderingItem, OrderingProperties
from sframe_spark.order.properties import RelationProperties, ValueBounds
from sframe_spark.planner.facts import Facts

Ordering = tuple[OrderingItem, ...]


def appended_properties(inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
    """Orderings of every input whose values do not go back from one input to the next; constants with one value; bounds.

    Dependencies and keys of the parts say nothing of the whole, except a key that holds a column whose ranges do not meet.
    """
    parts = [rows for rows, item in zip(inputs, facts, strict=True) if item.length.rows != 0]
    if len(parts) < 2:
        return parts[0] if parts else inputs[0]
    bounds = {
        column: (min(part.bounds[column][0] for part in parts), max(part.bounds[column][1] for part in parts))
        for column in parts[0].bounds
        if all(column in part.bounds for part in parts)
    }
    constants = [column for column, (low, high) in bounds.items() if low == high]
    not_null = list(bounds)
    order = OrderingProperties(
        constants=constants,
        orderings=common_orderings(parts, bounds),
        keys=[key for key in parts[0].order.keys if key_of_all(key, parts, bounds)],
        not_null=not_null,
    )
    return RelationProperties(order, {}, bounds)


def common_orderings(parts: Sequence[RelationProperties], bounds: dict[int, ValueBounds]) -> list[list[tuple[int, str]]]:
    """Orderings of all parts that hold across the boundaries: ranges that follow each other, without overlap if the ordering goes on."""
    found = []
    for column in bounds:
        for direction in ("asc", "desc"):
            ranges = [part.bounds[column] for part in parts]
            steps = list(pairwise(ranges if direction == "asc" else ranges[::-1]))
            if not all(first[1] <= second[0] for first, second in steps):
                continue
            apart = all(first[1] < second[0] for first, second in steps)
            alike = [tuple(items) for part in parts for items in part.order.orderings if (items[0].column, items[0].direction) == (column, direction)]
            candidates = set(alike) if apart else set()
            for items in ((OrderingItem(column, direction),), *sorted(candidates, key=repr)):
                if all(isinstance(item.column, int) for item in items) and all(part.order.satisfies(items) for part in parts):
                    found.append([tuple(item) for item in items])
    return found  # type: ignore[return-value]


def key_of_all(key: tuple[object, ...], parts: Sequence[RelationProperties], bounds: dict[int, ValueBounds]) -> bool:
    """True when a key of the first part is one of all parts and holds a column whose ranges do not meet."""
    if not all(part.order.has_key(key) for part in parts):
        return False
    for column in key:
        if column in bounds:
            ranges = sorted(part.bounds[column] for part in parts)
            if all(first[1] < second[0] for first, second in pairwise(ranges)):
                return True
    return False
