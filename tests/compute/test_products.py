"""What products of floats lack is exact, whatever their digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st

from sframe_spark.compute.exact_sum_and_variance import product_error, split_halves, squares_with_errors

# Products of these, and what they lack, are neither near the largest floats nor near the smallest ones.
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 2.0**27 + 1, 2.0**53 - 1, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 0.1]),
    st.floats(2.0**-450, 2.0**450),
    st.floats(2.0**-450, 2.0**450).map(lambda number: -number),
)


@given(st.lists(st.tuples(FLOATS, FLOATS), max_size=20))
def test_a_product_and_what_it_lacks_are_the_product(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    product = first * second
    for one, other, near, lacking in zip(first, second, product, product_error(first, second, product), strict=True):
        assert Fraction(near) + Fraction(lacking) == Fraction(one) * Fraction(other)


@given(st.lists(FLOATS, max_size=20), st.integers(0, 3))
def test_squares_in_longer_arrays_are_those_of_products(numbers: list[float], longer: int) -> None:
    values = np.array(numbers)
    square, lacking = squares_with_errors(values, [np.full(len(values) + longer, np.nan) for _ in range(4)])
    assert square.tolist() == (values * values).tolist()
    assert [Fraction(near) + Fraction(below) for near, below in zip(square, lacking, strict=True)] == [Fraction(number) ** 2 for number in numbers]
    assert values.tolist() == numbers


@given(st.lists(FLOATS, max_size=20))
def test_halves_have_half_of_the_digits(numbers: list[float]) -> None:
    for number, high, low in zip(numbers, *split_halves(np.array(numbers)), strict=True):
        assert Fraction(high) + Fraction(low) == Fraction(number)
        for half in (high, low):
            assert abs(Fraction(half).numerator).bit_length() - trailing_zeros(Fraction(half).numerator) <= 27


def trailing_zeros(number: int) -> int:
    """Binary zeros at the end of a whole number."""
    return (number & -number).bit_length() - 1 if number else 0
