"""Rows that are exchanged between threads, in memory and on disk, are those that one kernel makes of all rows."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime import shuffle_store
from sframe_spark.engine.runtime.shuffle_store import PartitionRows, ShuffleStore
from sframe_spark.engine.shapes import partitioned_operators, sample as sample_module
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.errors import StorageError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.operators import sort_top_rows_and_assumed_order as sort_operators
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner import chunk as pieces
from sframe_spark.planner.chunk import Chunk
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import is_started
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from sframe_spark.testing.oracle_functions import rows_equal
from tests.examples import part, square
from tests.explain.plans_and_runs import compared, printed, without_sources
from tests.strategies import RANGE_SHUFFLE_BY_THREADS, SAMPLE_BY_THREADS, SPARK_QUERY

ROWS, SEGMENT_ROWS = 1_500, 350
Program = Callable[[SFrame], SFrame]
# Bytes of work: all rows have room; some of them; hardly any.
WORK = [None, 200_000, 60_000]
NOTHING_SMALL = MaterializeOptions(in_memory=0)


@pytest.fixture(autouse=True)
def many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows count as many, and no Spark is started."""
    started = is_started()
    monkeypatch.setattr(pieces, "MIN_CHUNK_ROWS", 30)
    monkeypatch.setattr(costs, "MIN_ROWS_SPLIT", 100)
    monkeypatch.setattr(costs, "ROWS_OF_RANGE", 200)
    with config.using(small_rows=100, segment_rows=SEGMENT_ROWS, batch_rows=90, progress="off", temporary_directory=str(tmp_path / "temporary")):
        yield
    assert is_started() == started


@pytest.fixture(scope="module")
def saved_rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a frame of several segments."""
    choose = random.Random(4)
    rows = range(ROWS)
    made = SFrame(
        {
            "i": choose.sample(rows, ROWS),
            "k": [None if row % 61 == 0 else choose.randrange(90) for row in rows],
            "f": [[None, float("nan"), -0.0, 0.0][row % 4] if row % 50 < 4 else round(choose.uniform(-9, 9), 1) for row in rows],
            "s": [None if row % 57 == 0 else "é" * choose.randrange(9) + str(choose.randrange(40)) for row in rows],
            "t": rows,
        }
    )
    directory = str(tmp_path_factory.mktemp("exchanged") / "saved")
    with config.using(segment_rows=SEGMENT_ROWS):
        made.save(directory)
    return directory


@pytest.fixture
def frame(saved_rows: str) -> SFrame:
    return load_sframe(saved_rows)


def derived(sf: SFrame) -> SFrame:
    chosen = sf[sf["i"] % 3 != 0]
    chosen["sum"] = chosen["t"].cumulative_sum() % 1009
    return chosen


def nearly_in_order(sf: SFrame) -> SFrame:
    sf["near"] = sf["t"] + sf["i"] % 5
    return sf


PROGRAMS: dict[str, Program] = {
    "sort by different ints": lambda sf: sf.sort("i"),
    "by ints that tie, descending": lambda sf: sf.sort("k", ascending=False),
    "by floats, then texts": lambda sf: sf.sort([("f", False), ("s", True)]),
    "by texts": lambda sf: sf.sort([("s", False), ("f", True)]),
    "of a filter with running values": lambda sf: derived(sf).sort("sum", ascending=False),
    "of rows nearly in order": lambda sf: nearly_in_order(sf).sort("near"),
    "all values of groups": lambda sf: sf.groupby(["k", "s"], {"all": aggregate.CONCAT("t"), "n": aggregate.COUNT()}),
    "groups by floats": lambda sf: derived(sf).groupby("f", {"all": aggregate.CONCAT("i"), "first": aggregate.SELECT_ONE("t")}),
    "of no rows": lambda sf: sf[sf["i"] < 0].sort("i"),
    "by texts, ascending": lambda sf: sf.sort("s"),
}


FIRST: dict[str, Program] = {
    "by ints": lambda sf: sf.sort("i").head(850),
    "by texts": lambda sf: sf.sort([("s", False), ("f", True)]).head(555),
    "all that tie": lambda sf: sf.topk("k", 750),
    "of a value that most have": lambda sf: SFrame({"k": sf["i"] // 1_000, "t": sf["t"], "s": sf["s"]}).sort("k").head(617),
    "more than there are": lambda sf: derived(sf).sort("k").head(1_450),
    "of no rows": lambda sf: sf[sf["i"] < 0].sort("i").head(500),
}


def rows_of(frame: SFrame) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in frame]


def expected_of(name: str, frame: SFrame) -> list[tuple[Any, ...]]:
    with config.using(small_rows=10 * ROWS):
        return rows_of(PROGRAMS[name](frame))


@pytest.mark.parametrize("filtered", [False, True])
def test_samples_are_printed_and_run_as_sections(frame: SFrame, filtered: bool) -> None:
    """The only operators below the sort that a sample needs, and no more values than are looked at."""
    made = (frame[frame["t"] > 7] if filtered else frame).sort("f")
    sample, exchange = printed(made._node)
    assert (sample.number, sample.strategy, exchange.number, exchange.strategy) == ("1", SAMPLE_BY_THREADS, "2", RANGE_SHUFFLE_BY_THREADS)
    assert "filter_rows" in sample.operators if filtered else without_sources(sample.operators) == []
    assert compared(made._node) == []
    ran = made._node.ran.outcomes
    assert [outcome.number for outcome in ran] == ["1", "2"] and 0 < ran[0].rows <= ROWS


def test_no_sample_is_read_where_rows_turn_out_to_be_few(frame: SFrame) -> None:
    made = frame.groupby("k", {"n": aggregate.COUNT()}).sort("n")
    assert [(section.number, section.strategy) for section in printed(made._node)[-2:]] == [("2", SAMPLE_BY_THREADS), ("3", RANGE_SHUFFLE_BY_THREADS)]
    assert compared(made._node) == []
    assert [outcome.number for outcome in made._node.ran.outcomes] == ["1", "3"]


def files_left() -> list[str]:
    store = scratch_store().directory
    return [name for place in os.listdir(store) if place.startswith("dataset-") for name in os.listdir(os.path.join(store, place))]


# The normal run takes each way with one program, and nine of the programs.
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "work", "segments"), part(product(PROGRAMS, WORK, [None, 1, 7]), 19))
def test_rows_are_those_of_one_kernel(frame: SFrame, name: str, work: int | None, segments: int | None) -> None:
    expected, made = expected_of(name, frame), PROGRAMS[name](frame)
    with config.using(work_memory=work):
        assert plan_dry_run(made._node).sections[-1].strategy == RANGE_SHUFFLE_BY_THREADS
        materialize(made._node, MaterializeOptions(in_memory=0, segments=segments))
    assert isinstance(made._node.operator, MemorySource) and files_left() == []
    assert rows_equal(rows_of(made), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "how"), square(3, FIRST, [(60_000, None), (60_000, 7), (150_000, 1)]))
def test_many_first_rows_are_those_of_the_first_ranges(
    frame: SFrame, name: str, how: tuple[int, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    work, segments = how
    with config.using(small_rows=10 * ROWS):
        expected = rows_of(FIRST[name](frame))
    # As where they are so many that each task should not send as many.
    monkeypatch.setattr(sort_operators, "MAX_ROWS_SENT", 450)
    kernels, kernel = list[int](), sort_operators.TopRows.kernel
    monkeypatch.setattr(sort_operators.TopRows, "kernel", lambda self, inputs, facts: kernels.append(inputs[0].rows) or kernel(self, inputs, facts))
    with config.using(work_memory=work):
        made = FIRST[name](frame)
        assert plan_dry_run(made._node).sections[-1].strategy == RANGE_SHUFFLE_BY_THREADS
        materialize(made._node, MaterializeOptions(in_memory=0, segments=segments))
    assert rows_equal(rows_of(made), expected) and files_left() == []
    # What comes behind the rows that are wanted is not put in order.
    assert sum(kernels) < max(1, 2 * len(expected))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("work", WORK)
def test_rows_that_are_not_kept_are_written(frame: SFrame, work: int | None, tmp_path: Path) -> None:
    expected, made = expected_of("by texts", frame), PROGRAMS["by texts"](frame)
    with config.using(work_memory=work, kept_memory=0):
        PROGRAMS["by texts"](frame).save(str(tmp_path / "again"))
        materialize(made._node, NOTHING_SMALL)
    assert isinstance(made._node.operator, SegmentSource)
    assert rows_equal(rows_of(made), expected) and rows_equal(rows_of(load_sframe(str(tmp_path / "again"))), expected)
    assert not any(name.startswith("shuffle") for name in files_left())


def test_what_was_put_on_disk_is_told(frame: SFrame) -> None:
    told = {work: PROGRAMS["by texts"](frame) for work in (None, 60_000)}
    for work, made in told.items():
        with config.using(work_memory=work):
            text = made.explain(analyze=True)
        assert "each range of a column at once" in text and ("0 bytes spilled" in text) == (work is None)


@pytest.mark.parametrize("name", ["by texts", "all values of groups"])
def test_too_many_ranges_are_a_query(frame: SFrame, name: str) -> None:
    with config.using(work_memory=500):
        assert plan_dry_run(PROGRAMS[name](frame)._node).sections[-1].strategy == SPARK_QUERY


def saved(tmp_path: Path, share: float, length: Callable[[int], int]) -> SFrame:
    """Rows of which a share has one key, with texts that the key makes long."""
    choose = random.Random(5)
    keys = [5 if choose.random() < share else choose.randrange(3_000) for _ in range(3_000)]
    SFrame({"k": keys, "s": ["x" * length(key) for key in keys], "t": range(3_000)}).save(str(tmp_path / "few"))
    return load_sframe(str(tmp_path / "few"))


HEAVY: dict[str, Program] = {
    "sort": lambda sf: sf.sort(["k", "t"]),
    "descending": lambda sf: sf.sort(["k", "t"], ascending=False),
    "groups": lambda sf: sf.groupby("k", {"all": aggregate.CONCAT("t"), "s": aggregate.SELECT_ONE("s")}),
}


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("kept", [None, 0])
@pytest.mark.parametrize("name", HEAVY)
def test_a_range_without_room_is_a_query_that_finds_nothing_written(spark: Any, tmp_path: Path, name: str, kept: int | None) -> None:
    frame = saved(tmp_path, 0.5, lambda key: 40)
    with config.using(small_rows=10 * ROWS):
        expected = rows_of(HEAVY[name](frame))
    with config.using(work_memory=160_000, kept_memory=kept):
        made = HEAVY[name](frame)
        assert plan_dry_run(made._node).sections[-1].strategy == RANGE_SHUFFLE_BY_THREADS
        made.save(str(tmp_path / "made"))
        looked_at = HEAVY[name](frame)
        materialize(looked_at._node, NOTHING_SMALL)
    assert rows_equal(rows_of(load_sframe(str(tmp_path / "made"))), expected) and rows_equal(rows_of(looked_at), expected)


# What half of the rows have; the others have the numbers, or texts, of rows.
OFTEN: dict[str, Callable[[int], Any]] = {
    "int": lambda row: 5 if row % 2 else row,
    "largest int": lambda row: 2**63 - 1 if row % 2 else row,
    "missing int": lambda row: None if row % 2 else row - 40,
    "float": lambda row: -0.0 if row % 2 else row - 40.5,
    "text": lambda row: "row 7" if row % 2 else f"row {row}",
    "missing text": lambda row: None if row % 2 else f"row {row}",
    "all but one": lambda row: "a" if row != 750 else "",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "ascending", "kept"), square(3, OFTEN, [True, False], [None, 0]))
def test_rows_of_one_value_need_no_room(tmp_path: Path, name: str, ascending: bool, kept: int | None) -> None:
    SFrame({"k": list(map(OFTEN[name], range(ROWS))), "s": ["x" * 60] * ROWS, "t": range(ROWS)}).save(str(tmp_path / "often"))
    frame = load_sframe(str(tmp_path / "often"))
    with config.using(small_rows=10 * ROWS):
        expected = rows_of(frame.sort("k", ascending))
    with config.using(work_memory=80_000, kept_memory=kept):
        made = frame.sort("k", ascending)
        assert plan_dry_run(made._node).sections[-1].strategy == RANGE_SHUFFLE_BY_THREADS
        made.save(str(tmp_path / "made"))
        materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(load_sframe(str(tmp_path / "made"))), expected) and rows_equal(rows_of(made), expected)
    assert not any(name.startswith("shuffle") for name in files_left())


@pytest.mark.parametrize("threads", [1, 4])
def test_what_is_worked_on_at_a_time_keeps_within_the_memory_for_work(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = 400_000
    monkeypatch.setattr(site, "local_threads", lambda: threads)
    monkeypatch.setattr(partitioned_operators.ThreadRunner, "parallelism", lambda self: threads)
    # Ranges of all sizes, from a thread's share to nearly all that there is.
    frame = saved(tmp_path, 0, lambda key: 400 if key < 600 else key // 12)
    take, seen, running, lock = PartitionRows.take, list[tuple[int, int]](), list[int](), threading.Lock()
    stores, partition = list[ShuffleStore](), ShuffleStore.partition

    def slow(self: PartitionRows) -> Any:
        rows = take(self)
        with lock:
            running.append(rows.size)
            seen.append((len(running), stores[0].buffered_bytes + costs.COPIES_OF_GATHERED * sum(running)))
        time.sleep(0.01)
        with lock:
            running.remove(rows.size)
        return rows

    with config.using(work_memory=work):
        made = frame.sort("k")
        monkeypatch.setattr(PartitionRows, "take", slow)
        monkeypatch.setattr(ShuffleStore, "partition", lambda self, number: stores.append(self) or partition(self, number))
        materialize(made._node, NOTHING_SMALL)
    at_once = [size for count, size in seen if count > 1]
    assert bool(at_once) == (threads > 1) and max(at_once, default=0) <= work
    # Whoever works alone has what was meant for all, and there is what others hold.
    assert max(size for _, size in seen) <= work + work // costs.COPIES_OF_GATHERED


def test_memory_that_is_gone_when_rows_are_exchanged_is_told_by_nothing_but_the_plan(frame: SFrame) -> None:
    node = PROGRAMS["by texts"](frame)._node
    with config.using(work_memory=0):
        assert partitioned_operators.key_ranges_of(SectionRunner(NOTHING_SMALL, [], frozenset()), node).count <= costs.MAX_RANGES


@pytest.mark.parametrize("count", [5, 60])
def test_ranges_of_rows_nearly_in_order_are_even(frame: SFrame, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "VALUES_OF_RANGE_SAMPLE", 300)
    monkeypatch.setattr(costs, "POSITIONS_OF_RANGE_SAMPLE", 6)
    monkeypatch.setattr(partitioned_operators, "ranges_for", lambda weight, at: count)
    near = nearly_in_order(frame)
    ranges = partitioned_operators.key_ranges_of(SectionRunner(NOTHING_SMALL, [], frozenset()), near.sort("near")._node)
    rows = np.bincount(ranges.range_numbers(pa.array(near["near"], pa.int64())), minlength=ranges.count)
    assert ranges.count == count and rows.max() <= costs.UNEVENNESS_OF_RANGES * ROWS / count


@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("length", [1, 40, 3_000])
def test_a_sample_holds_its_values_and_no_rows_beside_them(tmp_path: Path, length: int, is_saved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    most, found = 64_000, list[Chunk]()
    preview_values = sample_module.first_values_of
    monkeypatch.setattr(costs, "MAX_BYTES_OF_RANGE_SAMPLE", most)
    monkeypatch.setattr(sample_module, "first_values_of", lambda *asked: found.append(preview_values(*asked)) or found[-1])
    frame = SFrame({"s": [f"{row % 997:04}" * length for row in range(ROWS)]})
    if is_saved:
        frame.save(str(tmp_path / "texts"))
        frame = load_sframe(str(tmp_path / "texts"))
    sample = sample_module.sample_of(optimize(frame._node), 8, partitioned_operators.ThreadRunner()).columns[0]
    assert len(found) == 8 and len(sample.unique()) >= 8 and len(sample) <= ROWS
    # What an array holds is whole blocks of memory; of long texts there is one from each place at least.
    assert sum(chunk.columns[0].get_total_buffer_size() for chunk in found) <= most + 8 * (4 * length + 1_024)


def damaged(change: Callable[[bytes], bytes]) -> Callable[..., None]:
    write = ShuffleStore._write

    def written(self: ShuffleStore, full: Any, path: str, number: int) -> None:
        write(self, full, path, number)
        Path(path).write_bytes(change(Path(path).read_bytes()))

    return written


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda payload: payload[: len(payload) // 2],
    "one bit": lambda payload: payload[:900] + bytes([payload[900] ^ 1]) + payload[901:],
    "emptied": lambda payload: b"",
}


@pytest.mark.parametrize("change", CHANGES)
def test_damage_on_disk_is_told(frame: SFrame, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made = expected_of("by texts", frame), PROGRAMS["by texts"](frame)
    with monkeypatch.context() as patch, config.using(work_memory=60_000):
        patch.setattr(ShuffleStore, "_write", damaged(CHANGES[change]))
        with pytest.raises(StorageError, match=r"temporary rows in .* differ from those that were written"):
            materialize(made._node, NOTHING_SMALL)
    assert files_left() == [] and rows_equal(rows_of(made), expected)


def test_files_that_somebody_deletes_are_told(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made, take = expected_of("by texts", frame), PROGRAMS["by texts"](frame), PartitionRows.take

    def taken(self: PartitionRows) -> Any:
        for path in (file for place in os.scandir(scratch_store().directory) for file in Path(place).glob("shuffle-*")):
            path.unlink(missing_ok=True)
        return take(self)

    with monkeypatch.context() as patch, config.using(work_memory=60_000):
        patch.setattr(PartitionRows, "take", taken)
        with pytest.raises(StorageError, match="are missing: files were deleted while in use; try again"):
            materialize(made._node, NOTHING_SMALL)
    assert files_left() == [] and rows_equal(rows_of(made), expected)


def test_rows_that_are_lost_are_told(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = PartitionRows.stream
    monkeypatch.setattr(PartitionRows, "stream", lambda self: stream(attrs.evolve(self, runs=self.runs[1:])))
    with pytest.raises(StorageError, match="temporary rows of a range were read, but"):
        materialize(PROGRAMS["by texts"](frame)._node, NOTHING_SMALL)


def test_a_full_disk_loses_nothing(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made = expected_of("by texts", frame), PROGRAMS["by texts"](frame)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, config.using(work_memory=60_000):
        patch.setattr(shuffle_store, "to_message", full)
        with pytest.raises(StorageError, match="cannot write temporary rows to"):
            materialize(made._node, NOTHING_SMALL)
    assert files_left() == [] and rows_equal(rows_of(made), expected)


def test_the_quota_of_temporary_data_counts_them(frame: SFrame) -> None:
    made = PROGRAMS["by texts"](frame)
    with config.using(work_memory=60_000, temporary_quota=5_000), pytest.raises(StorageError, match="quota"):
        materialize(made._node, NOTHING_SMALL)
    assert files_left() == []
