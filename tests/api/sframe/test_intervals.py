"""Intervals, resampling and clocks: against plain Python, with every section on Spark, and against the naive plan."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate, config, uniform_clock
from sframe_spark.compute.interval_grid import Grid, clock_labels, grid_labels
from sframe_spark.errors import ExecutionError
from sframe_spark.operators.groupby import resampling
from sframe_spark.session import is_started
from tests.examples import examples

NAN, INF = float("nan"), float("inf")
UTC = datetime.UTC
BERLIN_SUMMER, BERLIN_WINTER = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (2, 1))
TIMES = [12, 3, None, 25, 3, 19, 10, 21, 41, 40, -1, 3, None, 20, 11]
KEYS = ["b", "a", "b", "a", None, "a", "b", "b", "a", "a", None, "b", "a", "c", "a"]


def frame() -> SFrame:
    return SFrame({"t": TIMES, "k": KEYS, "v": list(range(len(TIMES)))})


def rows_of(sf: SFrame) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in sf]


def interval_of(time: Any, every: int, closed: str) -> tuple[int, int] | None:
    if time is None:
        return None
    start = next(k for k in range(-1000, 1000, every) if (k <= time < k + every if closed == "left" else k < time <= k + every))
    return start, start + every


def grouped(every: int, closed: str, label: str, by: bool) -> dict[tuple[Any, ...], list[int]]:
    rows = sorted((row for row in zip(TIMES, KEYS, range(len(TIMES)), strict=True) if row[0] is not None), key=lambda row: row[0])
    result: dict[tuple[Any, ...], list[int]] = {}
    for time, key, value in rows:
        found = interval_of(time, every, closed)
        assert found is not None
        result.setdefault((found[label == "right"], *((key,) if by else ())), []).append(value)
    return dict(sorted(result.items(), key=lambda item: item[0][0]))


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize(("closed", "label"), [("left", "left"), ("right", "left"), ("left", "right"), ("right", "right")])
def test_intervals_on_a_grid(closed: str, label: str, by: Any, spark: Any) -> None:
    operations = {"n": aggregate.COUNT(), "values": aggregate.CONCAT("v"), "first": aggregate.MIN("t")}
    with config.using(small_rows=0):
        found = frame().groupby_intervals("t", every=10, closed=closed, label=label, by=by, operations=operations)
        found.materialize(segments=5)
    expected = [(*key, len(values), values, min(TIMES[v] or 0 for v in values)) for key, values in grouped(10, closed, label, bool(by)).items()]
    assert rows_of(found) == expected
    assert found.column_names() == ["t", *(["k"] if by else []), "n", "values", "first"]


@pytest.mark.spark
@pytest.mark.parametrize("closed", ["left", "right"])
def test_intervals_of_a_clock(closed: str, spark: Any) -> None:
    ticks = [3, 11, 12, 20, 40]
    found = frame().groupby_intervals("t", clock=SArray(ticks), closed=closed, operations={"values": aggregate.CONCAT("v")})
    expected = []
    for start, stop in pairwise(ticks):
        inside = [(t, v) for v, t in enumerate(TIMES) if t is not None and (start <= t < stop if closed == "left" else start < t <= stop)]
        if inside:
            expected.append((start, [v for _, v in sorted(inside)]))
    assert rows_of(found) == expected


@pytest.mark.spark
@pytest.mark.parametrize("segments", [1, 4])
@pytest.mark.parametrize("fill", ["missing", "forward"])
def test_resample_has_every_interval_between(fill: str, segments: int, spark: Any) -> None:
    with config.using(small_rows=0):
        found = frame().resample("t", 5, {"n": aggregate.COUNT(), "s": aggregate.SUM("v")}, fill=fill)
        found.materialize(segments=segments)
    known = {key[0]: (len(values), sum(values)) for key, values in grouped(5, "left", "left", False).items()}
    expected, last = [], (None, None)
    for start in range(min(known), max(known) + 5, 5):
        values = known.get(start, last if fill == "forward" else (None, None))
        expected.append((start, *values))
        last = known.get(start, last)
    assert rows_of(found) == expected


@pytest.mark.spark
def test_resample_by_key_fills_each_key_apart(spark: Any) -> None:
    sf = SFrame({"t": [0.0, 0.1, 0.55, 0.2], "k": ["x", "y", "x", "y"]})
    found = sf.resample("t", 0.25, {"n": aggregate.COUNT()}, by="k", label="right", fill="forward")
    assert rows_of(found) == [(0.25, "x", 1), (0.25, "y", 2), (0.5, "x", 1), (0.75, "x", 1)]


@pytest.mark.spark
def test_programs_equal_their_naive_plans(spark: Any) -> None:
    days = [datetime.datetime(2024, 3, 30, hour, tzinfo=BERLIN_WINTER) for hour in (1, 5, 23)]
    days += [datetime.datetime(2024, 4, 2, 1, tzinfo=BERLIN_SUMMER), datetime.datetime(2024, 3, 31, 1, 59, tzinfo=BERLIN_WINTER)]
    zoned = SFrame({"t": days, "k": ["a", "b", "a", "b", "a"]})
    with config.using(check="result"):
        frame().groupby_intervals("t", every=7, by="k", operations=aggregate.SUM("v")).materialize()
        frame().groupby_intervals("t", clock=SFrame({"time": [0.5, 12.0, 22.25]}), operations=aggregate.SUM("v")).materialize()
        frame().resample("t", 3.5, aggregate.SUM("v"), by="k", fill="forward").materialize()
        zoned.resample("t", "8h", aggregate.COUNT(), by="k").materialize()
        zoned.resample("t", "1d", aggregate.COUNT(), fill="forward").materialize()
        uniform_clock(days[0], days[3], "5h").materialize()
        uniform_clock(0, 1, 0.125).materialize()


@pytest.mark.spark
def test_days_are_24_hours_over_a_change_of_daylight_saving_time(spark: Any) -> None:
    # Central European clocks went from 2:00 to 3:00 on 2024-03-31, so by UTC midnight it was 2:00 in the new time.
    times = [datetime.datetime(2024, 3, 31, 0, 30, tzinfo=BERLIN_WINTER), datetime.datetime(2024, 3, 31, 1, 30, tzinfo=BERLIN_WINTER)]
    times += [datetime.datetime(2024, 3, 31, 12, tzinfo=BERLIN_SUMMER), datetime.datetime(2024, 4, 1, 1, 59, tzinfo=BERLIN_SUMMER)]
    times += [datetime.datetime(2024, 4, 1, 2, tzinfo=BERLIN_SUMMER)]
    found = SFrame({"t": times}).groupby_intervals("t", every="1d", operations={"n": aggregate.COUNT()})
    starts = [datetime.datetime(2024, 3, day, tzinfo=UTC) for day in (30, 31)] + [datetime.datetime(2024, 4, 1, tzinfo=UTC)]
    assert [(row["t"], row["n"]) for row in found] == list(zip(starts, [1, 3, 1], strict=True))
    assert [row["t"].utcoffset() for row in found] == [datetime.timedelta(hours=hours) for hours in (1, 1, 2)]


@pytest.mark.spark
def test_rows_without_a_place_in_time_are_left_out(spark: Any) -> None:
    sf = SFrame({"t": [NAN, 1.0, None, INF, -INF, -0.5]})
    assert rows_of(sf.groupby_intervals("t", every=1, operations=aggregate.COUNT())) == [(-1.0, 1), (1.0, 1)]
    assert rows_of(sf[:0].resample("t", every=1, operations=aggregate.COUNT())) == []
    assert rows_of(sf.groupby_intervals("t", clock=SArray([5, 6]), operations=aggregate.COUNT())) == []


@pytest.mark.spark
def test_a_gap_of_too_many_intervals_is_refused(spark: Any) -> None:
    with pytest.raises(ExecutionError, match="choose longer intervals"):
        SFrame({"t": [0, 10**12]}).resample("t", 1).materialize()


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=12).map(sorted), st.integers(1, 9), st.integers(1, 4))
def test_rows_in_time_order_need_no_spark(times: list[int], every: int, batch_rows: int) -> None:
    sf = SFrame({"t": times})
    started = is_started()
    with config.using(batch_rows=batch_rows):
        grouped = rows_of(sf.groupby_intervals("t", every, closed="right", label="right", operations={"n": aggregate.COUNT()}))
        filled = rows_of(sf.resample("t", every, {"n": aggregate.COUNT()}))
    ends = [-(-time // every) * every for time in times]
    assert grouped == [(end, ends.count(end)) for end in sorted(set(ends))]
    starts = [time // every * every for time in times]
    assert filled == [(start, starts.count(start) or None) for start in range(starts[0], starts[-1] + 1, every)]
    assert is_started() == started


def test_clocks() -> None:
    assert list(uniform_clock(3, 9, 3)["time"]) == [3, 6, 9]
    assert list(uniform_clock(0, 1, 0.25)["time"]) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert len(uniform_clock(0.0, 0.3, 0.1)) == 3  # the third tick after the start is 0.30000000000000004
    assert list(SFrame.uniform_clock(5, 5, 1)["time"]) == [5]
    start = datetime.datetime(2024, 10, 27, 2, tzinfo=BERLIN_SUMMER)
    found = list(uniform_clock(start, datetime.datetime(2024, 10, 27, 2, tzinfo=BERLIN_WINTER), "30min")["time"])
    assert found == [start, start + datetime.timedelta(minutes=30), start + datetime.timedelta(hours=1)]
    assert {time.utcoffset() for time in found} == {datetime.timedelta(hours=2)}
    days = uniform_clock(datetime.date(2024, 2, 28), datetime.datetime(2024, 3, 1, 12), datetime.timedelta(days=1))
    assert [time.day for time in days["time"]] == [28, 29, 1]
    assert len(uniform_clock(0, 10**12, 1)) == 10**12 + 1  # computed when looked at


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((5, 1, 1), ValueError, "before it starts"),
        ((0, 1, 0), ValueError, "above zero"),
        ((0, NAN, 1), ValueError, "finite"),
        (("a", 1, 1), TypeError, "start must be a number or a datetime"),
        ((0, datetime.datetime(2024, 1, 1), 1), TypeError, "both be numbers or both be date-times"),
        ((datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=UTC), "1d"), TypeError, "with and without one cannot be compared"),
        ((datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1), 3), TypeError, "every"),
        ((datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1), "1 m"), ValueError, "minutes or months"),
    ],
)
def test_bad_clocks_are_refused(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        uniform_clock(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"on": "t"}, ValueError, "either every"),
        ({"on": "t", "every": 1, "clock": SArray([1, 2])}, ValueError, "either every"),
        ({"on": "t", "every": -1}, ValueError, "above zero"),
        ({"on": "t", "every": "1d"}, TypeError, "takes a number"),
        ({"on": "t", "every": 1, "closed": "both"}, ValueError, "closed"),
        ({"on": "t", "every": 1, "label": "middle"}, ValueError, "label"),
        ({"on": "k", "every": 1}, TypeError, "no intervals"),
        ({"on": "nothing", "every": 1}, KeyError, "nothing"),
        ({"on": "t", "clock": 3}, TypeError, "an SFrame or an SArray"),
        ({"on": "t", "clock": SArray([1, 1])}, ValueError, "row 1 is not after row 0"),
        ({"on": "t", "clock": SArray([1, None])}, ValueError, "a time in every row"),
        ({"on": "t", "clock": SArray([1.0, NAN])}, ValueError, "a time in every row"),
        ({"on": "t", "clock": SArray(["a"])}, TypeError, "does not match"),
        ({"on": "t", "clock": SFrame({"a": [1], "b": [2]})}, TypeError, "a clock must have one column"),
        ({"on": "z", "clock": SArray([datetime.datetime(2024, 1, 1)])}, TypeError, "mixed time zones"),
        ({"on": "t", "every": 1, "by": "nothing"}, KeyError, "nothing"),
    ],
)
def test_bad_intervals_are_refused_before_work(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    sf = SFrame({"t": [1, 2], "k": ["a", "b"], "z": [datetime.datetime(2024, 1, 1, tzinfo=UTC)] * 2})
    with pytest.raises(error, match=text):
        sf.groupby_intervals(**arguments)


def test_resample_refuses_bad_arguments() -> None:
    sf = SFrame({"t": [1, 2], "l": [[1], [2]]})
    with pytest.raises(ValueError, match="fill must be one of"):
        sf.resample("t", 1, fill="zero")
    with pytest.raises(TypeError, match="needs every"):
        sf.resample("t", None)
    with pytest.raises(TypeError, match="has no order"):
        sf.resample("t", 1, by="l")


SIDES = st.sampled_from(["left", "right"])
FLOATS = st.one_of(st.floats(-1e6, 1e6), st.integers(-50, 50).map(lambda n: n * 0.1))


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1), st.sampled_from([0.1, 1.0, 0.3, 7.5, 1e-3]), SIDES)
def test_the_ends_of_float_intervals_hold_the_number(numbers: list[float], every: float, closed: str) -> None:
    found = grid_labels(np.array(numbers), Grid(every, closed))
    for number, start in zip(numbers, found.tolist(), strict=True):
        place = round(start / every)
        assert start == place * every
        stop = (place + 1) * every
        assert start <= number < stop if closed == "left" else start < number <= stop


@settings(deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.integers(1, 2**40), SIDES, SIDES)
def test_the_ends_of_int_intervals_hold_the_number(numbers: list[int], every: int, closed: str, label: str) -> None:
    for number, end in zip(numbers, grid_labels(np.array(numbers), Grid(every, closed, label)).tolist(), strict=True):
        place = number // every if closed == "left" else -(-number // every) - 1
        assert end == (place + (label == "right")) * every


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1), st.sets(st.integers(-15, 15)).map(sorted), SIDES)
def test_clock_intervals_hold_the_number(numbers: list[int], ticks: list[int], closed: str) -> None:
    labels, inside = clock_labels(np.array(numbers), np.array(ticks, dtype=np.int64), Grid(None, closed))
    pairs = list(pairwise(ticks))
    for number, label, is_inside in zip(numbers, labels.tolist(), inside.tolist(), strict=True):
        found = [a for a, b in pairs if (a <= number < b if closed == "left" else a < number <= b)]
        assert found == ([label] if is_inside else [])


def test_ends_beyond_64_bits_are_an_error() -> None:
    with pytest.raises(ExecutionError, match="does not fit 64 bits"):
        grid_labels(np.array([2**63 - 1]), Grid(10, label="right"))


@pytest.mark.parametrize("small_rows", [pytest.param(0, marks=pytest.mark.spark), 1_000])
@pytest.mark.parametrize(
    ("times", "every", "by"),
    [
        pytest.param([-(2**62) - 2, 2**62], 1, [1, 1], id="a distance beyond 64 bits"),
        pytest.param([-(2**62), 2**61, -(2**62), 2**61], 1, [1, 1, 2, 2], id="a sum of distances beyond 64 bits"),
        pytest.param([1e19, 1.5e19], 1.0, [1, 1], id="numbers of intervals beyond 64 bits"),
        pytest.param([-1e300, 1e300], 1.0, [1, 1], id="far beyond"),
    ],
)
def test_more_intervals_than_64_bits_count_are_an_error(times: list[Any], every: Any, by: list[int], small_rows: int) -> None:
    """They were left out without a word, or all labels became that of the interval -2**63."""
    sf = SFrame({"t": times, "k": by, "v": [1] * len(times)})
    with config.using(small_rows=small_rows), pytest.raises(ExecutionError):
        list(sf.resample("t", every, {"n": aggregate.SUM("v")}, by="k"))


def test_intervals_far_out_are_filled_exactly() -> None:
    """Beyond 2**53, where floats no longer tell neighbours apart."""
    sf = SFrame({"t": [2**62, 2**62 + 3], "v": [1, 2]})
    assert rows_of(sf.resample("t", 1, {"n": aggregate.SUM("v")})) == [(2**62, 1), (2**62 + 1, None), (2**62 + 2, None), (2**62 + 3, 2)]


def test_rows_next_to_each_other_are_no_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows that are made count against what one batch may make."""
    monkeypatch.setattr(resampling, "MAX_NEW_ROWS", 50)
    count = {"n": aggregate.COUNT}
    assert len(SFrame({"t": range(100)}).resample("t", 1, count)) == 100
    assert len(SFrame({"t": [0, 51]}).resample("t", 1, count)) == 52
    with pytest.raises(ExecutionError, match="about 51 intervals"):
        len(SFrame({"t": [0, 52]}).resample("t", 1, count))
