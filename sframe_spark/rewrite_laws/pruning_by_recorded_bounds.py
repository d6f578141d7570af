"""The rewrite rule ("law") that skips stored rows before a filter, by comparing values for which the mask can be true with recorded bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SFrameError
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register, Step
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.lookup.key_numbers_and_group_codes import Numbers, key_numbers
from sframe_spark.operators.program_and_filter_properties import INT_LIMITS, MAX_STEPS, compared_with_constant, compares_exactly, monotone_step
from sframe_spark.operators.project_zip_arrange import Zip
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS, SegmentParts, parts_of, rows_before
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.storage.segments.pruning import Bounds, RowRange, common_rows, joined, matching_ranges, recorded_bounds
from sframe_spark.types import DATETIME, FLOAT, INT, ColumnType, type_of_class
from sframe_spark.values.datetimes import to_microseconds
from sframe_spark.values.plain_values import plain_list

# A set of column values as disjoint closed ranges in ascending order; a limit is None if the range is unbounded.
ValueRanges = tuple[Bounds, ...]
# By position, ranges that contain the values of input columns.
ColumnRanges = Mapping[int, ValueRanges]


def union(ranges: Iterable[Bounds]) -> ValueRanges:
    """Return the union of ranges in any order, overlapping ranges merged.

    Examples
    --------
    >>> union([(8, None), (1, 2), (2, 3)]), union([(5, 5), (None, 0)])
    (((1, 3), (8, None)), ((None, 0), (5, 5)))
    """
    ranges = list(ranges)
    unlimited = [bounds for bounds in ranges if bounds[0] is None]
    limited = sorted((bounds for bounds in ranges if bounds[0] is not None), key=lambda bounds: bounds[0])  # type: ignore[arg-type, return-value]
    result: list[Bounds] = []
    for low, high in [*unlimited, *limited]:
        if result and (low is None or result[-1][1] is None or low <= result[-1][1]):  # type: ignore[operator]  # all are values of one column
            result[-1] = (result[-1][0], None if high is None or result[-1][1] is None else max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def intersection(first: ValueRanges, second: ValueRanges) -> ValueRanges:
    """Return the values that are in both of two sets.

    Examples
    --------
    >>> intersection(((None, 3), (8, None)), ((2, 9),)), intersection(((1, 2),), ((4, 5),))
    (((2, 3), (8, 9)), ())
    """
    result: list[Bounds] = []
    i = j = 0
    while i < len(first) and j < len(second):
        high, upper = first[i][1], second[j][1]
        start, end = tighter(first[i][0], second[j][0], max), tighter(high, upper, min)
        if start is None or end is None or start <= end:
            result.append((start, end))
        if high is not None and (upper is None or high <= upper):  # type: ignore[operator]  # both are values of one column
            i += 1
        else:
            j += 1
    return tuple(result)


def tighter(first: Any, second: Any, choose: Any) -> Any:
    """Return the tighter of two limits; None stands for no limit."""
    return second if first is None else first if second is None else choose(first, second)


def both(first: ColumnRanges, second: ColumnRanges) -> ColumnRanges:
    """Return ranges of column values that contain all rows for which two masks are both true.

    Examples
    --------
    >>> both({0: ((1, None),)}, {0: ((None, 9),), 1: ((5, 5),)})
    {0: ((1, 9),), 1: ((5, 5),)}
    """
    return {**first, **{column: intersection(first[column], ranges) if column in first else ranges for column, ranges in second.items()}}


def either(*masks: ColumnRanges) -> ColumnRanges:
    """Return ranges of column values that contain all rows for which at least one mask is true; only columns that every mask restricts have ranges.

    Examples
    --------
    >>> either({0: ((1, 2),), 1: ((5, 5),)}, {0: ((8, None),)})
    {0: ((1, 2), (8, None))}
    """
    shared = [column for column in masks[0] if all(column in mask for mask in masks)]
    unions = {column: union(bounds for mask in masks for bounds in mask[column]) for column in shared}
    return {column: ranges for column, ranges in unions.items() if ranges != ((None, None),)}


# The search handles all limits at once, which takes long if there are very many.
MAX_PREIMAGE_RANGES = 1_000


def preimage(
    program: Program,
    register: int,
    schema: Schema,
    ranges_of: Callable[[ColumnType], ValueRanges | None],
    bounds_of: Callable[[int], Bounds | None],
) -> ColumnRanges:
    """Return the ranges of an input column's values for which a register that depends on the column has a value in required ranges.

    The ranges are found by bisection, evaluating the steps themselves, so they are exact under any rounding.

    Parameters
    ----------
    program, register, schema
        A register that steps of a program compute, and the types of the program's input columns.
    ranges_of
        Returns the required ranges of the register's values for its type; None if there are none.
    bounds_of
        Returns the smallest and largest value of an input column, apart from missing values and NaN; None if unknown.

    Returns
    -------
    Mapping
        The ranges by the position of the column. Empty if the register does not depend on exactly one column with known bounds, if a step fails
        or is not known to be monotone within the bounds (ints may wrap around), if the result for a missing value or NaN is a value, or if there
        are no or too many required ranges.

    Examples
    --------
    >>> doubled = Program(1, (Step("multiply", (Register(0), Literal(2, INT))),), (Register(1),))
    >>> preimage(doubled, 1, (INT,), lambda kind: ((10, 13),), lambda column: (0, 99))
    {0: ((5, 6),)}
    """
    below = chain_below(program, register)
    if below is None:
        return {}
    column, chain = below
    bounds = bounds_of(column) if schema[column].is_number_or_datetime else None
    if bounds is None or None in bounds:
        return {}
    required = ranges_of(chain.register_types((schema[column],))[-1])
    if required is None or len(required) > MAX_PREIMAGE_RANGES:
        return {}
    try:
        searched = Chain(chain, schema[column]).preimage(required, bounds)
    except SFrameError:
        # A step fails for some value, so nothing follows for other values.
        return {}
    return {} if searched is None else {column: searched}


def chain_below(program: Program, register: int) -> tuple[int, Program] | None:
    """Return the only input column on which a register depends, and the steps between them as a program that outputs all intermediate results.

    The result is None if a step reads several registers or is a user function, or if there are too many steps.
    """
    steps: list[Step] = []
    while register >= program.width:
        step = program.steps[register - program.width]
        registers = [operand.index for operand in step.operands if isinstance(operand, Register)]
        if len(registers) != 1 or not isinstance(step.function, str) or len(steps) == MAX_STEPS:
            return None
        steps.append(step)
        register = registers[0]
    renamed = tuple(
        attrs.evolve(step, operands=tuple(Register(index) if isinstance(operand, Register) else operand for operand in step.operands))
        for index, step in enumerate(reversed(steps))
    )
    return register, Program(1, renamed, tuple(Register(index) for index in range(len(renamed) + 1)))


@attrs.frozen(eq=False)
class Chain:
    """A chain of steps, each a function of the previous result and constants.

    Parameters
    ----------
    program
        The steps as a program; its outputs are the column and all intermediate results.
    column_type
        Type of the column that the chain starts with.
    """

    program: Program
    column_type: ColumnType

    @property
    def types(self) -> list[ColumnType]:
        """Types of the column and of each intermediate result."""
        return self.program.register_types((self.column_type,))

    def preimage(self, required: ValueRanges, bounds: Bounds) -> ValueRanges | None:
        """Return the ranges of column values within bounds whose result is in a required range; None if the chain is not monotone there."""
        ends = np.array(bounds, dtype=np.float64 if self.column_type == FLOAT else np.int64)
        rising = self._rises(ends)
        if rising is None:
            return None
        low, high = ordinals_of(ends).tolist()
        lows, highs = limits(required, self.types[-1])
        if rising:
            first = self._first_ordinal(low, high, lambda numbers: numbers >= lows)
            last = self._first_ordinal(low, high, lambda numbers: numbers > highs) - 1
        else:
            first = self._first_ordinal(low, high, lambda numbers: numbers <= highs)
            last = self._first_ordinal(low, high, lambda numbers: numbers < lows) - 1
        is_filled = first <= last
        firsts, lasts = (self._numbers_at(ordinals[is_filled].astype(np.int64)).tolist() for ordinals in (first, last))
        return union(zip(firsts, lasts, strict=True))

    def _rises(self, ends: Numbers) -> bool | None:
        """Return True if the result rises with the column between two ends, False if it falls; None if neither is proved."""
        values = self._values(ends)
        missing = pa.array([None, float("nan")] if self.column_type == FLOAT else [None], values.type, from_pandas=False)
        results = self._results(pa.concat_arrays([values, missing]))
        rising = True
        for index, step in enumerate(self.program.steps):
            (before, are_valid), (after, stay_valid) = (key_numbers(results[i], self.types[i]) for i in (index, index + 1))
            if not (are_valid[:2].all() and stay_valid[:2].all()):
                return None
            same = rises_between(step, self.types, before[:2].tolist())
            if same is None or (after[0] > after[1] if same == (before[0] <= before[1]) else after[0] < after[1]):
                return None
            rising = rising == same
        return None if key_numbers(results[-1], self.types[-1])[1][2:].any() else rising

    def _first_ordinal(self, low: int, high: int, test: Callable[[Numbers], Numbers]) -> Any:
        """For each limit, return the first ordinal from ``low`` to ``high`` whose result passes a monotone test; ``high + 1`` if none passes."""
        numbers = self._last_numbers(np.array([low, high]))
        at_low, at_high = test(numbers[:1]), test(numbers[1:])
        below, above = np.full(len(at_low), low), np.full(len(at_low), high)
        while True:
            # The difference of two ordinals may exceed 64 bits, so the mean is computed with bit operations.
            middle = (below & above) + ((below ^ above) >> 1)
            if bool((middle == below).all()):
                break
            passed = test(self._last_numbers(middle))
            below, above = np.where(passed, below, middle), np.where(passed, middle, above)
        # The ordinal after the last one may exceed 64 bits, so Python ints are used.
        first = above.astype(object)
        first[at_low] = low
        first[~at_high] = high + 1
        return first

    def _last_numbers(self, ordinals: Numbers) -> Numbers:
        return key_numbers(self._results(self._values(self._numbers_at(ordinals)))[-1], self.types[-1])[0]

    def _results(self, values: pa.Array) -> tuple[pa.Array, ...]:
        return self.program.run(Chunk((values,), len(values)), (self.column_type,)).columns

    def _numbers_at(self, ordinals: Numbers) -> Numbers:
        return floats_at(ordinals) if self.column_type == FLOAT else ordinals

    def _values(self, numbers: Numbers) -> pa.Array:
        if not self.column_type.is_zoned:
            return pa.array(numbers).view(self.column_type.physical)
        instants = pa.array(numbers).view(DATETIME.physical)
        fields = list(self.column_type.physical)
        return pa.StructArray.from_arrays([instants, pa.array(np.zeros(len(numbers)), fields[1].type, safe=False)], fields=fields)


def rises_between(step: Step, types: Sequence[ColumnType], ends: Sequence[Any]) -> bool | None:
    """Return True if a step's result rises with its only register between two ends, False if it falls; None if neither is guaranteed.

    Unlike the monotonicity that functions declare, this holds only for values that are not missing or NaN, and for ints that do not wrap around.

    Examples
    --------
    >>> step = Step("subtract", (Literal(0, INT), Register(0)))
    >>> rises_between(step, (INT,), [1, 9]), rises_between(step, (INT,), [-(2**63), 9]), rises_between(step, (FLOAT,), [1.0, 9.0])
    (False, None, False)
    """
    promised = monotone_step(step, types)
    if promised is not None:
        return promised[0] == "inc"
    slot = next(slot for slot, operand in enumerate(step.operands) if isinstance(operand, Register))
    column_type = types[step.operands[slot].index]  # type: ignore[union-attr]  # the operand is the register
    if step.function == "negate" and column_type.is_numeric:
        return False if column_type == FLOAT or min(ends) > INT_LIMITS[0] else None
    if step.function == "cast":
        return True if (column_type, step.parameters[0]) == (INT, FLOAT) else None
    constants = [operand for operand in step.operands if isinstance(operand, Literal)]
    if len(step.operands) != 2 or len(constants) != 1 or not compares_exactly(constants[0], constants[0].type):
        return None
    constant = constants[0]
    if column_type.kind == constant.type.kind == DATETIME.kind:
        return slot == 0 if step.function == "subtract" else None
    if not (column_type.is_numeric and constant.type.is_numeric) or not np.isfinite(constant.value):
        return None
    if column_type == constant.type == INT and step.function != "divide" and not all(fits(step, constant.value, slot, end) for end in ends):
        return None
    match step.function:
        case "add":
            return True
        case "subtract":
            return slot == 0
        case "multiply":
            return constant.value > 0 if constant.value else None
        case "divide":
            return constant.value > 0 if constant.value and slot == 0 else None
    return None


def fits(step: Step, constant: int, slot: int, value: int) -> bool:
    """Return whether the result of a step for an int and a constant fits into 64 bits."""
    difference = value - constant if slot == 0 else constant - value
    exact = {"add": value + constant, "subtract": difference, "multiply": value * constant}.get(str(step.function))
    return exact is not None and INT_LIMITS[0] <= exact <= INT_LIMITS[1]


def limits(required: ValueRanges, result_type: ColumnType) -> tuple[Numbers, Numbers]:
    """Return lower and upper limits of ranges as numbers that can be compared with results; for ints, fractional limits are rounded inwards."""
    if result_type == FLOAT:
        lows = [-np.inf if low is None else low for low, _ in required]
        highs = [np.inf if high is None else high for _, high in required]
        return np.array(lows, dtype=np.float64), np.array(highs, dtype=np.float64)
    smallest, largest = INT_LIMITS
    lows = [smallest if low is None or low == -np.inf else int(np.ceil(low)) if isinstance(low, float) else low for low, _ in required]
    highs = [largest if high is None or high == np.inf else int(np.floor(high)) if isinstance(high, float) else high for _, high in required]
    return np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64)


def ordinals_of(numbers: Numbers) -> Numbers:
    """Return ints that number the values of a type in ascending order, so that adjacent floats get adjacent ints; ints are returned as they are.

    Examples
    --------
    >>> ordinals_of(np.array([-0.0, 0.0, 5e-324])).tolist(), ordinals_of(np.array([7])).tolist()
    ([-1, 0, 1], [7])
    """
    if numbers.dtype.kind != "f":
        return numbers
    bits = numbers.view(np.int64)
    return bits ^ ((bits >> 63) & INT_LIMITS[1])


def floats_at(ordinals: Numbers) -> Numbers:
    """Return the floats with the given ordinals; the inverse of :func:`ordinals_of`."""
    bits: Numbers = ordinals ^ ((ordinals >> 63) & INT_LIMITS[1])
    return bits.view(np.float64)


# Comparing a longer list of values with segments may cost more than it saves.
MAX_VALUES = 10_000

BoundsOfColumn = Callable[[int], Bounds | None]


def mask_ranges(program: Program, schema: Schema, bounds_of: BoundsOfColumn = lambda column: None) -> ColumnRanges:
    """Return ranges of input columns that contain all rows for which a program's last output is true.

    A comparison with a missing value is never true, so missing values need not be in the ranges.

    Parameters
    ----------
    program, schema
        The program and the types of its input columns.
    bounds_of
        Returns the smallest and largest value of an input column, apart from missing values and NaN (datetimes in microseconds), or None. It is
        called only for columns from which a compared value is computed.
    """
    mask = program.outputs[-1]
    if not isinstance(mask, Register) or mask.index < program.width:
        return {}

    def where(register: int, ranges_of: Callable[[ColumnType], ValueRanges | None]) -> ColumnRanges:
        """Return the values of the only column on which a register depends that put the register into the ranges required for its type."""
        if register >= program.width:
            return preimage(program, register, schema, ranges_of, bounds_of)
        required = ranges_of(schema[register])
        return {} if required is None else {register: required}

    ranges: dict[int, ColumnRanges] = {}
    for register, step in enumerate(program.steps[: mask.index - program.width + 1], start=program.width):
        sides = [ranges.get(operand.index, {}) if isinstance(operand, Register) else {} for operand in step.operands]
        if step.function == "and_":
            ranges[register] = both(*sides)
        elif step.function == "or_":
            ranges[register] = either(*sides)
        elif step.function == "truth":
            ranges[register] = sides[0]
        elif step.function == "is_in" and isinstance(step.operands[0], Register):
            ranges[register] = where(step.operands[0].index, partial(ranges_of_values, step.parameters[0]))
        elif compared := compared_with_constant(step):
            column, comparison, literal = compared
            ranges[register] = where(column, partial(ranges_of_comparison, comparison, literal))
    return ranges.get(mask.index, {})


def ranges_of_comparison(name: str, literal: Literal, column_type: ColumnType) -> ValueRanges | None:
    """Return the range that a comparison with a constant implies, including the constant; None if values do not compare like recorded bounds.

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
    """Return one range per value that ``is_in`` searches for; None if a value is missing or does not compare like recorded bounds.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> ranges_of_values((7, 3), INT), ranges_of_values((7, None), INT), ranges_of_values((0.5, "a"), INT)
    (((3, 3), (7, 7)), None, None)
    """
    if not 0 < len(values) <= MAX_VALUES:
        return None
    try:
        cells = plain_list(values)
        if not all(compares_exactly(Literal(cell, type_of_class(type(cell))), column_type) for cell in cells):
            return None
    except (SFrameError, KeyError):
        return None
    return union((recorded, recorded) for recorded in map(as_recorded, cells))


def as_recorded(value: Any) -> Any:
    """Return a value in the form of recorded statistics: a datetime as microseconds of its instant."""
    return to_microseconds(value)[0] if isinstance(value, datetime) else value


# The largest number of row ranges; if there are more, the closest are merged.
MAX_SEGMENT_RANGES = 64


@law("filter_rows(f(x), m) = filter_rows(f(rows of x that may meet m), m)", stage="pushdown", on="filter_rows")
def filter_by_recorded_bounds(node: PlannerNode) -> PlannerNode | None:
    """Rows of segments and row groups whose recorded bounds exclude a true mask are not read."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    below = child.inputs[0]
    rows = below.length.rows
    if not rows:
        return None
    ranges: Sequence[RowRange] = [(0, rows)]
    for column, required in required_ranges(child).items():
        matching = rows_of_source(below, column, required)
        if matching is not None:
            ranges = list(common_rows(ranges, matching))
    ranges = merge_nearest(ranges, MAX_SEGMENT_RANGES if has_random_access(below) else 1)
    if ranges == [(0, rows)]:
        return None
    return node.with_inputs([child.with_inputs([rows_in(below, ranges)])])


def required_ranges(transform: PlannerNode) -> ColumnRanges:
    """Return ranges of a program node's input columns for which its last output can be true."""
    assert isinstance(transform.operator, GeneralizedTransform)
    below = transform.inputs[0]

    def bounds_of(column: int) -> Bounds | None:
        stored = stored_column(below, column)
        return None if stored is None else recorded_bounds(stored[0].manifest, stored[1])

    return mask_ranges(transform.operator.computation, below.schema, bounds_of)


def stored_column(node: PlannerNode, column: int) -> tuple[SegmentSource | SegmentParts, int] | None:
    """Return the source of stored rows that a column comes from, and the column's position in the dataset; None if the column is not stored."""
    while isinstance(node.operator, Zip):
        ((slot, column),) = node.operator.origins_of([column], node.inputs)
        node = node.inputs[slot]
    source = node.operator
    return (source, source.positions[column]) if isinstance(source, STORED_ROWS) else None


def rows_of_source(node: PlannerNode, column: int, required: ValueRanges) -> list[RowRange] | None:
    """Return the ranges of a node's rows that may contain required values of a column; None if the column is not stored."""
    stored = stored_column(node, column)
    if stored is None:
        return None
    source, position = stored
    ranges = ((source.start, source.stop),) if isinstance(source, SegmentSource) else source.ranges
    matching = matching_ranges(source.manifest, position, required, ranges[0][0], ranges[-1][1])
    shifts = [before - first for (first, _), before in zip(ranges, rows_before(ranges), strict=True)]
    shifted = ((first + shift, last + shift) for part, shift in zip(ranges, shifts, strict=True) for first, last in common_rows([part], matching))
    return list(joined(shifted))


def merge_nearest(ranges: Sequence[RowRange], max_ranges: int) -> list[RowRange]:
    """Merge ranges, the closest first, until there are at most ``max_ranges``.

    Examples
    --------
    >>> merge_nearest([(0, 1), (5, 6), (8, 9), (20, 21)], 2)
    [(0, 9), (20, 21)]
    """
    if len(ranges) <= max_ranges:
        return list(ranges)
    gaps = sorted(range(1, len(ranges)), key=lambda index: ranges[index][0] - ranges[index - 1][1], reverse=True)
    starts = [0, *sorted(gaps[: max_ranges - 1])]
    return [(ranges[start][0], ranges[stop - 1][1]) for start, stop in zip(starts, [*starts[1:], len(ranges)], strict=True)]


def rows_in(node: PlannerNode, ranges: Sequence[RowRange]) -> PlannerNode:
    """Return some ranges of a node's rows. For stored rows the result is a single source, which keeps its recorded properties."""
    if len(ranges) <= 1:
        return slice_rows(node, *(ranges[0] if ranges else (0, 0)))
    if isinstance(node.operator, Zip):
        # An input that occurs twice stays one node.
        chosen = {id(child): rows_in(child, ranges) for child in node.inputs}
        return node.with_inputs([chosen[id(child)] for child in node.inputs])
    source = node.operator
    if isinstance(source, SegmentParts):
        return parts_of(source.whole, [part for first, last in ranges for part in source.rows_of_dataset(first, last)]).make_planner_node()
    if isinstance(source, SegmentSource):
        return parts_of(source, [(source.start + first, source.start + last) for first, last in ranges]).make_planner_node()
    return append(*[slice_rows(node, first, last) for first, last in ranges])


def has_random_access(node: PlannerNode) -> bool:
    """Return whether any rows of a node can be read without the rows before them: in sources, and zips of sources."""
    return node.operator.is_source or (isinstance(node.operator, Zip) and all(map(has_random_access, node.inputs)))
