"""Ranks and bins: beside pandas and Polars, in any cut of the rows, and what is refused."""

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
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.window.ranks_of_sorted_rows import METHODS, RanksOfSortedRows
from sframe_spark.operators.window.rolling_rank import rolling_rank
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal
from tests.examples import examples
from tests.operators.ranges import check_states_are_values, random_cuts, run_in_ranges


def floats(values: Sequence[Any]) -> list[float]:
    return [math.nan if value is None else float(value) for value in values]


@pytest.mark.parametrize("method", METHODS)
def test_ranks_agree_with_pandas_and_polars(method: str) -> None:
    for seed in range(examples(8)):
        choose = random.Random(seed)
        rows = choose.choice([1, 2, 9, 40])
        values = [choose.choice([None, 1.0, 2.0, 2.5, -1.0, math.inf]) for _ in range(rows)]
        keys = [choose.choice(["a", "b"]) for _ in range(rows)]
        sf = SFrame({"k": SArray(keys, str), "v": SArray(values, float)})
        theirs = pd.DataFrame({"k": keys, "v": floats(values)})
        for ascending in (True, False):
            for percent in (True, False):
                wanted = theirs.groupby("k")["v"].rank(method=method, ascending=ascending, pct=percent)  # type: ignore[call-overload]
                found = sf.rank("v", by="k", method=method, ascending=ascending, percent=percent)
                np.testing.assert_allclose(floats(found), wanted.to_numpy(), err_msg=str((seed, ascending, percent)))
                alone = theirs["v"].rank(method=method, ascending=ascending, pct=percent)  # type: ignore[call-overload]
                np.testing.assert_allclose(floats(sf["v"].rank(method, ascending, percent)), alone.to_numpy())
        name = "ordinal" if method == "first" else method
        polars = pl.DataFrame({"k": keys, "v": values}).select(pl.col("v").cast(pl.Float64).rank(name).over("k"))["v"]  # type: ignore[arg-type]
        assert floats(sf.rank("v", by="k", method=method)) == pytest.approx(floats(polars.to_list()), nan_ok=True)


def test_nan_is_above_all_numbers_and_missing_values_have_no_rank() -> None:
    """Polars ranks NaN so, too; pandas takes it for missing."""
    column = SArray([math.nan, 1.0, None, math.nan, math.inf])
    assert list(column.rank("min")) == [3, 1, None, 3, 2] == pl.Series([math.nan, 1.0, None, math.nan, math.inf]).rank("min").to_list()
    assert list(column.rank("min", ascending=False)) == [1, 4, None, 1, 3]
    assert list(SArray([0.0, -0.0]).rank()) == [1.5, 1.5]


def test_ranks_of_texts_and_date_times() -> None:
    assert list(SArray(["b", "a", None, "b"]).rank("dense")) == [2, 1, None, 2]
    noon = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    later = noon.astimezone(datetime.timezone(datetime.timedelta(hours=1)))
    assert list(SArray([noon, later, noon - datetime.timedelta(hours=1)]).rank("max")) == [3, 3, 1]
    sf = SFrame({"t": [noon, later, noon], "v": [1, 2, 3]})
    assert list(sf.rank("v", by="t", method="first", ascending=False)) == [3, 2, 1]


def test_no_rank_depends_on_ranges_or_batches() -> None:
    for seed in range(examples(30)):
        choose = random.Random(seed)
        rows = choose.randrange(1, 60)
        frame = SFrame(
            {
                "k": SArray([choose.choice([1, 2, None]) for _ in range(rows)], int),
                "v": SArray([choose.choice([None, 1.0, 2.0, math.nan]) for _ in range(rows)], float),
            }
        )
        keys = choose.choice([[], [0]])
        source = compute(sort_rows(frame._node, [(key, True) for key in (*keys, 1)]))
        node = RanksOfSortedRows(1, tuple(keys)).make_planner_node(source)
        wanted = Oracle().rows(node)
        for _ in range(3):
            assert rows_equal(run_in_ranges(node, random_cuts(choose, rows), choose.choice([1, 2, 7, 64])), wanted), seed
        check_states_are_values(node, rows)


def test_rolling_ranks_agree_with_pandas() -> None:
    for seed in range(examples(10)):
        choose = random.Random(seed)
        rows, width = choose.choice([1, 5, 60]), choose.choice([1, 2, 5, 200])
        values = [choose.choice([None, 1.0, 2.0, 2.5, -1.0]) for _ in range(rows)]
        keys = [choose.choice(["a", "b"]) for _ in range(rows)]
        sf, theirs = SFrame({"k": SArray(keys, str), "v": SArray(values, float)}), pd.DataFrame({"k": keys, "v": floats(values)})
        method, least = choose.choice(["average", "min", "max"]), choose.choice([None, 1, 2])
        least = None if least is None else min(least, width)
        for ascending in (True, False):
            for percent in (True, False):
                options: dict[str, Any] = {"method": method, "ascending": ascending, "pct": percent}
                wanted = theirs["v"].rolling(width, min_periods=least).rank(**options)
                found = sf["v"].rolling_rank(1 - width, least, method, ascending, percent)
                np.testing.assert_allclose(floats(found), wanted.to_numpy(), err_msg=str(seed))
                by_key = theirs.groupby("k")["v"].rolling(width, min_periods=least).rank(**options).reset_index(level=0, drop=True).sort_index()
                found = sf.rolling_rank("v", 1 - width, least, by="k", method=method, ascending=ascending, percent=percent)
                np.testing.assert_allclose(floats(found), by_key.to_numpy(), err_msg=str(seed))


def test_no_rolling_rank_depends_on_ranges_or_batches() -> None:
    for seed in range(examples(20)):
        choose = random.Random(seed)
        rows = choose.randrange(1, 60)
        pool = [None, 1.0, 2.0, math.nan, -0.0, 0.0, math.inf]
        frame = SFrame({"k": SArray([choose.choice("ab") for _ in range(rows)], str), "v": SArray([choose.choice(pool) for _ in range(rows)], float)})
        keys, least = choose.choice([[], [0]]), choose.choice([None, 1])
        node = rolling_rank(compute(frame._node), [1], keys, choose.randrange(6), least, "average", choose.random() < 0.5, False)
        wanted = Oracle().rows(node)
        for _ in range(3):
            assert rows_equal(run_in_ranges(node, random_cuts(choose, rows), choose.choice([1, 2, 7, 64])), wanted), seed


def test_quantile_bins_are_those_of_pandas() -> None:
    """Of numbers of rows for which no quantile is a value: there pandas rounds the share, and may put the value into the next bin."""
    choose = np.random.default_rng(3)
    table = pd.DataFrame({"k": choose.permutation(np.repeat([0, 1, 2], 98)), "v": choose.permutation(3 * 98) / 8})
    sf = SFrame(table)
    for count in (1, 2, 3, 10):
        assert list(sf["v"].qcut(count)) == pd.qcut(table["v"], count, labels=False).tolist()
        assert list(sf.qcut("v", count, by="k")) == table.groupby("k")["v"].transform(lambda part, q=count: pd.qcut(part, q, labels=False)).tolist()
    assert list(SArray([1, 1, 1, 2, None]).qcut(4)) == [0, 0, 0, 3, None]
    assert list(SArray([7]).qcut(3)) == [0]


def test_bins_between_edges_are_those_of_pandas() -> None:
    values = [-1.0, 0.0, 1.0, 4.0, 5.0, 9.0, math.nan, None]
    edges = [0, 4, 9]
    for closed in ("right", "left"):
        wanted = pd.cut(pd.Series(floats(values)), edges, right=closed == "right", labels=False)
        assert floats(SArray(values).cut(edges, closed=closed)) == pytest.approx(wanted.tolist(), nan_ok=True)
    assert list(SArray([1, 5, 20]).cut(edges, ["low", "high"])) == ["low", "high", None]
    # Ints are compared exactly.
    assert list(SArray([2**53 + 1]).cut([2**53, 2**53 + 1, 2**53 + 2])) == [0]
    assert list(SArray([], int).cut(edges)) == []


def test_rows_in_the_order_of_the_key_are_not_shuffled_to_be_ranked() -> None:
    sf = SFrame({"t": [number // 5 for number in range(200)], "v": [float(number * 7 % 31) for number in range(200)]})
    with config.using(small_rows=0):
        names = [node.operator_type for node in postorder([builtin_optimizer().optimize(sf.rank("v", by="t", method="min")._node)])]
    assert "suffix_sort" in names


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda sf: sf.rank("nothing"), KeyError),
        (lambda sf: sf.rank("l", by="k"), TypeError),
        (lambda sf: sf.rank("v", by="l"), TypeError),
        (lambda sf: sf.rank("v", method="ordinal"), ValueError),
        (lambda sf: sf["v"].rank("averge"), ValueError),
        (lambda sf: sf.qcut("v", 0), ValueError),
        (lambda sf: sf.rolling_rank("k", -1), TypeError),
        (lambda sf: sf.rolling_rank("v", 1), ValueError),
        (lambda sf: sf.rolling_rank("v", "2d"), TypeError),
        (lambda sf: sf.rolling_rank("v", -1, -1), ValueError),
        (lambda sf: sf["v"].rolling_rank(-1, method="dense"), ValueError),
        (lambda sf: sf.qcut("v", 2.5), TypeError),
        (lambda sf: sf["l"].qcut(2), TypeError),
        (lambda sf: sf["k"].cut([0, 1]), TypeError),
        (lambda sf: sf["v"].cut([1, 0]), ValueError),
        (lambda sf: sf["v"].cut([1]), ValueError),
        (lambda sf: sf["v"].cut([0, math.nan]), ValueError),
        (lambda sf: sf["v"].cut(["a", "b"]), TypeError),
        (lambda sf: sf["v"].cut(3), TypeError),
        (lambda sf: sf["v"].cut([0, 1], ["a", "b"]), ValueError),
        (lambda sf: sf["v"].cut([0, 1], "a"), TypeError),
        (lambda sf: sf["v"].cut([0, 1], closed="both"), ValueError),
    ],
)
def test_refused_before_work_begins(call: Callable[[SFrame], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(SFrame({"k": ["a"], "v": [1], "l": [[1]]}))


@pytest.mark.spark
def test_spark_gives_the_same_rows() -> None:
    choose = random.Random(4)
    frame = SFrame({"k": [choose.choice("ab") for _ in range(50)], "v": [choose.choice([None, 1.5, 2.0, 3.0]) for _ in range(50)]})
    calls: list[Callable[[], SArray]] = [lambda: frame.rank("v", by="k"), lambda: frame.qcut("v", 3, by="k"), lambda: frame["v"].cut([0, 2, 9])]
    for call in calls:
        here = list(call())
        with config.using(small_rows=0):
            assert list(call()) == here
