"""The number of rows that are much to make is found without them: of the columns only what decides is read, and rows are what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.engine.execution import materialize_count_and_read_rows as materialize_module
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.count_matches import is_much_to_compute
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.rewrite_laws import optimize

ROWS, COLUMNS = 500, 40

PARTS: dict[str, Callable[[SFrame], SFrame]] = {
    "filter": lambda frame: frame[frame["c3"] > 10],
    "filter of a filter": lambda frame: (kept := frame[frame["c3"] > 10])[kept["c4"] != 20],
    "nothing": lambda frame: frame[frame["c3"] > 10**9],
    "all": lambda frame: frame[frame["c3"] >= 0],
    "without missing values": lambda frame: frame.dropna(["c0", "c1"]),
    "filter of a filled column": lambda frame: frame[frame["c0"].fillna(7) == 7],
    "column beside": lambda frame: with_column(frame[frame["c3"] > 10]),
    "constants beside filters": lambda frame: with_constant(with_constant(frame[frame["c3"] > 10]), lambda kept: kept[kept["c4"] != 20]),
    "filter by a constant's column": lambda frame: (kept := with_constant(frame[frame["c3"] > 10]))[kept["c4"] != kept["n"]],
    "join with few": lambda frame: frame.join(SFrame({"c3": [1, 2, 300]}), on="c3"),
}


def with_column(frame: SFrame) -> SFrame:
    frame["sum"] = frame["c3"] + frame["c4"]
    return frame


def with_constant(frame: SFrame, part: Callable[[SFrame], SFrame] = lambda frame: frame) -> SFrame:
    kept = part(frame)
    kept["n"] = 1
    return kept


@pytest.fixture
def frame(tmp_path: Path) -> Iterator[SFrame]:
    """A saved frame whose rows are too many for one result."""
    columns = {f"c{place}": [None if place < 2 and row % 5 == place else row * place % 97 for row in range(ROWS)] for place in range(COLUMNS)}
    SFrame(columns).save(str(tmp_path / "frame"))
    with config.using(memory_budget=1000):
        yield load_sframe(str(tmp_path / "frame"))


@pytest.fixture
def columns_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many columns each reader of rows reads."""
    found: list[int] = []
    original = SegmentSource.reader

    def noted(self: SegmentSource, *arguments: object, **named: object) -> object:
        found.append(len(self.positions))
        return original(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(SegmentSource, "reader", noted)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("small_rows", [100_000, 10])
def test_rows_are_counted_and_not_made(frame: SFrame, columns_read: list[int], part: str, small_rows: int) -> None:
    with config.using(memory_budget=1 << 30):
        expected = list(PARTS[part](frame))
    columns_read.clear()
    with config.using(small_rows=small_rows):
        found = PARTS[part](frame)
        assert (len(found), found.num_rows(), found.shape) == (len(expected), len(expected), (len(expected), found.num_columns()))
        # A join with few rows is counted by them alone, and that nothing is kept is known from statistics.
        if part not in ("join with few", "nothing"):
            assert not found.is_materialized()
            assert columns_read and max(columns_read) <= 3
        assert list(found) == expected


def test_little_is_made_and_stays(frame: SFrame) -> None:
    with config.using(memory_budget=1 << 30):
        kept = frame[frame["c3"] > 10]
        assert len(kept) and kept.is_materialized()


@pytest.mark.usefixtures("called_functions")
def test_no_function_is_called_to_count(frame: SFrame) -> None:
    """It would be called again for the rows."""
    kept = frame[frame["c3"] > 10]
    assert is_much_to_compute(optimize(kept._node), Site.now())
    kept = frame[frame["c3"].apply(lambda value: value > 10, dtype=int)]
    assert not is_much_to_compute(optimize(kept._node), Site.now())


@pytest.mark.parametrize("program", [lambda few: few[few["a"] > 3], lambda few: few.unique(), lambda few: few.join(few, on="a")])
def test_few_rows_are_made_without_a_plan_for_counting_them(program: Callable[[SFrame], SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    monkeypatch.setattr(materialize_module, "optimize", lambda node: plans.append(node) or optimize(node))
    few = SFrame({"a": range(9)})
    rows = len(program(few))
    assert plans == []
    # Of long rows it may be much to make even these.
    with config.using(memory_budget=1):
        assert len(program(few)) == rows and plans != []
