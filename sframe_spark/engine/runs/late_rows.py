"""First rows in some order, chosen by the columns of that order: the others are read of the rows chosen only."""

from __future__ import annotations

from sframe_spark.operators.lookups.lookup import Lookup
from sframe_spark.operators.rowwise.columns import zip_columns
from sframe_spark.operators.sources.made import range_source
from sframe_spark.operators.sources.source import SegmentSource, source_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator

# Each row chosen may cost the decoding of a block that it stands in.
MOST_ROWS, ROWS_FOR_EACH = 1_000, 10_000


def numbered_top(node: PlannerNode) -> PlannerNode | None:
    """The same rows by number: the columns that decide, and at last the row's number in the source; None where all is as well read at once."""
    operator, below = node.operator, node.inputs[0]
    source = below.operator
    if not isinstance(operator, DecomposableOperator) or not operator.chooses_rows or not isinstance(source, SegmentSource):
        return None
    rows, keys = operator.rows_of_part, operator.input_columns((), [below.facts])[0]
    if len(keys) == len(source.positions) or not 0 < rows <= MOST_ROWS or source.row_count < ROWS_FOR_EACH * rows:
        return None
    over_keys = operator.over_columns((), [keys], [below.facts])
    if over_keys is None:
        return None
    numbered = zip_columns(source.with_columns(keys).make_planner_node(), range_source(0, source.row_count))
    return over_keys[0].make_planner_node(numbered)


def rows_of(numbered: PlannerNode, source: PlannerNode) -> Chunk:
    """All columns of the rows that were found by number."""
    numbers = source_of(numbered).read_all().columns[-1].to_numpy(zero_copy_only=False)
    return Lookup.of(source_of(source)).take(numbers, range(source.facts.width))
