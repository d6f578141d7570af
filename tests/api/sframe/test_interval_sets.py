"""``merge_intervals``, ``disjoint_intervals``, intervals longer than the distance of their starts, and ``autocorrelation``, against plain Python."""

from __future__ import annotations

import datetime
import itertools
import math
import random
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate
from tests.execution import executed

DAY = datetime.datetime(2024, 3, 1)
HOUR = datetime.timedelta(hours=1)
NUMBERS = {"numbers": aggregate.CONCAT("n")}


def random_intervals(chosen: random.Random) -> dict[str, list[Any]]:
    """Up to 20 intervals, some of them backwards, points, or without an end."""
    rows = chosen.randint(1, 20)
    ends = [None, math.nan, *[half / 2 for half in range(40)]]
    return {
        "lo": [float(x) if x is not None else None for x in chosen.choices(ends, k=rows)],
        "hi": [float(x) if x is not None else None for x in chosen.choices(ends, k=rows)],
        "g": chosen.choices(["a", "b", None], k=rows),
        "n": list(range(rows)),
    }


def rows_of(data: dict[str, list[Any]], by: bool, strict: bool) -> dict[Any, list[tuple[float, float, int]]]:
    """The intervals that hold something, by key, in the order of their starts."""
    found: dict[Any, list[tuple[float, float, int]]] = {}
    for lo, hi, key, number in zip(data["lo"], data["hi"], data["g"], data["n"], strict=True):
        if lo is not None and hi is not None and (lo < hi if strict else lo <= hi):
            found.setdefault(key if by else 0, []).append((lo, hi, number))
    order = sorted(found, key=lambda key: (key is not None, key))
    return {key: sorted(found[key], key=lambda row: (row[0], row[2])) for key in order}


def merged(data: dict[str, list[Any]], by: bool, gap: float) -> list[tuple[Any, ...]]:
    """Stretches without a gap, with the numbers of their rows."""
    result = []
    for key, rows in rows_of(data, by, strict=False).items():
        stretches: list[list[Any]] = []
        for lo, hi, number in rows:
            if stretches and lo <= stretches[-1][1] + gap:
                stretches[-1][1] = max(stretches[-1][1], hi)
                stretches[-1][2].append(number)
            else:
                stretches.append([lo, hi, [number]])
        result += [(*([key] if by else []), *stretch) for stretch in stretches]
    return result


def divided(data: dict[str, list[Any]], by: bool) -> list[tuple[Any, ...]]:
    """Stretches between two ends, with the numbers of the rows that cover them."""
    result = []
    for key, rows in rows_of(data, by, strict=True).items():
        cuts = sorted({end for row in rows for end in row[:2]})
        for lo, hi in itertools.pairwise(cuts):
            if covering := sorted(number for start, end, number in rows if start <= lo and hi <= end):
                result.append((*([key] if by else []), lo, hi, covering))
    return result


def tuples(frame: SFrame) -> list[tuple[Any, ...]]:
    """All rows."""
    return [tuple(row.values()) for row in frame]


def test_stretches_are_those_of_plain_python() -> None:
    chosen = random.Random(2026)
    for case in range(60):
        data, by, gap = random_intervals(chosen), chosen.random() < 0.5, chosen.choice([0, 0, 1.5])
        frame, key = SFrame(data), "g" if by else None
        assert tuples(frame.merge_intervals("lo", "hi", key, NUMBERS, gap or None)) == merged(data, by, gap), case
        assert tuples(frame.disjoint_intervals("lo", "hi", key, NUMBERS)) == divided(data, by), case


def test_no_rows() -> None:
    frame = SFrame({"lo": [1.0], "hi": [2.0], "g": ["a"], "n": [1]}).head(0)
    for found in (frame.merge_intervals("lo", "hi", "g", NUMBERS), frame.disjoint_intervals("lo", "hi", "g", NUMBERS)):
        assert tuples(found) == [] and found.column_names() == ["g", "lo", "hi", "numbers"]
    assert tuples(frame.groupby_intervals("lo", 2, operations=NUMBERS, period=5)) == []
    assert SArray([], float).autocorrelation() is None


def test_names_and_aggregates_of_ends_and_keys() -> None:
    frame = SFrame({"start": [1, 2], "end": [4, 3], "key 0": ["x", "x"], "stretch": [5, 6]})
    wanted = {"first": aggregate.MIN("start"), "keys": aggregate.CONCAT("key 0"), "sum": aggregate.SUM("stretch"), "from": aggregate.MAX("end")}
    found = frame.merge_intervals("start", "end", "key 0", wanted)
    assert found.column_names() == ["key 0", "start", "end", *wanted]
    assert tuples(found) == [("x", 1, 4, 1, ["x", "x"], 11, 4)]
    assert tuples(frame.disjoint_intervals("start", "end", "key 0", wanted)) == [
        ("x", 1, 2, 1, ["x"], 5, 4),
        ("x", 2, 3, 1, ["x", "x"], 11, 4),
        ("x", 3, 4, 1, ["x"], 5, 4),
    ]
    times = SFrame({"a": [DAY, DAY + 3 * HOUR], "b": [DAY + HOUR, DAY + 4 * HOUR]})
    assert tuples(times.merge_intervals("a", "b", gap="2h")) == [(DAY, DAY + 4 * HOUR)]
    assert len(times.merge_intervals("a", "b", gap="1h")) == 2


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda sf: sf.merge_intervals("lo", "nope"), KeyError, "nope"),
        (lambda sf: sf.merge_intervals("lo", 3), TypeError, "end must be the name of a column"),
        (lambda sf: sf.merge_intervals("g", "hi"), TypeError, "str key cannot be used here"),
        (lambda sf: sf.merge_intervals("lo", "n"), TypeError, "convert one with astype"),
        (lambda sf: sf.merge_intervals("lo", "hi", gap=-1), ValueError, "must not be negative"),
        (lambda sf: sf.merge_intervals("lo", "hi", gap="1h"), TypeError, "gap"),
        (lambda sf: sf.merge_intervals("lo", "hi", by="lo"), RuntimeError, "lo"),
        (lambda sf: sf.disjoint_intervals("lo", "hi", by=3), TypeError, "list of names"),
        (lambda sf: sf.disjoint_intervals("lo", "hi", operations={"lo": aggregate.COUNT()}), RuntimeError, "need different names"),
        (lambda sf: sf.groupby_intervals("lo", 2, period=-1), ValueError, "above zero"),
        (lambda sf: sf.groupby_intervals("lo", 2, period="1d"), TypeError, "period"),
        (lambda sf: sf.groupby_intervals("lo", 2, period=1e9), ValueError, r"use window\(\)"),
        (lambda sf: sf.groupby_intervals("lo", clock=SArray([1.0]), period=1), ValueError, "period= can only be used with every="),
        (lambda sf: sf["lo"].autocorrelation("1"), TypeError, "number of rows"),
        (lambda sf: sf["g"].autocorrelation(), RuntimeError, "CORRELATION"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(SFrame({"lo": [1.0], "hi": [2.0], "g": ["a"], "n": [1]}))


@pytest.mark.parametrize("closed", ["left", "right"])
def test_intervals_that_overlap_hold_their_rows(closed: str) -> None:
    chosen = random.Random(7)
    for case in range(30):
        rows = chosen.randint(1, 25)
        times, keys = chosen.choices([None, *range(-9, 30)], k=rows), chosen.choices("ab", k=rows)
        every, period = chosen.randint(1, 6), chosen.randint(1, 14)
        frame = SFrame({"t": times, "g": keys, "n": list(range(rows))})
        expected = []
        for start in range(-40, 60):
            if start % every:
                continue
            lying = range(start, start + period) if closed == "left" else range(start + 1, start + period + 1)
            inside = sorted((t, number) for number, t in enumerate(times) if t is not None and t in lying)
            for key in dict.fromkeys(keys[number] for _, number in inside):
                expected.append((start, key, [number for _, number in inside if keys[number] == key]))
        found = frame.groupby_intervals("t", every, closed=closed, by="g", operations=NUMBERS, period=period)
        assert tuples(found) == expected, (case, every, period)
        ends = frame.groupby_intervals("t", every, closed=closed, label="right", by="g", operations=NUMBERS, period=period)
        assert list(ends["t"]) == [start + period for start, _, _ in expected]


def test_intervals_that_overlap_beside_polars() -> None:
    polars = pytest.importorskip("polars")
    times = [DAY + hour * HOUR for hour in (1, 2, 5, 29, 30, 77)]
    frame = {"t": times, "v": [1, 2, 4, 8, 16, 32]}
    grouped = polars.DataFrame(frame).group_by_dynamic("t", every="1d", period="3d").agg(polars.col("v").sum())
    found = SFrame(frame).groupby_intervals("t", "1d", operations={"v": aggregate.SUM("v")}, period="3d")
    # Polars begins with the interval that starts last before the first row; here all that contain a row are there.
    assert tuples(found)[2:] == grouped.rows()
    assert tuples(found)[:2] == [(DAY - 48 * HOUR, 7), (DAY - 24 * HOUR, 31)]


def test_intervals_of_months_and_of_the_clock_of_a_zone() -> None:
    months = SFrame({"t": [datetime.datetime(2024, 1, 31), datetime.datetime(2024, 3, 1)], "v": [1, 2]})
    found = months.groupby_intervals("t", "1mo", operations={"v": aggregate.SUM("v")}, period="3mo")
    assert tuples(found) == [(datetime.datetime(y, m, 1), v) for y, m, v in ((2023, 11, 1), (2023, 12, 1), (2024, 1, 3), (2024, 2, 2), (2024, 3, 2))]
    # The 10th of March 2024 has 23 hours in New York.
    moments = SFrame({"t": [datetime.datetime(2024, 3, 11, 3, 30, tzinfo=datetime.UTC)], "v": [1]})
    days = moments.groupby_intervals("t", "1d", operations={"v": aggregate.SUM("v")}, period="2d", zone="America/New_York")
    assert [(time.day, time.hour, v) for time, v in tuples(days)] == [(9, 0, 1), (10, 0, 1)]


def test_overlapping_intervals_of_rows_in_order_move_nothing() -> None:
    frame = SFrame({"t": list(range(100)), "v": list(range(100))}).sort("t")
    text = (
        frame.groupby_intervals("t", 5, operations={"v": aggregate.SUM("v")}, period=10)
        .explain()
        .partition("-- optimized plan")[2]
        .partition("-- physical plan")[0]
    )
    assert text.count("sort[") == 1  # of the starts of intervals


def test_autocorrelation_beside_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    values = random.Random(1).choices(range(100), k=50)
    for lag in (0, 1, 7, -3):
        assert SArray(values).autocorrelation(lag) == pytest.approx(pandas.Series(values).autocorr(lag))
    assert SArray([1.0, None, 2.0, 5.0]).autocorrelation(2) is None


@pytest.mark.spark
def test_intervals_on_spark_in_any_number_of_segments(everything_on_spark: None) -> None:
    data = random_intervals(random.Random(3))
    frame = SFrame(data)
    found = [frame.merge_intervals("lo", "hi", "g", NUMBERS), frame.disjoint_intervals("lo", "hi", "g", NUMBERS)]
    found.append(frame.groupby_intervals("lo", 2.0, by="g", operations=NUMBERS, period=5.0))
    for one in found:
        expected = executed(one, naive=True)[0]
        for segments in (1, 7):
            assert repr(executed(one, segments=segments)[0]) == repr(expected)
