"""Rows that Spark's tasks exchange, in files or by messages, are those that one kernel makes of all rows; here threads do what tasks are sent."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution import plan_executor
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime import result_storage
from sframe_spark.engine.runtime.shuffle_by_messages import Inbox
from sframe_spark.engine.runtime.shuffle_store import PartitionRows, ShuffleStore
from sframe_spark.engine.shapes import hash_join, range_shuffle, section_runner
from sframe_spark.engine.shapes.spark_query import QueryShape
from sframe_spark.engine.spark.messages_between_tasks import Message
from sframe_spark.engine.task_pickling import pack_tasks
from sframe_spark.errors import StorageError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.session import is_started
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.testing.oracle_functions import rows_equal
from tests.cluster.object_store import object_store
from tests.engine.execution.test_exchanged import PROGRAMS, ROWS, SEGMENT_ROWS, expected_of, frame, rows_of, saved_rows
from tests.examples import part
from tests.sent_to_threads import SentToThreads
from tests.strategies import PARTIAL_STATES_BY_TASKS, RANGE_SHUFFLE_BY_TASKS, SAMPLE_BY_TASKS, SAMPLE_BY_THREADS, SPARK_QUERY, STREAM_BY_TASKS

__all__ = ["frame", "saved_rows"]
NOTHING_SMALL = MaterializeOptions(in_memory=0)


# Whether tasks share temporary data with this process; otherwise rows cross by messages, and only results are seen.
FILES, MESSAGES = "files", "messages"


@pytest.fixture(params=[FILES, MESSAGES], autouse=True)
def tasks(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Few rows count as many, Spark is elsewhere, and is not started."""
    started = is_started()
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    for module in (range_shuffle, section_runner):
        monkeypatch.setattr(module, "SparkTaskRunner", SentToThreads)
    monkeypatch.setattr(plan_executor, "start_ahead", lambda: None)
    monkeypatch.setattr(range_shuffle, "is_shared_with", lambda workers, directory: request.param == FILES)
    monkeypatch.setattr(costs, "MAX_BYTES_OF_MESSAGE", 2_000)
    monkeypatch.setattr(costs, "BYTES_OF_RANGE_OF_TASK", 9_000)
    monkeypatch.setattr(costs, "BYTES_BUFFERED_BY_SHUFFLE_TASK", 10_000)
    monkeypatch.setattr(costs, "MIN_ROWS_OF_TASK", 300)
    directory = str(tmp_path / "temporary")
    with config.using(small_rows=100, segment_rows=SEGMENT_ROWS, batch_rows=90, memory_budget=0, progress="off", temporary_directory=directory):
        yield request.param
    assert is_started() == started


def files_left() -> list[str]:
    """Files of shuffle stores that are still there."""
    store = temporary_store().directory
    return [name for _, _, names in os.walk(store) for name in names if name.startswith("shuffle")]


def made_of(name: str, frame: SFrame) -> SFrame:
    """A program that tasks are to exchange rows for."""
    made = PROGRAMS[name](frame)
    assert plan_dry_run(made._node).sections[-1].strategy in (RANGE_SHUFFLE_BY_TASKS, PARTIAL_STATES_BY_TASKS)
    return made


@pytest.mark.parametrize(("name", "segments"), part(product(PROGRAMS, [None, 1, 7]), 13))
def test_rows_are_those_of_one_kernel(frame: SFrame, name: str, segments: int | None) -> None:
    expected, made = expected_of(name, frame), made_of(name, frame)
    materialize(made._node, MaterializeOptions(in_memory=0, segments=segments))
    assert isinstance(made._node.operator, SegmentSource) and files_left() == []
    assert segments is None or len(made._node.operator.manifest.segments) <= segments
    assert rows_equal(rows_of(made), expected)


def test_a_sort_below_others_is_exchanged_and_so_is_what_a_save_writes(frame: SFrame, tmp_path: Path) -> None:
    running = SFrame({"sum": frame.sort("s")["t"].cumulative_sum()})
    assert [section.strategy for section in plan_dry_run(running._node).sections] == [SAMPLE_BY_THREADS, RANGE_SHUFFLE_BY_TASKS, STREAM_BY_TASKS]
    with config.using(small_rows=10 * ROWS):
        expected = list(frame.sort("s")["t"].cumulative_sum())
    assert list(running["sum"]) == expected
    frame.sort("s").save(str(tmp_path / "sorted"))
    assert rows_equal(rows_of(load_sframe(str(tmp_path / "sorted"))), expected_of("by texts, ascending", frame))


def test_values_to_sort_by_are_looked_at_without_a_job_if_each_position_has_one(tasks: str, frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter may leave out most rows, so that tasks look for some that are left; and very many positions are read by tasks."""
    jobs = list[str]()
    run, exchange = SentToThreads.run, SentToThreads.exchange
    monkeypatch.setattr(SentToThreads, "run", lambda self, works, why, *rest: jobs.append(why) or run(self, works, why, *rest))
    monkeypatch.setattr(SentToThreads, "exchange", lambda self, works, to, why, *rest: jobs.append(why) or exchange(self, works, to, why, *rest))
    materialize(frame.sort("s")._node, NOTHING_SMALL)
    assert jobs == ["exchanging for sort", "materialising sort"][: 2 if tasks == FILES else 1]
    assert plan_dry_run(frame[frame["i"] > 3].sort("s")._node).sections[0].strategy == SAMPLE_BY_TASKS
    monkeypatch.setattr(costs, "POSITIONS_OF_RANGE_SAMPLE", 1)
    jobs.clear()
    materialize(frame.sort("s", ascending=False)._node, NOTHING_SMALL)
    assert jobs[0] == "sampling values to sort by"


def test_what_a_query_reads_stays_in_the_query(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_join, "partitions_of_tasks", lambda node, at: None)
    made = frame.sort("s").join(frame[["i", "f"]], on="i", how="outer")
    assert [section.strategy for section in plan_dry_run(made._node).sections] == [SPARK_QUERY]


@pytest.mark.parametrize("why", ["all to Spark", "too many pieces", "too many segments", "here"])
def test_others_are_not_exchanged_by_tasks(frame: SFrame, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed: dict[str, Any] = {
        "all to Spark": {"small_rows": 0},
        "too many segments": {"default_segments": 100_000},
    }.get(why, {})
    if why == "too many pieces":
        monkeypatch.setattr(costs, "MAX_RUNS_OF_SHUFFLE", 20)
    if why == "here":
        monkeypatch.setattr(site, "is_spark_local", lambda: True)
    with config.using(**changed):
        modes = {section.strategy for section in plan_dry_run(PROGRAMS["by texts"](frame)._node).sections}
    assert RANGE_SHUFFLE_BY_TASKS not in modes


def test_tasks_are_not_sent_the_rows_of_a_large_table_in_memory(tasks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_storage, "ROWS_PER_GROUP", 100)
    # Spark would run on this machine.
    monkeypatch.setattr(result_storage, "get_session", lambda: None)
    monkeypatch.setattr(result_storage, "reads_our_files", lambda session: True)
    sent, run, exchange = list[bytes](), SentToThreads.run, SentToThreads.exchange

    def record(works: Sequence[Callable[..., Any]]) -> None:
        parcels, shared = pack_tasks(works)
        sent.append(pickle.dumps([[parcel.content for parcel in parcels], shared]))

    def recorded(self: SentToThreads, works: Sequence[Callable[[], Any]], *others: Any) -> list[Any]:
        record(works)
        return run(self, works, *others)

    def recorded_exchange(self: SentToThreads, senders: Any, receivers: Any, *others: Any) -> Any:
        record(senders)
        record(receivers)
        return exchange(self, senders, receivers, *others)

    monkeypatch.setattr(SentToThreads, "run", recorded)
    monkeypatch.setattr(SentToThreads, "exchange", recorded_exchange)
    keys = [f"key {row * 7 % ROWS}" for row in range(ROWS)]
    made = SFrame({"k": keys, "t": range(ROWS)}).sort("k")
    assert plan_dry_run(made._node).sections[-1].strategy == RANGE_SHUFFLE_BY_TASKS
    materialize(made._node, NOTHING_SMALL)
    # What tasks write or send, and what is made of each range; some keys are ends of ranges.
    assert len(sent) == 2 and not any(b"key 1234" in each and b"key 345" in each for each in sent)
    assert list(made["k"]) == sorted(keys)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tasks", [FILES], indirect=True)
@pytest.mark.parametrize("change", ["one bit", "deleted"])
def test_damage_is_told_and_loses_nothing(frame: SFrame, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made, fill = expected_of("by texts", frame), made_of("by texts", frame), ShuffleStore.fill

    def damaged(self: ShuffleStore, *given: Any) -> None:
        fill(self, *given)
        for path in Path(temporary_store().directory).rglob("shuffle-*"):
            if change == "deleted":
                path.unlink()
            else:
                content = path.read_bytes()
                path.write_bytes(content[:900] + bytes([content[900] ^ 1]) + content[901:])

    with monkeypatch.context() as patch:
        patch.setattr(ShuffleStore, "fill", damaged)
        with pytest.raises(StorageError, match=r"temporary rows in .* (differ from those that were written|are missing)"):
            materialize(made._node, NOTHING_SMALL)
    assert files_left() == [] and rows_equal(rows_of(made), expected)


def changed_messages(monkeypatch: pytest.MonkeyPatch, change: Callable[[Message], Message | None]) -> None:
    """Receivers get other messages than were sent."""
    add = Inbox.add

    def added(self: Inbox, message: Message) -> None:
        changed = change(message)
        if changed is not None:
            add(self, changed)

    monkeypatch.setattr(Inbox, "add", added)


@pytest.mark.parametrize("tasks", [MESSAGES], indirect=True)
@pytest.mark.parametrize("change", ["one bit", "lost", "fewer rows"])
def test_messages_that_are_not_those_sent_are_told(frame: SFrame, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made = expected_of("by texts", frame), made_of("by texts", frame)

    def changed(message: Message) -> Message | None:
        if (message.sender, message.number) != (2, 1):
            return message
        if change == "lost":
            return None
        if change == "one bit":
            content = message.content.to_pybytes()
            return attrs.evolve(message, content=pa.py_buffer(content[:90] + bytes([content[90] ^ 1]) + content[91:]))
        partition, rows, unpacked, check = message.tags
        return attrs.evolve(message, tags=(partition, rows - 1, unpacked, check))

    words = {
        "one bit": "differ from those that were written",
        "lost": "rows came through a shuffle of Spark, but 1,500 were sent",
        "fewer rows": "were read, but 186 were written",
    }
    with monkeypatch.context() as patch:
        changed_messages(patch, changed)
        with pytest.raises(StorageError, match=words[change]):
            materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected)


@pytest.mark.parametrize("tasks", [FILES], indirect=True)
def test_rows_that_are_lost_are_told(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = ShuffleStore.partition

    def short(self: ShuffleStore, number: int) -> PartitionRows:
        rows = partition(self, number)
        return attrs.evolve(rows, runs=rows.runs[1:])

    monkeypatch.setattr(ShuffleStore, "partition", short)
    with pytest.raises(StorageError, match="temporary rows of a range were read, but"):
        materialize(made_of("by texts", frame)._node, NOTHING_SMALL)


@pytest.mark.parametrize("ascending", [True, False])
def test_rows_of_one_value_need_no_room(ascending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_BYTES_OF_RANGE_OF_TASK", ROWS * 4)
    frame = SFrame({"k": [row % 97 if row % 4 == 0 else 5 for row in range(ROWS)], "t": range(ROWS)})
    with config.using(small_rows=10 * ROWS, memory_budget=1 << 20):
        expected = rows_of(frame.sort("k", ascending))
    asked, made = list[Any](), frame.sort("k", ascending)
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected) and not asked


def test_the_quota_counts_what_is_exchanged(frame: SFrame) -> None:
    with config.using(temporary_quota=1_000), pytest.raises(StorageError, match=r"config\.temporary_quota"):
        materialize(made_of("by texts", frame)._node, NOTHING_SMALL)
    assert files_left() == []


def test_many_cores_have_no_more_ranges_than_there_may_be_pieces(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SentToThreads, "parallelism", lambda self: 500)
    monkeypatch.setattr(costs, "MAX_RUNS_OF_SHUFFLE", 300)
    expected, made, pieces, of = expected_of("by texts", frame), made_of("by texts", frame), list[int](), range_shuffle.ExchangeOfTasks.of

    def counted(*given: Any) -> Any:
        exchange = of(*given)
        assert exchange is not None
        pieces.append(len(exchange.tasks) * exchange.ranges.count)
        return exchange

    monkeypatch.setattr(range_shuffle.ExchangeOfTasks, "of", counted)
    materialize(made._node, MaterializeOptions(in_memory=0, segments=3))
    assert pieces and 0 < pieces[0] <= 300 and rows_equal(rows_of(made), expected)


@pytest.mark.parametrize("why", ["no room", "too many tasks"])
def test_otherwise_it_is_a_query(frame: SFrame, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    if why == "no room":
        monkeypatch.setattr(costs, "MAX_BYTES_OF_RANGE_OF_TASK", 100)
    else:
        monkeypatch.setattr(costs, "MAX_RUNS_OF_SHUFFLE", 100)
    made = made_of("by texts", frame)
    with pytest.raises(AttributeError):
        materialize(made._node, MaterializeOptions(in_memory=0, segments=50))
    assert len(asked) == 1 and files_left() == []


@pytest.mark.parametrize("tasks", [MESSAGES], indirect=True)
def test_results_are_on_an_object_store(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["by texts", "groups by floats"]
    expected = {name: expected_of(name, frame) for name in names}
    monkeypatch.undo()
    with object_store() as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "is_spark_local", lambda: False)
        for module in (range_shuffle, section_runner):
            patch.setattr(module, "SparkTaskRunner", SentToThreads)
        patch.setattr(costs, "BYTES_OF_RANGE_OF_TASK", 9_000)
        with config.using(temporary_directory=f"{store.uri}/tmp", storage_options={"s3://": store.options}):
            for name in names:
                made = made_of(name, frame)
                materialize(made._node, NOTHING_SMALL)
                assert isinstance(made._node.operator, SegmentSource) and made._node.operator.manifest.directory.startswith(store.uri)
                assert rows_equal(rows_of(made), expected[name])
            frame.sort("s").save(f"{store.uri}/saved")
            assert rows_equal(rows_of(load_sframe(f"{store.uri}/saved", verify=True)), expected_of("by texts, ascending", frame))


# Keys for which exchanges of other engines lost rows, or failed: SPARK-56899 (all keys missing), dask/distributed 8092 (no values in a partition),
# ray 64733 (rows of no bytes), duckdb 14132 (groups of large values).
NAN = float("nan")
KEYS: dict[str, list[Any]] = {
    "all missing": [None] * 240,
    "one": [7] * 240,
    "one has most rows": [row if row % 10 == 0 else 5 for row in range(240)],
    "all different": [row * 7919 % 241 for row in range(240)],
    "floats": [NAN, None, 0.0, -0.0, float("inf"), float("-inf"), 1.5, -0.0] * 30,
    "long texts": ["x" * (row % 7 * 900) for row in range(240)],
}


@pytest.mark.parametrize(("keys", "program"), part(product(KEYS, ["sort", "groups"]), 3))
def test_keys_that_others_met(keys: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> SFrame:
        if program == "sort":
            return frame.sort("k")
        return frame.groupby("k", {"rows": aggregate.COUNT(), "first": aggregate.SELECT_ONE("n"), "wide": aggregate.ARGMAX("n", "wide")})

    rows, more = range(241), next((key for key in KEYS[keys] if key is not None), 1)
    saved = {"k": [*KEYS[keys], more], "n": rows, "none": [None] * 241, "wide": [f"{row:04d}" + "y" * (row % 5 * 700) for row in rows]}
    SFrame(saved).save(str(tmp_path / "rows"))
    frame = load_sframe(str(tmp_path / "rows"))
    # One row more than there are keys is left out, so that the column has a type where all keys are missing.
    frame = frame[frame["n"] < 240]
    with config.using(small_rows=10 * ROWS, memory_budget=1 << 28):
        expected = rows_of(made())
    asked = list[Any]()
    monkeypatch.setattr(QueryShape, "run", lambda self, section, runner: asked.append(section.root) or StopIteration)
    monkeypatch.setattr(costs, "MAX_BYTES_OF_PARTIAL_STATES", 1)
    monkeypatch.setattr(costs, "MIN_BYTES_OF_PARTIAL_STATE", 1)
    found = made()
    materialize(found._node, NOTHING_SMALL)
    assert rows_equal(rows_of(found), expected) and not asked and files_left() == []
