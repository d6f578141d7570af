"""``SFrame.window`` as users see it."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from tests.examples import part
from tests.execution import executed

DAY = datetime.datetime(2024, 3, 1)


def test_columns_names_and_forms() -> None:
    frame = SFrame({"t": [1, 2, 4], "v": [1, 2, 3]})
    assert frame.window("t", aggregate.SUM("v"), before=1).column_names() == ["t", "v", "Sum of v"]
    several = frame.window("t", [aggregate.COUNT, aggregate.MAX("v")], before=2, after=1)
    assert several.column_names() == ["t", "v", "Count", "Max of v"]
    assert list(several["Count"]) == [2, 2, 2]
    assert list(several["Max of v"]) == [2, 2, 3]
    assert list(frame.window("t", {"n": aggregate.COUNT()})["n"]) == [1, 1, 1]


def test_times_ends_and_groups() -> None:
    times = [None, *[DAY + datetime.timedelta(days=number) for number in (0, 1, 1, 7)]]
    frame = SFrame({"t": times, "g": ["b", "a", "b", None, "b"]})
    for week in ("7d", datetime.timedelta(days=7), "1 week"):
        found = frame.window("t", {"n": aggregate.COUNT(), "names": aggregate.CONCAT("g")}, before=week)
        assert list(found["n"]) == [0, 1, 3, 3, 4]
        assert list(found["names"]) == [[], ["a"], ["a", "b"], ["a", "b"], ["a", "b", "b"]]
    assert list(frame.window("t", {"n": aggregate.COUNT()}, before="6d", by="g")["n"]) == [0, 1, 1, 1, 2]


def test_no_rows() -> None:
    empty = SFrame({"t": [1], "v": [1.5]}).head(0)
    found = empty.window("t", {"m": aggregate.MEAN("v")})
    assert len(found) == 0
    assert found.column_names() == ["t", "v", "m"]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"on": "nope"}, KeyError, "nope"),
        ({"on": "v", "by": "nope"}, KeyError, "nope"),
        ({"on": "v", "aggregates": aggregate.SUM("nope")}, KeyError, "nope"),
        ({"on": "text"}, TypeError, "str has no distances"),
        ({"on": ["v"]}, TypeError, "name of a column"),
        ({"on": "v", "by": 3}, TypeError, "list of names"),
        ({"on": "v", "before": "7d"}, TypeError, "before"),
        ({"on": "v", "after": -1}, ValueError, "after"),
        ({"on": "v", "aggregates": 3}, TypeError, "aggregate.SUM"),
        ({"on": "v", "aggregates": {"text": aggregate.COUNT()}}, RuntimeError, "names of their own"),
        ({"on": "v", "aggregates": aggregate.SUM("text")}, RuntimeError, "SUM takes"),
        ({"on": "v", "by": "array"}, TypeError, "cannot be grouped by"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    frame = SFrame({"v": [1], "text": ["a"], "array": [[1.5]]})
    with pytest.raises(error, match=words):
        frame.window(**{"aggregates": aggregate.COUNT(), **arguments})


@pytest.mark.spark
def test_windows_of_times_with_offsets_compare_instants(spark: Any) -> None:
    hour = datetime.timedelta(hours=1)
    summer, winter = datetime.timezone(2 * hour), datetime.timezone(hour)
    # In autumn a day later by the wall clock is 25 hours later, in spring 23.
    autumn = [datetime.datetime(2024, 10, 26, 12, tzinfo=summer), datetime.datetime(2024, 10, 27, 12, tzinfo=winter)]
    spring = [datetime.datetime(2024, 3, 30, 12, tzinfo=winter), datetime.datetime(2024, 3, 31, 12, tzinfo=summer)]
    for times, found in ((autumn, [1, 1]), (spring, [1, 2]), (spring[::-1], [2, 1])):
        assert list(SFrame({"t": times}).window("t", {"n": aggregate.COUNT()}, before="1d")["n"]) == found


def same(first: Any, second: Any) -> bool:
    """True for equal values; the order of summation may show in floats."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9) or (first != first and second != second)
    return repr(first) == repr(second)


@pytest.mark.spark
@pytest.mark.parametrize("by", part([["g", "h"], None, "g"], 3))
def test_the_spark_lowering_and_any_number_of_segments_agree(everything_on_spark: None, by: Any) -> None:
    keys = [3.5, None, -1.0, float("nan"), 8.0, 3.5, float("inf"), 0.0, -0.0, 4.0]
    columns = {"t": keys, "g": ["a", "b", None, "a", "a"] * 2, "h": [1, 2] * 5, "v": [0.5, None, 2.0, float("nan"), 1.0] * 2, "n": list(range(10))}
    wanted = [aggregate.COUNT(), aggregate.CONCAT("n"), aggregate.ARGMAX("v", "n"), aggregate.QUANTILE("v", 0.5), aggregate.SELECT_ONE("g")]
    wanted += [function("v") for function in (aggregate.SUM, aggregate.MEAN, aggregate.MIN, aggregate.MAX, aggregate.VAR, aggregate.STD)]
    found = SFrame(columns).window("t", wanted, before=2.5, after=1, by=by)
    expected = executed(found, naive=True)[0]
    for segments in (1, 7):
        assert same(executed(found, segments=segments)[0], expected)


@pytest.mark.spark
def test_a_saved_sorted_frame_needs_no_exchange(everything_on_spark: None, tmp_path: Path) -> None:
    SFrame({"t": list(range(0, 300, 3)), "v": list(range(100))}).save(str(tmp_path / "frame"))
    found, log = executed(load_sframe(str(tmp_path / "frame")).window("t", {"s": aggregate.SUM("v")}, before=6), segments=7)
    assert found[-1] == [sum(range(max(0, number - 2), number + 1)) for number in range(100)]
    assert [line.split(":")[0] for line in log] == ["segments"]


@pytest.mark.spark
def test_rows_that_are_computed_are_computed_once(everything_on_spark: None) -> None:
    frame = SFrame({"t": [5, 3, 9, 4], "v": [1, 2, 3, 4]})
    found, log = executed(frame.window("t", {"s": aggregate.SUM("v")}, before=1), segments=2)
    assert found[-1] == [5, 2, 3, 6]
    assert log.count("query: sort") == 2
