"""Numbers by their rank: what a sort would show, found without one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray
from sframe_spark.api.sarray import number_search_by_rank
from sframe_spark.expressions.aggregates import histograms_summaries_and_rank_counts as keys
from sframe_spark.types import FLOAT, INT
from tests.examples import examples

INTS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))
FLOATS = st.one_of(st.floats(), st.floats(-1, 1), st.sampled_from([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324]))


def in_order(values: list[Any]) -> list[Any]:
    return sorted((value for value in values if value is not None), key=lambda value: (value != value, value))


@pytest.mark.parametrize(("numbers", "dtype"), [(INTS, int), (FLOATS, float)])
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_numbers_at_all_places_are_those_of_a_sort(numbers: Any, dtype: type, data: Any) -> None:
    values = [*data.draw(st.lists(st.one_of(st.none(), numbers), max_size=12)), data.draw(numbers)]
    most = data.draw(st.sampled_from([0, 1, 3, number_search_by_rank.MAX_KEYS]))
    wanted = in_order(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_search_by_rank, "MAX_KEYS", most)
        found = number_search_by_rank.Ranks(SArray(values, dtype)._node).numbers_at(list(range(len(wanted))))
    assert list(map(repr, found)) == [repr(value + 0.0 if dtype is float else value) for value in wanted]
    # NaN is no number that has a middle place, in the reference too.
    numbered = [value for value in wanted if value == value]
    middle = numbered[len(numbered) // 2] + (0.0 if dtype is float else 0) if numbered else None
    assert repr(SArray(values, dtype).median()) == repr(middle)


@given(st.lists(FLOATS, min_size=2, max_size=2), st.lists(INTS, min_size=2, max_size=2))
def test_keys_are_in_the_order_of_their_numbers(floats: list[float], ints: list[int]) -> None:
    for column_type, (first, second) in ((FLOAT, floats), (INT, ints)):
        one, other = keys.key_of(first, column_type), keys.key_of(second, column_type)
        assert (one < other) == (in_order([first, second])[0] is first and first != second and first == first)
        assert repr(keys.number_of(one, column_type)) == repr(first + (0.0 if column_type == FLOAT else 0))


def test_a_quantile_takes_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sort: each pass leaves a small part of the numbers, and what was counted once is known for the next quantile."""
    asked: list[str] = []
    real = number_search_by_rank.reduce_values
    monkeypatch.setattr(number_search_by_rank, "reduce_values", lambda node, wanted: asked.append(wanted[0].function) or real(node, wanted))
    monkeypatch.setattr(number_search_by_rank, "MAX_KEYS", 1000)
    sketch = SArray([number * 7919 % 100_003 / 8 for number in range(100_003)]).summary()
    assert sketch.quantile(0.5) == 50_001 / 8
    assert asked == ["column_min", "key_counts", "key_counts", "keys_between"]
    assert sketch.quantile(0.25) == 25_000 / 8
    assert asked[4:] == ["key_counts", "keys_between"]
    assert "Quantiles" in str(sketch) and asked[6:] == ["key_counts", "keys_between"]


def test_infinite_and_one_number() -> None:
    assert SArray([7] * 1000).median() == 7 and SArray([float("inf")] * 3).median() == float("inf")
    assert SArray([None, 4], int).median() == 4 and SArray([None], int).median() is None
