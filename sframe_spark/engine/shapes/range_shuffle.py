"""Range shuffle: threads or Spark tasks exchange rows by ranges of a column's values, then the kernel runs once for each range, on all its rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import attrs
import numpy as np

from sframe_spark.compute.range_and_hash_partitioning import KINDS, RangePartitioner, RowRangePartitioner
from sframe_spark.engine import costs
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_for_threads, placement_of, runs_on_other_machines
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.result_storage import new_dataset, with_stored_tables
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.shuffle_by_messages import RowReceiving, RowSending, shuffled_by_messages
from sframe_spark.engine.runtime.shuffle_store import ShuffleFiles, ShuffleStore, write_results
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner, TaskRunner, ThreadRunner
from sframe_spark.engine.shapes.partitioned_operators import (
    from_partitions,
    key_ranges_and_sample_of,
    key_ranges_of,
    partitioner_of,
    passed_on,
    rows_by_ranges,
    split_evenly,
)
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart, bytes_gathered, ranges_for, runs_over_row_ranges
from sframe_spark.engine.shapes.sample import sample_for_ranges
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Strategy, Workers
from sframe_spark.engine.shapes.states_before_exchange import CrossingRows, crossing_rows
from sframe_spark.engine.shapes.whole import WHOLE
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize, plan_size_of
from sframe_spark.engine.spark.shared_file_and_row_count_checks import is_shared
from sframe_spark.errors import MemoryReservationError, NotSharedError
from sframe_spark.operators.sources.base_and_segment_source import recorded_order
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_capabilities import range_split_of
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store


@attrs.frozen
class RangeShuffleShape(Shape):
    """A kernel that needs all rows of its input, and may run on each range of a column's values separately."""

    name: ClassVar[str] = "range shuffle"
    takes_sample: ClassVar[bool] = True

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return threads if the rows do not fit in memory, or are so many that sorting them by ranges is faster.

        On a cluster, return Spark tasks if neither threads shuffle the rows nor this process can gather them.
        """
        if not part.is_without_ranges:
            return None
        plan_size = part.gathered_size
        if plan_size is not None and Strategy(self, Workers.THREADS) not in part.refused and is_worth_exchanging(part.root, plan_size, part.site):
            return Workers.THREADS
        # Asked before the other shape, as it answers at once where Spark uses no other machines.
        is_for_tasks = Strategy(self, Workers.SPARK_TASKS) not in part.refused and is_exchanged_by_tasks(part.root, part.site)
        return Workers.SPARK_TASKS if is_for_tasks and WHOLE.workers_for(part) is None else None

    def sample(self, section: Section) -> Section:
        """Return the section that reads a sample of the values by which rows are divided."""
        sample = sample_for_ranges(section.root, section.workers, costs.POSITIONS_OF_RANGE_SAMPLE)
        sample.is_alone = section.is_alone
        return sample

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if a range is too large."""
        return [Alternative.EXCHANGE if section.workers is Workers.THREADS else Alternative.EXCHANGE_OF_TASKS]

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Exchange the rows and run the kernel on each range."""
        return exchanged(runner, section.root) if section.workers is Workers.THREADS else exchanged_by_tasks(runner, section.root)


RANGE_SHUFFLE: Shape = RangeShuffleShape()


def is_worth_exchanging(root: PlannerNode, plan_size: PlanSize, site: Site) -> bool:
    """Return whether threads exchange the rows of a kernel's input. They must be able to compute the rows."""
    # If only first rows are required, finding them among all rows is faster than exchanging all rows.
    is_quicker = not needs_first_rows_only(root) and plan_size.rows >= costs.MIN_ROWS_SPLIT and site.threads > 1 and is_for_threads(root)
    return (is_quicker or plan_size.size > bytes_gathered(site)) and can_split(root) and ranges_for(plan_size, site) <= costs.MAX_RANGES


def is_exchanged_by_tasks(root: PlannerNode, site: Site) -> bool:
    """Return whether Spark tasks run a built-in kernel on each range of a column: only if Spark uses other machines.

    With very many rows, there would be too many chunks to read; Spark's own exchange merges them.
    """
    if not site.small_rows or len(root.inputs) != 1 or root.operator.whole_kernel is None:
        return False
    # If only first rows are required, each Spark task selects its first rows.
    if needs_first_rows_only(root):
        return False
    below = root.inputs[0]
    if not runs_on_other_machines(site) or not can_split(root) or not all(map(is_for_threads, postorder([root]))):
        return False
    plan_size = plan_size_of(below, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) if runs_over_row_ranges(below) else None
    if plan_size is None:
        return False
    return ranges_of_tasks(plan_size, site) * runs_of_tasks(plan_size.size, min_tasks(plan_size.size, site)) <= costs.MAX_RUNS_OF_SHUFFLE


def min_tasks(size: float, site: Site) -> int:
    """Return the minimum number of tasks that pass rows of the given size to a shuffle."""
    return site.default_segments or 1 + int(size // costs.MAX_BYTES_OF_TASK)


def runs_of_tasks(size: float, tasks: int) -> int:
    """Return the most runs that tasks write, or send, for each range: one of each task, and one whenever the buffer of a task is full."""
    return tasks + int(size // costs.BYTES_BUFFERED_BY_SHUFFLE_TASK)


def tasks_for(size: float, ranges: int) -> int:
    """Return the maximum number of tasks that may pass rows of the given size to the given number of ranges."""
    return costs.MAX_RUNS_OF_SHUFFLE // ranges - int(size // costs.BYTES_BUFFERED_BY_SHUFFLE_TASK)


def ranges_of_tasks(plan_size: PlanSize, site: Site) -> int:
    """Return the number of ranges for Spark tasks: a range has about as many rows as a segment, or fewer if rows are long."""
    return 1 + int(max(plan_size.size // costs.BYTES_OF_RANGE_OF_TASK, plan_size.rows // site.segment_rows))


def can_split(root: PlannerNode) -> bool:
    """Return whether a kernel can run on each range of a column's values separately."""
    split = range_split_of(root.operator)
    return split is not None and root.inputs[0].schema[split.column].kind in KINDS


def needs_first_rows_only(root: PlannerNode) -> bool:
    """Return whether only the first rows of a kernel's output are required."""
    split = range_split_of(root.operator)
    return split is not None and split.first_rows is not None


def exchanged(runner: SectionRunner, node: PlannerNode) -> PlannerNode | ReplanNeeded:
    """Run a kernel on each range of a column's values, after threads have exchanged the rows.

    If a range does not fit in memory, return the node to be planned again.
    """
    below, placement, workers = node.inputs[0], placement_of(node.inputs[0]), ThreadRunner()
    tasks = runner.tasks_of(below, placement, workers)
    ranges = key_ranges_of(runner, node)
    with ShuffleStore(partitioner_of(node, ranges), below.schema, bytes_gathered(runner.site)) as store:
        store.fill(workers, tasks, f"exchanging for {node.operator.called()}")
        runner.spilled = store.written
        rows = f"{store.rows.sum()} rows, {store.written} bytes of them on disk"
        runner.log.append(f"exchanged: {node.operator_type} over {rows}, in {ranges.count} ranges of their keys")
        try:
            result = rows_by_ranges(node, store, ranges)
        except MemoryReservationError:
            runner.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than they may")
            return ReplanNeeded(node)
        return from_partitions(runner, node, result)


@attrs.frozen(eq=False)
class ExchangeOfTasks:
    """The range shuffle of a kernel's input by Spark tasks, ready to run.

    Parameters
    ----------
    node
        The node of the kernel, over an input that tasks can read.
    tasks
        The tasks that compute the rows of the input.
    ranges
        The ranges.
    rows
        What crosses: rows of the input, or states of them.
    """

    node: PlannerNode
    tasks: Sequence[RangeTask]
    ranges: RangePartitioner
    rows: CrossingRows

    @classmethod
    def of(cls, runner: SectionRunner, node: PlannerNode, workers: SparkTaskRunner) -> ExchangeOfTasks | None:
        """Divide the input of a node into tasks and ranges; None if each task would give rows to too many ranges."""
        plan_size = plan_size_of(node.inputs[0], costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH)
        assert plan_size is not None
        # A large table in memory is written to files first, so that the tasks that sample the keys can read it, too.
        node = node.with_inputs([below := with_stored_tables(node.inputs[0])])
        least = ranges_of_tasks(plan_size, runner.site)
        tasks = runner.tasks_of(below, placement_of(below), workers, tasks_for(plan_size.size, least))
        # The number of tasks was not known when the section was planned. The least number of ranges is needed; one range for each core is only
        # desirable.
        most = costs.MAX_RUNS_OF_SHUFFLE // runs_of_tasks(plan_size.size, len(tasks))
        if least > most:
            runner.log.append(f"too many: {len(tasks)} tasks would give rows of {node.operator_type} to {least} ranges each")
            return None
        ranges, sample = key_ranges_and_sample_of(runner, node, Workers.SPARK_TASKS, max(least, min(most, workers.parallelism())))
        rows = crossing_rows(node, plan_size, sample, len(tasks))
        if rows.are_states:
            runner.log.append(f"grouped first: what {node.operator_type} makes of the rows of each task is exchanged, which is less")
        return cls(node, tasks, ranges, rows)

    @property
    def description(self) -> str:
        """A description of what the tasks do."""
        return f"exchanging for {self.node.operator.name}"

    @property
    def passed(self) -> np.ndarray:
        """For each range, whether the kernel returns its rows unchanged."""
        split = range_split_of(self.node.operator)
        assert split is not None
        return passed_on(split, self.ranges)

    @property
    def partitioner(self) -> RowRangePartitioner:
        """Assigns what crosses to ranges."""
        return RowRangePartitioner(self.rows.column, self.ranges)


def exchanged_by_tasks(runner: SectionRunner, node: PlannerNode) -> PlannerNode | ReplanNeeded:
    """Run a kernel on each range of a column's values, after Spark tasks have exchanged the rows.

    Return the node to be planned again if there would be too many runs of rows, or a range is too large for a task.
    """
    workers = SparkTaskRunner()
    with ShuffleFiles(temporary_store) as files:
        is_shared = is_shared_with(workers, files.directory)
        ask_for_shared_place(workers, runner.options)
        exchange = ExchangeOfTasks.of(runner, node, workers)
        if exchange is None:
            return ReplanNeeded(node)
        result = exchanged_in_files(runner, exchange, workers, files) if is_shared else exchanged_by_messages(runner, exchange, workers)
        return ReplanNeeded(node) if result is None else result


def exchanged_in_files(runner: SectionRunner, exchange: ExchangeOfTasks, workers: SparkTaskRunner, files: ShuffleFiles) -> PlannerNode | None:
    """Exchange the rows in files that all tasks see, then run the kernel; None if a range is too large for a task."""
    node, passed = exchange.node, exchange.passed
    store = ShuffleStore(exchange.partitioner, exchange.rows.schema, costs.BYTES_BUFFERED_BY_SHUFFLE_TASK, files)
    store.fill(workers, exchange.tasks, exchange.description, exchange.rows.of_task)
    runner.spilled = store.written
    runner.log.append(f"exchanged by tasks: {node.operator_type}, {runner.spilled} bytes on disk, in {exchange.ranges.count} ranges of their keys")
    if store.sizes.max(initial=0, where=~passed) > costs.MAX_BYTES_OF_RANGE_OF_TASK:
        runner.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than a task may")
        return None
    count = runner.options.segments or runner.site.default_segments
    parts = split_evenly(store.rows, count) if count else [range(number, number + 1) for number in range(exchange.ranges.count)]
    write = partial(write_results, exchange.rows.kernel, node.schema)
    return runner.written(node, workers, [partial(write, [(store.partition(n), bool(passed[n])) for n in part]) for part in parts])


def exchanged_by_messages(runner: SectionRunner, exchange: ExchangeOfTasks, workers: SparkTaskRunner) -> PlannerNode | None:
    """Let the tasks of one job send one another the rows and run the kernel; None if a range is too large for a task."""
    node, count = exchange.node, exchange.ranges.count
    # How many rows a range has is not known before: by the sample, all have about as many.
    segments = min(count, runner.options.segments or runner.site.default_segments or count)
    rows, room = exchange.rows, costs.BYTES_BUFFERED_BY_SHUFFLE_TASK
    sending = RowSending(exchange.partitioner, rows.schema, room, np.arange(count) * segments // count)
    receiving = RowReceiving(rows.schema, exchange.passed, costs.MAX_BYTES_OF_RANGE_OF_TASK, room, rows.kernel, node.schema)
    with new_dataset(node.schema, runner.options, recorded_order(node), by_spark=True) as dataset:
        written = shuffled_by_messages(workers, exchange.tasks, rows.of_task, sending, receiving, dataset.directory, exchange.description)
        runner.spilled = written.sent
        runner.log.append(f"exchanged by Spark's shuffle: {node.operator_type}, {runner.spilled} bytes, in {count} ranges of their keys")
        if written.are_all:
            return dataset.source(written.entries)
        runner.log.append(f"no room: the rows of one range of {node.operator_type} take more memory than a task may")
        dataset.discard()
        return None


def is_shared_with(workers: TaskRunner, directory: str) -> bool:
    """Return whether Spark's tasks and this process see each other's files in a directory of temporary data, and need no object store for that."""
    return not is_remote_location(directory) and is_seen_by(workers, directory)


def ask_for_shared_place(workers: TaskRunner, options: MaterializeOptions) -> None:
    """Find out whether Spark's tasks share the directory of a result with this process; if not, Spark keeps what they write."""
    if options.directory is not None:
        is_seen_by(workers, options.directory)
        return
    with ShuffleFiles(temporary_store) as files:
        is_shared_with(workers, files.directory)


def is_seen_by(workers: TaskRunner, directory: str) -> bool:
    """Return whether this process sees the files that Spark's tasks write to a directory; one that is known not to be shared is not tried again."""
    if not is_shared(os.path.dirname(directory)):
        return False
    try:
        workers.require_writable(directory)
    except NotSharedError:
        return False
    return True
