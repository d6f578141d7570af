"""Why each sort and exchange is there, or is not."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.engine.known_order import origin_of_order
from sframe_spark.operators.groupby import GroupBy
from sframe_spark.operators.laws.pruning import filter_by_recorded_bounds
from sframe_spark.operators.laws.recorded import count_is_length, reduce_from_statistics
from sframe_spark.operators.laws.sorts import sort_of_sorted, top_of_sorted, unobserved_sort
from sframe_spark.operators.laws.streaming import group_by_of_sorted
from sframe_spark.operators.sort import Sort, TopRows
from sframe_spark.operators.suffix_sort import SuffixSort
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.observe import observed_nodes
from sframe_spark.planner.operator import Need
from sframe_spark.planner.optimizer import Firing, Trace
from sframe_spark.planner.properties.relation import requirement
from sframe_spark.planner.properties_of import properties_of

EXCHANGES = {
    "sort": "exchange by key range and sort: its order is observed",
    "top_rows": "no exchange of the data: only the first rows of each partition are compared",
    "group_by": "exchange by hash of the keys, then the result is ordered by them if its order is observed",
    "join": "exchange of both sides by hash of the keys (or broadcast of a small side)",
    "reduce": "exchange of one partial result per partition",
    "suffix_sort": "no exchange: the rows are in order up to ties, and only ties are sorted",
    "streaming_group_by": "no exchange: equal keys are next to each other, runs that cross row ranges are put together from partial results",
}


def order_reasons(plan: PlannerNode, trace: Trace | None = None) -> list[str]:
    """One line per node that orders or exchanges rows, per node whose order nobody observes, and per sort, exchange and scan that was left out.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        What the optimizer did to get it.
    """
    observed = observed_nodes(plan)
    lines = []
    for number, node in enumerate(postorder([plan])):
        if isinstance(node.operator, SuffixSort) and not node.operator.held:
            lines.append(f"r{number} suffix_sort: no exchange: few rows are sorted in memory{why_needed(node)}")
        elif node.operator_type in EXCHANGES:
            lines.append(f"r{number} {node.operator_type}: {EXCHANGES[node.operator_type]}{why_needed(node)}")
        elif any(node.operator.requires(slot) in (Need.ALIGNED, Need.DENSE, Need.SEQUENTIAL, Need.LOOKUP) for slot in range(len(node.inputs))):
            lines.append(f"r{number} {node.operator_type}: no exchange: {gathers(node)}")
        if id(node) not in observed:
            lines.append(f"r{number} {node.operator_type}: row key left out, nobody observes the order of these rows")
    left_out = [line for firing in (trace.firings if trace else ()) for line in reasons_of_firing(firing)]
    return [*lines, *dict.fromkeys(left_out)] or ["no sort and no exchange: rows stay in their ranges"]


def why_needed(node: PlannerNode) -> str:
    """What is lacking for a sort or a group-by to be left out, as two rows that may occur."""
    operator = node.operator
    if isinstance(operator, (Sort, SuffixSort, TopRows)):
        wanted = requirement(operator.by)
    elif isinstance(operator, GroupBy):
        wanted = [(key, "asc") for key in operator.keys]
    else:
        return ""
    witness = properties_of(node.inputs[0]).order.witness(wanted)
    if witness is None:
        return "; the rows are in that order, but an exchange comes before it anyway"
    named = witness.named({column: f"c{column}" for column in range(node.inputs[0].facts.width)})
    return "; " + " ".join(str(named).split())


def gathers(node: PlannerNode) -> str:
    """How an operator that depends on row order gets along without gathering rows."""
    needs = [node.operator.requires(slot) for slot in range(len(node.inputs))]
    if Need.LOOKUP in needs:
        return "rows are looked up in the stored input by key, each range reads only the part that can match"
    if Need.SEQUENTIAL in needs:
        return "each range starts from partial results of the ranges before it"
    if Need.ALIGNED in needs:
        return "the inputs have the same rows, or are read by row number"
    return "rows are read by number, with those of neighbouring ranges where needed"


def reasons_of_firing(firing: Firing) -> Sequence[str]:
    """What a law's firing left out, and why that is right."""
    before = firing.before
    operator = before.operator
    if firing.equation in (sort_of_sorted.equation, top_of_sorted.equation) and isinstance(operator, (Sort, TopRows)):
        return [f"left out {before.operator_type}[{operator.describe()}]: {origin_of_order(before.inputs[0], operator.by)}"]
    if firing.equation == group_by_of_sorted.equation and isinstance(operator, GroupBy):
        origin = origin_of_order(before.inputs[0], [(key, True) for key in operator.keys])
        return [f"left out the exchange of group_by[{operator.describe()}]: {origin}"]
    if firing.equation == unobserved_sort.equation:
        return ["left out sorts: nobody observes their order"]
    if firing.equation == filter_by_recorded_bounds.equation:
        rows, kept = before.inputs[0].length, firing.after.inputs[0].length
        return [f"left out the scan of other rows: recorded bounds leave {kept} of {rows} rows that can pass filter_rows"]
    if firing.equation in (reduce_from_statistics.equation, count_is_length.equation):
        return [f"left out the scan for reduce[{operator.describe()}]: recorded when the rows were written"]
    return []
