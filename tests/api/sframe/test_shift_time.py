"""Keys moved by a duration: exact, in every type, with the same result from kernels and from Spark."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.engine.materialize_options import MaterializeOptions

MOMENTS = st.none() | st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(3000, 1, 1))
DAYS = datetime.timedelta(days=300_000)


def moved(values: list[Any], duration: Any) -> list[Any]:
    return list(SFrame({"t": values}).shift_time("t", duration)["t"])


@settings(deadline=None)
@given(st.lists(MOMENTS, min_size=1, max_size=5).filter(any), st.timedeltas(-DAYS, DAYS))
def test_date_times_move_exactly(values: list[datetime.datetime | None], duration: datetime.timedelta) -> None:
    assert moved(values, duration) == [None if value is None else value + duration for value in values]


def test_numbers() -> None:
    assert moved([1, None, -5], 3) == [4, None, -2]
    assert repr(moved([1, None], 0.5)) == "[1.5, None]"
    assert repr(moved([1.5, None, math.nan, math.inf], -1)) == "[0.5, None, nan, inf]"
    assert moved([2**63 - 3], 2) == [2**63 - 1]


def test_the_other_columns_stay() -> None:
    sf = SFrame({"a": [1, 2], "t": [10, 20], "z": ["x", "y"]})
    done = sf.shift_time("t", 1)
    assert [list(row.values()) for row in done] == [[1, 11, "x"], [2, 21, "y"]]
    assert list(sf["t"]) == [10, 20]


def test_a_day_is_24_hours_over_a_change_of_clocks() -> None:
    """In Berlin noon on 30 March 2024 and 24 hours later lie on both sides of the change; the offset stays as it was."""
    winter = datetime.timezone(datetime.timedelta(hours=1))
    noon = datetime.datetime(2024, 3, 30, 12, tzinfo=winter)
    assert moved([noon, None], "day") == [datetime.datetime(2024, 3, 31, 12, tzinfo=winter), None]
    assert moved([noon], "day")[0].utcoffset() == datetime.timedelta(hours=1)


BEYOND = [
    ([datetime.datetime(9999, 12, 31)], "1d", "years 1 to 9999"),
    ([datetime.datetime(1, 1, 1)], "-1us", "years 1 to 9999"),
    ([datetime.datetime(2000, 1, 1)], f"{2**63 - 1}us", "years 1 to 9999"),
    ([2**63 - 1], 1, "beyond 64 bits"),
    ([-(2**63)], -1, "beyond 64 bits"),
]


@pytest.mark.parametrize(("values", "duration", "words"), BEYOND)
def test_keys_do_not_wrap_around(values: list[Any], duration: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        moved(values, duration)


def test_wrong_arguments() -> None:
    sf = SFrame({"t": [datetime.datetime(2020, 1, 1)], "n": [1], "s": ["x"]})
    with pytest.raises(KeyError, match="no column is named 'w'"):
        sf.shift_time("w", 1)
    with pytest.raises(TypeError, match="takes a timedelta"):
        sf.shift_time("t", 1)
    with pytest.raises(TypeError, match="takes a number"):
        sf.shift_time("n", "1d")
    with pytest.raises(TypeError, match="str has no durations"):
        sf.shift_time("s", 1)
    with pytest.raises(ValueError, match="finite"):
        sf.shift_time("n", math.inf)
    with pytest.raises(ValueError, match="64 bits"):
        sf.shift_time("n", 2**63)
    with pytest.raises(ValueError, match="minutes or months"):
        sf.shift_time("t", "1m")


CASES: list[tuple[list[Any], Any]] = [
    ([datetime.datetime(2020, 1, 1, 0, 0, 0, 7), None, datetime.datetime(1, 1, 1, 0, 0, 1), datetime.datetime(1969, 12, 31)], "-1s"),
    ([datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), None, datetime.datetime(2020, 1, 1)], "3us"),
    ([1, None, -7, 2**63 - 4], 3),
    ([1, None, -7, -(2**63) + 3], -3),
    ([1, None], 0.25),
    ([1.5, None, math.nan, -math.inf], 2),
]


@pytest.mark.spark
def test_spark_agrees(spark: Any) -> None:
    for values, duration in CASES:
        node = SFrame({"t": values}).shift_time("t", duration)._node
        assert repr(list(SArray(_node=compute(node, MaterializeOptions(naive=True))))) == repr(moved(values, duration))
    for values, duration, words in BEYOND:
        node = SFrame({"t": values}).shift_time("t", duration)._node
        with pytest.raises(RuntimeError, match=words):
            compute(node, MaterializeOptions(naive=True))


@pytest.mark.spark
def test_below_and_above_a_filter(spark: Any) -> None:
    """Rows that a filter leaves out must not make the query fail."""
    sf = SFrame({"t": [1, 2**63 - 1, 3]})
    with config.using(small_rows=0, check="result"):
        assert list(sf[sf["t"] < 10].shift_time("t", 5)["t"]) == [6, 8]
