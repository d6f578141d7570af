"""Laws that use rows in opposite order: they are read backwards, or grouped as they stand and the groups put in order."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.laws.algorithm_choice import in_runs, one_value_per_group
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.slice import SliceRows, slice_rows
from sframe_spark.operators.sort import Reverse, Sort, SuffixSort, TopRows, reverse, sort_rows
from sframe_spark.operators.sources.generated import range_source
from sframe_spark.order.properties import requirement
from sframe_spark.planner.graph import runs_as_kernels
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("sort(x, by) = reverse(x) where x backwards is in that order and no rows tie", stage="pushdown", on="sort")
def sort_of_reversed(node: PlannerNode) -> PlannerNode | None:
    """Rows in opposite order are read backwards."""
    assert isinstance(node.operator, Sort)
    child, by = node.inputs[0], node.operator.by
    if not runs_as_kernels(child) or not is_reversed(child, by):
        return None
    return reverse(child)


@law("sort(x, by) = suffix_sort(reverse(x), by then row number) where x backwards is in the order of the first of by", stage="pushdown", on="sort")
def sort_of_partly_reversed(node: PlannerNode) -> PlannerNode | None:
    """Rows in opposite order up to ties are read backwards, and ties put in order: in that of the input where all columns tie."""
    assert isinstance(node.operator, Sort)
    child = node.inputs[0]
    if not runs_as_kernels(child) or is_reversed(child, node.operator.by):
        return None
    return sorted_backwards(child, node.operator.by)


@law("top_rows(x, by, n) = slice(sort(x, by), 0, n) where x backwards is in the order of by", stage="pushdown", on="top_rows")
def top_of_reversed(node: PlannerNode) -> PlannerNode | None:
    """The first rows of rows in opposite order are the last ones; no others are read when they can be counted from the end."""
    assert isinstance(node.operator, TopRows)
    child, by = node.inputs[0], node.operator.by
    if child.length.rows is None or not runs_as_kernels(child):
        return None
    if not properties_of(child).order.reverse().satisfies(requirement(by)):
        return None
    ordered = reverse(child) if is_reversed(child, by) else sorted_backwards(child, by)
    return None if ordered is None else slice_rows(ordered, 0, node.operator.rows)


@law("group_by(x, k) = sort(streaming_group_by(x, k), k) where equal keys are neighbours", stage="pushdown", on="group_by")
def group_by_of_neighbours(node: PlannerNode) -> PlannerNode | None:
    """Rows in another order of the keys are grouped as they stand; it is the groups that are put in order, if anyone looks."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not runs_as_kernels(child) or not one_value_per_group(child, operator.keys):
        return None
    known = properties_of(child).order
    ascending = [(place, True) for place in range(len(operator.keys))]
    if known.satisfies_set(operator.keys) is None or known.satisfies(requirement([(key, True) for key in operator.keys])):
        return None
    groups = StreamingGroupBy(operator.keys, in_runs(child, operator.keys, operator.aggregations)).make_planner_node(child)
    return sort_rows(groups, ascending)


@law("reverse(reverse(x)) = x", stage="pushdown", on="reverse")
def reverse_of_reverse(node: PlannerNode) -> PlannerNode | None:
    """Rows that are turned round twice stand as they stood: ranges are read forwards."""
    child = node.inputs[0]
    return child.inputs[0] if isinstance(child.operator, Reverse) else None


@law("slice(reverse(x), a, b) = reverse(slice(x, n - b, n - a)) where x has n rows", stage="pushdown", on="slice")
def slice_below_reverse(node: PlannerNode) -> PlannerNode | None:
    """Only the rows asked for are read backwards."""
    child, rows = node.inputs[0], node.inputs[0].length.rows
    assert isinstance(node.operator, SliceRows)
    if not isinstance(child.operator, Reverse) or rows is None or node.operator.step != 1:
        return None
    start = min(node.operator.start, rows)
    stop = rows if node.operator.stop is None else max(start, min(node.operator.stop, rows))
    return reverse(slice_rows(child.inputs[0], rows - stop, rows - start))


def is_reversed(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> bool:
    """True when a node's rows backwards are in an order in which no two rows tie."""
    known = properties_of(node).order
    return known.reverse().satisfies(requirement(by)) and known.has_key([position for position, _ in by])


def sorted_backwards(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> PlannerNode | None:
    """A node's rows read backwards, those that tie then put in order; None where that would be all of them."""
    known = properties_of(node).order
    held = known.reverse().satisfied_length(requirement(by))
    if not held or known.satisfied_length(requirement(by)) or all(known.is_constant(position) for position, _ in by[:held]):
        return None
    rows, width = node.length.rows, node.facts.width
    # Where rows are counted their numbers need no pass over them.
    numbers = row_number(node) if rows is None else range_source(0, rows)
    backwards = reverse(zip_columns(node, numbers))
    ordered = SuffixSort((*by, (width, True)), held).make_planner_node(backwards)
    return project(ordered, list(range(width)))
