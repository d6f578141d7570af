"""Joins of many rows that threads of this process make, of sides that have room in its memory, or else of pieces of them: no query exchanges them."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.engine.budgets import Weight, weight_of
from sframe_spark.engine.physical.local_strategies import COPIES_OF_GATHERED, MOST_RANGES, gathered_mode, is_section, ranges_for
from sframe_spark.engine.physical.passed_on import makes_plainly
from sframe_spark.engine.physical.placement import Placement, is_for_threads, suits_threads
from sframe_spark.engine.physical.sections import SectionResult
from sframe_spark.operators.project import Project
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import room_left, work_memory

# Numbers that are found for each row of both sides: those of keys, of rows in their order, of matches.
BYTES_FOR_EACH_ROW = 64


def join_here(node: PlannerNode, children: Sequence[tuple[PlannerNode, Placement]]) -> PlannerNode | None:
    """The join of placed inputs that threads make; None where a query makes it.

    Matches are searched in the right side, put in the order of its key, where they can be; otherwise keys of both sides are numbered.
    """
    numbered = node.operator.in_memory()
    if numbered is None or not numbered.counts_rows or not is_for_threads(node):
        return None
    sides = [side for side, placement in children if placement.segment and suits_threads(side)]
    if len(sides) < len(children):
        return None
    search = node.operator.searching(node.inputs, sides)
    if search is not None and gathered_mode(search.inputs[1]) is not None and can_stay(sides[1:]):
        return search
    return numbered.make_planner_node(*map(in_memory, sides)) if can_stay(sides) else None


def pieces_of_join(node: PlannerNode) -> int | None:
    """How many pieces threads cut both sides of a join into that have no room together; None where a query makes it."""
    numbered = node.operator.in_memory()
    if numbered is None or numbered.numbered_slots is None or not is_for_threads(node) or not makes_plainly(node):
        return None
    if not all(suits_threads(side) and is_section(side) and has_rows_of_sources(side) for side in node.inputs):
        return None
    weights = [weight for weight in map(weight_of, node.inputs) if weight is not None]
    if len(weights) < len(node.inputs):
        return None
    count = ranges_for(Weight(sum(weight.rows for weight in weights), sum(weight.size for weight in weights)))
    return int(count) if count <= MOST_RANGES else None


def has_rows_of_sources(side: PlannerNode) -> bool:
    """True for a plan that has no more rows than its sources: where the bound of a join is larger, its rows are made before they are counted."""
    nodes = list(postorder([side]))
    # A source that is read twice counts twice.
    leaves = [side, *(child for node in nodes for child in node.inputs)]
    most = sum(leaf.length.at_most for leaf in leaves if not leaf.inputs and leaf.length.at_most is not None)
    return all(node.length.at_most is None or node.length.at_most <= most for node in nodes)


def query_again(node: PlannerNode) -> PlannerNode:
    """A join whose keys were to be numbered, as a query's, where a side found no room: in files its rows are not taken one by one."""
    operator = node.operator
    if operator.counts_rows and not operator.is_counted and any(map(found_no_room, node.inputs)):
        return operator.as_read().make_planner_node(*node.inputs)
    return node


def can_stay(sides: Sequence[PlannerNode]) -> bool:
    """True for rows that stay in memory, and leave room for the work on them."""
    if any(found_no_room(node) for side in sides for node in postorder([side])):
        return False
    weights = [weight for weight in map(weight_of, sides) if weight is not None]
    size = sum(weight.size for weight in weights)
    needed = COPIES_OF_GATHERED * size + BYTES_FOR_EACH_ROW * sum(weight.rows for weight in weights)
    return len(weights) == len(sides) and size <= room_left() and needed <= work_memory()


def found_no_room(node: PlannerNode) -> bool:
    """True for rows that were made by this process, and went to disk."""
    return isinstance(node.operator, SegmentSource) and node.operator.handle is not None


def in_memory(side: PlannerNode) -> PlannerNode:
    """A side whose rows somebody makes: of files, a look at all columns."""
    operator = side.operator
    is_there = operator.is_in_memory or isinstance(operator, SectionResult)
    return side if is_there or not operator.is_source else Project(tuple(range(side.facts.width))).make_planner_node(side)
