"""Laws of filters."""

from __future__ import annotations

from sframe_spark.expressions.program import Program, Register, Step
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.filter import Filter, FilterRows
from sframe_spark.operators.project import Zip, zip_columns
from sframe_spark.planner.inference import prove_equal_length
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("zip(filter(x, m), filter(y, m)) = filter(zip(x, y), m)", stage="fuse", on="zip")
def equal_masks(node: PlannerNode) -> PlannerNode | None:
    """Rows filtered by one mask stay aligned, so they are filtered once."""
    first = node.inputs[0]
    if len(node.inputs) < 2 or not all(isinstance(child.operator, Filter) for child in node.inputs):
        return None
    mask = first.inputs[1]
    if not all(child.inputs[1] is mask and prove_equal_length(child.inputs[0], first.inputs[0]) for child in node.inputs):
        return None
    return Filter().make_planner_node(zip_columns(*[child.inputs[0] for child in node.inputs]), mask)


@law("filter(x, m) = filter_rows(zip(x, m))", stage="select", on="filter")
def mask_as_column(node: PlannerNode) -> PlannerNode | None:
    """A mask is a column of the rows it filters."""
    return FilterRows().make_planner_node(Zip().make_planner_node(*node.inputs))


def mask_program(program: Program) -> Program:
    """The part of a program that computes its last output."""
    return program.pruned([len(program.outputs) - 1])


@law("filter_rows(f(x), m(x)) = f(filter_rows(x, m(x)))", stage="pushdown", on="filter_rows", alone=True)
def filter_below_rowwise(node: PlannerNode) -> PlannerNode | None:
    """A user's function is called only for rows that survive a mask that does not depend on it."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    program = child.operator.computation
    values = program.pruned(range(len(program.outputs) - 1))
    mask = mask_program(program)
    if not values.calls_python or mask.calls_python:
        return None
    width = program.width
    everything = Program(width, mask.steps, (*[Register(i) for i in range(width)], mask.outputs[0]))
    rows = FilterRows().make_planner_node(GeneralizedTransform(everything).make_planner_node(child.inputs[0]))
    return GeneralizedTransform(values).make_planner_node(rows)


@law("filter_rows(filter_rows(x, m), n) = filter_rows(x, m and n)", stage="pushdown", on="filter_rows", alone=True)
def filters_merged(node: PlannerNode) -> PlannerNode | None:
    """Two masks of expressions are one, unless computing the second fails for rows that the first leaves out."""
    outer = node.inputs[0]
    if not isinstance(outer.operator, GeneralizedTransform) or not isinstance(outer.inputs[0].operator, FilterRows):
        return None
    inner = outer.inputs[0].inputs[0]
    program = outer.operator.computation
    if program.may_fail or not isinstance(program.outputs[-1], Register):
        return None
    moved = program.with_inputs({i: i for i in range(program.width)}, inner.facts.width)
    both = Step("and_", (Register(inner.facts.width - 1), moved.outputs[-1]))
    merged = Program(moved.width, (*moved.steps, both), (*moved.outputs[:-1], Register(moved.width + len(moved.steps))))
    return FilterRows().make_planner_node(GeneralizedTransform(merged).make_planner_node(inner))
