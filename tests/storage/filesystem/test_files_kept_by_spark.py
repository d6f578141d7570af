"""Files that Spark keeps in blocks are written in one task and read in another, and the driver fetches parts of them; no Spark runs here."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from sframe_spark.engine.task_pickling import SharedValue, pack_tasks
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.blocks_kept_by_spark import FilesKeptBySpark, in_tasks, numbers_received, with_blocks
from sframe_spark.operators.sources.segments_read_in_spark import files_of_rows
from sframe_spark.storage.datasets.dataset_copies import copied_dataset
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.filesystem import files_kept_by_spark
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, FileBlock, FilesOfTask
from sframe_spark.storage.filesystem.temporary_datasets import kept_store
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT, STR

DIRECTORY = "kept-by-spark://place/dataset-000001"
ROWS = 3_000
TYPES = (INT, STR)


class FakeDataFrame:
    """What Spark would keep: blocks of two partitions, of which each counts how often it is asked."""

    def __init__(self, blocks: Sequence[FileBlock]) -> None:
        self.blocks, self.asked, self.is_released = list(blocks), list[tuple[int, tuple[int, ...]]](), False

    def some_rows(self, partition: int, values: Mapping[str, Sequence[Any]]) -> pa.Table:
        self.asked.append((partition, tuple(values["start"])))
        rows = [block for block in self.blocks if block.file in values["file"] and block.start in values["start"]]
        return pa.table({"start": [row.start for row in rows], "content": [row.content.to_pybytes() for row in rows]})

    @property
    def df(self) -> Any:
        if self.is_released:
            raise RuntimeError("gone")
        return self

    def count(self) -> int:
        return len(self.blocks)

    def release(self) -> None:
        self.is_released = True


@attrs.frozen(eq=False)
class Plan(SharedValue):
    """What tasks share."""

    manifest: Manifest


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Files have many blocks, and tasks have a directory of their own."""
    from sframe_spark.operators.sources import blocks_kept_by_spark

    for module in (files_kept_by_spark, blocks_kept_by_spark):
        monkeypatch.setattr(module, "BYTES_OF_BLOCK", 1000)
    monkeypatch.setattr(files_kept_by_spark, "BYTES_OF_FETCH", 4000)
    (tmp_path / "executor").mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "executor"))
    monkeypatch.setattr(KEPT_FILES, "keeper", None)
    yield
    assert os.listdir(tmp_path / "executor") == []


def write(number: int) -> Any:
    """Write a segment as a task does."""
    rows = range(number * ROWS, (number + 1) * ROWS)
    return write_segment(DIRECTORY, number, TYPES, [[pa.array(rows), pa.array([f"row {row * 7919 % 6007}" for row in rows])]])


@pytest.fixture
def kept() -> tuple[Manifest, list[FileBlock]]:
    """Two segments that two tasks have written, as their blocks."""
    entries, blocks = [], list[FileBlock]()
    for number in range(2):
        with FilesOfTask() as files, KEPT_FILES.kept_by(files):
            entries.append(write(number))
            blocks += files.drained()
    return publish(DIRECTORY, TYPES, entries), blocks


def keeper_of(blocks: Sequence[FileBlock]) -> tuple[FilesKeptBySpark, FakeDataFrame]:
    """The driver's keeper of blocks."""
    keeper, frame = FilesKeptBySpark(), FakeDataFrame(blocks)
    keeper.add(frame, [(block.file, block.start, block.content.size, 0) for block in blocks])  # type: ignore[arg-type]
    KEPT_FILES.keeper = keeper
    return keeper, frame


def test_another_task_reads_what_a_task_has_written(kept: tuple[Manifest, list[FileBlock]]) -> None:
    manifest, blocks = kept
    assert len(blocks) > 10 and all(block.content.size <= 1000 for block in blocks)
    with FilesOfTask() as files, KEPT_FILES.kept_by(files):
        for block in reversed(blocks):
            files.add(block)
        assert read_rows(manifest, [0], 10, 5_000).column(0).to_pylist() == list(range(10, 5_000))


def test_a_task_without_the_files_says_that_they_are_lost(kept: tuple[Manifest, list[FileBlock]]) -> None:
    with FilesOfTask() as files, KEPT_FILES.kept_by(files), pytest.raises(StorageError, match="no executor of Spark has them any more"):
        read_rows(kept[0], [0])


def test_a_changed_block_is_found(kept: tuple[Manifest, list[FileBlock]]) -> None:
    manifest, blocks = kept
    changed = bytearray(blocks[2].content.to_pybytes())
    changed[500] ^= 1
    with FilesOfTask() as files, KEPT_FILES.kept_by(files):
        for block in [*blocks, FileBlock(blocks[2].file, blocks[2].start, pa.py_buffer(bytes(changed)))]:
            files.add(block)
        with pytest.raises(StorageError, match="is damaged"):
            read_rows(manifest, [0, 1])


def test_the_driver_fetches_only_the_blocks_of_a_few_rows_once(kept: tuple[Manifest, list[FileBlock]]) -> None:
    manifest, blocks = kept
    _, frame = keeper_of(blocks)
    assert read_rows(manifest, [0], 7, 8).column(0).to_pylist() == [7]
    fetched = {start for _, starts in frame.asked for start in starts}
    assert 0 < len(fetched) < len({block.start for block in blocks})
    assert read_rows(manifest, [0, 1]).column(0).to_pylist() == list(range(2 * ROWS))


def test_a_copy_elsewhere_has_the_same_rows(kept: tuple[Manifest, list[FileBlock]], tmp_path: Path) -> None:
    manifest, blocks = kept
    keeper_of(blocks)
    (tmp_path / "copy").mkdir()
    copy = copied_dataset(manifest, str(tmp_path / "copy"))
    assert read_rows(copy, [1]).equals(read_rows(manifest, [1]))


def test_files_that_spark_has_no_more_are_not_listed(kept: tuple[Manifest, list[FileBlock]]) -> None:
    keeper, frame = keeper_of(kept[1])
    assert len(keeper.sizes_below(DIRECTORY)) == 2
    frame.is_released = True
    assert keeper.sizes_below(DIRECTORY) == {}


def test_spark_lets_go_of_the_files_of_a_dataset_that_nobody_has(kept: tuple[Manifest, list[FileBlock]]) -> None:
    keeper, frame = keeper_of([])
    assert frame.is_released
    keeper.add(frame := FakeDataFrame(kept[1]), [(f"{(handle := kept_store().new_dataset()).directory}/a", 0, 9, 0)])  # type: ignore[arg-type]
    handle.discard()
    for _ in range(1000):
        if frame.is_released:
            break
        time.sleep(0.01)
    assert frame.is_released and keeper.sizes_below(kept_store().directory) == {}


def test_tasks_say_which_files_they_read_and_where_they_write(kept: tuple[Manifest, list[FileBlock]]) -> None:
    manifest, _ = kept
    files = [f"{DIRECTORY}/{entry.file}" for entry in manifest.segments]
    assert files_of_rows(manifest, 0, ROWS) == files[:1] and files_of_rows(manifest, ROWS - 1, ROWS + 1) == files
    payloads, shared = pack_tasks([partial(read_rows, manifest.between(0, 5), [0]), partial(write_segment, DIRECTORY, 0), partial(divmod, 7)])
    assert [set(payload.kept.read) for payload in payloads] == [{files[0]}, set(), set()]
    assert [set(payload.kept.written) for payload in payloads] == [set(), {DIRECTORY}, set()]
    assert shared == []


def test_all_tasks_read_the_files_that_shared_values_name(kept: tuple[Manifest, list[FileBlock]]) -> None:
    manifest, _ = kept
    KEPT_FILES.keeper = FilesKeptBySpark()
    payloads, _ = pack_tasks([partial(read_rows, Plan(manifest))] * 2)
    assert [len(payload.kept.read) for payload in payloads] == [2, 2]


def test_functions_in_tasks_use_the_files_of_their_own_process() -> None:
    def reading() -> Any:
        return KEPT_FILES

    assert pickle.loads(cloudpickle.dumps(reading))() is KEPT_FILES


def test_blocks_travel_with_results_and_to_tasks(kept: tuple[Manifest, list[FileBlock]]) -> None:
    """As batches of Arrow: what one task gives is what the next is given, with the numbers of its tasks."""
    manifest, _ = kept

    def results(files: FilesOfTask) -> Iterator[pa.RecordBatch]:
        with KEPT_FILES.kept_by(files):
            for number in range(2):
                yield pa.RecordBatch.from_pydict({"entry": [write(number).file]})

    with FilesOfTask() as files:
        given = list(with_blocks(results(files), files))
    names = [name for batch in given for name in batch.column("entry").to_pylist() if name]
    assert len(names) == 2 and {batch.num_rows for batch in given} == {1}
    rows = [[pa.array([5], pa.int32()), *batch.columns[1:]] for batch in given if batch.column("file").null_count == 0]
    marker = [pa.array([5], pa.int32()), pa.nulls(1, pa.string()), pa.nulls(1, pa.int64()), pa.nulls(1, pa.binary())]
    batches = [pa.RecordBatch.from_arrays(row, ["number", "file", "start", "content"]) for row in [rows[0], marker, *rows[1:]]]
    again = manifest.with_segments(tuple(attrs.evolve(entry, file=name) for entry, name in zip(manifest.segments, names, strict=True)))

    def work(numbers: list[int], files: FilesOfTask) -> Iterator[pa.RecordBatch]:
        assert numbers == [5] and len(files.sizes_below(DIRECTORY)) == 2
        yield pa.RecordBatch.from_pydict({"n": read_rows(again, [0]).column(0).to_pylist()})

    (found,) = in_tasks(work)(iter(batches))
    assert found.column(0).to_pylist() == list(range(2 * ROWS))
    assert numbers_received([pa.RecordBatch.from_pydict({"id": [3, 4]})], FilesOfTask()) == [3, 4]
