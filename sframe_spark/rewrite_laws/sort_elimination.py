"""Laws of sorts, and of other operators whose result follows from the order of rows.

Rows are not sorted if they are in order already (perhaps up to ties, or in reverse), or if their order is not observed. Two sorts become one. Users'
functions are called after a sort instead of before it. Other laws remove reversals, assumed orders, running extremes of ordered columns, and
repeated shifts.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.expressions.scalar_function_program import Register
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import Reverse, SliceRows, reverse, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import AssumeOrder, Sort, SuffixSort, TopRows, sort_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.shift import Shift, shift_rows
from sframe_spark.order.properties import requirement
from sframe_spark.planner.graph_traversal import fold, postorder, runs_as_kernels
from sframe_spark.planner.law import law
from sframe_spark.planner.length_and_order_inference import is_in_order, observed_nodes, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import for_adjacent_groups, one_value_per_group
from sframe_spark.types import DATETIME, INT


@law("sort(x, by) = x where x is in that order", stage="pushdown", on="sort")
def sort_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Rows that are known to be in order are not sorted."""
    assert isinstance(node.operator, Sort)
    child = node.inputs[0]
    return child if is_in_order(child, node.operator.by) else None


@law("sort(x, by) = suffix_sort(x, by) where x is in the order of the first of by", stage="pushdown", on="sort")
def sort_of_partly_sorted(node: PlannerNode) -> PlannerNode | None:
    """Rows that are in order up to ties are only sorted within each run of ties."""
    assert isinstance(node.operator, Sort)
    child, by = node.inputs[0], node.operator.by
    order = properties_of(child).order
    sorted_prefix = order.satisfied_length(requirement(by))
    if not 0 < sorted_prefix < len(by) or not runs_as_kernels(child):
        return None
    if all(order.is_constant(position) for position, _ in by[:sorted_prefix]):
        return None
    return SuffixSort(by, sorted_prefix).make_planner_node(child)


@law("top_rows(x, by, n) = slice(x, 0, n) where x is in that order", stage="pushdown", on="top_rows")
def top_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """The top rows of rows in order are their first rows."""
    assert isinstance(node.operator, TopRows)
    child = node.inputs[0]
    return slice_rows(child, 0, node.operator.rows) if is_in_order(child, node.operator.by) else None


@law("sort(sort(x, a), b) = sort(x, b then a)", stage="pushdown", on="sort")
def sort_of_sort(node: PlannerNode) -> PlannerNode | None:
    """A stable sort keeps the order of the sort before it among ties, so both become one sort."""
    child = node.inputs[0]
    if not isinstance(child.operator, Sort) or not isinstance(node.operator, Sort):
        return None
    sorted_columns = {position for position, _ in node.operator.by}
    rest = tuple(item for item in child.operator.by if item[0] not in sorted_columns)
    return Sort((*node.operator.by, *rest)).make_planner_node(child.inputs[0])


@law("sort(f(x), by columns of x) = f(sort(x))", stage="pushdown", on=("sort", "top_rows"), alone=True)
def sort_below_rowwise(node: PlannerNode) -> PlannerNode | None:
    """A user function is called after sorting (and dropping rows), if the order does not depend on its result."""
    child = node.inputs[0]
    assert isinstance(node.operator, (Sort, TopRows))
    if not isinstance(child.operator, GeneralizedTransform) or not child.operator.computation.may_call_python:
        return None
    program = child.operator.computation
    by = []
    for position, ascending in node.operator.by:
        output = program.outputs[position]
        if not isinstance(output, Register) or output.index >= program.width:
            return None
        by.append((output.index, ascending))
    rows = attrs.evolve(node.operator, by=tuple(by)).make_planner_node(child.inputs[0])
    return child.with_inputs([rows])


def full_sort(node: PlannerNode) -> PlannerNode | None:
    """Return a full sort in place of a suffix sort, to be used if too many rows tie in the columns that are in order; None for any other node."""
    return Sort(node.operator.by).make_planner_node(*node.inputs) if isinstance(node.operator, SuffixSort) else None


@law("f(reordered(x)) = f(x) where nobody observes the order", stage="order", whole_graph=True)
def unobserved_order(root: PlannerNode) -> PlannerNode | None:
    """A sort, or another operator that only reorders rows, is dropped if no result depends on the order."""
    reordering = {id(node) for node in postorder([root]) if node.operator.row_choice is RowChoice.REORDER}
    unobserved = reordering - observed_nodes(root) if reordering else set()
    if not unobserved:
        return None

    def rewritten(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        return inputs[0] if id(node) in unobserved else node.with_inputs(inputs)

    return fold([root], rewritten)[id(root)]


@law("sort(x, by) = reverse(x) where x backwards is in that order and no rows tie", stage="pushdown", on="sort")
def sort_of_reversed(node: PlannerNode) -> PlannerNode | None:
    """Rows in the opposite order are read backwards instead of sorted."""
    assert isinstance(node.operator, Sort)
    child, by = node.inputs[0], node.operator.by
    if not runs_as_kernels(child) or not is_reversed(child, by):
        return None
    return reverse(child)


@law("sort(x, by) = suffix_sort(reverse(x), by then row number) where x backwards is in the order of the first of by", stage="pushdown", on="sort")
def sort_of_partly_reversed(node: PlannerNode) -> PlannerNode | None:
    """Rows in the opposite order up to ties are read backwards, and each run of ties is sorted. Rows equal in all sort columns keep their order."""
    assert isinstance(node.operator, Sort)
    child = node.inputs[0]
    if not runs_as_kernels(child) or is_reversed(child, node.operator.by):
        return None
    return sorted_backwards(child, node.operator.by)


@law("top_rows(x, by, n) = slice(sort(x, by), 0, n) where x backwards is in the order of by", stage="pushdown", on="top_rows")
def top_of_reversed(node: PlannerNode) -> PlannerNode | None:
    """The top rows of rows in the opposite order are the last rows. The number of rows must be known, so that only the last rows are read."""
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
    """If rows with equal keys are adjacent but not in key order, they are grouped in one pass, and then only the groups are sorted."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not runs_as_kernels(child) or not one_value_per_group(child, operator.keys):
        return None
    if properties_of(child).order.satisfies_set(operator.keys) is None or is_in_order(child, [(key, True) for key in operator.keys]):
        return None
    groups = GroupByOfAdjacentEqualKeys(operator.keys, for_adjacent_groups(child, operator.keys, operator.aggregations)).make_planner_node(child)
    return sort_rows(groups, [(position, True) for position in range(len(operator.keys))])


@law("reverse(reverse(x)) = x", stage="pushdown", on="reverse")
def reverse_of_reverse(node: PlannerNode) -> PlannerNode | None:
    """Rows reversed twice are in their original order."""
    child = node.inputs[0]
    return child.inputs[0] if isinstance(child.operator, Reverse) else None


@law("slice(reverse(x), a, b) = reverse(slice(x, n - b, n - a)) where x has n rows", stage="pushdown", on="slice")
def slice_below_reverse(node: PlannerNode) -> PlannerNode | None:
    """Only the rows of the slice are read backwards."""
    child, rows = node.inputs[0], node.inputs[0].length.rows
    assert isinstance(node.operator, SliceRows)
    if not isinstance(child.operator, Reverse) or rows is None or node.operator.step != 1:
        return None
    start = min(node.operator.start, rows)
    stop = rows if node.operator.stop is None else max(start, min(node.operator.stop, rows))
    return reverse(slice_rows(child.inputs[0], rows - stop, rows - start))


def is_reversed(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> bool:
    """Return whether a node's rows, read backwards, are in the order of ``by``, and no rows tie in it."""
    order = properties_of(node).order
    return order.reverse().satisfies(requirement(by)) and order.has_key([position for position, _ in by])


def sorted_backwards(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> PlannerNode | None:
    """Return a node's rows in the order of ``by``: rows are read backwards, and each run of rows that tie in the first of these columns is sorted.

    Return None if the rows are not known to be in the reverse order of the first column, if they are also in its order, or if all of them tie.
    """
    order = properties_of(node).order
    sorted_prefix = order.reverse().satisfied_length(requirement(by))
    if not sorted_prefix or order.satisfied_length(requirement(by)) or all(order.is_constant(position) for position, _ in by[:sorted_prefix]):
        return None
    rows, width = node.length.rows, node.facts.width
    # If the number of rows is known, row numbers are computed without reading rows.
    numbers = row_number(node) if rows is None else range_source(0, rows)
    backwards = reverse(zip_columns(node, numbers))
    ordered = SuffixSort((*by, (width, True)), sorted_prefix).make_planner_node(backwards)
    return project(ordered, list(range(width)))


@law("assume_order(x, by) = x where x is in that order", stage="pushdown", on="assume_order")
def promise_of_known(node: PlannerNode) -> PlannerNode | None:
    """The assumption that rows are in an order is dropped if they are known to be in it."""
    assert isinstance(node.operator, AssumeOrder)
    child = node.inputs[0]
    return child if is_in_order(child, node.operator.by) else None


# Floats are left out: -0.0 and 0.0 tie although they are different values.
ORDERED = (INT, DATETIME)


@law("cumulative(x, max) = x where x ascends", stage="pushdown", on="cumulative")
def maximum_of_ascending(node: PlannerNode) -> PlannerNode | None:
    """In ascending order each value is the largest so far. Missing values come first, and the result for them is missing too."""
    child = node.inputs[0]
    assert isinstance(node.operator, Cumulative)
    is_maximum = node.operator == Cumulative("max") and child.schema[0] in ORDERED and is_in_order(child, [(0, True)])
    return child if is_maximum else None


@law("cumulative(x, min) = x where x descends and is never missing", stage="pushdown", on="cumulative")
def minimum_of_descending(node: PlannerNode) -> PlannerNode | None:
    """In descending order each value is the smallest so far. Missing values come last and would get the value before them, so there must be none."""
    child = node.inputs[0]
    assert isinstance(node.operator, Cumulative)
    if node.operator != Cumulative("min") or child.schema[0] not in ORDERED or not is_in_order(child, [(0, False)]):
        return None
    return child if properties_of(child).order.is_not_null(0) else None


@law("shift(shift(x, a), b) = shift(x, a + b) where both move values one way", stage="pushdown", on="shift")
def shift_of_shift(node: PlannerNode) -> PlannerNode | None:
    """Two shifts in one direction with the same fill value become one. In opposite directions they cannot: values shifted out do not come back."""
    child = node.inputs[0]
    if not isinstance(node.operator, Shift) or not isinstance(child.operator, Shift):
        return None
    first, second = child.operator, node.operator
    if first.fill != second.fill or first.rows * second.rows < 0:
        return None
    return shift_rows(child.inputs[0], first.rows + second.rows, first.fill)
