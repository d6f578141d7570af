"""The order of rows by numbers is that of a stable sort, whatever the numbers are."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute import sorting_and_searching
from sframe_spark.compute.sorting_and_searching import SMALL_SORT, as_ordered_ints, order_by_leading, order_of, search_sorted, sort_parts
from sframe_spark.types import FLOAT, INT

ROWS = 2 * SMALL_SORT
LIMITS = np.iinfo(np.int64)


def columns() -> dict[str, np.ndarray]:
    """Numbers of all kinds of ranges, with and without equal ones."""
    generator = np.random.default_rng(5)
    wide = generator.integers(LIMITS.min, LIMITS.max, ROWS, endpoint=True)
    floats = generator.normal(size=ROWS) * 10.0 ** generator.integers(-300, 300, ROWS)
    return {
        "permutation": generator.permutation(ROWS),
        "few values": generator.integers(-3, 3, ROWS),
        "one value": np.full(ROWS, 7),
        "all ints": wide,
        "all ints, each twice": np.repeat(wide[: ROWS // 2], 2)[generator.permutation(ROWS)],
        "ends of ints": generator.choice(np.array([LIMITS.min, LIMITS.min + 1, -1, 0, 1, LIMITS.max - 1, LIMITS.max]), ROWS),
        "large and near each other": LIMITS.max - generator.integers(0, 1 << 55, ROWS),
        "ascending": np.arange(ROWS) * (1 << 49),
        "descending": np.arange(ROWS)[::-1] * (1 << 49),
        "floats": floats,
        "floats with equal ones": generator.choice(floats[:99], ROWS),
        "zeros and infinities": generator.choice(np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1.0]), ROWS),
        "floats near each other": 1.0 + generator.integers(0, 1 << 20, ROWS) * np.finfo(float).eps,
    }


@pytest.mark.parametrize("name", columns())
def test_it_is_a_stable_sort(name: str) -> None:
    numbers = columns()[name]
    expected = np.argsort(numbers, kind="stable")
    assert np.array_equal(order_of([numbers]), expected)
    assert np.array_equal(order_of([np.zeros(ROWS), numbers]), expected)


@pytest.mark.parametrize("row_bits", [3, 13, 40, 60])
def test_rows_that_share_their_leading_bits_are_told_apart(row_bits: int) -> None:
    generator = np.random.default_rng(row_bits)
    numbers = generator.integers(0, LIMITS.max, 7, dtype=np.uint64) if row_bits == 3 else generator.integers(0, LIMITS.max, ROWS, dtype=np.uint64)
    assert np.array_equal(order_by_leading(numbers, row_bits), np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize("first", columns())
def test_many_rows_are_sorted_by_several_arrays_in_turn(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting_and_searching, "SMALL_SORT_OF_SEVERAL", 0)
    made = columns()
    for second in made:
        chosen = [made["few values"][::-1], made[first], made[second]]
        for parts in (chosen[1:], chosen):
            assert np.array_equal(order_of(parts), np.lexsort(parts[::-1])), second


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(0, 2**32))
def test_several_arrays_are_compared_one_after_the_other(first: list[int], seed: int) -> None:
    if not first:
        return
    second = np.random.default_rng(seed).random(len(first)).round(1)
    assert np.array_equal(order_of([np.array(first), second]), np.lexsort((second, first)))


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30))
def test_ints_of_floats_are_in_their_order(values: list[float]) -> None:
    ints = as_ordered_ints(np.array(values))
    for one, other, a, b in zip(values, values[1:], ints, ints[1:], strict=False):
        assert (one < other) == (a < b) and (one == other) == (a == b)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", columns())
def test_places_are_those_of_numpy(name: str, side: Literal["left", "right"]) -> None:
    numbers = columns()[name]
    ascending = np.sort(np.random.default_rng(1).choice(numbers, SMALL_SORT + 5))
    assert np.array_equal(search_sorted(ascending, numbers, side), np.searchsorted(ascending, numbers, side))
    few, ordered = ascending[:: len(numbers) // 700], np.sort(numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting_and_searching, "SMALL_SORT", 1)
        for wanted in (ordered, ordered[5:40], np.repeat(ordered[:: ROWS // 9], 300), few, few[1:9]):
            assert np.array_equal(search_sorted(few, wanted, side), np.searchsorted(few, wanted, side))
    strange = np.append(numbers.astype(np.float64), [np.nan, -np.nan])
    assert np.array_equal(search_sorted(ascending.astype(np.float64), strange, side), np.searchsorted(ascending.astype(np.float64), strange, side))


def test_the_smallest_int_is_last_where_values_descend() -> None:
    """It has no negative."""
    rows = pa.array([LIMITS.max, LIMITS.min, 0, None, LIMITS.min + 1])
    for ascending, order in ((True, [3, 1, 4, 2, 0]), (False, [0, 2, 4, 1, 3])):
        assert np.lexsort(sort_parts(rows, INT, ascending)[::-1]).tolist() == order


def test_missing_values_and_nan_are_told_apart_by_their_ranks_alone() -> None:
    """NaN is not equal to itself."""
    ranks, numbers = sort_parts(pa.array([math.nan, None, math.nan, 2.5, None], pa.float64(), from_pandas=False), FLOAT, True)
    assert numbers.tolist() == [0, 0, 0, 2.5, 0] and ranks[1] == ranks[4] < ranks[3] < ranks[0] == ranks[2]
