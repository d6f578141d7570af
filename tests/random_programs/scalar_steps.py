"""Random steps of the element-wise operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.expressions.scalar_function_program import Literal, Operand, Program, Register, Step
from sframe_spark.operators import elementwise
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from tests.random_programs.growth import Growth

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
ARITHMETIC = ("add", "subtract", "multiply")
DIVISIONS = ("divide", "floor_divide")
ANY_KIND = ("int", "float", "str", "datetime")


@attrs.frozen
class Apply:
    """A scalar function with its static parameters, and whether it shows the sign of a zero."""

    function: str
    parameters: tuple[Any, ...] = ()
    divides: bool = False


def unary_calls(column_type: ColumnType) -> list[Apply]:
    """Functions of one column of a type."""
    calls = [Apply("is_missing"), Apply("is_not_missing")]
    if column_type.is_numeric:
        calls += [Apply("negate"), Apply("absolute"), Apply("positive"), Apply("truth")]
        calls += [
            Apply("fill_missing", (9,)),
            Apply("clip", (0, 3)),
            Apply("clip", (None, 1.5)),
            Apply("cast", (FLOAT, False)),
        ]
    if column_type == INT:
        calls += [Apply("cast", (STR, False)), Apply("is_in", ((1, 2, None),))]
    if column_type == FLOAT:
        calls = [call for call in calls if call.function != "fill_missing"] + [
            Apply("fill_missing", (0.75,)),
            Apply("cast", (INT, False)),
        ]
    if column_type == STR:
        calls += [Apply("truth"), Apply("fill_missing", ("none",)), Apply("is_in", (("x", "a4"),))]
    return calls


def binary_calls(first: ColumnType, second: ColumnType) -> list[Apply]:
    """Functions of two columns of these types."""
    calls = [Apply("coalesce")] if first == second else []
    if first.is_numeric and second.is_numeric:
        calls += [Apply(name) for name in (*COMPARISONS, *ARITHMETIC, "and_", "or_")]
        calls += [Apply(name, divides=True) for name in DIVISIONS]
        return [*calls, Apply("modulo", divides=True)] if first == second == INT else calls
    if first == second == STR:
        return [*calls, *[Apply(name) for name in (*COMPARISONS, "add", "and_", "or_")]]
    return [*calls, *[Apply(name) for name in COMPARISONS]] if first == second == DATETIME else calls


def random_literal(growth: Growth, column_type: ColumnType) -> Literal:
    """A constant that goes with a column."""
    if column_type == STR:
        return Literal(growth.choose.choice(("x", "a4", "")), STR)
    if column_type == FLOAT or growth.choose.random() < 0.2:
        return Literal(growth.choose.choice((0.5, 2.0, -1.25)), FLOAT)
    return Literal(growth.choose.choice((2, 3, 1, 0, -1)), INT)


def transform_column(growth: Growth) -> PlannerNode | None:
    """A function of one column, or of a column and a constant on either side."""
    column = growth.any_column(ANY_KIND, growth.comparable)
    if column is None:
        return None
    column_type = column[0].schema[column[1]]
    if column_type == DATETIME or growth.choose.random() < 0.4:
        call = growth.choose.choice(unary_calls(column_type))
        return growth.add(elementwise.apply_function(call.function, growth.single(column), parameters=call.parameters))
    literal = random_literal(growth, column_type)
    flipped = growth.choose.random() < 0.3
    pair = (literal.type, column_type) if flipped else (column_type, literal.type)
    call = growth.choose.choice(binary_calls(*pair))
    if call.divides and not growth.computable(*column):
        return None
    node = growth.single(column)
    arguments: list[PlannerNode | Literal] = [literal, node] if flipped else [node, literal]
    return growth.add(elementwise.apply_function(call.function, *arguments, parameters=call.parameters))


def transform_two(growth: Growth) -> PlannerNode | None:
    """A function of two columns of one number of rows."""
    first = growth.any_column(ANY_KIND, growth.comparable)
    second = first and growth.aligned(growth.rows(first[0]), ANY_KIND, growth.comparable)
    if first is None or second is None:
        return None
    calls = binary_calls(first[0].schema[first[1]], second[0].schema[second[1]])
    if not calls:
        return None
    call = growth.choose.choice(calls)
    if call.divides and not (growth.computable(*first) and growth.computable(*second)):
        return None
    return growth.add(elementwise.apply_function(call.function, growth.single(first), growth.single(second), parameters=call.parameters))


def choose_between(growth: Growth) -> PlannerNode | None:
    """One of two columns by a third."""
    condition = growth.any_column(("int",), growth.comparable)
    if condition is None:
        return None
    length = growth.rows(condition[0])
    first = growth.aligned(length, ANY_KIND, growth.comparable)
    assert first is not None
    wanted = first[0].schema[first[1]]
    second = growth.aligned(length, [wanted.kind], lambda node, place: node.schema[place] == wanted)
    assert second is not None
    return growth.add(elementwise.apply_function("if_else", *[growth.single(column) for column in (condition, first, second)]))


def run_program(growth: Growth) -> PlannerNode | None:
    """One to four functions over the columns of a node, some reading what others gave."""
    node = growth.any_node(lambda node: node.facts.width > 0)
    if node is None:
        return None
    width = node.facts.width
    program = Program(width, (), tuple(Register(position) for position in range(width)))
    for _ in range(growth.choose.randint(1, 4)):
        program = _with_step(growth, node, program) or program
    count = growth.choose.randint(1, 3)
    outputs = tuple(growth.choose.choice(program.outputs) for _ in range(count))
    if growth.choose.random() < 0.2:
        outputs = (*outputs, Literal(1, INT))
    return growth.add(elementwise.apply_program(node, Program(width, program.steps, outputs)))


def _with_step(growth: Growth, node: PlannerNode, program: Program) -> Program | None:
    """The program with one more function; its outputs are all registers."""
    so_far = elementwise.apply_program(node, program)
    usable = [place for place, column_type in enumerate(so_far.schema) if column_type.kind in ANY_KIND and growth.comparable(so_far, place)]
    if not usable:
        return None
    operands, types = _operands(growth, so_far, usable)
    calls = binary_calls(*types) if len(types) == 2 else unary_calls(types[0])
    calls = [call for call in calls if not call.divides]
    if not calls:
        return None
    call = growth.choose.choice(calls)
    step = Step(call.function, operands, call.parameters)
    register = Register(program.width + len(program.steps))
    return Program(program.width, (*program.steps, step), (*program.outputs, register))


def _operands(growth: Growth, so_far: PlannerNode, usable: Sequence[int]) -> tuple[tuple[Operand, ...], list[ColumnType]]:
    first = growth.choose.choice(usable)
    column_type = so_far.schema[first]
    if growth.choose.random() < 0.3 or column_type == DATETIME:
        return (Register(first),), [column_type]
    if growth.choose.random() < 0.5:
        literal = random_literal(growth, column_type)
        return (Register(first), literal), [column_type, literal.type]
    second = growth.choose.choice(usable)
    return (Register(first), Register(second)), [column_type, so_far.schema[second]]
