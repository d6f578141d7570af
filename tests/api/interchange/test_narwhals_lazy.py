"""Lazy frames for narwhals are queries of this package: they compute nothing before ``collect``, and give the rows that Polars' lazy frames give."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from tests.needs import has

if not has("narwhals>=2.29") or not has("polars>=1.20"):
    pytest.skip("needs narwhals and polars", allow_module_level=True)

import narwhals as nw
import polars as pl
import pyarrow as pa

ROWS: dict[str, list[Any]] = {
    "i": [0, 1, 2, 3, 4, 5, 6, 7],
    "k": ["x", "y", None, "x", "y", "x", None, "y"],
    "n": [3, None, 1, 4, 1, -5, 9, None],
    "x": [0.5, 2.5, None, -1.5, math.inf, 3.0, 8.25, -2.0],
    "w": ["Red fox", "blue", None, " cat ", "red", "Dog", "", "fox red"],
    "t": [datetime(2020, 1, 31, 5, 6, 7, 89), None, *(datetime(2021, 2, day, day, 59) for day in (1, 2, 3, 4, 5, 6))],
}
OTHER: dict[str, list[Any]] = {"k": ["x", None, "z", "x"], "n": [10, 20, 30, 40], "v": ["a", "b", "c", "d"]}
k, n, x, w, t = (nw.col(name) for name in "knxwt")
Operation = Callable[[Any, Any], Any]

OPERATIONS: dict[str, Operation] = {
    "select": lambda frame, other: frame.select("n", "k"),
    "arithmetic": lambda frame, other: frame.select(a=n + x, b=n - 1, c=2 * n, d=n / 2, e=n // 2, f=n % 3, g=-n, h=n**2, o=n**0, m=1 - n),
    "division by zero": lambda frame, other: frame.select(a=n // 0, b=n % 0, c=n / 0),
    "comparisons": lambda frame, other: frame.select(a=n > 1, b=n <= x, c=k == "x", d=k != "x", e=n == n.max(), f=x > n),
    "logic": lambda frame, other: frame.select(a=(n > 1) & (x > 1), b=(n > 1) | (x > 1), c=~(n > 1), d=(n > 1) ^ (x > 1)),
    "missing values": lambda frame, other: frame.select(
        a=n.is_null(), b=n.fill_null(0), c=k.fill_null("?"), d=(n > 1).fill_null(False), e=x.is_nan()
    ),
    "fill by order": lambda frame, other: frame.select("i", a=n.fill_null(strategy="forward", limit=1).over("k", order_by="i")),
    "choice": lambda frame, other: frame.select(a=nw.when(n > 1).then(n).otherwise(0), b=nw.when(n > 1).then(k), c=nw.when(n > 1).then(nw.lit(True))),
    "nested choice": lambda frame, other: frame.select(
        a=nw.when(n > 3).then(nw.lit("big")).when(n > 1).then(nw.lit("mid")).otherwise(nw.lit("small"))
    ),
    "coalesce": lambda frame, other: frame.select(a=nw.coalesce(n, "i"), b=nw.coalesce(k, nw.lit("?"))),
    "horizontal": lambda frame, other: frame.select(
        a=nw.sum_horizontal("n", "x"), b=nw.max_horizontal("n", "i"), c=nw.min_horizontal("n", "x"), d=nw.mean_horizontal("n", "i")
    ),
    "texts put together": lambda frame, other: frame.select(a=nw.concat_str(k, w, separator="-"), b=nw.concat_str(k, w, ignore_nulls=True)),
    "all of them": lambda frame, other: frame.select(
        a=nw.all_horizontal(n > 1, x > 1, ignore_nulls=False), b=nw.any_horizontal(n > 1, ignore_nulls=True)
    ),
    "between": lambda frame, other: frame.select(a=n.is_between(1, 4), b=n.is_in([1, 9]), c=k.is_in(["x"]), d=n.clip(0, 5), e=n.abs()),
    "rounding": lambda frame, other: frame.select(a=(x * 1.1).round(0), b=x.floor(), c=x.ceil(), d=x.sqrt(), e=x.exp(), f=x.is_finite()),
    "casts": lambda frame, other: frame.select(a=n.cast(nw.Float64), b=n.cast(nw.String), c=(n > 1).cast(nw.Int64), d=n.cast(nw.Boolean)),
    "replace": lambda frame, other: frame.select(a=k.replace_strict(["x", None], ["one", "none"], default=nw.lit("other"))),
    "texts": lambda frame, other: frame.select(
        a=w.str.to_uppercase(),
        b=w.str.len_chars(),
        c=w.str.contains("[rR]ed"),
        d=w.str.starts_with("red"),
        e=w.str.ends_with("d"),
        f=w.str.slice(1, 2),
    ),
    "more texts": lambda frame, other: frame.select(
        a=w.str.strip_chars(),
        b=w.str.replace_all("e", "E", literal=True),
        c=w.str.slice(-2),
        d=w.str.zfill(6),
        e=w.str.slice(-3, 3),
        f=w.str.slice(-3, 1),
    ),
    "the first match": lambda frame, other: frame.select(
        a=w.str.replace("^r?", "R"), b=w.str.replace("x?$", ""), c=w.str.replace("e", "E", literal=True), d=w.str.replace_all("[aeiou]", "-")
    ),
    "date-times": lambda frame, other: frame.select(
        a=t.dt.year(),
        b=t.dt.weekday(),
        c=t.dt.ordinal_day(),
        d=t.dt.microsecond(),
        e=t.dt.truncate("1h"),
        f=t.dt.offset_by("1mo"),
        g=t.dt.timestamp("us"),
    ),
    "filter": lambda frame, other: frame.filter(n > 1, k == "x"),
    "filter by an aggregate": lambda frame, other: frame.filter(n > n.mean()),
    "filter by groups": lambda frame, other: frame.filter(n == n.max().over("k")),
    "new columns": lambda frame, other: frame.with_columns(a=n + 1, n=n * 2),
    "aggregates": lambda frame, other: frame.select(
        a=n.sum(),
        b=n.mean(),
        c=n.max(),
        d=k.min(),
        e=n.count(),
        f=nw.len(),
        g=n.std(),
        h=n.var(ddof=0),
        m=k.n_unique(),
        o=n.median(),
        p=n.null_count(),
    ),
    "aggregates of nothing": lambda frame, other: frame.filter(n > 100).select(
        a=n.sum(), b=n.mean(), c=nw.len(), d=(n > 1).any(), e=(n > 1).all(), f=k.max(), g=n.var(ddof=0), h=n.count()
    ),
    "aggregates and values": lambda frame, other: frame.select(a=n.sum() + 1, b=n.max() - n.min(), c=(n * 2).sum() / nw.len(), d=nw.lit(7)),
    "aggregates beside rows": lambda frame, other: frame.select("i", a=n - n.mean(), b=n.sum(), c=nw.lit("c")),
    "quantiles": lambda frame, other: frame.select(a=n.quantile(0.3, "linear"), b=n.quantile(0.5, "lower")),
    "truth": lambda frame, other: frame.select(a=(n > 1).any(), b=(n > -9).all(), c=(n > 1).sum(), d=(n > 1).max(), e=(n > 1).mean()),
    "groups": lambda frame, other: frame.group_by("k").agg(a=n.sum(), b=nw.len(), c=n.max(), d=w.min(), e=x.mean(), f=n.n_unique(), g=(n > 1).any()),
    "groups without missing keys": lambda frame, other: frame.group_by("k", drop_null_keys=True).agg(n.sum()),
    "groups of aggregates": lambda frame, other: frame.group_by("k").agg(a=n.max() - n.min() + 1, b=(n * x).sum()),
    "groups of expressions": lambda frame, other: frame.group_by((n > 1).alias("big"), "k").agg(nw.all().max()).select("big", "k", "i", "n"),
    "first and last of groups": lambda frame, other: frame.group_by("k").agg(
        a=n.first(order_by="x"), b=n.last(order_by="i"), c=(n > 1).first(order_by="i")
    ),
    "over groups": lambda frame, other: frame.select("i", a=n.sum().over("k"), b=n.max().over("k"), c=nw.len().over("k"), d=n.var(ddof=0).over("k")),
    "over groups in order": lambda frame, other: frame.select(
        "i",
        a=n.cum_sum().over("k", order_by="x"),
        b=n.shift(1).over("k", order_by="x"),
        c=n.diff().over("k", order_by="x"),
        d=n.cum_count().over("k", order_by="x"),
        e=n.first().over("k", order_by="x"),
    ),
    "in order": lambda frame, other: frame.select("i", a=n.cum_max().over(order_by="x"), b=n.cum_sum(reverse=True).over(order_by="x")),
    "rolling": lambda frame, other: frame.select(
        "i",
        a=n.rolling_sum(3, min_samples=1).over(order_by="i"),
        b=n.rolling_mean(2).over("k", order_by="i"),
        c=x.rolling_var(3, min_samples=2).over(order_by="i"),
    ),
    "ranks": lambda frame, other: frame.select("i", a=n.rank(), b=n.rank("min", descending=True), c=n.rank("dense").over("k")),
    "distinct in order": lambda frame, other: frame.select(
        "i", a=n.is_first_distinct().over(order_by="i"), b=k.is_last_distinct().over(order_by="i"), c=n.is_unique()
    ),
    "sort": lambda frame, other: frame.sort("k", "n", descending=[True, False], nulls_last=True),
    "sort, missing ones first": lambda frame, other: frame.sort("k", "n", descending=[True, False]),
    "top": lambda frame, other: frame.top_k(3, by="n"),
    "head": lambda frame, other: frame.head(3),
    "rows with a number": lambda frame, other: frame.with_row_index("number", order_by="x"),
    "rename and drop": lambda frame, other: frame.rename({"n": "m"}).drop("x", "t"),
    "without missing values": lambda frame, other: frame.drop_nulls(),
    "without missing values in one": lambda frame, other: frame.drop_nulls("k"),
    "unique": lambda frame, other: frame.unique("k", keep="first", order_by="i"),
    "last of equal rows": lambda frame, other: frame.unique("k", keep="last", order_by="n"),
    "rows that are alone": lambda frame, other: frame.unique("n", keep="none"),
    "unpivot": lambda frame, other: frame.unpivot(["n", "x"], index=["i"]),
    "inner join": lambda frame, other: frame.join(other, on="k"),
    "left join": lambda frame, other: frame.join(other, on="k", how="left"),
    "full join": lambda frame, other: frame.join(other, on="k", how="full"),
    "semi join": lambda frame, other: frame.join(other, on="k", how="semi"),
    "anti join": lambda frame, other: frame.join(other, on="k", how="anti"),
    "cross join": lambda frame, other: frame.head(2).join(other, how="cross"),
    "join by other names": lambda frame, other: frame.join(other.rename({"k": "key"}), left_on="k", right_on="key", suffix="_2"),
    "asof join": lambda frame, other: frame.drop_nulls("n").sort("n").join_asof(other.sort("n").select("n", "v"), on="n", strategy="forward"),
    "concat": lambda frame, other: nw.concat([frame.select("k", "n"), other.select("k", "n")]),
    "concat of other columns": lambda frame, other: nw.concat([frame.select("k", "n"), other.select("k", "v")], how="diagonal"),
    "selectors": lambda frame, other: frame.select(nw.selectors.numeric() * 2, nw.selectors.string()),
    "correlation": lambda frame, other: frame.filter(x < 100).select(a=nw.corr("n", "x"), b=nw.cov("n", "x")),
}


def plain(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows in an order of their own, floats with nine digits."""
    rows = [tuple(float(f"{value:.9g}") if isinstance(value, float) else value for value in row) for row in frame.rows()]
    return sorted(rows, key=repr)


@pytest.mark.parametrize("name", OPERATIONS)
def test_rows_and_types_are_those_of_polars(name: str) -> None:
    operation = OPERATIONS[name]
    here = operation(*(nw.from_native(SFrame(pa.table(rows))).lazy() for rows in (ROWS, OTHER)))
    there = operation(*(nw.from_native(pl.LazyFrame(rows)) for rows in (ROWS, OTHER)))
    assert isinstance(here, nw.LazyFrame) and isinstance(here.to_native(), SFrame)
    collected, expected = here.collect(), there.collect()
    assert repr(plain(collected)) == repr(plain(expected))
    assert collected.columns == expected.columns
    # A column has 64 bits.
    wide = {column: nw.Int64() if dtype.is_integer() else dtype for column, dtype in expected.schema.items()}
    assert collected.schema == here.collect_schema() == wide


def test_nothing_is_computed_before_it_is_collected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    SFrame(pa.table(ROWS)).save(str(tmp_path / "rows"))
    SFrame(pa.table(OTHER)).save(str(tmp_path / "other"))
    frames = [nw.from_native(SFrame(str(tmp_path / name))).lazy() for name in ("rows", "other")]
    runs: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr("sframe_spark.planner.node.PlannerNode.splice", lambda node, *arguments, **options: runs.append("spliced"))
        patch.setattr(
            "sframe_spark.engine.execution.action_planning_and_function_call_claims.plan_action", lambda *arguments, **options: runs.append("ran")
        )
        made = {name: operation(*frames) for name, operation in OPERATIONS.items()}
        assert all(frame.collect_schema().names() == frame.columns for frame in made.values())
    assert runs == []
    assert made["groups"].collect().shape == (3, 8)


def test_the_plan_has_the_query(tmp_path: Path) -> None:
    """Laws see what a library asks: a column that is left out is not computed, and a filter by a value is known to the source."""
    SFrame(pa.table(ROWS)).save(str(tmp_path / "rows"))
    frame = nw.from_native(SFrame(str(tmp_path / "rows"))).lazy().with_columns(a=n * 2, b=x.sqrt()).filter(k == "x", n > 1).select("a")
    optimized = str(frame.to_native().explain()).split("-- optimized plan")[1]
    assert "sqrt" not in optimized and "filter" in optimized and "if_else" not in optimized


def test_collected_frames_of_other_libraries() -> None:
    frame = nw.from_native(SFrame(pa.table(ROWS))).lazy().select("i", big=n > 1)
    assert isinstance(frame.collect("pyarrow").to_native(), pa.Table)
    assert frame.collect("polars").to_native().schema["big"] == pl.Boolean
    assert isinstance(frame.lazy(), nw.LazyFrame)


def test_files_are_scanned_lazily(tmp_path: Path) -> None:
    SFrame(pa.table(ROWS)).write_parquet(str(tmp_path / "rows.parquet"))
    frame = nw.scan_parquet(str(tmp_path / "rows.parquet"), backend="sframe_spark")
    assert isinstance(frame, nw.LazyFrame)
    frame.filter(n > 1).sink_parquet(str(tmp_path / "some.parquet"))
    assert pl.read_parquet(tmp_path / "some.parquet")["n"].to_list() == [3, 4, 9]


REFUSED: dict[str, Callable[[Any], Any]] = {
    "types": lambda frame: frame.select(n.cast(nw.Categorical)),
    "floats as texts": lambda frame: frame.select(x.cast(nw.String)),
    "patterns that are columns": lambda frame: frame.select(w.str.contains(k)),
    "the first of many matches": lambda frame: frame.select(w.str.replace("[aeiou]", "-")),
    "lists": lambda frame: frame.select(nw.lit([1, 2])),
    "formats that are guessed": lambda frame: frame.select(w.str.to_datetime()),
    "rank correlations": lambda frame: frame.select(nw.corr("n", "x", method="spearman")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused(name: str) -> None:
    with pytest.raises((UnsupportedOperationError, InvalidArgumentError)):
        REFUSED[name](nw.from_native(SFrame(pa.table(ROWS))).lazy())


def test_names_that_are_not_there() -> None:
    frame = nw.from_native(SFrame(pa.table(ROWS))).lazy()
    for wrong in (lambda: frame.select("q"), lambda: frame.select(nw.col("q") + 1), lambda: frame.sort("q"), lambda: frame.join(frame, on="q")):
        with pytest.raises(nw.exceptions.ColumnNotFoundError):
            wrong()


@pytest.mark.spark
def test_rows_are_the_same_on_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_SMALL_ROWS", "0")
    SFrame(pa.table(ROWS)).save(str(tmp_path / "rows"))
    SFrame(pa.table(OTHER)).save(str(tmp_path / "other"))
    for name in ("choice", "texts", "filter by groups", "groups of aggregates", "over groups in order", "full join", "aggregates of nothing"):
        here = OPERATIONS[name](*(nw.from_native(SFrame(str(tmp_path / frame))).lazy() for frame in ("rows", "other")))
        there = OPERATIONS[name](*(nw.from_native(pl.LazyFrame(rows)) for rows in (ROWS, OTHER)))
        assert repr(plain(here.collect())) == repr(plain(there.collect())), name
