"""Exact sums of the products of two to four columns of floats as a state column."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sums_of_groups import BITS, FIRST_PLACE, LOWEST_PLACE
from sframe_spark.expressions.aggregates.float_sums import non_finite_sums_of_windows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, last_rows
from sframe_spark.expressions.aggregates.state_columns import State, StateColumn
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import by_place, digits_of_parts, row_digits
    from sframe_spark.compute.exact_sum_and_variance import largest_magnitude, product_error
    from sframe_spark.compute.exact_sums_of_groups import Digits, digits_of, digits_to_lists, places_of
    from sframe_spark.compute.row_groups import GroupsOfRows

MAX_FACTORS = 4
# Rows that are multiplied at a time, and how many such blocks are added before digits are carried.
BLOCK, BLOCKS = 1 << 14, 1 << 5


def band_of(factors: int) -> int:
    """Return ``b``, a multiple of 20, such that products of so many floats from ``2**-b`` up to ``2**b``, and their rounding errors, are exact.

    Factors are scaled into this band of exponents. Bands are ``2 * b / 40`` places apart.

    Examples
    --------
    >>> [band_of(factors) for factors in (2, 3, 4)]
    [480, 300, 200]
    """
    return (1074 - 53 * factors) // (20 * factors) * 20


def places_sent(factors: int) -> int:
    """Return how many places sums of products are moved before they are sent, as lists of digits have no place for the least of them.

    Examples
    --------
    >>> [places_sent(factors) for factors in (2, 3, 4)]
    [0, 20, 47]
    """
    return max(LOWEST_PLACE * factors + FIRST_PLACE + 3, 0)


def products_of(factors: Sequence[np.ndarray]) -> list[tuple[np.ndarray, int]]:
    """Return the exact products of two to four finite floats in each row as parts: floats that are multiplied by ``2**(40 * place)``.

    Examples
    --------
    >>> [(part.tolist(), place) for part, place in products_of([np.array([3.0, 1.0 + 2.0**-52]), np.array([2.0, 1.0 + 2.0**-52])])]
    [([6.0, 1.0000000000000004], 0), ([0.0, 4.930380657631324e-32], 0)]
    >>> [(part.tolist(), place) for part, place in products_of([np.array([2.0**1000])] * 3) if part.any()] == [([2.0**-600], 90)]
    True
    """
    distinct, band = {id(factor): factor for factor in factors}, band_of(len(factors))
    bands = {}
    for name, factor in distinct.items():
        # The exponent of zero is zero.
        exponents = np.frexp(factor)[1]
        if exponents.max(initial=0) >= band or exponents.min(initial=0) < -band:
            bands[name] = (exponents + band) // (2 * band)
    if not bands:
        return exact_products(factors, 0)
    nothing = np.zeros(len(factors[0]), dtype=np.int64)
    columns = [bands.get(id(factor), nothing) for factor in factors]
    is_product = np.logical_and.reduce([factor != 0.0 for factor in distinct.values()])
    if not is_product.any():
        return exact_products([np.where(is_product, factor, 0.0) for factor in factors], 0)
    result = []
    for chosen in np.unique(np.stack(columns)[:, is_product], axis=1).T.tolist():
        rows = is_product & np.logical_and.reduce([column == number for column, number in zip(columns, chosen, strict=True)])
        moved = [np.ldexp(np.where(rows, factor, 0.0), -2 * band * number) for factor, number in zip(factors, chosen, strict=True)]
        result += exact_products(moved, 2 * band // BITS * sum(chosen))
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
    """The exact sum of the products of two to four columns of numbers as floats, over the rows in which some columns have a value.

    Products may be beyond the largest float or below the smallest; the sum is rounded once. With an infinity or NaN it is what floats give.

    Parameters
    ----------
    factors
        Positions of the columns, of which one may be given several times.
    where
        Positions of the columns that must have a value; by default the factors.
    """

    # The digits of the products of so many rows can be added up in 64 bits.
    rows_per_block: ClassVar[int] = 1 << 15
    factors: tuple[int, ...] = attrs.field(validator=attrs.validators.max_len(MAX_FACTORS))
    where: tuple[int, ...] = attrs.field()

    @where.default
    def _own_columns(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.factors)))

    def empty(self, groups: int) -> State:
        return Digits(groups)

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
        odd = self._non_finite_products(rows)
        if odd is not None:
            chosen = np.flatnonzero(odd)
            result.add(odd[chosen], groups.codes[chosen])
        return result

    def bytes_ahead(self, rows: InputRows, groups: GroupsOfRows) -> int:
        factors = self._factors(rows)
        return 8 * groups.count * sum(places_of(factors[position]) for position in self.factors)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return state.grouped(groups.codes, groups.count).carried()

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        odd = self._non_finite_products(rows)
        parts = [*self._parts(rows), *([] if odd is None else [(odd, 0)])]
        every = row_digits(parts, starts, before.all_digits())
        return every, every.take(last_rows(starts, rows.count))

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        result, odd = digits_of_parts(self._parts(rows), windows.starts, windows.stops), self._non_finite_products(rows)
        if odd is not None:
            result.others = non_finite_sums_of_windows(odd, windows)
        return result

    def _parts(self, rows: InputRows) -> list[tuple[np.ndarray, int]]:
        factors = self._factors(rows)
        return products_of([factors[position] for position in self.factors])

    def _factors(self, rows: InputRows) -> dict[int, np.ndarray]:
        """Return the numbers of each column, with zero in rows where a column has no value or no finite one."""
        columns = self._columns(rows)
        if all(math.isfinite(largest_magnitude(numbers)) for numbers in columns.values()):
            return columns
        finite = np.logical_and.reduce([np.isfinite(numbers) for numbers in columns.values()])
        return {position: np.where(finite, numbers, 0.0) for position, numbers in columns.items()}

    def _non_finite_products(self, rows: InputRows) -> np.ndarray | None:
        """Return the products of rows with an infinity or NaN, and zero for other rows; None if all are finite."""
        columns = self._columns(rows)
        if all(math.isfinite(largest_magnitude(numbers)) for numbers in columns.values()):
            return None
        odd = ~np.logical_and.reduce([np.isfinite(numbers) for numbers in columns.values()])
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(odd, functools.reduce(np.multiply, [columns[position] for position in self.factors]), 0.0)

    def _columns(self, rows: InputRows) -> dict[int, np.ndarray]:
        return {position: rows.floats(position, self.where) for position in sorted(set(self.factors))}

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [digits_to_lists(state.all_digits().moved(places_sent(len(self.factors))))]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return digits_of(columns[0]).moved(-places_sent(len(self.factors)))
