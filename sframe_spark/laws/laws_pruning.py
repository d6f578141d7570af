"""Laws that leave out rows of which recorded bounds prove that a mask drops them."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.laws.mask_ranges import mask_ranges
from sframe_spark.laws.value_ranges import ColumnRanges, ValueRanges
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.project import Zip, part_of_zip
from sframe_spark.operators.slice import slice_rows
from sframe_spark.operators.sources.segment_subset import STORED_ROWS, SegmentParts, parts_of, rows_before
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.segments.pruning import Bounds, RowRange, common_rows, joined, matching_ranges, recorded_bounds

# Of more ranges of rows, those nearest to each other are read as one.
MOST_RANGES = 64


@law("filter_rows(f(x), m) = filter_rows(f(rows of x that may meet m), m)", stage="pushdown", on="filter_rows")
def filter_by_recorded_bounds(node: PlannerNode) -> PlannerNode | None:
    """Segments and row groups whose bounds contradict the mask are not opened."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    below = child.inputs[0]
    rows = below.length.rows
    if not rows:
        return None
    ranges: Sequence[RowRange] = [(0, rows)]
    for column, wanted in wanted_values(child).items():
        found = rows_of_source(below, column, wanted)
        if found is not None:
            ranges = list(common_rows(ranges, found))
    ranges = nearest_joined(ranges, MOST_RANGES if is_read_by_number(below) else 1)
    if ranges == [(0, rows)]:
        return None
    return node.with_inputs([child.with_inputs([rows_in(below, ranges)])])


def wanted_values(transform: PlannerNode) -> ColumnRanges:
    """Columns of a program's input, and ranges that their values lie in where the program's last output is true."""
    assert isinstance(transform.operator, GeneralizedTransform)
    below = transform.inputs[0]
    return mask_ranges(transform.operator.computation, below.schema, lambda column: bounds_of_column(below, column))


def stored_column(node: PlannerNode, column: int) -> tuple[SegmentSource | SegmentParts, int] | None:
    """The stored rows that a column comes from, and its position in the dataset."""
    while isinstance(node.operator, Zip):
        node, column = part_of_zip(node, column)
    source = node.operator
    return (source, source.positions[column]) if isinstance(source, STORED_ROWS) else None


def bounds_of_column(node: PlannerNode, column: int) -> Bounds | None:
    """Recorded bounds of the dataset's column that a column comes from."""
    stored = stored_column(node, column)
    return None if stored is None else recorded_bounds(stored[0].manifest, stored[1])


def rows_of_source(node: PlannerNode, column: int, wanted: ValueRanges) -> list[RowRange] | None:
    """Rows of a node that may hold wanted values, if the column comes from segments."""
    stored = stored_column(node, column)
    if stored is None:
        return None
    source, position = stored
    ranges = ((source.start, source.stop),) if isinstance(source, SegmentSource) else source.ranges
    matching = matching_ranges(source.manifest, position, wanted, ranges[0][0], ranges[-1][1])
    shifts = [before - first for (first, _), before in zip(ranges, rows_before(ranges), strict=True)]
    found = ((first + shift, last + shift) for part, shift in zip(ranges, shifts, strict=True) for first, last in common_rows([part], matching))
    return list(joined(found))


def nearest_joined(ranges: Sequence[RowRange], most: int) -> list[RowRange]:
    """At most so many ranges of rows that hold those given: the smallest gaps are filled.

    Examples
    --------
    >>> nearest_joined([(0, 1), (5, 6), (8, 9), (20, 21)], 2)
    [(0, 9), (20, 21)]
    """
    if len(ranges) <= most:
        return list(ranges)
    gaps = sorted(range(1, len(ranges)), key=lambda place: ranges[place][0] - ranges[place - 1][1], reverse=True)
    starts = [0, *sorted(gaps[: most - 1])]
    return [(ranges[start][0], ranges[stop - 1][1]) for start, stop in zip(starts, [*starts[1:], len(ranges)], strict=True)]


def rows_in(node: PlannerNode, ranges: Sequence[RowRange]) -> PlannerNode:
    """Some ranges of a node's rows; of stored rows several are one source, which keeps what is known of them."""
    if len(ranges) <= 1:
        return slice_rows(node, *(ranges[0] if ranges else (0, 0)))
    if isinstance(node.operator, Zip):
        # An input that stands there twice stays one node.
        chosen = {id(child): rows_in(child, ranges) for child in node.inputs}
        return node.with_inputs([chosen[id(child)] for child in node.inputs])
    source = node.operator
    if isinstance(source, SegmentParts):
        return parts_of(source.whole, [part for first, last in ranges for part in source.rows_of_dataset(first, last)]).make_planner_node()
    if isinstance(source, SegmentSource):
        return parts_of(source, [(source.start + first, source.start + last) for first, last in ranges]).make_planner_node()
    return append(*[slice_rows(node, first, last) for first, last in ranges])


def is_read_by_number(node: PlannerNode) -> bool:
    """True for sources, and sources side by side: their rows can be read anywhere, without those before."""
    return node.operator.is_source or (isinstance(node.operator, Zip) and all(map(is_read_by_number, node.inputs)))
