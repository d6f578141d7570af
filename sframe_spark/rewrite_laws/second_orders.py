"""Laws that read a saved frame in the second order in which it was saved too.

These are for sorts and group-bys by its column, filters that keep few of its values, and joins with few rows.
"""

from __future__ import annotations

from sframe_spark.expressions.scalar_function_program import Register
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.joins.equi_join import SEARCHED, Join
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort, sort_rows
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.planner.law import law
from sframe_spark.planner.length_and_order_inference import is_in_order, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws.filter_pushdown import MaskedRows
from sframe_spark.rewrite_laws.fusion import computed
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import are_few, can_be_searched, one_value_per_group
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import mask_ranges
from sframe_spark.storage.manifest.manifest import SecondOrder
from sframe_spark.storage.segments.pruning import matching_ranges

# Rows that a filter keeps are sorted by their numbers: if they may be more than this share, all rows are read in their stored order.
SHARE_OF_ROWS = 3
# Rows whose matches are searched may each find theirs in a row group of its own.
MAX_ROWS_SEARCHED = 1_000


def whole(node: PlannerNode) -> SegmentSource | None:
    """Return the source of a node if it has all rows of a dataset that has second orders."""
    source = node.operator
    is_whole = isinstance(source, SegmentSource) and source.manifest.second_orders and (source.start, source.stop) == (0, source.manifest.rows)
    return source if isinstance(source, SegmentSource) and is_whole else None


def rows_in(second: SecondOrder, source: SegmentSource) -> PlannerNode:
    """Return the columns of a source in a second order, and the row numbers as the last column."""
    positions = (*source.positions, len(source.manifest.types))
    return SegmentSource(second.rows, positions, 0, second.rows.rows, source.handle).make_planner_node()


@law("sort(source, by) = sort(source in its second order, by) where that is the first of by", stage="pushdown", on="sort")
def sort_of_second_order(node: PlannerNode) -> PlannerNode | None:
    """Rows that are equal in the sort columns keep their order in both."""
    assert isinstance(node.operator, Sort)
    child, source = node.inputs[0], whole(node.inputs[0])
    if source is None:
        return None
    column, ascends = node.operator.by[0]
    for second in source.manifest.second_orders:
        if ascends and source.positions[column] == second.column:
            return node.with_inputs([project(rows_in(second, source), range(child.facts.width))])
    return None


def in_order_of(node: PlannerNode, column: int) -> PlannerNode | None:
    """Return what is computed row by row of a dataset, in the second order of a column; None if there is none. Equal values keep their order."""
    transform = node.operator
    if isinstance(transform, GeneralizedTransform):
        program, output = transform.computation, transform.computation.outputs[column]
        # Errors tell the numbers of rows, and users' functions may have effects.
        if program.may_call_python or program.may_fail or not isinstance(output, Register) or output.index >= program.width:
            return None
        rows = in_order_of(node.inputs[0], output.index)
        return None if rows is None else node.with_inputs([rows])
    source = whole(node)
    if source is None:
        return None
    for second in source.manifest.second_orders:
        if source.positions[column] == second.column:
            return project(rows_in(second, source), range(node.facts.width))
    return None


@law("group_by(f(source), k) = group_by(f(source in its second order), k) where that is by k", stage="pushdown", on="group_by")
def group_by_of_second_order(node: PlannerNode) -> PlannerNode | None:
    """Rows of a group are neighbours, in the same order. Groups come in the order of their keys, whatever the order of the rows."""
    assert isinstance(node.operator, GroupBy)
    keys, child = node.operator.keys, node.inputs[0]
    if len(keys) != 1 or not one_value_per_group(child, keys) or is_in_order(child, [(keys[0], True)]):
        return None
    rows = in_order_of(child, keys[0])
    return None if rows is None else node.with_inputs([rows])


@law("join(x, source, k) = sorted_join(x, source in its second order, k) where x has few rows", stage="pushdown", on="join")
def join_with_second_order(node: PlannerNode) -> PlannerNode | None:
    """Matches of few rows are searched where they are neighbours; those of one row come in the order in which they would come."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if operator.how not in SEARCHED or not are_few(left, MAX_ROWS_SEARCHED) or not can_be_searched(operator, left, right):
        return None
    # What is computed of all rows would be computed of them before they are searched.
    if whole(right) is None or are_few(right, MAX_ROWS_SEARCHED) or is_in_order(right, [(operator.right_keys[0], True)]):
        return None
    rows = in_order_of(right, operator.right_keys[0])
    return None if rows is None else SortedJoin(operator.left_keys[0], operator.right_keys[0], operator.how).make_planner_node(left, rows)


@law("filter_rows(f(source), m) = f(sort(filter_rows(source in its second order, m), row number))", stage="pushdown", on="filter_rows")
def filter_of_second_order(node: PlannerNode) -> PlannerNode | None:
    """In the order of a column, rows with a few of its values are adjacent: other rows are not read, and few must be sorted back."""
    masked = MaskedRows.of(node)
    source = whole(masked.rows)
    if source is None or masked.program.may_call_python or masked.program.may_fail:
        return None
    width = masked.rows.facts.width
    ranges = mask_ranges(masked.mask, masked.rows.schema)
    for second in source.manifest.second_orders:
        column = next((column for column in ranges if source.positions[column] == second.column), None)
        if column is None:
            continue
        kept = sum(last - first for first, last in matching_ranges(second.rows, second.column, ranges[column], 0, second.rows.rows))
        if kept * SHARE_OF_ROWS <= second.rows.rows:
            found = masked.filtered(rows_in(second, source), {column: column for column in range(width)})
            # What is known of the order of the rows is known of those that are left.
            ordered = sort_rows(found, [*known_order(masked.rows), (width, True)])
            return computed(masked.values, project(ordered, range(width)))
    return None


def known_order(node: PlannerNode) -> list[tuple[int, bool]]:
    """Return the longest order of all columns in which a source is known to be, as sorts make it: pairs of a position and whether it ascends."""
    found: list[list[tuple[int, bool]]] = [[]]
    for items in properties_of(node).order.orderings:
        read: list[tuple[int, bool]] = []
        for item in items:
            ascends = item.direction == "asc"
            if not isinstance(item.column, int) or item.direction == "any" or (item.nulls == "nulls_first") != ascends:
                break
            read.append((item.column, ascends))
        found.append(read)
    return max(found, key=len)
