"""Laws that drop what nobody reads of running aggregates."""

from __future__ import annotations

import attrs

from sframe_spark.operators.columns import project
from sframe_spark.operators.laws.lookups import picked
from sframe_spark.operators.laws.narrowing import can_narrow, moved
from sframe_spark.operators.running import Running
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("project(running(x), c) = project(running of c (x), c)", stage="pushdown", on="project")
def project_into_running(node: PlannerNode) -> PlannerNode | None:
    """Running values that nobody reads are not computed."""
    child, positions = node.inputs[0], node.operator_parameters["positions"]
    running = child.operator
    if not isinstance(running, Running) or len(set(positions)) == child.facts.width:
        return None
    kept = tuple(running.aggregations[position] for position in sorted(set(positions)))
    return picked(attrs.evolve(running, aggregations=kept).make_planner_node(*child.inputs), positions)


@law("running(x) = running(project(x, used))", stage="pushdown", on="running")
def narrow_running(node: PlannerNode) -> PlannerNode | None:
    """Running aggregates read only keys and aggregated columns."""
    running, child = node.operator, node.inputs[0]
    assert isinstance(running, Running)
    used = sorted({*running.keys, *(position for aggregation in running.aggregations for position in aggregation.positions)}) or [0]
    if not can_narrow(child, used):
        return None
    places = {old: new for new, old in enumerate(used)}
    aggregations = tuple(moved(aggregation, places) for aggregation in running.aggregations)
    return Running(tuple(places[key] for key in running.keys), aggregations).make_planner_node(project(child, used))
