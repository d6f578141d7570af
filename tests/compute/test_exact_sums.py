"""Sums, means and spreads of floats are those of exact numbers, and the same whatever the order and the cuts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute import exact_squared_deviations, exact_sum_and_variance, exact_sums_of_groups
from sframe_spark.compute.exact_squared_deviations import squared_deviations
from sframe_spark.compute.exact_sum_and_variance import ExactSum, VarianceState
from sframe_spark.compute.exact_sums_of_groups import FIRST_PLACE, Digits, digits_to_lists
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import joined
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.in_memory_groupby import GroupingByKeys
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import FLOAT, INT
from tests.compute.odd_numbers import FINITE, NUMBERS
from tests.expressions.aggregates.test_running_sums import is_sum, rounded, so_far

CODED = st.lists(st.tuples(NUMBERS, st.integers(0, 2)), max_size=30)


def columns(rows: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and codes of rows."""
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=np.int64)


def exact(digits: Digits, group: int = 0) -> Fraction:
    """The sum of the finite numbers of a group."""
    return Fraction(digits.units(group, FIRST_PLACE), 1 << (-FIRST_PLACE * 40))


@pytest.fixture(params=[3, None])
def blocks(request: Any, monkeypatch: Any) -> None:
    """Blocks of few rows, or as they are."""
    if request.param:
        for module in (exact_sum_and_variance, exact_sums_of_groups):
            monkeypatch.setattr(module, "BLOCK", request.param)


@pytest.mark.usefixtures("blocks")
def test_sums_and_squares_are_exact() -> None:
    @given(st.lists(FINITE, max_size=30))
    def check(values: list[float]) -> None:
        numbers = list(map(Fraction, values))
        total, squares = sum(numbers, Fraction(0)), sum((number**2 for number in numbers), Fraction(0))
        found = VarianceState.of(np.array(values))
        assert Fraction(found.total.units, 1 << 1074) == total == Fraction(ExactSum.of(np.array(values)).units, 1 << 1074)
        assert Fraction(found.square_units, 1 << 2148) == squares
        assert found.total.value == rounded(total)
        if values:
            mean = total / len(values)
            assert found.squares == rounded(sum(((number - mean) ** 2 for number in numbers), Fraction(0)))
            assert math.isclose(found.mean, rounded(mean), rel_tol=3e-16, abs_tol=5e-324)

    check()


@pytest.mark.parametrize("moved", [0, -1030, 800, 1000])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("apart", range(30, 46))
def test_sums_of_numbers_of_one_sign_are_exact(apart: int, sign: int, moved: int) -> None:
    """They are not looked at for what the pieces leave: the last digit of the smallest is just within the second piece, or just below it."""
    smallest = math.ldexp(2**53 - 1, -52 - apart)
    numbers = np.ldexp(np.array([1.0, smallest, smallest * 3, 1.5]) * sign, moved)
    total = sum(map(Fraction, numbers.tolist()), Fraction(0))
    assert Fraction(ExactSum.of(numbers).units, 1 << 1074) == total
    found, state = so_far("sum", numbers)
    assert found[-1] == rounded(total) and exact(state.groups.states[0].all_digits()) == total


@pytest.mark.usefixtures("blocks")
def test_sums_of_groups_are_exact() -> None:
    @given(CODED)
    def check(rows: list[tuple[float, int]]) -> None:
        digits, squares = Digits(3), Digits(3)
        values, codes = columns(rows)
        digits.add(values, codes)
        finite = np.isfinite(values)
        squares.add_squares(values[finite], codes[finite])
        for group in range(3):
            known = [value for value, code in rows if code == group]
            numbers = [Fraction(value) for value in known if math.isfinite(value)]
            assert exact(digits, group) == sum(numbers, Fraction(0))
            assert exact(squares, group) == sum((number**2 for number in numbers), Fraction(0))
            assert repr(float(digits.rounded()[group])) == repr(ExactSum.of(np.array(known)).value)
            assert is_sum(digits.take(np.array([group])), ExactSum.of(np.array(known)))

    check()


@given(CODED, st.lists(st.integers(0, 30), max_size=3), st.randoms(use_true_random=False))
def test_equal_sums_have_equal_digits_whatever_the_order_and_the_cuts(rows: Any, cuts: Any, random: Any) -> None:
    whole = Digits(3)
    whole.add(*columns(rows))
    shuffled = random.sample(rows, len(rows))
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = []
    for start, stop in itertools.pairwise(edges):
        part = Digits(3)
        part.add(*columns(shuffled[start:stop]))
        parts.append(part)
    together = parts[0]
    for part in parts[1:]:
        together = together + part
    assert digits_to_lists(together).equals(digits_to_lists(whole))


@pytest.mark.parametrize("is_squared", [False, True])
@given(st.lists(st.tuples(NUMBERS, st.integers(0, 9)), min_size=1, max_size=20))
def test_every_form_of_sums_says_what_its_digits_say(is_squared: bool, rows: list[tuple[float, int]]) -> None:
    """Groups of one row are floats, sums so far are two words where these hold all bits."""
    column, (values, codes) = FloatSum(0, is_squared), columns(rows)
    present, places = np.unique(codes, return_inverse=True)
    given_rows, groups = InputRows([pa.array(values, from_pandas=False)], len(rows)), GroupsOfRows(places, len(present))
    so_far, after = column.running(given_rows, np.zeros(1, dtype=np.int64), column.empty(1))
    for state in (column.lift(given_rows, groups), so_far, joined([after, column.lift(given_rows, groups), column.empty(1), so_far])):
        digits, counts, some = state.all_digits(), np.arange(len(state)) % 3 + 1, np.arange(len(state))[::-2]
        assert len(state) == len(digits) and len(state.take(some)) == len(some)
        is_far = np.full(len(state), False) if state.non_finite() is None else state.non_finite()
        assert np.array_equal(is_far, np.full(len(state), False) if digits.non_finite() is None else digits.non_finite())
        # Squares below all usual floats have few digits.
        for found, wanted in ((state.rounded(), digits.rounded()), (state.means(counts), digits.means(counts))):
            assert np.allclose(found, wanted, rtol=0.0 if not is_squared else 1e-15, atol=1e-320 if is_squared else 0.0, equal_nan=True)
        for changed, same in ((state.take(some), digits.take(some)), (state.replaced(some, state.take(some)), digits)):
            assert digits_to_lists(changed.all_digits()).equals(digits_to_lists(same))


@given(CODED)
def test_spreads_of_groups_are_those_of_moments(rows: Any) -> None:
    values, codes = columns(rows)
    sums, squares = Digits(3), Digits(3)
    sums.add(values, codes)
    finite = np.isfinite(values)
    squares.add_squares(values[finite], codes[finite])
    found = squared_deviations(np.bincount(codes, minlength=3), sums, squares)
    for group in range(3):
        expected = VarianceState.of(values[codes == group])
        if expected.count > 1:
            known = expected.squares
            assert math.isclose(found[group], known, rel_tol=4e-16, abs_tol=1e-322) or (math.isnan(known) and math.isnan(found[group]))
        else:
            assert found[group] == 0.0


@pytest.mark.parametrize("base", [1e9, 1e15, 1.7e18, 1e-300, 1e200, 3.0])
def test_spreads_far_from_zero_have_all_digits(base: float) -> None:
    """Deviations of the last digits, all equal numbers, and some between."""
    random = np.random.default_rng(5)
    near = np.nextafter(base, math.inf)
    for values in (np.full(9, base), np.array([base, near]), np.array([base] * 5 + [near]), base * (1 + random.random(50) * 1e-8)):
        sums, squares, codes = Digits(1), Digits(1), np.zeros(len(values), dtype=np.int64)
        sums.add(values, codes)
        squares.add_squares(values, codes)
        assert math.isclose(squared_deviations(np.array([len(values)]), sums, squares)[0], VarianceState.of(values).squares, rel_tol=4e-16)


def test_many_rows_and_many_groups() -> None:
    """More than digits have room for without carrying, in few groups and in many."""
    random = np.random.default_rng(6)
    values = random.random(300_000) * 60.0 + 3.0
    for count in (1, 20_000):
        codes = random.integers(0, count, len(values))
        digits = Digits(count)
        digits.add(values, codes)
        found = digits.rounded()
        for group in range(0, count, 4001):
            assert found[group] == math.fsum(values[codes == group])


def test_large_sums_are_rounded_by_all_of_their_digits() -> None:
    """What is half way between two floats is decided by the smallest of all."""
    for values in ([2.0**1000, 2.0**947, 5e-324], [2.0**1000, 2.0**947, -5e-324], [2.0**1000, 2.0**947]):
        digits = Digits(1)
        digits.add(np.array(values), np.zeros(len(values), dtype=np.int64))
        assert digits.rounded()[0] == math.fsum(values)


@pytest.mark.parametrize("count", [1, 20_000])
def test_digits_are_carried_in_time(count: int) -> None:
    """No digit is more than what is held, by which it is known when they have to be carried; of few rows that have more digits, too."""
    for below in range(60):
        digits = Digits(count)
        digits.add(np.array([1024.0, 1024.0, 1024.0, 1024.0 + math.ldexp(1.96875, -below)]), np.zeros(4, dtype=np.int64))
        assert max(int(np.abs(found).max()) for found in digits.places.values()) <= digits._magnitude


def test_groups_of_numbers_that_are_far_apart_are_added_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(exact_sums_of_groups, "GROUPS_PER_BLOCK", 2)
    values = [1e300, 1e-300, 2.0, 1e-300, 3.0, -1e300, 5.0, 0.5]
    keys = [1, 1, 2, 2, 3, 3, 1, 4]
    for function in ("sum", "std"):
        grouping = GroupingByKeys.of((INT, FLOAT), [0], [Aggregation(function, (1,))])
        found = grouping.finished(grouping.groups(Chunk.of([pa.array(keys), pa.array(values)]))).columns[1].to_pylist()
        of_keys = [[value for value, other in zip(values, keys, strict=True) if other == key] for key in (1, 2, 3, 4)]
        if function == "sum":
            assert found == [math.fsum(known) for known in of_keys]
        else:
            assert found == [pytest.approx(math.sqrt(VarianceState.of(np.array(known)).squares / len(known)), rel=1e-15) for known in of_keys]


@pytest.mark.parametrize("small", range(-46, 8, 6))
def test_many_rows_of_which_a_few_are_smaller_by_far(small: int) -> None:
    """Digits of numbers that are left over when the large ones are done are as large as first ones, and may be as many as have room."""
    values = np.tile([1000.0, -1000.0, -3.0, np.nextafter(2.0**small, 0.0)], 1 << 18)
    digits = Digits(1)
    digits.add(values, np.zeros(len(values), dtype=np.int64))
    assert is_sum(digits, ExactSum.of(values))


@pytest.mark.parametrize("tiny", [5e-324, -5e-324, 1e-290, -1e-260])
@pytest.mark.parametrize("large", [2.0**910, 2.0**930, 2.0**1023, -(2.0**960)])
def test_of_two_floats_as_near_to_a_large_sum_the_smallest_number_decides(large: float, tiny: float) -> None:
    values = np.array([large, large * 2.0**-53, tiny, -tiny / 2])
    digits = Digits(1)
    digits.add(values, np.zeros(4, dtype=np.int64))
    assert digits.rounded().tolist() == [math.fsum(values)] == digits.means(np.ones(1)).tolist()


def test_zeros_are_not_looked_at_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a million groups of zeros would take seconds."""
    monkeypatch.delattr(exact_squared_deviations, "deviations_around_mean")
    sums, squares, codes = Digits(2), Digits(2), np.array([0, 0, 1, 1, 1])
    values = np.array([0.0, -0.0, 1.0, 0.0, 5.0])
    sums.add(values, codes)
    squares.add_squares(values, codes)
    assert squared_deviations(np.array([2, 3]), sums, squares).tolist() == [0.0, 14.0]


def test_spreads_of_numbers_of_all_sizes_are_found_together() -> None:
    """A group for each power of two, near zero and far from it, beside groups of zeros, of one number and of none."""
    random = np.random.default_rng(8)
    sizes = np.ldexp(1.0, np.arange(-530, 505, 3))
    values = np.concatenate([sizes * random.random(len(sizes)) for _ in range(3)] + [sizes * 1e9, sizes * (1e9 + 1e-6), [0.0, 0.0, 3.0]])
    first, last = np.arange(len(sizes)), len(sizes)
    codes = np.concatenate([first, first, first, first + last, first + last, [2 * last, 2 * last, 2 * last + 1]])
    count = 2 * last + 3
    sums, squares = Digits(count), Digits(count)
    sums.add(values, codes)
    squares.add_squares(values, codes)
    found = squared_deviations(np.bincount(codes, minlength=count), sums, squares)
    for group in range(count):
        # Squares of the smallest numbers have few digits.
        assert math.isclose(found[group], VarianceState.of(values[codes == group]).squares, rel_tol=4e-16, abs_tol=5e-324)
