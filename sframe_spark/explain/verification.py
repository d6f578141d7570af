"""``explain(verify=True)``: runs a plan and compares what the planner claims with the plans that ran and the rows that came of them.

The result is thrown away, so that a frame answers, and is planned, afterwards as before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import attrs

from sframe_spark.engine.execution.actions import Look, look
from sframe_spark.engine.execution.executor import NotAsPlanned, Runs
from sframe_spark.engine.execution.materialize import is_materialized, materialize
from sframe_spark.engine.execution.runs_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement import Placement, placement_of
from sframe_spark.engine.physical.sections import Mode, Section
from sframe_spark.engine.runtime.scheduler import RangeWorkers
from sframe_spark.engine.runtime.tasks import RangeTask
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.executed_plans import recorded_plans
from sframe_spark.explain.verification_report import DRIVER, QUERY, TASKS, RanSection, Run, report
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import get_session, is_remote, is_started
from sframe_spark.session.session import active_session


@attrs.define(eq=False)
class ObservedRuns(Runs):
    """Runs that keep the ranges of the last tasks."""

    ranges: list[tuple[int, int]] = attrs.Factory(list)

    def tasks_of(self, node: PlannerNode, placement: Placement, workers: RangeWorkers) -> list[RangeTask]:
        """The tasks, whose ranges are noted."""
        tasks = super().tasks_of(node, placement, workers)
        self.ranges[:] = [(task.start, task.stop) for task in tasks]
        return tasks


@attrs.define(eq=False)
class ObservedExecutor(Executor):
    """An executor that keeps a record of each section that it runs."""

    sections: list[RanSection] = attrs.Factory(list)
    ranges: list[tuple[int, int]] = attrs.Factory(list)

    def runs(self) -> Runs:
        """Runs whose ranges are noted."""
        return ObservedRuns(self.options, self.log, self.owned, ranges=self.ranges)

    def run_as_planned(self, section: Section) -> PlannerNode | NotAsPlanned:
        """A source of the rows of a section, which is recorded once it has run."""
        self.ranges.clear()
        with recorded_plans() as plans:
            result = super().run_as_planned(section)
        if isinstance(result, PlannerNode):
            where = QUERY if section.mode is Mode.QUERY else TASKS if section.mode.is_on_spark else DRIVER
            is_dense = section.mode.is_over_ranges and placement_of(section.root).dense
            ranges = tuple(self.ranges) if section.mode.is_over_ranges else ()
            self.sections.append(RanSection(where, section.root, result, plans, ranges, is_dense))
        return result


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
    executor = ObservedExecutor(MaterializeOptions(), owned=found.owned, journal=found.journal)
    result = found.plan if is_materialized(found.plan) else executor.execute(found.plan)
    known = names_of_sections(executor.sections, result, names, ColumnNames.of_plan(found.plan, names, found.trace, found.graph))
    return report(Run(found.plan, found.trace, result, executor.sections, known))


def names_of_sections(sections: Sequence[RanSection], result: PlannerNode, top: Sequence[str], names: ColumnNames) -> ColumnNames:
    """Names that are known of the plan, and those of the sections that ran: what reads a section's result has names for its columns."""
    names.add(result, tuple(top))
    for section in reversed(sections):
        names.add(section.plan, names.known.get(id(section.result), ()))
    return names
