"""How a section over sources runs, in each of the modes; what is found out on the way never loses rows that were computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from typing import TypeVar

import attrs
import numpy as np

from sframe_spark.compute.range_partitioning import RangePartitioner
from sframe_spark.config import config
from sframe_spark.engine.execution.actions import not_owned, require_owned
from sframe_spark.engine.execution.partitioned_operators import (
    ExchangedRows,
    PartitionedJoin,
    exchange_below,
    give_to,
    key_ranges_of,
    passed_on,
    rows_by_ranges,
    split_evenly,
)
from sframe_spark.engine.execution.run_log import RunLog, SectionOutcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions, Work
from sframe_spark.engine.memory_budget import UNKNOWN_BYTES, MemoryReservation, fits_driver, plan_size_of, rows_fit
from sframe_spark.engine.physical.adaptive import first_rows, has_few_groups, joined_rows, with_all_counted
from sframe_spark.engine.physical.late_materialization import NumberedRows, numbered_rows
from sframe_spark.engine.physical.local_strategies import MAX_BYTES_OF_TASKS_RANGE, MAX_EXCHANGE_RUNS, bytes_gathered, ranges_of_tasks
from sframe_spark.engine.physical.physical_planner import SectionOrigin, SectionPlanner, as_one_query, needs_spark, over_ranges, takes_few_of_join
from sframe_spark.engine.physical.placement import BUDGETS_AT_HAND, Placement, is_small, placement_of, streams_faster_locally
from sframe_spark.engine.physical.sections import THE_RESULT, Mode, Section, SectionResult, in_order_of_running, sections_in
from sframe_spark.engine.physical.udf_planning import needs_one_batch
from sframe_spark.engine.runtime.dataset_writer import new_dataset, with_stored_tables, write_chunks, write_in_memory, write_query
from sframe_spark.engine.runtime.exchange import TaskOutput, ranges_of_outputs, write_exchange_rows, write_ranges
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads, require_inferred
from sframe_spark.engine.runtime.result_buffer import (
    PartialRows,
    in_one_chunk,
    may_stay,
    partial_rows_of_task,
    reservation_for_results,
    rows_as_produced,
)
from sframe_spark.engine.runtime.scheduler import (
    InProcessRunner,
    ProcessRunner,
    SparkTaskRunner,
    TaskRunner,
    ThreadRunner,
    name_of,
    range_tasks,
    sequential_if_faster,
)
from sframe_spark.engine.runtime.tasks import EarlyStop, RangeTask, collect_rows, combined_parts, part_of_range, write_range
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.file_checks import rechecking_after_failure
from sframe_spark.engine.spark.query import counting_queries
from sframe_spark.errors import MemoryReservationError, NotSharedError, RunTooLongError
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource, Source, segment_source, source_of
from sframe_spark.operators.sources.statistics import recorded_order
from sframe_spark.planner.chunk import Chunk, ChunkedRows, concatenate, drained, from_stream
from sframe_spark.planner.graph import fold, postorder, private_copy, rebuild
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator, Operator
from sframe_spark.process.memory import memory_for_batches, work_memory
from sframe_spark.session import get_session, is_remote, is_started, start_ahead
from sframe_spark.session.deployment import reads_our_files
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.storage.manifest.manifest import SegmentEntry

# What parts put together may take on the driver. Of many tasks each may send more than its share, as their parts are often alike, but all of them no
# more than half of what Spark lets a driver collect.
PARTS_BYTES = 64 << 20
MIN_PART_BYTES = 256 << 10
# Keys of parts, and values that are each kept once, are numbered anew where parts are put together.
COPIES_OF_PARTS = 8
SENT_PARTS_BYTES = 512 << 20
# Where rows were exchanged: ranges are more or less even.
TASKS_PER_THREAD = 8

# Writes some rows into a directory as the segment of a number.
Writing = Callable[[str, int], SegmentEntry]


@attrs.frozen(eq=False)
class ReplanNeeded:
    """A section could not be made in its mode: ``root`` is what is left to be planned, over the rows that are there already."""

    root: PlannerNode


@attrs.define(eq=False)
class SectionRunner:
    """Runs sections over sources.

    Parameters
    ----------
    options, log, owned
        See :class:`sframe_spark.engine.execution.executor.Executor`.
    tasks
        Number of the tasks that made the rows; None where there were none, or where Spark made them.
    spilled
        Bytes that threads put on disk to exchange them; None where they did not exchange any.
    """

    options: MaterializeOptions
    log: list[str]
    owned: frozenset[int]
    tasks: int | None = None
    spilled: int | None = None

    def run(self, section: Section) -> PlannerNode | ReplanNeeded:
        """A source of the rows of a section."""
        if section.mode is Mode.GATHERED:
            # Arrays of all rows come, and go, and come again.
            return self._gathered(section.root)
        with memory_for_batches():
            return self._over_batches(section)

    def _over_batches(self, section: Section) -> PlannerNode | ReplanNeeded:
        match section.mode:
            case Mode.QUERY:
                return self.as_query(section.root)
            case Mode.WHOLE:
                return self._whole(section.root)
            case mode if mode.makes_parts:
                return self._from_parts(section.root, task_runner_for(mode))
            case Mode.EXCHANGED:
                return self._exchanged(section.root)
            case Mode.JOINED:
                return self._joined(section.root)
            case Mode.EXCHANGED_BY_TASKS:
                return self._exchanged_by_tasks(section.root)
            case Mode.FIRST_ROWS:
                return self._first_rows(section.root)
        root, placement = section.root, section.placement or placement_of(section.root)
        if section.mode.is_over_ranges:
            return self.by_ranges(root, placement, task_runner_for(section.mode))
        self.log.append(f"driver: {root.operator_type} over {placement.rows_to_run} rows")
        return self.on_driver(root, placement)

    def keep(self, rows: Chunk | ChunkedRows, node: PlannerNode) -> PlannerNode:
        """A source of rows in memory: of these, or of the segments that they are written to where the user wants files."""
        if self.options.directory is not None:
            return write_in_memory(rows, node.schema, self.options, recorded_order(node))
        return PlannerNode(MemorySource.of(rows, node.schema, recorded_order(node)))

    @memory_for_batches()
    def on_driver(self, node: PlannerNode, placement: Placement, budgets: int = 1) -> PlannerNode:
        """A source of the rows of a section: in memory, or on disk where they turn out to be too large for that."""
        alone, rows = needs_one_batch(node), placement.rows_to_run
        runner = PipelineRunner(Pipeline.of(node), in_one_batch=alone, threads=local_threads())
        stream = runner.chunks(0, rows, True, rows) if alone else runner.stream(0, rows, config.batch_rows)
        chunks: list[Chunk] = []
        size = 0
        for chunk in stream:
            chunks.append(chunk)
            size += chunk.size
            if size > budgets * config.memory_budget:
                self.log.append(f"disk: {node.operator_type} has more than {config.memory_budget} bytes")
                return write_chunks(chain(drained(chunks), stream), node.schema, self.options, recorded_order(node))
        return self.keep(concatenate(chunks, node.schema), node)

    def by_ranges(self, node: PlannerNode, placement: Placement, workers: TaskRunner) -> PlannerNode:
        """A source of the rows of a section that are made range by range."""
        tasks = self.tasks_of(node, placement, workers := sequential_if_faster(node, workers))
        self.log.append(f"segments: {node.operator_type} in {len(tasks)} {name_of(workers)} over {placement.rows_to_run} rows")
        if self.options.directory is None and fits_driver(node, self.options.in_memory):
            parts = workers.run([partial(collect_rows, task) for task in tasks], f"computing {node.operator.called()}", tasks)
            return self.keep(concatenate([from_stream(part) for part in parts], node.schema), node)
        if self.options.directory is None and not workers.is_out_of_process:
            return self._buffered_or_written(node, workers, tasks)
        return self._written(node, workers, [partial(write_range, task) for task in tasks], tasks)

    def _written(self, node: PlannerNode, workers: TaskRunner, parts: Sequence[Writing], tasks: Sequence[RangeTask] = ()) -> PlannerNode:
        """A source of rows of which each part is written into a directory as the segment of a number."""
        with new_dataset(node.schema, self.options, recorded_order(node)) as dataset:
            workers.require_writable(dataset.directory)
            works = [partial(write, dataset.directory, number) for number, write in enumerate(parts)]
            manifest = dataset.publish(workers.run(works, f"materialising {node.operator.called()}", tasks))
        return segment_source(manifest, dataset.handle)

    def _buffered_or_written(self, node: PlannerNode, workers: TaskRunner, tasks: list[RangeTask]) -> PlannerNode:
        """A source of the rows of tasks that threads run: in memory, where all find room; written, those that did first, where they do not."""
        room = reservation_for_results()
        begun = workers.run([partial(partial_rows_of_task, task, room) for task in tasks], f"computing {node.operator.called()}", tasks)
        return self._keep_or_spill(node, workers, begun, room)

    def _keep_or_spill(self, node: PlannerNode, workers: TaskRunner, begun: Sequence[PartialRows], room: MemoryReservation) -> PlannerNode:
        if not room.is_full:
            return self.keep(rows_as_produced(begun, node.schema), node)
        self.log.append(f"disk: the rows of {node.operator_type} find no room beside others in memory")
        return self._written(node, workers, [partial(part.write, node.schema) for part in begun])

    def by_source(self, node: PlannerNode) -> PlannerNode:
        """A source of the rows of one that decodes them, written by threads of this process before a Spark has even started."""
        self.log.append(f"threads: {node.operator_type} over {node.length.known_rows} rows")
        with new_dataset(node.schema, self.options, recorded_order(node)) as dataset:
            manifest = dataset.publish(source_of(node).write_segments(dataset.directory))
        return segment_source(manifest, dataset.handle)

    def tasks_of(self, node: PlannerNode, placement: Placement, workers: TaskRunner) -> list[RangeTask]:
        """Tasks that together make the rows of a section; what they read of memory elsewhere is stored first."""
        if workers.is_out_of_process:
            require_owned(node, self.owned)
            node = with_stored_tables(node, workers.is_on_this_machine)
        tasks = range_tasks(node, placement.rows_to_run, self.options.segments, workers)
        self.tasks = len(tasks)
        return tasks

    def as_query(self, node: PlannerNode) -> PlannerNode:
        """A source of the rows of a Spark query."""
        if self.options.naive:
            return self.keep(query.collect(node), node)
        require_owned(node, self.owned)
        self.log.append(f"query: {node.operator_type}")
        node = with_stored_tables(node)
        if self.options.directory is None and fits_driver(node, self.options.in_memory):
            return self.keep(query.collect(node), node)
        if self._may_be_few_groups(node):
            chunk = query.collect_few(node, self.options.in_memory)
            if chunk is not None:
                return self.keep(chunk, node)
        return write_query(node, self.options)

    def _may_be_few_groups(self, node: PlannerNode) -> bool:
        """True for groups that fit the driver's memory if they are few, and probably are."""
        keys = node.operator.group_keys
        if keys is None or self.options.directory is not None or not rows_fit(node, self.options.in_memory):
            return False
        return has_few_groups(node.inputs[0], keys)

    def _whole(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Rows that a kernel makes of all rows of its input at once; the input alone where it takes too much memory for that."""
        below = node.inputs[0]
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None))
        in_memory = isinstance(below.operator, MemorySource)
        source = below if in_memory else inner.on_driver(below, placement_of(below), BUDGETS_AT_HAND)
        if not isinstance(source.operator, MemorySource):
            return ReplanNeeded(node.with_inputs([source]))
        self.log.append(f"driver: {node.operator_type} over {source.length.known_rows} rows")
        rows = node.operator.kernel([source.operator.read_all()], [below.facts])
        return self.keep(require_inferred(node.operator, (), rows, node.schema), node)

    def _gathered(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Rows that a kernel makes of all rows of its input, which threads make; nothing where these turn out to take too much memory."""
        below, placement, workers = node.inputs[0], placement_of(node.inputs[0]), ThreadRunner()
        tasks = self.tasks_of(below, placement, workers)
        self.log.append(f"gathered: {node.operator_type} over {placement.rows_to_run} rows in {len(tasks)} {name_of(workers)}")
        room = MemoryReservation(bytes_gathered())
        begun = workers.run([partial(partial_rows_of_task, task, room) for task in tasks], f"computing {node.operator.called()}", tasks)
        if room.is_full:
            self.log.append(f"no room: the rows that {node.operator_type} reads take more memory than they may")
            return ReplanNeeded(node)
        rows = in_one_chunk(begun, below.schema)
        made = require_inferred(node.operator, (), node.operator.kernel([rows], [below.facts]), node.schema)
        del rows
        fits = made.rows <= self.options.in_memory and made.size <= config.memory_budget
        if self.options.directory is None and (fits or may_stay()):
            return self.keep(made, node)
        return write_in_memory(made, node.schema, self.options, recorded_order(node))

    def _exchanged(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Rows that a kernel makes of each range of a column's values, whose rows threads exchange; nothing where one range takes too much memory."""
        below, placement, workers = node.inputs[0], placement_of(node.inputs[0]), ThreadRunner()
        tasks = self.tasks_of(below, placement, workers)
        ranges = key_ranges_of(node)
        with exchange_below(node, ranges) as exchange:
            works = [partial(give_to, exchange, number, task) for number, task in enumerate(tasks)]
            workers.run(works, f"exchanging for {node.operator.called()}", tasks)
            self.spilled = exchange.written
            rows = f"{exchange.rows.sum()} rows, {exchange.written} bytes of them on disk"
            self.log.append(f"exchanged: {node.operator_type} over {rows}, in {ranges.count} ranges of their keys")
            try:
                found = rows_by_ranges(node, exchange, ranges)
            except MemoryReservationError:
                self.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than they may")
                return ReplanNeeded(node)
            return self._of_exchanged(node, found)

    def _joined(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Rows of a join of pieces that threads cut both sides into; nothing where one piece takes too much memory."""
        tasks = [self.tasks_of(side, placement_of(side), ThreadRunner()) for side in node.inputs]
        self.tasks = sum(map(len, tasks))
        with PartitionedJoin.of(node) as joined:
            for slot, of_side in enumerate(tasks):
                joined.give(slot, of_side)
            try:
                found = joined.rows_in_order()
            except MemoryReservationError:
                self.spilled = joined.written
                self.log.append(f"no room: the rows of one piece of {node.operator_type} take more memory than they may")
                return ReplanNeeded(node)
            self.log.append(f"joined: {node.operator_type} in {joined.count} pieces, {joined.written} bytes of rows on disk")
            made, self.spilled = self._of_exchanged(node, found), joined.written  # ranges that got too long are exchanged again meanwhile
            return made

    def _exchanged_by_tasks(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """The same, in Spark's tasks; nothing where these do not share files with this process, or the rows of one range take too much memory."""
        workers, weight = SparkTaskRunner(), plan_size_of(node.inputs[0], UNKNOWN_BYTES)
        assert weight is not None
        handle = temporary_store().new_dataset()
        try:
            if not is_shared_with(workers, handle.directory):
                self.log.append(f"not shared: Spark exchanges the rows of {node.operator_type}")
                return ReplanNeeded(node)
            # The sample is not sent all keys of a large table in memory, but reads them where the tasks do.
            node = node.with_inputs([with_stored_tables(node.inputs[0])])
            tasks, least = self.tasks_of(node.inputs[0], placement_of(node.inputs[0]), workers), ranges_of_tasks(weight)
            # Nobody knew how many tasks there would be. A range for each core is no more than quicker.
            most = MAX_EXCHANGE_RUNS // len(tasks)
            if least > most:
                self.log.append(f"too many: {len(tasks)} tasks would give rows of {node.operator_type} to {least} ranges each")
                return ReplanNeeded(node)
            ranges = key_ranges_of(node, max(least, min(most, workers.parallelism())), workers)
            given = run_exchange_tasks(tasks, node.operator, ranges, workers, handle.directory)
            self.spilled = sum(chunk.size for of_task in given for _, chunk in of_task.chunks)
            temporary_store().usage.count(handle, self.spilled)
            self.log.append(f"exchanged by tasks: {node.operator_type}, {self.spilled} bytes on disk, in {ranges.count} ranges of their keys")
            passed = passed_on(node.operator, ranges)
            if np.sum([of_task.sizes for of_task in given], axis=0).max(initial=0, where=~passed) > MAX_BYTES_OF_TASKS_RANGE:
                self.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than a task may")
                return ReplanNeeded(node)
            found, count = ranges_of_outputs(given, passed), self.options.segments or config.default_segments
            parts = split_evenly(np.array([part.rows for part in found]), count) if count else [range(n, n + 1) for n in range(len(found))]
            write = partial(write_ranges, node.operator, node.inputs[0].facts, node.schema)
            return self._written(node, workers, [partial(write, found[part.start : part.stop]) for part in parts])
        finally:
            handle.discard()

    def _of_exchanged(self, node: PlannerNode, rows: ExchangedRows) -> PlannerNode:
        works = rows.works(self.options.segments or config.default_segments or TASKS_PER_THREAD * local_threads())
        if self.options.directory is not None:
            return self._written(node, ThreadRunner(), [partial(PartialRows([], rows.made(numbers)).write, node.schema) for numbers in works])
        room = reservation_for_results()
        begun = ThreadRunner().run([partial(rows.begun, numbers, room) for numbers in works], f"computing {node.operator.called()}")
        return self._keep_or_spill(node, ThreadRunner(), begun, room)

    def _from_parts(self, node: PlannerNode, workers: TaskRunner) -> PlannerNode | ReplanNeeded:
        """Rows that follow from a part that each task makes of its range of the input; nothing where the parts turn out to be large."""
        below, operator = node.inputs[0], node.operator
        assert isinstance(operator, DecomposableOperator)
        numbered = numbered_rows(node)
        if numbered is not None:
            return self._read_late(node, numbered, workers)
        placement = placement_of(below)
        tasks = self.tasks_of(below, placement, workers)
        self.log.append(f"parts: {node.operator_type} in {len(tasks)} {name_of(workers)} over {placement.rows_to_run} rows")
        max_bytes = max(MIN_PART_BYTES, min(PARTS_BYTES, work_memory() // COPIES_OF_PARTS))
        most = max(max_bytes // len(tasks), min(MIN_PART_BYTES, SENT_PARTS_BYTES // len(tasks)))
        early_stop = EarlyStop()
        works = [partial(part_of_range, task, operator, [below.facts], most, early_stop) for task in tasks]
        part = combined_parts(operator, workers.run(works, f"computing {node.operator.called()}", tasks), [below.facts], max_bytes)
        if part is TOO_LARGE:
            self.log.append(f"too many: {node.operator_type} has more groups than are put together here")
            return ReplanNeeded(node)
        return self.keep(require_inferred(operator, (), operator.rows_from(part, [below.facts]), node.schema), node)

    def _read_late(self, node: PlannerNode, numbered: NumberedRows, workers: TaskRunner) -> PlannerNode | ReplanNeeded:
        """Rows that were chosen by their numbers."""
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None))
        found = inner._from_parts(numbered.top, workers)
        self.tasks = inner.tasks
        if isinstance(found, ReplanNeeded):
            return ReplanNeeded(node)
        self.log.append(f"driver: {found.length.known_rows} rows of {numbered.source.operator_type} by number")
        return self.keep(require_inferred(node.operator, (), numbered.rows(found), node.schema), node)

    def _first_rows(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """The first rows, or few rows of a join, without computing the others; nothing where a bounded look does not give them."""
        below, taken = node.inputs[0], node.operator.row_range
        assert taken is not None
        base_rows = placement_of(below).rows_to_run
        stop = below.length.known_rows if taken.stop is None else taken.stop
        chunk = first_rows(below, base_rows, stop)
        if chunk is not None:
            self.log.append(f"driver: the first {stop} rows of {below.operator_type}")
            return self._keep_slice(node.operator.kernel([chunk], [below.facts]), node)
        if takes_few_of_join(taken, below, stop):
            chunk = joined_rows(below, base_rows, taken.start, stop)
        if chunk is None:
            return ReplanNeeded(node)
        self.log.append(f"driver: the rows {taken.start} to {stop} of {below.operator_type}")
        return self._keep_slice(every(chunk, taken.step), node)

    def _keep_slice(self, rows: Chunk, node: PlannerNode) -> PlannerNode:
        if self.options.directory is not None:
            return self.keep(rows, node)
        return PlannerNode(MemorySource.of(rows, node.schema))


def run_exchange_tasks(
    tasks: Sequence[RangeTask], operator: Operator, ranges: RangePartitioner, workers: TaskRunner, directory: str
) -> list[TaskOutput]:
    """What tasks have written of the rows below a kernel."""
    assert operator.split_by is not None
    works = [partial(write_exchange_rows, task, number, operator.split_by[0], ranges, directory) for number, task in enumerate(tasks)]
    return workers.run(works, f"exchanging for {operator.name}", tasks)


def is_shared_with(workers: TaskRunner, directory: str) -> bool:
    """True where those who work elsewhere can exchange files in a directory of this process."""
    if is_remote(get_session()) or not reads_our_files(get_session()):
        return False
    try:
        workers.require_writable(directory)
    except NotSharedError:
        return False
    return True


def task_runner_for(mode: Mode) -> TaskRunner:
    """Those who work on the ranges of a section."""
    if mode in (Mode.THREADS, Mode.PARTS_OF_THREADS):
        return ThreadRunner()
    if mode in (Mode.IN_TURN, Mode.PARTS_IN_TURN):
        return InProcessRunner()
    return ProcessRunner() if mode in (Mode.PROCESSES, Mode.PARTS_OF_PROCESSES) else SparkTaskRunner()


def every(rows: Chunk, step: int) -> Chunk:
    """Every so many-th of some rows."""
    return rows if step == 1 else rows.rows_at(np.arange(0, rows.rows, step))


# The executor: runs the sections of a physical plan, one after the other, until its rows are one source.

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
        ``id`` of the memos of those applications of users' functions that may run in Spark tasks (see :mod:`sframe_spark.engine.execution.actions`).
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
    run_log: RunLog = attrs.Factory(RunLog)
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
            known = {id(planner.section_origins[key].node): (planner.section_origins[key], result) for key, result in results.items()}
            root = fold([root], partial(over_known, known))[id(root)]

    def with_full_sorts_if_needed(self, run: Callable[[PlannerNode], Result], root: PlannerNode) -> Result:
        """A run of the plan; with all rows sorted by Spark where it turns out that too many rows tie."""
        with GRAPH_LOCK:
            # Nodes of users' graphs that no law has changed are part of the plan, and others may splice them meanwhile.
            plan = private_copy(root)
        with rechecking_after_failure(plan, self.options.directory):
            begun = self.run_log.mark()
            try:
                result = run(plan)
            except RunTooLongError as error:
                self.run_log.give_up(begun)
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
        if any(map(needs_spark, sections[1:])) and not any(not_owned(each.root, self.owned) for each in sections if each.mode.is_remote_location):
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
        section.number = section.number or self.run_log.next_number(self.prefix)
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
        if isinstance(result, ReplanNeeded):
            return self._run_alone(self._planned_again(section, result.root, section.refused | {section.mode}))
        return result

    def run_as_planned(self, section: Section) -> PlannerNode | ReplanNeeded:
        """A source of the rows of a section that reads no others, or what is left to be planned."""
        began = time.perf_counter()
        runs = self.runs()
        with (self.options.measure or nothing_measured)() as work, counting_queries() as counted:
            result = runs.run(section)
        outcome = outcome_of(section, result, time.perf_counter() - began)
        outcome.tasks, outcome.spilled = work.tasks if runs.tasks is None else runs.tasks, work.spilled if runs.spilled is None else runs.spilled
        outcome.queries = counted.queries or None
        self.run_log.outcomes.append(outcome)
        return result

    def runs(self) -> SectionRunner:
        """How sections over sources run."""
        return SectionRunner(self.options, self.log, self.owned)

    def _save(self, planned: Section) -> PlannerNode:
        self._start_for(planned)
        section = self.ready(planned)
        if section.mode is not Mode.DONE:
            return self._run_alone(section)
        source, placement = section.root, placement_of(section.root)
        runs, workers = self.runs(), task_runner_for(over_ranges(source))
        if isinstance(source.operator, MemorySource):
            return runs.keep(source.operator.held, source)
        if source.operator.decodes and not is_small(source) and not is_started():
            return runs.by_source(source)
        return runs.on_driver(source, placement) if is_small(source) or streams_faster_locally(source) else runs.by_ranges(source, placement, workers)

    def _fit_for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """The plan as a Spark query over sources."""
        node, _ = SectionPlanner(self.free).plan_for_query(root)
        waiting = sections_in(node)
        if not waiting:
            return node, placement_of(node)
        return self._fit_for_query(with_results(node, self._results_of(waiting)))


def over_known(known: dict[int, tuple[SectionOrigin, PlannerNode]], node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
    """A node over other inputs, or what it becomes of the rows that are known, by its ``id``."""
    if id(node) not in known:
        return node.with_inputs(inputs)
    section_origins, rows = known[id(node)]
    return section_origins.over(inputs, rows)


def with_results(root: PlannerNode, results: dict[int, PlannerNode]) -> PlannerNode:
    """A part of a plan over the rows of the sections that it reads."""
    if not results:
        return root
    return rebuild(root, lambda node: results[id(node.operator.section)] if isinstance(node.operator, SectionResult) else node)


def nothing_measured() -> AbstractContextManager[Work]:
    """A block of which nobody asks what Spark does in it."""
    return nullcontext(Work())


def outcome_of(section: Section, result: PlannerNode | ReplanNeeded, seconds: float) -> SectionOutcome:
    """What became of a section."""
    operators = tuple(node.operator_type for node in postorder([section.root]))
    outcome = SectionOutcome(section.number, section.mode, operators, section.reads, section.reason, seconds, instead_of=section.planned)
    if isinstance(result, ReplanNeeded):
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
