"""The k-th smallest of ranges of ranks, and how many numbers of ranges are below limits, beside plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from sframe_spark.compute.wavelet_matrix import counts_below, kth_of_ranges


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


@given(st.data())
def test_numbers_below_limits(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 20))
    numbers = np.array(data.draw(st.lists(st.integers(0, count), min_size=count, max_size=count)), dtype=np.int64)
    places = st.integers(0, count)
    asked = data.draw(st.lists(st.tuples(places, places, places), max_size=5))
    ranges = [(min(a, b), max(a, b), limit) for a, b, limit in asked]
    firsts, stops, limits = np.array(ranges, dtype=np.int64).reshape(-1, 3).T
    found = counts_below(numbers, firsts, stops, limits)
    assert found.tolist() == [int((numbers[first:stop] < limit).sum()) for first, stop, limit in ranges]
