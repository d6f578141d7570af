"""Places among ascending numbers are those that a search finds, however the numbers lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute import sorting_and_searching as places_module
from sframe_spark.compute.sorting_and_searching import SMALL_SAMPLE, Side, are_even, search_ascending
from tests.compute.odd_numbers import FINITE

ROWS = 3 * SMALL_SAMPLE
INTS = st.one_of(st.integers(-9, 9), st.sampled_from([-(2**63), 1 - 2**63, 2**63 - 1]), st.integers(-(2**63), 2**63 - 1))
FLOATS = st.one_of(FINITE, st.sampled_from([np.inf, -np.inf]))
SIDES: tuple[Side, ...] = ("left", "right")


def columns() -> dict[str, np.ndarray]:
    """Ascending numbers that lie evenly, in runs, in bursts, and at the ends of what there is."""
    generator = np.random.default_rng(11)
    steps = generator.exponential(1e6, ROWS)
    bursts = np.where(generator.random(ROWS) < 0.01, 1e12, generator.exponential(1e3, ROWS))
    return {
        "one step": np.arange(ROWS) * 1_000_000,
        "steps of all lengths": np.cumsum(steps).astype(np.int64),
        "below zero": np.cumsum(steps).astype(np.int64) - 2_000_000_000,
        "runs": np.sort(generator.integers(0, ROWS // 10, ROWS)),
        "runs that are far apart": np.sort(generator.integers(0, ROWS // 10, ROWS)) * 1_000_000,
        "bursts": np.cumsum(bursts).astype(np.int64),
        "one value": np.full(ROWS, 7),
        "all ints": np.sort(generator.integers(-(2**63), 2**63 - 1, ROWS, endpoint=True)),
    }


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("name", columns())
def test_they_are_found_as_a_search_finds_them(name: str, kind: type, side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = columns()[name].astype(kind)
    step = max(1, (int(numbers[-1]) - int(numbers[0])) // ROWS)
    for together in (SMALL_SAMPLE, 1 << 14):
        monkeypatch.setattr(places_module, "SEARCH_BLOCK", together)
        for distance in (0, 1, step, 100 * step + 1):
            for wanted in (np.sort(numbers - kind(distance)), np.sort(numbers + kind(distance)), np.sort(numbers - kind(distance))[::3]):
                assert np.array_equal(search_ascending(numbers, wanted, side), np.searchsorted(numbers, wanted, side)), distance


@given(data=st.data(), kind=st.sampled_from([np.int64, np.float64]), side=st.sampled_from(SIDES))
def test_odd_numbers_have_their_places(data: st.DataObject, kind: type, side: Side) -> None:
    values = INTS if kind is np.int64 else FLOATS
    numbers, wanted = (np.sort(np.array(data.draw(st.lists(values, min_size=least, max_size=40)), kind)) for least in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places_module, "SMALL_SAMPLE", 1)
        patch.setattr(places_module, "SEARCH_BLOCK", data.draw(st.sampled_from([1, 5, 100])))
        patch.setattr(places_module, "MIN_EVEN", data.draw(st.sampled_from([1, 1000])))
        assert np.array_equal(search_ascending(numbers, wanted, side), np.searchsorted(numbers, wanted, side))


def test_numbers_of_two_types_are_compared_as_numbers() -> None:
    numbers, wanted = np.arange(ROWS), np.arange(ROWS) / 2
    for first, second in ((numbers, wanted), (wanted, numbers), (numbers.astype(np.int32), numbers.astype(np.int32))):
        assert np.array_equal(search_ascending(first, second, "left"), np.searchsorted(first, second, "left"))


def test_few_buckets_that_have_most_are_not_even() -> None:
    assert are_even(np.arange(ROWS)) and are_even(np.repeat(np.arange(0, 2 * ROWS, 10), 5))
    assert not are_even(np.append(np.zeros(ROWS, dtype=np.int64), 2 * ROWS))


@pytest.mark.parametrize("side", SIDES)
def test_floats_next_to_each_other_have_places(side: Side) -> None:
    """Such that the number of buckets by their distance is no float, or their distance is none."""
    for first, last in ((0.0, 5e-324), (-5e-324, 5e-324), (1.0, 1.0 + 2.0**-52), (1e308, np.nextafter(1e308, np.inf)), (0.0, 0.0), (-1e308, 1e308)):
        numbers = np.sort(np.resize([first, last], ROWS))
        assert np.array_equal(search_ascending(numbers, numbers, side), np.searchsorted(numbers, numbers, side)), (first, last)
