"""Ints found in a table or by a sieve are those that Arrow finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.compute import int_membership
from sframe_spark.compute.int_membership import MAX_SLOTS, NumberSet
from tests.examples import examples

LIMITS = np.iinfo(np.int64)
EDGES = [int(LIMITS.min), int(LIMITS.min) + 1, -1, 0, 1, int(LIMITS.max) - 1, int(LIMITS.max)]
NUMBERS = st.sampled_from(EDGES) | st.integers(-9, 9) | st.integers(int(LIMITS.min), int(LIMITS.max))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(NUMBERS, max_size=20), st.lists(NUMBERS | st.none(), max_size=40), st.integers(0, 3))
def test_all_ways_find_the_same(wanted: list[int], values: list[int | None], left_out: int) -> None:
    numbers, column = pa.array(wanted, pa.int64()), pa.array(values, pa.int64()).slice(left_out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(int_membership, "FEWEST_SIEVED", 0)
        assert NumberSet(numbers).holds(column).equals(pc.is_in(column, numbers))
        patch.setattr(int_membership, "MAX_SLOTS_IN_CACHE", 0)
        patch.setattr(int_membership, "SLOTS_PER_NUMBER", 0)
        assert NumberSet(numbers).holds(column).equals(pc.is_in(column, numbers))


@pytest.mark.parametrize("spread", [1, 1 << 40])
@pytest.mark.parametrize("share", [0.01, 0.9])
def test_of_many_rows_few_or_most_are_found(spread: int, share: float) -> None:
    random = np.random.default_rng(7)
    numbers = random.permutation(10_000)[:300] * spread - 5
    column = pa.array(np.where(random.random(20_000) < share, random.choice(numbers, 20_000), random.integers(-(10**6), 10**6, 20_000)))
    found = NumberSet(pa.array(numbers))
    assert (found.table is None) == (spread > 1)
    assert found.holds(column).equals(pc.is_in(column, pa.array(numbers)))


def test_a_table_takes_no_more_memory_however_many_are_looked_for() -> None:
    fits, is_too_long = (NumberSet(pa.array(np.arange(0, 60 * count, 60))) for count in (1_000_000, 1_200_000))
    assert fits.table is not None and fits.table.nbytes <= MAX_SLOTS + 2
    assert is_too_long.table is None
    values = pa.array(np.arange(0, 72_000_000, 4_001))
    assert is_too_long.holds(values).equals(pc.is_in(values, is_too_long.numbers))


def test_a_few_far_apart_have_no_table_of_all_between_them() -> None:
    assert NumberSet(pa.array([0, int_membership.MAX_SLOTS_IN_CACHE - 1])).table is not None
    assert NumberSet(pa.array([0, int_membership.MAX_SLOTS_IN_CACHE])).table is None
