"""What is known of the order of a plan's rows, and where that knowledge comes from."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.message_text import visible
from sframe_spark.operators.elementwise import RowWise
from sframe_spark.operators.sources.segment_subset import STORED_ROWS, SegmentParts
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.inference import is_in_order, properties_of
from sframe_spark.planner.node import PlannerNode

Order = Sequence[tuple[int, bool]]

# Operators that leave the rows of an input in its order, as far as their columns are that input's.
KEEPS_ORDER = frozenset(
    {
        *("project", "zip", "arrange", "filter", "filter_rows", "slice", "assign_intervals", "map_cycles", "streaming_group_by"),
        *("join", "hash_join", "sorted_join", "asof_join", "key_window"),
    }
)
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
    "hash_join": "a join keeps the order of its first side",
    "assume_order": "assume_sorted() says so, and it was not verified",
    "generalized_transform": "it follows from constants and from monotone functions of columns in order",
}


def origin_of_order(node: PlannerNode, by: Order, names: ColumnNames | None = None) -> str:
    """Where the knowledge comes from that a node's rows are in an order, in one line; the node must be known to be in it.

    Parameters
    ----------
    node
        The node.
    by
        Pairs of column position and whether it ascends.
    names
        Names of its columns, if any are known.

    Examples
    --------
    >>> from sframe_spark.operators.slice import slice_rows
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> origin_of_order(slice_rows(range_source(0, 9), 2, 5), [(0, True)])
    'the numbers are consecutive; kept by slice'
    """
    known = properties_of(node).order
    constant = [position for position, _ in by if known.is_constant(position)]
    by = [item for item in by if item[0] not in constant]
    parts = [_begin_of_order(node, by)] if by else []
    if constant:
        parts.append(f"{(names or ColumnNames()).listed(node, constant)} {'has' if len(constant) == 1 else 'have'} one value")
    return "; ".join(parts)


def _begin_of_order(node: PlannerNode, by: Order) -> str:
    """Where an order begins, and what kept it on the way."""
    kept: list[str] = []
    while True:
        below = order_below(node, by)
        if below is None:
            break
        kept.append(node.operator_type)
        node, by = below
    if isinstance(node.operator, STORED_ROWS):
        reason = _of_files(node.operator, by)
    else:
        reason = SOURCES_OF_ORDER.get(node.operator_type, f"{node.operator_type} gives this order")
    passed = list(dict.fromkeys(reversed(kept)))
    return reason + (f"; kept by {', '.join(passed)}" if passed else "")


def _of_files(operator: SegmentSource | SegmentParts, by: Order) -> str:
    """Why rows of a dataset are in an order of its columns."""
    manifest = operator.manifest
    wanted = tuple((operator.positions[position], up) for position, up in by)
    if any(held and claim[:held][: len(wanted)] == wanted[:held] for claim, held in manifest.order.compared):
        return f"the files in {visible(manifest.directory)} seem to be in this order, and comparing their rows confirmed it"
    if manifest.watched:
        return f"proved or promised of the files in {visible(manifest.directory)}"
    return f"recorded when {manifest.directory} was written"


def order_below(node: PlannerNode, by: Order) -> tuple[PlannerNode, Order] | None:
    """The input from which an operator has its order, and that order there; None when the order begins here."""
    if node.operator_type == "reverse":
        return node.inputs[0], [(position, not up) for position, up in by]
    if node.operator_type not in KEEPS_ORDER and not isinstance(node.operator, RowWise):
        return None
    origins = origins_of(node)
    places = [(origins[position], up) for position, up in by]
    for slot, child in enumerate(node.inputs):
        below = [(place, up) for shown, up in places for origin, place in shown if origin == slot]
        if len(below) == len(by) and is_in_order(child, below):
            return child, below
    return None
