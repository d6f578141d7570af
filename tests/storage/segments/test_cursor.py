"""Rows that are read in order: the same as by number, each row group decoded once, and no more ahead than allowed."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources import base_and_segment_source as sources
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, source_of
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments import reader, row_group_read_ahead
from sframe_spark.storage.segments.row_group_read_ahead import Cursor
from tests.examples import examples

ROWS = 1_000


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    """The same rows in files whose row groups are short, long, and both."""
    found = []
    for sizes in ([(1_000, 7)], [(1_000, 1_000)], [(300, 50), (1, 1), (299, 299), (400, 130)]):
        directory, first = tmp_path_factory.mktemp("rows"), 0
        for number, (rows, size) in enumerate(sizes):
            table = pa.table({"a": range(first, first + rows), "b": [f"{'x' * (row % 50)}{row}" for row in range(first, first + rows)]})
            pq.write_table(table, directory / f"{number}.parquet", row_group_size=size)
            first += rows
        found.append(source_of(SFrame.read_parquet(str(directory))._node).manifest)
    return found


def sizes_of(manifest: Manifest) -> Callable[[int, int], float | None]:
    return lambda start, stop: SegmentSource.of(manifest).bytes_between(start, stop)


def values(parts: list[list[pa.Array]]) -> list[tuple[Any, ...]]:
    return [row for part in parts for row in zip(*(column.to_pylist() for column in part), strict=True)]


@settings(max_examples=examples(150), deadline=None)
@given(
    which=st.integers(0, 2),
    threads=st.integers(0, 3),
    most=st.sampled_from([0, 100, 2_000, 10**9]),
    moves=st.lists(st.tuples(st.integers(-60, 40), st.integers(1, 200)), min_size=1, max_size=25),
    unknown=st.booleans(),
)
def test_ranges_in_any_order(manifests: list[Manifest], which: int, threads: int, most: int, moves: list[tuple[int, int]], unknown: bool) -> None:
    manifest = manifests[which]
    read = Cursor(manifest, (1, 0), ROWS, (lambda start, stop: None) if unknown else sizes_of(manifest), most, threads)
    position = 0
    for back, rows in moves:
        start = min(max(position + min(back, 0), 0), ROWS - 1)
        stop = min(start + rows, ROWS)
        found = reader.read_rows(manifest, (1, 0), start, stop)
        assert values(read.read(start, stop)) == list(zip(found["c1"].to_pylist(), found["c0"].to_pylist(), strict=True))
        position = stop
    read.close()


def decoded_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each batch that is decoded from now on."""
    found: list[int] = []
    before = reader._batches

    def counted(*arguments: Any) -> Iterator[pa.RecordBatch]:
        for batch in before(*arguments):
            found.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(reader, "_batches", counted)
    return found


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("batch_rows", [3, 40, 170, 1000])
def test_a_stream_decodes_rows_once(manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch, which: int, batch_rows: int) -> None:
    frame = SFrame.read_parquet(manifests[which].directory)
    expected = list(range(ROWS))
    found = decoded_rows(monkeypatch)
    with config.using(batch_rows=batch_rows):
        assert list(frame["a"]) == expected
    # The first batch is read by number, since nobody knows yet whether others follow; its row group is decoded again by the second.
    assert sum(found) <= ROWS + 2 * ROWS * (which != 0) + 2 * batch_rows


def test_the_cost_does_not_grow_with_the_length_of_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(6_000)}), tmp_path / "one.parquet", row_group_size=6_000)
    frame = SFrame.read_parquet(str(tmp_path / "one.parquet"))
    for batch_bytes in (64, 1 << 20):
        with config.using(batch_rows=100, batch_bytes=batch_bytes), monkeypatch.context() as patch:
            found = decoded_rows(patch)
            assert (frame["a"] + 1).sum() == sum(range(6_001)) and sum(found) <= 3 * 6_000
            found.clear()
            assert list(frame["a"].cumulative_sum())[-1] == sum(range(6_000)) and sum(found) <= 6 * 6_000
            found.clear()
            # Ranges that overlap, and one that follows the other at some distance.
            assert len(list(frame["a"].rolling_sum(-50, 0))) == 6_000 and sum(found) <= 6 * 6_000


PLANS: dict[str, tuple[Callable[[SArray], SArray], Callable[[list[int]], list[Any]]]] = {
    "shift": (lambda a: a - a.shift(1), lambda rows: [None] + [1] * (len(rows) - 1)),
    "far shift": (lambda a: a - a.shift(700), lambda rows: [None] * 700 + [700] * (len(rows) - 700)),
    "shifts": (lambda a: a + a.shift(1) + a.shift(300), lambda rows: [None] * 300 + [3 * row - 301 for row in rows[300:]]),
    "step": (lambda a: a[::2], lambda rows: rows[::2]),
    "slices": (lambda a: a[:-10] + a[10:], lambda rows: [2 * row + 10 for row in rows[:-10]]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("batch_bytes", [2_000, 1 << 20])
def test_ranges_behind_each_other_are_decoded_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str, batch_bytes: int) -> None:
    pq.write_table(pa.table({"a": range(10_000)}), tmp_path / "one.parquet", row_group_size=10_000)
    frame = SFrame.read_parquet(str(tmp_path / "one.parquet"))
    make, expected = PLANS[plan]
    found = decoded_rows(monkeypatch)
    with config.using(batch_rows=100, batch_bytes=batch_bytes):
        assert list(make(frame["a"])) == expected(list(range(10_000)))
    # Each goes through the row group once, and looked for its first batch before.
    assert sum(found) <= 3 * 10_000 + 1_000


@settings(max_examples=examples(100), deadline=None)
@given(
    which=st.integers(0, 2),
    most=st.sampled_from([1, 300, 10**9]),
    ranges=st.lists(st.tuples(st.integers(0, ROWS), st.integers(0, 300)), min_size=1, max_size=40),
    starts=st.lists(st.integers(0, 400), max_size=6),
)
def test_ranges_of_several_who_go_through_the_rows(
    manifests: list[Manifest], which: int, most: int, ranges: list[tuple[int, int]], starts: list[int]
) -> None:
    source = SegmentSource.of(manifests[which])
    reader = sources.SegmentReader(source, 2, most)
    asked = list(ranges)
    for step in range(4):
        # Each with gaps of its own, among ranges that follow nothing.
        asked += [(start + step * (40 + gap * 20), 40) for gap, start in enumerate(starts)] + ranges[step::7]
    for start, rows in asked:
        stop = min(start + rows, ROWS)
        if start <= stop:
            assert reader.read(start, stop).columns == source.read(start, stop).columns
    reader.close()


def test_no_more_is_decoded_ahead_than_allowed(manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch) -> None:
    found = decoded_rows(monkeypatch)
    for threads, most, ahead in ((0, 10**9, 7), (1, 10**9, 21), (3, 10**9, 35), (3, 400.0, 21)):
        found.clear()
        read = Cursor(manifests[0], (0,), ROWS, lambda start, stop: 16.0 * (stop - start), most, threads)
        assert len(values(read.read(0, 3))) == 3
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline and sum(found) < ahead:
            time.sleep(0.01)
        time.sleep(0.05)
        assert 7 <= sum(found) <= ahead, (threads, most)
        read.close()


def test_an_error_comes_after_the_rows_before_it(tmp_path: Path) -> None:
    table = pa.table({"a": range(1_000)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100, compression="none", use_dictionary=False, write_page_checksum=True)
    content = bytearray((tmp_path / "rows.parquet").read_bytes())
    group = pq.read_metadata(tmp_path / "rows.parquet").row_group(7).column(0)
    place = group.data_page_offset + group.total_compressed_size - 8
    content[place] ^= 1
    (tmp_path / "rows.parquet").write_bytes(content)
    manifest = source_of(SFrame.read_parquet(str(tmp_path / "rows.parquet"))._node).manifest
    read = Cursor(manifest, (0,), 1_000, lambda start, stop: 8.0 * (stop - start), 10**9, 3)
    assert [row for start in range(0, 700, 50) for (row,) in values(read.read(start, start + 50))] == list(range(700))
    with pytest.raises(StorageError, match=r"rows\.parquet"):
        read.read(700, 750)
    read.close()


@pytest.mark.parametrize("threads", [0, 3])
def test_rows_are_all_there_after_a_passing_fault(manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    read = Cursor(manifests[0], (0,), ROWS, sizes_of(manifests[0]), 10**9, threads)
    assert len(values(read.read(0, 3))) == 3
    before, failed = row_group_read_ahead.segment_batches, []

    def failing(manifest: Manifest, entry: Any, columns: Any, low: int, *others: Any, **named: Any) -> Any:
        if low >= 42 and not failed:
            failed.append(low)
            raise StorageError("a passing fault")
        return before(manifest, entry, columns, low, *others, **named)

    monkeypatch.setattr(row_group_read_ahead, "segment_batches", failing)
    with pytest.raises(StorageError, match="passing"):
        read.read(3, 100)
    assert values(read.read(3, 100)) == [(row,) for row in range(3, 100)]
    read.close()
    assert values(read.read(100, 200)) == [(row,) for row in range(100, 200)]
    read.close()


def test_a_forked_process_goes_on(manifests: list[Manifest]) -> None:
    read = Cursor(manifests[0], (0,), ROWS, sizes_of(manifests[0]), 10**9, 2)
    assert len(values(read.read(0, 10))) == 10
    child = os.fork()
    if not child:
        # Nothing of pytest may run in it.
        status = 1
        try:
            status = 0 if values(read.read(10, ROWS)) == [(row,) for row in range(10, ROWS)] else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + 30
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if done == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done == (child, 0)
    assert values(read.read(10, ROWS)) == [(row,) for row in range(10, ROWS)]
    read.close()


def reading_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("sframe_spark read")]


def test_threads_end_with_who_reads(manifests: list[Manifest]) -> None:
    frame = SFrame.read_parquet(manifests[0].directory)
    with config.using(batch_rows=10):
        rows = iter(frame)
        for _ in range(300):
            next(rows)
        assert reading_threads()
        del rows
        gc.collect()
        assert len(list(frame)) == ROWS
    deadline = time.monotonic() + 10
    while reading_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not reading_threads()


def test_where_no_thread_starts_rows_are_read_without(manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        def __init__(self, *arguments: Any, **named: Any) -> None:
            raise RuntimeError("can't start new thread at interpreter shutdown")

    monkeypatch.setattr(row_group_read_ahead, "ThreadPool", Ended)
    with config.using(batch_rows=10):
        assert list(SFrame.read_parquet(manifests[2].directory)["a"]) == list(range(ROWS))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("rows", [slice(None), slice(13, 950), slice(5, 5)])
@pytest.mark.parametrize("most", [1, 3_000, 10**9])
def test_all_rows_in_pieces(manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch, which: int, rows: slice, most: int) -> None:
    monkeypatch.setattr(sources, "MAX_CHUNK_BYTES", most)
    frame = SFrame.read_parquet(manifests[which].directory)[rows]
    found = decoded_rows(monkeypatch)
    with config.using(batch_rows=40):
        table = frame.to_arrow()
    expected = list(range(ROWS))[rows]
    assert table.column("a").to_pylist() == expected and table.column("b").to_pylist() == [f"{'x' * (row % 50)}{row}" for row in expected]
    assert sum(found) <= ROWS


def test_a_short_range_at_the_end_of_a_row_group_is_no_new_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(5_000)}), tmp_path / "rows.parquet", row_group_size=1_010)
    frame = SFrame.read_parquet(str(tmp_path / "rows.parquet"))
    found = decoded_rows(monkeypatch)
    # Row groups are longer than what is decoded at a time; batches of 500, 500 and 10 rows are asked for.
    with config.using(batch_rows=500, batch_bytes=4_000):
        assert list(frame["a"]) == list(range(5_000))
    assert len(found) <= 3 * 5 + 3 and sum(found) <= 5_000 + 1_010


@pytest.mark.parametrize("by", ["row", "column", "slice", "lookup"])
def test_few_rows_amid_a_long_row_group_are_come_to_in_few_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    rows = 100_000
    numbers = pa.array(range(rows))
    pq.write_table(pa.table({"a": numbers, "b": numbers, "c": numbers.cast("string")}), tmp_path / "one.parquet", row_group_size=rows)
    lists = pa.ListArray.from_arrays(range(rows + 1), numbers)
    pq.write_table(pa.table({"a": numbers, "l": lists}), tmp_path / "lists.parquet", row_group_size=rows)
    for name, most in (("one", 6), ("lists", 2 * 100)):
        frame = SFrame.read_parquet(str(tmp_path / f"{name}.parquet"))
        found = decoded_rows(monkeypatch)
        if by == "row":
            assert frame[rows - 9]["a"] == rows - 9
        elif by == "column":
            assert frame["a"][rows - 9] == rows - 9
        elif by == "slice":
            assert list(frame[rows - 9 : rows - 6]["a"]) == [rows - 9, rows - 8, rows - 7]
        else:
            assert len(frame[frame["a"] == rows - 9]) == 1
        assert 0 < len(found) <= most
        monkeypatch.undo()


def test_what_a_reader_holds_goes_with_it(manifests: list[Manifest]) -> None:
    operator = source_of(SFrame.read_parquet(manifests[2].directory)._node)
    assert isinstance(operator, SegmentSource)
    gc.collect()
    gc.disable()
    try:
        for stop in (5, 20, 30):
            source = attrs.evolve(operator, handle=Handle())
            gone = weakref.ref(source.handle)
            reader = source.reader(2)
            for start in range(0, stop, 5):
                reader.read(start, start + 5)
            del source, reader
            # A thread may be at its last row group.
            deadline = time.monotonic() + 10
            while gone() is not None and time.monotonic() < deadline:
                time.sleep(0.01)
            assert gone() is None, stop
    finally:
        gc.enable()


class Handle:
    """Stands for what keeps a temporary dataset."""


def test_an_interrupt_of_who_waits_comes_as_it_is(manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch) -> None:
    """At each line of Python's in turn, its library's among them, as a signal comes between any two."""
    before = row_group_read_ahead.segment_batches

    def slow(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.002)
        return before(*arguments, **named)

    monkeypatch.setattr(row_group_read_ahead, "segment_batches", slow)
    for lines in itertools.count(1):
        read = Cursor(manifests[0], (0,), ROWS, sizes_of(manifests[0]), 10**9, 2)
        assert values(read.read(0, 3)) == [(0,), (1,), (2,)]
        with interrupted(lines) as left:
            try:
                read.read(3, 30)
            except KeyboardInterrupt:
                assert not left
            else:
                # Nor is one lost.
                assert left
                break
        assert values(read.read(3, 30)) == [(row,) for row in range(3, 30)]
        read.close()
    read.close()
    assert lines > 2
    deadline = time.monotonic() + 10
    while reading_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not reading_threads()


@contextlib.contextmanager
def interrupted(lines: int) -> Iterator[list[int]]:
    """Interrupt this thread at the line of that number of those by which it takes what another one decoded; what is left is empty then."""
    left, before = [lines], sys.gettrace()

    def at_line(frame: FrameType, event: str, argument: object) -> Any:
        left[0] -= 1
        if not left[0]:
            left.clear()
            raise KeyboardInterrupt
        return at_line

    def at_call(frame: FrameType, event: str, argument: object) -> Any:
        caller: FrameType | None = frame
        while caller is not None and caller.f_code is not row_group_read_ahead.decoded_parts.__code__:
            caller = caller.f_back
        return at_line(frame, event, argument) if caller is not None and left else None

    sys.settrace(at_call)
    try:
        yield left
    finally:
        sys.settrace(before)


def test_rows_before_those_that_are_read_are_let_go(tmp_path: Path) -> None:
    for number in range(2):
        pq.write_table(pa.table({"a": range(3 * number, 3 * number + 3)}), tmp_path / f"{number}.parquet")
    manifest = source_of(SFrame.read_parquet(str(tmp_path))._node).manifest
    cursor = Cursor(manifest, (0,), 6, sizes_of(manifest), 1e9)
    assert values(cursor.read(0, 3)) == [(0,), (1,), (2,)] and (cursor._first, cursor._end) == (0, 3)
    assert values(cursor.read(3, 6)) == [(3,), (4,), (5,)] and (cursor._first, cursor._end) == (3, 6)
