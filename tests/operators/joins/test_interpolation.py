"""Interpolation against pairs of known rows written out, over ranges and batches of any size, and beside pandas and Polars."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.operators.joins.interpolation import interpolated
from sframe_spark.operators.lookup import cached_reader
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle import Oracle, point_between
from sframe_spark.testing.oracle_functions import rows_equal, token
from tests.examples import examples, square
from tests.operators.ranges import random_cuts, rows_of, run_in_ranges

START = datetime.datetime(2024, 1, 1)
HOUR = datetime.timedelta(hours=1)
Row = tuple[Any, Any, Any]


def random_rows(choose: random.Random) -> list[Row]:
    """Values of which many are missing, positions that do not go backwards, and keys."""
    values = choose.choice([[1.0, None], [1.0, -2.5, 8.0, 1e308, -1e308, None, None, math.nan], [3.5, math.inf, -math.inf, None]])
    steps, keys = choose.choice([[0, 1], [1, 3, 50], [0, 2**61]]), choose.choice([["a"], ["a", "b", None], list("abcdefgh")])
    now, rows = choose.choice([0, -(2**62)]), []
    for _ in range(choose.randrange(24)):
        now = min(now + choose.choice(steps), 2**63 - 1)
        rows.append((choose.choice(values), None if choose.random() < 0.1 else now, choose.choice(keys)))
    return rows


def expected(rows: Sequence[Row], by_key: bool, by_rows: bool) -> list[tuple[Any]]:
    result: list[tuple[Any]] = []
    for number, row in enumerate(rows):
        same = [(place, other) for place, other in enumerate(rows) if not by_key or token(other[2]) == token(row[2])]
        points = [(place, number_in_key if by_rows else other[1], other[0]) for number_in_key, (place, other) in enumerate(same)]
        here = next(at for place, at, _ in points if place == number)
        known = [point for point in points if point[1] is not None and point[2] is not None and point[2] == point[2]]
        before, after = [point for point in known if point[0] < number][-1:], [point for point in known if point[0] > number][:1]
        value = row[0]
        if (value is None or math.isnan(value)) and here is not None and before and after:
            value = point_between(before[0][1:], here, after[0][1:])
        result.append((value,))
    return result


def node_of(rows: Sequence[Row], by_key: bool, by_rows: bool) -> PlannerNode:
    columns = zip(*[*rows, (1.0, 1, "a")], strict=True)
    sf = SFrame(dict(zip(["a", "b", "c"], map(list, columns), strict=True)))[: len(rows)]
    return interpolated(compute(sf._node), 0, None if by_rows else 1, [2] if by_key else [])


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_points_between_known_values(by_key: bool, by_rows: bool) -> None:
    for seed in range(examples(60)):
        rows = random_rows(random.Random(seed))
        node = node_of(rows, by_key, by_rows)
        found, wanted = rows_of(compute(node).operator.read(0, len(rows)), node), expected(rows, by_key, by_rows)  # type: ignore[attr-defined]
        assert rows_equal(found, wanted), (seed, rows, found)
        assert rows_equal(Oracle().rows(node_of(rows, by_key, by_rows)), wanted), (seed, rows)


def test_no_digit_depends_on_ranges_batches_or_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known values are searched in blocks of one to many rows; keys whose neighbours are far away among them."""
    for seed in range(examples(30)):
        choose = random.Random(seed)
        count = choose.randrange(1, 200)
        rows = [(None if choose.random() < 0.6 else choose.gauss(0, 1), n // 3, choose.choice("abbbbbbbbb")) for n in range(count)]
        by_key, by_rows = choose.random() < 0.7, choose.random() < 0.3
        node = node_of(rows, by_key, by_rows)
        whole = repr(rows_of(compute(node_of(rows, by_key, by_rows)).operator.read(0, len(rows)), node))  # type: ignore[attr-defined]
        known = node.operator.make_planner_node(compute(node.inputs[0]), compute(node.inputs[1]))
        for _ in range(3):
            monkeypatch.setattr(cached_reader, "BLOCK_ROWS", choose.choice([1, 2, 7, 1000]))
            assert repr(run_in_ranges(known, random_cuts(choose, len(rows)), choose.choice([1, 7, 64]))) == whole, seed


def test_agrees_with_pandas_and_polars() -> None:
    choose = np.random.default_rng(7)
    rows = 500
    values = np.where(choose.random(rows) < 0.4, np.nan, choose.normal(size=rows))
    table = pd.DataFrame({"v": values, "t": np.cumsum(choose.integers(1, 9, rows)), "k": choose.integers(0, 5, rows)})
    sf = SFrame(table)
    others = pl.from_pandas(table).with_columns(pl.col("v").fill_nan(None))
    inside = {"limit_area": "inside"}
    pairs = [
        (sf["v"].interpolate(), table["v"].interpolate(**inside)),
        (sf.interpolate("v", by="k"), table.groupby("k")["v"].transform(lambda part: part.interpolate(**inside))),
        (sf.interpolate("v", on="t"), table.set_index("t")["v"].interpolate("index", **inside)),
        (sf.interpolate("v"), others.select(pl.col("v").interpolate())["v"].to_pandas()),
        (sf.interpolate("v", by="k"), others.select(pl.col("v").interpolate().over("k"))["v"].to_pandas()),
        (sf.interpolate("v", on="t", by="k"), others.select(pl.col("v").interpolate_by("t").over("k"))["v"].to_pandas()),
    ]
    for found, wanted in pairs:
        np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=1e-12)


def test_positions_of_other_types() -> None:
    for times in ([0.0, 1.0, 4.0], [START, START + HOUR, START + 4 * HOUR], [-(2**63), -(2**62), 2**63 - 1]):
        assert list(SFrame({"t": times, "v": [0, None, 8]}).interpolate("v", on="t")) == [0.0, 2.0, 8.0]


def test_date_times_with_offsets_count_by_instant() -> None:
    """The clocks of Berlin go from 2:00 to 3:00 on 31 March 2024: two hours lie between 1:00 and 4:00."""
    winter, summer = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (1, 2))
    times = [datetime.datetime(2024, 3, 31, hour, tzinfo=zone) for hour, zone in ((1, winter), (3, summer), (4, summer))]
    assert list(SFrame({"t": times, "v": [1.0, None, 4.0]}).interpolate("v", on="t")) == [1.0, 2.5, 4.0]


def test_ends_and_rows_without_a_position_stay() -> None:
    sf = SFrame({"t": [0.0, 1.0, None, math.nan, 3.0, 4.0], "v": [None, 1.0, None, math.nan, 3.0, math.nan]})
    assert rows_equal([(value,) for value in sf.interpolate("v", on="t")], [(value,) for value in sf["v"]])
    assert list(SArray([None, None], dtype=float).interpolate()) == [None, None]
    assert list(SArray([], dtype=int).interpolate()) == []


def test_a_value_without_a_position_is_no_neighbour() -> None:
    sf = SFrame({"t": [0, None, 1, 2], "v": [0.0, 100.0, None, 4.0]})
    assert list(sf.interpolate("v", on="t")) == [0.0, 100.0, 2.0, 4.0]


def test_equal_and_infinite_positions() -> None:
    sf = SFrame({"t": [5, 5, 5, 7], "v": [1.0, None, 3.0, 4.0]})
    assert list(sf.interpolate("v", on="t")) == [1.0, 1.0, 3.0, 4.0]
    far = SFrame({"t": [-math.inf, 0.0, 1.0, 2.0, math.inf], "v": [1.0, None, 3.0, None, 5.0]})
    assert list(far.interpolate("v", on="t")) == [1.0, 3.0, 3.0, 3.0, 5.0]


def test_lines_stay_within_floats() -> None:
    assert list(SArray([-1.7e308, None, 1.7e308]).interpolate()) == [-1.7e308, 0.0, 1.7e308]
    assert list(SFrame({"t": [-1.7e308, 0.0, 1.7e308], "v": [0, None, 2]}).interpolate("v", on="t")) == [0.0, 1.0, 2.0]
    assert list(SArray([0.1, None, None, 0.1]).interpolate()) == [0.1] * 4
    assert list(SArray([2**53 + 1, None, 2**53 + 1]).interpolate()) == [2.0**53] * 3


@pytest.mark.parametrize(("times", "words"), [([5, 3, 9], "beside row 1 3 comes after 5"), ([1, 5, 3], "beside row 1 3 comes after 5")])
def test_positions_that_go_backwards_are_refused(times: list[int], words: str) -> None:
    sf = SFrame({"t": times, "v": [1.0, None, 4.0]})
    with pytest.raises(RuntimeError, match=f"{words}: sort by position first"):
        list(sf.interpolate("v", on="t"))
    moments = SFrame({"t": [START + HOUR * time for time in times], "v": [1.0, None, 4.0]})
    with pytest.raises(RuntimeError, match="2024-01-01 03:00:00 comes after 2024-01-01 05:00:00"):
        list(moments.interpolate("v", on="t"))


def test_only_positions_of_one_key_must_ascend() -> None:
    sf = SFrame({"t": [5, 1, 6, 2, 7, 3], "v": [1.0, 2.0, None, None, 5.0, 6.0], "k": list("ababab")})
    assert list(sf.interpolate("v", on="t", by="k")) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_a_users_function_is_called_once_for_each_row() -> None:
    calls = []

    def noted(value: int) -> float | None:
        calls.append(value)
        return value if value % 2 else None

    assert list(SArray([1, 2, 3]).apply(noted, dtype=float).interpolate()) == [1.0, 2.0, 3.0]
    assert sorted(calls) == [1, 2, 3]


def test_wrong_arguments() -> None:
    sf = SFrame({"t": [START], "v": [1.0], "s": ["x"], "d": [{"a": 1}]})
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (KeyError, "no column is named 'w'", {"column": "w"}),
        (KeyError, "no column is named 'w'", {"column": "v", "on": "w"}),
        (TypeError, "interpolation takes numbers, not values of type str", {"column": "s"}),
        (TypeError, "interpolation: a str key cannot be used here", {"column": "v", "on": "s"}),
        (TypeError, "holds dicts", {"column": "v", "by": "d"}),
    ]
    for error, words, arguments in wrong:
        with pytest.raises(error, match=words):
            sf.interpolate(**arguments)
    with pytest.raises(TypeError, match="takes numbers"):
        SArray(["x"]).interpolate()


ROWS = [(float(i % 5) if i % 4 == 1 else None, None if i % 8 == 0 else i * i, "ab"[i % 2]) for i in range(60)]


@pytest.mark.spark
@pytest.mark.parametrize(("by_key", "by_rows"), square(2, [True, False], [False, True]))
def test_windows_of_spark_agree(by_key: bool, by_rows: bool, spark: Any) -> None:
    node = node_of(ROWS, by_key, by_rows)
    source = compute(node, MaterializeOptions(naive=True))
    found = rows_of(source.operator.read(0, len(ROWS)), node)  # type: ignore[attr-defined]
    assert rows_equal(found, expected(ROWS, by_key, by_rows))


@pytest.mark.spark
def test_tasks(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.engine.physical import site

    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    with config.using(small_rows=0):
        for by_rows in (False, True):
            node = node_of(ROWS, True, by_rows)
            source = compute(node, MaterializeOptions(segments=7, in_memory=0))
            found = rows_of(source.operator.read(0, len(ROWS)), node)  # type: ignore[attr-defined]
            assert rows_equal(found, expected(ROWS, True, by_rows))
        with pytest.raises(RuntimeError, match="beside row 30 0 comes after 29"):
            sf = SFrame({"t": [*range(30), 0, 50], "v": [1.0] * 30 + [None, 2.0]})
            compute(sf.interpolate("v", on="t")._node, MaterializeOptions(segments=7))
