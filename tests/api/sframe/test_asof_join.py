"""``SFrame.asof_join`` as users see it."""

from __future__ import annotations

import datetime
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.config import config
from tests.examples import part
from tests.execution import executed

DAY = datetime.datetime(2024, 3, 1)
HOUR = datetime.timedelta(hours=1)
ZONE = datetime.timezone(HOUR)


def columns(frame: SFrame) -> dict[str, list[Any]]:
    """Values by column."""
    return {name: list(frame[name]) for name in frame.column_names()}


def test_columns_and_clashing_names() -> None:
    left = SFrame({"t": [5, 1], "v": ["x", "y"]})[["t", "v"]]
    right = SFrame({"u": [1, 4], "t": [7, 8], "v": [0.5, 1.5]})[["u", "t", "v"]]
    assert columns(left.asof_join(right, on={"t": "u"})) == {"t": [5, 1], "v": ["x", "y"], "t.1": [8, 7], "v.1": [1.5, 0.5]}


TRADES = SFrame({"t": [3, 7, 9], "bid": ["x", "y", "z"]})[["t", "bid"]]
QUOTES = SFrame({"t": [1, 3, 8], "bid": [10, None, 12], "ask": [11.0, 12.0, math.nan]})[["t", "bid", "ask"]]


def test_keys_by_side_and_the_time_that_is_found() -> None:
    found = TRADES.asof_join(QUOTES.rename({"t": "u"}), left_on="t", right_on="u", keep_time=True, suffix="_quote")
    assert columns(found[["t", "bid", "bid_quote", "u"]]) == {"t": [3, 7, 9], "bid": ["x", "y", "z"], "bid_quote": [None, None, 12], "u": [3, 3, 8]}
    assert columns(TRADES.asof_join(QUOTES[["t"]], on="t", keep_time=True)) == {"t": [3, 7, 9], "bid": ["x", "y", "z"], "t.1": [3, 3, 8]}
    assert TRADES.asof_join(QUOTES[["t"]], on="t").column_names() == ["t", "bid"]


def test_missing_values_are_skipped_column_by_column() -> None:
    found = TRADES.asof_join(QUOTES, on="t", skip_missing=True, suffix="_quote", keep_time=True)
    assert found.column_names() == ["t", "bid", "t_quote", "bid_quote", "ask"]
    assert [list(found[name]) for name in found.column_names()[2:]] == [[3, 3, 8], [10, 10, 12], [12.0, 12.0, 12.0]]
    assert list(TRADES.asof_join(QUOTES, on="t", skip_missing=True, tolerance=1)["bid.1"]) == [None, None, 12]
    assert list(TRADES.asof_join(QUOTES, on="t", skip_missing=True, tolerance="all", direction="forward")["bid.1"]) == [12, 12, None]


def test_several_frames_at_once() -> None:
    news = SFrame({"t": [2, 8], "bid": ["up", "down"]})
    found = TRADES.asof_join([QUOTES, news], on="t", suffix=["_quote", "_news"])
    assert found.column_names() == ["t", "bid", "bid_quote", "ask", "bid_news"]
    assert list(found["bid_news"]) == ["up", "up", "down"]
    assert TRADES.asof_join([QUOTES, news], on="t").column_names() == ["t", "bid", "bid.1", "ask", "bid.2"]
    assert columns(TRADES.asof_join([], on="t")) == columns(TRADES)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"on": None}, ValueError, "either on=, or both left_on= and right_on="),
        ({"left_on": "t"}, ValueError, "either on="),
        ({"on": None, "left_on": "t"}, ValueError, "both left_on= and right_on="),
        ({"on": None, "left_on": "t", "right_on": "nope"}, KeyError, "nope"),
        ({"skip_missing": 1}, TypeError, "skip_missing must be True or False"),
        ({"keep_time": "yes"}, TypeError, "keep_time must be True or False"),
        ({"suffix": 3}, TypeError, "suffix must be a text"),
        ({"suffix": ["_a", "_b"]}, ValueError, r"suffix: 2 for 1 frame"),
        ({"suffix": "", "keep_time": True}, TypeError, "suffix must be a text"),
        ({"tolerance": "every"}, TypeError, "tolerance"),
    ],
)
def test_what_cannot_be_asked_of_more_than_a_key_is_refused_at_once(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        TRADES.asof_join(QUOTES, **{"on": "t", **arguments})


def test_a_suffix_that_makes_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(RuntimeError, match="there is a column 'bid_q' already"):
        TRADES.rename({"t": "u"}).asof_join(QUOTES.rename({"ask": "bid_q"}), on={"u": "t"}, suffix="_q")


def test_by_and_directions() -> None:
    left = SFrame({"t": [4, 4, None, 4], "g": ["a", "b", "a", None]})
    right = SFrame({"t": [2, 3, 5, 6], "h": ["a", "b", "a", "b"], "v": [1, 2, 3, 4]})
    expected = {"backward": [1, 2, None, None], "forward": [3, 4, None, None], "nearest": [3, 2, None, None]}
    for direction, values in expected.items():
        assert list(left.asof_join(right, on="t", by={"g": "h"}, direction=direction)["v"]) == values
    assert list(left.asof_join(right, on="t", by={"g": "h"}, tolerance=1)["v"]) == [None, 2, None, None]


def test_times_and_durations() -> None:
    left = SFrame({"t": [DAY, DAY + 2 * HOUR, DAY + 9 * HOUR]})
    right = SFrame({"t": [DAY + HOUR, DAY + 5 * HOUR], "v": [1, 2]})
    for tolerance in ("1h30min", 1.5 * HOUR, np.timedelta64(90, "m")):
        assert list(left.asof_join(right, on="t", tolerance=tolerance)["v"]) == [None, 1, None]


def test_times_with_zones_compare_by_their_instants() -> None:
    left = SFrame({"t": [DAY.replace(tzinfo=ZONE), DAY.replace(tzinfo=datetime.UTC)]})
    right = SFrame({"t": [DAY.replace(tzinfo=datetime.UTC) - HOUR], "v": [1]})
    assert list(left.asof_join(right, on="t")["v"]) == [1, 1]
    assert list(left.asof_join(right, on="t", allow_exact=False)["v"]) == [None, 1]


def test_a_day_is_24_hours_over_a_change_of_the_clocks() -> None:
    summer, winter = datetime.timezone(2 * HOUR), ZONE
    for before, after, found in ((winter, summer, [1, 1]), (summer, winter, [None, 1])):
        left = SFrame({"t": [datetime.datetime(2024, 3, 31, 12, tzinfo=after), datetime.datetime(2024, 3, 31, 11, tzinfo=after)]})
        right = SFrame({"t": [datetime.datetime(2024, 3, 30, 12, tzinfo=before)], "v": [1]})
        assert list(left.asof_join(right, on="t", tolerance="1d")["v"]) == found


def test_nothing_to_find_in() -> None:
    left = SFrame({"t": [1, 2]})
    empty = SFrame({"t": [1], "v": ["x"]}).head(0)
    assert list(left.asof_join(empty, on="t")["v"]) == [None, None]
    assert len(left.head(0).asof_join(SFrame({"t": [1], "v": [2]}), on="t")) == 0
    assert columns(left.asof_join(SFrame({"t": [1]}), on="t")) == {"t": [1, 2]}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"on": "nope"}, KeyError, "nope"),
        ({"on": {"t": "nope"}}, KeyError, "nope"),
        ({"on": "t", "by": "nope"}, KeyError, "nope"),
        ({"on": "text"}, TypeError, "str key cannot be used here"),
        ({"on": "list"}, TypeError, "array key cannot be used here"),
        ({"on": {"t": "time"}}, TypeError, "cannot be compared"),
        ({"on": {"time": "zoned"}}, TypeError, "time zone"),
        ({"on": "t", "by": "list"}, TypeError, "cannot be grouped by"),
        ({"on": "t", "by": {"t": "text"}}, TypeError, "cannot be compared"),
        ({"on": "t", "tolerance": "3d"}, TypeError, "tolerance"),
        ({"on": "time", "tolerance": 3}, TypeError, "tolerance"),
        ({"on": "t", "tolerance": -1}, ValueError, "must not be negative"),
        ({"on": "time", "tolerance": "-1h"}, ValueError, "must not be negative"),
        ({"on": "t", "direction": "sideways"}, ValueError, "backward, forward, nearest"),
        ({"on": "t", "allow_exact": 1}, TypeError, "True or False"),
        ({"on": ["t", "time"]}, ValueError, "one key"),
        ({"on": 3}, TypeError, "column name"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    frame = SFrame({"t": [1], "text": ["a"], "list": [[1]], "time": [DAY], "zoned": [DAY.replace(tzinfo=ZONE)]})
    with pytest.raises(error, match=words):
        frame.asof_join(frame, **arguments)


def test_only_frames_are_joined() -> None:
    with pytest.raises(TypeError, match="SFrame"):
        SFrame({"t": [1]}).asof_join([1], on="t")  # type: ignore[arg-type]


@pytest.mark.spark
def test_saved_sorted_frames_are_joined_without_an_exchange(everything_on_spark: None, tmp_path: Path) -> None:
    left = SFrame({"t": list(range(0, 300, 2)), "g": [number % 3 for number in range(150)]})
    right = SFrame({"t": list(range(0, 300, 7)), "g": [number % 3 for number in range(43)], "v": list(range(43))})
    for name, frame in (("left", left), ("right", right)):
        frame.save(str(tmp_path / name))
    joined = load_sframe(str(tmp_path / "left")).asof_join(load_sframe(str(tmp_path / "right")), on="t")
    found, log = executed(joined, segments=7)
    assert [line.split(":")[0] for line in log] == ["segments"]
    assert found[-1] == [number // 7 for number in range(0, 300, 2)]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("by", "direction", "arguments"),
    part(product([None, "g"], ["backward", "forward", "nearest"], [{}, {"allow_exact": False}, {"tolerance": 1.5}]), 5),
)
def test_the_spark_lowering_and_any_number_of_segments_agree(
    everything_on_spark: None, direction: str, by: str | None, arguments: dict[str, Any]
) -> None:
    keys = [3.5, None, -1.0, float("nan"), 8.0, 3.5, float("inf"), 0.0, -0.0]
    left = SFrame({"t": keys, "g": ["a", "b", None] * 3})
    right = SFrame({"t": [*reversed(keys), 4.0], "g": ["a", "a", "b", None, "b"] * 2, "v": list(range(10))})
    joined = left.asof_join(right, on="t", by=by, direction=direction, **arguments)
    expected = repr(executed(joined, naive=True)[0])
    for segments in (1, 7):
        assert repr(executed(joined, segments=segments)[0]) == expected


@pytest.mark.spark
def test_a_large_left_side_out_of_order_keeps_its_places(everything_on_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.operators.joins import asof_join

    monkeypatch.setattr(asof_join, "MAX_RIGHT_ROWS_IN_MEMORY", 0)
    monkeypatch.setattr(asof_join, "MAX_ROWS_OUT_OF_ORDER", 0)
    left = SFrame({"t": [9, 1, None, 5, 1], "w": list("abcde")})
    joined = left.asof_join(SFrame({"t": [0, 4, 8], "v": [10, 14, 18]}), on="t")
    found, log = executed(joined, segments=2)
    assert found == [list(left[name]) for name in ("t", "w")] + [[18, 10, None, 14, 10]]
    assert log.count("query: sort") == 2
    assert repr(executed(joined, naive=True)[0]) == repr(found)


def test_a_few_rows_against_a_large_saved_frame_need_no_job(tmp_path: Path) -> None:
    SFrame({"t": list(range(0, 200, 2)), "v": list(range(100))}).save(str(tmp_path / "right"))
    joined = SFrame({"t": [9, 150]}).asof_join(load_sframe(str(tmp_path / "right")), on="t")
    with config.using(small_rows=10):
        found, log = executed(joined)
    assert found[-1] == [4, 75]
    assert [line.split(":")[0] for line in log] == ["driver"]
