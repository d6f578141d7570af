"""Neighbours, gaps, ranks, sessions and bars by key beside Polars: ``python -m benchmarks.by_key [--rows N] [--keys N] [--runs N] [--only NAME]``.

Rows are in the order of time, in memory. Both libraries compute and keep the new columns, by turns in one process; seconds are those of the
processors, best of the runs. Results are compared first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import attrs
import numpy as np
import polars as pl
import pyarrow as pa

from sframe_spark import SArray, SFrame, aggregate

SEED = 11


def table_of(rows: int, keys: int) -> pa.Table:
    """Return prices of some symbols, in the order of time; every tenth price of ``gaps`` is missing."""
    choose = np.random.default_rng(SEED)
    price = np.round(choose.normal(100.0, 5.0, rows), 2)
    moments = 1_600_000_000_000_000 + np.cumsum(choose.integers(0, 11, rows)) * 1_000_000
    return pa.table(
        {
            "time": np.cumsum(choose.integers(0, 3, rows)),
            "moment": pa.array(moments, pa.timestamp("us", "UTC")),
            "symbol": choose.integers(0, keys, rows),
            "price": price,
            "gaps": pa.array(price, mask=choose.random(rows) < 0.1),
        }
    )


@attrs.frozen
class Program:
    """The same columns in both libraries."""

    ours: Callable[[SFrame], SFrame | SArray]
    theirs: Callable[[pl.DataFrame], pl.DataFrame]


def over(*columns: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a program that selects columns within symbols."""
    return lambda df: df.select(*[column.over("symbol") for column in columns])


price = pl.col("price")
ZONE = "America/New_York"
BARS = {"open": aggregate.FIRST("price"), "high": aggregate.MAX("price"), "low": aggregate.MIN("price"), "close": aggregate.LAST("price")}


def bars(sf: SFrame) -> SFrame:
    """Return the prices of each month and symbol."""
    return sf.groupby_intervals("moment", "1mo", by="symbol", zone=ZONE, operations=BARS).sort(["moment", "symbol"])[list(BARS)]


def polars_bars(df: pl.DataFrame) -> pl.DataFrame:
    """Return the same, by a group-by of labels: Polars' ``group_by_dynamic`` takes 15 times as long."""
    months = df.with_columns(pl.col("moment").dt.convert_time_zone(ZONE).dt.truncate("1mo"))
    aggregates = (price.first().alias("open"), price.max().alias("high"), price.min().alias("low"), price.last().alias("close"))
    return months.group_by("moment", "symbol").agg(*aggregates).sort("moment", "symbol").select(*BARS)


PROGRAMS = {
    "ten lags": Program(
        lambda sf: sf.shift("price", list(range(1, 11)), by="symbol"), over(*[price.shift(n).alias(f"price_{n}") for n in range(1, 11)])
    ),
    "next value": Program(lambda sf: sf.shift("price", -1, by="symbol"), over(price.shift(-1))),
    "returns": Program(lambda sf: sf.pct_change("price", by="symbol"), over(price.pct_change())),
    "rolling mean of 20": Program(lambda sf: sf.rolling_mean("price", -19, 0, by="symbol"), over(price.rolling_mean(20))),
    "rolling maximum of 20": Program(lambda sf: sf.rolling_max("price", -19, 0, by="symbol"), over(price.rolling_max(20))),
    "sum so far": Program(lambda sf: sf.cumulative_sum("price", by="symbol"), over(price.cum_sum())),
    "last known value": Program(lambda sf: sf.fill_forward("gaps", by="symbol"), over(pl.col("gaps").forward_fill())),
    "rank within symbols": Program(lambda sf: sf.rank("price", by="symbol"), over(price.rank())),
    "rank within times": Program(lambda sf: sf.rank("price", by="time"), lambda df: df.select(price.rank().over("time"))),
    "sessions": Program(lambda sf: sf.sessions("time", 500, by="symbol"), over((pl.col("time").diff() > 500).cum_sum().fill_null(0))),
    "sessions of all rows": Program(
        lambda sf: sf.sessions("time", 1), lambda df: df.select((pl.col("time").diff() > 1).cast(pl.Int64).cum_sum().fill_null(0))
    ),
    "open, high, low, close by month": Program(bars, polars_bars),
    "smoothed mean": Program(lambda sf: sf.exponential_smoothing("price", span=20, by="symbol"), over(price.ewm_mean(span=20))),
    "interpolation by time": Program(lambda sf: sf.interpolate("gaps", on="time", by="symbol"), over(pl.col("gaps").interpolate_by("time"))),
}


def processor_seconds(run: Callable[[], object]) -> tuple[float, object]:
    """Return the processors' seconds of a call, and its result."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def require_equal(ours: SFrame | SArray, theirs: pl.DataFrame) -> None:
    """Raise an error if columns differ by more than rounding."""
    columns = [ours] if isinstance(ours, SArray) else [ours[name] for name in ours.column_names()]
    for column, series in zip(columns, theirs.get_columns(), strict=True):
        one, other = (np.asarray(values, dtype=float) for values in (column.to_numpy(), series.to_numpy()))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only")
    options = parser.parse_args()
    table = table_of(options.rows, options.keys)
    sf, df = SFrame(table), pl.DataFrame(table)
    ratios = []
    for name, program in PROGRAMS.items():
        if options.only and options.only not in name:
            continue
        require_equal(program.ours(sf.head(100_000)), program.theirs(df.head(100_000)))
        ours, theirs = [], []
        for _ in range(options.runs):
            ours.append(processor_seconds(lambda program=program: program.ours(SFrame(table)).materialize())[0])
            theirs.append(processor_seconds(lambda program=program: program.theirs(df))[0])
        ratios.append(min(ours) / min(theirs))
        print(f"{name:28} {min(ours):8.2f} {min(theirs):8.2f} {ratios[-1]:8.2f}", flush=True)
    print(f"{'mean of the ratios':28} {'':17} {sum(ratios) / len(ratios):8.2f}")


if __name__ == "__main__":
    main()
