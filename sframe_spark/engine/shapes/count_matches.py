"""Counts the rows of joins without computing them, so that what is above a join can be planned for as many rows as it has."""

from __future__ import annotations

from typing import ClassVar

import attrs

from sframe_spark.engine.physical.placement_and_blocking_inputs import is_small, placement_alone, placement_of, suits_threads
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.shapes.hash_join import partitions_of_join
from sframe_spark.engine.shapes.joins_in_memory import is_searched_cheaply, local_join
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Section, Shape, Workers, sections_in
from sframe_spark.engine.shapes.states_of_hash_join import changes_rows_alone
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import bytes_of_rows, plan_size_of
from sframe_spark.operators.elementwise import calls_python
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.planner.operator_capabilities import match_counting_of
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class CountMatchesShape(Shape):
    """A join over sources whose number of rows is counted, as it decides how the join and what is above it run; its result is the join, counted.

    The planner makes such a section in addition to the plan, which is made again when the section has run.
    """

    name: ClassVar[str] = "count matches"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return the driver for a join over inputs that can be read directly, if its rows should be counted first."""
        is_over_ranges = part.placement is not None and part.placement.segment
        return Workers.DRIVER if is_over_ranges and is_to_be_counted(part.root, part.site) and not sections_in(part.root) else None

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode:
        """Return the join with its number of rows, which its operator counts, or which is counted match by match."""
        node = section.root
        if node.operator.counting is not None:
            counted = with_known_rows(node)
        else:
            counted = with_counted_rows(node, (section.placement or placement_of(node)).rows_to_run, runner.site)
        runner.log.append(f"driver: counted {counted.length.known_rows} rows of {node.operator_type}")
        return counted


COUNT_MATCHES: Shape = CountMatchesShape()


def is_to_be_counted(node: PlannerNode, site: Site) -> bool:
    """Return whether the rows of a join should be counted once its inputs are computed.

    If an input is computed by another section, its rows may turn out to be few, so only the bound of the join decides.
    """
    counting = node.operator.counting
    if counting is not None:
        return not counting.is_counted
    if match_counting_of(node.operator) is None or node.length.rows is not None:
        return False
    bound, left = node.length.at_most, node.inputs[0]
    if any(sections_in(child) for child in node.inputs):
        return bound is None or bound > site.small_rows
    return bound is not None and bound > site.small_rows and can_be_counted(left, site)


def may_be_counted(node: PlannerNode, site: Site) -> bool:
    """Return whether a join may be counted when the sections that it reads have run, and the joins below it are counted."""
    if node.operator.counting is not None:
        return not node.operator.counting.is_counted
    left = node.inputs[0] if match_counting_of(node.operator) is not None and node.length.rows is None else None
    if left is None:
        return False
    if is_to_be_counted(node, site):
        return bool(sections_in(left)) or can_be_counted(left, site)
    # A left side with an unknown number of rows counts as too large.
    return any(is_to_be_counted(below, site) for below in postorder([left]))


def with_counted_rows(node: PlannerNode, base_rows: int, site: Site) -> PlannerNode:
    """Return a join that searches its right input with its number of rows, by counting its matches."""
    counting, (left, right) = match_counting_of(node.operator), node.inputs
    assert counting is not None
    lookup, facts = Lookup.of(source_of(right)), [left.facts, right.facts]
    batches = PipelineRunner(Pipeline.of(left)).stream(0, base_rows, site.batch_rows)
    rows = sum(counting.count([batch, lookup], facts) for batch in batches)
    return PlannerNode(node.operator, node.inputs, Facts(node.schema, Length.exactly(rows), node.facts.domain))


def with_known_rows(node: PlannerNode) -> PlannerNode:
    """Return an operator over sources with its number of rows, which the operator counts."""
    facts, counting = [child.facts for child in node.inputs], node.operator.counting
    assert counting is not None
    operator = counting.counted([Lookup.of(source_of(child)) for child in node.inputs], facts)
    return PlannerNode(operator, node.inputs, attrs.evolve(node.facts, length=operator.infer_length(facts)))


def join_below(node: PlannerNode) -> PlannerNode | None:
    """Return the node below all row-wise nodes if it is a join whose rows can be counted, else None."""
    node = below_columns(node)
    return node if node.operator.counting is not None or match_counting_of(node.operator) is not None else None


def below_columns(node: PlannerNode) -> PlannerNode:
    """Return the highest node that is not row-wise with one input."""
    while node.operator.row_wise and len(node.inputs) == 1:
        node = node.inputs[0]
    return node


def base_of_rows(node: PlannerNode) -> PlannerNode:
    """Return the lowest node below a node, following first inputs, that has the same row domain."""
    while node.inputs and all(child.facts.domain is node.facts.domain for child in node.inputs):
        node = node.inputs[0]
    return node


def can_be_counted(side: PlannerNode, site: Site) -> bool:
    """Return whether one side of a join has few rows and calls no users' functions, which would be called again for the result."""
    return is_small(side, site) and not any(map(calls_python, postorder([side])))


def may_have_many(plan: PlannerNode, site: Site) -> bool:
    """Return whether a plan is a join that may have many rows and whose matches can be counted."""
    join = below_columns(plan)
    if join.length.rows is not None or (join.length.at_most is not None and join.length.at_most <= site.small_rows):
        return False
    if join_below(join) is not None and all(can_be_counted(side, site) for side in join.inputs):
        return join.length.at_most is not None
    if can_be_searched(join, site):
        return True
    sides = [(side, placement) for side in join.inputs if (placement := placement_alone(side)) is not None]
    return len(sides) == len(join.inputs) and local_join(join, sides, site) is not None


def is_joined_by_partitions(plan: PlannerNode, site: Site) -> bool:
    """Return whether a plan is a join, or what changes or leaves out each of its rows alone, that threads join by hash partitions."""
    while changes_rows_alone(plan):
        plan = plan.inputs[0]
    if plan.operator.joining is None or plan.length.rows is not None:
        return False
    sides = [(side, placement) for side in plan.inputs if (placement := placement_alone(side)) is not None]
    searched = local_join(plan, sides, site) if len(sides) == len(plan.inputs) else None
    return (searched is None or not is_searched_cheaply(searched)) and partitions_of_join(plan, site) is not None


def are_few_to_compute(node: PlannerNode, site: Site) -> bool:
    """Return whether a node has so few rows that computing them is faster than planning to count them."""
    most = node.length.at_most
    return most is not None and most <= site.small_rows and bytes_of_rows(node, most) <= site.memory_budget


def is_much_to_compute(plan: PlannerNode, site: Site) -> bool:
    """Return whether a plan over stored rows, without users' functions, may have too many rows to compute them just to count them."""
    nodes = list(postorder([plan]))
    if plan.length.rows is not None or plan.length.at_most is None or plan_size_of(plan) is None or any(map(functions_of, nodes)):
        return False
    if bytes_of_rows(plan, plan.length.at_most) <= site.memory_budget:
        return False
    # Filters and row-wise operators do not need separate row ranges.
    return runs_over_ranges(plan) or all(
        runs_over_ranges(node) if node.operator.is_source else node.operator.row_wise or node.operator.row_choice is RowChoice.FILTER
        for node in nodes
    )


def runs_over_ranges(plan: PlannerNode) -> bool:
    """Return whether the last node of a plan runs as kernels over row ranges, and nothing below it has to be materialised first."""
    placement = placement_alone(plan)
    return placement is not None and placement.segment


def can_be_searched(join: PlannerNode, site: Site) -> bool:
    """Return whether threads can count the matches of a join: the right side is a source, and the left one can be computed by row ranges."""
    if match_counting_of(join.operator) is None:
        return False
    left, right = join.inputs
    return right.operator.is_source and suits_threads(left, site) and runs_over_ranges(left)


@memory_for_batches()
def with_all_counted(root: PlannerNode, site: Site) -> PlannerNode:
    """Return the root of a section with its number of rows, if it is a join that can be counted; else the root itself."""
    if root.length.rows is not None or not can_be_searched(root, site):
        return root
    return with_counted_rows(root, placement_of(root).rows_to_run, site)
