"""Strategies for kernels that need all rows of their input: the rows are gathered, exchanged by ranges, or joined by hash partitions.

Threads of this process run them, or Spark tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sframe_spark.compute.range_and_hash_partitioning import KINDS
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.physical.late_materialization import numbered_rows
from sframe_spark.engine.physical.placement_and_blocking_inputs import (
    Placement,
    are_for_threads,
    is_for_threads,
    makes_plainly,
    placement_of,
    runs_on_other_machines,
    suits_threads,
)
from sframe_spark.engine.physical.section_tree_and_run_modes import Mode, SectionResult
from sframe_spark.engine.runtime.pipeline import local_threads
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize, plan_size_of
from sframe_spark.operators.project_zip_arrange import Project
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_capabilities import range_split_of
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.process.memory import result_memory_left, work_memory
from sframe_spark.storage.filesystem.temporary_datasets import temporary_root

# Small inputs are computed by threads of this process even if Spark uses a cluster, as they finish before a Spark job has started.


def is_cheaper_locally(root: PlannerNode) -> bool:
    """Return whether a plan has only built-in kernels over local rows within the driver's memory budget, so that it runs faster in this process."""
    if not config.small_rows or not are_for_threads(root):
        return False
    plan_size = plan_size_of(root, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH)
    return plan_size is not None and plan_size.size <= config.memory_budget and all(map(is_near, postorder([root])))


def are_parts_cheaper_locally(node: PlannerNode) -> bool:
    """Return whether an operator's input runs faster in this process.

    For an operator that chooses rows by the values of some columns, it suffices that these columns are computed faster in this process.
    """
    if not config.small_rows:
        return False
    if is_cheaper_locally(node.inputs[0]):
        return True
    numbered = numbered_rows(node)
    return numbered is not None and is_cheaper_locally(numbered.deciding)


def is_near(node: PlannerNode) -> bool:
    """Return whether an operator reads only rows in this process or files on this machine."""
    operator = node.operator
    if isinstance(operator, SectionResult):
        return not operator.section.mode.is_on_spark
    if node.inputs or operator.source_kind is SourceKind.MEMORY:
        return True
    return isinstance(operator, STORED_ROWS) and not is_remote_location(operator.manifest.directory)


def gathered_mode(root: PlannerNode, refused: frozenset[Mode] = frozenset()) -> Mode | None:
    """Return the mode of a kernel whose input can be computed by threads of this process; None if Spark is to run it."""
    plan_size = gathered_size(root)
    if plan_size is None:
        return None
    fits = plan_size.size <= bytes_gathered()
    # If only first rows are required, finding them among all rows is faster than exchanging all rows.
    is_quicker = not needs_first_rows_only(root) and plan_size.rows >= costs.MIN_ROWS_SPLIT and local_threads() > 1
    is_worth_it = not fits or is_quicker
    if is_worth_it and Mode.EXCHANGED not in refused and can_split(root) and ranges_for(plan_size) <= costs.MAX_RANGES:
        return Mode.EXCHANGED
    return Mode.GATHERED if fits and Mode.GATHERED not in refused else None


def is_exchanged_by_tasks(root: PlannerNode, refused: frozenset[Mode] = frozenset()) -> bool:
    """Return whether Spark tasks run a built-in kernel on each range of a column: only if Spark uses other machines.

    With very many rows, there would be too many chunks to read; Spark's own exchange merges them.
    """
    if not config.small_rows or Mode.EXCHANGED_BY_TASKS in refused or len(root.inputs) != 1 or root.operator.whole_kernel is None:
        return False
    # If only first rows are required, each Spark task selects the first of its own rows.
    if needs_first_rows_only(root):
        return False
    below = root.inputs[0]
    if not runs_on_other_machines() or is_remote_location(temporary_root()) or not can_split(root) or not all(map(is_for_threads, postorder([root]))):
        return False
    plan_size = plan_size_of(below, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) if runs_over_row_ranges(below) else None
    if plan_size is None:
        return False
    tasks = max(-(-plan_size.rows // config.segment_rows), config.default_segments or 0)
    return ranges_of_tasks(plan_size) * tasks <= costs.MAX_TASKS_TIMES_RANGES


def ranges_of_tasks(plan_size: PlanSize) -> int:
    """Return the number of ranges for Spark tasks: a range has about as many rows as a segment, or fewer if rows are long."""
    return 1 + int(max(plan_size.size // costs.BYTES_OF_RANGE_OF_TASK, plan_size.rows // config.segment_rows))


def can_split(root: PlannerNode) -> bool:
    """Return whether a kernel can run on each range of a column's values separately."""
    split = range_split_of(root.operator)
    return split is not None and root.inputs[0].schema[split.column].kind in KINDS


def needs_first_rows_only(root: PlannerNode) -> bool:
    """Return whether only the first rows of the ranges of a kernel are required."""
    split = range_split_of(root.operator)
    return split is not None and split.first_rows is not None


def bytes_gathered() -> int:
    """Return the limit in bytes for gathered rows, which leaves memory for copies."""
    return work_memory() // costs.COPIES_OF_GATHERED


def bytes_of_range() -> int:
    """Return the limit in bytes for a range if every thread processes one at a time."""
    return min(bytes_gathered() // local_threads(), MAX_BYTES_OF_ARRAY)


def ranges_for(plan_size: PlanSize) -> float:
    """Return the number of ranges to divide rows into, so that each fits in memory and each thread gets several; infinite if no memory is left."""
    room = bytes_of_range()
    needed = costs.UNEVENNESS_OF_RANGES * plan_size.size / room if room else math.inf
    return 1 + max(needed, min(costs.MAX_RANGES - 1, plan_size.rows / costs.ROWS_OF_RANGE), costs.UNEVENNESS_OF_RANGES * local_threads())


def runs_over_row_ranges(below: PlannerNode) -> bool:
    """Return whether a plan is computed by kernels over row ranges."""
    return all(not node.inputs or node.operator.has_kernel for node in postorder([below])) and placement_of(below).segment


def gathered_size(root: PlannerNode) -> PlanSize | None:
    """Return the size of the input of a kernel that needs all rows; None if threads of this process cannot compute the input or run the kernel."""
    operator = root.operator
    if len(root.inputs) != 1 or operator.whole_kernel is None or not is_for_threads(root):
        return None
    below = root.inputs[0]
    if not (suits_threads(below) or is_cheaper_locally(below)) or not makes_plainly(root) or not runs_over_row_ranges(below):
        return None
    return plan_size_of(below)


# Joins of many rows in threads of this process: with both sides in memory, or one hash partition after the other.


def local_join(node: PlannerNode, children: Sequence[tuple[PlannerNode, Placement]]) -> PlannerNode | None:
    """Return the join that threads of this process run over placed inputs; None if a query is to run it.

    If possible, the right side is sorted and searched; otherwise it is a hash join, which numbers the keys of both sides.
    """
    joining = node.operator.joining
    numbered = None if joining is None else joining.in_memory()
    if joining is None or numbered is None or numbered.counting is None or not is_for_threads(node):
        return None
    sides = [side for side, placement in children if placement.segment and suits_threads(side)]
    if len(sides) < len(children):
        return None
    search = joining.searching(node.inputs, sides)
    if search is not None and gathered_mode(search.inputs[1]) is not None and can_stay(sides[1:]):
        return search
    return numbered.make_planner_node(*map(in_memory, sides)) if can_stay(sides) else None


def partitions_of_join(node: PlannerNode) -> int | None:
    """Return the number of hash partitions for a join whose sides do not fit in memory together; None if a query is to run it."""
    joining = node.operator.joining
    if joining is None or joining.by_partitions is None or not is_for_threads(node) or not makes_plainly(node):
        return None
    if not all(suits_threads(side) and runs_over_row_ranges(side) and has_rows_of_sources(side) for side in node.inputs):
        return None
    together = size_of_all(node.inputs)
    count = math.inf if together is None else ranges_for(together)
    return int(count) if count <= costs.MAX_RANGES else None


def size_of_all(plans: Sequence[PlannerNode]) -> PlanSize | None:
    """Return the rows and bytes of several plans together; None if the size of one is unknown."""
    sizes = [size for size in map(plan_size_of, plans) if size is not None]
    return PlanSize(sum(size.rows for size in sizes), sum(size.size for size in sizes)) if len(sizes) == len(plans) else None


def has_rows_of_sources(side: PlannerNode) -> bool:
    """Return whether no node of a plan has more rows than its sources together, so that no join below multiplies rows."""
    nodes = list(postorder([side]))
    # A source that has two readers counts twice.
    leaves = [side, *(child for node in nodes for child in node.inputs)]
    most = sum(leaf.length.at_most for leaf in leaves if not leaf.inputs and leaf.length.at_most is not None)
    return all(node.length.at_most is None or node.length.at_most <= most for node in nodes)


def query_again(node: PlannerNode) -> PlannerNode:
    """Return the join that a query runs in place of an uncounted hash join of which a side is on disk, where random access is slow.

    Return all other nodes unchanged.
    """
    operator = node.operator
    if operator.counting is not None and not operator.counting.is_counted and any(map(is_spilled, node.inputs)):
        return operator.as_read().make_planner_node(*node.inputs)
    return node


def can_stay(sides: Sequence[PlannerNode]) -> bool:
    """Return whether the sides of a join fit in memory, together with what the join needs."""
    if any(is_spilled(node) for side in sides for node in postorder([side])):
        return False
    together = size_of_all(sides)
    if together is None:
        return False
    needed = costs.COPIES_OF_GATHERED * together.size + costs.BYTES_OF_ROW_OF_HASH_JOIN * together.rows
    return together.size <= result_memory_left() and needed <= work_memory()


def is_spilled(node: PlannerNode) -> bool:
    """Return whether a node is a source of rows that were computed and written to disk."""
    return isinstance(node.operator, SegmentSource) and node.operator.handle is not None


def in_memory(side: PlannerNode) -> PlannerNode:
    """Return a side of a join as a node whose rows are computed into memory: a file source becomes a projection of all its columns."""
    operator = side.operator
    is_computed = operator.source_kind is SourceKind.MEMORY or isinstance(operator, SectionResult) or not operator.is_source
    return side if is_computed else Project(tuple(range(side.facts.width))).make_planner_node(side)
