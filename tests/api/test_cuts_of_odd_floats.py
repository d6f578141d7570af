"""No digit of any operator shows how rows were cut, of numbers that cancel, are near the ends of floats, or are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.runtime import task_runners
from tests.api.test_cuts import of_column, rows_of
from tests.examples import examples

ODD = (0.0, -0.0, 5e-324, -5e-324, 2.5e-310, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**1023, 1e16, 1.0, -1e16, 0.1, 2.0**-53, 1e-30)
LARGE_AND_SMALL = (1e16, -1e16, 1e300, -1e300, 1.0, 0.1, 1e-16)
SPECIAL = (math.nan, math.inf, -math.inf, None)
# What a column holds: of each kind, as many numbers as are asked for.
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "usual": lambda random, rows: random.normal(size=rows),
    "far": lambda random, rows: 10.0 ** random.integers(3, 14) + random.normal(size=rows),
    "still": lambda random, rows: 1e8 * (1.0 + 2.0**-52 * random.integers(0, 3, rows)),
    "cancelling": lambda random, rows: random.choice(LARGE_AND_SMALL, rows) * (1.0 + 2.0**-52 * random.integers(0, 9, rows)),
    "huge": lambda random, rows: random.normal(size=rows) * 1e307,
    "tiny": lambda random, rows: random.normal(size=rows) * 10.0 ** random.integers(-308, -150),
    "subnormal": lambda random, rows: 5e-324 * random.integers(-9, 2**20, rows),
    "any": lambda random, rows: np.ldexp(random.normal(size=rows), random.integers(-1070, 1000, rows)),
    "any near": lambda random, rows: np.ldexp(random.normal(size=rows), random.integers(-60, 60, rows)),
    "odd": lambda random, rows: random.choice(ODD, rows),
    "steps": lambda random, rows: np.repeat(random.choice([0.1, 0.0, 1e9, 1e-170, 3.3], rows), 9)[:rows],
}
ROLLING = ("sum", "mean", "var", "stdv", "min", "max")
AGGREGATES = {"s": aggregate.SUM, "m": aggregate.MEAN, "v": aggregate.VAR, "d": aggregate.STD}
# Those of one column and two, and what weighs are the keys.
STATISTICS = {
    "first": aggregate.FIRST("x", skip_missing=True), "last": aggregate.LAST("y"), "latest": aggregate.LAST("x", by="y"),
    "known": aggregate.FIRST("y", by="x", skip_missing=True), "count": aggregate.COUNT("x"), "sample": aggregate.STD("x", ddof=1),
    "median": aggregate.MEDIAN("x"), "quantiles": aggregate.QUANTILE("y", [0.1, 0.7], interpolate="linear"), "product": aggregate.PRODUCT("x"),
    "geometric": aggregate.GEOMETRIC_MEAN("y"), "skewness": aggregate.SKEWNESS("x", bias=False), "kurtosis": aggregate.KURTOSIS("x"),
    "third": aggregate.MOMENT("y", 3), "fourth": aggregate.MOMENT("x", 4, central=True), "zscore": aggregate.ZSCORE("x"),
    "before": aggregate.ZSCORE("y", ddof=1, include_current=False), "covariance": aggregate.COVARIANCE("x", "y", ddof=1),
    "correlation": aggregate.CORRELATION("x", "y"), "dot": aggregate.DOT_PRODUCT("x", "y"), "weighted": aggregate.WEIGHTED_MEAN("x", "many"),
    "weighted covariance": aggregate.WEIGHTED_COVARIANCE("x", "y", "many", ddof=1),
    "weighted correlation": aggregate.WEIGHTED_CORRELATION("x", "y", "many"),
    "fit": aggregate.LINEAR_REGRESSION("y", ["x", "many"]), "weighted fit": aggregate.LINEAR_REGRESSION("x", "y", weights="many"),
}  # fmt: skip
OTHERS = {"l": aggregate.MIN, "h": aggregate.MAX, "o": aggregate.SELECT_ONE}


def operations(*more: str) -> dict[str, Any]:
    """Sums, means and spreads of both columns of numbers."""
    return {f"{name}_{column}": function(column) for column in ("x", "y") for name, function in {**AGGREGATES, **(OTHERS if more else {})}.items()}


def of_columns(sf: SFrame, names: tuple[str, ...]) -> list[list[str]]:
    """What methods without arguments give of both columns of numbers."""
    return [of_column(getattr(sf[column], name)()) for name in names for column in ("x", "y")]


def smoothed(sf: SFrame, **how: Any) -> list[list[str]]:
    """Both columns, smoothed."""
    return [of_column(sf.exponential_smoothing(column, **how)) for column in ("x", "y")]


PROGRAMS: dict[str, Callable[[SFrame], Any]] = {
    "reductions": lambda sf: [(c.sum(), c.mean(), c.var(), c.std(), c.std(ddof=1), c.min(), c.max()) for c in (sf["x"], sf["y"])],
    "summary": lambda sf: [(s.sum(), s.mean(), s.var(), s.std(), s.min(), s.max()) for s in (sf["x"].summary(), sf["y"].summary())],
    "median": lambda sf: [sf["x"].median(), sf["y"].median()],
    "groups": lambda sf: rows_of(sf.groupby("few", operations("others")).sort("few")),
    "many groups": lambda sf: rows_of(sf.groupby("many", operations()).sort("many")),
    "quantiles": lambda sf: rows_of(sf.groupby("few", {"q": aggregate.QUANTILE("x", 0.1, 0.5, 0.9)}).sort("few")),
    "neighbours": lambda sf: rows_of(sf.groupby_runs("day", operations())),
    "cycles": lambda sf: rows_of(sf.groupby_cycles("moment", "few", operations())),
    "intervals": lambda sf: rows_of(sf.groupby_intervals("moment", every=70.0, operations=operations())),
    "resampled": lambda sf: rows_of(sf.resample("id", every=37, operations=operations())),
    "resampled and filled": lambda sf: rows_of(sf.resample("moment", every=50.0, operations=operations(), fill="forward")),
    "sorted and grouped": lambda sf: rows_of(sf.sort("y").groupby("few", operations()).sort("few")),
    "joined and grouped": lambda sf: rows_of(
        sf.join(sf.groupby("few", {"g": aggregate.MEAN("x")}), "few").groupby("many", operations()).sort("many")
    ),
    "cumulative": lambda sf: of_columns(sf, tuple(f"cumulative_{kind}" for kind in ("sum", "mean", "var", "std", "min", "max"))),
    "vectors": lambda sf: [list(sf["v"].sum()), list(sf["v"].mean()), of_column(sf["v"].cumulative_sum()), of_column(sf["v"].rolling_mean(-3, 0))],
    "vectors of groups": lambda sf: rows_of(sf.groupby("few", {"s": aggregate.SUM("v"), "m": aggregate.MEAN("v")}).sort("few")),
    "running": lambda sf: rows_of(sf.running(operations())),
    "running by key": lambda sf: rows_of(sf.running(operations(), by="many")),
    "rolling": lambda sf: [of_column(getattr(sf[c], f"rolling_{kind}")(-8, 3, 1)) for c in ("x", "y") for kind in ROLLING],
    "windows": lambda sf: rows_of(sf.window("id", operations(), before=12, after=3)),
    "short windows": lambda sf: rows_of(sf.window("id", operations(), before=1)),
    "windows by key": lambda sf: rows_of(sf.window("moment", operations(), before=300.0, by="few")),
    "long windows": lambda sf: rows_of(sf.window("id", operations(), before=5000)),
    "smoothed": lambda sf: [smoothed(sf, half_life=half_life) for half_life in (0.3, 9, 4000)],
    "smoothed by key": lambda sf: [smoothed(sf, half_life=3.7, by="few"), smoothed(sf, half_life=40, by="many")],
    "smoothed by time": lambda sf: [smoothed(sf, half_life=half_life, on="moment") for half_life in (1e-3, 0.3, 20, 4000)],
    "smoothed by time of a key": lambda sf: [smoothed(sf, half_life=30, on="moment", by="few"), smoothed(sf, half_life=2, on="day", by="many")],
    "statistics of columns": lambda sf: [
        (c.quantile(0.3), c.product(), c.geometric_mean(), c.skewness(), c.kurtosis(), c.correlation(sf["many"]), c.covariance(sf["y"]))
        for c in (sf["x"], sf["y"])
    ],
    "statistics of groups": lambda sf: rows_of(sf.groupby("few", STATISTICS).sort("few")),
    "statistics of many groups": lambda sf: rows_of(sf.groupby("many", STATISTICS).sort("many")),
    "statistics of neighbours": lambda sf: rows_of(sf.groupby_runs("day", STATISTICS)),
    "statistics of intervals": lambda sf: rows_of(sf.groupby_intervals("moment", 70.0, STATISTICS)),
    "statistics so far": lambda sf: rows_of(sf.running(STATISTICS, by="few")),
    "statistics of windows": lambda sf: rows_of(sf.window("moment", STATISTICS, before=300.0, by="few")),
    "cumulative products": lambda sf: [of_column(sf["x"].cumulative_product()), of_column(sf.cumulative_product("y", by="few"))],
    "differences": lambda sf: [of_column(sf["x"] - sf["y"]), of_column(sf["x"].diff(1)), of_column(sf["x"] / sf["y"]), of_column(sf["x"] * sf["y"])],
}


def cuts_of(random: np.random.Generator, rows: int) -> list[dict[str, int]]:
    """Some settings that cut rows otherwise, after that with one segment and one batch."""
    few, small = int(random.integers(1, rows)), int(random.integers(1, 60))
    return [
        {"segment_rows": rows},
        {"segment_rows": max(few, rows // 9), "batch_rows": small},
        {"segment_rows": rows // 3 + 1, "batch_bytes": int(random.integers(200, 9000))},
        {"segment_rows": rows // 2 + 1, "memory_budget": int(random.integers(2000, 60_000))},
        {"segment_rows": rows // 4 + 1, "small_rows": 1, "default_segments": int(random.integers(1, 9))},
        {"segment_rows": rows // 5 + 1, "work_memory": int(random.integers(2000, 60_000)), "batch_rows": 100},
    ]


def numbers_of(random: np.random.Generator, kind: str, rows: int) -> list[float | None]:
    """A column of a kind, at some places of which there is no number, or none that is finite."""
    found: list[float | None] = KINDS[kind](random, rows).tolist()
    for place in random.integers(0, rows, int(random.choice([0, 0, 1, rows // 20]))).tolist():
        found[place] = SPECIAL[int(random.integers(0, 4))]
    return found


def columns_of(random: np.random.Generator, rows: int, kinds: tuple[str, str]) -> dict[str, Any]:
    """A frame of two columns of such numbers."""
    return {
        "id": list(range(rows)),
        "day": [row // 40 for row in range(rows)],
        "moment": np.cumsum(random.choice([0.0, 0.1, 2.5, 300.0], rows)).tolist(),
        "few": random.integers(0, 5, rows).tolist(),
        "many": random.integers(0, rows // 3 + 1, rows).tolist(),
        "x": numbers_of(random, kinds[0], rows),
        "y": numbers_of(random, kinds[1], rows),
        "v": KINDS[kinds[0]](random, 2 * rows).reshape(rows, 2),
    }


def differing(seed: int, kinds: tuple[str, str], base: Path, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Programs, and settings with which they give other digits than with one segment."""
    random = np.random.default_rng(seed)
    rows = int(random.choice([30, 90, 160]))
    columns, cuts = columns_of(random, rows, kinds), cuts_of(random, rows)
    for number, cut in enumerate(cuts):
        with config.using(segment_rows=cut["segment_rows"]):
            SFrame(columns).save(str(base / str(number)))
    found = []
    for name in names:
        expected = None
        for number, cut in enumerate(cuts):
            # With one segment and two of the other cuts, by turns.
            if number and (number + seed) % 5 > 1:
                continue
            threads = int(random.choice([1, 2, 8]))
            with config.using(**cut), mock.patch.object(task_runners, "local_threads", partial(int, threads)):
                given = repr(PROGRAMS[name](load_sframe(str(base / str(number)))))
            expected = expected or given
            if given != expected:
                found.append((name, kinds, seed, cut))
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS)
def test_no_digit_of_odd_floats_depends_on_cuts(kind: str, tmp_path: Path) -> None:
    """Of each kind, a part of the programs, beside another kind; ``SFRAME_SPARK_EXAMPLES`` tells how much more of both."""
    place = list(KINDS).index(kind)
    for number in range(examples(1)):
        names = tuple(PROGRAMS)[(place + number) % 9 :: 9]
        assert not differing(place + 11 * number, (kind, tuple(KINDS)[(place + 7 * number + 5) % 11]), tmp_path / str(number), names)
