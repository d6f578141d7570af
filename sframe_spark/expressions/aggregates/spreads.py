"""Variances, standard deviations, skewness and correlation from counts and exact sums of numbers and of products, and their aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sums_and_squared_deviations import (
    BITS,
    CANCELS,
    FIRST_IN_REACH,
    GROUPS_PER_BLOCK,
    IN_REACH,
    Digits,
    Pair,
    deviation_from_ints,
    deviations_from_pairs,
    digits_of,
    digits_to_lists,
    rounded_or_nan,
    squared_deviations,
)
from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import by_place, deviations_of_windows, digits_of_parts, row_digits
from sframe_spark.compute.exact_sum_and_variance import largest_magnitude, product_error, quotient
from sframe_spark.compute.rolling_variances_in_floats import rolling_squared_deviations
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.compute.spark_columns import Column, F
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties, SeveralColumns, define_aggregate, require
from sframe_spark.expressions.aggregates.counts import Count, known
from sframe_spark.expressions.aggregates.float_sums import DigitSums, ExactSums, FloatSum, TwoWordSums, non_finite_sums_of_windows
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows, RowWindows, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn
from sframe_spark.types import FLOAT, FLOAT_KIND, INT_KIND, ColumnType
from sframe_spark.udf.error_transport import error_transport


def deviations(counts: np.ndarray, sums: State, squares: State) -> np.ndarray:
    """Return the sum of squared deviations from the mean of each group; zero for at most one value, NaN for other groups with an odd value."""
    if isinstance(sums, TwoWordSums) and isinstance(squares, ExactSums) and sums.others is None:
        digits = squares.digits.carried()
        if digits.others is None and all(0 <= place - FIRST_IN_REACH < IN_REACH for place in digits.places):
            # Running sums are pairs of floats already. Digits are made of those sums only for which pairs leave bits undecided.
            first, second, about = deviations_from_pairs(np.maximum(counts, 1), sums.pairs(), digits.pairs())
            result = np.add(first, second, out=first)
            near = np.flatnonzero((result <= CANCELS * about) & (about > 0.0))
            if len(near):
                result[near] = squared_deviations(counts[near], sums.take(near).all_digits(), digits.select(near))
            return result
    if isinstance(sums, TwoWordSums) or sums.indices is None or isinstance(squares, TwoWordSums):
        return squared_deviations(counts, sums.all_digits(), squares.all_digits())
    several, result = np.flatnonzero(sums.indices >= 0), np.zeros(len(counts))
    is_like = squares.indices is not None and (squares.indices is sums.indices or np.array_equal(squares.indices, sums.indices))
    result[several] = squared_deviations(counts[several], sums.digits, squares.digits if is_like else squares.take(several).all_digits())
    return result


def deviations_of_one(count: int, sums: Digits, squares: Digits, group: int = 0) -> float:
    """Return the sum of squared deviations from the mean of one group, correctly rounded; NaN with an odd value, zero without values."""
    if not count:
        return 0.0
    if sums.others is not None and sums.others[group] != 0.0:
        return math.nan
    return deviation_from_ints(count, sums, squares, group)


def variance(column: int, is_root: bool = False, is_nan_alone: bool = False) -> ColumnAggregate:
    """Return the population variance, or with ``is_root`` its square root; zero for a group with one value or none.

    With an infinity or NaN it is NaN, but zero if that is the only value; with ``is_nan_alone`` it is NaN then, too.
    """

    def finish(counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        result = deviations(counts, sums, squares) / np.maximum(counts, 1)
        odd = sums.non_finite() if is_nan_alone else None
        if odd is not None:
            result[odd] = math.nan
        return pa.array(np.sqrt(result, out=result) if is_root else result, from_pandas=False)

    def finish_of_all(counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        count = int(counts[0])
        result = deviations_of_one(count, sums.all_digits(), squares.all_digits()) / count if count > 1 or (count and is_nan_alone) else 0.0
        return pa.array([math.sqrt(result) if is_root else result], from_pandas=False)

    def of_windows(rows: InputRows, windows: RowWindows) -> pa.Array:
        # Pairs of floats, which are exact enough for most windows, take a third of the time of digits.
        counts, numbers = Count((column,)).windows(rows, windows), rows.floats(column, (column,))
        result = deviations_of_windows(numbers, counts, windows.starts, windows.stops)
        result /= np.maximum(counts, 1)
        if is_nan_alone and not math.isfinite(largest_magnitude(numbers)):
            result[non_finite_sums_of_windows(numbers, windows) != 0.0] = math.nan
        return pa.array(np.sqrt(result, out=result) if is_root else result, from_pandas=False)

    # The sum of squares is computed first: in one pass it yields the sum as well.
    return ColumnAggregate((Count((column,)), FloatSum(column, column), FloatSum(column)), finish, of_windows, finish_of_all=finish_of_all)


def rolling_variance(column: int, is_root: bool = False) -> ColumnAggregate:
    """Return the variance that is NaN with any infinity or NaN; for windows of one width its last digits may be wrong, see decision 034.

    Such windows are added up in floats, in less time than exactly; the result for a window does not depend on other rows.
    """
    exact = variance(column, is_root, is_nan_alone=True)

    def of_windows(rows: InputRows, windows: RowWindows) -> pa.Array:
        if windows.width is None:
            assert exact.of_windows is not None
            return exact.of_windows(rows, windows)
        numbers, valid = rows.floats(column, (column,)), rows.valid((column,))
        counted, clean = np.ones(len(numbers), dtype=bool) if valid is None else valid, numbers
        is_finite = math.isfinite(largest_magnitude(numbers))
        if not is_finite:
            finite = np.isfinite(numbers)
            counted, clean = counted & finite, np.where(finite, numbers, 0.0)
        result = rolling_squared_deviations(counted, clean, windows.width)
        result /= windows.width if valid is None else np.maximum(Count((column,)).windows(rows, windows), 1)
        if not is_finite:
            result[non_finite_sums_of_windows(numbers, windows) != 0.0] = math.nan
        return pa.array(np.sqrt(result, out=result) if is_root else result, from_pandas=False)

    return attrs.evolve(exact, of_windows=of_windows)


def spread_of(count: int, squares: float, freedom: int) -> float | None:
    """Return the variance from the sum of squared deviations, with the divisor ``count - freedom``; None if the count is zero.

    Examples
    --------
    >>> spread_of(2, 2.0, 1), spread_of(1, 0.0, 1), spread_of(0, 0.0, 0)
    (2.0, nan, None)
    """
    if not count:
        return None
    left = count - freedom
    if left > 0:
        return squares / left
    return math.inf if left == 0 and squares > 0 else math.nan


def spreads_of_columns(freedom: int, counts: np.ndarray, sums: Digits, squares: Digits) -> list[float | None]:
    """Return for each group the variance with the count reduced by degrees of freedom as divisor, see :func:`spread_of`."""
    return [spread_of(count, deviations_of_one(count, sums, squares, group), freedom) for group, count in enumerate(counts.tolist())]


def column_variance(column: int, freedom: int, is_root: bool = False) -> ColumnAggregate:
    """Return the variance with the count reduced by degrees of freedom as divisor, or with ``is_root`` its square root; missing without a value.

    Groups that have rows, but not more than degrees of freedom, are an error.
    """

    def finish(rows: State, counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        if ((rows > 0) & (rows <= freedom)).any():
            raise UnsupportedOperationError(NO_SPREAD.format(freedom))
        result = spreads_of_columns(freedom, counts, sums.all_digits(), squares.all_digits())
        return pa.array([None if spread is None else math.sqrt(spread) for spread in result] if is_root else result, pa.float64())

    return ColumnAggregate((Count(), Count((column,)), FloatSum(column, column), FloatSum(column)), finish)


# The aggregates.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
NO_SPREAD = "a column with no more rows than ddof={} has no spread: choose a smaller ddof"


def _infer_spread(types: Types, parameters: Parameters) -> ColumnType:
    require("VAR or STD", types[0], (INT_KIND, FLOAT_KIND))
    return FLOAT


def _infer_column_spread(types: Types, parameters: Parameters) -> ColumnType:
    if len(parameters) != 1 or type(parameters[0]) is not int or parameters[0] < 0:
        raise UnsupportedOperationError(f"degrees of freedom are an int from 0, not {parameters!r:.80}")
    return _infer_spread(types, parameters)


def exact_variance(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
    """Return the Spark aggregates for the variance of numbers, which is zero if there is at most one."""
    numbers = DigitSums(names[0], types[0], way, has_squares=True)
    return numbers.aggregate(partial(numbers.in_python, variances_of_all if way.is_whole else variances))


def variances(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the variance of each group: the mean squared deviation."""
    assert squares is not None
    return squared_deviations(counts, totals, squares) / np.maximum(counts, 1)


def variances_of_all(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the variance of all rows together, computed as the kernel does; zero for at most one number."""
    assert squares is not None
    groups = enumerate(counts.tolist())
    return np.array([deviations_of_one(count, totals, squares, group) / count if count > 1 else 0.0 for group, count in groups])


def _exact_column_variance(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
    numbers, freedom = DigitSums(names[0], types[0], way, has_squares=True), parameters[0]

    def finish(made: Sequence[str]) -> Column:
        *sums, all_rows = made
        count, rows = F.col(sums[0]), F.col(all_rows)
        error = F.raise_error(F.lit(error_transport().packed(UnsupportedOperationError(NO_SPREAD.format(freedom))))).cast("double")
        return F.when((rows > 0) & (rows <= freedom), error).when(count > 0, numbers.in_python(partial(column_variances, freedom), sums))

    return SeveralColumns([*numbers.columns(), "count(1)"], finish, helpers=numbers.helpers)


def column_variances(freedom: int, counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return variances of whole columns, with the count reduced by degrees of freedom as divisor; arbitrary for a column without numbers."""
    assert squares is not None
    return np.array([0.0 if spread is None else spread for spread in spreads_of_columns(freedom, counts, totals, squares)])


def _root(exact: Callable[..., SeveralColumns]) -> Callable[..., SeveralColumns]:
    """Return a function that builds the Spark aggregates for the square root of an aggregate."""

    def of_root(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
        squared = exact(names, types, parameters, way)
        return attrs.evolve(squared, finish=lambda made: F.sqrt(squared.finish(made)))

    return of_root


def _spread(name: str, is_root: bool) -> None:
    """Define the variance or the standard deviation of the values of a group."""

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return variance(positions[0], is_root)

    exact = _root(exact_variance) if is_root else exact_variance
    define_aggregate(name, _infer_spread, order_sensitive=False, exact=exact, of_columns=of_columns, skips_missing=True)


def _column_spread(name: str, is_root: bool) -> None:
    """Define the variance or the standard deviation of a column, with degrees of freedom as parameter."""

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return column_variance(positions[0], parameters[0], is_root)

    exact = _root(_exact_column_variance) if is_root else _exact_column_variance
    define_aggregate(name, _infer_column_spread, order_sensitive=False, exact=exact, of_columns=of_columns)


_spread("var", is_root=False)
_spread("std", is_root=True)
_column_spread("column_var", is_root=False)
_column_spread("column_std", is_root=True)


# Exact sums of products of two or three numbers.

# Factors are scaled into a band of exponents, -BAND up to BAND, in which products of three and their rounding errors are exact; bands are
# BAND_PLACES places apart.
BAND, BAND_PLACES = 300, 15
# How many places sums of products of three numbers are moved before they are sent, as lists of digits have no place for the least of them.
SENT_PLACES = 20
# Rows that are multiplied at a time, and how many such blocks are added before digits are carried.
BLOCK, BLOCKS = 1 << 14, 1 << 5


def products_of(factors: Sequence[np.ndarray]) -> list[tuple[np.ndarray, int]]:
    """Return the exact products of two or three finite floats in each row as parts: floats that are multiplied by ``2**(40 * place)``.

    Examples
    --------
    >>> [(part.tolist(), place) for part, place in products_of([np.array([3.0, 1.0 + 2.0**-52]), np.array([2.0, 1.0 + 2.0**-52])])]
    [([6.0, 1.0000000000000004], 0), ([0.0, 4.930380657631324e-32], 0)]
    >>> [(part.tolist(), place) for part, place in products_of([np.array([2.0**1000])] * 3) if part.any()] == [([2.0**-600], 90)]
    True
    """
    distinct = {id(factor): factor for factor in factors}
    bands = {}
    for name, factor in distinct.items():
        # The exponent of zero is zero.
        exponents = np.frexp(factor)[1]
        if exponents.max(initial=0) >= BAND or exponents.min(initial=0) < -BAND:
            bands[name] = (exponents + BAND) // (2 * BAND)
    if not bands:
        return exact_products(factors, 0)
    nothing = np.zeros(len(factors[0]), dtype=np.int64)
    columns = [bands.get(id(factor), nothing) for factor in factors]
    is_product = np.logical_and.reduce([factor != 0.0 for factor in distinct.values()])
    if not is_product.any():
        return exact_products([np.where(is_product, factor, 0.0) for factor in factors], 0)
    result = []
    for chosen in np.unique(np.stack(columns)[:, is_product], axis=1).T.tolist():
        rows = is_product & np.logical_and.reduce([column == band for column, band in zip(columns, chosen, strict=True)])
        moved = [np.ldexp(np.where(rows, factor, 0.0), -2 * BAND * band) for factor, band in zip(factors, chosen, strict=True)]
        result += exact_products(moved, BAND_PLACES * sum(chosen))
    return result


def exact_products(factors: Sequence[np.ndarray], place: int) -> list[tuple[np.ndarray, int]]:
    """Return the products of floats whose exponents are in the band, and their rounding errors."""
    parts = [factors[0]]
    for factor in factors[1:]:
        products = [part * factor for part in parts]
        parts = [*products, *(product_error(part, factor, product) for part, product in zip(parts, products, strict=True))]
    return [(part, place) for part in parts]


@attrs.frozen
class ProductSum(StateColumn):
    """The exact sum of the products of two or three columns of numbers as floats, over the rows in which all have a value and are finite.

    Unlike those of :class:`FloatSum`, products may be beyond the largest float or below the smallest.

    Parameters
    ----------
    factors
        Positions of the columns, of which one may be given several times.
    """

    # The running sums of the digits of so many rows, with up to four numbers of MAX_BITS bits, fit 64 bits.
    rows_per_block: ClassVar[int] = 1 << 15
    factors: tuple[int, ...]

    def empty(self, groups: int) -> State:
        return ExactSums(Digits(groups))

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        result, factors = Digits(groups.count), self._factors(rows)
        for first in range(0, rows.count, BLOCK * BLOCKS):
            places: dict[int, np.ndarray] = {}
            for start in range(first, min(first + BLOCK * BLOCKS, rows.count), BLOCK):
                block, codes = slice(start, start + BLOCK), groups.codes[start : start + BLOCK]
                parts = {name: factor[block] for name, factor in factors.items()}
                for place, digits in by_place(products_of([parts[position] for position in self.factors]), BITS).items():
                    totals = places.setdefault(place, np.zeros(groups.count, dtype=np.int64))
                    if groups.count == 1:
                        totals[0] += digits.sum()
                    else:
                        np.add.at(totals, codes, digits)
            result += Digits(groups.count, places)
        return ExactSums(result)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return ExactSums(state.all_digits().grouped(groups.codes, groups.count).carried())

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        every = ExactSums(row_digits(self._parts(rows), starts, before.all_digits()))
        return every, every.take(last_rows(starts, rows.count))

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        return ExactSums(digits_of_parts(self._parts(rows), windows.starts, windows.stops))

    def _parts(self, rows: InputRows) -> list[tuple[np.ndarray, int]]:
        factors = self._factors(rows)
        return products_of([factors[position] for position in self.factors])

    def _factors(self, rows: InputRows) -> dict[int, np.ndarray]:
        """Return the numbers of each column, with zero where a column has no value or no finite one."""
        where = tuple(sorted(set(self.factors)))
        columns = {position: rows.floats(position, where) for position in where}
        if all(math.isfinite(largest_magnitude(numbers)) for numbers in columns.values()):
            return columns
        finite = np.logical_and.reduce([np.isfinite(numbers) for numbers in columns.values()])
        return {position: np.where(finite, numbers, 0.0) for position, numbers in columns.items()}

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [digits_to_lists(state.all_digits().moved(SENT_PLACES))]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return ExactSums(digits_of(columns[0]).moved(-SENT_PLACES))


# Skewness and correlation are of the form ``a / sqrt(b)``, of which ``a**2 / b`` is rounded correctly: with pairs of floats where these
# have enough bits, else with pairs for the sums of deviations from a float near the mean, and otherwise with Python ints, to the same bits.

# Error bound of a few steps of arithmetic with pairs, relative to the terms that are added; and the error that makes pairs useless.
STEPS_ERROR, UNSURE = 2.0**-96, 2.0**-55
# Between these bounds all products of sums, and their rounding errors, are floats.
LEAST_SPREAD, MOST_SPREAD = 2.0**-200, 2.0**200
# Means of so many bits are subtracted from numbers, as their squares are exact, if they are between these bounds.
MEAN_BITS, LEAST_MEAN, MOST_MEAN = 24, 2.0**-90, 2.0**90
# Up to this many groups ints are faster than such deviations.
FEW_UNSURE = 16
# Quotients are scaled if the bits of numerator and denominator differ by more.
MOST_BITS = 900


def times(first: Pair, second: Pair) -> Pair:
    """Return the product of two pairs of floats."""
    product = first[0] * second[0]
    rest = product_error(first[0], second[0], product) + (first[0] * second[1] + first[1] * second[0])
    total = product + rest
    return total, rest - (total - product)


def minus(first: Pair, second: Pair) -> Pair:
    """Return the difference of two pairs of floats."""
    difference = first[0] - second[0]
    taken = difference - first[0]
    rest = ((first[0] - (difference - taken)) - (second[0] + taken)) + (first[1] - second[1])
    total = difference + rest
    return total, rest - (total - difference)


def rounded_ratio(numerator: Pair, denominator: Pair, error: np.ndarray) -> np.ndarray:
    """Return the correctly rounded ``numerator**2 / denominator``; NaN where its relative error leaves the rounding undecided."""
    square = times(numerator, numerator)
    first = square[0] / denominator[0]
    left = minus(square, times((first, np.zeros(len(first))), denominator))
    return rounded_or_nan(first, left[0] / denominator[0], np.where(error < UNSURE, error * first, math.nan))


def signed_root(numerator: int, denominator: int) -> float:
    """Return ``numerator / sqrt(denominator)``; NaN if both are zero.

    Examples
    --------
    >>> signed_root(-3, 36), signed_root(0, 5), signed_root(0, 0), signed_root(1, 10**600)
    (-0.5, 0.0, nan, 1e-300)
    """
    if not denominator:
        return math.nan
    bits = max(denominator.bit_length() - 2 * numerator.bit_length() - MOST_BITS, 0)
    bits += bits % 2
    root = math.ldexp(math.sqrt(quotient(numerator * numerator << bits, denominator)), -bits // 2)
    return -root + 0.0 if numerator < 0 else root


@attrs.frozen
class Ratio:
    """How the value of groups of finite numbers is computed from exact sums.

    Parameters
    ----------
    from_pairs
        ``from_pairs(counts, *sums)``: the values, from pairs of floats; NaN where these leave the last bit undecided.
    around_means
        ``around_means(counts, *sums)``: the same sums of deviations from floats near the means, and of which groups there are any.
    from_ints
        ``from_ints(count, group, *sums)``: the value of one group.
    """

    from_pairs: Callable[..., np.ndarray]
    around_means: Callable[..., tuple[np.ndarray, list[Digits]]]
    from_ints: Callable[..., float]

    def of(self, counts: np.ndarray, states: Sequence[State], chosen: np.ndarray) -> np.ndarray:
        """Return the values of the chosen groups, and NaN for the others."""
        result, digits = np.full(len(counts), math.nan), [state.all_digits() for state in states]
        for groups, sums in blocks_of(np.flatnonzero(chosen), digits):
            its_counts = counts[groups]
            values = self._in_pairs(its_counts, sums)
            unsure = np.flatnonzero(np.isnan(values))
            if len(unsure) > FEW_UNSURE:
                usual, moved = self.around_means(its_counts[unsure], *(part.select(unsure) for part in sums))
                values[unsure[usual]] = self._in_pairs(its_counts[unsure[usual]], moved)
                unsure = np.flatnonzero(np.isnan(values))
            for group in unsure.tolist():
                values[group] = self.from_ints(int(its_counts[group]), group, *sums)
            result[groups] = values
        return result

    def _in_pairs(self, counts: np.ndarray, sums: Sequence[Digits]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self.from_pairs((counts.astype(np.float64), np.zeros(len(counts))), *(part.pairs() for part in sums))


def blocks_of(groups: np.ndarray, digits: Sequence[Digits]) -> Iterator[tuple[np.ndarray, list[Digits]]]:
    """Yield some groups in blocks that fit the cache of a core, with their carried sums."""
    for start in range(0, len(groups), GROUPS_PER_BLOCK):
        block = groups[start : start + GROUPS_PER_BLOCK]
        yield block, [part.select(block).carried() for part in digits]


def skewness_from_pairs(counts: Pair, sums: Pair, squares: Pair, cubes: Pair) -> np.ndarray:
    """Return the skewness of groups of finite numbers; NaN where pairs of floats leave the last bit undecided."""
    three, two = (3.0 * counts[0], counts[1]), (2.0 * sums[0], 2.0 * sums[1])
    square, most = times(sums, sums), times(counts, squares)
    spread = minus(most, square)
    terms = times(times(cubes, counts), counts), times(times(sums, squares), three), times(square, two)
    third = minus(minus(terms[0], terms[1]), (-terms[2][0], -terms[2][1]))
    error = STEPS_ERROR * (1.0 + 2.0 * sum(np.abs(term[0]) for term in terms) / np.abs(third[0]) + 6.0 * most[0] / spread[0])
    error[~((spread[0] > LEAST_SPREAD) & (most[0] < MOST_SPREAD))] = math.nan
    ratio = rounded_ratio(third, times(spread, times(spread, spread)), error)
    return np.copysign(np.sqrt(ratio), third[0])


def skewness_from_ints(count: int, group: int, sums: Digits, squares: Digits, cubes: Digits) -> float:
    """Return the skewness of a group of finite numbers; NaN without variance."""
    place = min(least_place(sums), least_place(squares) // 2, least_place(cubes) // 3)
    first, second, third = sums.units(group, place), squares.units(group, 2 * place), cubes.units(group, 3 * place)
    return signed_root(count * (count * third - 3 * first * second) + 2 * first**3, (count * second - first * first) ** 3)


def near_means(counts: np.ndarray, *sums: Digits) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the groups whose means can be subtracted, and for each of some sums floats of few bits near their means."""
    means = []
    for part in sums:
        fraction, exponent = np.frexp(part.means(counts))
        means.append(np.ldexp(np.rint(np.ldexp(fraction, MEAN_BITS)), exponent - MEAN_BITS))
    sizes = [np.abs(mean) for mean in means]
    usual = np.flatnonzero(np.logical_and.reduce([(size > LEAST_MEAN) & (size < MOST_MEAN) for size in sizes]))
    return usual, [mean[usual] for mean in means]


def add_multiples(result: Digits, factors: np.ndarray, sums: Digits | np.ndarray) -> None:
    """Add to each sum the product of a float and another sum or a count."""
    groups, places = np.arange(result.count), sums.places if isinstance(sums, Digits) else {0: sums}
    for place, digits in places.items():
        result.add_product(factors, digits.astype(np.float64), groups, place)


def cubes_around_means(counts: np.ndarray, *sums: Digits) -> tuple[np.ndarray, list[Digits]]:
    """Return groups, and their sums of deviations from a float near the mean, and of the squares and cubes of these."""
    usual, (mean,) = near_means(counts, sums[0])
    counts, (first, second, third) = counts[usual], (part.select(usual) for part in sums)
    left, squares, cubes = first.select(np.arange(len(usual))), second.select(np.arange(len(usual))), third
    square = mean * mean
    cube = square * mean
    add_multiples(left, -mean, counts)
    add_multiples(squares, -2.0 * mean, first)
    add_multiples(squares, square, counts)
    add_multiples(cubes, -3.0 * mean, second)
    add_multiples(cubes, 3.0 * square, first)
    add_multiples(cubes, -cube, counts)
    add_multiples(cubes, -product_error(square, mean, cube), counts)
    return usual, [part.carried() for part in (left, squares, cubes)]


def least_place(digits: Digits) -> int:
    """Return the lowest place of some sums."""
    return min(digits.places, default=0)


def correlation_from_pairs(counts: Pair, products: Pair, sums: Pair, squares: Pair, others: Pair, other_squares: Pair) -> np.ndarray:
    """Return the correlation of groups of pairs of finite numbers; NaN where pairs of floats leave the last bit undecided."""
    terms = times(counts, products), times(sums, others)
    most, other_most = times(counts, squares), times(counts, other_squares)
    spread, other_spread = minus(most, times(sums, sums)), minus(other_most, times(others, others))
    common = minus(*terms)
    largest = np.abs(terms[0][0]) + np.abs(terms[1][0])
    error = STEPS_ERROR * (1.0 + 2.0 * (largest / np.abs(common[0]) + most[0] / spread[0] + other_most[0] / other_spread[0]))
    for part, whole in ((spread, most), (other_spread, other_most)):
        error[~((part[0] > LEAST_SPREAD) & (whole[0] < MOST_SPREAD))] = math.nan
    return np.copysign(np.sqrt(rounded_ratio(common, times(spread, other_spread), error)), common[0])


def correlation_from_ints(count: int, group: int, products: Digits, *sides: Digits) -> float:
    """Return the correlation of a group of pairs of finite numbers; NaN if a side has no variance."""
    sums, squares, others, other_squares = sides
    other_place = min(least_place(others), least_place(other_squares) // 2)
    place = min(least_place(sums), least_place(squares) // 2, least_place(products) - other_place)
    first, other = sums.units(group, place), others.units(group, other_place)
    spread = count * squares.units(group, 2 * place) - first * first
    other_spread = count * other_squares.units(group, 2 * other_place) - other * other
    return signed_root(count * products.units(group, place + other_place) - first * other, spread * other_spread)


def products_around_means(counts: np.ndarray, *sums: Digits) -> tuple[np.ndarray, list[Digits]]:
    """Return groups, and their sums of deviations from floats near the means, and of the squares and products of these."""
    usual, means = near_means(counts, sums[1], sums[3])
    counts, (products, *of_sides) = counts[usual], [part.select(usual) for part in sums]
    result = [products]
    for mean, numbers, squares in zip(means, of_sides[::2], of_sides[1::2], strict=True):
        left = numbers.select(np.arange(len(usual)))
        add_multiples(left, -mean, counts)
        add_multiples(squares, -2.0 * mean, numbers)
        add_multiples(squares, mean * mean, counts)
        result += [left, squares]
    add_multiples(products, -means[1], of_sides[0])
    add_multiples(products, -means[0], of_sides[2])
    add_multiples(products, means[0] * means[1], counts)
    return usual, [part.carried() for part in result]


SKEWNESS = Ratio(skewness_from_pairs, cubes_around_means, skewness_from_ints)
CORRELATION = Ratio(correlation_from_pairs, products_around_means, correlation_from_ints)


def are_finite(*sums: State) -> np.ndarray:
    """Return which groups have no infinity and no NaN in any of some sums."""
    odd = [found for found in (state.non_finite() for state in sums) if found is not None]
    return ~np.logical_or.reduce(odd) if odd else np.ones(len(sums[0]), dtype=bool)


def skewness(column: int) -> ColumnAggregate:
    """Return the population skewness; missing without a value, NaN without variance and with an infinity or NaN."""

    def finish(counts: State, squares: State, sums: State, cubes: State, *, last: bool) -> pa.Array:
        chosen = (counts > 1) & are_finite(sums)
        return known(SKEWNESS.of(counts, (sums, squares, cubes), chosen), counts > 0)

    return ColumnAggregate((Count((column,)), FloatSum(column, column), FloatSum(column), ProductSum((column,) * 3)), finish)


def correlation(first: int, second: int) -> ColumnAggregate:
    """Return the correlation over the rows in which both columns have a value; missing with fewer than two, NaN where one has no variance.

    With an infinity or NaN in such a row it is NaN.
    """
    both = tuple(sorted({first, second}))
    of_first, of_second = ((FloatSum(column, column, both), FloatSum(column, where=both)) for column in (first, second))

    def finish(counts: State, products: State, squares: State, sums: State, other_squares: State, others: State, *, last: bool) -> pa.Array:
        chosen, states = (counts > 1) & are_finite(sums, others), (products, sums, squares, others, other_squares)
        return known(CORRELATION.of(counts, states, chosen), counts > 1)

    return ColumnAggregate((Count(both), ProductSum((first, second)), *of_first, *of_second), finish)


def _infer_skewness(types: Types, parameters: Parameters) -> ColumnType:
    require("SKEWNESS", types[0], (INT_KIND, FLOAT_KIND))
    return FLOAT


def _infer_correlation(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("CORRELATION", column_type, (INT_KIND, FLOAT_KIND))
    return FLOAT


def _skewness(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return skewness(positions[0])


def _correlation(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return correlation(positions[0], positions[1])


define_aggregate("skewness", _infer_skewness, order_sensitive=False, of_columns=_skewness, skips_missing=True)
define_aggregate("correlation", _infer_correlation, order_sensitive=False, of_columns=_correlation, arguments=2)
