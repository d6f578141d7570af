"""Laws of masks that are true in every row."""

from __future__ import annotations

from collections.abc import Mapping

from sframe_spark.expressions.program import Literal, Operand, Program, Register, Step
from sframe_spark.laws.fusion import computed
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.filter import FilterRows
from sframe_spark.order.properties import RelationProperties, ValueBounds
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT_KIND, INT


@law("filter_rows(f(x), m) = f(x) where m is true in every row", stage="pushdown", on="filter_rows")
def filter_of_all(node: PlannerNode) -> PlannerNode | None:
    """A test for missing values drops no rows of columns that are known to have none."""
    child = node.inputs[0]
    assert isinstance(node.operator, FilterRows)
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    program = child.operator.computation
    mask = program.outputs[-1]
    if program.calls_python or not isinstance(mask, Register) or mask.index < program.width:
        return None
    if known_flags(program, child.inputs[0].schema, properties_of(child.inputs[0])).get(mask.index) != 1:
        return None
    return computed(program.pruned(range(len(program.outputs) - 1)), child.inputs[0])


def known_flags(program: Program, schema: Schema, rows: RelationProperties) -> dict[int, int]:
    """Registers that are known to be 1, or 0, in every row: tests for missing values, and what is made of them."""
    flags: dict[int, int] = {}

    def flag(operand: Operand) -> int | None:
        if isinstance(operand, Literal):
            return operand.value if operand.type == INT and operand.value in (0, 1) else None
        return flags.get(operand.index)

    for place, step in enumerate(program.steps):
        result: int | None = None
        first = step.operands[0] if step.operands else None
        if step.function in ("is_missing", "is_not_missing") and isinstance(first, Register):
            if first.index < program.width and is_never_missing(first.index, schema, rows):
                result = int(step.function == "is_not_missing")
        elif step.function in ("and_", "or_", "equal", "truth"):
            found = [flag(operand) for operand in step.operands]
            if None not in found:
                result = {"and_": int(all(found)), "or_": int(any(found)), "equal": int(found[0] == found[-1])}.get(str(step.function), found[0])
        if result is not None:
            flags[program.width + place] = result
    return flags


def is_never_missing(column: int, schema: Schema, rows: RelationProperties) -> bool:
    """True when a column has no missing value; in floats NaN counts as one, of which bounds tell."""
    return column in rows.bounds if schema[column].kind == FLOAT_KIND else rows.order.is_not_null(column)


def never_true(program: Program, schema: Schema, rows: RelationProperties) -> bool:
    """True when a program's last output, a mask, is 0 or missing in every row: by tests for missing values, or bounds of ints and floats."""
    mask = program.outputs[-1]
    flags = known_flags(program, schema, rows)
    never: set[int] = set()
    for place, step in enumerate(program.steps):
        own = program.width + place
        registers = [operand.index for operand in step.operands if isinstance(operand, Register)]
        both = step.function == "and_" and not never.isdisjoint(registers)
        either = step.function == "or_" and len(registers) == len(step.operands) and never.issuperset(registers)
        if both or either or flags.get(own) == 0 or is_out_of_bounds(step, rows.bounds):
            never.add(own)
    return mask.value == 0 if isinstance(mask, Literal) else mask.index in never


def is_out_of_bounds(step: Step, bounds: Mapping[int, ValueBounds]) -> bool:
    """True when a comparison of a column with a number holds for no value within the column's bounds."""
    if len(step.operands) != 2 or step.function not in ("less", "less_equal", "greater", "greater_equal", "equal"):
        return False
    column, literal = step.operands
    if not isinstance(column, Register) or not isinstance(literal, Literal) or column.index not in bounds:
        return False
    (low, high), value = bounds[column.index], literal.value
    if not all(type(item) in (int, float) and item == item for item in (low, high, value)):
        return False
    return {
        "less": low >= value,
        "less_equal": low > value,
        "greater": high <= value,
        "greater_equal": high < value,
        "equal": value < low or value > high,
    }[str(step.function)]
