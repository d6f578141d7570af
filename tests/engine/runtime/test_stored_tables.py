"""A large table in memory is written once, when Spark first reads it, and goes with the table."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import result_storage
from sframe_spark.engine.runtime.result_storage import with_stored_tables
from sframe_spark.explain.executed_spark_plans import recorded_plans
from sframe_spark.operators.sources import in_memory
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, source_statistics
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import spark_locality
from sframe_spark.storage.filesystem.temporary_datasets import temporary_root

ROWS = 1_000
pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch, spark: Any) -> Iterator[None]:
    """A hundred rows are many, and all work is Spark's."""
    monkeypatch.setattr(result_storage, "ROWS_PER_GROUP", 100)
    with config.using(small_rows=0, single_task_rows=0, default_segments=3):
        yield


def new_frame() -> SFrame:
    numbers = np.arange(ROWS)
    return SFrame({"a": numbers % 7, "b": numbers * 0.5, "c": [f"c{number % 3}" for number in range(ROWS)]})


@pytest.fixture
def frame() -> SFrame:
    return new_frame()


def table(frame: SFrame) -> MemorySource:
    (operator,) = {node.operator for node in postorder([frame._node]) if isinstance(node.operator, MemorySource)}
    return operator


def stored(frame: SFrame) -> SegmentSource | None:
    found = table(frame).stored
    return None if found is None else found[1]


def columns(frame: SFrame) -> tuple[int, ...]:
    found = table(frame).stored
    return () if found is None else found[0]


def test_queries_and_tasks_read_segments_that_were_written_once(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    original = result_storage.write_in_memory
    monkeypatch.setattr(result_storage, "write_in_memory", lambda *arguments: written.append(arguments) or original(*arguments))
    assert stored(frame) is None
    with recorded_plans() as plans:
        groups = frame.groupby("a", {"all": aggregate.CONCAT("b")})
        assert sum(map(sum, groups["all"])) == sum(number * 0.5 for number in range(ROWS))
    assert any("Scan parquet" in plan.names() for plan in plans) and not any("LocalTableScan" in plan.names() for plan in plans)
    assert list(frame["b"].cumulative_sum())[:4] == [0.0, 0.5, 1.5, 3.0]
    assert list((frame["a"] + 1).head(3)) == [1, 2, 3]
    assert columns(frame) == (0, 1) and len(written) == 1


def test_further_columns_are_written_with_those_before(frame: SFrame) -> None:
    frame["b"].cumulative_sum().materialize()
    first = stored(frame)
    assert first is not None and columns(frame) == (1,)
    assert list(frame.groupby("c", {"n": aggregate.COUNT(), "top": aggregate.MAX("b")})["top"]) == [499.5, 498.5, 499.0]
    assert columns(frame) == (1, 2)
    directory = Path(first.manifest.directory)
    assert directory.exists()
    del first
    gc.collect()
    assert not directory.exists()


def test_the_segments_go_with_the_table() -> None:
    frame = new_frame()
    frame["b"].cumulative_sum().materialize()
    found = stored(frame)
    assert found is not None
    directory = Path(found.manifest.directory)
    assert directory.is_relative_to(temporary_root()) and directory.exists()
    del found, frame
    gc.collect()
    assert not directory.exists()


def test_all_views_of_a_table_read_one_dataset(frame: SFrame) -> None:
    both = frame[["a"]].append(frame[["a"]])
    root = with_stored_tables(SFrame({"x": both["a"], "y": both["a"] * 2})._node)
    identities = {node.operator.manifest.identity for node in postorder([root]) if isinstance(node.operator, SegmentSource)}
    assert len(identities) == 1 and not any(isinstance(node.operator, MemorySource) for node in postorder([root]))


def test_shared_nodes_stay_shared(frame: SFrame) -> None:
    node: PlannerNode = frame._node
    for _ in range(20):
        node = stored_append(node)
    assert sum(1 for _ in postorder([with_stored_tables(node)])) == 21


def stored_append(node: PlannerNode) -> PlannerNode:
    from sframe_spark.operators.append import append

    return append(node, node)


@pytest.mark.parametrize(("start", "stop", "is_stored"), [(0, ROWS, True), (0, 500, True), (300, 799, False), (0, 100, False)])
def test_views_of_few_rows_are_sent(frame: SFrame, start: int, stop: int, is_stored: bool) -> None:
    part = frame[start:stop]
    assert list(part["b"].cumulative_sum())[-1] == sum(number * 0.5 for number in range(start, stop))
    assert (stored(frame) is not None) is is_stored


def test_a_cluster_that_may_not_reach_our_files_is_sent_the_rows(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_locality, "is_on_this_machine", lambda session: False)
    assert list(frame["b"].cumulative_sum())[:3] == [0.0, 0.5, 1.5]
    assert stored(frame) is None
    with config.using(temporary_directory=temporary_root()):
        assert list(frame["b"].cumulative_sum())[:3] == [0.0, 0.5, 1.5]
    assert stored(frame) is not None


def test_rows_of_no_column_are_not_stored(frame: SFrame) -> None:
    assert len(frame[frame["a"] >= 0]) == ROWS
    assert list(SFrame({"one": frame["a"] * 0 + 1}).groupby([], {"n": aggregate.COUNT()})["n"]) == [ROWS]


@pytest.mark.parametrize("is_written", [False, True])
def test_a_dataframe_outlives_the_frame_that_it_was_made_of(is_written: bool) -> None:
    frame = new_frame()
    part = frame[frame["a"] == 3]
    if is_written:
        materialize(part._node, MaterializeOptions(in_memory=0))
    df = part.to_spark()
    del part, frame
    gc.collect()
    assert df.where("b >= 0").count() == sum(number % 7 == 3 for number in range(ROWS))


def test_what_was_recorded_when_a_table_was_written_is_known_of_it(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "MAX_CELLS_SCANNED", 0)
    assert not source_statistics(table(frame))[1].ascending
    frame["b"].cumulative_sum().materialize()
    first, second, third = source_statistics(table(frame))
    assert second.strictly_ascending and (second.first, second.maximum) == (0.0, 499.5)
    assert not first.bounds_known and not third.bounds_known
    part = source_statistics(table(frame).rows_between(3, 9))[1]
    assert part.strictly_ascending and not part.edges_known


def test_only_columns_that_are_asked_for_are_looked_at(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "MAX_CELLS_SCANNED", ROWS)
    assert not source_statistics(table(frame))[1].ascending
    assert source_statistics(table(frame).with_columns([1]))[0].strictly_ascending
