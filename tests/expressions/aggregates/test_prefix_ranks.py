"""The k-th smallest of ranges of ranks, beside sorting each range; and where numbers belong among others, beside numpy's search."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st

from sframe_spark.compute.wavelet_matrix import kth_of_ranges
from sframe_spark.expressions.aggregates.quantiles import order_within, places_behind

FLOATS = st.one_of(st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.0, 5e-324]), st.floats())


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4).flatmap(lambda sizes: st.tuples(*(st.permutations(range(size)) for size in sizes))), st.data()
)
def test_ranks_of_ranges(groups: tuple[list[int], ...], data: st.DataObject) -> None:
    ranks = np.concatenate([np.array(group) for group in groups])
    asked = []
    for start, group in zip(np.cumsum([0, *map(len, groups)]).tolist(), groups, strict=False):
        for _ in range(3):
            first = data.draw(st.integers(0, len(group) - 1))
            stop = data.draw(st.integers(first + 1, len(group)))
            asked.append((start + first, start + stop, data.draw(st.integers(0, stop - first - 1))))
    firsts, stops, wanted = map(np.array, zip(*asked, strict=True))
    found = kth_of_ranges(ranks, firsts, stops, wanted)
    assert found.tolist() == [sorted(ranks[first:stop].tolist())[k] for first, stop, k in asked]
    assert ranks.tolist() == [rank for group in groups for rank in group]


def rank(number: float) -> tuple[bool, float]:
    """NaN comes last, and does not compare."""
    return (True, 0.0) if math.isnan(number) else (False, number)


@given(st.lists(st.lists(FLOATS, max_size=6), min_size=1, max_size=4))
def test_order_within_groups_is_stable(groups: list[list[float]]) -> None:
    values = np.array([value for group in groups for value in group])
    order = order_within(np.array([*map(len, groups)]), values)
    start, wanted = 0, list[int]()
    for group in groups:
        wanted += sorted(range(start, start + len(group)), key=lambda place: rank(values[place]))
        start += len(group)
    assert order.tolist() == wanted


@given(st.lists(FLOATS, max_size=9), st.lists(FLOATS, max_size=9))
def test_places_behind_equal_ones(values: list[float], wanted: list[float]) -> None:
    ordered, asked = np.sort(np.array(values)), np.array(wanted)
    found = places_behind(ordered, np.zeros(len(asked), dtype=np.int64), np.full(len(asked), len(ordered)), asked)
    assert found.tolist() == np.searchsorted(ordered, asked, "right").tolist()
