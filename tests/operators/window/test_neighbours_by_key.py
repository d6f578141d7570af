"""Shifts, windows and statistics within keys: against members of each key alone, in any cut of the rows, beside pandas and Polars."""

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
from sframe_spark.operators.window.cumulative import KINDS as CUMULATIVE
from sframe_spark.operators.window.lagged import shifted_by_key
from sframe_spark.operators.window.rolling import KINDS as ROLLING
from sframe_spark.operators.window.rolling_by_key import rolling_by_key
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal, token
from tests.examples import examples
from tests.operators.ranges import check_states_are_values, random_cuts, run_in_ranges

START = datetime.datetime(2024, 1, 1)
WINTER, SUMMER = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (1, 2))
VALUES: dict[str, tuple[type, Sequence[Any]]] = {
    "float": (float, [0.5, -0.0, 0.0, math.nan, None, 2.25, -3.0, math.inf]),
    "int": (int, [3, None, -4, 0, 2**62, 7]),
    "str": (str, ["a", None, "", "é"]),
    "datetime": (datetime.datetime, [START, None, START + datetime.timedelta(days=1), START.replace(tzinfo=WINTER), START.replace(tzinfo=SUMMER)]),
    "list": (list, [[1, "a"], None, []]),
}
KEYS: dict[str, tuple[type, Sequence[Any]]] = {
    "str": (str, ["a", "b", None]),
    "float": (float, [0.0, -0.0, math.nan, None, 1.5]),
    "int": (int, [1, 2, None]),
    "one": (str, ["a"]),
}


def random_frame(choose: random.Random, kind: str, rows: int | None = None) -> SFrame:
    """Values of a type, and a key of some type."""
    count = choose.choice([0, 1, 2, 9, 30]) if rows is None else rows
    (value_class, values), (key_class, keys) = VALUES[kind], KEYS[choose.choice(list(KEYS))]
    columns = {
        name: SArray([choose.choice(pool) for _ in range(count)] + pool, cls)
        for name, cls, pool in (("k", key_class, list(keys) * 9), ("v", value_class, list(values) * 9))
    }
    length = min(map(len, columns.values()))
    return SFrame({name: column[:length] for name, column in columns.items()})[:count]


def key_by_key(frame: SFrame, member: Callable[[SArray], SArray]) -> list[Any]:
    """What a member of SArray gives for the rows of each key alone, in the places of the rows."""
    keys, result = [token(key) for key in frame["k"]], [None] * len(frame)
    for key in dict.fromkeys(keys):
        places = [place for place, other in enumerate(keys) if other == key]
        mask = SArray([int(other == key) for other in keys])
        for place, value in zip(places, member(frame[mask]["v"]), strict=True):
            result[place] = value
    return result


def same(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return rows_equal([(value,) for value in found], [(value,) for value in wanted])


@pytest.mark.parametrize("kind", VALUES)
def test_shifts_within_keys(kind: str) -> None:
    for seed in range(examples(12)):
        choose = random.Random(seed)
        frame = random_frame(choose, kind)
        lags = [choose.choice([-30, -3, -1, 0, 1, 2, 4, 30]) for _ in range(3)]
        lags = list(dict.fromkeys(lags))
        found = frame.shift("v", lags, by="k")
        for lag in lags:
            assert same(list(found[f"v_{lag}"]), key_by_key(frame, lambda column, lag=lag: column.shift(lag))), (seed, lag)


@pytest.mark.parametrize("kind", ROLLING)
def test_windows_within_keys(kind: str) -> None:
    """Windows that end before their row, at it, after it, and windows on both sides, whole or not."""
    for seed in range(examples(25)):
        choose = random.Random(seed)
        frame = random_frame(choose, choose.choice(["float", "int"]))
        first = choose.randint(-5, 3)
        window = [first, first + choose.choice([0, 1, 3, 6])]
        if kind != "count":
            window.append(choose.choice([None, 0, 1, 2, 99]))
        found = list(getattr(frame, f"rolling_{kind}")("v", *window, by="k"))
        wanted = key_by_key(frame, lambda column, window=window: getattr(column, f"rolling_{kind}")(*window))
        assert np.allclose(*[[math.nan if value is None else value for value in side] for side in (found, wanted)], equal_nan=True), (seed, window)
        assert [value is None for value in found] == [value is None for value in wanted], (seed, window)


@pytest.mark.parametrize("kind", CUMULATIVE)
def test_statistics_so_far_within_keys(kind: str) -> None:
    for seed in range(examples(12)):
        frame = random_frame(random.Random(seed), "float")
        found = list(getattr(frame, f"cumulative_{kind}")("v", by="k"))
        assert same(found, key_by_key(frame, lambda column: getattr(column, f"cumulative_{kind}")())), seed


def nodes(choose: random.Random, frame: SFrame) -> list[PlannerNode]:
    """Plans of one sequential operator over stored rows."""
    source = compute(frame._node)
    first = choose.randint(-4, 0)
    lags = [(1, choose.randint(1, 5), None) for _ in range(2)]
    return [shifted_by_key(source, lags, [0]), rolling_by_key(source, choose.choice(ROLLING), [1], [0], first, choose.randint(first, 0), 1)]


def test_no_value_depends_on_ranges_or_batches() -> None:
    for seed in range(examples(25)):
        choose = random.Random(seed)
        frame = random_frame(choose, choose.choice(["float", "int"]), choose.randrange(1, 60))
        for node in nodes(choose, frame):
            whole = repr(Oracle().rows(node))
            for _ in range(3):
                found = run_in_ranges(node, random_cuts(choose, len(frame)), choose.choice([1, 2, 7, 64]))
                assert rows_equal(found, Oracle().rows(node)) or "var" in node.operator.describe() or "std" in node.operator.describe(), (seed, whole)


def test_states_are_not_changed() -> None:
    choose = random.Random(5)
    frame = random_frame(choose, "int", 20)
    for node in nodes(choose, frame):
        for below in postorder([node]):
            if isinstance(below.operator, SequentialOperator):
                check_states_are_values(below.operator.make_planner_node(compute(below.inputs[0])), 20)


def test_agrees_with_pandas_and_polars() -> None:
    choose = np.random.default_rng(11)
    rows = 2_000
    table = pd.DataFrame({"k": choose.integers(0, 7, rows), "v": choose.normal(size=rows), "w": choose.integers(1, 99, rows)})
    sf, groups, others = SFrame(table), table.groupby("k"), pl.from_pandas(table)
    pairs: list[tuple[SArray, pd.Series[Any]]] = [
        (sf.shift("v", 3, by="k"), groups["v"].shift(3)),
        (sf.shift("v", -2, by="k"), others.select(pl.col("v").shift(-2).over("k"))["v"].to_pandas()),
        (sf.diff("v", 2, by="k"), groups["v"].diff(2)),
        (sf.diff("w", by="k"), others.select(pl.col("w").diff().over("k"))["w"].to_pandas()),
        (sf.pct_change("w", by="k"), groups["w"].pct_change(fill_method=None)),
        (sf.pct_change("w", 2, by="k"), others.select(pl.col("w").pct_change(2).over("k"))["w"].to_pandas()),
        (sf.rolling_mean("v", -4, 0, by="k"), groups["v"].rolling(5).mean().reset_index(level=0, drop=True).sort_index()),
        (sf.rolling_sum("v", -4, 0, 2, by="k"), others.select(pl.col("v").rolling_sum(5, min_samples=2).over("k"))["v"].to_pandas()),
        (sf.rolling_max("v", -2, 2, 1, by="k"), others.select(pl.col("v").rolling_max(5, min_samples=1, center=True).over("k"))["v"].to_pandas()),
        (sf.cumulative_sum("v", by="k"), groups["v"].cumsum()),
        (sf.cumulative_max("v", by="k"), others.select(pl.col("v").cum_max().over("k"))["v"].to_pandas()),
    ]
    for number, (found, wanted) in enumerate(pairs):
        np.testing.assert_allclose(found.to_numpy().astype(float), wanted.to_numpy().astype(float), rtol=1e-9, atol=1e-9, err_msg=str(number))


def test_several_columns_and_lags_at_once() -> None:
    sf = SFrame({"k": ["a", "b", "a"], "v": [1, 2, 3], "w": ["x", "y", "z"]})
    assert sf.shift(["v", "w"], [1, -1], by="k").column_names() == ["v_1", "v_-1", "w_1", "w_-1"]
    assert sf.rolling_sum(["v"], -1, 0, 1, by="k").column_names() == ["v"]
    moved = sf.shift(["w", "v"], by="k")
    assert (list(moved["w"]), list(moved["v"])) == ([None, None, "x"], [None, None, 1])
    added = sf.add_columns(sf.shift("v", range(1, 3), by="k"))
    assert list(added["v_1"]) == [None, None, 1] and added.column_names() == ["k", "v", "w", "v_1", "v_2"]
    assert list(sf.shift("w", by="k", fill="none")) == ["none", "none", "x"]


def test_ten_lags_take_one_pass_and_no_exchange() -> None:
    """Of rows in the order of time: nothing is sorted or shuffled, and one operator gives all lags."""
    sf = SFrame({"t": list(range(200)), "k": [number % 7 for number in range(200)], "v": [float(number) for number in range(200)]})
    with config.using(small_rows=0):
        for made, operator in ((sf.shift("v", list(range(1, 11)), by="k"), "lagged"), (sf.rolling_mean(["v", "t"], -3, 0, by="k"), "rolling_by_key")):
            names = [node.operator_type for node in postorder([builtin_optimizer().optimize(made._node)])]
            assert names.count(operator) == 1
            assert not {"sort", "top_rows", "group_by", "join"} & set(names)
            assert "shuffle" not in str(made.explain())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda sf: sf.shift("nothing", by="k"), KeyError),
        (lambda sf: sf.shift("v", 1.5, by="k"), TypeError),
        (lambda sf: sf.shift("v", [], by="k"), TypeError),
        (lambda sf: sf.shift("v", [1, 1], by="k"), RuntimeError),
        (lambda sf: sf.shift({"v": 1}, by="k"), TypeError),
        (lambda sf: sf.shift("v", by=5), TypeError),
        (lambda sf: sf.shift("v", by="k", fill="text"), TypeError),
        (lambda sf: sf.diff("k", by="k"), TypeError),
        (lambda sf: sf.pct_change("k", by="k"), TypeError),
        (lambda sf: sf.rolling_mean("k", -1, 0, by="k"), RuntimeError),
        (lambda sf: sf.rolling_mean("v", 0, -1, by="k"), RuntimeError),
        (lambda sf: sf.rolling_mean("v", "2d", 0, by="k"), TypeError),
        (lambda sf: sf.rolling_mean("v", -1, 0, -1, by="k"), ValueError),
        (lambda sf: sf.cumulative_sum("k", by="k"), RuntimeError),
    ],
)
def test_refused_before_work_begins(call: Callable[[SFrame], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(SFrame({"k": ["a", "b"], "v": [1, 2]}))


@pytest.mark.spark
def test_spark_gives_the_same_rows() -> None:
    choose = random.Random(3)
    frame = random_frame(choose, "float", 40)
    here = [list(frame.shift("v", [1, -2], by="k")["v_-2"]), list(frame.rolling_mean("v", -2, 1, 1, by="k"))]
    with config.using(small_rows=0):
        there = [list(frame.shift("v", [1, -2], by="k")["v_-2"]), list(frame.rolling_mean("v", -2, 1, 1, by="k"))]
    assert all(map(same, here, there))
