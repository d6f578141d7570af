"""Distances and numbers of rows beyond 64 bits mean what they say, or are refused in our words."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, uniform_clock
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.errors import ExecutionError, InvalidArgumentError, SFrameError
from sframe_spark.testing.oracle_functions import rows_equal
from tests.random_programs.equivalence import EngineRunner

KEYS = [-(2**63), -(2**63) + 1, -5, 0, None, 7, 2**62, 2**63 - 2, 2**63 - 1]
QUOTES = [-(2**63), 3]
DISTANCES = [0, 1, 2**62, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1, 2**64, 2**70, 1e300]
HUGE = [2**63 - 1, 2**63, 2**64, 2**70, 10**400]
NUMBERS = {"numbers": aggregate.CONCAT("n")}


def keyed() -> SFrame:
    """A frame with the extreme keys."""
    return SFrame({"t": KEYS, "n": list(range(len(KEYS)))})


def window(before: int, after: int) -> list[list[int]]:
    """Numbers of the rows in each row's window, by Python's ints."""
    known = [(n, key) for n, key in enumerate(KEYS) if key is not None]
    return [[n for n, other in known if key - before <= other <= key + after] if key is not None else [] for key in KEYS]


def nearest(tolerance: int, direction: str) -> list[int | None]:
    """Which of the two quotes each key finds."""
    result: list[int | None] = []
    for key in KEYS:
        seen = (
            []
            if key is None
            else [(abs(key - at), m) for m, at in enumerate(QUOTES) if {"backward": at <= key, "forward": at >= key}.get(direction, True)]
        )
        result.append(min(((gap, m) for gap, m in seen if gap <= tolerance), default=(0, None))[1])
    return result


@pytest.mark.parametrize("distance", DISTANCES)
def test_windows_of_any_length(distance: Any) -> None:
    assert list(keyed().window("t", NUMBERS, before=distance)["numbers"]) == window(int(distance), 0)
    assert list(keyed().window("t", NUMBERS, after=distance)["numbers"]) == window(0, int(distance))


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
def test_tolerances_of_any_length(distance: Any, direction: str) -> None:
    quotes = SFrame({"t": QUOTES, "m": [0, 1]})
    assert list(keyed().asof_join(quotes, on="t", tolerance=distance, direction=direction)["m"]) == nearest(int(distance), direction)


@pytest.mark.spark
def test_distances_of_any_length_on_spark(spark: Any) -> None:
    naive = EngineRunner(MaterializeOptions(naive=True))
    for distance in (2**63, 2**70):
        found = naive.rows(keyed().window("t", NUMBERS, before=distance)[["numbers"]]._node)
        assert rows_equal(found, [(numbers,) for numbers in window(distance, 0)])
    quotes = SFrame({"t": QUOTES, "m": [0, 1]})
    assert naive.rows(keyed().asof_join(quotes, on="t", tolerance=2**70)[["m"]]._node) == [(m,) for m in nearest(2**70, "backward")]


@pytest.mark.parametrize("count", HUGE)
def test_numbers_of_rows_beyond_all_rows(count: int) -> None:
    frame = SFrame({"n": [0, 1, 2]})
    column = frame["n"]
    assert [list(part) for part in (column.head(count), column.tail(count), column[:count], column[-count:])] == [[0, 1, 2]] * 4
    assert [list(part) for part in (column[count:], column[:-count], column[::count], column[1::count])] == [[], [], [0], [1]]
    assert (len(frame.head(count)), len(frame.tail(count)), len(frame[:count]), len(frame.topk("n", count))) == (3, 3, 3, 3)
    assert [list(part) for part in (column.shift(count), column.shift(-count), column.diff(count))] == [[None] * 3] * 3
    assert list(column.rolling_sum(-count, 0, 1)) == [0, 1, 3]
    assert list(column.rolling_count(0, count)) == [3, 2, 1]


@pytest.mark.behaviour
@pytest.mark.spark
def test_row_numbers_end_with_64_bits() -> None:
    frame = SFrame({"n": [3, 1, 2]})
    few = frame[frame["n"] > 1]
    assert list(frame.add_row_number("id", 2**63 - 3)["id"]) == [2**63 - 3, 2**63 - 2, 2**63 - 1]
    assert list(few.add_row_number("id", 2**63 - 2)["id"]) == [2**63 - 2, 2**63 - 1]
    assert frame.add_row_number("id", -(2**63))["id"][0] == -(2**63)
    for start in (2**63 - 2, 2**63, -(2**63) - 1):
        with pytest.raises(InvalidArgumentError, match="need more than 64 bits"):
            frame.add_row_number("id", start)
    with pytest.raises(ExecutionError, match="need more than 64 bits"):
        list(few.add_row_number("id", 2**63 - 1)["id"])


def lengths(frame: SFrame, name: str, strange: Any) -> list[Callable[[], SFrame | Any]]:
    """Operations that take a length of time."""
    rows = {"n": aggregate.COUNT}
    return [
        lambda: frame.shift_time(name, strange),
        lambda: frame.groupby_intervals(name, every=strange, operations=rows),
        lambda: frame.resample(name, strange, rows),
        lambda: frame.exponential_smoothing("f", on=name, half_life=strange),
        lambda: frame.window(name, rows, before=strange),
        lambda: frame.asof_join(frame[["f", "i", "d"]], on=name, tolerance=strange),
    ]


@pytest.mark.parametrize("strange", [*HUGE[1:], math.inf, math.nan, datetime.timedelta.max, datetime.timedelta.min])
def test_other_lengths_are_computed_or_refused(strange: Any) -> None:
    frame = SFrame({"i": [0, 1], "f": [0.0, 1.0], "d": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)]})
    clocks = [(0, strange, 1), (0, 5, strange), (0.0, strange, 1.0), (strange, strange, 1)]
    builds = [build for name in frame.column_names() for build in lengths(frame, name, strange)]
    for build in [*builds, *[lambda bounds=bounds: uniform_clock(*bounds).head(2) for bounds in clocks]]:
        try:
            assert 1 <= len(list(build())) <= 2
        except SFrameError as error:
            assert str(error)


@pytest.mark.parametrize("strange", [math.inf, -math.inf, math.nan])
def test_numbers_of_rows_that_are_none(strange: Any) -> None:
    column = SFrame({"n": [0, 1, 2]})["n"]
    for build in (lambda: column.head(strange), lambda: column.tail(strange), lambda: column[:strange], lambda: column[::strange]):
        with pytest.raises(SFrameError, match="whole number"):
            build()
