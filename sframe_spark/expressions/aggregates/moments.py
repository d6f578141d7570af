"""Moments about the mean, of one or several columns with or without weights, from exact sums, for many groups at once.

An aggregate of moments is a formula over sums of products of powers, such as ``x**2 * y``. The sums are exact, so the formula gives the same
however rows were divided. It is computed with pairs of floats (:class:`PairMoments`). Where deviations from the mean are small beside the numbers,
floats near the means are first subtracted from all numbers, exactly, in the sums. Groups of very large or small numbers are computed with Python's
fractions (:class:`FractionMoments`), by the same formula.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from sframe_spark.compute.exact_sums_of_groups import BITS, GROUPS_PER_BLOCK
from sframe_spark.expressions.aggregates.counts import Count
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.product_sums import ProductSum
from sframe_spark.expressions.aggregates.state_columns import State, StateColumn
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sums_of_groups import Digits, ExactSums
    from sframe_spark.compute.pairs_of_floats import PairsOfFloats

Powers = tuple[int, ...]
"""The exponent of each variable in a product."""
Formula = Callable[["Moments"], Sequence[Any]]
"""From the moments of some groups to one or several numbers of each."""

# Between these bounds all products of four sums, and their rounding errors, are floats.
MIN_SUM, MAX_SUM = 2.0**-180, 2.0**180
# Digits of fewer bits are in sums of which the pairs may lack some.
MIN_PLACE = -1000
# A moment is computed from smaller numbers where it is so small, relative to the terms that are added: pairs have bits for that, and the rest.
CANCELS = 2.0**-36
# A moment that is smaller than the rounding errors of its terms is zero.
ROUNDING = 2.0**-92
# A float near the mean has so many bits, as its products with digits are exact; after so many steps all bits of floats are subtracted.
MEAN_BITS, STEPS = 24, 3
# Between these bounds such floats are multiplied with digits.
MIN_MEAN, MAX_MEAN = 2.0**-90, 2.0**90


@attrs.frozen
class MomentColumns:
    """The sums from which moments are computed, over the rows in which all columns have a value.

    Parameters
    ----------
    variables
        Positions of the columns.
    weight
        Position of a column of weights, which multiply each product; None: there are none.
    highest
        The powers that a formula reads. Those with smaller exponents are needed to subtract means.
    has_squared_weights
        Whether the formula reads the sum of squared weights.

    Examples
    --------
    >>> MomentColumns((0, 1), None, ((1, 1),)).powers
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """

    variables: tuple[int, ...]
    weight: int | None
    highest: tuple[Powers, ...]
    has_squared_weights: bool = False

    @property
    def powers(self) -> tuple[Powers, ...]:
        """All powers that are summed, the power zero first."""
        found = {power for highest in self.highest for power in itertools.product(*(range(exponent + 1) for exponent in highest))}
        return tuple(sorted(found, key=lambda power: (sum(power), power)))

    @property
    def states(self) -> tuple[StateColumn, ...]:
        """The number of rows, the sums of each power, and the sum of squared weights if it is read. Without weights the power zero is the number."""
        where = tuple(sorted({*self.variables, *([] if self.weight is None else [self.weight])}))
        weight = () if self.weight is None else (self.weight,)
        factors = [
            tuple(variable for variable, exponent in zip(self.variables, power, strict=True) for _ in range(exponent)) + weight
            for power in self.powers
        ]
        sums = [sum_of_product(product, where) for product in [*factors, *([weight * 2] if self.has_squared_weights else [])] if product]
        return (Count(where), *sums)

    def values(self, formula: Formula, width: int, states: Sequence[State], chosen: np.ndarray, given: np.ndarray | None = None) -> list[np.ndarray]:
        """Return the ``width`` numbers that a formula gives for each chosen group, which must have no infinity or NaN; NaN for the other groups.

        ``given`` is a float of each group that the formula reads, too.
        """
        counts, sums = states[0], states[1:]
        result = [np.full(len(counts), math.nan) for _ in range(width)]
        every = np.flatnonzero(chosen)
        for start in range(0, len(every), GROUPS_PER_BLOCK):
            groups = every[start : start + GROUPS_PER_BLOCK]
            block = [part.take(groups) for part in sums]
            moments = PairMoments.of(self, counts[groups], block)
            moments.given = None if given is None else PairsOfFloats.of(given[groups])
            with np.errstate(all="ignore"):
                for values, found in zip(result, formula(moments), strict=True):
                    values[groups] = np.broadcast_to(PairsOfFloats.of(found).rounded(), len(groups))
            for group in np.flatnonzero(moments.out_of_range).tolist():
                exact = FractionMoments.of(self, int(counts[groups[group]]), [part.take(np.array([group])).all_digits() for part in block])
                exact.given = None if given is None else Fraction(float(given[groups[group]]))
                for values, number in zip(result, formula(exact), strict=True):
                    values[groups[group]] = as_float(number)
        return result

    def by_power(self, total: Any, sums: Sequence[Any]) -> dict[Powers, Any]:
        """Return the sums by power; without weights the sum of the power zero is ``total``."""
        return dict(zip(self.powers, sums if self.weight is not None else [total, *sums], strict=False))


def factors_of(variables: Sequence[int], power: Powers) -> tuple[int, ...]:
    """Return the factors of a product of powers.

    Examples
    --------
    >>> factors_of((7, 8), (2, 1))
    (7, 7, 8)
    """
    return tuple(variable for variable, exponent in zip(variables, power, strict=True) for _ in range(exponent))


def sum_of_product(factors: tuple[int, ...], where: tuple[int, ...]) -> StateColumn:
    """Return the state column with the exact sum of a product of columns."""
    if len(factors) == 1:
        return FloatSum(factors[0], where=where)
    return FloatSum(factors[0], True, where) if factors[1:] == factors[:1] else ProductSum(factors, where)


def are_finite(*sums: State) -> np.ndarray:
    """Return which groups have no infinity and no NaN in any of some sums."""
    odd = [found for found in (state.non_finite() for state in sums) if found is not None]
    return ~np.logical_or.reduce(odd) if odd else np.ones(len(sums[0]), dtype=bool)


def as_float(number: Any) -> float:
    """Return the float nearest to a number, infinite beyond floats."""
    try:
        return float(number)
    except OverflowError:
        return infinite(number)


def infinite(number: Any) -> float:
    """Return the infinity with the sign of a number."""
    return math.inf if number > 0 else -math.inf


class Moments(ABC):
    """What a formula reads: the same for pairs of floats of many groups and for fractions of one group.

    Attributes
    ----------
    count
        The number of rows.
    total
        The sum of weights; without weights the number of rows.
    sums
        The sum of the products of each power.
    central
        For each power that the formula names the sum of products of deviations from the means.
    squared_weights
        The sum of squared weights; None if it is not read.
    given
        Another number of each group; None if there is none.
    """

    count: Any
    total: Any
    sums: Mapping[Powers, Any]
    central: Mapping[Powers, Any]
    squared_weights: Any
    given: Any = None

    def mean(self, variable: int) -> Any:
        """Return the mean of a variable."""
        width = len(next(iter(self.sums)))
        return self.ratio(self.sums[tuple(int(other == variable) for other in range(width))], self.total)

    @abstractmethod
    def ratio(self, numerator: Any, denominator: Any) -> Any:
        """Return a quotient; of zero it is infinite, or NaN."""

    @abstractmethod
    def root_ratio(self, numerator: Any, denominator: Any) -> Any:
        """Return a number divided by the root of another one."""

    @abstractmethod
    def without_noise(self, number: Any, scale: Any) -> Any:
        """Return a difference of numbers of some size: zero if it is smaller than their rounding errors."""

    @abstractmethod
    def or_nan(self, number: Any, scale: Any) -> Any:
        """Return a difference of numbers of some size; NaN if it is zero or smaller than their rounding errors."""

    @abstractmethod
    def root(self, number: Any) -> Any:
        """Return the square root of a number."""


def multiplied_moment(power: Powers, total: Any, sums: Mapping[Powers, Any]) -> tuple[Any, list[Any], int]:
    """Return a moment about the mean times ``total**n`` for the smallest ``n`` with which no quotient is needed, the terms of it, and ``n``.

    Examples
    --------
    >>> multiplied_moment((2,), 2, {(1,): 4, (2,): 10})
    (4, [20, 16], 1)
    """
    variables = factors_of(range(len(power)), power)
    width, order = len(power), len(variables)

    def total_of(*chosen: int) -> Any:
        return sums[tuple(chosen.count(variable) for variable in range(width))]

    if order == 1:
        return sums[power] * 0, [], 0
    first = total_of(variables[0])
    if order == 2:
        terms = [sums[power] * total, first * total_of(variables[1])]
        return terms[0] - terms[1], terms, 1
    x = variables[0]
    square = first * first
    if order == 3:
        terms = [sums[power] * total * total, total_of(x, x) * first * (total * 3), square * (first * 2)]
        return terms[0] - terms[1] + terms[2], terms, 2
    terms = [sums[power] * total * total * total, total_of(x, x, x) * first * (total * total * 4), total_of(x, x) * square * (total * 6)]
    terms.append(square * square * 3)
    return terms[0] - terms[1] + terms[2] - terms[3], terms, 3


@attrs.define(eq=False)
class PairMoments(Moments):
    """Moments of many groups in pairs of floats. Those of the groups that are ``out_of_range`` mean nothing."""

    count: PairsOfFloats
    total: PairsOfFloats
    sums: dict[Powers, PairsOfFloats]
    central: dict[Powers, PairsOfFloats]
    squared_weights: PairsOfFloats | None
    out_of_range: np.ndarray
    given: PairsOfFloats | None = None

    @classmethod
    def of(cls, columns: MomentColumns, counts: np.ndarray, sums: Sequence[ExactSums]) -> PairMoments:
        """Return the moments of groups from exact sums."""
        pairs = list(map(pairs_of, sums))
        count = PairsOfFloats.of(counts)
        total = count if columns.weight is None else pairs[0]
        found = columns.by_power(total, pairs)
        result = cls(count, total, found, {}, pairs[-1] if columns.has_squared_weights else None, np.zeros(len(counts), dtype=bool))
        result.out_of_range = np.logical_or.reduce([is_out_of_range(part, exact) for part, exact in zip(pairs, sums, strict=True)])
        with np.errstate(all="ignore"):
            result._compute(columns, counts, columns.by_power(counts, sums))
        return result

    def _compute(self, columns: MomentColumns, counts: np.ndarray, digits: dict[Powers, Any]) -> None:
        """Compute the moments; where they cancel, from numbers from which floats near the means are subtracted."""
        cancels, is_alone = np.zeros(len(counts), dtype=bool), counts <= 1
        for power in columns.highest:
            value, terms, factors = multiplied_moment(power, self.total, self.sums)
            cancels |= is_small(value, terms, CANCELS)
            # A row alone does not deviate from itself.
            self.central[power] = divided(value, self.total, factors).replaced(is_alone, 0.0)
        left = np.flatnonzero(cancels & ~self.out_of_range & ~is_alone)
        # Other aggregates read the same sums, so copies are changed.
        moved: dict[Powers, Any] = {}
        for power, part in digits.items():
            moved[power] = part[left] if isinstance(part, np.ndarray) else part.all_digits().take(left).carried()
        for _ in range(STEPS):
            if not len(left):
                return
            total = self.total.take(left)
            unusual = subtract_means(moved, total.rounded())
            sums = {columns.powers[0]: total}
            for power in columns.powers[1:]:
                sums[power] = pairs_of(moved[power])
                unusual |= is_out_of_range(sums[power], moved[power])
            self.out_of_range[left[unusual]] = True
            cancels = np.zeros(len(left), dtype=bool)
            for power in columns.highest:
                value, terms, factors = multiplied_moment(power, total, sums)
                if terms:
                    value = value.replaced(is_small(value, terms, ROUNDING), 0.0)
                    cancels |= is_small(value, terms, CANCELS) & (terms[0].high != 0.0)
                found, new = self.central[power], divided(value, total, factors)
                found.high[left], found.low[left] = new.high, new.low
            kept = np.flatnonzero(cancels & ~unusual)
            left = left[kept]
            moved = {power: part.take(kept) if isinstance(part, Digits) else part[kept] for power, part in moved.items()}

    def ratio(self, numerator: Any, denominator: Any) -> PairsOfFloats:
        return PairsOfFloats.of(numerator) / denominator

    def root_ratio(self, numerator: Any, denominator: Any) -> np.ndarray:
        first, second = PairsOfFloats.of(numerator), PairsOfFloats.of(denominator)
        square = (first * first / second).rounded()
        return np.where(second.high < 0.0, math.nan, np.copysign(np.sqrt(np.where(square < 0.0, math.nan, square)), first.high) + 0.0)

    def without_noise(self, number: Any, scale: Any) -> PairsOfFloats:
        pairs = PairsOfFloats.of(number)
        return pairs.replaced(is_small(pairs, [PairsOfFloats.of(scale)], ROUNDING), 0.0)

    def or_nan(self, number: Any, scale: Any) -> PairsOfFloats:
        pairs = PairsOfFloats.of(number)
        return pairs.replaced(is_small(pairs, [PairsOfFloats.of(scale)], ROUNDING), math.nan)

    def root(self, number: Any) -> np.ndarray:
        return np.sqrt(PairsOfFloats.of(number).rounded())


def pairs_of(sums: ExactSums) -> PairsOfFloats:
    """Return exact sums as pairs of floats, the nearest float and the rest."""
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = (sums.carried() if isinstance(sums, Digits) else sums).pairs()
        total = high + low
        return PairsOfFloats(total, low - (total - high))


def is_out_of_range(pairs: PairsOfFloats, exact: ExactSums) -> np.ndarray:
    """Return which sums are so large or small that products of pairs of them overflow or underflow."""
    size = np.abs(pairs.high)
    result = ~(size <= MAX_SUM) | ((size < MIN_SUM) & (size > 0.0))
    if isinstance(exact, Digits):
        for place in (place for place in exact.places if place * BITS < MIN_PLACE):
            # Digits below all floats are not in the pairs.
            result |= exact.places[place] != 0
    return result


def is_small(value: PairsOfFloats, terms: Sequence[PairsOfFloats], bound: float) -> np.ndarray:
    """Return whether numbers are smaller than a share of the terms of which they are sums."""
    if not terms:
        return np.zeros(len(value), dtype=bool)
    return np.asarray(np.abs(value.high) <= bound * np.maximum.reduce([np.abs(term.high) for term in terms]))


def divided(value: Any, total: Any, factors: int) -> Any:
    """Return a number divided by a power of ``total``."""
    for _ in range(factors):
        value = value / total
    return value


def subtract_means(sums: dict[Powers, Any], totals: np.ndarray) -> np.ndarray:
    """Subtract from all numbers floats near the means, exactly, in the sums of products; return for which groups a mean was no usual float.

    Of these groups nothing is subtracted. The sum of the power zero is a number of rows, or digits.
    """
    width = len(next(iter(sums)))
    unusual = np.zeros(len(totals), dtype=bool)
    for variable in range(width):
        alone: Powers = tuple(int(other == variable) for other in range(width))
        if alone not in sums:
            continue
        fraction, exponent = np.frexp(sums[alone].rounded() / totals)
        mean = np.ldexp(np.rint(np.ldexp(fraction, MEAN_BITS)), exponent - MEAN_BITS)
        size = np.abs(mean)
        is_usual = (size > MIN_MEAN) & (size < MAX_MEAN)
        unusual |= ~is_usual & (mean != 0.0)
        mean = np.where(is_usual, mean, 0.0)
        # In each step one more factor of each product has the mean subtracted.
        for factors in range(1, max(power[variable] for power in sums) + 1):
            for power in sorted(sums, key=lambda power: -power[variable]):
                if power[variable] >= factors:
                    lower = tuple(exponent - (other == variable) for other, exponent in enumerate(power))
                    add_multiples(sums[power], -mean, sums[lower])
                    sums[power] = sums[power].carried()
    return unusual


def add_multiples(result: Digits, factors: np.ndarray, sums: Digits | np.ndarray) -> None:
    """Add to each sum the product of a float and another sum or a count."""
    groups, places = np.arange(result.count), sums.places if isinstance(sums, Digits) else {0: sums}
    for place, digits in places.items():
        result.add_product(factors, digits.astype(np.float64), groups, place)


class Undefined:
    """NaN among fractions: whatever is computed of it is itself. A float cannot take its place, as fractions may be beyond floats."""

    def __float__(self) -> float:
        return math.nan

    def _itself(self, *others: Any) -> Undefined:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _itself


@attrs.define(eq=False)
class FractionMoments(Moments):
    """Moments of one group in fractions."""

    count: int
    total: Any
    sums: dict[Powers, Any]
    central: dict[Powers, Any]
    squared_weights: Fraction | None
    given: Fraction | None = None

    @classmethod
    def of(cls, columns: MomentColumns, count: int, sums: Sequence[Digits]) -> FractionMoments:
        """Return the moments of a group from its sums."""
        exact = list(map(fraction_of, sums))
        total = Fraction(count) if columns.weight is None else exact[0]
        found, central = columns.by_power(total, exact), {}
        for power in columns.highest:
            value, _, factors = multiplied_moment(power, total, found)
            central[power] = value / total**factors if total else Undefined()
        return cls(count, total, found, central, exact[-1] if columns.has_squared_weights else None)

    def ratio(self, numerator: Any, denominator: Any) -> Any:
        if denominator:
            return numerator / denominator
        return infinite(numerator) if numerator and not isinstance(numerator, Undefined) else Undefined()

    def root_ratio(self, numerator: Any, denominator: Any) -> Any:
        if isinstance(numerator, Undefined) or isinstance(denominator, Undefined) or denominator < 0 or not (numerator or denominator):
            return Undefined()
        if not denominator:
            return infinite(numerator)
        square = numerator * numerator / denominator
        # So many bits more are more than a float has.
        bits = max(square.denominator.bit_length() - square.numerator.bit_length(), 0) // 2 + 120
        root = Fraction(math.isqrt((square.numerator << 2 * bits) // square.denominator), 1 << bits)
        return -root if numerator < 0 else root

    def root(self, number: Any) -> Any:
        return self.root_ratio(number, number) if number else Fraction(0)

    def without_noise(self, number: Any, scale: Any) -> Any:
        return Fraction(0) if self._is_noise(number, scale) else number

    def or_nan(self, number: Any, scale: Any) -> Any:
        return Undefined() if self._is_noise(number, scale) else number

    def _is_noise(self, number: Any, scale: Any) -> bool:
        """Return whether pairs of floats could not tell a number from zero; fractions can, but which of the two are computed must not show."""
        if isinstance(number, Undefined) or isinstance(scale, Undefined):
            return False
        return abs(number) <= abs(scale) * Fraction(ROUNDING)


def fraction_of(digits: Digits) -> Fraction:
    """Return the sum of the only group."""
    lowest = min(digits.places, default=0)
    return digits.units(0, lowest) * Fraction(2) ** (BITS * lowest)
