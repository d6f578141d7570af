"""What is known about the order of a column, for operators that need their input in the order of a key."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.columns import Project, Zip
from sframe_spark.operators.lookup import Lookup
from sframe_spark.operators.merge_sorted import MergeSorted, first_descent
from sframe_spark.operators.rows import Filter, FilterRows, SliceRows
from sframe_spark.operators.sort import Sort, sort_rows
from sframe_spark.operators.sources import MemorySource, RangeSource, SegmentSource, Source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest import ColumnStatistics
from sframe_spark.storage.statistics import column_statistics, dataset_statistics, has_order_statistics
from sframe_spark.types import DATETIME

# Operators whose rows are some of their first input's rows, in its order, with its columns in place.
SELECTIONS = (Filter, FilterRows, SliceRows)


def known_ascending(node: PlannerNode, position: int) -> bool:
    """Return whether a column is known to be in ascending order (missing first, NaN last) without computing anything.

    Examples
    --------
    >>> from sframe_spark.operators.sources import range_source
    >>> known_ascending(range_source(0, 5), 0), known_ascending(range_source(0, 5, -1), 0)
    (True, False)
    """
    while True:
        operator = node.operator
        if isinstance(operator, Project):
            position = operator.positions[position]
        elif isinstance(operator, Zip):
            node, position = part_of_zip(node, position)
            continue
        elif not isinstance(operator, SELECTIONS):
            break
        node = node.inputs[0]
    if isinstance(operator, Sort):
        return operator.by[0] == (position, True)
    if isinstance(operator, MergeSorted):
        return operator.on == position
    if isinstance(operator, RangeSource):
        return operator.step >= 0
    found = source_statistics(node, position)
    return found is not None and found.ascending is True


def first_row_out_of_order(node: PlannerNode, position: int) -> int | None:
    """Return the number of the first row whose value is below the one before it, if the rows are in a source known not to be in order."""
    while isinstance(operator := node.operator, (Project, Zip)):
        if isinstance(operator, Project):
            node, position = node.inputs[0], operator.positions[position]
        else:
            node, position = part_of_zip(node, position)
    found = source_statistics(node, position)
    if found is None or found.ascending is not False or not isinstance(node.operator, Source):
        return None
    lookup = Lookup.of(node.operator)
    for start, stop in pairwise(lookup.starts.tolist()):
        before = max(start - 1, 0)
        place = first_descent(lookup.read(before, stop, [position]).columns[0], node.schema[position])
        if place is not None:
            return int(before + place)
    return None


def part_of_zip(node: PlannerNode, position: int) -> tuple[PlannerNode, int]:
    """The input of a zip that gives a column, and the column's position there."""
    for child in node.inputs:
        if position < child.facts.width:
            return child, position
        position -= child.facts.width
    raise IndexError(position)


def source_statistics(node: PlannerNode, position: int) -> ColumnStatistics | None:
    """What a source records about a column, or shows at a glance; None when the node is no such source."""
    operator = node.operator
    if isinstance(operator, SegmentSource):
        return dataset_statistics(operator.manifest)[operator.positions[position]]
    column_type = node.schema[position]
    if isinstance(operator, MemorySource):
        column: pa.Array = operator.with_columns([position]).read(0, operator.stop - operator.start).columns[0]
        if column_type.is_zoned:
            column, column_type = pc.struct_field(column, "instant"), DATETIME
        return column_statistics(column, column_type) if has_order_statistics(column_type) else None
    return None


def ascending_by(node: PlannerNode, position: int) -> PlannerNode:
    """Return the rows in ascending order of a column: the node itself where that is known, otherwise sorted (ties keep their order)."""
    return node if known_ascending(node, position) else sort_rows(node, [(position, True)])
