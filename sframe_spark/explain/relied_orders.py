"""Orders of rows that a plan relies on without making them."""

from __future__ import annotations

from collections.abc import Iterator

from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.laws.sorts import sort_of_sorted, top_of_sorted
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.asof_join import AsofJoin
from sframe_spark.operators.joins.key_window import KeyWindow
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.sort import Sort, SuffixSort, TopRows
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.inference import is_in_order
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Firing, Trace

Order = tuple[tuple[int, bool], ...]
# What these give is in order because they put it in order.
MAKES_ORDER = ("sort", "suffix_sort", "top_rows")


def relied_orders(plan: PlannerNode, trace: Trace, names: ColumnNames) -> list[tuple[str, PlannerNode, Order]]:
    """What relies on an order, the node whose rows must be in it, and the order; each once.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        What the optimizer did: sorts that it left out relied on an order.
    names
        Names of columns.
    """
    found: dict[tuple[int, Order], tuple[str, PlannerNode, Order]] = {}
    for firing in trace.firings:
        relied = left_out_sort(firing)
        if relied is not None:
            why = f"{firing.before.operator_type} by {names.order(firing.before, relied[1])} left out"
            found.setdefault((id(relied[0]), relied[1]), (why, *relied))
    for node, by in needed_orders(plan):
        found.setdefault((id(node[1]), by), (f"{node[0].operator_type} needs no exchange", node[1], by))
    return [item for item in found.values() if item[1].operator_type not in MAKES_ORDER]


def left_out_sort(firing: Firing) -> tuple[PlannerNode, Order] | None:
    """The rows that a law did not sort, and the order that they are in."""
    operator = firing.before.operator
    if not isinstance(operator, (Sort, TopRows)):
        return None
    child = firing.before.inputs[0]
    if firing.equation in (sort_of_sorted.equation, top_of_sorted.equation):
        return child, operator.by
    if firing.after.operator_type == "reverse":
        return child, tuple((position, not up) for position, up in operator.by)
    return None


def needed_orders(plan: PlannerNode) -> Iterator[tuple[tuple[PlannerNode, PlannerNode], Order]]:
    """Operators that work only on rows in an order, each with the input in question and that order."""
    for node in postorder([plan]):
        operator = node.operator
        match operator:
            case SuffixSort() if operator.held:
                yield (node, node.inputs[0]), operator.by[: operator.held]
            case StreamingGroupBy():
                by = tuple((key, True) for key in operator.keys)
                if by and is_in_order(node.inputs[0], by):
                    yield (node, node.inputs[0]), by
            case SortedJoin():
                yield (node, node.inputs[1]), ((operator.right_key, True),)
            case AsofJoin() | KeyWindow():
                yield (node, node.inputs[1]), ((operator.on, True),)
