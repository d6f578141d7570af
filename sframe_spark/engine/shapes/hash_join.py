"""Hash join of sides that do not fit in memory together: threads exchange both by the hash of their keys, then join each hash partition."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from typing import ClassVar

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import (
    is_for_threads,
    makes_plainly,
    placement_of,
    runs_on_other_machines,
    suits_threads,
)
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.result_storage import new_dataset, with_stored_tables
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner, ThreadRunner
from sframe_spark.engine.shapes.hash_join_by_messages import joined_by_messages
from sframe_spark.engine.shapes.late_materialization import chain_below
from sframe_spark.engine.shapes.partitioned_operators import PartitionedJoin, from_partitions
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart, ranges_for, runs_over_row_ranges, size_of_all
from sframe_spark.engine.shapes.range_shuffle import ask_for_shared_place, min_tasks, runs_of_tasks, tasks_for
from sframe_spark.engine.shapes.rows_near_this_process import are_cheaper_locally
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Strategy, Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize, plan_size_of
from sframe_spark.errors import MemoryReservationError
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, recorded_order
from sframe_spark.planner.graph_traversal import postorder, sizes_of
from sframe_spark.planner.length_and_order_inference import in_any_order
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.row_sizes import fixed_size, row_bytes
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.rewrite_laws import optimize
from sframe_spark.types import INT


@attrs.frozen
class HashJoinShape(Shape):
    """A join whose sides threads read range by range; its number of rows is unknown before it has run."""

    name: ClassVar[str] = "hash join"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return threads for a join of built-in kernels whose hash partitions fit in memory, and Spark tasks for one on a cluster."""
        if not part.is_without_ranges:
            return None
        if Strategy(self, Workers.THREADS) not in part.refused and partitions_of_join(part.root, part.site) is not None:
            return Workers.THREADS
        is_refused = Strategy(self, Workers.SPARK_TASKS) in part.refused
        return None if is_refused or partitions_of_tasks(part.root, part.site) is None else Workers.SPARK_TASKS

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if a hash partition is too large, or the result of sides of few bytes."""
        if section.workers is Workers.SPARK_TASKS:
            return [Alternative.HASH_PARTITIONS_OF_TASKS]
        return [Alternative.HASH_PARTITIONS, *([Alternative.VERY_MANY_MATCHES] if runs_on_other_machines(site) else [])]

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Join hash partitions of both sides. If a partition does not fit in memory, return the node to be planned again."""
        if section.workers is Workers.SPARK_TASKS:
            return joined_by_tasks(runner, section.root)
        node = section.root
        joined = filled_join(runner, node, section.is_observed)
        with joined:
            try:
                rows = (
                    joined.rows_in_order(max_result_bytes(runner))
                    if joined.join.numbered_slots
                    else joined.rows_in_any_order(max_result_bytes(runner))
                )
            except MemoryReservationError:
                return without_room(runner, node, joined)
            runner.log.append(f"joined: {node.operator_type} in {joined.count} pieces, {joined.written} bytes of rows on disk")
            result = from_partitions(runner, node if joined.join.numbered_slots else in_any_order(node), rows)
            # The bytes are read after the rows, because shuffling ranges again that turned out too large adds to them.
            runner.spilled = joined.written
            return result


HASH_JOIN: Shape = HashJoinShape()


def filled_join(runner: SectionRunner, node: PlannerNode, is_observed: bool) -> PartitionedJoin:
    """Return the join of a node with the rows of both sides, which threads have exchanged; the caller closes it."""
    tasks = [runner.tasks_of(side, placement_of(side), ThreadRunner()) for side in node.inputs]
    runner.tasks = sum(map(len, tasks))
    # Less memory may be available than when the section was planned.
    count = partitions_of_join(node, runner.site)
    assert count is not None
    with ExitStack() as on_error:
        joined = on_error.enter_context(PartitionedJoin.of(node, count, is_observed))
        for slot, tasks_of_side in enumerate(tasks):
            joined.fill(slot, tasks_of_side)
        on_error.pop_all()
    return joined


def max_result_bytes(runner: SectionRunner) -> float:
    """Return the limit in bytes for a result that threads make: few bytes may have very many matches, which other machines make if there are any."""
    return costs.BUDGETS_STREAMED * runner.site.memory_budget if runs_on_other_machines(runner.site) else math.inf


def without_room(runner: SectionRunner, root: PlannerNode, joined: PartitionedJoin) -> ReplanNeeded:
    """Note that the rows of a join take more memory than they may, and return the plan that is to run in another way."""
    runner.spilled = joined.written
    runner.log.append(f"no room: the rows of {joined.node.operator_type}, or of one piece of it, take more memory than they may")
    return ReplanNeeded(root)


def partitions_of_join(node: PlannerNode, site: Site) -> int | None:
    """Return the number of hash partitions for a join whose sides do not fit in memory together; None if it is not to be a hash join."""
    joining = node.operator.joining
    if joining is None or joining.by_partitions is None or not is_for_threads(node) or not makes_plainly(node):
        return None
    if not all(runs_over_row_ranges(side) and has_rows_of_sources(side) for side in node.inputs):
        return None
    if not all(suits_threads(side, site) for side in node.inputs) and not are_cheaper_locally(node.inputs, site):
        return None
    together = size_of_all(node.inputs)
    count = math.inf if together is None else ranges_for(together, site)
    return int(count) if count <= costs.MAX_RANGES else None


def partitions_of_tasks(node: PlannerNode, site: Site) -> int | None:
    """Return the least number of hash partitions for a join that Spark tasks run on a cluster; None if it is not to be such a join."""
    joining = node.operator.joining
    if not site.small_rows or not runs_on_other_machines(site) or joining is None or joining.by_partitions is None:
        return None
    if not all(map(is_for_threads, postorder([node]))) or not makes_plainly(node):
        return None
    if not all(runs_over_row_ranges(side) and has_rows_of_sources(side) for side in node.inputs):
        return None
    sizes = [plan_size_of(side, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) for side in node.inputs]
    together = sum(bytes_sent(node, slot, size) for slot, size in enumerate(sizes) if size is not None)
    tasks = sum(min_tasks(size.size, site) for size in sizes if size is not None)
    count = 1 + int(together // costs.BYTES_OF_RANGE_OF_TASK)
    return count if None not in sizes and count * runs_of_tasks(together, tasks) <= costs.MAX_RUNS_OF_SHUFFLE else None


def bytes_sent(node: PlannerNode, slot: int, size: PlanSize) -> float:
    """Return how many bytes a side of a join of hash partitions sends: of the side whose rows decide the order of the result, keys and row ids."""
    joining, side = node.operator.joining, node.inputs[slot]
    assert joining is not None and joining.by_partitions is not None
    if slot != joining.by_partitions.probe_slot:
        return size.size
    sizes = sizes_of(side)[id(side)]
    keys = [sizes[pair[slot][1]] for pair in joining.keys]
    return size.rows * row_bytes((*keys, fixed_size(INT)), costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH)


def joined_by_tasks(runner: SectionRunner, node: PlannerNode) -> PlannerNode | ReplanNeeded:
    """Join hash partitions of both sides in Spark tasks.

    Return the node to be planned again if there would be too many messages, or a hash partition or a range of the result is too large for a task.
    """
    workers, joining = SparkTaskRunner(), node.operator.joining
    assert joining is not None and joining.by_partitions is not None
    ask_for_shared_place(workers, runner.options)
    # Less may be known of the sides, as their rows have been computed.
    least = partitions_of_tasks(node, runner.site) or 1
    node = node.with_inputs([with_stored_tables(side) for side in node.inputs])
    sizes = [plan_size_of(side, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) for side in node.inputs]
    size = sum(bytes_sent(node, slot, size) for slot, size in enumerate(sizes) if size is not None)
    probe, most = joining.by_partitions.probe_slot, tasks_for(size, least) // len(node.inputs)
    tasks = []
    for slot, (side, placement) in enumerate((side, placement_of(side)) for side in node.inputs):
        # The rows of a probe task become a segment, unless these would be too many.
        has_segments = slot == probe and placement.rows_to_run <= most * runner.site.segment_rows
        tasks.append(runner.tasks_of(side, placement, workers, None if has_segments else most))
    of_keys = key_tasks_of(runner, node, tasks[probe], workers)
    runner.tasks = sum(map(len, tasks))
    most = costs.MAX_RUNS_OF_SHUFFLE // runs_of_tasks(size, runner.tasks)
    count = max(least, min(most, workers.parallelism()))
    if count > most:
        runner.log.append(f"too many: {runner.tasks} tasks would give rows of {node.operator_type} to {count} pieces each")
        return ReplanNeeded(node)
    with new_dataset(node.schema, runner.options, recorded_order(node), by_spark=True) as dataset:
        written = joined_by_messages(workers, node, tasks, of_keys, count, dataset.directory)
        if written is None or not written.are_all:
            runner.log.append(f"no room: the rows of one piece of {node.operator_type} take more memory than a task may")
            dataset.discard()
            return ReplanNeeded(node)
        runner.spilled = written.sent
        runner.log.append(f"joined by tasks: {node.operator_type} in {count} pieces, {written.sent} bytes sent")
        return dataset.source(written.entries)


def key_tasks_of(
    runner: SectionRunner, node: PlannerNode, of_probe: Sequence[RangeTask], workers: SparkTaskRunner
) -> tuple[Sequence[RangeTask], Sequence[int]]:
    """Return tasks for the keys of the rows of each probe task, and where the keys are: they read no other columns if that surely changes no row."""
    joining = node.operator.joining
    assert joining is not None and joining.by_partitions is not None
    slot = joining.by_partitions.probe_slot
    side, keys = node.inputs[slot], [pair[slot][1] for pair in joining.keys]
    alone = optimize(project(side, keys))
    if rows_read(side) is not None and rows_read(alone) == rows_read(side):
        options = attrs.evolve(runner.options, segments=len(of_probe))
        tasks = attrs.evolve(runner, options=options).tasks_of(alone, placement_of(alone), workers)
        if [(task.start, task.stop) for task in tasks] == [(task.start, task.stop) for task in of_probe]:
            return tasks, range(len(keys))
    return of_probe, keys


def rows_read(plan: PlannerNode) -> tuple[Hashable, int, int] | None:
    """Return which stored rows a plan reads, if these are all that it reads, and each operator leaves rows as they come or leaves some out."""
    chain = chain_below(plan)
    stored = chain[0].operator
    is_plain = all(node.operator.row_wise or node.operator.row_choice is RowChoice.FILTER for node in chain[1:])
    return (stored.manifest.identity, stored.start, stored.stop) if isinstance(stored, SegmentSource) and is_plain else None


def has_rows_of_sources(side: PlannerNode) -> bool:
    """Return whether no node of a plan has more rows than its sources together, so that no join below multiplies rows."""
    nodes = list(postorder([side]))
    # A source that has two readers counts twice.
    leaves = [side, *(child for node in nodes for child in node.inputs)]
    most = sum(leaf.length.at_most for leaf in leaves if not leaf.inputs and leaf.length.at_most is not None)
    return all(node.length.at_most is None or node.length.at_most <= most for node in nodes)
