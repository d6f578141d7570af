"""Ranges outside of which no value lies where a mask is true."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from sframe_spark.errors import SFrameError
from sframe_spark.expressions.program import Literal, Operand, Program, Register, Step
from sframe_spark.laws.pruning import preimage
from sframe_spark.laws.value_ranges import ColumnRanges, ValueRanges, both, either, union
from sframe_spark.operators.property_inference import compared_with_constant, compares_exactly
from sframe_spark.planner.facts import Schema
from sframe_spark.storage.segments.pruning import Bounds
from sframe_spark.types import ColumnType, type_of_class
from sframe_spark.values.datetimes import to_microseconds
from sframe_spark.values.value_model import plain_list

# Of longer lists of values that are looked for, looking at each of them may cost more than it saves.
MOST_VALUES = 10_000

BoundsOfColumn = Callable[[int], Bounds | None]


def mask_ranges(program: Program, schema: Schema, bounds_of: BoundsOfColumn = lambda column: None) -> ColumnRanges:
    """Input columns and the closed ranges that their values lie in where the program's last output is true.

    Missing is not true, so a comparison with a missing value says nothing about it.

    Parameters
    ----------
    program, schema
        The program and the types of its input columns.
    bounds_of
        Tells between which values those of an input column lie that are neither missing nor NaN (date-times in microseconds), or None. Asked where
        what is computed of a column is compared.
    """
    mask = program.outputs[-1]
    if not isinstance(mask, Register) or mask.index < program.width:
        return {}
    return MaskRanges(program, schema, bounds_of).of(mask)


@attrs.frozen(eq=False)
class MaskRanges:
    """What the registers of a program say about its input columns where they are true.

    Parameters
    ----------
    program, schema, bounds_of
        See :func:`mask_ranges`.
    """

    program: Program
    schema: Schema
    bounds_of: BoundsOfColumn
    _found: dict[int, ColumnRanges] = attrs.field(factory=dict, init=False)

    def of(self, mask: Register) -> ColumnRanges:
        """Ranges where a register is true."""
        for place, step in enumerate(self.program.steps[: mask.index - self.program.width + 1]):
            ranges = self._of_step(step)
            if ranges:
                self._found[self.program.width + place] = ranges
        return self._found.get(mask.index, {})

    def _of_step(self, step: Step) -> ColumnRanges:
        if step.function in ("and_", "or_", "truth"):
            sides = [self._known(operand) for operand in step.operands]
            if step.function == "truth":
                return sides[0]
            return both(*sides) if step.function == "and_" else either(*sides)
        if step.function == "is_in":
            column = step.operands[0]
            return self._where(column.index, lambda kind: ranges_of_values(step.parameters[0], kind)) if isinstance(column, Register) else {}
        compared = compared_with_constant(step)
        if compared is None:
            return {}
        return self._where(compared[0], lambda kind: ranges_of_comparison(*compared[1:], kind))

    def _known(self, operand: Operand) -> ColumnRanges:
        return self._found.get(operand.index, {}) if isinstance(operand, Register) else {}

    def _where(self, register: int, wanted_of: Callable[[ColumnType], ValueRanges | None]) -> ColumnRanges:
        """Ranges of the column behind a register where the register's value lies in some ranges, which depend on its type."""
        if register < self.program.width:
            wanted = wanted_of(self.schema[register])
            return {} if wanted is None else {register: wanted}
        return preimage(self.program, register, self.schema, wanted_of, self.bounds_of)


def ranges_of_comparison(name: str, literal: Literal, column_type: ColumnType) -> ValueRanges | None:
    """The range that a comparison with a constant leaves, the constant included; None where the two do not compare as recorded.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> ranges_of_comparison("less", Literal(3, INT), INT), ranges_of_comparison("equal", Literal(None, INT), INT)
    (((None, 3),), None)
    """
    if not compares_exactly(literal, column_type):
        return None
    limit = as_recorded(literal.value)
    low = limit if name in ("equal", "greater", "greater_equal") else None
    high = limit if name in ("equal", "less", "less_equal") else None
    return ((low, high),)


def ranges_of_values(values: Any, column_type: ColumnType) -> ValueRanges | None:
    """Some values that are looked for, each a range; None where a missing value is, or one that compares otherwise than as recorded.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> ranges_of_values((7, 3), INT), ranges_of_values((7, None), INT), ranges_of_values((0.5, "a"), INT)
    (((3, 3), (7, 7)), None, None)
    """
    if not 0 < len(values) <= MOST_VALUES:
        return None
    try:
        cells = plain_list(values)
        if not all(compares_exactly(Literal(cell, type_of_class(type(cell))), column_type) for cell in cells):
            return None
    except (SFrameError, KeyError):
        return None
    return union((recorded, recorded) for recorded in map(as_recorded, cells))


def as_recorded(value: Any) -> Any:
    """A value as statistics record it: date-times as microseconds of their instants."""
    return to_microseconds(value)[0] if isinstance(value, datetime) else value
