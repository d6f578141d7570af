"""What others met in joins, windows and intervals of time: public reports of faults of pandas, Polars, DuckDB, Databend and Tempo, tried here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate

LISTED = {"found": aggregate.CONCAT("v")}


def days(*numbers: int) -> list[datetime]:
    """Days of January 2021."""
    return [datetime(2021, 1, number) for number in numbers]


@pytest.mark.parametrize("time", [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), 3, 0.5])
def test_a_side_without_rows_is_of_any_type(time: Any) -> None:
    """Polars 26719: a range join with an empty frame fails."""
    full, empty = SFrame({"t": [time], "g": ["a"], "u": [time]}), SFrame({"t": [], "g": [], "u": [], "v": []})
    assert list(full.asof_join(empty[["t", "g", "v"]], on="t", by="g")["v"]) == [None]
    assert list(full.window("t", aggregate.COUNT(), by="g", of=empty)["Count"]) == [0]
    assert list(full.join_between(empty, "t", "t", "u", by="g", how="left")["v"]) == [None]
    assert len(empty.asof_join(full[["t", "g"]], on="t", by="g")) == len(empty.window("t", aggregate.COUNT(), by="g", of=full)) == 0
    assert len(full.events(empty, "t", by="g")) == len(empty.events(full, "t", by="g")) == 0
    for how, rows in (("inner", 0), ("left", 0), ("right", 1), ("outer", 1)):
        assert len(empty.join_between(full, "t", "t", "u", by="g", how=how)) == rows
        assert len(full.join_overlapping(empty, "t", "u", by="g", how=how)) == (rows and 0 if how == "right" else how in ("left", "outer"))


def test_a_column_without_values_meets_one_with_offsets() -> None:
    moments = SFrame({"t": [datetime(2024, 1, 1, tzinfo=UTC)], "u": [datetime(2024, 1, 2, tzinfo=UTC)], "n": [1]})
    nothing = SFrame({"t": [datetime(2024, 1, 1), None], "u": [None, None], "m": [1, 2]})
    nothing["u"] = nothing["t"].apply(lambda time: None, datetime)
    unknown = nothing[["u", "m"]].rename({"u": "t"})
    assert list(unknown.join_between(moments, "t", "t", "u", how="left")["n"]) == [None, None]
    assert len(moments.events(unknown, "t")) == 0


def test_a_match_beyond_the_tolerance_is_none_where_times_are_there_twice() -> None:
    """pandas 13695, 13709: matches out of tolerance without exact matches."""
    moment = datetime(2016, 7, 15, 13, 30)
    names = SFrame({"time": [moment + timedelta(milliseconds=30)] * 2, "name": ["bob", "charlie"]})
    versions = SFrame({"time": [moment, moment + timedelta(milliseconds=30)], "version": [1, 2]})
    assert list(names.asof_join(versions, on="time", allow_exact=False, tolerance="10ms")["version"]) == [None, None]
    assert list(names.asof_join(versions, on="time", allow_exact=False, tolerance="30ms")["version"]) == [1, 1]


def test_the_last_row_is_found_whatever_it_holds() -> None:
    """DuckDB 18303: an as-of join skips missing values without being told. Tempo 103: rows without a time are dropped."""
    values = SFrame({"time": days(1, 2), "value": [42, None]})
    times = SFrame({"time": [*days(3), None]})
    assert list(times.asof_join(values, on="time")["value"]) == [None, None]
    assert list(times.asof_join(values, on="time", skip_missing=True)["value"]) == [42, None]


def test_missing_ends_match_nothing() -> None:
    """Databend 13621: a range join matches missing values."""
    left = SFrame({"a": [11, 12, 13, 11, None], "b": [1, 2, 3, None, 1]})
    right = SFrame({"b": [1, 1, 2, 1, None], "c": [10, 20, 30, None, 10]})
    found = left.join_overlapping(right, {"b": "c"}, {"a": "c"}, closed="both", suffix="_right")
    assert [(row["a"], row["b"], row["c"]) for row in found] == [(11, 1, 10)] * 2 + [(12, 2, 10)] * 2 + [(13, 3, 10)] * 2


def test_windows_that_end_before_their_row() -> None:
    """Polars 4002, 9250, 26717, 29199: wrong windows where the offset is not the negated period."""
    frame = SFrame({"t": days(1, 2, 3, 4, 5, 6), "v": [1, 2, 3, 4, 5, 6]})
    assert list(frame.window("t", LISTED, "3d", "-1d", closed="right")["found"]) == [[], [1], [1, 2], [2, 3], [3, 4], [4, 5]]
    assert list(frame.window("t", LISTED, "5d", "-3d", closed="right")["found"]) == [[], [], [], [1], [1, 2], [2, 3]]
    assert list(frame.window("t", LISTED, "-1d", "3d", closed="right")["found"]) == [[3, 4], [4, 5], [5, 6], [6], [], []]
    assert list(frame.window("t", LISTED, 0, "1d", closed="right")["found"]) == [[2], [3], [4], [5], [6], []]
    with pytest.raises(ValueError, match="end before it starts"):
        frame.window("t", LISTED, "1d", "-2d")


def test_times_that_are_there_twice_are_in_each_others_windows() -> None:
    """Polars 18126, 6691: rows of one time."""
    frame = SFrame({"t": days(1, 2, 2), "v": [1, 2, 3]})
    assert list(frame.window("t", LISTED, "1d", closed="right")["found"]) == [[1], [2, 3], [2, 3]]
    assert list(frame.window("t", LISTED, "1d", closed="left")["found"]) == [[], [1], [1]]


def test_no_row_is_missing_from_intervals_that_overlap() -> None:
    """Polars 27484, 22746, 11163, 2168: rows are missing with groups, with times that are there twice, and at the last boundary."""
    frame = SFrame({"t": days(1, 1, 2, 2), "g": ["a", "b", "a", "c"], "v": [5, 10, 5, 20]})
    found = frame.groupby_intervals("t", "1d", by="g", operations=LISTED, period="2d")
    assert [(row["t"].day, row["g"], row["found"]) for row in found] == [
        (31, "a", [5]), (31, "b", [10]), (1, "a", [5, 5]), (1, "b", [10]), (1, "c", [20]), (2, "a", [5]), (2, "c", [20])
    ]  # fmt: skip
    dates = [datetime(2017, 10, 19), datetime(2018, 3, 20), datetime(2018, 4, 6), datetime(2018, 7, 24), datetime(2018, 7, 24), datetime(2019, 3, 20)]
    quarters = SFrame({"t": dates, "v": list("ABCDEF")}).groupby_intervals("t", "1q", operations=LISTED, period="2q")
    assert ["".join(row["found"]) for row in quarters] == ["A", "AB", "BC", "CDE", "DE", "F", "F"]
    halves = SFrame({"t": [datetime(2021, 12, 16) + half * timedelta(minutes=30) for half in range(7)], "v": list(range(7))})
    assert [row["found"] for row in halves.groupby_intervals("t", "30min", closed="right", operations=LISTED, period="30min")] == [
        [n] for n in range(7)
    ]
