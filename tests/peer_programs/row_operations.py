"""Operations that keep rows in place and look at their neighbours: shifts, gaps, ranks, bins, rolling and cumulative statistics, smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from sframe_spark import SFrame
from tests.peer_programs.differences import differs
from tests.peer_programs.operation import FOREVER, ROW, Draw, Operation, Parameters, beside, by_key, over, without_sign


class Shift(Operation):
    """``shift``, ``diff``."""

    def draw(self, d: Draw) -> Parameters:
        return {"to": d.result, "column": d.number(), "kind": d.one("shift", "diff"), "n": d.one(1, 1, 2, -1, -3, 70), "by": d.by()}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = getattr(sf, p["kind"])(p["column"], p["n"], by=p["by"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        return df.with_columns(over(getattr(pl.col(p["column"]), p["kind"])(p["n"]), p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], lambda values: getattr(values, p["kind"])(p["n"]))})


class Change(Operation):
    """``pct_change``."""

    def draw(self, d: Draw) -> Parameters:
        return {"to": d.result, "column": "x" if d.peer == "pandas" and "x" in d.numbers else d.number(), "n": d.one(1, 2, -1), "by": d.by()}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = sf.pct_change(p["column"], p["n"], by=p["by"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("pct_change in Polars fills")
        column = pl.col(p["column"])
        return df.with_columns((over(column / column.shift(p["n"]), p["by"]) - 1).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("NaN in pandas")
        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], lambda values: values.pct_change(p["n"], fill_method=None))})


class Fill(Operation):
    """``fill_forward``, ``fill_backward``."""

    def draw(self, d: Draw) -> Parameters:
        return {"to": d.result, "column": d.number(), "forward": d.one(True, False), "limit": d.one(None, 1, 2, 5), "by": d.by()}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = (sf.fill_forward if p["forward"] else sf.fill_backward)(p["column"], by=p["by"], limit=p["limit"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        column = pl.col(p["column"])
        return df.with_columns(over((column.forward_fill if p["forward"] else column.backward_fill)(p["limit"]), p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        name = "ffill" if p["forward"] else "bfill"
        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], lambda values: getattr(values, name)(limit=p["limit"]))})


class Interpolate(Operation):
    """``interpolate`` by row, or by time."""

    def draw(self, d: Draw) -> Parameters:
        timed = d.timed and d.one(True, False)
        limit = d.one(None, 1, 2) if d.peer == "pandas" and not timed else None
        return {"to": d.result, "column": d.number(), "on": "time" if timed else None, "by": d.by(), "limit": limit}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = sf.interpolate(p["column"], p["on"], by=p["by"], limit=p["limit"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("interpolation fills NaN")
        values = pl.col(p["column"]).cast(pl.Float64).fill_nan(None)
        differs("what cannot be interpolated stays")
        by = p["by"]
        if p["on"] is None:
            points = over(values.interpolate(), by)
        else:
            # Of values at one time the last known before and the first known after count, which Polars does not tell apart.
            differs("interpolation between values of one time")
            time = pl.col("time").cast(pl.Int64) if df["time"].dtype.is_temporal() else pl.col("time")
            known = values.is_not_null()
            before, after = over(values.forward_fill(), by), over(values.backward_fill(), by)
            at = pl.when(known).then(time)
            start, end = over(at.forward_fill(), by), over(at.backward_fill(), by)
            share = (time - start) / (end - start)
            between = before.is_not_null() & after.is_not_null()
            points = (
                pl.when(~between)
                .then(None)
                .when(time == start)
                .then(before)
                .when(time == end)
                .then(after)
                .otherwise(before + (after - before) * share)
            )
        filled = pl.coalesce(values, points)
        return df.with_columns(pl.coalesce(filled, pl.col(p["column"]).cast(pl.Float64)).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("what cannot be interpolated stays")

        def points(values: Any) -> Any:
            if p["on"] is None:
                return values.interpolate(limit=p["limit"], limit_area="inside")
            differs("interpolation between values of one time")
            times = df.loc[values.index, "time"]
            at = times.astype("int64") if times.dtype.kind == "M" or isinstance(times.dtype, pd.DatetimeTZDtype) else times
            start, end = at.where(values.notna()).ffill(), at.where(values.notna()).bfill()
            before, after = values.ffill(), values.bfill()
            with np.errstate(all="ignore"):
                found = before + (after - before) * ((at - start) / (end - start))
            found = found.where(at != end, after).where(at != start, before)
            return values.fillna(found.where(before.notna() & after.notna()))

        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], points)})


class Rank(Operation):
    """``rank`` by each method."""

    def draw(self, d: Draw) -> Parameters:
        parts = {"method": d.one("average", "min", "max", "dense", "first"), "ascending": d.one(True, False), "percent": d.one(False, False, True)}
        return {"to": d.result, "column": d.exact(), "by": d.by(), **parts}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = sf.rank(p["column"], by=p["by"], method=p["method"], ascending=p["ascending"], percent=p["percent"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        column = pl.col(p["column"])
        ranks = column.rank({"first": "ordinal"}.get(p["method"], p["method"]), descending=not p["ascending"])
        if p["percent"]:
            ranks = ranks / (ranks.max() if p["method"] == "dense" else column.count())
        return df.with_columns(over(ranks, p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        return df.assign(
            **{p["to"]: by_key(df, p["column"], p["by"], lambda v: v.rank(method=p["method"], ascending=p["ascending"], pct=p["percent"]))}
        )


class Bins(Operation):
    """``cut`` and ``qcut``."""

    def draw(self, d: Draw) -> Parameters:
        return {
            "to": d.result,
            "column": d.exact(),
            "q": d.one(None, None, 2, 4),
            "edges": d.one([-3, 0, 1, 2, 5], [0.25, 1.0, 7.0]),
            "right": d.one(True, False),
        }

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        column = sf[p["column"]]
        sf[p["to"]] = column.qcut(p["q"]) if p["q"] else column.cut(p["edges"], closed="right" if p["right"] else "left")
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        column = pl.col(p["column"]).cast(pl.Float64)
        if p["q"]:
            differs("NaN is above all numbers")
            # So large that they are above and below all others, but that points between them are numbers.
            inside = column.fill_nan(1e300).clip(-1e200, 1e300)
            column = pl.when(column.is_infinite()).then(column.sign() * 1e200).otherwise(inside)
            edges = [df.select(column.quantile(number / p["q"], "linear")).item() for number in range(p["q"] + 1)]
            if edges[0] is None:
                return df.with_columns(pl.lit(None, pl.Int64).alias(p["to"]))
            differs("equal values are in one bin")
            bins = pl.sum_horizontal([(column > edge).cast(pl.Int64) for edge in edges[1:-1]] or [pl.lit(0)])
            return df.with_columns(pl.when(column.is_not_null()).then(bins).alias(p["to"]))
        edges, column = p["edges"], column.fill_nan(None)
        labels = [str(number - 1) for number in range(len(edges) + 1)]
        bins = column.cut(edges, labels=labels, left_closed=not p["right"]).cast(pl.String).cast(pl.Int64)
        differs("what lies outside is in no bin")
        return df.with_columns(pl.when(bins.is_between(0, len(edges) - 2)).then(bins).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        column = df[p["column"]]
        if p["q"]:
            differs("equal values are in one bin")
            edges = [column.quantile(number / p["q"]) for number in range(1, p["q"])]
            bins = sum((column > edge).astype(float) for edge in edges)
            return df.assign(**{p["to"]: bins.where(column.notna())})
        return df.assign(**{p["to"]: pd.cut(column, p["edges"], right=p["right"], labels=False).astype(float)})


def extremes_so_far(part: Any, p: Parameters, rows: int, least: int) -> Any:
    """The extremes of so many rows up to each of a frame of Polars, with the rule of the original SFrame for NaN."""
    differs("extremes of rows")
    column = pl.col(p["column"]).cast(pl.Float64).drop_nulls()
    extreme = pl.when(column.first().is_nan()).then(float("nan")).otherwise(getattr(column.fill_nan(None), p["kind"])())
    found = pl.when(column.len() >= least).then(without_sign(extreme)).alias(p["to"])
    return part.select(pl.int_range(pl.len()).alias(ROW), p["column"]).rolling(ROW, period=f"{rows}i").agg(found).select(p["to"])


ROLLING = {"sum": "sum", "mean": "mean", "min": "min", "max": "max", "stdv": "std", "var": "var"}


class Rolling(Operation):
    """``rolling_*`` over rows, by key."""

    def draw(self, d: Draw) -> Parameters:
        rows = d.one(1, 2, 3, 5)
        last = d.one(0, 0, 0, 1, -1, 2)
        least = d.one(None, 1, rows) if last == 0 else None
        return {
            "to": d.result,
            "column": d.number(),
            "kind": d.choose.choice(list(ROLLING)),
            "rows": rows,
            "last": last,
            "least": least,
            "by": d.by(),
        }

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        first = p["last"] - p["rows"] + 1
        sf[p["to"]] = getattr(sf, f"rolling_{p['kind']}")(p["column"], first, p["last"], p["least"], by=p["by"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        spread = {"ddof": 0} if p["kind"] in ("stdv", "var") else {}
        column = pl.col(p["column"]).cast(pl.Float64)
        if p["kind"] in ("min", "max"):
            least = p["rows"] if p["least"] is None else p["least"]
            return beside(df, p["by"], lambda part: extremes_so_far(part, p, p["rows"], least).select(pl.col(p["to"]).shift(-p["last"])))
        rolled = getattr(column, f"rolling_{ROLLING[p['kind']]}")(p["rows"], min_samples=p["least"], **spread)
        return df.with_columns(over(rolled.shift(-p["last"]), p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        spread = {"ddof": 0} if p["kind"] in ("stdv", "var") else {}

        def rolled(values: Any) -> Any:
            return getattr(values.rolling(p["rows"], min_periods=p["least"]), ROLLING[p["kind"]])(**spread).shift(-p["last"])

        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], rolled)})


CUMULATIVE = {"sum": "sum", "max": "max", "min": "min", "product": "prod", "mean": "mean", "std": "std", "var": "var"}


class Cumulative(Operation):
    """``cumulative_*``, by key."""

    def draw(self, d: Draw) -> Parameters:
        return {"to": d.result, "column": d.number(), "kind": d.choose.choice(list(CUMULATIVE)), "by": d.by()}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = getattr(sf, f"cumulative_{p['kind']}")(p["column"], by=p["by"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("a missing value adds nothing")
        column = pl.col(p["column"])
        if p["kind"] in ("min", "max"):
            return beside(df, p["by"], lambda part: extremes_so_far(part, p, FOREVER, 1))
        if p["kind"] in ("mean", "std", "var"):
            column = column.cast(pl.Float64)
            function = {"mean": "rolling_mean"}.get(p["kind"], f"rolling_{p['kind']}")
            spread = {} if p["kind"] == "mean" else {"ddof": 0}
            found = getattr(column, function)(max(df.height, 1), min_samples=1, **spread)
        else:
            found = without_sign(getattr(column, f"cum_{CUMULATIVE[p['kind']]}")()).forward_fill()
        return df.with_columns(over(found, p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("a missing value adds nothing")

        def found(values: Any) -> Any:
            if p["kind"] in ("mean", "std", "var"):
                return getattr(values.expanding(), p["kind"])(**({} if p["kind"] == "mean" else {"ddof": 0})).ffill()
            return getattr(values, f"cum{CUMULATIVE[p['kind']]}")().ffill()

        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], found)})


class Smooth(Operation):
    """``exponential_smoothing`` by rows, or by time."""

    def draw(self, d: Draw) -> Parameters:
        timed = d.peer == "pandas" and d.timed and d.dated and d.one(True, False)
        weight = {"half_life": d.one("1h", "1d")} if timed else d.one({"half_life": 1.5}, {"span": 3}, {"com": 2.0}, {"alpha": 0.3}, {"alpha": 1.0})
        return {"to": d.result, "column": d.number(), "weight": weight, "on": "time" if timed else None, "by": d.by()}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = sf.exponential_smoothing(p["column"], p["on"], by=p["by"], **p["weight"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("a missing value weighs nothing")
        found = pl.col(p["column"]).cast(pl.Float64).ewm_mean(**p["weight"], ignore_nulls=False).forward_fill()
        return df.with_columns(over(found, p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        weight = {"halflife" if name == "half_life" else name: value for name, value in p["weight"].items()}

        def found(values: Any) -> Any:
            times = {} if p["on"] is None else {"times": df.loc[values.index, "time"]}
            return values.ewm(**weight, **times).mean()

        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], found)})


class Sessions(Operation):
    """``sessions``."""

    def draw(self, d: Draw) -> Parameters | None:
        return {"to": d.result, "gap": d.one(3600, 86_400) if d.dated else d.one(1, 2), "dated": d.dated, "by": d.by()} if d.timed else None

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = sf.sessions("time", f"{p['gap']}s" if p["dated"] else p["gap"], by=p["by"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        gap = pl.duration(seconds=p["gap"]) if p["dated"] else p["gap"]
        return df.with_columns(over((pl.col("time").diff() > gap).fill_null(False).cum_sum(), p["by"]).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        gap = pd.Timedelta(seconds=p["gap"]) if p["dated"] else p["gap"]
        if not len(df):
            return df.assign(**{p["to"]: []})
        long = (by_key(df, "time", p["by"], lambda values: values.diff()) > gap).astype(float)
        keyed = df.assign(long=long)
        return df.assign(**{p["to"]: by_key(keyed, "long", p["by"], lambda values: values.cumsum())})


class RollingRank(Operation):
    """``rolling_rank`` of each value in the window that ends with it."""

    def draw(self, d: Draw) -> Parameters:
        rows, method = d.one(1, 2, 4, 8), d.one("average", "min", "max")
        ascending, percent = (d.one(True, False), d.one(False, True)) if d.peer == "pandas" else (True, False)
        column, least = d.exact(), d.one(None, 1, rows)
        return {
            "to": d.result,
            "column": column,
            "rows": rows,
            "least": least,
            "method": method,
            "ascending": ascending,
            "percent": percent,
            "by": d.by(),
        }

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        options = {name: p[name] for name in ("by", "method", "ascending", "percent")}
        sf[p["to"]] = sf.rolling_rank(p["column"], 1 - p["rows"], p["least"], **options)
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        least = p["rows"] if p["least"] is None else p["least"]

        def of_part(part: Any) -> Any:
            column = pl.col(p["column"])
            known = column.drop_nulls().rank(p["method"]).last().cast(pl.Float64)
            found = pl.when((column.count() >= least) & column.last().is_not_null()).then(known).alias(p["to"])
            return part.select(pl.int_range(pl.len()).alias(ROW), p["column"]).rolling(ROW, period=f"{p['rows']}i").agg(found).select(p["to"])

        return beside(df, p["by"], of_part)

    def pandas(self, df: Any, p: Parameters) -> Any:
        def ranked(values: Any) -> Any:
            return values.rolling(p["rows"], min_periods=p["least"]).rank(method=p["method"], ascending=p["ascending"], pct=p["percent"])

        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], ranked)})


class FillWithin(Operation):
    """``fill_forward`` and ``fill_backward`` not further than a duration."""

    def draw(self, d: Draw) -> Parameters | None:
        limit = d.one(0, 3600, 90_000) if d.dated else d.one(0, 1, 3)
        return (
            {"to": d.result, "column": d.number(), "forward": d.one(True, False), "limit": limit, "dated": d.dated, "by": d.by()} if d.timed else None
        )

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        limit = f"{p['limit']}s" if p["dated"] else p["limit"]
        sf[p["to"]] = (sf.fill_forward if p["forward"] else sf.fill_backward)(p["column"], "time", by=p["by"], limit=limit)
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        column, time = pl.col(p["column"]), pl.col("time")
        limit = pl.duration(seconds=p["limit"]) if p["dated"] else p["limit"]
        fill = "forward_fill" if p["forward"] else "backward_fill"
        known, at = (over(getattr(values, fill)(), p["by"]) for values in (column, pl.when(column.is_not_null()).then(time)))
        distance = time - at if p["forward"] else at - time
        return df.with_columns(pl.coalesce(column, pl.when(distance <= limit).then(known)).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        limit = pd.Timedelta(seconds=p["limit"]) if p["dated"] else p["limit"]
        fill = "ffill" if p["forward"] else "bfill"

        def filled(values: Any) -> Any:
            time = df.loc[values.index, "time"]
            at = getattr(time.where(values.notna()), fill)()
            distance = time - at if p["forward"] else at - time
            return values.fillna(getattr(values, fill)().where(distance <= limit))

        return df.assign(**{p["to"]: by_key(df, p["column"], p["by"], filled)})


ROW_OPERATIONS: tuple[Operation, ...] = (
    Shift(),
    Change(),
    Fill(),
    Interpolate(),
    Rank(),
    Bins(),
    Rolling(),
    Cumulative(),
    Smooth(),
    Sessions(),
    RollingRank(),
    FillWithin(),
)
