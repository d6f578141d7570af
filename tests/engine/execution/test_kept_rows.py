"""What threads make stays in memory where there is room; where there is not, nothing is made twice and no row is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import result_storage
from sframe_spark.engine.runtime.result_storage import in_one_chunk, may_stay, reservation_for_results
from sframe_spark.engine.shapes import stream
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner import chunk as pieces
from sframe_spark.planner.chunk import ChunkedRows
from sframe_spark.process.memory import arrow_bytes
from sframe_spark.session import is_started
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

ROWS = 3_000
NONE_IN_MEMORY = MaterializeOptions(in_memory=0)


@pytest.fixture(autouse=True)
def over_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows count as many, temporary data has a place of its own, and no Spark is started."""
    started = is_started()
    monkeypatch.setattr(pieces, "MIN_CHUNK_ROWS", 30)
    with config.using(small_rows=100, segment_rows=700, batch_rows=90, progress="off", temporary_directory=str(tmp_path / "temporary")):
        yield
    assert is_started() == started


@pytest.fixture
def frame(tmp_path: Path) -> SFrame:
    place = str(tmp_path / "saved")
    texts = [None if row % 17 == 0 else "é" * (row % 5) for row in range(ROWS)]
    SFrame({"i": [row * 7 % ROWS for row in range(ROWS)], "t": range(ROWS), "s": texts}).save(place)
    return load_sframe(place)


def derived(sf: SFrame) -> SFrame:
    chosen = sf[sf["i"] % 3 != 0]
    chosen["more"] = chosen["i"] * 2 + chosen["t"]
    chosen["sum"] = chosen["t"].cumulative_sum()
    return chosen


def expected_of(sf: SFrame) -> list[Any]:
    with config.using(small_rows=10 * ROWS):
        return list(derived(sf))


def datasets() -> list[str]:
    """Directories of temporary datasets that are there."""
    return [name for name in os.listdir(temporary_store().directory) if name.startswith("dataset-")]


def give_room(monkeypatch: pytest.MonkeyPatch, size: int, max_in_column: int = 1 << 31) -> MemoryReservation:
    """Let the next result have so many bytes."""
    room = MemoryReservation(size, max_in_column)
    monkeypatch.setattr(stream, "reservation_for_results", lambda: room)
    return room


def test_rows_stay_in_memory(frame: SFrame) -> None:
    made = derived(frame)
    materialize(made._node, NONE_IN_MEMORY)
    operator = made._node.operator
    assert isinstance(operator, MemorySource) and isinstance(operator.data, ChunkedRows) and datasets() == []
    assert list(made) == expected_of(frame)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("share", [0, 1, 5, 40, 80, 99])
def test_rows_that_find_no_room_are_written_with_those_that_did(frame: SFrame, monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    expected, made, calls = expected_of(frame), derived(frame), []
    take = stream.chunks_of
    monkeypatch.setattr(stream, "chunks_of", lambda task: (calls.append(chunk.rows) or chunk for chunk in take(task)))
    size = sum(column.nbytes for column in derived(frame).to_arrow().columns)
    give_room(monkeypatch, size * share // 100)
    materialize(made._node, NONE_IN_MEMORY)
    assert isinstance(made._node.operator, SegmentSource) and len(datasets()) == 1
    assert list(made) == expected and sum(calls) == len(expected)
    del made
    assert datasets() == []


def test_texts_of_more_than_an_array_holds_are_written(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made = expected_of(frame), derived(frame)
    assert give_room(monkeypatch, 1 << 40, 5_000).max_in_column == 5_000
    materialize(made._node, NONE_IN_MEMORY)
    assert isinstance(made._node.operator, SegmentSource) and list(made) == expected


def test_a_disk_that_is_full_loses_nothing(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, made = expected_of(frame), derived(frame)
    give_room(monkeypatch, 10_000)

    def fails(*_: Any) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(result_storage, "write_segment", fails)
        with pytest.raises(StorageError, match="no space"):
            materialize(made._node, NONE_IN_MEMORY)
    assert datasets() == [] and threading.active_count() < 50
    assert list(made) == expected


def test_nothing_is_kept_where_nothing_may_be(frame: SFrame) -> None:
    with config.using(kept_memory=0):
        assert reservation_for_results().size == 0 and not may_stay()
        made = derived(frame)
        materialize(made._node, NONE_IN_MEMORY)
        assert isinstance(made._node.operator, SegmentSource) and list(made) == expected_of(frame)


def test_what_is_in_memory_already_counts() -> None:
    with config.using(kept_memory=arrow_bytes() + (4 << 20)):
        before = reservation_for_results().size
        assert 3 << 20 < before <= 4 << 20 and may_stay()
        held = pa.allocate_buffer(1 << 20)
        assert before - reservation_for_results().size == held.size and may_stay()
        more = pa.allocate_buffer(4 << 20)
        assert more.size and not may_stay() and reservation_for_results().size == 0


def test_what_is_made_of_rows_in_memory(frame: SFrame) -> None:
    made = derived(frame)
    materialize(made._node, NONE_IN_MEMORY)
    with config.using(small_rows=10 * ROWS):
        few = derived(frame)
        wanted = {"n": aggregate.COUNT(), "all": aggregate.CONCAT("more")}
        expected = [list(few.sort("i")), list(few.groupby("s", wanted)), list(few[few["more"] > 900]), few["sum"].sum()]
    assert [list(made.sort("i")), list(made.groupby("s", wanted)), list(made[made["more"] > 900]), made["sum"].sum()] == expected


def test_a_sort_stays_in_memory_and_is_saved_from_there(frame: SFrame, tmp_path: Path) -> None:
    made = frame.sort("i")
    materialize(made._node, NONE_IN_MEMORY)
    assert isinstance(made._node.operator, MemorySource)
    made.save(str(tmp_path / "sorted"))
    again = load_sframe(str(tmp_path / "sorted"))
    assert list(again["i"]) == sorted(range(ROWS))


def test_no_rows_and_no_columns(frame: SFrame) -> None:
    made = frame[frame["i"] < 0]
    materialize(made._node, NONE_IN_MEMORY)
    assert len(made) == 0 and made.column_names() == ["i", "s", "t"]
    assert in_one_chunk([], made._node.schema).rows == 0


def test_it_is_announced(frame: SFrame) -> None:
    with config.using(memory_budget=1000):
        assert "stay in memory as long as there is room" in derived(frame).explain()
    assert "stay in memory" not in derived(frame).explain()
