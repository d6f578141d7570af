"""Rows of many short segments: read once, they stay in memory while there is room, and are the rows that the files have."""

from __future__ import annotations

import pickle
import random
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments import decoded_column_cache, reader
from sframe_spark.storage.segments.decoded_column_cache import edges_of, packed_rows
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ARRAY, INT, STR
from tests.examples import part

TYPES = [INT, STR, ARRAY]
SHORT, LONG = 40, 900


def written(directory: Path, lengths: list[int]) -> Manifest:
    """A dataset of segments of so many rows each."""
    directory.mkdir()
    entries, first = [], 0
    for number, rows in enumerate(lengths):
        numbers = range(first, first + rows)
        texts = pa.array([None if row % 7 == 0 else "é" * (row % 5) for row in numbers], pa.string())
        lists = pa.array([[float(row)] * (row % 3) for row in numbers], ARRAY.physical)
        entries.append(write_segment(str(directory), number, TYPES, [[pa.array(list(numbers), pa.int64()), texts, lists]]))
        first += rows
    return publish(str(directory), TYPES, entries, names=["i", "s", "a"], durable=False)


@pytest.fixture(autouse=True)
def little_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_column_cache, "SHORT_ROWS", SHORT)
    monkeypatch.setattr(decoded_column_cache, "MAX_ROWS", 10 * SHORT)
    monkeypatch.setattr(decoded_column_cache, "FEW_SEGMENTS", 8)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files in the order in which they are opened."""
    found: list[str] = []
    read = reader.read_short

    def counted(directory: str, entry: Any) -> Any:
        found.append(entry.file)
        return read(directory, entry)

    monkeypatch.setattr(reader, "read_short", counted)
    return found


def rows_of(columns: list[pa.ChunkedArray] | None) -> list[list[Any]] | None:
    return None if columns is None else [column.to_pylist() for column in columns]


@pytest.mark.parametrize("seed", part(range(12), 6))
def test_rows_are_those_of_the_files(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    lengths = [choose.choice((1, 5, SHORT, SHORT, SHORT + 1, LONG)) if choose.random() < 0.5 else SHORT for _ in range(40)]
    manifest = written(tmp_path / "frame", lengths)
    edges = edges_of(manifest, manifest.decoded)
    assert edges[0] == 0 and edges[-1] == manifest.rows and list(edges) == sorted(set(edges))
    assert manifest.decoded.long_segments == {row for row, rows in zip(manifest.offsets, lengths, strict=True) if rows > SHORT}
    packed = 0
    for _ in range(150):
        start = choose.randrange(manifest.rows)
        stop = min(manifest.rows, start + choose.choice((1, 30, 60, 200, 2 * LONG)))
        columns = choose.choices(range(3), k=choose.randrange(1, 4))
        found = rows_of(packed_rows(manifest, columns, start, stop))
        packed += found is not None
        assert found in (None, rows_of(read_rows(manifest, columns, start, stop).columns))
    assert packed


def test_no_file_is_opened_twice(tmp_path: Path, opened: list[str]) -> None:
    source = SegmentSource.of(written(tmp_path / "frame", [SHORT] * 40))
    first = source.with_columns([0, 1]).read(0, 40 * SHORT)
    assert len(opened) == len(set(opened)) == 40
    again = [source.with_columns([1]).read(start, start + 100) for start in range(0, 40 * SHORT, 100)]
    assert len(opened) == 40 and [text for chunk in again for text in chunk.columns[0].to_pylist()] == first.columns[1].to_pylist()
    source.with_columns([2]).read(0, 40 * SHORT)
    assert len(opened) == 80


def test_few_rows_do_not_read_a_pack(tmp_path: Path, opened: list[str]) -> None:
    manifest = written(tmp_path / "frame", [SHORT] * 40)
    assert packed_rows(manifest, [0], 90, 95) is None
    assert SegmentSource.of(manifest).read(90, 95).columns[0].to_pylist() == [90, 91, 92, 93, 94]
    # Nobody went through all segments for it.
    assert len(opened) == 1 and manifest.decoded.edges is None


def test_who_takes_all_rows_in_one_piece_has_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_column_cache, "MAX_AT_ONCE", 3)
    manifest = written(tmp_path / "frame", [SHORT] * 40)
    assert SegmentSource.of(manifest).read(0, manifest.rows).rows == 40 * SHORT
    assert not manifest.decoded.arrays


def test_room_that_ends_amid_packs_keeps_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, asked = written(tmp_path / "frame", [SHORT] * 40), iter([True, True, False, False, False])
    monkeypatch.setattr(decoded_column_cache, "may_keep", lambda most: next(asked))
    assert rows_of(packed_rows(manifest, [0], 0, manifest.rows)) == [list(range(manifest.rows))]
    assert list(manifest.decoded.arrays) == [(0, 0)]


@pytest.mark.parametrize("room", [0, decoded_column_cache.MAX_BYTES])
def test_nothing_is_kept_where_there_is_no_room(tmp_path: Path, room: int, opened: list[str]) -> None:
    manifest = written(tmp_path / "frame", [SHORT] * 40)
    with config.using(kept_memory=room):
        assert packed_rows(manifest, [0], 0, manifest.rows) is None
        for _ in range(2):
            assert SegmentSource.of(manifest).read(0, manifest.rows).rows == 40 * SHORT
    assert len(opened) == 80 and not manifest.decoded.arrays
    # What is there already is read all the same.
    assert packed_rows(manifest, [0], 0, manifest.rows) is not None
    with config.using(kept_memory=room):
        assert packed_rows(manifest, [0], 0, manifest.rows) is not None


def test_batches_end_where_packs_do(tmp_path: Path) -> None:
    source = SegmentSource.of(written(tmp_path / "frame", [SHORT] * 33))
    # Nobody has looked for packs.
    assert source.batch_end(0, 475) == 440
    assert source.packed(0, source.stop) is not None
    assert [source.batch_end(*rows) for rows in ((0, 475), (0, 400), (405, 475), (400, 1_320), (1_000, 1_300))] == [400, 400, 440, 1_320, 1_200]
    assert source.rows_between(100, 1_000).batch_end(10, 475) == 300


EDGES = [value + more for bits in (7, 15, 31) for value in (-(1 << bits), (1 << bits) - 1) for more in (-1, 0, 1)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("values", [[None], [0, None], [-(1 << 63), (1 << 63) - 1], *([0, edge, None] for edge in EDGES)])
def test_whole_numbers_are_those_that_were_read_however_they_are_kept(tmp_path: Path, values: list[int | None]) -> None:
    column = [values[row % len(values)] for row in range(9 * SHORT)]
    starts = range(0, len(column), SHORT)
    entries = [
        write_segment(str(tmp_path), number, [INT], [[pa.array(column[start : start + SHORT], pa.int64())]]) for number, start in enumerate(starts)
    ]
    manifest = publish(str(tmp_path), [INT], entries, names=["i"], durable=False)
    for _ in range(2):
        (found,) = packed_rows(manifest, [0], 3, len(column) - 3) or []
        assert found.type == pa.int64() and found.to_pylist() == column[3:-3]
    there = [value for value in values if value is not None]
    bits = {kept.type.bit_width for kept in manifest.decoded.arrays.values()}
    assert bits == {min(bits for bits in (8, 16, 32, 64) if all(-(1 << bits - 1) <= value < 1 << bits - 1 for value in there))}


def test_numbers_behind_missing_values_may_be_anything(tmp_path: Path) -> None:
    kept = decoded_column_cache._compacted([pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.array([5, 1 << 50]).buffers()[1]])])
    assert kept.type == pa.int8() and kept.to_pylist() == [5, None]


@pytest.mark.parametrize("lengths", [[SHORT] * 7, [LONG] * 20, [SHORT] * 7 + [LONG] * 20, []])
def test_few_short_segments_are_no_packs(tmp_path: Path, lengths: list[int]) -> None:
    manifest = written(tmp_path / "frame", lengths)
    assert edges_of(manifest, manifest.decoded) == () and packed_rows(manifest, [0], 0, manifest.rows) is None


def test_what_is_in_memory_is_not_sent(tmp_path: Path) -> None:
    manifest = written(tmp_path / "frame", [SHORT] * 40)
    before = len(pickle.dumps(manifest))
    assert packed_rows(manifest, [0, 1, 2], 0, manifest.rows) is not None
    assert len(pickle.dumps(manifest)) == before and not pickle.loads(pickle.dumps(manifest)).decoded.arrays
    part = manifest.between(100, 900)
    assert edges_of(part, part.decoded) == ()


def test_damage_is_told_and_nothing_of_it_kept(tmp_path: Path) -> None:
    manifest = written(tmp_path / "frame", [SHORT] * 40)
    damaged = tmp_path / "frame" / manifest.segments[25].file
    content = damaged.read_bytes()
    damaged.write_bytes(content[:60] + bytes([content[60] ^ 4]) + content[61:])
    for _ in range(2):
        with pytest.raises(StorageError, match="damaged"):
            SegmentSource.of(manifest).read(0, manifest.rows)
    damaged.write_bytes(content)
    assert SegmentSource.of(manifest).read(0, manifest.rows).columns[0].to_pylist() == list(range(manifest.rows))


def test_threads_read_the_same_packs(tmp_path: Path) -> None:
    source, found = SegmentSource.of(written(tmp_path / "frame", [SHORT] * 60)), dict[int, list[int]]()

    def read(number: int) -> None:
        found[number] = [row for start in range(0, 60 * SHORT, 170) for row in source.read(start, start + 170).columns[0].to_pylist()]

    threads = [threading.Thread(target=read, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[number] == list(range(60 * SHORT)) for number in range(6))


def test_programs_over_many_short_segments(tmp_path: Path) -> None:
    written(tmp_path / "frame", [SHORT] * 60)
    SFrame(load_sframe(str(tmp_path / "frame")).to_arrow()).save(str(tmp_path / "whole"))
    with config.using(small_rows=100, segment_rows=500, batch_rows=130, progress="off"):
        for _ in range(2):
            short, whole = (load_sframe(str(tmp_path / name)) for name in ("frame", "whole"))
            for program in (
                lambda sf: sf[sf["i"] % 3 == 0],
                lambda sf: sf.sort("s", ascending=False),
                lambda sf: SFrame({"c": sf["i"].cumulative_sum(), "r": sf["i"].rolling_mean(-3, 0)}),
                lambda sf: sf.groupby("s", {"n": aggregate.COUNT()}),
                lambda sf: sf[["i"]].asof_join(sf[["i", "s"]], on="i"),
            ):
                assert list(program(short)) == list(program(whole))
