"""The executor: runs the sections of a physical plan, one after the other, until its rows are one source."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TypeVar

import attrs

from sframe_spark.engine.execution.actions import not_owned, require_owned
from sframe_spark.engine.execution.executor import NotAsPlanned, Runs, workers_of
from sframe_spark.engine.execution.run_log import Journal, Outcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions, Work
from sframe_spark.engine.physical.adaptive import with_all_counted
from sframe_spark.engine.physical.physical_planner import SectionPlanner, StandsFor, as_one_query, needs_spark, over_ranges
from sframe_spark.engine.physical.placement import Placement, is_small, placement_of, streams_sooner
from sframe_spark.engine.physical.sections import THE_RESULT, Mode, Section, SectionResult, in_order_of_running, sections_in
from sframe_spark.engine.runtime.stored_tables import with_stored_tables
from sframe_spark.engine.spark.file_checks import asking_again
from sframe_spark.engine.spark.query import counting_queries
from sframe_spark.errors import RunTooLongError
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource, Source, source_of
from sframe_spark.planner.graph import fold, postorder, private_copy, rebuild
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import is_started, start_ahead

Result = TypeVar("Result")


@attrs.define(eq=False)
class Executor:
    """Executes one plan.

    Parameters
    ----------
    options
        Options of the materialisation.
    log
        Filled with one line per section that ran: what, where and over how many rows.
    owned
        ``id`` of the memos of those applications of users' functions that may be made in Spark tasks (see :mod:`sframe_spark.engine.execution.actions`).
    free
        Users' DataFrames that the plan may read as they are (see :mod:`sframe_spark.engine.physical.user_dataframes`).
    journal
        Filled with what became of each section.
    prefix
        What the numbers of sections begin with: the number of the one that is planned again.
    """

    options: MaterializeOptions
    log: list[str] = attrs.Factory(list)
    owned: frozenset[int] = frozenset()
    free: frozenset[int] = frozenset()
    journal: Journal = attrs.Factory(Journal)
    prefix: str = ""

    def execute(self, root: PlannerNode) -> PlannerNode:
        """A source node that holds the rows of ``root``."""
        return self.with_full_sorts_if_needed(lambda plan: self.run(self.plan(plan)), root)

    def save(self, root: PlannerNode) -> PlannerNode:
        """A source over the dataset in ``options.directory``: rows that are only in memory or in other datasets are written too."""
        return self.with_full_sorts_if_needed(lambda plan: self._save(self.plan(plan)), root)

    def counted(self, root: PlannerNode) -> PlannerNode:
        """The plan as one section that is not run: where joins decide how many rows there are, their matches are counted."""
        return self.with_full_sorts_if_needed(lambda plan: with_all_counted(self.ready(self.plan(plan)).root), root)

    def for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """The plan as one Spark query, with what cannot be part of it already executed."""
        node, placement = self.with_full_sorts_if_needed(self._fit_for_query, root)
        require_owned(node, self.owned)
        return with_stored_tables(node), placement

    def plan(self, root: PlannerNode, reason: str = THE_RESULT, refused: frozenset[Mode] = frozenset()) -> Section:
        """The sections of a plan; those have run on whose rows it depends how many rows a join has."""
        if self.options.naive:
            return as_one_query(root, reason)
        while True:
            planner = SectionPlanner(self.free, refused)
            section = planner.plan(root, reason)
            if not planner.waiting:
                return section
            results = self._results_of(planner.waiting)
            known = {id(planner.stands_for[key].node): (planner.stands_for[key], result) for key, result in results.items()}
            root = fold([root], partial(over_known, known))[id(root)]

    def with_full_sorts_if_needed(self, run: Callable[[PlannerNode], Result], root: PlannerNode) -> Result:
        """A run of the plan; with all rows sorted by Spark where it turns out that too many rows tie."""
        with GRAPH_LOCK:
            # Nodes of users' graphs that no law has changed are part of the plan, and others may splice them meanwhile.
            plan = private_copy(root)
        with asking_again(plan, self.options.directory):
            begun = self.journal.mark()
            try:
                result = run(plan)
            except RunTooLongError as error:
                self.journal.give_up(begun)
                self.log.append(f"sorted again by Spark: {error}")
                result = run(rebuild(plan, with_full_sort))
        if plan.operator.is_source and root.operator is plan.operator:
            root.known = plan.known
        return result

    def run(self, section: Section) -> PlannerNode:
        """A source of the rows of a section, after those of all sections that it reads."""
        self._start_for(section)
        return self._run_alone(self.ready(section))

    def _start_for(self, section: Section) -> None:
        """Let Spark start in the background where a section is sure to need it and others run before."""
        sections = list(in_order_of_running([section]))
        # A plan that would call functions elsewhere which it does not own is given up for one that calls them first.
        if any(map(needs_spark, sections[1:])) and not any(not_owned(each.root, self.owned) for each in sections if each.mode.is_elsewhere):
            start_ahead()

    def ready(self, section: Section) -> Section:
        """A section over sources: those that it reads have run, and what depended on their rows is decided."""
        return self._decided(section, self._results_of(section.inputs))

    def _results_of(self, sections: Sequence[Section]) -> dict[int, PlannerNode]:
        """Sources of the rows of some sections, and of those that these read, by ``id`` of the sections."""
        if not sections:
            return {}
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None))
        results: dict[int, PlannerNode] = {}
        for section in in_order_of_running(sections):
            results[id(section)] = inner._run_alone(inner._decided(section, results))
        return results

    def _decided(self, section: Section, results: dict[int, PlannerNode]) -> Section:
        """A section over the rows that it reads, planned again: these may tell more than was known."""
        section.number = section.number or self.journal.next_number(self.prefix)
        if not results:
            return section
        section.reads += tuple(below.number for below in section.inputs)
        root = with_results(section.root, results)
        return section if root is section.root else self._planned_again(section, root)

    def _planned_again(self, section: Section, root: PlannerNode, refused: frozenset[Mode] = frozenset()) -> Section:
        """What a section is, given rows that it reads, or that it is not to run as was planned."""
        inner = attrs.evolve(self, prefix=f"{section.number}.")
        again = inner.plan(root, section.reason, refused)
        results = inner._results_of(again.inputs)
        is_another = again.mode is not section.mode or bool(results)
        again.reads, again.refused = section.reads, refused
        again.number, again.planned = section.number, (section.planned or section.mode) if is_another else section.planned
        return inner._decided(again, results)

    def _run_alone(self, section: Section) -> PlannerNode:
        """A source of the rows of a section that reads no others."""
        if section.mode is Mode.DONE:
            return section.root
        result = self.run_as_planned(section)
        if isinstance(result, NotAsPlanned):
            return self._run_alone(self._planned_again(section, result.root, section.refused | {section.mode}))
        return result

    def run_as_planned(self, section: Section) -> PlannerNode | NotAsPlanned:
        """A source of the rows of a section that reads no others, or what is left to be planned."""
        began = time.perf_counter()
        runs = self.runs()
        with (self.options.measure or nothing_measured)() as work, counting_queries() as counted:
            result = runs.run(section)
        outcome = outcome_of(section, result, time.perf_counter() - began)
        outcome.tasks, outcome.spilled = work.tasks if runs.tasks is None else runs.tasks, work.spilled if runs.spilled is None else runs.spilled
        outcome.queries = counted.queries or None
        self.journal.outcomes.append(outcome)
        return result

    def runs(self) -> Runs:
        """How sections over sources run."""
        return Runs(self.options, self.log, self.owned)

    def _save(self, planned: Section) -> PlannerNode:
        self._start_for(planned)
        section = self.ready(planned)
        if section.mode is not Mode.DONE:
            return self._run_alone(section)
        source, placement = section.root, placement_of(section.root)
        runs, workers = self.runs(), workers_of(over_ranges(source))
        if isinstance(source.operator, MemorySource):
            return runs.keep(source.operator.held, source)
        if source.operator.decodes and not is_small(source) and not is_started():
            return runs.by_source(source)
        return runs.on_driver(source, placement) if is_small(source) or streams_sooner(source) else runs.by_ranges(source, placement, workers)

    def _fit_for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """The plan as a Spark query over sources."""
        node, _ = SectionPlanner(self.free).plan_for_query(root)
        waiting = sections_in(node)
        if not waiting:
            return node, placement_of(node)
        return self._fit_for_query(with_results(node, self._results_of(waiting)))


def over_known(known: dict[int, tuple[StandsFor, PlannerNode]], node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
    """A node over other inputs, or what it becomes of the rows that are known, by its ``id``."""
    if id(node) not in known:
        return node.with_inputs(inputs)
    stands_for, rows = known[id(node)]
    return stands_for.over(inputs, rows)


def with_results(root: PlannerNode, results: dict[int, PlannerNode]) -> PlannerNode:
    """A part of a plan over the rows of the sections that it reads."""
    if not results:
        return root
    return rebuild(root, lambda node: results[id(node.operator.section)] if isinstance(node.operator, SectionResult) else node)


def nothing_measured() -> AbstractContextManager[Work]:
    """A block of which nobody asks what Spark does in it."""
    return nullcontext(Work())


def outcome_of(section: Section, result: PlannerNode | NotAsPlanned, seconds: float) -> Outcome:
    """What became of a section."""
    operators = tuple(node.operator_type for node in postorder([section.root]))
    outcome = Outcome(section.number, section.mode, operators, section.reads, section.reason, seconds, instead_of=section.planned)
    if isinstance(result, NotAsPlanned):
        outcome.is_given_up = True
        return outcome
    source = source_of(result)
    outcome.rows, outcome.is_on_disk, outcome.size = result.length.rows, isinstance(source, SegmentSource), bytes_of(source)
    return outcome


def bytes_of(source: Source) -> int | None:
    """What the rows of a result take, in memory or in files; None where nobody counted."""
    if isinstance(source, MemorySource):
        return source.data.size
    sizes = [entry.size for entry in source.manifest.segments] if isinstance(source, SegmentSource) else [None]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def with_full_sort(node: PlannerNode) -> PlannerNode:
    """What an operator is where it met a limit: a sort of all rows in place of one that sorts ties."""
    other = node.operator.otherwise()
    return node if other is None else other.make_planner_node(*node.inputs)
