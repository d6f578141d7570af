"""Joins that Spark's tasks run by messages give the rows of one join of all, in its order; here threads do what tasks are sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution import plan_executor
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime.shuffle_by_messages import Inbox
from sframe_spark.engine.shapes import hash_join, range_shuffle, section_runner
from sframe_spark.engine.shapes.hash_join_by_messages import PartnerSearch, RowsWithPartners
from sframe_spark.engine.shapes.section_tree import Alternative
from sframe_spark.engine.shapes.spark_query import QueryShape
from sframe_spark.errors import StorageError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.rewrite_laws import group_join_and_sort_algorithms as algorithm_choice
from sframe_spark.session import is_started
from sframe_spark.testing.oracle_functions import rows_equal
from tests.engine.execution.test_joined import KINDS, ROWS, SEGMENT_ROWS, rows_of, saved_sides
from tests.examples import part
from tests.sent_to_threads import SentToThreads
from tests.strategies import HASH_JOIN_BY_TASKS, HASH_JOIN_BY_THREADS, SPARK_QUERY, STREAM_BY_TASKS

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


def saved(columns: dict[str, Any], directory: Path) -> SFrame:
    SFrame(columns).save(str(directory))
    return load_sframe(str(directory))


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


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("rows", ["few", "one", "with others"])
def test_few_rows_of_many_partners_are_put_in_order_by_files(how: str, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RowsWithPartners.write
    monkeypatch.setattr(RowsWithPartners, "write", lambda self, *others: write(attrs.evolve(self, max_bytes=1_000), *others))
    keys = {"few": [1, 0, 5] * 2, "one": [0], "with others": [*range(40), *[0, 1] * 10, *range(90, 120)]}[rows]
    few, many = SFrame({"k": keys, "v": range(len(keys))}), SFrame({"k": [0, 1] * 100 + [7] * 100, "w": range(300)})
    both, asked = (many, few) if how == "right" else (few, many), list[Any]()
    expected, made = expected_of(both, ["k"], how, monkeypatch), joined(both, ["k"], how)
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    in_files, by_files = list[int](), RowsWithPartners._in_order_by_files
    monkeypatch.setattr(RowsWithPartners, "_in_order_by_files", lambda self, rows: in_files.append(rows.rows) or by_files(self, rows))
    materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected) and in_files and not asked


@pytest.mark.parametrize("why", ["no room", "too many tasks"])
def test_otherwise_it_is_a_query(sides: tuple[SFrame, SFrame], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Any]()
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    if why == "too many tasks":
        monkeypatch.setattr(costs, "MAX_RUNS_OF_SHUFFLE", 100)
    else:
        monkeypatch.setattr(costs, "MAX_BYTES_OF_RANGE_OF_TASK", 100)
    made = joined(sides, ["k"], "outer")
    assert plan_dry_run(made._node).sections[-1].strategy == HASH_JOIN_BY_TASKS
    with pytest.raises(AttributeError):
        materialize(made._node, MaterializeOptions(in_memory=0, segments=50 if why == "too many tasks" else 5))
    assert len(asked) == 1


@pytest.mark.parametrize(("of", "name"), [(PartnerSearch, "relay"), (RowsWithPartners, "write")])
def test_messages_that_are_lost_are_told(sides: tuple[SFrame, SFrame], of: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    get = getattr(of, name)

    def got(self: Any, *others: Any) -> Any:
        messages = (message for message in others[-1] if (message.sender, message.number) != (1, 1))
        return get(self, *others[:-1], messages)

    monkeypatch.setattr(of, name, got)
    with pytest.raises(StorageError, match="rows came through a shuffle of Spark, but"):
        materialize(joined(sides, ["k"], "inner")._node, NOTHING_SMALL)


def test_rows_of_the_probe_side_do_not_cross(sides: tuple[SFrame, SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their keys and row ids do, and rows of the other side twice: a wide probe side is sent no bytes more."""
    sent = list[int]()
    monkeypatch.setattr(Inbox, "add", lambda self, message, add=Inbox.add: sent.append(message.content.size) or add(self, message))

    def bytes_sent(wide: SFrame) -> int:
        sent.clear()
        materialize(joined((wide, sides[1]), ["k"], "left")._node, NOTHING_SMALL)
        return sum(sent)

    wide = sides[0].copy()
    for number in range(20):
        wide[f"c{number}"] = wide["v"] * 7919 + number
    assert bytes_sent(wide) == bytes_sent(sides[0])


# What others met: keys and rows for which exchanges of other engines lost rows, or failed.
# dask/distributed 8426 (rows of keys that only the left side has), 8092 (a column without values in one partition); ray 64733 (rows of no bytes),
# 58836 (empty blocks); duckdb 25702 (few keys of many rows that find no room); SPARK-56899 (all keys missing).

MISSING, NAN = [None] * 120, float("nan")
SHAPES_OF_KEYS: dict[str, tuple[list[Any], list[Any]]] = {
    "all missing": (MISSING, MISSING[:90]),
    "missing on the left": (MISSING, [*range(89, -1, -1)]),
    "missing on the right": ([*range(119, -1, -1)], MISSING[:90]),
    "one key": ([7] * 120, [7] * 90),
    "one key has most rows": ([row if row % 10 == 0 else 5 for row in range(120)], [*range(89, -1, -1)]),
    "few keys of many rows": ([row % 3 for row in range(120)], [row % 4 for row in range(90)]),
    "all different, no match": ([*range(119, -1, -1)], [*range(1_090, 1_000, -1)]),
    "floats": ([NAN, None, 0.0, -0.0, float("inf"), 1.5] * 20, [-0.0, NAN, None, 2.5, float("-inf"), 0.0] * 15),
    "long texts": (["x" * (row % 7 * 900) for row in range(120)], ["x" * (row % 5 * 900) for row in range(90)]),
    "no left rows": ([], [*range(89, -1, -1)]),
    "no right rows": ([*range(119, -1, -1)], []),
    "no rows": ([], []),
}


@pytest.mark.parametrize(("shape", "how"), part(product(SHAPES_OF_KEYS, KINDS), 3))
def test_keys_that_others_met(shape: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm_choice, "MAX_TIES", 1)
    keys, both = SHAPES_OF_KEYS[shape], []
    for of_side, name, segment_rows in zip(keys, "vw", (1_000, 20), strict=True):
        # One row more than the shape has is filtered out, so that all sides have types, and nobody knows how many rows there are.
        more = next((key for key in (*keys[0], *keys[1]) if key is not None), 1)
        rows = range(len(of_side) + 1)
        with config.using(segment_rows=segment_rows):
            side = saved(
                {"k": [*of_side, more], name: rows, f"{name} none": [None] * len(rows), f"{name} wide": ["y" * 3_000] * len(rows)}, tmp_path / name
            )
        both.append(side[side[name] < len(of_side)])
    expected, made = expected_of((both[0], both[1]), ["k"], how, monkeypatch), joined((both[0], both[1]), ["k"], how)
    asked = list[Any]()
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    # Keys that are in order are searched, by tasks as well.
    assert plan_dry_run(made._node).sections[-1].strategy in (HASH_JOIN_BY_TASKS, STREAM_BY_TASKS)
    materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected) and not asked


# Sides of few bytes, which the driver sees.


@pytest.mark.parametrize(("keys", "how"), part(product(KEYS, KINDS), 5))
def test_sides_within_the_budget_are_joined_by_threads(
    sides: tuple[SFrame, SFrame], keys: list[str], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, made = expected_of(sides, keys, how, monkeypatch), joined(sides, keys, how)
    with config.using(memory_budget=1 << 26):
        assert plan_dry_run(made._node).sections[-1].strategy == HASH_JOIN_BY_THREADS
        materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected)


def test_few_bytes_with_very_many_matches_are_joined_by_tasks_after_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = saved({"k": [1, 0] * 200, "v": range(400)}, tmp_path / "v"), saved({"k": [0, 1] * 150, "w": range(300)}, tmp_path / "w")
    monkeypatch.setattr(algorithm_choice, "MAX_TIES", 1)
    expected, made = expected_of(both, ["k"], "inner", monkeypatch), joined(both, ["k"], "inner")
    with config.using(memory_budget=16_000):
        section = plan_dry_run(made._node).sections[-1]
        assert section.strategy == HASH_JOIN_BY_THREADS and Alternative.VERY_MANY_MATCHES in section.alternatives
        materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("key", ["k", "s"])
def test_tasks_search_few_right_rows_and_are_sent_none(
    sides: tuple[SFrame, SFrame], how: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = saved({"k": range(0, 200, 2), "s": [str(row) for row in range(100)], "w": range(100)}, tmp_path / "right")[[key, "w"]]
    monkeypatch.setattr(costs, "BYTES_OF_VALUE_OF_UNKNOWN_LENGTH", 8)
    monkeypatch.setattr(algorithm_choice, "MAX_TIES", 1)
    expected, made = expected_of((sides[0], right), [key], how, monkeypatch), joined((sides[0], right), [key], how)
    sent = list[Any]()
    monkeypatch.setattr(Inbox, "add", lambda self, message, add=Inbox.add: sent.append(message) or add(self, message))
    with config.using(memory_budget=4_000):
        # Texts are not searched, and rows that no left row matches are found by nobody who searches.
        is_searched = how in ("inner", "left") and key == "k"
        strategy = STREAM_BY_TASKS if is_searched else HASH_JOIN_BY_TASKS
        assert plan_dry_run(made._node).sections[-1].strategy == strategy
        materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected) and bool(sent) != is_searched
