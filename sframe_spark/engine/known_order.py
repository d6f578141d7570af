"""What is known of the order of a plan's rows, and where that knowledge comes from."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.operators.assumed_order import AssumeOrder
from sframe_spark.operators.columns import Project, Zip
from sframe_spark.operators.elementwise import RowWise, origins
from sframe_spark.operators.rows import Filter, FilterRows, SliceRows
from sframe_spark.operators.sources import SegmentSource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.properties_of import is_in_order

Order = Sequence[tuple[int, bool]]

# Why an operator's own rows are in an order.
SOURCES_OF_ORDER = {
    "sort": "the rows are sorted so",
    "top_rows": "the rows are sorted so",
    "suffix_sort": "the rows are sorted so",
    "group_by": "groups come in the order of their keys",
    "streaming_group_by": "groups come in the order of the rows that they are made of",
    "row_number": "row numbers grow",
    "cumulative": "running values of this kind only grow or fall",
    "range_source": "the numbers are consecutive",
    "constant_source": "it is one value",
    "memory_source": "found in the rows in memory, or proved before they were computed",
    "append": "the ranges of values of the parts follow each other",
    "join": "a join keeps the order of its first side",
    "assume_order": "assume_sorted() says so, and it was not verified",
    "generalized_transform": "it follows from constants and from monotone functions of columns in order",
}


def origin_of_order(node: PlannerNode, by: Order) -> str:
    """Where the knowledge comes from that a node's rows are in an order, in one line; the node must be known to be in it."""
    kept: list[str] = []
    while True:
        below = order_below(node, by)
        if below is None:
            break
        kept.append(node.operator_type)
        node, by = below
    if isinstance(node.operator, SegmentSource):
        reason = f"recorded when {node.operator.manifest.directory} was written"
    elif isinstance(node.operator, AssumeOrder):
        reason = SOURCES_OF_ORDER["assume_order"]
    else:
        reason = SOURCES_OF_ORDER.get(node.operator_type, f"{node.operator_type} gives this order")
    names = list(dict.fromkeys(reversed(kept)))
    return reason + (f"; kept by {', '.join(names)}" if names else "")


def order_below(node: PlannerNode, by: Order) -> tuple[PlannerNode, Order] | None:
    """The input from which an operator has its order, and that order there; None when the order begins here."""
    operator = node.operator
    for place, origin in candidates(node, by):
        child = node.inputs[place]
        if is_in_order(child, origin):
            return child, origin
    if isinstance(operator, (Filter, FilterRows, SliceRows)) and is_in_order(node.inputs[0], by):
        return node.inputs[0], by
    return None


def candidates(node: PlannerNode, by: Order) -> list[tuple[int, Order]]:
    """Inputs that hold all columns of an order as they are, and the order there."""
    operator = node.operator
    if isinstance(operator, Project):
        return [(0, [(operator.positions[position], up) for position, up in by])]
    if isinstance(operator, Zip):
        result: list[tuple[int, Order]] = []
        offset = 0
        for place, child in enumerate(node.inputs):
            if all(offset <= position < offset + child.facts.width for position, _ in by):
                result.append((place, [(position - offset, up) for position, up in by]))
            offset += child.facts.width
        return result
    if isinstance(operator, RowWise) and len(node.inputs) == 1:
        found = origins(operator.program(node.inputs[0].facts.width))
        moved = [(found[position], up) for position, up in by]
        return [(0, [(origin, up) for origin, up in moved if origin is not None])] if all(o is not None for o, _ in moved) else []
    return []
