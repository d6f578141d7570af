"""Rows that many threads give to an exchange take no more memory than was meant for them, and come back whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import config
from sframe_spark.compute.range_and_hash_partitioning import RangePartitioner, RowRangePartitioner
from sframe_spark.engine.runtime import exchange
from sframe_spark.engine.runtime.exchange import Exchange, SplitRows, runs_of
from sframe_spark.errors import StorageError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.process.threads import in_threads
from sframe_spark.types import INT, STR

THREADS, ROOM, BATCHES, ROWS = 8, 20_000, 12, 50


@pytest.fixture(autouse=True)
def in_a_directory(tmp_path: Path) -> Iterator[None]:
    with config.using(temporary_directory=str(tmp_path)):
        yield


def new_exchange() -> Exchange:
    return Exchange(RowRangePartitioner(0, RangePartitioner.of(pa.array(range(100)), INT, True, 4)), (INT, STR), ROOM)


def batch(task: int, number: int) -> Chunk:
    keys = [(task * 31 + number * 7 + row * 3) % 100 for row in range(ROWS)]
    return Chunk.of([pa.array(keys), pa.array([f"{task} {number} {row}" + "x" * (key if key > 75 else 0) for row, key in enumerate(keys)])])


def fill(rows: Exchange) -> None:
    in_threads(lambda task: [rows.add(task, batch(task, number)) for number in range(BATCHES)], range(THREADS), THREADS)


def test_threads_wait_where_a_disk_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    write, most, at_work, lock = Exchange._write, [0], [0], threading.Lock()

    def slow(self: Exchange, full: list[SplitRows], handle: Any, number: int) -> None:
        size = sum(split.rows.size for split in full)
        with lock:
            at_work[0] += size
        for _ in range(5):
            most[0] = max(most[0], at_work[0] + self.buffered_bytes)
            time.sleep(0.002)
        write(self, full, handle, number)
        with lock:
            at_work[0] -= size

    monkeypatch.setattr(Exchange, "_write", slow)
    with new_exchange() as rows:
        fill(rows)
        assert rows.written and ROOM < most[0] <= 2 * ROOM + batch(0, 0).size * 2


def test_who_waits_for_a_disk_ends_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        time.sleep(0.02)
        raise StorageError("the disk is full")

    monkeypatch.setattr(Exchange, "_write", full)
    with new_exchange() as rows, pytest.raises(StorageError, match="the disk is full"):
        fill(rows)


@pytest.mark.parametrize("most", [2**31 - 1, 3_000, 1])
def test_rows_of_a_range_come_back_in_order_and_their_size_is_known(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_BYTES_OF_ARRAY", most)
    with new_exchange() as rows:
        for number in range(BATCHES):
            for task in range(THREADS):
                rows.add(task, batch(task, number))
        assert rows._buffered and rows.written
        given = [pair for task in range(THREADS) for number in range(BATCHES) for pair in zip(*batch(task, number).columns, strict=True)]
        for number, size in enumerate(rows.sizes):
            found = rows.take(number)
            expected = [
                (key.as_py(), text.as_py()) for key, text in given if rows.parts.partition_numbers(Chunk.of([pa.array([key.as_py()])]))[0] == number
            ]
            assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected
            # Offsets of texts begin with each of the arrays that were given.
            assert found.size <= size <= found.size + 4 * THREADS * BATCHES


def test_runs_are_those_of_one_task_and_no_longer_than_an_array() -> None:
    pieces = [SplitRows(task, Chunk.of([pa.array(range(size))]), np.array([0, size])) for task, size in ((0, 4), (1, 9), (0, 4), (0, 4), (1, 1))]
    found = [[(split.task, split.rows.rows) for split in run] for run in runs_of(pieces, 64)]
    assert found == [[(0, 4), (0, 4)], [(1, 9)], [(0, 4)], [(1, 1)]]


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 70_000])
def test_rows_of_each_of_any_number_of_ranges_are_next_to_each_other(count: int) -> None:
    ranges = RangePartitioner(INT, True, pa.array(range(1, count), pa.int64()))
    keys = np.arange(2 * count)[::-1] * 7919 % count
    split = SplitRows.of(0, Chunk.of([pa.array(keys), pa.array(range(2 * count))]), RowRangePartitioner(0, ranges))
    assert split.rows.columns[0].equals(pa.array(np.sort(keys)))
    for number in {0, count // 2, count - 1}:
        rows = split.of_range(number)
        # Those of a range stay in their order.
        assert set(rows.columns[0].to_pylist()) == {number} and rows.columns[1].to_pylist() == np.flatnonzero(keys == number).tolist()
