"""Skewness and correlation from counts and exact sums of numbers, squares and products, and their aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sums_of_groups import GROUPS_PER_BLOCK
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.counts import Count, known
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.moments import add_multiples, are_finite
from sframe_spark.expressions.aggregates.product_sums import ProductSum
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import FLOAT, FLOAT_KIND, INT_KIND, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.exact_squared_deviations import rounded_or_nan
    from sframe_spark.compute.exact_sum_and_variance import product_error, quotient
    from sframe_spark.compute.exact_sums_of_groups import Digits
    from sframe_spark.compute.pairs_of_floats import PairsOfFloats

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]

# Skewness and correlation are of the form ``a / sqrt(b)``, of which ``a**2 / b`` is rounded correctly: with pairs of floats where these
# have enough bits, else with pairs for the sums of deviations from a float near the mean, and otherwise with Python ints, to the same bits.

# Error bound of a few steps of arithmetic with pairs, relative to the terms that are added; and the error that makes pairs useless.
STEPS_ERROR, UNSURE = 2.0**-96, 2.0**-55
# Between these bounds all products of sums, and their rounding errors, are floats.
MIN_SPREAD, MAX_SPREAD = 2.0**-200, 2.0**200
# Means of so many bits are subtracted from numbers, as their squares are exact, if they are between these bounds.
MEAN_BITS, MIN_MEAN, MAX_MEAN = 24, 2.0**-90, 2.0**90
# Up to this many groups ints are faster than such deviations.
FEW_UNSURE = 16
# Quotients are scaled if the bits of numerator and denominator differ by more.
MAX_BITS = 900


def rounded_ratio(numerator: PairsOfFloats, denominator: PairsOfFloats, error: np.ndarray) -> np.ndarray:
    """Return the correctly rounded ``numerator**2 / denominator``; NaN where its relative error leaves the rounding undecided."""
    square = numerator * numerator
    first = square.high / denominator.high
    left = square - denominator * first
    return rounded_or_nan(first, left.high / denominator.high, np.where(error < UNSURE, error * first, math.nan))


def signed_root(numerator: int, denominator: int) -> float:
    """Return ``numerator / sqrt(denominator)``; NaN if both are zero.

    Examples
    --------
    >>> signed_root(-3, 36), signed_root(0, 5), signed_root(0, 0), signed_root(1, 10**600)
    (-0.5, 0.0, nan, 1e-300)
    """
    if not denominator:
        return math.nan
    bits = max(denominator.bit_length() - 2 * numerator.bit_length() - MAX_BITS, 0)
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
                usual, moved = self.around_means(its_counts[unsure], *(part.take(unsure) for part in sums))
                values[unsure[usual]] = self._in_pairs(its_counts[unsure[usual]], moved)
                unsure = np.flatnonzero(np.isnan(values))
            for group in unsure.tolist():
                values[group] = self.from_ints(int(its_counts[group]), group, *sums)
            result[groups] = values
        return result

    def _in_pairs(self, counts: np.ndarray, sums: Sequence[Digits]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self.from_pairs(PairsOfFloats.of(counts), *(PairsOfFloats(*part.pairs()) for part in sums))


def blocks_of(groups: np.ndarray, digits: Sequence[Digits]) -> Iterator[tuple[np.ndarray, list[Digits]]]:
    """Yield some groups in blocks that fit the cache of a core, with their carried sums."""
    for start in range(0, len(groups), GROUPS_PER_BLOCK):
        block = groups[start : start + GROUPS_PER_BLOCK]
        yield block, [part.take(block).carried() for part in digits]


def skewness_from_pairs(counts: PairsOfFloats, sums: PairsOfFloats, squares: PairsOfFloats, cubes: PairsOfFloats) -> np.ndarray:
    """Return the skewness of groups of finite numbers; NaN where pairs of floats leave the last bit undecided."""
    square, most = sums * sums, counts * squares
    spread = most - square
    terms = cubes * counts * counts, sums * squares * (counts * 3.0), square * (sums * 2.0)
    third = terms[0] - terms[1] + terms[2]
    error = STEPS_ERROR * (1.0 + 2.0 * sum(np.abs(term.high) for term in terms) / np.abs(third.high) + 6.0 * most.high / spread.high)
    error[~((spread.high > MIN_SPREAD) & (most.high < MAX_SPREAD))] = math.nan
    ratio = rounded_ratio(third, spread * (spread * spread), error)
    return np.copysign(np.sqrt(ratio), third.high)


def skewness_from_ints(count: int, group: int, sums: Digits, squares: Digits, cubes: Digits) -> float:
    """Return the skewness of a group of finite numbers; NaN without variance."""
    place = min(lowest_place(sums), lowest_place(squares) // 2, lowest_place(cubes) // 3)
    first, second, third = sums.units(group, place), squares.units(group, 2 * place), cubes.units(group, 3 * place)
    return signed_root(count * (count * third - 3 * first * second) + 2 * first**3, (count * second - first * first) ** 3)


def near_means(counts: np.ndarray, *sums: Digits) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the groups whose means can be subtracted, and for each of some sums floats of few bits near their means."""
    means = []
    for part in sums:
        fraction, exponent = np.frexp(part.means(counts))
        means.append(np.ldexp(np.rint(np.ldexp(fraction, MEAN_BITS)), exponent - MEAN_BITS))
    sizes = [np.abs(mean) for mean in means]
    usual = np.flatnonzero(np.logical_and.reduce([(size > MIN_MEAN) & (size < MAX_MEAN) for size in sizes]))
    return usual, [mean[usual] for mean in means]


def cubes_around_means(counts: np.ndarray, *sums: Digits) -> tuple[np.ndarray, list[Digits]]:
    """Return groups, and their sums of deviations from a float near the mean, and of the squares and cubes of these."""
    usual, (mean,) = near_means(counts, sums[0])
    counts, (first, second, third) = counts[usual], (part.take(usual) for part in sums)
    left, squares, cubes = first.take(np.arange(len(usual))), second.take(np.arange(len(usual))), third
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


def lowest_place(digits: Digits) -> int:
    """Return the lowest place of some sums."""
    return min(digits.places, default=0)


def correlation_from_pairs(
    counts: PairsOfFloats, products: PairsOfFloats, sums: PairsOfFloats, squares: PairsOfFloats, others: PairsOfFloats, other_squares: PairsOfFloats
) -> np.ndarray:
    """Return the correlation of groups of pairs of finite numbers; NaN where pairs of floats leave the last bit undecided."""
    terms = counts * products, sums * others
    most, other_most = counts * squares, counts * other_squares
    spread, other_spread = most - sums * sums, other_most - others * others
    common = terms[0] - terms[1]
    largest = np.abs(terms[0].high) + np.abs(terms[1].high)
    error = STEPS_ERROR * (1.0 + 2.0 * (largest / np.abs(common.high) + most.high / spread.high + other_most.high / other_spread.high))
    for part, whole in ((spread, most), (other_spread, other_most)):
        error[~((part.high > MIN_SPREAD) & (whole.high < MAX_SPREAD))] = math.nan
    return np.copysign(np.sqrt(rounded_ratio(common, spread * other_spread, error)), common.high)


def correlation_from_ints(count: int, group: int, products: Digits, *sides: Digits) -> float:
    """Return the correlation of a group of pairs of finite numbers; NaN if a side has no variance."""
    sums, squares, others, other_squares = sides
    other_place = min(lowest_place(others), lowest_place(other_squares) // 2)
    place = min(lowest_place(sums), lowest_place(squares) // 2, lowest_place(products) - other_place)
    first, other = sums.units(group, place), others.units(group, other_place)
    spread = count * squares.units(group, 2 * place) - first * first
    other_spread = count * other_squares.units(group, 2 * other_place) - other * other
    return signed_root(count * products.units(group, place + other_place) - first * other, spread * other_spread)


def products_around_means(counts: np.ndarray, *sums: Digits) -> tuple[np.ndarray, list[Digits]]:
    """Return groups, and their sums of deviations from floats near the means, and of the squares and products of these."""
    usual, means = near_means(counts, sums[1], sums[3])
    counts, (products, *of_sides) = counts[usual], [part.take(usual) for part in sums]
    result = [products]
    for mean, numbers, squares in zip(means, of_sides[::2], of_sides[1::2], strict=True):
        left = numbers.take(np.arange(len(usual)))
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


def skewness(column: int, bias: bool = True) -> ColumnAggregate:
    """Return the skewness; missing without a value, NaN without variance and with an infinity or NaN.

    It is that of a population, or without ``bias`` an estimate from a sample, which is missing with fewer than three values.
    """

    def finish(counts: State, squares: State, sums: State, cubes: State, *, last: bool) -> pa.Array:
        chosen = (counts > 1) & are_finite(sums)
        values = SKEWNESS.of(counts, (sums, squares, cubes), chosen)
        if bias:
            return known(values, counts > 0)
        numbers = np.maximum(counts, 3).astype(np.float64)
        return known(values * np.sqrt(numbers * (numbers - 1.0)) / (numbers - 2.0), counts > 2)

    return ColumnAggregate((Count((column,)), FloatSum(column, is_squared=True), FloatSum(column), ProductSum((column,) * 3)), finish)


def correlation(first: int, second: int) -> ColumnAggregate:
    """Return the correlation over the rows in which both columns have a value; missing with fewer than two, NaN where one has no variance.

    With an infinity or NaN in such a row it is NaN.
    """
    both = tuple(sorted({first, second}))
    of_first, of_second = ((FloatSum(column, True, both), FloatSum(column, where=both)) for column in (first, second))

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
    return skewness(positions[0], *parameters)


def _correlation(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return correlation(positions[0], positions[1])


define_aggregate("skewness", _infer_skewness, order_sensitive=False, of_columns=_skewness, skips_missing=True)
define_aggregate("correlation", _infer_correlation, order_sensitive=False, of_columns=_correlation, arguments=2)
