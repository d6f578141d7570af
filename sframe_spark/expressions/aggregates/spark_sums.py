"""Sums, means and spreads of floats as Spark adds them up: without rounding, and rounded once, as the kernels give them.

Spark adds up the digits of usual numbers (:mod:`~sframe_spark.compute.spark_exact_sum`). Where a group has others,
a query that may be made anew fails, and has columns for more of them then; any other query, and the last one, keeps what is
left of each group in a list, which a function of ours adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sum import Digits, squared_deviations
from sframe_spark.compute.exact_sum import Moments
from sframe_spark.compute.key_runs import members
from sframe_spark.compute.spark_columns import arrow_function
from sframe_spark.compute.spark_exact_sum import MORE, USUAL, Window, carried, digits_of_totals, leading, nearest, square_of
from sframe_spark.errors import NumbersLeftOutError
from sframe_spark.expressions.aggregates.base import SeveralColumns, Way
from sframe_spark.planner.lowering import SummedNumbers
from sframe_spark.types import FLOAT, ColumnType
from sframe_spark.udf.errors import error_transport

if TYPE_CHECKING:
    from pyspark.sql import Column

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
Values = Callable[[np.ndarray, Digits, Digits | None], np.ndarray]
# Squares of the smallest floats are whole multiples of this power of two, which is a place of digits.
LOWEST_SQUARE, MORE_BITS = -54, 40 * 54 - 2148
INFINITE = "DOUBLE('Infinity')"
LEFT_OUT = "numbers that are not usual ones were left out"


@attrs.frozen
class DigitSums:
    """The columns of a query that sums of one column of numbers are made of.

    Parameters
    ----------
    name
        The column.
    column_type
        Its type.
    way
        How the query goes about its numbers.
    has_squares
        The numbers are squared too.
    """

    name: str
    column_type: ColumnType
    way: Way
    has_squares: bool = False

    @property
    def window(self) -> Window:
        """The places that have columns."""
        return USUAL if self.way.summed is SummedNumbers.USUAL else MORE

    @property
    def number(self) -> str:
        """The numbers as floats."""
        return self.name if self.column_type == FLOAT else f"CAST({self.name} AS DOUBLE)"

    @property
    def beside(self) -> list[dict[str, str]]:
        """Columns that many of the aggregates read: the number, zero where it is not a usual one, then its square and what that lacks."""
        # Casts of others to whole numbers are errors in the session of a user of Spark Connect.
        # As it is never missing by its type either, Spark's code for digits does not ask at each step.
        usual = {self._usual: f"coalesce(CASE WHEN {self.window.holds(self.number)} THEN {self.number} END, 0.0D)"}
        return [usual, dict(zip(self._of_square, square_of(self._usual), strict=True))] if self.has_squares else [usual]

    @property
    def _usual(self) -> str:
        return f"{self.name}_usual"

    @property
    def _of_square(self) -> tuple[str, str]:
        return f"{self.name}_square", f"{self.name}_lacking"

    def columns(self) -> list[str]:
        """How many numbers there are, the sum of those that are infinite or NaN, what is known of unusual ones, and sums of digits."""
        number = self.number
        is_finite = f"abs({number}) < {INFINITE}"
        others = f"sum(CASE WHEN NOT {is_finite} THEN {number} END)"
        left_out = f"CASE WHEN {is_finite} AND {self._usual} != {number} THEN {number} END"
        digits = self.window.digits(self._usual)
        if self.has_squares:
            of_squares = (self.window.of_squares.digits(part) for part in self._of_square)
            digits += [f"{first} + {second}" for first, second in zip(*of_squares, strict=True)]
        unusual = f"collect_list({left_out})" if self.way.has_every_number else f"count({left_out})"
        return [f"count({number})", others, unusual, *(f"coalesce(sum({digit}), 0L)" for digit in digits)]

    def aggregate(self, finish: Callable[[Sequence[str]], Column], is_in_spark: bool = False) -> SeveralColumns:
        """The aggregate that a function makes of the columns, or of what the steps made of these."""
        steps = [lambda made: [*made[:3], *carried(made[3:])], lambda made: [*made[:3], *leading(made[3:], self.window.lowest)]]
        return SeveralColumns(self.columns(), finish, steps if is_in_spark else (), self.beside)

    def in_python(self, values: Values, made: Sequence[str]) -> Column:
        """What a function gives for the counts and the sums of groups, of the columns that Spark made."""
        from pyspark.sql import functions as F

        function = partial(values_of, values, self.window, self.has_squares, self.way.has_every_number)

        def exact_sums(*arrays: pa.Array) -> pa.Array:
            return function(arrays)

        found = arrow_function(exact_sums, "double")(*made)
        return found if self.way.has_every_number else F.when(F.col(made[2]) == 0, found).otherwise(refused())

    def sum_in_spark(self, made: Sequence[str]) -> Column:
        """The sum of numbers, of what the steps made."""
        from pyspark.sql import functions as F

        _, others, unusual, *parts = made
        return F.when(F.col(unusual) != 0, refused()).otherwise(F.expr(f"coalesce({others}, {nearest(*parts)})"))


def refused() -> Column:
    """The error that makes a query be made anew."""
    from pyspark.sql import functions as F

    return F.raise_error(F.lit(error_transport().packed(NumbersLeftOutError(LEFT_OUT)))).cast("double")


def exact_sum(names: Sequence[str], types: Types, parameters: Parameters, way: Way) -> SeveralColumns | None:
    """The sum of floats; ints add up exactly as they are."""
    if types[0] != FLOAT:
        return None
    numbers = DigitSums(names[0], types[0], way)
    if way.has_every_number:
        return numbers.aggregate(partial(numbers.in_python, sums))
    return numbers.aggregate(numbers.sum_in_spark, is_in_spark=True)


def exact_mean(names: Sequence[str], types: Types, parameters: Parameters, way: Way) -> SeveralColumns | None:
    """The mean of numbers, missing where there is none."""
    if not types[0].is_numeric:
        return None
    from pyspark.sql import functions as F

    numbers = DigitSums(names[0], types[0], way)

    def finish(made: Sequence[str]) -> Column:
        count = F.col(made[0])
        return F.when(count > 0, numbers.in_python(means, made) if way.has_every_number else numbers.sum_in_spark(made) / count)

    return numbers.aggregate(finish, is_in_spark=not way.has_every_number)


def exact_variance(names: Sequence[str], types: Types, parameters: Parameters, way: Way) -> SeveralColumns:
    """The variance of numbers, zero for one of them or none."""
    numbers = DigitSums(names[0], types[0], way, has_squares=True)
    return numbers.aggregate(partial(numbers.in_python, variances_of_all if way.is_whole else variances))


def sums(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """The floats next to the sums of groups."""
    return totals.rounded()


def means(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """The means of groups, of none anything."""
    return totals.means(np.maximum(counts, 1))


def variances(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """The mean squared deviations of groups."""
    assert squares is not None
    return squared_deviations(counts, totals, squares) / np.maximum(counts, 1)


def variances_of_all(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """The same of all rows, which are no group."""
    assert squares is not None
    found = moments_of(counts, totals, squares)
    return np.array([part.squares / part.count if part.count > 1 else 0.0 for part in found])


def moments_of(counts: np.ndarray, totals: Digits, squares: Digits) -> list[Moments]:
    """The moments of the numbers of groups."""
    return [Moments(count, totals.sum_of(group), squares.units(group, LOWEST_SQUARE) >> MORE_BITS) for group, count in enumerate(counts.tolist())]


def values_of(values: Values, window: Window, has_squares: bool, every_number: bool, arrays: Sequence[pa.Array]) -> pa.Array:
    """Values of groups, of the columns that Spark made of :meth:`DigitSums.columns`."""
    counts, others, unusual, *digits = arrays
    totals = [column.to_numpy(zero_copy_only=False) for column in digits]
    found = digits_of_totals(totals[: window.places], window.lowest)
    squares = digits_of_totals(totals[window.places :], window.of_squares.lowest) if has_squares else None
    if others.null_count < len(others):
        found.others = others.fill_null(0.0).to_numpy(zero_copy_only=False)
    if every_number:
        left, codes = members(unusual)
        numbers = left.to_numpy(zero_copy_only=False)
        more = Digits(found.count)
        more.add(numbers, codes)
        found = found + more
        if squares is not None:
            its_squares = Digits(found.count)
            its_squares.add_squares(numbers, codes)
            squares = squares + its_squares
    return pa.array(values(counts.to_numpy(zero_copy_only=False), found, squares), pa.float64(), from_pandas=False)
