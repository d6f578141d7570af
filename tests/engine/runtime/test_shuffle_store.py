"""Rows that tasks add to a shuffle store come back whole and in order, in memory, in files of this process, and in files of other processes."""

from __future__ import annotations

import datetime
import gc
import os
import pickle
import resource
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SFrame, config
from sframe_spark.compute.range_and_hash_partitioning import HashPartitioner, RangePartitioner, RowRangePartitioner
from sframe_spark.engine.runtime import shuffle_store
from sframe_spark.engine.runtime.shuffle_store import ShuffleFiles, ShuffleStore, SplitRows, in_arrays
from sframe_spark.engine.runtime.task_runners import SequentialRunner, ThreadRunner
from sframe_spark.engine.task_pickling import pack_tasks
from sframe_spark.errors import PlanInvariantError, StorageError
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.types import INT, STR

TASKS, ROOM, BATCHES, ROWS = 6, 6_000, 6, 50
RANGES = RowRangePartitioner(0, RangePartitioner.of(pa.array(range(100)), INT, True, 4))


@pytest.fixture(autouse=True)
def in_a_directory(tmp_path: Path) -> Iterator[None]:
    with config.using(temporary_directory=str(tmp_path / "temporary")):
        yield


@attrs.frozen
class OtherProcesses(ThreadRunner):
    """Threads that are sent what other processes are sent, and send back what these do; some tasks run twice, as where a machine is lost."""

    is_out_of_process: ClassVar[bool] = True

    def run(self, callables: Sequence[Callable[[], Any]], description: str, tasks: Sequence[Any] = ()) -> list[Any]:
        payloads, shared = pack_tasks(callables)
        received = pickle.loads(pickle.dumps(shared))

        def result(number: int) -> Any:
            for _ in range(2 if number % 3 == 1 else 1):
                found = payloads[number].unpack(received)()
            return pickle.loads(pickle.dumps(found))

        return in_threads(result, range(len(callables)), TASKS)


# The media, and who fills them.
MEDIA: dict[str, tuple[Callable[[], ShuffleFiles], ThreadRunner]] = {
    "memory": (ShuffleFiles, ThreadRunner()),
    "directory": (lambda: ShuffleFiles(temporary_store), OtherProcesses()),
}
both = pytest.mark.parametrize("medium", MEDIA)


def batch(task: int, number: int) -> Chunk:
    keys = [(task * 31 + number * 7 + row * 3) % 100 for row in range(ROWS)]
    return Chunk.of([pa.array(keys), pa.array([f"{task} {number} {row}" + "x" * (key if key > 75 else 0) for row, key in enumerate(keys)])])


def batches_of(number: int, task: Any) -> Iterator[Chunk]:
    return (batch(task, batch_number) for batch_number in range(BATCHES))


def new_store(medium: str = "memory", room: int = ROOM, partitioner: Any = RANGES) -> ShuffleStore:
    return ShuffleStore(partitioner, (INT, STR), room, MEDIA[medium][0]())


class TaskNumber(int):
    """A task, which is its number here, and of no rows that are counted."""

    start = stop = 0


def fill(store: ShuffleStore, medium: str = "memory", rows_of: Any = batches_of, tasks: int = TASKS, workers: Any = None) -> None:
    store.fill(workers or MEDIA[medium][1], [*map(TaskNumber, range(tasks))], "filling", rows_of)  # type: ignore[arg-type]


def rows_in(chunk: Chunk) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in chunk.columns), strict=True))


def expected_of(partitioner: Any, tasks: int = TASKS) -> list[list[tuple[Any, ...]]]:
    """The rows of each partition, in the order of the tasks."""
    expected: list[list[tuple[Any, ...]]] = [[] for _ in range(partitioner.count)]
    for task in range(tasks):
        for chunk in batches_of(task, task):
            for number, row in zip(partitioner.partition_numbers(chunk), rows_in(chunk), strict=True):
                expected[number].append(row)
    return expected


def taken(store: ShuffleStore) -> list[list[tuple[Any, ...]]]:
    return [rows_in(store.partition(number).take()) for number in range(store.partitioner.count)]


def files_left(root: Path) -> list[Path]:
    return list(root.rglob("shuffle-*"))


@pytest.mark.sampled(3)
@both
@pytest.mark.parametrize("room", [0, ROOM, 1 << 30])
@pytest.mark.parametrize("most", [2**31 - 1, 3_000, 1])
def test_rows_of_a_partition_come_back_in_order_and_their_size_is_known(
    medium: str, room: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffle_store, "MAX_BYTES_OF_ARRAY", most)
    hashes = HashPartitioner((0, 1), (INT, STR), 7)
    for partitioner in (RANGES, hashes):
        expected = expected_of(partitioner)
        with new_store(medium, room, partitioner) as store:
            fill(store, medium)
            # Other processes keep nothing in memory.
            assert bool(store.written) == (medium == "directory" or room <= ROOM)
            assert taken(store) == expected and store.rows.tolist() == list(map(len, expected))
            for number, size in enumerate(store.sizes):
                assert [row for chunk in store.partition(number).stream() for row in rows_in(chunk)] == expected[number]
                # Offsets of texts begin with each of the arrays that were given.
                found = store.partition(number).take().size
                assert found <= size <= found + 4 * TASKS * BATCHES
        assert files_left(tmp_path) == []


@both
def test_rows_of_other_processes_can_be_read_by_others_again(medium: str) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        parts = pickle.loads(pickle.dumps([store.partition(number) for number in range(RANGES.count)]))
        assert [rows_in(part.take()) for part in parts] == expected_of(RANGES)


# Values of columns of all types, in turn.
VALUES: dict[str, list[Any]] = {
    "ints": [3, None, -(2**63)],
    "floats": [1.5, None, float("inf")],
    "texts": ["a", None, "", "é" * 40],
    "times": [datetime.datetime(2020, 1, 1), None],
    "times with zones": [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), None],
    "lists": [[1, None, 3], None, []],
    "lists of texts": [["a", None], None, []],
    "mixed lists": [[1, "a", {"b": None}], None],
    "dicts": [{"a": 1.5}, None, {}],
    "mixed dicts": [{"a": "x", 3: None}, None, {}],
    "nothing": [None],
}


@both
@pytest.mark.parametrize("start", [0, 1, 9])
def test_columns_of_all_types_come_back(medium: str, start: int) -> None:
    count = 60
    columns = {name: [of[row % len(of)] for row in range(count)] for name, of in VALUES.items()}
    # Columns are in the order of their names.
    frame = SFrame({"a key": [row * 7 % 100 for row in range(count)], **columns})
    source = frame._node.operator
    assert isinstance(source, MemorySource)
    rows = source.read_all().slice(start, count)
    with ShuffleStore(RANGES, frame._node.schema, 0, MEDIA[medium][0]()) as store:
        for task, cut in enumerate((0, 13, 30)):
            store.add(task, rows.slice(cut, (13, 30, count)[task]))
        found = [store.partition(number).take() for number in range(RANGES.count)]
        numbers = RANGES.partition_numbers(rows)
        for number, chunk in enumerate(found):
            expected = rows.rows_at(np.flatnonzero(numbers == number))
            assert all(column.equals(other) for column, other in zip(chunk.columns, expected.columns, strict=True))
            for column in chunk.columns:
                column.validate(full=True)


def test_other_types_than_those_of_the_store_are_an_error_and_never_read_as_these() -> None:
    with new_store(room=0) as store, pytest.raises(PlanInvariantError, match="are added to a shuffle store for"):
        store.add(0, Chunk.of([pa.array([1, 2]), pa.array([3.5, 4])]))


def few_wide_rows(number: int, task: Any) -> Iterator[Chunk]:
    return (Chunk.of([pa.array((np.arange(20) * 5 + part) % 100 + column) for column in range(500)]) for part in range(5))


@both
def test_files_of_wide_rows_are_hardly_longer_than_the_rows(medium: str) -> None:
    """A schema in front of some rows of hundreds of columns takes more than the rows do, and more time."""
    with ShuffleStore(RANGES, (INT,) * 500, 60_000, MEDIA[medium][0]()) as store:
        fill(store, medium, few_wide_rows)
        assert 0 < store.written < 1.5 * store.sizes.sum()


def no_batches(number: int, task: Any) -> Iterator[Chunk]:
    return iter(())


def empty_batches(number: int, task: Any) -> Iterator[Chunk]:
    return iter([Chunk.empty((INT, STR))] * 3)


@both
@pytest.mark.parametrize(("tasks", "rows_of"), [(0, batches_of), (1, no_batches), (3, empty_batches)])
def test_a_store_without_rows_has_empty_partitions(medium: str, tasks: int, rows_of: Any) -> None:
    with new_store(medium) as store:
        fill(store, medium, rows_of, tasks)
        chunk = store.partition(3).take()
        assert store.rows.sum() == store.written == 0 and chunk.rows == 0 and chunk.types == [pa.int64(), pa.string()]
        assert list(store.partition(0).stream()) == []


def test_runs_are_those_of_one_task_and_no_longer_than_an_array() -> None:
    pieces = [SplitRows(task, Chunk.of([pa.array(range(size))]), np.array([0, size])) for task, size in ((0, 4), (1, 9), (0, 4), (0, 4), (1, 1))]
    found = [[(split.task, split.rows.rows) for split in run] for run in in_arrays(pieces, 64)]
    assert found == [[(0, 4), (0, 4)], [(1, 9)], [(0, 4)], [(1, 1)]]


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 70_000])
def test_rows_of_each_of_any_number_of_partitions_are_next_to_each_other(count: int) -> None:
    ranges = RangePartitioner(INT, True, pa.array(range(1, count), pa.int64()))
    keys = np.arange(2 * count)[::-1] * 7919 % count
    split = SplitRows.of(0, Chunk.of([pa.array(keys), pa.array(range(2 * count))]), RowRangePartitioner(0, ranges))
    assert split.rows.columns[0].equals(pa.array(np.sort(keys)))
    for number in {0, count // 2, count - 1}:
        rows = split.of_partition(number)
        # Those of a range stay in their order.
        assert set(rows.columns[0].to_pylist()) == {number} and rows.columns[1].to_pylist() == np.flatnonzero(keys == number).tolist()


# Memory: threads wait for a slow disk.


def test_threads_wait_where_a_disk_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    write, most, at_work, lock = ShuffleStore._write, [0], [0], threading.Lock()

    def slow(self: ShuffleStore, full: list[SplitRows], path: str, number: int) -> None:
        size = sum(split.rows.size for split in full)
        with lock:
            at_work[0] += size
        for _ in range(5):
            most[0] = max(most[0], at_work[0] + self.buffered_bytes)
            time.sleep(0.002)
        write(self, full, path, number)
        with lock:
            at_work[0] -= size

    monkeypatch.setattr(ShuffleStore, "_write", slow)
    with new_store() as store:
        in_threads(lambda task: store.add_all(task, task, batches_of), range(TASKS), TASKS)  # type: ignore[arg-type]
        assert store.written and ROOM < most[0] <= 2 * ROOM + batch(0, 0).size * 2


def test_who_waits_for_a_disk_ends_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        time.sleep(0.02)
        raise StorageError("the disk is full")

    monkeypatch.setattr(ShuffleStore, "_write", full)
    with new_store() as store, pytest.raises(StorageError, match="the disk is full"):
        in_threads(lambda task: store.add_all(task, task, batches_of), range(TASKS), TASKS)  # type: ignore[arg-type]


def test_what_a_narrower_store_writes_is_written_by_the_wider_one_too() -> None:
    narrow = RowRangePartitioner(0, RangePartitioner.of(pa.array(range(25)), INT, True, 3))
    with new_store() as store:
        fill(store)
        before, rows = store.written, rows_in(store.partition(0).take())
        with pytest.raises(KeyError), store.narrower(narrow, 1_000) as narrower:
            for chunk in store.partition(0).stream():
                narrower.add(0, chunk)
            narrower.flush_to_disk()
            assert narrower.buffered_bytes == 0 and Counter(row for part in taken(narrower) for row in part) == Counter(rows)
            raise KeyError
        assert store.written == before + narrower.written > before


# What happens to files.


@contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    """This process has a limit of the system."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def open_files() -> set[str]:
    return {os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")}


@pytest.mark.sampled(2)
@both
@pytest.mark.parametrize("room", [0, ROOM, 1 << 27])
def test_a_disk_without_room_is_an_error_at_any_byte_and_leaves_nothing(medium: str, room: int, tmp_path: Path) -> None:
    # Whichever thread is quicker, files would have other sizes.
    workers = SequentialRunner() if medium == "memory" else None
    with new_store(medium, room) as store:
        fill(store, medium, workers=workers)
        store.flush_to_disk()
        longest = max(path.stat().st_size for path in files_left(tmp_path))
        for most in {0, 1, 1_000, longest // 2, longest - 1}:
            # Another attempt has no part of the whole one.
            with (
                limited(resource.RLIMIT_FSIZE, most),
                pytest.raises(StorageError, match="cannot write temporary rows to"),
                new_store(medium, room) as other,
            ):
                fill(other, medium, workers=workers)
                other.flush_to_disk()
        assert taken(store) == expected_of(RANGES)
    assert files_left(tmp_path) == [] and not any("shuffle-" in path for path in open_files())


@both
def test_too_few_open_files_are_an_error_and_no_loss(medium: str, tmp_path: Path) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        lowest_free = os.dup(0)
        os.close(lowest_free)
        with limited(resource.RLIMIT_NOFILE, lowest_free):
            with pytest.raises(StorageError, match=r"cannot read .*Too many open files"):
                store.partition(0).take()
            with pytest.raises(StorageError, match=r"cannot write temporary rows to .*Too many open files"):
                store.add(0, batch(0, 0))
        # What was to be written is counted, so its loss is no shorter result.
        with pytest.raises(StorageError, match="temporary rows of a range were read, but"):
            taken(store)
    assert files_left(tmp_path) == []


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "cut": lambda path, other: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path, other: path.write_bytes(b""),
    "one bit": lambda path, other: path.write_bytes((content := path.read_bytes())[:-9] + bytes([content[-9] ^ 1]) + content[-8:]),
    "another file": lambda path, other: shutil.copyfile(other, path),
    "moved on by a byte": lambda path, other: path.write_bytes(b"\0" + path.read_bytes()),
    "deleted": lambda path, other: path.unlink(),
    "a directory": lambda path, other: shutil.copytree(path.parent, path.rename(path.with_name("other")).with_name(path.name)),
    "permission": lambda path, other: path.chmod(0),
}


@pytest.mark.sampled(2)
@both
@pytest.mark.parametrize("change", CHANGES)
def test_rows_that_are_not_those_that_were_written_are_an_error(medium: str, change: str, tmp_path: Path) -> None:
    if change == "permission" and os.geteuid() == 0:
        pytest.skip("root may read all files")
    with new_store(medium, room=0) as store:
        fill(store, medium)
        paths = sorted({Path(run.path) for runs in store.index.runs for run in runs})
        CHANGES[change](paths[3], paths[5])
        with pytest.raises(StorageError, match=r"temporary rows in .* (differ from those that were written|are missing)|cannot read"):
            taken(store)


@both
def test_more_bytes_at_the_end_of_a_file_are_never_read(medium: str, tmp_path: Path) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        for path in files_left(tmp_path):
            path.write_bytes(path.read_bytes() + b"more")
        assert taken(store) == expected_of(RANGES)


@both
def test_runs_that_are_lost_or_read_twice_are_an_error(medium: str) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        part = store.partition(1)
        for runs in (part.runs[1:], part.runs[:-1], [*part.runs, part.runs[0]], []):
            with pytest.raises(StorageError, match="temporary rows of a range were read, but"):
                attrs.evolve(part, runs=runs).take()


@both
def test_a_directory_that_is_cleared_is_an_error_and_the_next_store_makes_another(medium: str, tmp_path: Path) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        shutil.rmtree(tmp_path / "temporary")
        with pytest.raises(StorageError, match="are missing: files were deleted while in use"):
            taken(store)
        with pytest.raises(StorageError, match=r"cannot write temporary rows to .*there is no directory"):
            store.add(0, batch(0, 0))
    with new_store(medium, room=0) as store:
        fill(store, medium)
        assert taken(store) == expected_of(RANGES)


@both
def test_the_quota_counts_files_until_they_are_discarded(medium: str, tmp_path: Path) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        size = store.written
    for quota in (size, size - 1):
        with config.using(temporary_quota=quota), new_store(medium, room=0) as store:
            if quota == size:
                fill(store, medium)
                assert store.written == size
                with pytest.raises(StorageError, match=r"config\.temporary_quota"), new_store(medium, room=0) as second:
                    fill(second, medium, tasks=1)
            else:
                with pytest.raises(StorageError, match=r"config\.temporary_quota"):
                    fill(store, medium)
    assert files_left(tmp_path) == []


@both
def test_the_quota_is_that_of_the_place_of_the_files(medium: str, tmp_path: Path) -> None:
    with config.using(temporary_quota=1 << 30), new_store(medium, room=0) as store:
        fill(store, medium)
        # Another thread may have changed the setting meanwhile.
        with config.using(temporary_directory=str(tmp_path / "other"), temporary_quota=store.written):
            fill(store, medium, empty_batches)
            with new_store(medium, room=0) as other:
                fill(other, medium, tasks=1)
        with config.using(temporary_quota=store.written), new_store(medium, room=0) as other, pytest.raises(StorageError, match="temporary_quota"):
            fill(other, medium, tasks=1)


@both
def test_files_of_a_task_that_ran_twice_are_deleted_and_their_rows_are_not_read(medium: str, tmp_path: Path) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        used = {run.path for runs in store.index.runs for run in runs}
        found = set(map(str, files_left(tmp_path)))
        assert used <= found and (used < found) == (medium == "directory")
        assert taken(store) == expected_of(RANGES)
    assert files_left(tmp_path) == []


def interrupted(number: int, task: Any) -> Iterator[Chunk]:
    yield from batches_of(number, task)
    if task == 3:
        raise KeyboardInterrupt
    time.sleep(0.01)


@both
def test_ctrl_c_in_a_task_leaves_nothing(medium: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_store(medium, room=0) as store:
        fill(store, medium, interrupted)
    assert files_left(tmp_path) == [] and not any("shuffle-" in path for path in open_files())


def test_a_thread_that_is_late_adds_nothing_to_a_discarded_store(tmp_path: Path) -> None:
    store = new_store(room=0)
    store.add(0, batch(0, 0))
    store.discard()
    with pytest.raises(PlanInvariantError, match="was discarded"):
        store.add(0, batch(0, 1))
    assert files_left(tmp_path) == [] and store.buffered_bytes == 0
    # A task whose driver has gone on finds no directory.
    with pytest.raises(StorageError, match="there is no directory"):
        ShuffleStore(RANGES, (INT, STR), 0, ShuffleFiles(given=str(tmp_path / "gone"))).add(0, batch(0, 0))


@both
def test_a_forked_process_deletes_nothing(medium: str) -> None:
    with new_store(medium, room=0) as store:
        fill(store, medium)
        child = os.fork()
        if not child:
            store.discard()
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert taken(store) == expected_of(RANGES)


def test_processes_that_write_to_one_directory_at_once_have_files_of_their_own(tmp_path: Path) -> None:
    """As attempts of one task do, and processes of containers that count alike."""
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            with ShuffleStore(RANGES, (INT, STR), 0, ShuffleFiles(given=str(tmp_path))) as store:
                store.add_all(0, 0, batches_of)  # type: ignore[arg-type]
                os._exit(0 if taken(store) == expected_of(RANGES, 1) else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert len(files_left(tmp_path)) == 3 * BATCHES


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["with blanks", "100%41", "é ü 漢", "[a-z]*", "a#b?c", "-rf", "tab\tnew\nline"])
@both
def test_any_name_of_a_directory_is_as_good(medium: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with config.using(temporary_directory=name), new_store(medium, room=0) as store:
        fill(store, medium)
        # Paths are those of any process, wherever it works.
        monkeypatch.chdir("/")
        assert taken(store) == expected_of(RANGES)
    assert files_left(tmp_path) == []


def test_a_directory_of_temporary_data_is_the_user_s_alone(tmp_path: Path) -> None:
    with new_store(room=0) as store:
        store.add(0, batch(0, 0))
        (path,) = files_left(tmp_path)
        assert path.parent.parent.stat().st_mode & 0o077 == 0


def test_what_tasks_send_back_is_small() -> None:
    count = 500
    ranges = RowRangePartitioner(0, RangePartitioner(INT, True, pa.array(range(1, count), pa.int64())))
    with new_store("directory", partitioner=ranges) as store:
        fill(store, "directory", partial(rows_of_all_partitions, count), 1)
        assert len(pickle.dumps(store.index)) < 100 * count


def rows_of_all_partitions(count: int, number: int, task: Any) -> Iterator[Chunk]:
    yield Chunk.of([pa.array(range(count)), pa.array([str(row) for row in range(count)])])
