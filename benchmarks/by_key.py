"""Neighbours, gaps and ranks within keys beside Polars: ``python -m benchmarks.by_key [--rows N] [--keys N] [--runs N] [--only PROGRAM]``.

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

from sframe_spark import SArray, SFrame

SEED = 11


def table_of(rows: int, keys: int) -> pa.Table:
    """Return prices of some symbols, in the order of time; every tenth price of ``gaps`` is missing."""
    choose = np.random.default_rng(SEED)
    price = np.round(choose.normal(100.0, 5.0, rows), 2)
    return pa.table(
        {
            "time": np.cumsum(choose.integers(0, 3, rows)),
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
