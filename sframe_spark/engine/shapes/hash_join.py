"""Hash join of sides that do not fit in memory together: threads exchange both by the hash of their keys, then join each hash partition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_for_threads, makes_plainly, placement_of, suits_threads
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.engine.shapes.partitioned_operators import PartitionedJoin, from_partitions
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart, ranges_for, runs_over_row_ranges, size_of_all
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Strategy, Workers
from sframe_spark.errors import MemoryReservationError
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class HashJoinShape(Shape):
    """A join whose sides threads read range by range; its number of rows is unknown before it has run."""

    name: ClassVar[str] = "hash join"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return threads for a join of built-in kernels whose hash partitions fit in memory."""
        is_refused = not part.is_without_ranges or Strategy(self, Workers.THREADS) in part.refused
        return None if is_refused or partitions_of_join(part.root, part.site) is None else Workers.THREADS

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if a hash partition is too large."""
        return [Alternative.HASH_PARTITIONS]

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Join hash partitions of both sides in threads. If a partition does not fit in memory, return the node to be planned again."""
        node = section.root
        tasks = [runner.tasks_of(side, placement_of(side), ThreadRunner()) for side in node.inputs]
        runner.tasks = sum(map(len, tasks))
        # Less memory may be available than when the section was planned.
        count = partitions_of_join(node, runner.site)
        assert count is not None
        with PartitionedJoin.of(node, count) as joined:
            for slot, tasks_of_side in enumerate(tasks):
                joined.fill(slot, tasks_of_side)
            try:
                rows = joined.rows_in_order()
            except MemoryReservationError:
                runner.spilled = joined.written
                runner.log.append(f"no room: the rows of one piece of {node.operator_type} take more memory than they may")
                return ReplanNeeded(node)
            runner.log.append(f"joined: {node.operator_type} in {joined.count} pieces, {joined.written} bytes of rows on disk")
            result = from_partitions(runner, node, rows)
            # The bytes are read after the rows, because shuffling ranges again that turned out too large adds to them.
            runner.spilled = joined.written
            return result


HASH_JOIN: Shape = HashJoinShape()


def partitions_of_join(node: PlannerNode, site: Site) -> int | None:
    """Return the number of hash partitions for a join whose sides do not fit in memory together; None if it is not to be a hash join."""
    joining = node.operator.joining
    if joining is None or joining.by_partitions is None or not is_for_threads(node) or not makes_plainly(node):
        return None
    if not all(suits_threads(side, site) and runs_over_row_ranges(side) and has_rows_of_sources(side) for side in node.inputs):
        return None
    together = size_of_all(node.inputs)
    count = math.inf if together is None else ranges_for(together, site)
    return int(count) if count <= costs.MAX_RANGES else None


def has_rows_of_sources(side: PlannerNode) -> bool:
    """Return whether no node of a plan has more rows than its sources together, so that no join below multiplies rows."""
    nodes = list(postorder([side]))
    # A source that has two readers counts twice.
    leaves = [side, *(child for node in nodes for child in node.inputs)]
    most = sum(leaf.length.at_most for leaf in leaves if not leaf.inputs and leaf.length.at_most is not None)
    return all(node.length.at_most is None or node.length.at_most <= most for node in nodes)
