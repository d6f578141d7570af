"""Which values of a column a monotone chain of steps sends into wanted ranges: searched with the steps themselves, so exact under any rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SFrameError
from sframe_spark.expressions.program import Literal, Program, Register, Step
from sframe_spark.laws.value_ranges import ColumnRanges, ValueRanges, union
from sframe_spark.operators.lookup.numeric_keys import Numbers, key_numbers
from sframe_spark.operators.property_inference import INT_LIMITS, MOST_STEPS, compares_exactly, monotone_step
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.storage.segments.pruning import Bounds
from sframe_spark.types import DATETIME, FLOAT, INT, ColumnType

# A search tries all limits at once, but of very many each try takes long.
MOST_RANGES = 1_000


def preimage(
    program: Program,
    register: int,
    schema: Schema,
    wanted_of: Callable[[ColumnType], ValueRanges | None],
    bounds_of: Callable[[int], Bounds | None],
) -> ColumnRanges:
    """Return the one input column that a register follows, and ranges that its values lie in where the register's value lies in wanted ones.

    Parameters
    ----------
    program, register, schema
        A register of a program that is made by steps, and the types of the program's input columns.
    wanted_of
        Wanted ranges of the register's values, given its type; None where there are none.
    bounds_of
        Between which values those of an input column lie, as far as they are neither missing nor NaN; None where that is unknown.

    Returns
    -------
    Mapping
        Nothing where the register does not follow one column, steps lose their order among the column's values (ints may wrap around), or a missing
        value or NaN has a result.

    Examples
    --------
    >>> doubled = Program(1, (Step("multiply", (Register(0), Literal(2, INT))),), (Register(1),))
    >>> preimage(doubled, 1, (INT,), lambda kind: ((10, 13),), lambda column: (0, 99))
    {0: ((5, 6),)}
    """
    found = chain_below(program, register)
    if found is None:
        return {}
    column, chain = found
    bounds = bounds_of(column) if schema[column].is_numeric or schema[column].kind == DATETIME.kind else None
    if bounds is None or None in bounds:
        return {}
    wanted = wanted_of(chain.register_types((schema[column],))[-1])
    if wanted is None or len(wanted) > MOST_RANGES:
        return {}
    try:
        searched = Chain(chain, schema[column]).preimage(wanted, bounds)
    except SFrameError:
        # Steps that fail for some value say nothing of the others.
        return {}
    return {} if searched is None else {column: searched}


def chain_below(program: Program, register: int) -> tuple[int, Program] | None:
    """Return the input column that a register is made of alone, and the steps from it as a program that gives each result on the way."""
    steps: list[Step] = []
    while register >= program.width:
        step = program.steps[register - program.width]
        registers = [operand.index for operand in step.operands if isinstance(operand, Register)]
        if len(registers) != 1 or not isinstance(step.function, str) or len(steps) == MOST_STEPS:
            return None
        steps.append(step)
        register = registers[0]
    renamed = tuple(
        attrs.evolve(step, operands=tuple(Register(place) if isinstance(operand, Register) else operand for operand in step.operands))
        for place, step in enumerate(reversed(steps))
    )
    return register, Program(1, renamed, tuple(Register(place) for place in range(len(renamed) + 1)))


@attrs.frozen(eq=False)
class Chain:
    """Steps one after the other, each of the result before it and of constants.

    Parameters
    ----------
    program
        The steps; its outputs are the column and all results.
    column_type
        Type of the column.
    """

    program: Program
    column_type: ColumnType

    @property
    def types(self) -> list[ColumnType]:
        """Types of the column and of each result."""
        return self.program.register_types((self.column_type,))

    def preimage(self, wanted: ValueRanges, bounds: Bounds) -> ValueRanges | None:
        """Return the column's values between bounds whose last result lies in a wanted range; None where the results do not follow the column."""
        ends = np.array(bounds, dtype=np.float64 if self.column_type == FLOAT else np.int64)
        rising = self._rises(ends)
        if rising is None:
            return None
        low, high = places_of_numbers(ends).tolist()
        lows, highs = limits(wanted, self.types[-1])
        if rising:
            first = self._first_place(low, high, lambda numbers: numbers >= lows)
            last = self._first_place(low, high, lambda numbers: numbers > highs) - 1
        else:
            first = self._first_place(low, high, lambda numbers: numbers <= highs)
            last = self._first_place(low, high, lambda numbers: numbers < lows) - 1
        kept = first <= last
        firsts, lasts = (self._numbers_at(found[kept].astype(np.int64)).tolist() for found in (first, last))
        return union(zip(firsts, lasts, strict=True))

    def _rises(self, ends: Numbers) -> bool | None:
        """Whether the last result rises with the column from one end to the other, or falls; None where neither is proved."""
        values = self._values(ends)
        strange = pa.array([None, float("nan")] if self.column_type == FLOAT else [None], values.type, from_pandas=False)
        results = self._results(pa.concat_arrays([values, strange]))
        rising = True
        for place, step in enumerate(self.program.steps):
            (before, there), (after, also) = (key_numbers(results[p], self.types[p]) for p in (place, place + 1))
            if not (there[:2].all() and also[:2].all()):
                return None
            same = follows(step, self.types, before[:2].tolist())
            if same is None or (after[0] > after[1] if same == (before[0] <= before[1]) else after[0] < after[1]):
                return None
            rising = rising == same
        return None if key_numbers(results[-1], self.types[-1])[1][2:].any() else rising

    def _first_place(self, low: int, high: int, test: Callable[[Numbers], Numbers]) -> Any:
        """For each limit the first place from ``low`` to ``high`` whose result passes a test that all later ones pass; ``high + 1`` if none does."""
        numbers = self._last_numbers(np.array([low, high]))
        at_low, at_high = test(numbers[:1]), test(numbers[1:])
        below, above = np.full(len(at_low), low), np.full(len(at_low), high)
        while True:
            # Places may be further apart than 64 bits tell, so their mean is taken bit by bit.
            middle = (below & above) + ((below ^ above) >> 1)
            if bool((middle == below).all()):
                break
            passed = test(self._last_numbers(middle))
            below, above = np.where(passed, below, middle), np.where(passed, middle, above)
        # Past the last place there may be no 64-bit number.
        found = above.astype(object)
        found[at_low] = low
        found[~at_high] = high + 1
        return found

    def _last_numbers(self, places: Numbers) -> Numbers:
        return key_numbers(self._results(self._values(self._numbers_at(places)))[-1], self.types[-1])[0]

    def _results(self, values: pa.Array) -> tuple[pa.Array, ...]:
        return self.program.run(Chunk((values,), len(values)), (self.column_type,)).columns

    def _numbers_at(self, places: Numbers) -> Numbers:
        return numbers_at(places) if self.column_type == FLOAT else places

    def _values(self, numbers: Numbers) -> pa.Array:
        if not self.column_type.is_zoned:
            return pa.array(numbers).view(self.column_type.physical)
        instants = pa.array(numbers).view(DATETIME.physical)
        fields = list(self.column_type.physical)
        return pa.StructArray.from_arrays([instants, pa.array(np.zeros(len(numbers)), fields[1].type, safe=False)], fields=fields)


def follows(step: Step, types: Sequence[ColumnType], ends: Sequence[Any]) -> bool | None:
    """Return whether a step's result rises with its only register, which lies between two ends, or falls; None where neither is promised.

    Unlike what functions promise of all values, this is about values that are there and not NaN, and ints that do not wrap around.

    Examples
    --------
    >>> step = Step("subtract", (Literal(0, INT), Register(0)))
    >>> follows(step, (INT,), [1, 9]), follows(step, (INT,), [-(2**63), 9]), follows(step, (FLOAT,), [1.0, 9.0])
    (False, None, False)
    """
    promised = monotone_step(step, types)
    if promised is not None:
        return promised[0] == "inc"
    place = next(place for place, operand in enumerate(step.operands) if isinstance(operand, Register))
    column_type = types[step.operands[place].index]  # type: ignore[union-attr]  # the operand is the register
    if step.function == "negate" and column_type.is_numeric:
        return False if column_type == FLOAT or min(ends) > INT_LIMITS[0] else None
    if step.function == "cast":
        return True if (column_type, step.parameters[0]) == (INT, FLOAT) else None
    constants = [operand for operand in step.operands if isinstance(operand, Literal)]
    if len(step.operands) != 2 or len(constants) != 1 or not compares_exactly(constants[0], constants[0].type):
        return None
    constant = constants[0]
    if column_type.kind == constant.type.kind == DATETIME.kind:
        return place == 0 if step.function == "subtract" else None
    if not (column_type.is_numeric and constant.type.is_numeric) or not np.isfinite(constant.value):
        return None
    if column_type == constant.type == INT and step.function != "divide" and not all(fits(step, constant.value, place, end) for end in ends):
        return None
    match step.function:
        case "add":
            return True
        case "subtract":
            return place == 0
        case "multiply":
            return constant.value > 0 if constant.value else None
        case "divide":
            return constant.value > 0 if constant.value and place == 0 else None
    return None


def fits(step: Step, constant: int, place: int, value: int) -> bool:
    """Return whether the result of an int and a constant needs no more than 64 bits."""
    difference = value - constant if place == 0 else constant - value
    exact = {"add": value + constant, "subtract": difference, "multiply": value * constant}.get(str(step.function))
    return exact is not None and INT_LIMITS[0] <= exact <= INT_LIMITS[1]


def limits(wanted: ValueRanges, result_type: ColumnType) -> tuple[Numbers, Numbers]:
    """Return lower and upper limits of ranges as numbers that compare with results; of ints those that lie in the ranges."""
    if result_type == FLOAT:
        lows = [-np.inf if low is None else low for low, _ in wanted]
        highs = [np.inf if high is None else high for _, high in wanted]
        return np.array(lows, dtype=np.float64), np.array(highs, dtype=np.float64)
    smallest, largest = INT_LIMITS
    lows = [smallest if low is None or low == -np.inf else int(np.ceil(low)) if isinstance(low, float) else low for low, _ in wanted]
    highs = [largest if high is None or high == np.inf else int(np.floor(high)) if isinstance(high, float) else high for _, high in wanted]
    return np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64)


def places_of_numbers(numbers: Numbers) -> Numbers:
    """Return the places of numbers among all that there are of their type, as ints: neighbours have places next to each other.

    Examples
    --------
    >>> places_of_numbers(np.array([-0.0, 0.0, 5e-324])).tolist(), places_of_numbers(np.array([7])).tolist()
    ([-1, 0, 1], [7])
    """
    if numbers.dtype.kind != "f":
        return numbers
    bits = numbers.view(np.int64)
    return bits ^ ((bits >> 63) & INT_LIMITS[1])


def numbers_at(places: Numbers) -> Numbers:
    """Return the floats at places, the inverse of :func:`places_of_numbers`."""
    bits: Numbers = places ^ ((places >> 63) & INT_LIMITS[1])
    return bits.view(np.float64)
