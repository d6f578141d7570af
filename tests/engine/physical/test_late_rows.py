"""First rows of a stored frame are chosen by the columns of their order, and only their other columns are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.shapes import late_materialization
from sframe_spark.operators.lookup import cached_reader
from sframe_spark.operators.sort_top_rows_and_assumed_order import first_positions
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize

ROWS = 4_000


@pytest.fixture(autouse=True)
def over_ranges(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(costs, "MIN_ROWS_FOR_EACH_READ_LATE", 10)
    with config.using(small_rows=10, segment_rows=700, batch_rows=90, progress="off"):
        yield


@pytest.fixture
def frame(tmp_path: Path) -> SFrame:
    values = [None if row % 13 == 0 else float("nan") if row % 17 == 0 else float(row * 7 % 40) for row in range(ROWS)]
    texts = [None if row % 5 == 0 else f"{row % 9}" for row in range(ROWS)]
    SFrame({"f": values, "s": texts, "i": range(ROWS), "d": [row * 2 for row in range(ROWS)]}).save(str(tmp_path / "f"))
    return load_sframe(str(tmp_path / "f"))


def run(node: PlannerNode) -> tuple[PlannerNode, list[str]]:
    executor = Executor(MaterializeOptions())
    return executor.execute(optimize(node)), executor.log


@pytest.mark.sampled(6)
@pytest.mark.parametrize("by", ["f", "s", "i"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [1, 7, 90])
def test_rows_are_those_of_a_sort(frame: SFrame, by: str, reverse: bool, count: int) -> None:
    chosen = frame.sort(by, ascending=reverse)[:count]
    found = chosen["i"]
    with config.using(small_rows=10 * ROWS):
        expected = list(SFrame({name: list(frame[name]) for name in frame.column_names()}).sort(by, ascending=reverse)[:count]["i"])
    assert list(found) == expected
    assert [row["d"] for row in chosen] == [row * 2 for row in expected]


def test_only_blocks_of_the_rows_chosen_are_read(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    original = cached_reader.Lookup._read
    monkeypatch.setattr(cached_reader.Lookup, "_read", lambda self, number, columns: read.append(number) or original(self, number, columns))
    _, log = run(frame.sort("f", ascending=False)[:3]._node)
    assert any("by number" in line for line in log) and len(read) <= 3


def derived(sf: SFrame) -> SFrame:
    """A column that decides, made of others, beside texts of those."""
    return SFrame({"i": sf["i"], "g": sf["f"] * -2 + sf["d"], "t": sf["s"] + "!", "s": sf["s"]})


MADE = {
    "topk of missing values": lambda sf: sf.topk("f", 7),
    "the smallest": lambda sf: sf.topk("f", 7, reverse=True),
    "of a filter": lambda sf: sf[sf["i"] % 3 == 1].sort("f")[:5],
    "of a filter by texts": lambda sf: sf[sf["s"] == "3"].sort("f", ascending=False)[:5],
    "of two filters": lambda sf: sf[sf["i"] % 3 == 1].dropna("s").topk("f", 9),
    "of made columns": lambda sf: derived(sf).topk("g", 6),
    "of made columns of a filter": lambda sf: derived(sf[sf["d"] > 100]).dropna("g").sort(["s", "g"])[:9],
    "fewer than asked for": lambda sf: sf[sf["i"] % 1_000 == 7].sort("f")[:50],
    "none": lambda sf: sf[sf["i"] < 0].topk("f", 5),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MADE)
def test_rows_of_filters_and_functions_are_found_by_number(frame: SFrame, name: str) -> None:
    chosen = MADE[name](frame)
    _, log = run(chosen._node)
    assert name == "none" or any("by number" in line for line in log)
    with config.using(small_rows=10 * ROWS):
        expected = MADE[name](SFrame({name: list(frame[name]) for name in frame.column_names()}))
        rows = [repr(row) for row in expected]
    assert [repr(row) for row in chosen] == rows


def test_no_column_is_read_of_all_rows_that_does_not_decide(frame: SFrame) -> None:
    found = late_materialization.numbered_rows(optimize(frame[frame["i"] % 3 == 1].topk("f", 3)._node))
    assert found is not None
    (source,) = [node.operator for node in postorder([found.top]) if isinstance(node.operator, SegmentSource)]
    assert [frame.column_names()[position] for position in sorted(source.positions)] == ["f", "i"]


@pytest.mark.usefixtures("called_functions")
def test_functions_of_users_are_called_for_no_row_twice(frame: SFrame) -> None:
    calls = frame["i"].apply(lambda value: value % 5, dtype=int)
    assert late_materialization.numbered_rows(optimize(frame.add_column(calls, "c", inplace=False).topk("c", 3)._node)) is None


def test_columns_that_all_decide_and_many_rows_are_read_at_once(frame: SFrame) -> None:
    for node in (frame[["f", "i"]].sort(["f", "i"])[:3]._node, frame.sort("f")[:1_200]._node):
        _, log = run(node)
        assert not any("by number" in line for line in log)


@pytest.mark.parametrize("values", [3, 10_000])
@pytest.mark.parametrize("count", [1, 2, 50, 4_999, 5_000])
def test_places_are_those_up_to_the_last_one_wanted(values: int, count: int) -> None:
    generator = np.random.default_rng(count)
    for ranks in (np.zeros(5_000, np.int8), generator.integers(0, 2, 5_000).astype(np.int8)):
        numbers = generator.integers(0, values, 5_000)
        order = np.lexsort((numbers, ranks))
        last = order[count - 1]
        near = (ranks < ranks[last]) | ((ranks == ranks[last]) & (numbers <= numbers[last]))
        assert np.array_equal(first_positions(ranks, numbers, count), np.flatnonzero(near))
