"""Writers leave either a complete segment or nothing."""

from __future__ import annotations

import errno
import signal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments import writer as writer_module
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import ARRAY, FLOAT, INT, STR, ColumnType, dict_of, list_of
from tests.interpreters import run_program


def test_no_rows_make_no_file(tmp_path: Any) -> None:
    segment = SegmentWriter(str(tmp_path), 0, [INT])
    segment.write([pa.array([], pa.int64())])
    assert segment.close().rows == 0
    assert list(tmp_path.iterdir()) == []


def test_chunked_and_dictionary_arrays_are_written_as_plain_ones(tmp_path: Any) -> None:
    segment = SegmentWriter(str(tmp_path), 0, [INT, STR])
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    segment.write([pa.chunked_array([pa.array([1]), pa.array([2, 3])]), words])
    manifest = publish(str(tmp_path), [INT, STR], [segment.close()])
    assert read_rows(manifest, [0, 1]).to_pydict() == {"c0": [1, 2, 3], "c1": ["a", "b", "a"]}


def test_rows_without_columns_are_counted(tmp_path: Any) -> None:
    segment = SegmentWriter(str(tmp_path), 0, [])
    segment.write(pa.RecordBatch.from_struct_array(pa.array([{}, {}, {}], pa.struct([]))))
    assert segment.close().rows == 3


@pytest.mark.parametrize(
    ("arrays", "words"),
    [([pa.array([1])], "1 arrays for 2 columns"), ([pa.array([1]), pa.array([1, 2])], "different lengths")],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Any, arrays: list[pa.Array], words: str) -> None:
    with pytest.raises(StorageError, match=words), SegmentWriter(str(tmp_path), 0, [INT, INT]) as segment:
        segment.write(arrays)


def test_numbers_that_do_not_fit_into_keys_are_refused(tmp_path: Any) -> None:
    for number in (-1, 1 << 30):
        with pytest.raises(StorageError, match="row key"):
            SegmentWriter(str(tmp_path), number, [INT])


def test_a_closed_writer_takes_no_rows(tmp_path: Any) -> None:
    segment = SegmentWriter(str(tmp_path), 0, [INT])
    segment.close()
    with pytest.raises(StorageError, match="closed"):
        segment.write([pa.array([1])])
    with pytest.raises(StorageError, match="closed before"):
        segment.close()


def test_an_exception_removes_the_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "ROWS_PER_GROUP", 2)
    with pytest.raises(KeyError), SegmentWriter(str(tmp_path), 0, [INT]) as segment:
        segment.write([pa.array([1, 2, 3])])
        assert len(list(tmp_path.iterdir())) == 1
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    segment.abort()


@pytest.mark.parametrize("step", ["write_table", "close"])
def test_a_full_disk_is_told_with_what_to_do_and_leaves_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, step, full)
    segment = SegmentWriter(str(tmp_path), 0, [INT])
    segment.write([pa.array([1])])
    with pytest.raises(StorageError, match=r"disk is full \([0-9,]+ bytes free\).*SFRAME_SPARK_TMP") as caught:
        segment.close()
    assert str(tmp_path) in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_writer_killed_in_the_middle_leaves_nothing_readable(tmp_path: Any) -> None:
    code = f"""
import os, signal
import pyarrow as pa
from sframe_spark.storage.segments import writer
from sframe_spark.types import INT
writer.ROWS_PER_GROUP = 10
segment = writer.SegmentWriter({str(tmp_path)!r}, 0, [INT])
segment.write([pa.array(range(100))])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run_program(code).returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(StorageError, match="saving was interrupted"):
        load_manifest(str(tmp_path))
    # A second attempt is not disturbed by what the first one left, and clears it away.
    segment = SegmentWriter(str(tmp_path), 0, [INT])
    segment.write([pa.array([7])])
    publish(str(tmp_path), [INT], [segment.close()])
    assert read_rows(load_manifest(str(tmp_path)), [0])["c0"].to_pylist() == [7]
    assert len(list(tmp_path.iterdir())) == 2


ALL_DIGITS = np.random.default_rng(1).random(100).tolist()


@pytest.mark.parametrize(
    ("column_type", "values", "path", "encoding", "compression"),
    [
        (INT, [1, 2], "c0", "DELTA_BINARY_PACKED", "UNCOMPRESSED"),
        (FLOAT, [1.0, 2.0] * 50, "c0", "PLAIN", "LZ4"),
        (FLOAT, ALL_DIGITS, "c0", "PLAIN", "UNCOMPRESSED"),
        (FLOAT, [None, None], "c0", "PLAIN", "LZ4"),
        (STR, ["a"] * 10, "c0", "RLE_DICTIONARY", "LZ4"),
        (STR, [str(number) for number in range(10)], "c0", "PLAIN", "LZ4"),
        (list_of(INT), [[1]], "c0.list.element", "DELTA_BINARY_PACKED", "UNCOMPRESSED"),
        (ARRAY, [[1.0] * 20, None, []], "c0.list.element", "PLAIN", "LZ4"),
        (ARRAY, [None, [], ALL_DIGITS], "c0.list.element", "PLAIN", "UNCOMPRESSED"),
        (dict_of(STR, INT), [[("a", 1)]], "c0.key_value.value", "DELTA_BINARY_PACKED", "UNCOMPRESSED"),
    ],
)
def test_encodings_follow_the_measurements(
    tmp_path: Any, column_type: ColumnType, values: list[Any], path: str, encoding: str, compression: str
) -> None:
    segment = SegmentWriter(str(tmp_path), 0, [column_type])
    segment.write([pa.array(values, column_type.physical)])
    group = pq.read_metadata(tmp_path / segment.close().file).row_group(0)
    chunk = next(group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == path)
    assert encoding in chunk.encodings
    assert chunk.compression == compression
    assert chunk.has_dictionary_page == (encoding == "RLE_DICTIONARY")


def test_statistics_span_row_groups(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "ROWS_PER_GROUP", 2)
    segment = SegmentWriter(str(tmp_path), 0, [INT, STR, FLOAT])
    segment.write([pa.array([1, 2, 3, 0, 9]), pa.array(["e", "d", "c", "b", None]), pa.array([None] * 5, pa.float64())])
    integers, texts, floats = segment.close().columns
    assert (integers.ascending, integers.minimum, integers.maximum, integers.first, integers.last) == (
        False,
        0,
        9,
        1,
        9,
    )
    assert (texts.strictly_descending, texts.minimum, texts.maximum, texts.last) == (True, "b", "e", None)
    assert (floats.constant, floats.bounds_known, floats.minimum, floats.has_missing) == (True, True, None, True)
