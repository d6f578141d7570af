"""Ranges where a mask is true hold every value for which it is, and where one comparison decides no other value."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import example, given, strategies as st

from sframe_spark.expressions.scalar_function_program import Literal, Operand, Program, Register, Step
from sframe_spark.operators.lookup.key_numbers_and_group_codes import key_numbers
from sframe_spark.planner.chunk import Chunk
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import ValueRanges, intersection, mask_ranges, union
from sframe_spark.storage.segments.pruning import Bounds
from sframe_spark.types import DATETIME, FLOAT, INT, ZONED_DATETIME, ColumnType
from tests.random_tables import column_array

DAY = datetime.datetime(2024, 1, 1)
INTS = st.one_of(st.integers(-9, 9), st.sampled_from([2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]), st.integers(-(2**63), 2**63 - 1))
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 0.1, 0.5, -3.0, 1e16, 5e-324, math.inf, -math.inf]), st.floats(allow_nan=False))
MOMENTS = st.integers(-2000, 2000).map(lambda hours: DAY + datetime.timedelta(hours=hours))
ZONED_MOMENTS = MOMENTS.map(lambda moment: moment.replace(tzinfo=datetime.UTC))
VALUES: dict[ColumnType, st.SearchStrategy[Any]] = {INT: INTS, FLOAT: FLOATS, DATETIME: MOMENTS, ZONED_DATETIME: ZONED_MOMENTS}
COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal")
ON_NUMBERS = ("negate", "cast", "absolute", "add", "subtract", "multiply", "divide", "floor_divide", "greater", "add", "multiply")
ONE_LIMIT = ("equal", "less_equal", "greater_equal")


def literals(column_type: ColumnType) -> st.SearchStrategy[Literal]:
    """Constants of a type."""
    return VALUES[column_type].map(lambda value: Literal(value, column_type))


@st.composite
def steps(draw: Any, place: int, column_type: ColumnType) -> tuple[Step, ColumnType]:
    """A step over a register of a type, and the type of its result; many, not all, follow the register."""
    register: Operand = Register(place)
    if column_type.kind == "datetime":
        if draw(st.booleans()):
            name = draw(st.sampled_from(["add", "subtract", "add_duration"]))
            amount = draw(st.sampled_from([Literal(90, INT), Literal(3600 * 10**6, INT), Literal(-0.5, FLOAT)][: 2 + (name != "add_duration")]))
            return Step(name, (register, amount)), column_type
        operands = draw(st.permutations([register, draw(literals(column_type))]))
        return Step("subtract", tuple(operands)), FLOAT
    name = draw(st.sampled_from(ON_NUMBERS))
    if name in ("negate", "absolute"):
        return Step(name, (register,)), column_type
    if name == "cast":
        return Step("cast", (register,), (FLOAT, False)), FLOAT
    literal = draw(st.one_of(literals(INT), literals(FLOAT)))
    operands = [register, literal] if name == "floor_divide" else draw(st.permutations([register, literal]))
    both_ints = column_type == literal.type == INT
    result = INT if name == "greater" or (both_ints and name != "divide") else FLOAT
    return Step(name, tuple(operands)), result


@st.composite
def chains(draw: Any) -> tuple[ColumnType, Program, ColumnType]:
    """A column's type, up to three steps one after the other, and the type of the last one's result."""
    column_type = result = draw(st.sampled_from(list(VALUES)))
    found: list[Step] = []
    for place in range(draw(st.integers(0, 3))):
        step, result = draw(steps(place, result))
        found.append(step)
    return column_type, Program(1, tuple(found), (Register(len(found)),)), result


@st.composite
def masks(draw: Any) -> tuple[ColumnType, Program, list[Any], bool]:
    """A column's type, a mask over what is computed of it, some values, and whether the ranges must be no wider than the mask."""
    column_type, chain, result = draw(chains())
    compared, found = chain.outputs[0], list(chain.steps)
    comparisons: list[Operand] = []
    names = draw(st.lists(st.sampled_from([*COMPARISONS, "is_in"]), min_size=1, max_size=3))
    known = INT if result == INT else FLOAT if result == FLOAT else result
    for name in names:
        wanted = draw(st.lists(VALUES[known], min_size=1, max_size=3))
        step = Step("is_in", (compared,), (tuple(wanted),)) if name == "is_in" else Step(name, (compared, Literal(wanted[0], known)))
        found.append(step)
        comparisons.append(Register(len(found)))
    mask = comparisons[0]
    for other in comparisons[1:]:
        found.append(Step(draw(st.sampled_from(["and_", "or_"])), (mask, other)))
        mask = Register(len(found))
    values = draw(st.lists(VALUES[column_type], min_size=1, max_size=12))
    strange = [None, math.nan] if column_type == FLOAT else [None]
    return column_type, Program(1, tuple(found), (mask,)), [*values, *strange], all(name in ONE_LIMIT for name in names)


def is_within(number: Any, ranges: ValueRanges) -> bool:
    """Whether a number lies in one of some ranges."""
    return any((low is None or number >= low) and (high is None or number <= high) for low, high in ranges)


def checked(column_type: ColumnType, program: Program, values: list[Any], exact: bool) -> ValueRanges | None:
    """The ranges of a mask, after comparing them with the mask itself at each value."""
    column = column_array(values, column_type)
    numbers, there = key_numbers(column, column_type)
    present = numbers[there].tolist()
    bounds: Bounds = (min(present), max(present))
    found = mask_ranges(program, (column_type,), lambda _: bounds)
    if 0 not in found:
        return None
    try:
        mask = pc.fill_null(pc.not_equal(program.run(Chunk.of([column]), (column_type,)).columns[0], 0), False).to_pylist()
    except RuntimeError:
        # A shifted key that leaves its type is an error, whatever is read.
        return found[0]
    for number, known, wanted in zip(numbers.tolist(), there.tolist(), mask, strict=True):
        assert not wanted or (known and is_within(number, found[0])), (number, found[0])
        assert wanted or not exact or not known or not is_within(number, found[0]), (number, found[0])
    return found[0]


def compared(
    column_type: ColumnType, function: str, constant: Literal, comparison: str, limit: int, values: list[Any]
) -> tuple[ColumnType, Program, list[Any], bool]:
    """One step whose result is compared, as :func:`masks` gives it."""
    found = (Step(function, (Register(0), constant)), Step(comparison, (Register(1), Literal(limit, INT))))
    return column_type, Program(1, found, (Register(2),)), values, True


@given(masks())
@example(compared(INT, "add", Literal(1, INT), "less_equal", -5, [2**63 - 1, 0]))
@example(compared(FLOAT, "multiply", Literal(0, INT), "equal", 0, [math.inf, 1.0]))
@example(compared(FLOAT, "greater", Literal(3, INT), "equal", 0, [1.0, math.nan]))
def test_ranges_hold_the_values_where_a_mask_is_true(case: tuple[ColumnType, Program, list[Any], bool]) -> None:
    checked(*case)


KNOWN: dict[str, tuple[ColumnType, Step, Any, list[Any], ValueRanges | None]] = {
    "a sum that wraps around": (INT, Step("add", (Register(0), Literal(1, INT))), 5, [4, 2**63 - 1], None),
    "a sum that does not": (INT, Step("add", (Register(0), Literal(1, INT))), 5, [4, 2**63 - 2], ((4, 4),)),
    "the opposite of the smallest int": (INT, Step("negate", (Register(0),)), 5, [-(2**63), 0], None),
    "rounded sums": (FLOAT, Step("add", (Register(0), Literal(1e16, FLOAT))), 1e16, [-9.0, 9.0], ((-1.0, 1.0),)),
    "ints that one float stands for": (INT, Step("cast", (Register(0),), (FLOAT, False)), 2.0**53, [0, 2**53 + 9], ((2**53, 2**53 + 1),)),
    "products of zero": (FLOAT, Step("multiply", (Register(0), Literal(0.0, FLOAT))), 0.0, [1.0, 2.0], None),
    "products with a constant that is missing": (INT, Step("multiply", (Register(0), Literal(None, INT))), 0, [1, 2], None),
    "an int that no int gives": (INT, Step("multiply", (Register(0), Literal(2, INT))), 7, [1, 9], ()),
    "infinite": (FLOAT, Step("multiply", (Register(0), Literal(2.0, FLOAT))), math.inf, [1.0, math.inf], ((2.0**1023, math.inf),)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_ranges_are_found_where_steps_keep_the_order(name: str) -> None:
    column_type, step, wanted, values, ranges = KNOWN[name]
    literal = Literal(wanted, INT if isinstance(wanted, int) else FLOAT)
    assert checked(column_type, Program(1, (step, Step("equal", (Register(1), literal))), (Register(2),)), values, True) == ranges


RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=6)


@given(RANGES, RANGES, st.booleans(), st.booleans())
def test_ranges_are_sets(first: list[tuple[int, int]], second: list[tuple[int, int]], below: bool, above: bool) -> None:
    one = union([*first, (None, 3)] if below else first)
    other = union([*second, (25, None)] if above else second)
    for ranges in (one, other, union([*one, *other]), intersection(one, other)):
        limits = [limit for low, high in ranges for limit in (low, high) if limit is not None]
        assert limits == sorted(limits)
    for value in range(-2, 45):
        inside = [is_within(value, one), is_within(value, other)]
        assert is_within(value, union([*one, *other])) == any(inside)
        assert is_within(value, intersection(one, other)) == all(inside)
