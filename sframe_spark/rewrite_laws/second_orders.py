"""Laws that read a saved frame in the second order in which it was saved too: sorts by its column, and filters that keep few of its values."""

from __future__ import annotations

from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort, sort_rows
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.planner.law import law
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws.filter_pushdown import MaskedRows
from sframe_spark.rewrite_laws.fusion import computed
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import mask_ranges
from sframe_spark.storage.manifest.manifest import SecondOrder
from sframe_spark.storage.segments.pruning import matching_ranges

# Rows that a filter keeps are sorted by their numbers: where they may be more than one in so many, all rows are read as they are.
SHARE_OF_ROWS = 3


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
