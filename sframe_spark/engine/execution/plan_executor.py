"""Execution of physical plans: the sections of a plan run in order, and are planned again when more is known or one cannot run as planned."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

import attrs

from sframe_spark.engine.execution.run_log import RunLog, SectionOutcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions, Work
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, is_small, placement_of, streams_faster_locally
from sframe_spark.engine.physical.plans_without_shared_files import site_of_plan
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.result_storage import with_rows_sent, with_stored_tables
from sframe_spark.engine.shapes.count_matches import with_all_counted
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import not_owned, require_owned
from sframe_spark.engine.shapes.section_planner import SectionOrigin, SectionPlanner, as_one_query, needs_spark
from sframe_spark.engine.shapes.section_runner import SectionRunner, task_runner_for
from sframe_spark.engine.shapes.section_tree import (
    THE_RESULT,
    ReplanNeeded,
    Section,
    SectionResult,
    Strategy,
    Workers,
    in_order_of_running,
    sections_in,
)
from sframe_spark.engine.shapes.stream import STORED, by_ranges, by_source, on_driver, workers_over_ranges
from sframe_spark.engine.spark.executor_version_checks import require_same_plugins
from sframe_spark.engine.spark.query import counting_queries
from sframe_spark.engine.spark.shared_file_and_row_count_checks import rechecking_after_failure
from sframe_spark.errors import NotSharedError, RunTooLongError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.sources.rows_of_sources import require_sent_sources
from sframe_spark.operators.user_function_calls_and_result_memos import require_sent_functions
from sframe_spark.planner.graph_traversal import fold, postorder, private_copy, rebuild
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.rewrite_laws.sort_elimination import full_sort
from sframe_spark.session import get_unshared, start_ahead

Result = TypeVar("Result")


@attrs.define(eq=False)
class Executor:
    """Executes one plan.

    Parameters
    ----------
    options
        Options of the materialisation.
    log
        Filled with one line for each section that ran: how it ran, its operator and its number of rows.
    owned
        ``id`` of the result memo of each call of a user's function that this action may run in Spark tasks (see
        :mod:`sframe_spark.engine.execution.action_planning_and_function_call_claims`).
    free
        ``id`` of users' DataFrames that the plan may read as they are (see
        :mod:`sframe_spark.engine.physical.user_dataframes_to_materialize_first`).
    run_log
        Filled with the outcome of each section.
    prefix
        Prefix of the numbers of sections: the number of the section that is being planned again, or empty.
    exported_to
        The directory to which the caller's tasks are to write the rows of the last section; None if they write none.
    """

    options: MaterializeOptions
    log: list[str] = attrs.Factory(list)
    owned: frozenset[int] = frozenset()
    free: frozenset[int] = frozenset()
    run_log: RunLog = attrs.Factory(RunLog)
    prefix: str = ""
    exported_to: str | None = None

    def execute(self, root: PlannerNode) -> PlannerNode:
        """Compute ``root`` and return a source node of its rows."""
        return self.with_full_sorts_if_needed(lambda plan: self.run(self.plan(plan)), root)

    def save(self, root: PlannerNode) -> PlannerNode:
        """Write the rows to ``options.directory`` and return a source of them, even if they are stored in another directory already."""
        return self.with_full_sorts_if_needed(lambda plan: self._save(self.plan(plan)), root)

    def counted(self, root: PlannerNode) -> PlannerNode:
        """Run all sections but the last one, count the matches of joins whose number of rows is unknown, and return the plan of the last section."""

        def counted(plan: PlannerNode) -> PlannerNode:
            ready = self.ready(self.plan(plan))
            return with_all_counted(ready.root, site_of_section(ready))

        return self.with_full_sorts_if_needed(counted, root)

    def for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """Return the plan as one Spark query, and its placement, after running the sections that cannot be part of a query."""
        node, placement = self.with_full_sorts_if_needed(self._fit_for_query, root)
        require_owned(node, self.owned)
        return with_rows_sent(with_stored_tables(node), asks=True), placement

    def plan(self, root: PlannerNode, reason: str = THE_RESULT, refused: frozenset[Strategy] = frozenset(), is_observed: bool = True) -> Section:
        """Return the last section of a plan, with those that it reads, after running sections whose rows decide how many rows a join has."""
        if self.options.naive:
            return as_one_query(root, reason, Site.now())
        while True:
            planner = SectionPlanner(site_of_plan(root, self.options.directory or self.exported_to), self.free, refused, is_observed=is_observed)
            section = planner.plan(root, reason)
            if not planner.waiting:
                return section
            root = self._with_waiting(planner, root)

    def _with_waiting(self, planner: SectionPlanner, root: PlannerNode) -> PlannerNode:
        """Run the sections whose rows decide how many rows a join has, and return the plan over their results."""
        results = self._results_of(planner.waiting)
        replaced = {id(planner.section_origins[key].node): (planner.section_origins[key], rows) for key, rows in results.items()}
        return fold([root], partial(over_rows, replaced))[id(root)]

    def with_full_sorts_if_needed(self, run: Callable[[PlannerNode], Result], root: PlannerNode) -> Result:
        """Run a plan. If it fails because too many rows tie, run it again with full sorts by Spark.

        Rows that are known to ascend by the first sort columns are sorted only within rows of equal values of these ("ties"), in memory. That fails
        if there are too many of such rows.
        """
        with GRAPH_LOCK:
            # Other threads may replace nodes of the user's graph while the plan runs, and the plan has nodes of that graph, so a copy of it runs.
            plan = private_copy(root)
        with rechecking_after_failure(plan, self.options.directory):
            produced = self.run_log.mark()
            try:
                result = run(plan)
            except RunTooLongError as error:
                self.run_log.give_up(produced)
                self.log.append(f"sorted again by Spark: {error}")
                result = run(rebuild(plan, lambda node: full_sort(node) or node))
        if plan.operator.is_source and root.operator is plan.operator:
            root.known = plan.known
        return result

    def run(self, section: Section) -> PlannerNode:
        """Run a section after the sections that it reads, and return a source of its rows."""
        self._start_for(section)
        return self._run_alone(self.ready(section))

    def _start_for(self, section: Section) -> None:
        """Start Spark in the background if a section that is not the first to run certainly needs it."""
        sections = list(in_order_of_running([section]))
        # If another action has claimed a user's function that the plan calls in other processes, the plan is made again after that action, and may
        # then need no Spark.
        is_replaced = any(not_owned(planned.root, self.owned) for planned in sections if planned.workers.are_in_other_processes)
        if any(map(needs_spark, sections[1:])) and not is_replaced:
            start_ahead()

    def ready(self, section: Section) -> Section:
        """Run the sections that a section reads, and return it planned again over their results."""
        return self._decided(section, self._results_of(section.inputs))

    def _results_of(self, sections: Sequence[Section]) -> dict[int, PlannerNode]:
        """Run sections after the sections that they read; return sources of their rows by ``id`` of the sections."""
        if not sections:
            return {}
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None), exported_to=None)
        results: dict[int, PlannerNode] = {}
        for section in in_order_of_running(sections):
            results[id(section)] = inner._run_alone(inner._decided(section, results))
        return results

    def _decided(self, section: Section, results: dict[int, PlannerNode]) -> Section:
        """Give a section its number, and return it planned again over the results that it reads, about which more is known now."""
        if not section.number:
            section.sample_number = self.run_log.next_number(self.prefix) if section.shape.takes_sample else ""
            section.number = self.run_log.next_number(self.prefix)
        if not results:
            return section
        section.reads += tuple(below.number for below in section.inputs)
        root = with_results(section.root, results)
        return section if root is section.root else self._planned_again(section, root, section.refused)

    def _planned_again(self, section: Section, root: PlannerNode, refused: frozenset[Strategy] = frozenset()) -> Section:
        """Plan a section again, over results or without refused strategies, and run the new sections that it reads."""
        inner = attrs.evolve(self, prefix=f"{section.number}.")
        again = inner.plan(root, section.reason, refused, section.is_observed)
        results = inner._results_of(again.inputs)
        is_another = again.strategy != section.strategy or bool(results)
        again.reads, again.refused, again.sample_number = section.reads, refused, section.sample_number
        again.number, again.planned = section.number, (section.planned or section.strategy) if is_another else section.planned
        return inner._decided(again, results)

    def _run_alone(self, section: Section) -> PlannerNode:
        """Run a section that reads no other sections, planning it again in another way as often as needed; return a source of its rows."""
        if section.shape == STORED:
            return section.root
        result = self.run_as_planned(section)
        if isinstance(result, ReplanNeeded):
            return self._run_alone(self._planned_again(section, result.root, section.refused | {section.strategy}))
        return result

    def run_as_planned(self, section: Section) -> PlannerNode | ReplanNeeded:
        """Run a section as it was planned and log the outcome."""
        if section.workers in (Workers.PROCESSES, Workers.SPARK_TASKS):
            require_sent_functions(section.root)
            require_sent_sources(section.root)
        if section.workers is Workers.SPARK_TASKS:
            require_same_plugins(section.root)
        began = time.perf_counter()
        runner = self.new_section_runner(section)
        measured = nullcontext(Work()) if self.options.measure is None else self.options.measure()
        with measured as work, counting_queries() as counted:
            result = run_or_replan(partial(runner.run, section), section, self.log)
        for sample, values, seconds in runner.samples:
            sample.number, sample.reads = section.sample_number or self.run_log.next_number(f"{section.number}."), section.reads
            self.run_log.outcomes.append(outcome_of(sample, values, seconds))
        outcome = outcome_of(section, result, time.perf_counter() - began)
        outcome.tasks = work.tasks if runner.tasks is None else runner.tasks
        outcome.spilled = work.spilled if runner.spilled is None else runner.spilled
        outcome.queries = counted.queries or None
        self.run_log.outcomes.append(outcome)
        return result

    def new_section_runner(self, section: Section) -> SectionRunner:
        """Return a new runner for a section."""
        return SectionRunner(self.options, self.log, self.owned, site=site_of_section(section))

    def _save(self, planned: Section) -> PlannerNode:
        self._start_for(planned)
        section = self.ready(planned)
        if section.shape != STORED:
            return self._run_alone(section)
        result = run_or_replan(partial(self._saved, section), section, self.log)
        return self._save(self.plan(result.root)) if isinstance(result, ReplanNeeded) else result

    def _saved(self, section: Section) -> PlannerNode:
        """Return a source of stored rows that have been written to the directory of the options."""
        source, placement = section.root, placement_of(section.root)
        runner = self.new_section_runner(section)
        site = runner.site
        if isinstance(source.operator, MemorySource):
            return runner.keep(source.operator.held, source)
        if source.operator.source_kind is SourceKind.ENCODED_FILES and not is_small(source, site) and not site.is_spark_started:
            return by_source(runner, source)
        if is_small(source, site) or streams_faster_locally(source, site):
            return on_driver(runner, source, placement)
        return by_ranges(runner, source, placement, task_runner_for(workers_over_ranges(source, site)))

    def _fit_for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """Return the plan as a Spark query over sources, and its placement."""
        planner = SectionPlanner(site_of_plan(root), self.free)
        node, _ = planner.plan_for_query(root)
        if planner.waiting:
            return self._fit_for_query(self._with_waiting(planner, root))
        waiting = sections_in(node)
        if not waiting:
            return node, placement_of(node)
        return self._fit_for_query(with_results(node, self._results_of(waiting)))


def site_of_section(section: Section) -> Site:
    """Return the current site for a section, which this process computes alone if it was planned so."""
    return attrs.evolve(Site.now(), is_alone=section.is_alone)


def run_or_replan(run: Callable[[], Result], section: Section, log: list[str]) -> Result | ReplanNeeded:
    """Run a section; if that finds a directory that Spark's machines do not share, return that the section is to be planned again, without it.

    Directories are asked for before any row is computed, so no user's function was called.
    """
    known = set(get_unshared())
    try:
        return run()
    except NotSharedError:
        if set(get_unshared()) <= known:
            raise
        log.append(f"not shared: {section.root.operator_type} is planned again, as Spark's machines lack files or a place for rows")
        return ReplanNeeded(section.root)


def over_rows(replaced: Mapping[int, tuple[SectionOrigin, PlannerNode]], node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
    """Return a node over new inputs, or what replaces it if its rows have been computed."""
    origin, rows = replaced.get(id(node), (None, node))
    return node.with_inputs(inputs) if origin is None else origin.over(inputs, rows)


def with_results(root: PlannerNode, results: dict[int, PlannerNode]) -> PlannerNode:
    """Return a plan in which the results of sections replace their placeholders."""
    return rebuild(root, lambda node: results[id(node.operator.section)] if isinstance(node.operator, SectionResult) else node)


def outcome_of(section: Section, result: PlannerNode | ReplanNeeded, seconds: float) -> SectionOutcome:
    """Return the outcome of a section that ran, for the log."""
    operators = tuple(node.operator_type for node in postorder([section.root]))
    outcome = SectionOutcome(section.number, section.strategy, operators, section.reads, section.reason, seconds, instead_of=section.planned)
    if isinstance(result, ReplanNeeded):
        outcome.is_given_up = True
        return outcome
    source = result.operator
    outcome.rows, outcome.is_on_disk = result.length.rows, isinstance(source, SegmentSource)
    if isinstance(source, MemorySource):
        outcome.size = source.data.size
    elif isinstance(source, SegmentSource):
        sizes = [entry.size for entry in source.manifest.segments if entry.size is not None]
        outcome.size = sum(sizes) if len(sizes) == len(source.manifest.segments) else None
    return outcome
