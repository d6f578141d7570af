"""Many rows that users' functions make are there before what reads them is planned: no door through which they are read starts a Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.engine.execution import plan_executor
from sframe_spark.session import is_started, session
from tests.examples import square

ROWS = 3_000


def by_processes(row: dict[str, Any]) -> int:
    """What it calls is not known to be quick."""
    return int((row["a"] * 3 + len(os.sep)) % 17)


def by_threads(row: dict[str, Any]) -> int:
    return int((row["a"] * 3 + 1) % 17)


Function = Callable[[dict[str, Any]], int]


def made(sf: SFrame, function: Function) -> SFrame:
    """A frame of which nobody holds the column that a function makes."""
    return sf.add_column(sf.apply(function, int), "x")


PROGRAMS: dict[str, Callable[[SFrame, Function], Any]] = {
    "sums of groups": lambda sf, fn: made(sf, fn).groupby("x", {"l": aggregate.SUM("b")}),
    "lists of groups": lambda sf, fn: made(sf, fn).groupby("x", {"l": aggregate.CONCAT("b")}),
    "groups of a filter": lambda sf, fn: sf[sf.apply(fn, int) > 3].groupby("a", {"l": aggregate.SUM("b")}),
    "groups of groups": lambda sf, fn: made(made(sf, fn).groupby("x", {"a": aggregate.SUM("b")}).rename({"x": "y"}), fn).groupby(
        "x", {"n": aggregate.COUNT()}
    ),
    "groups of a sort": lambda sf, fn: made(sf.sort("a"), fn).groupby("x", {"l": aggregate.CONCAT("b")}),
    "distinct values": lambda sf, fn: sf.apply(fn, int).unique(),
    "counted values": lambda sf, fn: sf.apply(fn, int).value_counts(),
    "first of each": lambda sf, fn: made(sf, fn).drop_duplicates(["x"]),
    "lists of a column": lambda sf, fn: made(sf, fn)[["x", "b"]].unstack("b", new_column_name="l"),
    "columns of a sort": lambda sf, fn: made(sf, fn).sort("x").swap_columns("x", "b"),
    "a sort of lists so far": lambda sf, fn: made(sf.head(200).running({"l": aggregate.CONCAT("b")}), fn).sort("a").swap_columns("x", "l"),
    "a sort before others": lambda sf, fn: made(sf, fn).sort("x")[["a", "b"]].append(sf),
    "a join": lambda sf, fn: made(sf, fn).join(sf.head(500)[["a", "b"]].rename({"b": "c"}), on={"x": "a"}),
    "rows of a flat map": lambda sf, fn: sf.flat_map(["p"], lambda row: [[fn(row)]] * (row["b"] % 3), column_types=[int]).unique(),
}
DOORS: dict[str, Callable[[Any, str], object]] = {
    "materialize": lambda found, place: found.materialize(),
    "iterate": lambda found, place: list(found),
    "count": lambda found, place: len(found),
    "one row": lambda found, place: found[0],
    "print": lambda found, place: str(found),
    "save": lambda found, place: found.save(place),
}


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows count as many, and whoever starts Spark is told, also who only lets it start."""

    def refuse() -> Any:
        raise AssertionError("Spark is started")

    monkeypatch.setattr(session, "start_spark", refuse)
    monkeypatch.setattr(plan_executor, "start_ahead", refuse)
    with config.using(small_rows=100, progress="off"):
        yield
    assert not is_started()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "function"), square(2, PROGRAMS, [by_processes, by_threads]))
def test_no_door_starts_spark(name: str, function: Function, tmp_path: Path) -> None:
    def found(door: Callable[[Any, str], object] | None) -> list[Any]:
        sf = SFrame({"a": [row * 7_919 % 1_000 for row in range(ROWS)], "b": range(ROWS)})
        rows = PROGRAMS[name](sf, function)
        if door is not None:
            door(rows, str(tmp_path / "rows"))
        return list(rows)

    with config.using(small_rows=1 << 20):
        expected = found(None)
    for opened, door in DOORS.items():
        assert found(door) == expected, opened
