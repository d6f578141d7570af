"""Laws that merge slices, push them down, and turn the first or last rows of a sort into top rows, so that fewer rows are computed and sorted."""

from __future__ import annotations

from sframe_spark.operators.row_selection import SliceRows, reverse, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort, TopRows
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.operator_declarations import RowChoice

# Slices of a sort become top rows up to this many rows: Spark finds top rows in one task, so for more rows sorting all rows is faster.
MAX_TOP_ROWS = 100_000


def bounds(node: PlannerNode) -> tuple[int, int | None, int]:
    """Return start, stop and step of a slice."""
    rows = node.operator.row_range
    assert rows is not None
    return rows.start, rows.stop, rows.step


@law("slice(slice(x, a), b) = slice(x, b of a)", stage="pushdown", on="slice")
def slice_of_slice(node: PlannerNode) -> PlannerNode | None:
    """Two slices become one."""
    child = node.inputs[0]
    if child.operator.row_range is None:
        return None
    start, stop, step = bounds(node)
    first, last, stride = bounds(child)
    begin = first + start * stride
    ends = [end for end in (last, None if stop is None else first + stop * stride) if end is not None]
    return slice_rows(child.inputs[0], begin, max(min(ends), begin) if ends else None, stride * step)


@law("slice(source) = source of those rows", stage="pushdown", on="slice")
def slice_into_source(node: PlannerNode) -> PlannerNode | None:
    """A slice of a source becomes a source with fewer rows."""
    source = node.inputs[0].operator
    start, stop, step = bounds(node)
    rows = node.inputs[0].length.rows
    if not isinstance(source, Source) or step != 1 or rows is None:
        return None
    last = rows if stop is None else min(stop, rows)
    narrowed = source.rows_between(min(start, rows), max(last, min(start, rows)))
    return None if narrowed is None else narrowed.make_planner_node()


@law("slice(rowwise(x)) = rowwise(slice(x))", stage="pushdown", on="slice", alone=True)
def slice_below_rowwise(node: PlannerNode) -> PlannerNode | None:
    """Row-wise operators compute only the rows of the slice."""
    child = node.inputs[0]
    if not child.operator.row_wise or not child.inputs:
        return None
    return child.with_inputs([slice_rows(item, *bounds(node)) for item in child.inputs])


@law("slice(running(x), 0, n) = running(slice(x, 0, n))", stage="pushdown", on="slice", alone=True)
def head_below_sequential(node: PlannerNode) -> PlannerNode | None:
    """The first results of a running computation depend only on the first rows."""
    child = node.inputs[0]
    start, stop, step = bounds(node)
    is_running = isinstance(child.operator, SequentialOperator) and child.operator.keeps_domain
    if not is_running or start != 0 or step != 1 or len(child.inputs) != 1:
        return None
    return child.with_inputs([slice_rows(child.inputs[0], 0, stop)])


@law("slice(append(x, y)) = append(slice(x), slice(y))", stage="pushdown", on="slice")
def slice_across_append(node: PlannerNode) -> PlannerNode | None:
    """Each input is sliced to its part of the rows; inputs outside of the slice are dropped."""
    child = node.inputs[0]
    start, stop, step = bounds(node)
    lengths = [item.length.rows for item in child.inputs]
    if child.operator.row_choice is not RowChoice.UNITE or step != 1 or any(rows is None for rows in lengths):
        return None
    slices, before = [], 0
    # Equal slices of one input become one node, so that a frame appended to itself is still computed once.
    sliced: dict[tuple[int, int, int], PlannerNode] = {}
    for item, rows in zip(child.inputs, lengths, strict=True):
        assert rows is not None
        first = min(max(start - before, 0), rows)
        last = rows if stop is None else min(max(stop - before, first), rows)
        if last > first:
            key = (id(item), first, last)
            sliced[key] = sliced.get(key) or slice_rows(item, first, last)
            slices.append(sliced[key])
        before += rows
    if not slices:
        return slice_rows(child.inputs[0], 0, 0)
    return slices[0] if len(slices) == 1 else child.operator.make_planner_node(*slices)


@law("slice(sort(x, by), 0, n) = top_rows(x, by, n)", stage="pushdown", on="slice", alone=True)
def head_of_sort(node: PlannerNode) -> PlannerNode | None:
    """The first rows in an order need no complete sort."""
    child = node.inputs[0]
    start, stop, step = bounds(node)
    if not isinstance(child.operator, Sort) or stop is None or stop > MAX_TOP_ROWS or step != 1:
        return None
    top = TopRows(child.operator.by, stop).make_planner_node(child.inputs[0])
    return top if start == 0 else slice_rows(top, start, stop)


@law("slice(x, all) = x", stage="pushdown", on="slice")
def slice_of_all(node: PlannerNode) -> PlannerNode | None:
    """A slice of all rows is dropped."""
    start, stop, step = bounds(node)
    rows = node.inputs[0].length.rows
    whole = stop is None or (rows is not None and stop >= rows)
    return node.inputs[0] if start == 0 and step == 1 and whole else None


@law(
    "slice(sort(x, by), a, b) = reverse(slice(top_rows(reverse(x), by backwards, n - a), n - b, n - a)) of n rows",
    stage="pushdown",
    on="slice",
    alone=True,
)
def last_rows_of_sort(node: PlannerNode) -> PlannerNode | None:
    """The last rows in an order are the first rows in the opposite order. The input is reversed too, so that ties keep their order."""
    assert isinstance(node.operator, SliceRows)
    child = node.inputs[0]
    rows, start = child.length.rows, node.operator.start
    if not isinstance(child.operator, Sort) or rows is None or node.operator.step != 1:
        return None
    stop = rows if node.operator.stop is None else min(node.operator.stop, rows)
    if start >= stop or rows - start >= stop or rows - start > MAX_TOP_ROWS:
        return None
    backwards = tuple((position, not up) for position, up in child.operator.by)
    last = TopRows(backwards, rows - start).make_planner_node(reverse(child.inputs[0]))
    return reverse(slice_rows(last, rows - stop, rows - start))
