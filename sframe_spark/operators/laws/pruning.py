"""Laws that leave out rows of which recorded bounds prove that a mask drops them."""

from __future__ import annotations

from sframe_spark.operators.columns import Zip, part_of_zip
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.mask_ranges import mask_ranges
from sframe_spark.operators.rows import slice_rows
from sframe_spark.operators.sources import SegmentSource
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.pruning import Bounds, matching_rows


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
    first, last = 0, rows
    for column, wanted in mask_ranges(child.operator.computation, below.schema).items():
        found = rows_of_source(below, column, wanted)
        if found is not None:
            first, last = max(first, found[0]), min(last, found[1])
    if (first, last) == (0, rows):
        return None
    return node.with_inputs([child.with_inputs([slice_rows(below, first, max(first, last))])])


def rows_of_source(node: PlannerNode, column: int, wanted: Bounds) -> tuple[int, int] | None:
    """Rows of a node that may hold wanted values, if the column comes from segments."""
    while isinstance(node.operator, Zip):
        node, column = part_of_zip(node, column)
    source = node.operator
    if not isinstance(source, SegmentSource):
        return None
    first, last = matching_rows(source.manifest, source.positions[column], wanted, source.start, source.stop)
    return first - source.start, last - source.start
