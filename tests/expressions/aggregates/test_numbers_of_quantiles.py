"""Sort orders of numbers within groups, and where numbers belong among others, beside numpy's search."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st

from sframe_spark.expressions.aggregates.quantiles import order_within, places_behind

FLOATS = st.one_of(st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.0, 5e-324]), st.floats())


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
