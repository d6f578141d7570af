"""Joins with sides in memory: the right side is sorted, and searched by threads or by Spark's tasks, or threads number the keys of both sides."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import (
    Placement,
    are_for_threads,
    is_for_threads,
    placement_of,
    runs_on_other_machines,
    suits_threads,
)
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart, size_of_all
from sframe_spark.engine.shapes.range_shuffle import RANGE_SHUFFLE
from sframe_spark.engine.shapes.rows_near_this_process import is_cheaper_locally
from sframe_spark.engine.shapes.section_tree import SectionResult, Workers
from sframe_spark.engine.shapes.whole import WHOLE
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import plan_size_of
from sframe_spark.operators.project_zip_arrange import Project
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.operator_declarations import SourceKind


def local_join(node: PlannerNode, children: Sequence[tuple[PlannerNode, Placement]], site: Site) -> PlannerNode | None:
    """Return the join that threads of this process run over placed inputs; None if a query is to run it.

    If possible, the right side is sorted and searched; otherwise it is a hash join, which numbers the keys of both sides.
    """
    joining = node.operator.joining
    if joining is None or not is_for_threads(node):
        return None
    numbered = joining.in_memory()
    if numbered is None or numbered.counting is None:
        return None
    sides = [side for side, placement in children if placement.segment and suits_threads(side, site)]
    if len(sides) < len(children):
        return None
    search = joining.searching(node.inputs, sides)
    if search is not None and is_put_in_order(search.inputs[1], site) and can_stay(sides[1:], site):
        return search
    return numbered.make_planner_node(*map(in_memory, sides)) if can_stay(sides, site) else None


def join_searched_by_tasks(node: PlannerNode, children: Sequence[tuple[PlannerNode, Placement]], site: Site) -> PlannerNode | None:
    """Return the join for which Spark's tasks search a right side of few bytes, which this process sorts; None if it is not to be run so.

    Then no row crosses: each task reads its own left rows, and all right ones.
    """
    joining = node.operator.joining
    if joining is None or not runs_on_other_machines(site) or not all(placement.segment for _, placement in children):
        return None
    left, right = (side for side, _ in children)
    size = plan_size_of(right, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH)
    if size is None or size.size > costs.MAX_BYTES_SEARCHED_BY_TASKS or size.rows > costs.MAX_ROWS_SEARCHED or not is_cheaper_locally(right, site):
        return None
    if not is_for_threads(node) or not are_for_threads(left):
        return None
    search = joining.searching(node.inputs, [left, right])
    return search if search is not None and is_put_in_order(search.inputs[1], site) else None


def is_searched_cheaply(join: PlannerNode) -> bool:
    """Return whether a join in memory searches so few rows that it is cheaper than exchanging both sides by hash."""
    searched = [side.length.at_most for slot, side in enumerate(join.inputs) if join.operator.requires(slot) is Need.LOOKUP]
    return all(rows is not None and rows <= costs.MAX_ROWS_SEARCHED for rows in searched)


def query_again(node: PlannerNode) -> PlannerNode:
    """Return the join that a query runs instead of an uncounted hash join with a side on disk, where random access is slow.

    Return all other nodes unchanged.
    """
    operator = node.operator
    if operator.counting is not None and not operator.counting.is_counted and any(map(is_spilled, node.inputs)):
        return operator.as_read().make_planner_node(*node.inputs)
    return node


def can_stay(sides: Sequence[PlannerNode], site: Site) -> bool:
    """Return whether the sides of a join fit in memory, together with what the join needs."""
    if any(is_spilled(node) for side in sides for node in postorder([side])):
        return False
    together = size_of_all(sides)
    if together is None:
        return False
    needed = costs.COPIES_OF_GATHERED * together.size + costs.BYTES_OF_ROW_OF_HASH_JOIN * together.rows
    return together.size <= site.result_memory_left and needed <= site.work_memory


def is_spilled(node: PlannerNode) -> bool:
    """Return whether a node is a source of rows that were computed and written to disk."""
    return isinstance(node.operator, SegmentSource) and node.operator.handle is not None


def in_memory(side: PlannerNode) -> PlannerNode:
    """Return a side of a join as a node whose rows are computed into memory: a file source becomes a projection of all its columns."""
    operator = side.operator
    is_computed = operator.source_kind is SourceKind.MEMORY or isinstance(operator, SectionResult) or not operator.is_source
    return side if is_computed else Project(tuple(range(side.facts.width))).make_planner_node(side)


def is_put_in_order(side: PlannerNode, site: Site) -> bool:
    """Return whether threads bring all rows of a sort together, or exchange them."""
    part = PlanPart(side, placement_of(side), site)
    return any(shape.workers_for(part) is Workers.THREADS for shape in (RANGE_SHUFFLE, WHOLE))
