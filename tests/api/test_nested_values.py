"""Joins on lists, dicts and arrays; running values of date-times and vectors. Results are the reference's, and those of the naive plan."""

from __future__ import annotations

import array
import datetime
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config
from tests.examples import part

TIMES = [datetime.datetime(2011, 1, 3), None, datetime.datetime(2011, 1, 1, 0, 0, 0, 5), datetime.datetime(2011, 1, 7)]
KEYS = {
    "array": ([[1.0], [2.0], None], [[1.0], None]),
    "list": ([[1, "a"], ["b"], None], [[1.0, "a"], None]),
    "dict": ([{"a": 1, "b": 2}, {}, None], [{"b": 2, "a": 1}, None]),
    "dict of several types": ([{"a": 1, "b": "x"}, {"a": 1.5}, None], [{"b": "x", "a": 1}, None]),
}
JOINED = {
    "inner": [(0, 7), (2, 8)],
    "left": [(0, 7), (1, None), (2, 8)],
    "right": [(0, 7), (2, 8)],
    "outer": [(0, 7), (1, None), (2, 8)],
}
pytestmark = pytest.mark.spark


@pytest.fixture(params=["driver", "spark"])
def everywhere(request: pytest.FixtureRequest, spark: Any) -> Iterator[None]:
    """Once with few rows on the driver, once with all work on Spark; both beside the naive plan."""
    with config.using(small_rows=config.small_rows if request.param == "driver" else 0, check="result"):
        yield


def rows(values: SArray) -> list[Any]:
    """Rows of a column that has been computed, arrays as lists."""
    frame = SFrame({"values": values})
    frame.materialize()
    return [list(value) if isinstance(value, array.array) else value for value in frame["values"]]


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.usefixtures("everywhere")
# Of the normal run each kind is joined once, and each way of joining is used once.
@pytest.mark.parametrize(("kind", "how"), part(product(KEYS, JOINED), 5))
def test_join_on_values_that_hold_others(kind: str, how: str) -> None:
    left_keys, right_keys = KEYS[kind]
    left, right = SFrame({"k": left_keys, "x": [0, 1, 2]}), SFrame({"k": right_keys, "y": [7, 8]})
    found = left.join(right, on="k", how=how)
    assert list(zip(found["x"], found["y"], strict=True)) == JOINED[how]


@pytest.mark.usefixtures("everywhere")
def test_running_and_rolling_extremes_of_times() -> None:
    times = SArray(TIMES)
    assert rows(times.cumulative_max()) == [TIMES[0], TIMES[0], TIMES[0], TIMES[3]]
    assert rows(times.cumulative_min()) == [TIMES[0], TIMES[0], TIMES[2], TIMES[2]]
    assert rows(times.rolling_max(-1, 0, 1)) == [TIMES[0], TIMES[0], TIMES[2], TIMES[3]]
    assert rows(times.rolling_min(-1, 0)) == [None, None, None, TIMES[2]]


@pytest.mark.usefixtures("everywhere")
def test_rolling_vectors() -> None:
    vectors = SArray([[1, 2], [3, 4], None, [5, 6], [7, 8, 9]])
    assert rows(vectors.rolling_sum(-1, 0)) == [None, [4.0, 6.0], None, None, None]
    assert rows(vectors.rolling_mean(-2, 0, 2)) == [None, [2.0, 3.0], [2.0, 3.0], [4.0, 5.0], None]


@pytest.mark.usefixtures("everywhere")
def test_rolling_with_fewest_and_most_values_asked_for() -> None:
    numbers = SArray([1, None, None, 4])
    assert rows(numbers.rolling_sum(-1, 0, 0)) == [1, 1, 0, 4]
    assert rows(numbers.rolling_var(-1, 0, 0)) == [0.0, 0.0, 0.0, 0.0]
    assert rows(numbers.rolling_mean(-1, 0, 0)) == [1.0, 1.0, None, 4.0]
    assert rows(SArray([1, 2, 4]).rolling_sum(-1, 0, 100)) == [None, 3, 6]
