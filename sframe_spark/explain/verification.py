"""``explain(verify=True)``: runs a plan and compares what the planner claims with the plans that ran and the rows that came of them.

The result is thrown away, so that a frame answers, and is planned, afterwards as before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import attrs

from sframe_spark.engine.executor import Executor, Placed
from sframe_spark.engine.looks import Look, look
from sframe_spark.engine.materialize import is_materialized, materialize
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.placement import Placement, is_small
from sframe_spark.engine.runner import FlatPlan
from sframe_spark.engine.tasks import RangeTask
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.executed_plans import recorded_plans
from sframe_spark.explain.verification_report import DRIVER, QUERY, TASKS, Run, Section, report
from sframe_spark.operators.relational.rows import SliceRows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator
from sframe_spark.session import get_session, is_remote, is_started
from sframe_spark.session.session import active_session


@attrs.define(eq=False)
class ObservedExecutor(Executor):
    """An executor that keeps a record of each section that it runs."""

    sections: list[Section] = attrs.Factory(list)
    ranges: list[tuple[int, int]] = attrs.Factory(list)

    def _run_query(self, node: PlannerNode) -> PlannerNode:
        with recorded_plans() as plans:
            result = super()._run_query(node)
        self.sections.append(Section(QUERY, node, result, plans))
        return result

    def _run_tasks(self, node: PlannerNode, placement: Placement) -> PlannerNode:
        with recorded_plans() as plans:
            result = super()._run_tasks(node, placement)
        self.sections.append(Section(TASKS, node, result, plans, tuple(self.ranges), placement.dense))
        return result

    def _from_parts(
        self, node: PlannerNode, operator: DecomposableOperator, child: tuple[PlannerNode, Placement]
    ) -> tuple[PlannerNode, Placement] | None:
        with recorded_plans() as plans:
            done = super()._from_parts(node, operator, child)
        if done is not None:
            self.sections.append(Section(TASKS, node.with_inputs([child[0]]), done[0], plans))
        return done

    def _with_states(self, plan: FlatPlan, ranges: Sequence[tuple[int, int]]) -> list[RangeTask]:
        tasks = super()._with_states(plan, ranges)
        self.ranges[:] = [(task.start, task.stop) for task in tasks]
        return tasks

    def run_section(self, node: PlannerNode, placement: Placement) -> PlannerNode:
        """Execute one section into a source; one that runs on the driver is recorded here."""
        if node.operator.is_source or not placement.segment or not is_small(node):
            return super().run_section(node, placement)
        with recorded_plans() as plans:
            result = super().run_section(node, placement)
        self.sections.append(Section(DRIVER, node, result, plans))
        return result

    def _whole_on_driver(self, node: PlannerNode, child: Placed) -> tuple[Placed | None, Placed]:
        with recorded_plans() as plans:
            done, computed = super()._whole_on_driver(node, child)
        if done is not None:
            self.sections.append(Section(DRIVER, node.with_inputs([child[0]]), done[0], plans))
        return done, computed

    def _first_rows(self, node: PlannerNode, operator: SliceRows, child: tuple[PlannerNode, Placement]) -> tuple[PlannerNode, Placement] | None:
        with recorded_plans() as plans:
            done = super()._first_rows(node, operator, child)
        if done is not None:
            self.sections.append(Section(DRIVER, node.with_inputs([child[0]]), done[0], plans))
        return done


def require_classic_session() -> None:
    """Let classic sessions pass, and programs that need no session at all, without starting one.

    Raises
    ------
    UnsupportedOperationError
        If queries go to a Spark Connect server, which does not tell how it ran them.
    """
    session = get_session() if is_started() else active_session()
    remote = "SPARK_REMOTE" in os.environ if session is None else is_remote(session)
    if remote:
        raise UnsupportedOperationError(
            "explain(verify=True) needs a classic Spark session: Spark Connect does not tell which plans it ran. "
            "Use explain(why=True), which runs nothing, or verify the program on a local session"
        )


def verification(node: PlannerNode, names: Sequence[str]) -> list[str]:
    """Run a plan without keeping its result, and compare claims with what ran, line by line.

    Parameters
    ----------
    node
        The node, which stays as it is.
    names
        Names of its columns.

    Raises
    ------
    UnsupportedOperationError
        If the session is one of Spark Connect.
    """
    require_classic_session()
    return look(node, partial(_verified, names=names), materialize, discards=True)


def _verified(found: Look, names: Sequence[str]) -> list[str]:
    executor = ObservedExecutor(MaterializeOptions(), owned=found.owned)
    result = found.plan if is_materialized(found.plan) else executor.execute(found.plan)
    known = names_of_sections(executor.sections, result, names, ColumnNames.of_plan(found.plan, names, found.trace, found.graph))
    return report(Run(found.plan, found.trace, result, executor.sections, known))


def names_of_sections(sections: Sequence[Section], result: PlannerNode, top: Sequence[str], names: ColumnNames) -> ColumnNames:
    """Names that are known of the plan, and those of the sections that ran: what reads a section's result has names for its columns."""
    names.add(result, tuple(top))
    for section in reversed(sections):
        names.add(section.plan, names.known.get(id(section.result), ()))
    return names
