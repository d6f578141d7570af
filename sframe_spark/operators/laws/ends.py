"""Laws of the first and the last rows of sorted rows."""

from __future__ import annotations

from sframe_spark.operators.laws.slices import MOST_FIRST_ROWS
from sframe_spark.operators.relational.reverse import reverse
from sframe_spark.operators.relational.rows import FilterRows, SliceRows, slice_rows
from sframe_spark.operators.relational.sort import Sort
from sframe_spark.operators.relational.top_rows import TopRows
from sframe_spark.operators.rowwise.elementwise import GeneralizedTransform, origins
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("slice(filter_rows(f(sort(x, by))), 0, n) = top_rows(filter_rows(f(x)), by, n)", stage="pushdown", on="slice")
def head_of_filtered_sort(node: PlannerNode) -> PlannerNode | None:
    """The first rows of a sort that pass a filter are the first of those that pass: the others are not sorted."""
    assert isinstance(node.operator, SliceRows)
    start, stop, rows = node.operator.start, node.operator.stop, node.inputs[0]
    if not isinstance(rows.operator, FilterRows) or stop is None or stop > MOST_FIRST_ROWS or node.operator.step != 1:
        return None
    flagged = sort = rows.inputs[0]
    copied: list[int | None] = list(range(flagged.facts.width))
    if isinstance(flagged.operator, GeneralizedTransform) and not flagged.operator.computation.calls_python:
        copied, sort = origins(flagged.operator.computation), flagged.inputs[0]
    if not isinstance(sort.operator, Sort) or any(position not in copied[:-1] for position, _ in sort.operator.by):
        return None
    by = tuple((copied.index(position), up) for position, up in sort.operator.by)
    unsorted = sort.inputs[0] if sort is flagged else flagged.with_inputs([sort.inputs[0]])
    return slice_rows(TopRows(by, stop).make_planner_node(rows.with_inputs([unsorted])), start, stop)


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
    if start >= stop or rows - start >= stop or rows - start > MOST_FIRST_ROWS:
        return None
    backwards = tuple((position, not up) for position, up in child.operator.by)
    last = TopRows(backwards, rows - start).make_planner_node(reverse(child.inputs[0]))
    return reverse(slice_rows(last, rows - stop, rows - start))
