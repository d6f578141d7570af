"""Why each sort and exchange is there, or is not."""

from __future__ import annotations

from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.observe import observed_nodes

EXCHANGES = {
    "sort": "exchange by key range and sort: its order is observed",
    "top_rows": "no exchange of the data: only the first rows of each partition are compared",
    "group_by": "exchange by hash of the keys, then the result is ordered by them if its order is observed",
    "join": "exchange of both sides by hash of the keys (or broadcast of a small side)",
    "reduce": "exchange of one partial result per partition",
}


def order_reasons(plan: PlannerNode) -> list[str]:
    """One line per node that orders or exchanges rows, and per node whose order nobody observes."""
    observed = observed_nodes(plan)
    lines = []
    for number, node in enumerate(postorder([plan])):
        if node.operator_type in EXCHANGES:
            lines.append(f"r{number} {node.operator_type}: {EXCHANGES[node.operator_type]}")
        if id(node) not in observed:
            lines.append(f"r{number} {node.operator_type}: row key left out, nobody observes the order of these rows")
    return lines or ["no sort and no exchange: rows stay in their ranges"]
