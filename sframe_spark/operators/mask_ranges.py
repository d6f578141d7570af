"""Ranges outside of which no value lies where a mask is true."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sframe_spark.errors import SFrameError
from sframe_spark.operators.masks import compared_with_constant, compares_exactly
from sframe_spark.operators.program import Literal, Program, Register, Step
from sframe_spark.planner.facts import Schema
from sframe_spark.storage.pruning import Bounds
from sframe_spark.types import ColumnType, type_of_class
from sframe_spark.values.plain import plain_list
from sframe_spark.values.temporal import to_microseconds

# Of longer lists of values that are looked for, looking for the smallest and the largest may cost more than it saves.
MOST_VALUES = 10_000

Ranges = Mapping[int, Bounds]


def mask_ranges(program: Program, schema: Schema) -> Ranges:
    """Input columns and the closed ranges that their values lie in where the program's last output is true.

    Missing is not true, so a comparison with a missing value says nothing about it.
    """
    mask = program.outputs[-1]
    if not isinstance(mask, Register) or mask.index < program.width:
        return {}
    found: dict[int, Ranges] = {}
    for place, step in enumerate(program.steps):
        ranges = step_ranges(step, program.width, schema, found)
        if ranges:
            found[program.width + place] = ranges
    return found.get(mask.index, {})


def step_ranges(step: Step, width: int, schema: Schema, known: Mapping[int, Ranges]) -> Ranges:
    """Ranges of columns where a step's result is true, given those of the steps before it."""
    if step.function in ("and_", "or_", "truth"):
        sides = [known.get(operand.index, {}) if isinstance(operand, Register) else {} for operand in step.operands]
        if step.function == "truth":
            return sides[0]
        return both(*sides) if step.function == "and_" else either(*sides)
    if step.function == "is_in":
        column = step.operands[0]
        if not isinstance(column, Register) or column.index >= width:
            return {}
        bounds = bounds_of_values(step.parameters[0], schema[column.index])
        return {} if bounds is None else {column.index: bounds}
    compared = compared_with_constant(step)
    if compared is None or compared[0] >= width or not compares_exactly(compared[2], schema[compared[0]]):
        return {}
    register, name, literal = compared
    limit = as_recorded(literal.value)
    low = limit if name in ("equal", "greater", "greater_equal") else None
    high = limit if name in ("equal", "less", "less_equal") else None
    return {register: (low, high)}


def bounds_of_values(values: Any, column_type: ColumnType) -> Bounds | None:
    """Smallest and largest of some values that are looked for; None where a missing value is, or one that compares otherwise than as recorded.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> bounds_of_values((7, 3), INT), bounds_of_values((7, None), INT), bounds_of_values((0.5, "a"), INT)
    ((3, 7), None, None)
    """
    if not 0 < len(values) <= MOST_VALUES:
        return None
    try:
        cells = plain_list(values)
        if not all(compares_exactly(Literal(cell, type_of_class(type(cell))), column_type) for cell in cells):
            return None
    except (SFrameError, KeyError):
        return None
    recorded = [as_recorded(cell) for cell in cells]
    return min(recorded), max(recorded)


def as_recorded(value: Any) -> Any:
    """A value as statistics record it: date-times as microseconds of their instants."""
    return to_microseconds(value)[0] if isinstance(value, datetime) else value


def both(first: Ranges, second: Ranges) -> Ranges:
    """Ranges where two masks are true.

    Examples
    --------
    >>> both({0: (1, None)}, {0: (None, 9), 1: (5, 5)})
    {0: (1, 9), 1: (5, 5)}
    """
    result: dict[int, Bounds] = dict(first)
    for column, (low, high) in second.items():
        lower, upper = result.get(column, (None, None))
        result[column] = (limit(low, lower, max), limit(high, upper, min))
    return result


def limit(first: Any, second: Any, choose: Any) -> Any:
    """The tighter of two limits, of which None is none."""
    return second if first is None else first if second is None else choose(first, second)


def either(first: Ranges, second: Ranges) -> Ranges:
    """Ranges where at least one of two masks is true.

    Examples
    --------
    >>> either({0: (1, 2), 1: (5, 5)}, {0: (8, None)})
    {0: (1, None)}
    """
    result: dict[int, Bounds] = {}
    for column in [column for column in first if column in second]:
        (low, high), (lower, upper) = first[column], second[column]
        smallest = None if low is None or lower is None else min(low, lower)
        largest = None if high is None or upper is None else max(high, upper)
        if smallest is not None or largest is not None:
            result[column] = (smallest, largest)
    return result
