"""First rows in some order, chosen by the columns of that order: the others are read of the rows chosen only."""

from __future__ import annotations

import attrs

from sframe_spark.operators.lookups.lookup import Lookup
from sframe_spark.operators.relational.top_rows import TopRows
from sframe_spark.operators.rowwise.columns import zip_columns
from sframe_spark.operators.sources.made import range_source
from sframe_spark.operators.sources.source import SegmentSource, source_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode

# Each row chosen may cost the decoding of a block that it stands in.
MOST_ROWS, ROWS_FOR_EACH = 1_000, 10_000


def numbered_top(node: PlannerNode) -> PlannerNode | None:
    """The same rows by number: the columns that decide, and at last the row's number in the source; None where all is as well read at once."""
    operator = node.operator
    if not isinstance(operator, TopRows) or not isinstance(node.inputs[0].operator, SegmentSource):
        return None
    source = node.inputs[0].operator
    keys = sorted({position for position, _ in operator.by})
    if len(keys) == len(source.positions) or operator.rows > MOST_ROWS or source.row_count < ROWS_FOR_EACH * operator.rows:
        return None
    numbered = zip_columns(source.with_columns(keys).make_planner_node(), range_source(0, source.row_count))
    return attrs.evolve(operator, by=tuple((keys.index(position), up) for position, up in operator.by)).make_planner_node(numbered)


def rows_of(numbered: PlannerNode, source: PlannerNode) -> Chunk:
    """All columns of the rows that were found by number."""
    numbers = source_of(numbered).read_all().columns[-1].to_numpy(zero_copy_only=False)
    return Lookup.of(source_of(source)).take(numbers, range(source.facts.width))
