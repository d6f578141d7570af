"""Implements ``explain()``, which shows the plan before and after optimization and how it will run, and ``last_run()``, which shows what ran."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.engine.execution.claimed_row_orders import find_claimed_orders
from sframe_spark.engine.execution.direct_execution_of_few_rows import needs_no_plan
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.execution.run_log import RunLog, SectionOutcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.dry_run import plan_dry_run, with_assumed_orders
from sframe_spark.explain.executed_spark_plans import work_in_spark
from sframe_spark.explain.explanation_text_graph_and_pictures import (
    ExplainedSection,
    Explanation,
    explained_sections,
    names_of_sections,
    physical_lines,
    run_lines,
)
from sframe_spark.explain.sort_and_exchange_reasons import order_reasons
from sframe_spark.explain.verification import require_classic_session, verification
from sframe_spark.message_text import visible
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.planner.printed_plans import plan_text, trace_text
from sframe_spark.rewrite_laws import STAGES, optimize

WITHOUT_PLAN = "few rows in memory: computed without this plan, one kernel after the other"


def explain_node(
    node: PlannerNode, names: Sequence[str], stage: str | None, trace: bool, why: bool, verify: bool = False, analyze: bool = False
) -> Explanation:
    """Return the explanation that :meth:`sframe_spark.SFrame.explain` shows; the arguments are described there.

    Raises
    ------
    ValueError
        If no stage is called ``stage``, or ``analyze`` is combined with a stage.
    UnsupportedOperationError
        If ``verify`` is requested for a Spark Connect session.
    """
    stages = ["logical", *[item.name for item in STAGES]]
    if stage is not None and stage not in stages:
        raise InvalidArgumentError(f"there is no stage {stage!r}: choose one of {', '.join(stages)}")
    if analyze and stage is not None:
        raise InvalidArgumentError("analyze=True runs the plan after all stages: leave out stage")
    if verify:
        require_classic_session()
    if analyze or verify:
        # As the action below does before it plans.
        find_claimed_orders(node)
    columns = ", ".join(map(visible, names))
    parts, sections = [f"columns: {columns}"], list[ExplainedSection]()
    if stage == "logical":
        parts.append(named_text(node, ColumnNames.of_plan(node, names)))
    else:
        graph, assumed = with_assumed_orders(node)
        trace_record, plan, column_names = optimized(graph, names, stage)
        text = named_text(plan, column_names)
        parts += [text] if stage else ["-- logical plan", named_text(graph, column_names), "-- optimized plan", text]
        parts += map(str, assumed)
        order = ["-- order", *order_reasons(plan, trace_record, column_names)] if why else []
        if stage is None:
            sections = physical_plan(node, names, analyze)
            parts += [*physical_lines(sections), *([WITHOUT_PLAN] if sections and not analyze and needs_no_plan(node) else [])]
        parts += [*(["-- laws that fired", trace_text(trace_record)] if trace else []), *order]
    if verify:
        parts += ["-- verification", *verification(node, names)]
    return Explanation.of(visible("\n".join(parts), lines=True), sections, visible(columns))


def named_text(node: PlannerNode, names: ColumnNames) -> str:
    """Return a plan as text, with the names of columns as far as they are known."""
    return plan_text(node, names.known_name, names.in_parameters)


def optimized(node: PlannerNode, names: Sequence[str], stage: str | None) -> tuple[Trace, PlannerNode, ColumnNames]:
    """Return the optimizer's trace, the plan after ``stage`` (None: after all stages), and the names of the plan's columns."""
    record = Trace()
    with GRAPH_LOCK:
        plan = optimize(node, stage, record)
    return record, plan, ColumnNames.of_plan(plan, names, record, node)


def physical_plan(node: PlannerNode, names: Sequence[str], analyze: bool) -> list[ExplainedSection]:
    """Return the sections that materializing a node would run. With ``analyze``, materialize it now, and add to each section what it did."""
    planned_run = plan_dry_run(node)
    names = names if planned_run.new_columns is None else planned_run.new_columns.names(names)
    plan, sections = planned_run.plan, planned_run.sections
    column_names = ColumnNames() if plan is None else ColumnNames.of_plan(plan, names, planned_run.trace, planned_run.graph)
    # Describe the sections now: after the run their nodes may be part of other plans.
    planned = explained_sections(sections, names_of_sections(sections, names, column_names))
    if not analyze or not sections:
        return planned
    materialize(node, MaterializeOptions(measure=work_in_spark))
    return with_outcomes(planned, outcomes_of(node))


def with_outcomes(sections: Sequence[ExplainedSection], outcomes: Sequence[SectionOutcome]) -> list[ExplainedSection]:
    """Return the sections, each with the outcomes that have its number; outcomes whose number matches no section go to the last section."""
    numbers = {section.number for section in sections}

    def belongs(outcome: SectionOutcome, section: ExplainedSection) -> bool:
        number = outcome.number.partition(".")[0]
        return number == section.number or (number not in numbers and section is sections[-1])

    return [attrs.evolve(section, outcomes=tuple(item for item in outcomes if belongs(item, section))) for section in sections]


def outcomes_of(node: PlannerNode) -> list[SectionOutcome]:
    """Return the outcomes of the sections that the last action on a node ran; an empty list if none ran."""
    run_log: RunLog | None = node.ran
    return [] if run_log is None else list(run_log.outcomes)


def last_run(node: PlannerNode) -> Explanation:
    """Return the explanation that :meth:`sframe_spark.SFrame.last_run` shows: what the last action on a node ran."""
    return Explanation.of(visible("\n".join(run_lines(outcomes_of(node))), lines=True), ())
