"""Laws of the last rows of sorted rows."""

from __future__ import annotations

from sframe_spark.laws.slice_pushdown import MOST_TOP_ROWS
from sframe_spark.operators.slice import SliceRows, slice_rows
from sframe_spark.operators.sort import Sort, TopRows, reverse
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law(
    "slice(sort(x, by), a, b) = reverse(slice(top_rows(reverse(x), by backwards, n - a), n - b, n - a)) of n rows",
    stage="pushdown",
    on="slice",
    alone=True,
)
def last_rows_of_sort(node: PlannerNode) -> PlannerNode | None:
    """The last rows in an order are the first ones in the opposite order, where ties stand the other way round too."""
    assert isinstance(node.operator, SliceRows)
    child = node.inputs[0]
    rows, start = child.length.rows, node.operator.start
    if not isinstance(child.operator, Sort) or rows is None or node.operator.step != 1:
        return None
    stop = rows if node.operator.stop is None else min(node.operator.stop, rows)
    if start >= stop or rows - start >= stop or rows - start > MOST_TOP_ROWS:
        return None
    backwards = tuple((position, not up) for position, up in child.operator.by)
    last = TopRows(backwards, rows - start).make_planner_node(reverse(child.inputs[0]))
    return reverse(slice_rows(last, rows - stop, rows - start))
