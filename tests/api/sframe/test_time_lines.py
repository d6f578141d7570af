"""Sessions and descriptions of time lines: against brute force, in files, in any cut into ranges and on Spark; what is refused."""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import ExecutionError
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import optimize

NAN = math.nan
UTC = datetime.UTC
START = datetime.datetime(2024, 3, 31, tzinfo=UTC)


def is_time(value: Any) -> bool:
    return value is not None and value == value


def distance(later: Any, earlier: Any) -> Any:
    difference = later - earlier
    return difference.total_seconds() if isinstance(difference, datetime.timedelta) else difference


def sessions_of(times: Sequence[Any], keys: Sequence[Any], gap: Any) -> list[int | None]:
    """The numbers of sessions, row by row."""
    last: dict[Any, Any] = {}
    number: dict[Any, int] = {}
    result: list[int | None] = []
    for time, key in zip(times, keys, strict=True):
        if not is_time(time):
            result.append(None)
            continue
        if key not in last or distance(time, last[key]) > gap:
            number[key] = number.get(key, -1) + 1
        last[key] = time
        result.append(number[key])
    return result


def tables(kind: str) -> tuple[list[Any], list[Any], Any, Any]:
    """Times that ascend within each of several keys, keys, a gap, and the same gap as a number."""
    choose = random.Random(len(kind))
    steps = [choose.choice([0, 0, 1, 2, 3, 5, 9, 40]) for _ in range(200)]
    times: list[Any] = []
    at = 0
    for step in steps:
        at += step
        number = {"int": at, "float": at / 8}.get(kind)
        times.append(START + datetime.timedelta(minutes=at) if number is None else number)
        if choose.random() < 0.15:
            times[-1] = NAN if kind == "float" and choose.random() < 0.5 else None
    keys = [choose.choice(["a", "b", None]) for _ in times]
    gap: Any = {"int": 9, "float": 9 / 8}.get(kind, "9min")
    return times, keys, gap, {"int": 9, "float": 9 / 8}.get(kind, 540)


@pytest.mark.parametrize("kind", ["int", "float", "datetime"])
def test_sessions_are_those_of_brute_force(kind: str, tmp_path: Path) -> None:
    times, keys, gap, number = tables(kind)
    sf = SFrame({"t": times, "k": keys})
    assert list(sf.sessions("t", gap, by="k")) == sessions_of(times, keys, number)
    assert list(sf.sessions("t", gap)) == sessions_of(times, [0] * len(times), number)
    for segments in (1, 2, 7):
        stored = SFrame({"t": times, "k": keys})
        stored.materialize(segments=segments)
        stored.save(str(tmp_path / str(segments)))
        with config.using(work_memory=100_000):
            loaded = SFrame(str(tmp_path / str(segments)))
            loaded["s"] = loaded.sessions("t", gap, by="k")
            loaded.materialize(segments=segments)
            assert list(loaded["s"]) == sessions_of(times, keys, number)
            assert described(loaded, kind, gap) == described_by_hand(times, keys, number)


def described(sf: SFrame, kind: str, gap: Any = None) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in sf.describe_time("t", by="k", gap=gap)]


def described_by_hand(times: Sequence[Any], keys: Sequence[Any], gap: Any) -> list[tuple[Any, ...]]:
    """What each key's times are like."""
    result = []
    for key in sorted(set(keys), key=lambda key: (key is not None, key or "")):
        known = sorted(time for time, of in zip(times, keys, strict=True) if of == key and is_time(time))
        apart = [distance(later, earlier) for earlier, later in itertools.pairwise(known) if later > earlier]
        shortest = min(apart, default=None)
        longer = sum(one > (shortest if gap is None else gap) for one in apart)
        if known:
            result.append((key, len(known), known[0], known[-1], shortest, longer, max(apart, default=None)))
    return result


@pytest.mark.parametrize("kind", ["int", "float", "datetime"])
def test_descriptions_are_those_of_brute_force(kind: str) -> None:
    times, keys, _, _ = tables(kind)
    rows = list(zip(times, keys, strict=True))
    random.Random(1).shuffle(rows)
    sf = SFrame({"t": [time for time, _ in rows], "k": [key for _, key in rows]})
    assert described(sf, kind) == described_by_hand(times, keys, None)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["int", "float", "datetime"])
def test_spark_gives_the_same(kind: str, spark: Any) -> None:
    times, keys, gap, number = tables(kind)
    with config.using(small_rows=0):
        sf = SFrame({"t": times, "k": keys})
        assert list(sf.sessions("t", gap, by="k")) == sessions_of(times, keys, number)
        assert described(sf, kind, gap) == described_by_hand(times, keys, number)
    with config.using(check="result"):
        SFrame({"t": times, "k": keys}).sessions("t", gap, by="k").materialize()


def test_one_row_and_none() -> None:
    assert list(SFrame({"t": [3]}).sessions("t", gap=0)) == [0]
    assert [tuple(row.values()) for row in SFrame({"t": [3]}).describe_time("t")] == [(1, 3, 3, None, 0, None)]
    nothing = SFrame({"t": SArray([], int)})
    assert list(nothing.sessions("t", gap=1)) == []
    assert len(nothing.describe_time("t")) == 0
    assert list(SFrame({"t": SArray([None], float)}).sessions("t", gap=1)) == [None]


def test_far_apart() -> None:
    far = SFrame({"t": [-(2**63), 2**63 - 1]})
    assert list(far.sessions("t", gap=2**63 - 1)) == [0, 1]
    floats = SFrame({"t": [-math.inf, 0.0, 0.1 + 0.2, 1e308, math.inf, math.inf]})
    assert list(floats.sessions("t", gap=0.3)) == [0, 1, 2, 3, 4, 4]


def test_a_time_at_the_very_distance_belongs_to_the_session() -> None:
    assert list(SFrame({"t": [0, 10, 21]}).sessions("t", gap=10)) == [0, 0, 1]
    assert list(SFrame({"t": [0, 10, 21]}).sessions("t", gap=10.5)) == [0, 0, 1]
    assert list(SFrame({"t": [0, 1, 1]}).sessions("t", gap=0)) == [0, 1, 1]


def test_times_that_go_backwards_are_told() -> None:
    with pytest.raises(ExecutionError, match="sessions need times that do not go backwards, but 3 comes after 16: sort by time first"):
        list(SFrame({"t": [16, 3]}).sessions("t", gap=1))
    with pytest.raises(ExecutionError, match="but 2024-03-31T00:00:00"):
        list(SFrame({"t": [START + datetime.timedelta(days=1), None, START]}).sessions("t", gap="1d"))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda sf: sf.sessions("x", gap=1), KeyError, "no column is named 'x'"),
        (lambda sf: sf.sessions("k", gap=1), TypeError, "column 'k' of type str does not hold times"),
        (lambda sf: sf.sessions("t", gap="1d"), TypeError, "a key of type int takes a number"),
        (lambda sf: sf.sessions("t", gap=-1), ValueError, "gap: a distance must not be negative"),
        (lambda sf: sf.sessions("t", gap=2**70), ValueError, "does not fit 64 bits"),
        (lambda sf: sf.sessions("d", gap="1mo"), ValueError, "no fixed length"),
        (lambda sf: sf.sessions("d", gap=3), TypeError, "a key of type datetime takes"),
        (lambda sf: sf.describe_time("k"), TypeError, "does not hold times"),
        (lambda sf: sf.describe_time("t", by="count"), RuntimeError, "rename the key"),
        (lambda sf: sf.describe_time("t", gap=-2), ValueError, "must not be negative"),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(SFrame({"t": [1], "k": ["a"], "d": [START], "count": [3]}))


def test_no_sort_where_the_frame_is_in_order(tmp_path: Path) -> None:
    times, keys, gap, _ = tables("int")
    SFrame({"t": times, "k": keys}).dropna().sort(["k", "t"]).save(str(tmp_path / "sorted"))
    sf = SFrame(str(tmp_path / "sorted"))
    for program in (sf.sessions("t", gap, by="k"), sf.describe_time("t", by="k")["first"]):
        names = [node.operator.name for node in postorder([optimize(program._node)])]
        assert not [name for name in names if name == "sort"]
