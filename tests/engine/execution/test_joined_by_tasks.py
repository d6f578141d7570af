"""Joins that Spark's tasks run by messages give the rows of one join of all, in its order; here threads do what tasks are sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution import plan_executor
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime.shuffle_by_messages import Inbox
from sframe_spark.engine.shapes import hash_join, range_shuffle, section_runner
from sframe_spark.engine.shapes.spark_query import QueryShape
from sframe_spark.engine.spark.messages_between_tasks import Message
from sframe_spark.errors import StorageError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.session import is_started
from sframe_spark.testing.oracle_functions import rows_equal
from tests.engine.execution.test_joined import KINDS, ROWS, SEGMENT_ROWS, rows_of, saved_sides
from tests.examples import part
from tests.sent_to_threads import SentToThreads
from tests.strategies import HASH_JOIN_BY_TASKS, SPARK_QUERY

__all__ = ["saved_sides"]
NOTHING_SMALL = MaterializeOptions(in_memory=0)
KEYS = (["k"], ["s"], ["k", "s"], ["f"])


@pytest.fixture(autouse=True)
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows count as many, Spark is elsewhere, and is not started."""
    started = is_started()
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    for module in (hash_join, range_shuffle, section_runner):
        monkeypatch.setattr(module, "SparkTaskRunner", SentToThreads)
    monkeypatch.setattr(plan_executor, "start_ahead", lambda: None)
    for module in (hash_join, range_shuffle):
        monkeypatch.setattr(module, "is_result_shared_with", lambda workers, directory: True)
    monkeypatch.setattr(range_shuffle, "is_shared_with", lambda workers, directory: False)
    for name, value in (
        ("BYTES_OF_RANGE_OF_TASK", 4_000),
        ("BYTES_BUFFERED_BY_SHUFFLE_TASK", 5_000),
        ("MAX_BYTES_OF_MESSAGE", 2_000),
        ("MIN_ROWS_OF_TASK", 100),
    ):
        monkeypatch.setattr(costs, name, value)
    options = {"temporary_directory": str(tmp_path / "temporary"), "progress": "off"}
    with config.using(small_rows=50, segment_rows=SEGMENT_ROWS, batch_rows=60, memory_budget=0, **options):
        yield
    assert is_started() == started


@pytest.fixture
def sides(saved_sides: Path) -> tuple[SFrame, SFrame]:
    return load_sframe(str(saved_sides / "v")), load_sframe(str(saved_sides / "w"))


def joined(sides: tuple[SFrame, SFrame], keys: list[str], how: str) -> SFrame:
    return sides[0].join(sides[1], on=keys, how=how)


def expected_of(sides: tuple[SFrame, SFrame], keys: list[str], how: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The rows of one join in this process."""
    with monkeypatch.context() as patch, config.using(small_rows=100 * ROWS, memory_budget=1 << 28):
        patch.setattr(site, "is_spark_local", lambda: True)
        return rows_of(joined(sides, keys, how))


@pytest.mark.parametrize(("keys", "how", "segments"), part(product(KEYS, KINDS, [None, 1, 7]), 9))
def test_rows_are_those_of_one_join(
    sides: tuple[SFrame, SFrame], keys: list[str], how: str, segments: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, made = expected_of(sides, keys, how, monkeypatch), joined(sides, keys, how)
    assert plan_dry_run(made._node).sections[-1].strategy == HASH_JOIN_BY_TASKS
    materialize(made._node, MaterializeOptions(in_memory=0, segments=segments))
    assert isinstance(made._node.operator, SegmentSource)
    assert rows_equal(rows_of(made), expected)


def test_filtered_sides_of_no_rows_and_of_few(sides: tuple[SFrame, SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    for most, how in product((0, 200), ("inner", "left", "outer")):
        less = sides[0], sides[1][sides[1]["w"] < most]
        expected, made = expected_of(less, ["k"], how, monkeypatch), joined(less, ["k"], how)
        materialize(made._node, NOTHING_SMALL)
        assert rows_equal(rows_of(made), expected), (most, how)


def test_what_reads_a_join_reads_what_tasks_have_written(sides: tuple[SFrame, SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = expected_of(sides, ["k"], "inner", monkeypatch)
    made = joined(sides, ["k"], "inner").sort(["s", "v"])
    # As long as the number of joined rows is unknown, the sort is a query.
    assert [section.strategy for section in plan_dry_run(made._node).sections] == [HASH_JOIN_BY_TASKS, SPARK_QUERY]
    asked = list[Any]()
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    materialize(made._node, NOTHING_SMALL)
    assert not asked
    text, number = made.column_names().index("s"), made.column_names().index("v")
    by_text = sorted(expected, key=lambda row: (row[text] is not None, (row[text] or "").encode(), row[number]))
    assert [row[number] for row in rows_of(made)] == [row[number] for row in by_text]
    counted = joined(sides, ["k"], "inner").groupby("s", {"n": aggregate.COUNT()})
    assert sum(counted["n"]) == len(expected)


@pytest.mark.parametrize(("how", "many"), [("inner", "left"), ("inner", "right"), ("left", "left"), ("right", "right")])
def test_a_key_that_most_rows_of_a_side_have_is_joined_part_by_part(how: str, many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_BYTES_OF_RANGE_OF_TASK", 60_000)
    long = SFrame({"k": [7 if row % 9 else row for row in range(4_000)], "t": [f"{row} {'x' * 20}" for row in range(4_000)]})
    short = SFrame({"k": [9, 18, 5_000, 27] * 200, "u": [f"{row} {'y' * 20}" for row in range(800)]})
    both = (long, short) if many == "left" else (short, long)
    expected, asked = expected_of(both, ["k"], how, monkeypatch), list[Any]()
    made = joined(both, ["k"], how)
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected) and not asked


@pytest.mark.parametrize("why", ["not shared", "no room", "no room for the result", "too many tasks"])
def test_otherwise_it_is_a_query(sides: tuple[SFrame, SFrame], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Any]()
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    if why == "not shared":
        monkeypatch.setattr(hash_join, "is_result_shared_with", lambda workers, directory: False)
        monkeypatch.setattr(hash_join, "is_temporary_data_shared_with", lambda workers: False)
    elif why == "too many tasks":
        monkeypatch.setattr(costs, "MAX_RUNS_OF_SHUFFLE", 100)
    else:
        monkeypatch.setattr(costs, "MAX_BYTES_OF_RANGE_OF_TASK", 100 if why == "no room" else 12_000)
    one = SFrame({"k": [1, 0] * 60, "v": range(120)}), SFrame({"k": [0, 1] * 55, "w": range(110)})
    made = joined(one if why == "no room for the result" else sides, ["k"], "inner")
    assert plan_dry_run(made._node).sections[-1].strategy == HASH_JOIN_BY_TASKS
    with pytest.raises(AttributeError):
        materialize(made._node, MaterializeOptions(in_memory=0, segments=50 if why == "too many tasks" else 5))
    assert len(asked) == 1


@pytest.mark.parametrize("who", ["relay", "receiver"])
def test_messages_that_are_lost_are_told(sides: tuple[SFrame, SFrame], who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add = Inbox.add

    def added(self: Inbox, message: Message) -> None:
        is_of_result = len(self.schema) > 6
        if is_of_result != (who == "receiver") or (message.sender, message.number) != (1, 1):
            add(self, message)

    monkeypatch.setattr(Inbox, "add", added)
    with pytest.raises(StorageError, match="rows came through a shuffle of Spark, of"):
        materialize(joined(sides, ["k"], "inner")._node, NOTHING_SMALL)
