"""Gaps filled with known values before and after: against rows written out, in any cut of the rows, beside pandas and Polars."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.operators.window.filling import filled
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal, token
from tests.examples import examples
from tests.operators.ranges import check_states_are_values, random_cuts, run_in_ranges

START = datetime.datetime(2024, 1, 1)
HOUR = datetime.timedelta(hours=1)
POOLS: dict[str, tuple[type, Sequence[Any]]] = {
    "float": (float, [1.5, None, None, math.nan, -0.0]),
    "int": (int, [None, None, 2**62, 3]),
    "str": (str, ["a", None, None, ""]),
    "list": (list, [[1], None, None, []]),
    "datetime": (datetime.datetime, [START, None, START.replace(tzinfo=datetime.UTC), None]),
}
KEYS = ["a", "b", None]


def random_frame(choose: random.Random, kind: str, rows: int) -> SFrame:
    """Values many of which are missing, keys, and times that do not go backwards; a few of them are missing."""
    value_class, pool = POOLS[kind]
    steps = [choose.choice([0, 1, 3]) for _ in range(rows)]
    times = [None if choose.random() < 0.1 else sum(steps[: place + 1]) for place in range(rows)]
    values = [choose.choice(pool) for _ in range(rows)]
    columns = {"v": SArray([*values, *pool], value_class), "t": SArray([*times, *range(len(pool))], int)}
    columns["k"] = SArray([*[choose.choice(KEYS) for _ in range(rows)], *["a"] * len(pool)], str)
    return SFrame(columns)[:rows]


def expected(frame: SFrame, by: bool, along: bool, limit: int | None, backward: bool) -> list[Any]:
    """The last known value before each that is missing, row by row."""
    rows = [(row["v"], row["t"], row["k"] if by else 0) for row in frame]
    rows = rows[::-1] if backward else rows
    result = []
    for place, (value, time, key) in enumerate(rows):
        same = [number for number in range(place) if token(rows[number][2]) == token(key)]
        known = [number for number in same if rows[number][0] is not None and not (along and rows[number][1] is None)]
        if value is None and known and not (along and time is None):
            away = abs(time - rows[known[-1]][1]) if along else len(same) - same.index(known[-1])
            value = rows[known[-1]][0] if limit is None or away <= limit else None
        result.append(value)
    return result[::-1] if backward else result


@pytest.mark.parametrize("kind", POOLS)
def test_known_values_before_and_after(kind: str) -> None:
    for seed in range(examples(25)):
        choose = random.Random(seed)
        frame = random_frame(choose, kind, choose.choice([0, 1, 2, 9, 25]))
        by, along, backward, limit = choose.random() < 0.7, choose.random() < 0.5, choose.random() < 0.5, choose.choice([None, 0, 1, 2, 5])
        member = frame.fill_backward if backward else frame.fill_forward
        found = list(member("v", on="t" if along else None, by="k" if by else None, limit=limit))
        wanted = expected(frame, by, along, limit, backward)
        assert rows_equal([(value,) for value in found], [(value,) for value in wanted]), (seed, found, wanted)


def test_columns_alone() -> None:
    column = SArray([None, 1, None, None, 4, None])
    assert list(column.fill_forward()) == [None, 1, 1, 1, 4, 4]
    assert list(column.fill_forward(1)) == [None, 1, 1, None, 4, 4]
    assert list(column.fill_forward(0)) == list(column)
    assert list(column.fill_backward()) == [1, 1, 4, 4, 4, None]
    assert list(column.fill_backward(limit=1)) == [1, 1, None, 4, 4, None]


def test_nan_is_a_value() -> None:
    """pandas takes NaN for missing, and fills it; Polars does not."""
    column = SArray([1.0, math.nan, None, 2.0])
    found = list(column.fill_forward())
    assert found[0] == 1.0 and math.isnan(found[1]) and math.isnan(found[2]) and found[3] == 2.0
    polars = pl.Series([1.0, math.nan, None, 2.0]).forward_fill().to_list()
    assert [value != value for value in polars] == [value != value for value in found]


def test_durations_of_date_times() -> None:
    times = [START, START + HOUR, START + 2 * HOUR, START + 9 * HOUR]
    sf = SFrame({"t": times, "v": [1, None, None, None]})
    assert list(sf.fill_forward("v", on="t", limit="2h")) == [1, 1, 1, None]
    assert list(sf.fill_forward("v", on="t", limit=HOUR)) == [1, 1, None, None]
    assert list(sf.fill_forward("v", on="t", limit=1)) == [1, 1, None, None]
    assert list(sf.fill_forward("v", on="t")) == [1, 1, 1, 1]
    gaps = SFrame({"t": times, "v": [1.0, None, None, 10.0]})
    assert list(gaps.interpolate("v", on="t", limit="1h")) == [1.0, 2.0, None, 10.0]
    assert list(gaps.interpolate("v", on="t", limit=1)) == [1.0, 2.0, None, 10.0]
    assert list(gaps.interpolate("v", on="t", method="nearest")) == [1.0, 1.0, 1.0, 10.0]


def test_hours_pass_over_a_change_of_daylight_saving() -> None:
    """In Berlin on 31 March 2024, 1:30 and 3:30 are an hour apart."""
    winter, summer = (datetime.timezone(hours * HOUR) for hours in (1, 2))
    times = [datetime.datetime(2024, 3, 31, 1, 30, tzinfo=winter), datetime.datetime(2024, 3, 31, 3, 30, tzinfo=summer)]
    sf = SFrame({"t": times, "v": [1, None]})
    assert list(sf.fill_forward("v", on="t", limit="1h")) == [1, 1]
    assert list(sf.fill_forward("v", on="t", limit="59min")) == [1, None]


def test_no_value_depends_on_ranges_or_batches() -> None:
    for seed in range(examples(25)):
        choose = random.Random(seed)
        frame = random_frame(choose, "int", choose.randrange(1, 60))
        source = compute(frame._node)
        along, keys, limit = choose.choice([None, 1]), choose.choice([[], [2]]), choose.choice([None, 3])
        node = filled(source, [0, 2], along if limit is not None else None, keys, limit, along is None and limit is not None, backward=False)
        for _ in range(3):
            assert rows_equal(run_in_ranges(node, random_cuts(choose, len(frame)), choose.choice([1, 2, 7, 64])), Oracle().rows(node)), seed
        for below in postorder([node]):
            if isinstance(below.operator, SequentialOperator):
                check_states_are_values(below.operator.make_planner_node(compute(below.inputs[0])), len(frame))


def test_agrees_with_pandas_and_polars() -> None:
    choose = np.random.default_rng(5)
    rows = 1_000
    values = np.where(choose.random(rows) < 0.5, np.nan, choose.normal(size=rows))
    table = pd.DataFrame({"v": values, "t": np.cumsum(choose.integers(1, 9, rows)), "k": choose.integers(0, 5, rows)})
    others = pl.from_pandas(table).with_columns(pl.col("v").fill_nan(None))
    sf, groups = SFrame(others), table.groupby("k")["v"]
    pairs = [
        (sf["v"].fill_forward(2), table["v"].ffill(limit=2)),
        (sf["v"].fill_backward(2), table["v"].bfill(limit=2)),
        (sf.fill_forward("v", by="k"), groups.ffill()),
        (sf.fill_forward("v", by="k", limit=1), groups.ffill(limit=1)),
        (sf.fill_backward("v", by="k", limit=2), groups.bfill(limit=2)),
        (sf.fill_forward("v", by="k"), others.select(pl.col("v").forward_fill().over("k"))["v"].to_pandas()),
        (sf.fill_backward("v", by="k", limit=1), others.select(pl.col("v").backward_fill(1).over("k"))["v"].to_pandas()),
        (sf["v"].interpolate(limit=2), table["v"].interpolate(limit=2, limit_area="inside")),
        (sf["v"].interpolate("nearest"), table["v"].interpolate("nearest")),
        (sf.interpolate("v", on="t", limit=None), table.set_index("t")["v"].interpolate("index", limit_area="inside")),
    ]
    for number, (found, wanted) in enumerate(pairs):
        np.testing.assert_allclose(found.to_numpy().astype(float), wanted.to_numpy().astype(float), rtol=1e-12, err_msg=str(number))


def test_filling_by_key_of_rows_in_order_of_time_exchanges_nothing() -> None:
    sf = SFrame({"t": list(range(200)), "k": [number % 7 for number in range(200)], "v": [None if number % 3 else 1.0 for number in range(200)]})
    calls: list[Callable[[], SArray]] = [
        lambda: sf.fill_forward("v", by="k"),
        lambda: sf.fill_backward("v", by="k", limit=2),
        lambda: sf.fill_forward("v", on="t", by="k", limit=9),
        lambda: sf.interpolate("v", on="t", by="k", limit=9),
    ]
    with config.using(small_rows=0):
        for call in calls:
            column = call()
            names = {node.operator_type for node in postorder([builtin_optimizer().optimize(column._node)])}
            assert not {"sort", "top_rows", "group_by", "join"} & names
            assert "shuffle" not in str(column.explain())


def test_times_that_go_backwards_are_refused() -> None:
    sf = SFrame({"t": [5, 1], "v": [1, None]})
    with pytest.raises(RuntimeError, match="do not go backwards"):
        list(sf.fill_forward("v", on="t", limit=9))
    turned = SFrame({"t": [5, 1], "v": [None, 1]})
    with pytest.raises(RuntimeError, match="do not go backwards"):
        list(turned.fill_backward("v", on="t", limit=9))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda sf: sf.fill_forward("nothing"), KeyError),
        (lambda sf: sf.fill_forward("v", on="k", limit=1), TypeError),
        (lambda sf: sf.fill_forward("v", limit="1h"), TypeError),
        (lambda sf: sf.fill_forward("v", limit=1.5), TypeError),
        (lambda sf: sf.fill_forward("v", limit=True), TypeError),
        (lambda sf: sf.fill_forward("v", limit=-1), ValueError),
        (lambda sf: sf.fill_forward("v", on="t", limit="-1h"), ValueError),
        (lambda sf: sf.fill_forward("v", on="t", limit="soon"), ValueError),
        (lambda sf: sf.fill_forward("v", on="t", limit=1.5), TypeError),
        (lambda sf: sf["v"].fill_backward(limit=-2), ValueError),
        (lambda sf: sf["v"].interpolate("cubic"), ValueError),
        (lambda sf: sf.interpolate("v", method="nearst"), ValueError),
        (lambda sf: sf.interpolate("v", on="t", limit=-1), ValueError),
    ],
)
def test_refused_before_work_begins(call: Callable[[SFrame], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(SFrame({"k": ["a"], "v": [1], "t": [START]}))


@pytest.mark.spark
def test_spark_gives_the_same_rows() -> None:
    frame = random_frame(random.Random(3), "float", 40)
    calls: list[Callable[[], SArray]] = [
        lambda: frame.fill_forward("v", on="t", by="k", limit=4),
        lambda: frame.fill_backward("v", by="k", limit=1),
        lambda: frame.interpolate("v", by="k", method="nearest", limit=2),
    ]
    for call in calls:
        here = list(call())
        with config.using(small_rows=0):
            assert rows_equal([(value,) for value in call()], [(value,) for value in here])
