"""Execution of physical plans: how a section is run in each mode, and the executor of a plan, which runs its sections in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import TypeVar

import attrs
import numpy as np

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.action_planning_and_function_call_claims import not_owned, require_owned
from sframe_spark.engine.execution.partitioned_operators import (
    PartitionedJoin,
    PartitionedResult,
    key_ranges_of,
    partitioner_of,
    passed_on,
    rows_by_ranges,
    split_evenly,
)
from sframe_spark.engine.execution.run_log import RunLog, SectionOutcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions, Work
from sframe_spark.engine.physical.join_match_first_row_and_group_probes import first_rows, has_few_groups, joined_rows, with_all_counted
from sframe_spark.engine.physical.late_materialization import NumberedRows, numbered_rows
from sframe_spark.engine.physical.physical_planner import SectionOrigin, SectionPlanner, as_one_query, needs_spark, over_ranges, takes_few_of_join
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, is_small, placement_of, streams_faster_locally
from sframe_spark.engine.physical.section_tree_and_run_modes import THE_RESULT, Mode, Section, SectionResult, in_order_of_running, sections_in
from sframe_spark.engine.physical.udf_planning import needs_one_batch
from sframe_spark.engine.physical.whole_input_strategies import bytes_gathered, ranges_of_tasks
from sframe_spark.engine.runtime.division_into_row_ranges import range_tasks, sequential_if_faster
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads, require_inferred
from sframe_spark.engine.runtime.result_storage import (
    PartialRows,
    in_one_chunk,
    may_stay,
    new_dataset,
    partial_rows,
    reservation_for_results,
    rows_as_produced,
    with_stored_tables,
    write_chunks,
    write_in_memory,
    write_query,
)
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import (
    EarlyStop,
    RangeTask,
    chunks_of,
    collect_rows,
    combined_parts,
    part_of_range,
    write_range,
)
from sframe_spark.engine.runtime.shuffle_store import OperatorKernel, ShuffleFiles, ShuffleStore, write_results
from sframe_spark.engine.runtime.task_runners import InProcessRunner, ProcessRunner, SparkTaskRunner, TaskRunner, ThreadRunner, name_of
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation, fits_driver, plan_size_of, rows_fit
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.query import counting_queries
from sframe_spark.engine.spark.shared_file_and_row_count_checks import rechecking_after_failure
from sframe_spark.errors import MemoryReservationError, NotSharedError, RunTooLongError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, recorded_order, segment_source, source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, ChunkedRows, concatenate, drained, from_stream
from sframe_spark.planner.graph_traversal import fold, postorder, private_copy, rebuild
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator
from sframe_spark.planner.operator_capabilities import range_split_of
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.process.memory import memory_for_batches, work_memory
from sframe_spark.rewrite_laws.sort_elimination import full_sort
from sframe_spark.session import get_session, is_remote, is_started, start_ahead
from sframe_spark.session.spark_locality import reads_our_files
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.storage.manifest.manifest import SegmentEntry

# A function that writes rows to a directory as the segment of a given number.
Writing = Callable[[str, int], SegmentEntry]


@attrs.frozen(eq=False)
class ReplanNeeded:
    """The result of a section that could not run in its mode; ``root`` is what remains to be planned again, over the rows that have been computed."""

    root: PlannerNode


@attrs.define(eq=False)
class SectionRunner:
    """Runs sections whose inputs are sources.

    Parameters
    ----------
    options, log, owned
        As in :class:`Executor`.
    tasks
        How many tasks computed the rows; None if there were no tasks, or if a Spark query computed them.
    spilled
        How many bytes were written to disk to exchange rows; None if no rows were exchanged by threads or tasks.
    """

    options: MaterializeOptions
    log: list[str]
    owned: frozenset[int]
    tasks: int | None = None
    spilled: int | None = None

    def run(self, section: Section) -> PlannerNode | ReplanNeeded:
        """Run a section and return a source of its rows, or what is to be planned again."""
        if section.mode is Mode.GATHERED:
            # The allocator setting for batches does not suit arrays of all rows.
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
        """Return a source of rows: in memory, or written as segments if the options name a directory."""
        if self.options.directory is not None:
            return write_in_memory(rows, node.schema, self.options, recorded_order(node))
        return PlannerNode(MemorySource.of(rows, node.schema, recorded_order(node)))

    @memory_for_batches()
    def on_driver(self, node: PlannerNode, placement: Placement, budgets: int = 1) -> PlannerNode:
        """Run a section in this process and return a source of its rows: in memory, or on disk if they exceed the memory budget."""
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
        """Run a section as tasks over row ranges and return a source of its rows."""
        tasks = self.tasks_of(node, placement, workers := sequential_if_faster(node, workers))
        self.log.append(f"segments: {node.operator_type} in {len(tasks)} {name_of(workers)} over {placement.rows_to_run} rows")
        if self.options.directory is None and fits_driver(node, self.options.in_memory):
            parts = workers.run([partial(collect_rows, task) for task in tasks], f"computing {node.operator.called()}", tasks)
            return self.keep(concatenate([from_stream(part) for part in parts], node.schema), node)
        if self.options.directory is not None or workers.is_out_of_process:
            return self._written(node, workers, [partial(write_range, task) for task in tasks], tasks)
        reservation = reservation_for_results()
        callables = [partial(partial_rows, chunks_of(task), reservation) for task in tasks]
        return self._keep_or_spill(node, workers, workers.run(callables, f"computing {node.operator.called()}", tasks), reservation)

    def _written(self, node: PlannerNode, workers: TaskRunner, parts: Sequence[Writing], tasks: Sequence[RangeTask] = ()) -> PlannerNode:
        """Run functions that write one segment each, and return a source of the segments."""
        with new_dataset(node.schema, self.options, recorded_order(node)) as dataset:
            workers.require_writable(dataset.directory)
            callables = [partial(write, dataset.directory, number) for number, write in enumerate(parts)]
            manifest = dataset.publish(workers.run(callables, f"materialising {node.operator.called()}", tasks))
        return segment_source(manifest, dataset.handle)

    def _keep_or_spill(self, node: PlannerNode, workers: TaskRunner, produced: Sequence[PartialRows], reservation: MemoryReservation) -> PlannerNode:
        """Return a source of rows that threads have computed: in memory if all rows fit, else of segments."""
        if not reservation.is_full:
            return self.keep(rows_as_produced(produced, node.schema), node)
        self.log.append(f"disk: the rows of {node.operator_type} find no room beside others in memory")
        return self._written(node, workers, [partial(part.write, node.schema) for part in produced])

    def by_source(self, node: PlannerNode) -> PlannerNode:
        """Write the rows of a source that decodes them in Python as segments, in threads of this process; return a source of the segments."""
        self.log.append(f"threads: {node.operator_type} over {node.length.known_rows} rows")
        with new_dataset(node.schema, self.options, recorded_order(node)) as dataset:
            manifest = dataset.publish(source_of(node).write_segments(dataset.directory))
        return segment_source(manifest, dataset.handle)

    def tasks_of(self, node: PlannerNode, placement: Placement, workers: TaskRunner) -> list[RangeTask]:
        """Divide a section into tasks. If they run in other processes, large tables in memory are written to files first."""
        if workers.is_out_of_process:
            require_owned(node, self.owned)
            node = with_stored_tables(node, workers.is_on_this_machine)
        tasks = range_tasks(node, placement.rows_to_run, self.options.segments, workers)
        self.tasks = len(tasks)
        return tasks

    def as_query(self, node: PlannerNode) -> PlannerNode:
        """Run a Spark query and return a source of its rows."""
        if self.options.naive:
            return self.keep(query.collect(node), node)
        require_owned(node, self.owned)
        self.log.append(f"query: {node.operator_type}")
        node = with_stored_tables(node)
        if self.options.directory is not None:
            return write_query(node, self.options)
        if fits_driver(node, self.options.in_memory):
            return self.keep(query.collect(node), node)
        keys = node.operator.group_keys
        if keys is not None and rows_fit(node, self.options.in_memory) and has_few_groups(node.inputs[0], keys):
            chunk = query.collect_few(node, self.options.in_memory)
            if chunk is not None:
                return self.keep(chunk, node)
        return write_query(node, self.options)

    def _whole(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Run a kernel on all rows of its input at once. If these do not fit in memory, return the node over the stored rows, to be planned again."""
        below = node.inputs[0]
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None))
        in_memory = isinstance(below.operator, MemorySource)
        source = below if in_memory else inner.on_driver(below, placement_of(below), costs.BUDGETS_AT_HAND)
        if not isinstance(source.operator, MemorySource):
            return ReplanNeeded(node.with_inputs([source]))
        self.log.append(f"driver: {node.operator_type} over {source.length.known_rows} rows")
        rows = node.operator.kernel([source.operator.read_all()], [below.facts])
        return self.keep(require_inferred(node.operator, (), rows, node.schema), node)

    def _gathered(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Run a kernel on all rows of its input, computed by threads. If these do not fit in memory, return the node to be planned again."""
        below, placement, workers = node.inputs[0], placement_of(node.inputs[0]), ThreadRunner()
        tasks = self.tasks_of(below, placement, workers)
        self.log.append(f"gathered: {node.operator_type} over {placement.rows_to_run} rows in {len(tasks)} {name_of(workers)}")
        reservation = MemoryReservation(bytes_gathered())
        produced = workers.run([partial(partial_rows, chunks_of(task), reservation) for task in tasks], f"computing {node.operator.called()}", tasks)
        if reservation.is_full:
            self.log.append(f"no room: the rows that {node.operator_type} reads take more memory than they may")
            return ReplanNeeded(node)
        rows = in_one_chunk(produced, below.schema)
        result = require_inferred(node.operator, (), node.operator.kernel([rows], [below.facts]), node.schema)
        del rows
        fits = result.rows <= self.options.in_memory and result.size <= config.memory_budget
        if self.options.directory is None and (fits or may_stay()):
            return self.keep(result, node)
        return write_in_memory(result, node.schema, self.options, recorded_order(node))

    def _exchanged(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Run a kernel on each range of a column's values, after threads have exchanged the rows.

        If a range does not fit in memory, return the node to be planned again.
        """
        below, placement, workers = node.inputs[0], placement_of(node.inputs[0]), ThreadRunner()
        tasks = self.tasks_of(below, placement, workers)
        ranges = key_ranges_of(node)
        with ShuffleStore(partitioner_of(node, ranges), below.schema, bytes_gathered()) as store:
            store.fill(workers, tasks, f"exchanging for {node.operator.called()}")
            self.spilled = store.written
            rows = f"{store.rows.sum()} rows, {store.written} bytes of them on disk"
            self.log.append(f"exchanged: {node.operator_type} over {rows}, in {ranges.count} ranges of their keys")
            try:
                result = rows_by_ranges(node, store, ranges)
            except MemoryReservationError:
                self.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than they may")
                return ReplanNeeded(node)
            return self._from_partitions(node, result)

    def _joined(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Join hash partitions of both sides in threads. If a partition does not fit in memory, return the node to be planned again."""
        tasks = [self.tasks_of(side, placement_of(side), ThreadRunner()) for side in node.inputs]
        self.tasks = sum(map(len, tasks))
        with PartitionedJoin.of(node) as joined:
            for slot, tasks_of_side in enumerate(tasks):
                joined.fill(slot, tasks_of_side)
            try:
                rows = joined.rows_in_order()
            except MemoryReservationError:
                self.spilled = joined.written
                self.log.append(f"no room: the rows of one piece of {node.operator_type} take more memory than they may")
                return ReplanNeeded(node)
            self.log.append(f"joined: {node.operator_type} in {joined.count} pieces, {joined.written} bytes of rows on disk")
            result = self._from_partitions(node, rows)
            # Read afterwards, as ranges that turned out too large have been shuffled again.
            self.spilled = joined.written
            return result

    def _exchanged_by_tasks(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Run a kernel on each range of a column's values, after Spark tasks have exchanged the rows.

        Return the node to be planned again if tasks and this process share no files, there would be too many files, or a range is too large for a
        task.
        """
        workers, plan_size = SparkTaskRunner(), plan_size_of(node.inputs[0], costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH)
        assert plan_size is not None
        with ShuffleFiles(temporary_store) as files:
            if not is_shared_with(workers, files.directory):
                self.log.append(f"not shared: Spark exchanges the rows of {node.operator_type}")
                return ReplanNeeded(node)
            # A large table in memory is written to files first, so that the tasks that sample the keys can read it, too.
            node = node.with_inputs([below := with_stored_tables(node.inputs[0])])
            tasks, least = self.tasks_of(below, placement_of(below), workers), ranges_of_tasks(plan_size)
            # The number of tasks was not known when the section was planned. The least number of ranges is needed; one range for each core is only
            # desirable.
            most = costs.MAX_TASKS_TIMES_RANGES // len(tasks)
            if least > most:
                self.log.append(f"too many: {len(tasks)} tasks would give rows of {node.operator_type} to {least} ranges each")
                return ReplanNeeded(node)
            ranges = key_ranges_of(node, max(least, min(most, workers.parallelism())), workers)
            store = ShuffleStore(partitioner_of(node, ranges), below.schema, costs.BYTES_BUFFERED_BY_SHUFFLE_TASK, files)
            store.fill(workers, tasks, f"exchanging for {node.operator.name}")
            self.spilled = store.written
            self.log.append(f"exchanged by tasks: {node.operator_type}, {self.spilled} bytes on disk, in {ranges.count} ranges of their keys")
            split = range_split_of(node.operator)
            assert split is not None
            passed = passed_on(split, ranges)
            if store.sizes.max(initial=0, where=~passed) > costs.MAX_BYTES_OF_RANGE_OF_TASK:
                self.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than a task may")
                return ReplanNeeded(node)
            count = self.options.segments or config.default_segments
            parts = split_evenly(store.rows, count) if count else [range(number, number + 1) for number in range(ranges.count)]
            write = partial(write_results, OperatorKernel(node.operator, below.facts, node.schema))
            return self._written(node, workers, [partial(write, [(store.partition(n), bool(passed[n])) for n in part]) for part in parts])

    def _from_partitions(self, node: PlannerNode, rows: PartitionedResult) -> PlannerNode:
        groups = rows.groups(self.options.segments or config.default_segments or costs.TASKS_OF_THREAD_AFTER_SHUFFLE * local_threads())
        if self.options.directory is not None:
            return self._written(node, ThreadRunner(), [partial(PartialRows([], rows.chunks(numbers)).write, node.schema) for numbers in groups])
        reservation = reservation_for_results()
        callables = [partial(partial_rows, rows.chunks(numbers), reservation) for numbers in groups]
        produced = ThreadRunner().run(callables, f"computing {node.operator.called()}")
        return self._keep_or_spill(node, ThreadRunner(), produced, reservation)

    def _from_parts(self, node: PlannerNode, workers: TaskRunner) -> PlannerNode | ReplanNeeded:
        """Merge the partial states of row ranges, computed by tasks, into the result.

        If the states are too large, return the node to be planned again.
        """
        below, operator = node.inputs[0], node.operator
        assert isinstance(operator, DecomposableOperator)
        numbered = numbered_rows(node)
        if numbered is not None:
            return self._read_late(node, numbered, workers)
        placement = placement_of(below)
        tasks = self.tasks_of(below, placement, workers)
        self.log.append(f"parts: {node.operator_type} in {len(tasks)} {name_of(workers)} over {placement.rows_to_run} rows")
        max_bytes = max(costs.MIN_BYTES_OF_PARTIAL_STATE, min(costs.MAX_BYTES_OF_PARTIAL_STATES, work_memory() // costs.COPIES_OF_PARTIAL_STATES))
        most = max(max_bytes // len(tasks), min(costs.MIN_BYTES_OF_PARTIAL_STATE, costs.MAX_BYTES_OF_PARTIAL_STATES_SENT // len(tasks)))
        early_stop = EarlyStop()
        callables = [partial(part_of_range, task, operator, [below.facts], most, early_stop) for task in tasks]
        part = combined_parts(operator, workers.run(callables, f"computing {node.operator.called()}", tasks), [below.facts], max_bytes)
        if part is TOO_LARGE:
            self.log.append(f"too many: {node.operator_type} has more groups than are put together here")
            return ReplanNeeded(node)
        return self.keep(require_inferred(operator, (), operator.rows_from(part, [below.facts]), node.schema), node)

    def _read_late(self, node: PlannerNode, numbered: NumberedRows, workers: TaskRunner) -> PlannerNode | ReplanNeeded:
        """Late materialization: read all columns of only those rows whose row ids the node has chosen."""
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None))
        top = inner._from_parts(numbered.top, workers)
        self.tasks = inner.tasks
        if isinstance(top, ReplanNeeded):
            return ReplanNeeded(node)
        self.log.append(f"driver: {top.length.known_rows} rows of {numbered.source.operator_type} by number")
        return self.keep(require_inferred(node.operator, (), numbered.rows(top), node.schema), node)

    def _first_rows(self, node: PlannerNode) -> PlannerNode | ReplanNeeded:
        """Compute first rows, or few rows of a join, without the other rows.

        If a bounded probe does not find them, return the node to be planned again.
        """
        below, row_range = node.inputs[0], node.operator.row_range
        assert row_range is not None
        base_rows = placement_of(below).rows_to_run
        stop = below.length.known_rows if row_range.stop is None else row_range.stop
        chunk = first_rows(below, base_rows, stop)
        if chunk is not None:
            self.log.append(f"driver: the first {stop} rows of {below.operator_type}")
            return self._keep_slice(node.operator.kernel([chunk], [below.facts]), node)
        if takes_few_of_join(row_range, below, stop):
            chunk = joined_rows(below, base_rows, row_range.start, stop)
        if chunk is None:
            return ReplanNeeded(node)
        self.log.append(f"driver: the rows {row_range.start} to {stop} of {below.operator_type}")
        rows = chunk if row_range.step == 1 else chunk.rows_at(np.arange(0, chunk.rows, row_range.step))
        return self._keep_slice(rows, node)

    def _keep_slice(self, rows: Chunk, node: PlannerNode) -> PlannerNode:
        if self.options.directory is not None:
            return self.keep(rows, node)
        return PlannerNode(MemorySource.of(rows, node.schema))


def is_shared_with(workers: TaskRunner, directory: str) -> bool:
    """Return whether Spark's tasks and this process see each other's files in a directory."""
    if is_remote(get_session()) or not reads_our_files(get_session()):
        return False
    try:
        workers.require_writable(directory)
    except NotSharedError:
        return False
    return True


def task_runner_for(mode: Mode) -> TaskRunner:
    """Return the task runner for the tasks of a mode."""
    if mode in (Mode.THREADS, Mode.PARTS_OF_THREADS):
        return ThreadRunner()
    if mode in (Mode.IN_TURN, Mode.PARTS_IN_TURN):
        return InProcessRunner()
    return ProcessRunner() if mode in (Mode.PROCESSES, Mode.PARTS_OF_PROCESSES) else SparkTaskRunner()


Result = TypeVar("Result")


@attrs.define(eq=False)
class Executor:
    """Executes one plan.

    Parameters
    ----------
    options
        Options of the materialisation.
    log
        Filled with one line for each section that ran: its mode, its operator and its number of rows.
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
    """

    options: MaterializeOptions
    log: list[str] = attrs.Factory(list)
    owned: frozenset[int] = frozenset()
    free: frozenset[int] = frozenset()
    run_log: RunLog = attrs.Factory(RunLog)
    prefix: str = ""

    def execute(self, root: PlannerNode) -> PlannerNode:
        """Compute ``root`` and return a source node of its rows."""
        return self.with_full_sorts_if_needed(lambda plan: self.run(self.plan(plan)), root)

    def save(self, root: PlannerNode) -> PlannerNode:
        """Write the rows to ``options.directory`` and return a source of them, even if they are stored in another directory already."""
        return self.with_full_sorts_if_needed(lambda plan: self._save(self.plan(plan)), root)

    def counted(self, root: PlannerNode) -> PlannerNode:
        """Run all sections but the last one, count the matches of joins whose number of rows is unknown, and return the plan of the last section."""
        return self.with_full_sorts_if_needed(lambda plan: with_all_counted(self.ready(self.plan(plan)).root), root)

    def for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """Return the plan as one Spark query, and its placement, after running the sections that cannot be part of a query."""
        node, placement = self.with_full_sorts_if_needed(self._fit_for_query, root)
        require_owned(node, self.owned)
        return with_stored_tables(node), placement

    def plan(self, root: PlannerNode, reason: str = THE_RESULT, refused: frozenset[Mode] = frozenset()) -> Section:
        """Return the last section of a plan, with those that it reads, after running sections whose rows decide how many rows a join has."""
        if self.options.naive:
            return as_one_query(root, reason)
        while True:
            planner = SectionPlanner(self.free, refused)
            section = planner.plan(root, reason)
            if not planner.waiting:
                return section
            results = self._results_of(planner.waiting)
            replaced = {id(planner.section_origins[key].node): (planner.section_origins[key], rows) for key, rows in results.items()}

            root = fold([root], partial(over_rows, replaced))[id(root)]

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
        is_replaced = any(not_owned(planned.root, self.owned) for planned in sections if planned.mode.runs_in_other_processes)
        if any(map(needs_spark, sections[1:])) and not is_replaced:
            start_ahead()

    def ready(self, section: Section) -> Section:
        """Run the sections that a section reads, and return it planned again over their results."""
        return self._decided(section, self._results_of(section.inputs))

    def _results_of(self, sections: Sequence[Section]) -> dict[int, PlannerNode]:
        """Run sections after the sections that they read; return sources of their rows by ``id`` of the sections."""
        if not sections:
            return {}
        inner = attrs.evolve(self, options=attrs.evolve(self.options, directory=None))
        results: dict[int, PlannerNode] = {}
        for section in in_order_of_running(sections):
            results[id(section)] = inner._run_alone(inner._decided(section, results))
        return results

    def _decided(self, section: Section, results: dict[int, PlannerNode]) -> Section:
        """Give a section its number, and return it planned again over the results that it reads, of which more is known now."""
        section.number = section.number or self.run_log.next_number(self.prefix)
        if not results:
            return section
        section.reads += tuple(below.number for below in section.inputs)
        root = with_results(section.root, results)
        return section if root is section.root else self._planned_again(section, root)

    def _planned_again(self, section: Section, root: PlannerNode, refused: frozenset[Mode] = frozenset()) -> Section:
        """Plan a section again, over results or without refused modes, and run the new sections that it reads."""
        inner = attrs.evolve(self, prefix=f"{section.number}.")
        again = inner.plan(root, section.reason, refused)
        results = inner._results_of(again.inputs)
        is_another = again.mode is not section.mode or bool(results)
        again.reads, again.refused = section.reads, refused
        again.number, again.planned = section.number, (section.planned or section.mode) if is_another else section.planned
        return inner._decided(again, results)

    def _run_alone(self, section: Section) -> PlannerNode:
        """Run a section that reads no other sections, planning it again in another mode as often as needed; return a source of its rows."""
        if section.mode is Mode.DONE:
            return section.root
        result = self.run_as_planned(section)
        if isinstance(result, ReplanNeeded):
            return self._run_alone(self._planned_again(section, result.root, section.refused | {section.mode}))
        return result

    def run_as_planned(self, section: Section) -> PlannerNode | ReplanNeeded:
        """Run a section in its mode and log the outcome."""
        began = time.perf_counter()
        runner = self.new_section_runner()
        measured = nullcontext(Work()) if self.options.measure is None else self.options.measure()
        with measured as work, counting_queries() as counted:
            result = runner.run(section)
        outcome = outcome_of(section, result, time.perf_counter() - began)
        outcome.tasks = work.tasks if runner.tasks is None else runner.tasks
        outcome.spilled = work.spilled if runner.spilled is None else runner.spilled
        outcome.queries = counted.queries or None
        self.run_log.outcomes.append(outcome)
        return result

    def new_section_runner(self) -> SectionRunner:
        """Return a new runner for sections."""
        return SectionRunner(self.options, self.log, self.owned)

    def _save(self, planned: Section) -> PlannerNode:
        self._start_for(planned)
        section = self.ready(planned)
        if section.mode is not Mode.DONE:
            return self._run_alone(section)
        source, placement = section.root, placement_of(section.root)
        runner, workers = self.new_section_runner(), task_runner_for(over_ranges(source))
        if isinstance(source.operator, MemorySource):
            return runner.keep(source.operator.held, source)
        if source.operator.source_kind is SourceKind.ENCODED_FILES and not is_small(source) and not is_started():
            return runner.by_source(source)
        return (
            runner.on_driver(source, placement)
            if is_small(source) or streams_faster_locally(source)
            else runner.by_ranges(source, placement, workers)
        )

    def _fit_for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """Return the plan as a Spark query over sources, and its placement."""
        node, _ = SectionPlanner(self.free).plan_for_query(root)
        waiting = sections_in(node)
        if not waiting:
            return node, placement_of(node)
        return self._fit_for_query(with_results(node, self._results_of(waiting)))


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
    outcome = SectionOutcome(section.number, section.mode, operators, section.reads, section.reason, seconds, instead_of=section.planned)
    if isinstance(result, ReplanNeeded):
        outcome.is_given_up = True
        return outcome
    source = source_of(result)
    outcome.rows, outcome.is_on_disk = result.length.rows, isinstance(source, SegmentSource)
    if isinstance(source, MemorySource):
        outcome.size = source.data.size
    elif isinstance(source, SegmentSource):
        sizes = [entry.size for entry in source.manifest.segments if entry.size is not None]
        outcome.size = sum(sizes) if len(sizes) == len(source.manifest.segments) else None
    return outcome
