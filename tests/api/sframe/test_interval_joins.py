"""``join_between``, ``join_overlapping`` and ``events`` as users see them."""

from __future__ import annotations

import datetime
import math
import random
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, load_sframe
from tests.examples import part
from tests.execution import executed

DAY = datetime.datetime(2024, 3, 1)
HOUR = datetime.timedelta(hours=1)
TRADES = SFrame({"t": [9, 3, None, 7, 3], "s": ["a", "a", "a", "b", None], "n": [0, 1, 2, 3, 4]})
HALTS = SFrame({"lo": [6, 2, 3, None], "hi": [9, 7, 3, 5], "s": ["a", "b", None, "a"], "n": [10, 11, 12, 13]})


def pairs(frame: SFrame, *names: str) -> list[tuple[Any, ...]]:
    """Rows of some columns."""
    return list(zip(*(list(frame[name]) for name in names or ("n", "n.1")), strict=True))


def test_several_matches_in_the_order_of_both_frames() -> None:
    found = TRADES.join_between(HALTS, "t", "lo", "hi")
    assert found.column_names() == [*TRADES.column_names(), "hi", "lo", "n.1", "s.1"]
    assert pairs(found) == [(0, 10), (1, 11), (1, 12), (3, 10), (3, 11), (4, 11), (4, 12)]
    assert pairs(TRADES.join_between(HALTS, "t", "lo", "hi", closed="left")) == [(1, 11), (3, 10), (4, 11)]
    assert pairs(TRADES.join_between(HALTS, "t", "lo", "hi", closed="right")) == [(0, 10), (1, 11), (3, 10), (3, 11), (4, 11)]
    assert pairs(TRADES.join_between(HALTS, "t", "lo", "hi", closed="neither")) == [(1, 11), (3, 10), (4, 11)]


def test_rows_without_a_match() -> None:
    both = [(0, 10), (1, 12), (3, 11), (4, 12)]
    apart = TRADES.join_between(HALTS, "t", "lo", "hi", by="s")
    assert apart.column_names() == [*TRADES.column_names(), "hi", "lo", "n.1"]
    # Missing keys are equal to each other, as in join.
    assert pairs(apart) == [(0, 10), (3, 11), (4, 12)] != both
    assert pairs(TRADES.join_between(HALTS, "t", "lo", "hi", by="s", how="left")) == [(0, 10), (1, None), (2, None), (3, 11), (4, 12)]
    right = TRADES.join_between(HALTS, "t", "lo", "hi", by="s", how="right")
    assert pairs(right, "n", "n.1", "s", "t") == [(0, 10, "a", 9), (3, 11, "b", 7), (4, 12, None, 3), (None, 13, "a", None)]
    outer = TRADES.join_between(HALTS, "t", "lo", "hi", by="s", how="outer")
    assert pairs(outer, "n", "n.1", "s") == [(0, 10, "a"), (1, None, "a"), (2, None, "a"), (3, 11, "b"), (4, 12, None), (None, 13, "a")]
    assert outer.column_names() == right.column_names() == apart.column_names()


def test_intervals_of_this_frame() -> None:
    found = HALTS.join_between(TRADES, on="t", start="lo", end="hi", suffix="_trade")
    assert pairs(found, "n", "n_trade") == [(10, 0), (10, 3), (11, 1), (11, 3), (11, 4), (12, 1), (12, 4)]
    assert pairs(HALTS.join_between(TRADES, on="t", start="lo", end="hi", closed="neither", how="left")) == [
        (10, 3), (11, 1), (11, 4), (12, None), (13, None)
    ]  # fmt: skip


def test_overlaps() -> None:
    found = HALTS.join_overlapping(HALTS, "lo", "hi")
    assert pairs(found) == [(10, 10), (10, 11), (11, 10), (11, 11), (11, 12), (12, 11), (12, 12)]
    # An interval that holds nothing overlaps none.
    assert pairs(HALTS.join_overlapping(HALTS, "lo", "hi", closed="left")) == [(10, 10), (10, 11), (11, 10), (11, 11)]
    touching = SFrame({"from": [9.0, 0.5], "to": [12.0, 2.0], "n": [1, 2]})
    names: dict[str, Any] = {"start": {"lo": "from"}, "end": {"hi": "to"}}
    assert pairs(HALTS.join_overlapping(touching, **names)) == [(10, 1), (11, 2)]
    assert pairs(HALTS.join_overlapping(touching, closed="neither", **names)) == []
    assert pairs(HALTS.join_overlapping(touching, how="outer", closed="right", **names)) == [
        (10, None), (11, None), (12, None), (13, None), (None, 1), (None, 2)
    ]  # fmt: skip


def test_times_and_offsets_from_utc() -> None:
    zone = datetime.timezone(HOUR)
    moments = SFrame({"t": [(DAY + hour * HOUR).replace(tzinfo=zone) for hour in (0, 2, 3)], "n": [0, 1, 2]})
    spans = SFrame({"lo": [DAY.replace(tzinfo=datetime.UTC)], "hi": [(DAY + HOUR).replace(tzinfo=datetime.UTC)]})
    assert list(moments.join_between(spans, "t", "lo", "hi")["n"]) == [1]
    with pytest.raises(TypeError, match="with and without a time zone"):
        SFrame({"t": [DAY]}).join_between(spans, "t", "lo", "hi")


def test_rows_around_events() -> None:
    news = SFrame({"t": [7, 3], "s": ["b", "a"], "text": ["up", "down"]})
    found = TRADES.events(around=news, on="t", before=4, after=2)
    assert found.column_names() == [*TRADES.column_names(), "s_event", "t_event", "text"]
    assert pairs(found, "n", "text", "t_event") == [(1, "up", 7), (4, "up", 7), (3, "up", 7), (0, "up", 7), (1, "down", 3), (4, "down", 3)]
    found = TRADES.events(around=news, on="t", before=4, by="s", closed="right", suffix="_news")
    assert found.column_names() == [*TRADES.column_names(), "t_news", "text"]
    assert pairs(found, "n", "s", "text") == [(3, "b", "up"), (1, "a", "down")]
    times = SFrame({"at": [DAY, DAY + HOUR, DAY + 5 * HOUR]})
    assert list(times.events(SFrame({"t": [DAY + HOUR]}), {"at": "t"}, before="1h", after="-30min")["at"]) == [DAY]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"on": "nope"}, KeyError, "nope"),
        ({"start": "nope"}, KeyError, "nope"),
        ({"on": 3}, TypeError, "on must be the name of a column"),
        ({"end": ["hi"]}, TypeError, "end must be the name of a column"),
        ({"on": "s"}, TypeError, "str key cannot be used here"),
        ({"how": "semi"}, ValueError, "how must be one of inner, left, right, outer"),
        ({"closed": "lefts"}, ValueError, "closed must be one of both, left, right, neither"),
        ({"by": 3}, TypeError, "by must be a column name"),
        ({"by": {"n": "s"}}, TypeError, "int and str cannot be compared"),
        ({"suffix": "", "by": "s"}, TypeError, "suffix must be a text"),
        ({"other": 3}, TypeError, "join_between"),
        ({"other": {"lo": ["a"], "hi": ["b"]}}, TypeError, "str key cannot be used here"),
        ({"other": {"lo": [DAY], "hi": [DAY]}}, TypeError, "cannot be compared"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        TRADES.join_between(**{"other": HALTS, "on": "t", "start": "lo", "end": "hi", **arguments})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: TRADES.join_between(HALTS.rename({"lo": "n_x"}), "t", "n_x", "hi", suffix="_x"), RuntimeError, "there is a column 'n_x' already"),
        (lambda: HALTS.join_overlapping(HALTS, ["lo", "hi"], "hi"), ValueError, "start and end must name one column"),
        (lambda: HALTS.join_overlapping(HALTS, "s", "hi"), TypeError, "str key cannot be used here"),
        (lambda: TRADES.events(TRADES, "t", before=1, after=-2), ValueError, "would end before it starts"),
        (lambda: TRADES.events(TRADES, "t", before="1h"), TypeError, "before"),
        (lambda: TRADES.events(TRADES, ["t", "n"]), ValueError, "on must name one key column"),
        (lambda: TRADES.events(TRADES, "t", closed="all"), ValueError, "closed must be"),
        (lambda: TRADES.events(TRADES, "s"), TypeError, "str key cannot be used here"),
    ],
)
def test_what_else_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_no_rows() -> None:
    for left, right in ((TRADES.head(0), HALTS), (TRADES, HALTS.head(0)), (TRADES.head(0), HALTS.head(0))):
        assert len(left.join_between(right, "t", "lo", "hi")) == 0
        assert len(left.join_between(right, "t", "lo", "hi", how="left")) == len(left)
        assert len(left.join_between(right, "t", "lo", "hi", how="right")) == len(right)
        assert len(left.join_between(right, "t", "lo", "hi", how="outer")) == len(left) + len(right)


def some_rows(chosen: random.Random, names: tuple[str, ...], kind: str) -> dict[str, list[Any]]:
    """Up to 30 random rows."""
    values: dict[str, list[Any]] = {
        "int": [None, *range(-3, 12)],
        "float": [None, math.nan, math.inf, -math.inf, *[half / 2 for half in range(-3, 20)]],
        "datetime": [None, *[DAY + hour * HOUR for hour in range(12)]],
    }
    rows = chosen.randint(0, 30)
    return {name: chosen.choices(values[kind], k=rows) for name in names} | {"g": chosen.choices("ab", k=rows), "n": list(range(rows))}


def test_beside_polars() -> None:
    """``join_where`` of Polars has the same pairs, in an order of its own; of NaN it says that it is larger than all."""
    polars = pytest.importorskip("polars")
    chosen = random.Random(53)
    for case in range(60):
        kind = chosen.choice(["int", "float", "datetime"])
        left, right = some_rows(chosen, ("t", "u"), kind), some_rows(chosen, ("lo", "hi"), kind)
        key = {"int": polars.Int64, "float": polars.Float64, "datetime": polars.Datetime("us")}[kind]
        first, second = (
            polars.DataFrame(rows, schema={**dict.fromkeys(names, key), "g": polars.String, "n": polars.Int64})
            for rows, names in ((left, ("t", "u")), (right, ("lo", "hi")))
        )
        if kind == "float":
            first, second = (frame.with_columns(polars.col(polars.Float64).fill_nan(None)) for frame in (first, second))
        col, by = polars.col, chosen.choice([None, "g"])
        same = [] if by is None else [col("g") == col("g_right")]
        between = first.join_where(second, col("t") >= col("lo"), col("t") < col("hi"), *same)
        found = SFrame(first).join_between(SFrame(second), "t", "lo", "hi", by=by, closed="left")
        assert pairs(found) == sorted(between.select("n", "n_right").rows()), case
        meeting = first.filter(col("t") <= col("u")).join_where(
            second.filter(col("lo") <= col("hi")), col("t") <= col("hi"), col("lo") <= col("u"), *same
        )
        found = SFrame(first).join_overlapping(SFrame(second), {"t": "lo"}, {"u": "hi"}, by=by)
        assert pairs(found) == sorted(meeting.select("n", "n_right").rows()), case


def test_frames_in_the_order_of_their_times_move_nothing(tmp_path: Path) -> None:
    SFrame({"t": list(range(0, 300, 3)), "n": list(range(100))}).save(str(tmp_path / "left"))
    SFrame({"lo": list(range(0, 300, 30)), "hi": list(range(10, 310, 30)), "m": list(range(10))}).save(str(tmp_path / "right"))
    left, right = load_sframe(str(tmp_path / "left")), load_sframe(str(tmp_path / "right"))
    for found in (left.join_between(right, "t", "lo", "hi"), right.join_between(left, "t", "lo", "hi"), left.events(right, {"t": "lo"}, 5, 5)):
        text = found.explain(why=True).partition("-- optimized plan")[2]
        assert "sort[" not in text
        assert "interval_join: no exchange" in text


@pytest.mark.spark
@pytest.mark.parametrize("how", part(["left", "outer", "right", "inner"], 2))
def test_the_spark_lowering_and_any_number_of_segments_agree(everything_on_spark: None, how: str) -> None:
    floats = SFrame({"t": [3.5, None, -1.0, math.nan, 8.0, 3.5, math.inf, 0.0, -0.0, 4.0], "g": ["a", "b", None, "a", "a"] * 2, "n": list(range(10))})
    spans = SFrame({"lo": [3, None, -1, 0, 8, 0], "hi": [4, 9, -1, 8, 2, 0], "g": ["a", "a", None, "b", "a", "a"], "m": list(range(6))})
    for by, closed in ((None, "both"), ("g", "left"), ("g", "neither")):
        joined = [floats.join_between(spans, "t", "lo", "hi", by, how, closed), spans.join_between(floats, "t", "lo", "hi", by, how, closed)]
        joined.append(spans.join_overlapping(spans, "lo", "hi", by, how, closed))
        for found in joined:
            expected = executed(found, naive=True)[0]
            for segments in (1, 7):
                assert repr(executed(found, segments=segments)[0]) == repr(expected)
