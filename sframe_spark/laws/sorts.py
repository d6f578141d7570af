"""Laws of sorts."""

from __future__ import annotations

import attrs

from sframe_spark.expressions.program import Register
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.slice import slice_rows
from sframe_spark.operators.sort import Sort, SuffixSort, TopRows
from sframe_spark.order.properties import requirement
from sframe_spark.planner.graph import postorder, runs_as_kernels
from sframe_spark.planner.inference import is_in_order, observed_nodes, properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("sort(x, by) = x where x is in that order", stage="pushdown", on="sort")
def sort_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Rows that are proved to be in the order asked for are not sorted."""
    assert isinstance(node.operator, Sort)
    child = node.inputs[0]
    return child if is_in_order(child, node.operator.by) else None


@law("sort(x, by) = suffix_sort(x, by) where x is in the order of the first of by", stage="pushdown", on="sort")
def sort_of_partly_sorted(node: PlannerNode) -> PlannerNode | None:
    """Rows that are in order up to ties stay in their ranges: only ties are sorted, each run on its own."""
    assert isinstance(node.operator, Sort)
    child, by = node.inputs[0], node.operator.by
    known = properties_of(child).order
    held = known.satisfied_length(requirement(by))
    if not 0 < held < len(by) or not runs_as_kernels(child):
        return None
    if all(known.is_constant(position) for position, _ in by[:held]):
        return None
    return SuffixSort(by, held).make_planner_node(child)


@law("top_rows(x, by, n) = slice(x, 0, n) where x is in that order", stage="pushdown", on="top_rows")
def top_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """The first rows of rows in order are the top rows."""
    assert isinstance(node.operator, TopRows)
    child = node.inputs[0]
    return slice_rows(child, 0, node.operator.rows) if is_in_order(child, node.operator.by) else None


@law("sort(sort(x, a), b) = sort(x, b then a)", stage="pushdown", on="sort")
def sort_of_sort(node: PlannerNode) -> PlannerNode | None:
    """A stable sort keeps the earlier order among ties."""
    child = node.inputs[0]
    if not isinstance(child.operator, Sort) or not isinstance(node.operator, Sort):
        return None
    taken = {position for position, _ in node.operator.by}
    rest = tuple(item for item in child.operator.by if item[0] not in taken)
    return Sort((*node.operator.by, *rest)).make_planner_node(child.inputs[0])


@law("sort(f(x), by columns of x) = f(sort(x))", stage="pushdown", on=("sort", "top_rows"), alone=True)
def sort_below_rowwise(node: PlannerNode) -> PlannerNode | None:
    """A user's function is called after rows are ordered (and cut), when the order does not depend on it."""
    child = node.inputs[0]
    assert isinstance(node.operator, (Sort, TopRows))
    if not isinstance(child.operator, GeneralizedTransform) or not child.operator.computation.calls_python:
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


@law("f(reordered(x)) = f(x) where nobody observes the order", stage="order", whole_graph=True)
def unobserved_order(root: PlannerNode) -> PlannerNode | None:
    """A sort, or another operator that only puts rows in another order, is left out where that order reaches no result."""
    nodes = list(postorder([root]))
    if not any(node.operator.reorders for node in nodes):
        return None
    observed = observed_nodes(root)
    if all(id(node) in observed for node in nodes if node.operator.reorders):
        return None
    values: dict[int, PlannerNode] = {}
    for node in nodes:
        if node.operator.reorders and id(node) not in observed:
            values[id(node)] = values[id(node.inputs[0])]
        else:
            values[id(node)] = node.with_inputs([values[id(child)] for child in node.inputs])
    return values[id(root)]
