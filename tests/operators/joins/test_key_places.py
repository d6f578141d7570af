"""Rows by key: a table, a search and a sieve before it find the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.compute.int_membership import KeySieve
from sframe_spark.operators.joins import sorted_join as places
from sframe_spark.operators.joins.sorted_join import SearchedKeys, key_places
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.types import INT
from tests.examples import examples
from tests.random_tables import segments_source

LIMITS = np.iinfo(np.int64)
NUMBERS = st.integers(-6, 6) | st.sampled_from([int(LIMITS.min), int(LIMITS.min) + 1, int(LIMITS.max), 1 << 40, -(1 << 40)])


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(NUMBERS | st.none(), min_size=1, max_size=9), st.lists(st.tuples(NUMBERS, st.booleans()), max_size=30), st.booleans())
def test_first_and_last_rows_are_those_of_plain_python(keys: list[int | None], wanted: list[tuple[int, bool]], dense: bool) -> None:
    rows: list[int | None] = sorted(keys, key=lambda key: (key is not None, key or 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "FEWEST_SIEVED", 1)
        if not dense:
            patch.setattr(places, "MAX_NUMBERS", 0)
        lookup = Lookup.of(source_of(segments_source([rows], [INT], [0, len(rows)])))
        numbers, there = np.array([number for number, _ in wanted], dtype=np.int64), np.array([is_there for _, is_there in wanted], dtype=bool)
        first, last = key_places(lookup, 0, len(wanted)).matches(numbers, there)
    expected = [[row for row, key in enumerate(rows) if is_there and key == number] or [-1] for number, is_there in wanted]
    assert [first.tolist(), last.tolist()] == [[found[0] for found in expected], [found[-1] for found in expected]]


def test_what_a_sieve_keeps_back_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    original = places._searched
    monkeypatch.setattr(places, "_searched", lambda search, keys, there: searched.append(len(keys)) or original(search, keys, there))
    keys = [number << 30 for number in range(50)]
    lookup = Lookup.of(source_of(segments_source([keys], [INT], [0, 50])))
    numbers = np.arange(places.FEWEST_SIEVED) << 28
    first, _ = key_places(lookup, 0, 1).matches(numbers, np.ones(len(numbers), dtype=bool))
    assert np.count_nonzero(first >= 0) == 50
    assert 50 <= searched[0] < len(numbers) / 4
    # Where most may be keys nothing is gained.
    key_places(lookup, 0, 1).matches(np.resize(np.array(keys), len(numbers)), np.ones(len(numbers), dtype=bool))
    assert searched[1] == len(numbers)


@pytest.mark.parametrize("kind", ["near each other", "multiples", "all"])
def test_a_sieve_keeps_most_others_back_and_no_key(kind: str) -> None:
    generator = np.random.default_rng(3)
    numbers = {"near each other": np.arange(20_000), "multiples": np.arange(20_000) << 20, "all": generator.integers(LIMITS.min, LIMITS.max, 20_000)}[
        kind
    ]
    keys = numbers[::20]
    found = KeySieve.of(keys).may_be_keys(numbers)
    assert found[::20].all() and np.count_nonzero(found) < len(numbers) / 4


def test_many_keys_have_no_sieve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MAX_NUMBERS", 0)
    monkeypatch.setattr(places, "MAX_KEYS_SIEVED", 2)
    lookup = Lookup.of(source_of(segments_source([[1, 2, 3]], [INT], [0, 3])))
    found = key_places(lookup, 0, 1)
    assert isinstance(found, SearchedKeys) and found.sieve is None
