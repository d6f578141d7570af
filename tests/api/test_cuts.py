"""What floats add up to does not show how rows were cut: budgets, batches, segments and the order of groups leave every digit as it is."""

from __future__ import annotations

import array
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe
from sframe_spark.engine.physical import site
from sframe_spark.operators.groupby import groupby
from tests.examples import part

ROWS = 400
# Of these each other order of adding gives other last digits; some are far from zero, some beyond the squares of floats.
RANDOM = np.random.default_rng(41)
COLUMNS: dict[str, Any] = {
    "id": list(range(ROWS)),
    "day": [row // 20 for row in range(ROWS)],
    # Often many half-lives go by, and sometimes none.
    "moment": np.cumsum(RANDOM.choice([0.0, 0.1, 2.5, 300.0], ROWS)).tolist(),
    "few": RANDOM.integers(0, 7, ROWS).tolist(),
    "many": RANDOM.integers(0, 160, ROWS).tolist(),
    "f": RANDOM.normal(size=ROWS).tolist(),
    "far": (1e9 + RANDOM.normal(size=ROWS)).tolist(),
    "large": (RANDOM.normal(size=ROWS) * 1e305).tolist(),
    "some": [value if value > -0.5 else None for value in RANDOM.normal(size=ROWS).tolist()],
    # In some batches only there are numbers that two ints have no room for beside the others.
    "odd": [{130: 1e-200, 265: 1e300, 320: math.inf}.get(row, value) for row, value in enumerate(RANDOM.normal(size=ROWS).tolist())],
    "ints": RANDOM.integers(-(2**60), 2**60, ROWS).tolist(),
    "v": [array.array("d", pair) for pair in RANDOM.normal(size=(ROWS, 2)).tolist()],
}
NUMBERS = ("f", "far", "large", "some", "ints")
OPERATIONS = {
    f"{name}_{column}": function(column)
    for column in NUMBERS
    for name, function in (("sum", aggregate.SUM), ("mean", aggregate.MEAN), ("var", aggregate.VAR), ("std", aggregate.STD))
}
# Each batch advances each of them.
SOME = {name: operation for name, operation in OPERATIONS.items() if name.endswith(("_f", "_some"))}
VECTORS = {"vs": aggregate.SUM("v"), "vm": aggregate.MEAN("v")}
CUTS = (
    {"segment_rows": ROWS},
    {"segment_rows": 67, "batch_rows": 50},
    {"segment_rows": 160, "batch_rows": 23},
    {"segment_rows": 67, "batch_bytes": 3000},
    {"segment_rows": 215, "memory_budget": 25_000},
    {"segment_rows": 135, "small_rows": 1},
)


def rows_of(frame: SFrame) -> list[str]:
    """Each row of a frame, as a text that shows every digit."""
    return [repr(row) for row in frame]


def of_column(column: SArray) -> list[str]:
    """The same of a column."""
    return [repr(value) for value in column]


# Of some a batch is many, of some it is less than one.
HALF_LIVES = (0.3, 20, 4000)


def smoothed(frame: SFrame, *arguments: dict[str, Any]) -> list[list[str]]:
    """Some columns of numbers, smoothed in some ways."""
    return [of_column(frame.exponential_smoothing(name, **how)) for name in ("f", "large", "some", "odd") for how in arguments]


PROGRAMS: dict[str, Callable[[SFrame], Any]] = {
    "reductions": lambda sf: [(sf[n].sum(), sf[n].mean(), sf[n].var(), sf[n].std(ddof=1)) for n in NUMBERS],
    "vectors": lambda sf: [list(sf["v"].sum()), list(sf["v"].mean())],
    "few groups": lambda sf: rows_of(sf.groupby("few", {**OPERATIONS, **VECTORS}).sort("few")),
    "many groups": lambda sf: rows_of(sf.groupby("many", OPERATIONS).sort("many")),
    "neighbours": lambda sf: rows_of(sf.sort("day").groupby("day", OPERATIONS).sort("day")),
    "filtered": lambda sf: rows_of(sf[sf["few"] > 2].groupby("few", OPERATIONS).sort("few")),
    "in another order": lambda sf: rows_of(sf.sort("f").groupby("few", OPERATIONS).sort("few")),
    "joined": lambda sf: rows_of(sf.join(sf.groupby("few", {"m": aggregate.MEAN("f")}), "few").groupby("many", OPERATIONS).sort("many")),
    "cumulative": lambda sf: [
        of_column(getattr(sf[n], f"cumulative_{kind}")()) for n in ("f", "large", "some") for kind in ("sum", "mean", "var", "std")
    ],
    "cumulative vectors": lambda sf: [of_column(sf["v"].cumulative_sum()), of_column(sf["v"].cumulative_mean())],
    "running": lambda sf: rows_of(sf.running(SOME)),
    "running by key": lambda sf: rows_of(sf.running(SOME, by="few")),
    "running by many": lambda sf: rows_of(sf.running(SOME, by="many")),
    "rolling": lambda sf: [of_column(getattr(sf[n], f"rolling_{kind}")(-9, 0)) for n in NUMBERS for kind in ("sum", "mean", "var", "stdv")],
    "windows": lambda sf: rows_of(sf.window("id", SOME, before=30)),
    "windows beside odd rows": lambda sf: rows_of(sf.window("id", {"s": aggregate.SUM("odd"), "m": aggregate.MEAN("odd")}, before=30)),
    "resampled": lambda sf: rows_of(sf.resample("id", every=50, operations=SOME)),
    "smoothed by rows": lambda sf: smoothed(sf, *({"half_life": half_life} for half_life in HALF_LIVES)),
    "smoothed by rows of a key": lambda sf: smoothed(sf, {"half_life": 3.7, "by": "few"}, {"half_life": 40, "by": "many"}),
    "smoothed by time": lambda sf: smoothed(
        sf, *({"half_life": half_life, "on": "moment"} for half_life in HALF_LIVES), {"half_life": 1.5, "on": "day"}
    ),
    "smoothed by time of a key": lambda sf: smoothed(sf, {"half_life": 30, "on": "moment", "by": "few"}, {"half_life": 2, "on": "day", "by": "many"}),
    "smoothed filtered": lambda sf: smoothed(sf[sf["few"] > 2], {"half_life": 20}, {"half_life": 3.7, "by": "few"}, {"half_life": 40, "on": "id"}),
    "summary": lambda sf: [(s.mean(), s.var(), s.std(), s.sum()) for s in (sf[n].summary() for n in NUMBERS)],
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The rows in segments of so many each."""
    base, found = tmp_path_factory.mktemp("cuts"), []
    for number, cut in enumerate(CUTS):
        with config.using(segment_rows=cut["segment_rows"]):
            SFrame(COLUMNS).save(str(base / str(number)))
        found.append(base / str(number))
    return found


# Of numbers of all kinds each program is in `test_cuts_of_odd_floats.py`.
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_digit_depends_on_cuts(name: str, places: list[Path]) -> None:
    """Each program with one segment and one of the other cuts or two, by turns."""
    found, turn = [], list(PROGRAMS).index(name)
    for number, (place, cut) in enumerate(zip(places, CUTS, strict=True)):
        if number and (number + turn) % 5:
            continue
        with config.using(**cut):
            found.append(repr(PROGRAMS[name](load_sframe(str(place)))))
    assert all(other == found[0] for other in found[1:]), [other == found[0] for other in found]


def operations(*names: str) -> dict[str, Any]:
    return {name: OPERATIONS[name] for name in names}


# Programs whose values need no order of rows, so that those of a Spark DataFrame have them too.
# Each has some of the functions and columns: to Spark a sum is tens of columns, whose plans take seconds.
UNORDERED: dict[str, Callable[[SFrame], Any]] = {
    "reductions": lambda sf: [sf["far"].std(ddof=1), sf["some"].mean()],
    "vectors": PROGRAMS["vectors"],
    "few groups": lambda sf: rows_of(sf.groupby("few", {**operations("sum_f", "var_far"), **VECTORS}).sort("few")),
    "filtered": lambda sf: rows_of(sf[sf["few"] > 2].groupby("few", operations("mean_some")).sort("few")),
    "joined": lambda sf: rows_of(sf.join(sf.groupby("few", {"m": aggregate.MEAN("f")}), "few").groupby("many", operations("mean_ints")).sort("many")),
    # Queries of numbers beyond the squares of floats are made anew (`test_spark_sums.py`), which takes seconds.
    "large numbers": lambda sf: [sf["large"].mean(), *rows_of(sf.groupby("many", operations("std_large", "var_ints")).sort("many"))],
}


@pytest.mark.spark
@pytest.mark.parametrize("name", part(UNORDERED, 2))
def test_no_digit_is_another_where_spark_adds_up(name: str, places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(places[1])
    program = UNORDERED[name]
    expected = repr(program(load_sframe(place)))
    df = load_sframe(place).to_spark()
    df.write.parquet(str(tmp_path / "rows"))
    # Rows of a DataFrame have no order, and lie in as many partitions as it likes.
    assert repr(program(SFrame(df.sparkSession.read.parquet(str(tmp_path / "rows")).repartition(7)))) == expected
    with config.using(work_memory=0, small_rows=1):
        assert repr(program(load_sframe(place))) == expected
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    monkeypatch.setattr(groupby, "MAX_GROUPS", 50)
    with config.using(small_rows=0, single_task_rows=0):
        assert repr(program(load_sframe(place))) == expected


def test_sums_are_the_floats_next_to_those_of_exact_numbers(places: list[Path]) -> None:
    frame = load_sframe(str(places[1]))
    assert frame["f"].sum() == math.fsum(COLUMNS["f"])
    groups = frame.groupby("few", {"total": aggregate.SUM("far")})
    assert {row["few"]: row["total"] for row in groups} == {
        key: math.fsum(value for value, few in zip(COLUMNS["far"], COLUMNS["few"], strict=True) if few == key) for key in range(7)
    }
