"""What is written is read: every type, any segment sizes, any row range."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.config import config
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.parquet import open_file
from sframe_spark.storage.segments import reader, writer
from sframe_spark.storage.segments.reader import iterate_rows, read_rows
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import (
    ARRAY,
    DATETIME,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    IMAGE,
    INT,
    NDARRAY,
    STR,
    ZONED_DATETIME,
    ColumnType,
    dict_of,
    list_of,
)
from tests.examples import examples

INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INSTANTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))
FLOATS = st.floats(allow_nan=False)
ELEMENTS = {INT: INTEGERS, FLOAT: FLOATS, STR: TEXTS}
VALUES: dict[ColumnType, Any] = {
    INT: INTEGERS,
    FLOAT: FLOATS,
    STR: TEXTS,
    DATETIME: INSTANTS,
    ARRAY: st.lists(FLOATS, max_size=3),
    NDARRAY: st.fixed_dictionaries({"shape": st.lists(st.integers(0, 3), max_size=3), "values": st.lists(FLOATS, max_size=3)}),
    IMAGE: st.fixed_dictionaries(
        {"bytes": st.binary(max_size=9), "format": TEXTS, "height": INTEGERS, "width": INTEGERS, "channels": st.none() | INTEGERS}
    ),
    ZONED_DATETIME: st.fixed_dictionaries({"instant": INSTANTS, "offset": st.none() | st.integers(-720, 840)}),
    ENCODED_LIST: TEXTS,
    ENCODED_DICT: TEXTS,
    **{list_of(kind): st.lists(st.none() | values, max_size=3) for kind, values in ELEMENTS.items()},
    **{dict_of(key, value): st.lists(st.tuples(ELEMENTS[key], st.none() | ELEMENTS[value]), max_size=3) for key in (INT, STR) for value in ELEMENTS},
}


@st.composite
def datasets(draw: Any) -> tuple[list[ColumnType], list[list[list[Any]]]]:
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    sizes = draw(st.lists(st.integers(0, 7), max_size=4))
    segments = [[draw(st.lists(st.none() | VALUES[kind], min_size=size, max_size=size)) for kind in types] for size in sizes]
    return types, segments


def write(directory: str, types: Sequence[ColumnType], segments: Sequence[Sequence[Sequence[Any]]], batch: int) -> Manifest:
    entries = []
    for number, columns in enumerate(segments):
        arrays = [pa.array(values, kind.physical) for values, kind in zip(columns, types, strict=True)]
        segment = SegmentWriter(directory, number * 3, types)
        for start in range(0, len(arrays[0]), batch):
            segment.write([array[start : start + batch] for array in arrays])
        entries.append(segment.close())
    return publish(directory, types, reversed(entries), durable=False)


@settings(max_examples=examples(30), deadline=None)
@given(datasets(), st.integers(1, 4), st.integers(0, 20), st.integers(0, 20), st.integers(1, 5))
def test_any_range_of_any_dataset_is_read_as_written(
    sample: tuple[list[ColumnType], list[list[list[Any]]]], batch: int, start: int, stop: int, size: int
) -> None:
    types, segments = sample
    columns = [pa.array([value for segment in segments for value in segment[position]], kind.physical) for position, kind in enumerate(types)]
    group, writer.ROWS_PER_GROUP = writer.ROWS_PER_GROUP, 3
    try:
        with tempfile.TemporaryDirectory() as directory:
            manifest = write(directory, types, segments, batch)
            assert load_manifest(directory) == manifest
            table = read_rows(manifest, range(len(types)), start, stop, with_key=True)
            pieces = list(iterate_rows(manifest, range(len(types)), start, stop, size))
    finally:
        writer.ROWS_PER_GROUP = group
    expected = [column[start : max(stop, start)] for column in columns]
    assert [table.column(index).combine_chunks() for index in range(len(types))] == expected
    assert [table.schema.field(index).type for index in range(len(types))] == [kind.physical for kind in types]
    keys = [(3 * number << 33) + row for number, segment in enumerate(segments) for row in range(len(segment[0]))]
    assert table.column("_key").to_pylist() == keys[start : max(stop, start)]
    assert all(0 < len(arrays[0]) <= size for arrays in pieces)
    for position, column in enumerate(expected):
        assert [value for arrays in pieces for value in arrays[position].to_pylist()] == column.to_pylist()


def test_float_specials_survive(tmp_path: Any) -> None:
    values = [float("nan"), None, -0.0, 0.0, float("inf"), 5e-324]
    segment = SegmentWriter(str(tmp_path), 0, [FLOAT])
    segment.write([pa.array(values)])
    manifest = publish(str(tmp_path), [FLOAT], [segment.close()])
    assert repr(read_rows(manifest, [0]).column(0).to_pylist()) == repr(values)


def test_columns_are_chosen_by_position_and_may_repeat(tmp_path: Any) -> None:
    segment = SegmentWriter(str(tmp_path), 0, [INT, STR])
    segment.write(pa.record_batch({"x": pa.array([1, 2]), "y": pa.array(["a", "b"])}))
    manifest = publish(str(tmp_path), [INT, STR], [segment.close()])
    assert read_rows(manifest, [1, 0, 1]).column_names == ["c1", "c0", "c1"]
    assert [column.to_pylist() for column in read_rows(manifest, [1, 0, 1]).columns] == [["a", "b"], [1, 2], ["a", "b"]]
    assert read_rows(manifest, [], with_key=True).to_pydict() == {"_key": [0, 1]}
    for position in (2, -1):
        with pytest.raises(OSError, match=f"2 columns, none at position {position}"):
            read_rows(manifest, [position])


def test_the_stored_key_is_the_computed_one_and_packed(dataset: Any, tmp_path: Any) -> None:
    manifest = dataset("d", range(5), range(3))
    stored = [key for entry in manifest.segments for key in pq.read_table(tmp_path / "d" / entry.file)["_key"].to_pylist()]
    assert stored == read_rows(manifest, [0], with_key=True)["_key"].to_pylist()
    chunk = pq.read_metadata(tmp_path / "d" / manifest.segments[0].file).row_group(0).column(1)
    assert "DELTA_BINARY_PACKED" in chunk.encodings and not chunk.has_dictionary_page


def test_only_intersecting_files_and_row_groups_are_read(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "ROWS_PER_GROUP", 10)
    manifest = dataset("d", range(100), range(100, 200), range(200, 300))
    read: list[tuple[int, list[int]]] = []
    original = reader._batches

    def spy(file: Any, groups: list[int], *rest: Any) -> Any:
        read.append((file.metadata.row_group(0).column(0).statistics.min, groups))
        return original(file, groups, *rest)

    monkeypatch.setattr(reader, "_batches", spy)
    cases = {
        (0, 10): [(0, [0])],
        (95, 105): [(0, [9]), (100, [0])],
        (110, 140): [(100, [1, 2]), (100, [3])],
        (299, 1000): [(200, [9])],
        (300, 1000): [],
        (5, 5): [],
    }
    for (start, stop), expected in cases.items():
        read.clear()
        assert read_rows(manifest, [0], start, stop)["c0"].to_pylist() == list(range(start, min(stop, 300)))
        assert read == expected


def test_a_footer_is_read_once(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = dataset("d", range(10))
    monkeypatch.setattr(open_file, "VERY_SHORT_BYTES", 0)
    calls: list[Any] = []
    original = pq.read_metadata
    monkeypatch.setattr(pq, "read_metadata", lambda source: calls.append(source) or original(source))
    for start in range(5):
        assert read_rows(manifest, [0], start, start + 1)["c0"].to_pylist() == [start]
    assert len(calls) == 1


def test_a_batch_of_bytes_closes_a_row_group_early(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BYTES_PER_GROUP", 1000)
    segment = SegmentWriter(str(tmp_path), 0, [STR])
    segment.write([pa.array(["x" * 400] * 10)])
    manifest = publish(str(tmp_path), [STR], [segment.close()])
    metadata = pq.read_metadata(tmp_path / manifest.segments[0].file)
    assert all(metadata.row_group(group).num_rows <= 2 for group in range(metadata.num_row_groups))
    assert read_rows(manifest, [0], 3, 7)["c0"].to_pylist() == ["x" * 400] * 4


def test_row_groups_are_smaller_where_there_is_little_memory_for_work(tmp_path: Any) -> None:
    with config.using(work_memory=1 << 25):
        segment = SegmentWriter(str(tmp_path), 0, [STR])
        for _ in range(20):
            segment.write([pa.array(["x" * 1000] * 1000)])
        entry = segment.close()
    metadata = pq.read_metadata(tmp_path / entry.file)
    assert 4 <= metadata.num_row_groups <= 5


def test_negative_ranges_are_refused(dataset: Any) -> None:
    with pytest.raises(OSError, match="counts from the end"):
        read_rows(dataset("d", range(3)), [0], -1, 2)
