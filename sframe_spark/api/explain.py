"""``explain``: what was asked for, what will run, and why."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.engine.claimed_orders import find_claimed_orders
from sframe_spark.engine.lock import GRAPH_LOCK
from sframe_spark.engine.materialize import optimize
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.reasons import order_reasons
from sframe_spark.explain.verification import require_classic_session, verification
from sframe_spark.operators.laws import STAGES
from sframe_spark.planner.explain import plan_text, trace_text
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.visible import visible


def explain_node(node: PlannerNode, names: Sequence[str], stage: str | None, trace: bool, why: bool, verify: bool = False) -> str:
    """Plan text of a node; see :meth:`sframe_spark.SFrame.explain`.

    Raises
    ------
    ValueError
        If there is no such stage.
    UnsupportedOperationError
        If ``verify`` is asked for and the session is one of Spark Connect.
    """
    stages = ["logical", *[item.name for item in STAGES]]
    if stage is not None and stage not in stages:
        raise InvalidArgumentError(f"there is no stage {stage!r}: choose one of {', '.join(stages)}")
    if verify:
        require_classic_session()
    columns = "columns: " + ", ".join(f"c{i}={visible(name)}" for i, name in enumerate(names))
    parts = [columns]
    if stage == "logical":
        parts.append(plan_text(node))
    else:
        parts += optimized_parts(node, names, stage, trace, why)
    if verify:
        parts += ["-- verification", *verification(node, names)]
    return visible("\n".join(parts), lines=True)


def optimized_parts(node: PlannerNode, names: Sequence[str], stage: str | None, trace: bool, why: bool) -> list[str]:
    """The plan after a stage (None: before all and after all), and what was asked for beside it."""
    # The plan that would run.
    find_claimed_orders(node)
    record = Trace()
    with GRAPH_LOCK:
        plan = optimize(node, stage, record)
    parts = ["-- logical plan", plan_text(node), "-- optimized plan"] if stage is None else []
    parts.append(plan_text(plan))
    if trace:
        parts += ["-- laws that fired", trace_text(record)]
    if why:
        parts += ["-- order", *order_reasons(plan, record, ColumnNames.of_plan(plan, names, record, node))]
    return parts
