"""Parquet files of any origin read as datasets, in natural order, with our types."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.storage.segments.reader import iterate_rows, read_rows
from sframe_spark.types import FLOAT, INT
from tests.storage.foreign_manifests import foreign_manifest


def write(path: Any, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_files_follow_in_natural_order_of_their_names(tmp_path: Any) -> None:
    for number in (10, 9, 1, 100):
        write(tmp_path / f"part-{number}.parquet", n=[number])
    (tmp_path / "_metadata").write_text("x")
    (tmp_path / ".hidden.parquet").write_text("x")
    manifest = foreign_manifest([tmp_path])
    assert read_rows(manifest, [0])["c0"].to_pylist() == [1, 9, 10, 100]
    assert read_rows(manifest, [0], 2, 3, with_key=True).to_pydict() == {"c0": [10], "_key": [2 << 33]}
    assert manifest.names == manifest.column_names_in_files == ("n",) and not manifest.has_key


def test_paths_follow_in_the_order_given(tmp_path: Any) -> None:
    write(tmp_path / "b" / "x.parquet", n=[2])
    write(tmp_path / "a" / "x.parquet", n=[1])
    manifest = foreign_manifest([str(tmp_path / "b"), tmp_path / "a" / "x.parquet"])
    assert read_rows(manifest, [0])["c0"].to_pylist() == [2, 1]
    assert manifest.directory == str(tmp_path)
    assert [entry.file for entry in manifest.segments] == ["b/x.parquet", "a/x.parquet"]


def test_values_become_ours(tmp_path: Any) -> None:
    moment = datetime.datetime(2020, 1, 2, 3)
    columns = {
        "small": pa.array([1, None], pa.int8()),
        "flag": pa.array([True, False]),
        "half": pa.array([0.5, None], pa.float32()),
        "large": pa.array(["a", None], pa.large_string()),
        "word": pa.array(["a", "b"]).dictionary_encode(),
        "day": pa.array([moment.date(), None]),
        "moment": pa.array([moment, None], pa.timestamp("ns")),
        "floats": pa.array([[0.5], None], pa.list_(pa.float32())),
        "record": pa.array([{"x": 1}, None]),
        "dotted.name": pa.array([1, 2]),
        "nothing": pa.nulls(2),
    }
    write(tmp_path / "f.parquet", **columns)
    manifest = foreign_manifest([tmp_path / "f.parquet"])
    assert [kind.kind for kind in manifest.types] == [
        "int", "int", "float", "str", "str", "datetime", "datetime", "array", "dict", "int", "float",
    ]  # fmt: skip
    table = read_rows(manifest, range(len(columns)))
    assert table.schema.types == [kind.physical for kind in manifest.types]
    assert [table.column(index).to_pylist() for index in (0, 1, 2, 3, 4, 6, 7, 9, 10)] == [
        [1, None], [1, 0], [0.5, None], ["a", None], ["a", "b"], [moment, None], [[0.5], None], [1, 2], [None, None],
    ]  # fmt: skip
    (batch,) = iterate_rows(manifest, [9, 0])
    assert [array.to_pylist() for array in batch] == [[1, 2], [1, None]]


def test_files_may_differ_in_physical_types_and_column_order(tmp_path: Any) -> None:
    write(tmp_path / "1.parquet", a=pa.array([1], pa.int8()), b=pa.nulls(1))
    write(tmp_path / "2.parquet", b=pa.array([2]), a=pa.array([3], pa.uint32()))
    manifest = foreign_manifest([tmp_path])
    assert manifest.types == (INT, INT)
    assert read_rows(manifest, [0, 1]).to_pydict() == {"c0": [1, 3], "c1": [None, 2]}


def test_lists_that_differ_are_read_in_the_common_encoding(tmp_path: Any) -> None:
    write(tmp_path / "1.parquet", a=pa.array([[1, 2]]))
    write(tmp_path / "2.parquet", a=pa.array([["x"]]))
    manifest = foreign_manifest([tmp_path])
    assert manifest.types[0].is_encoded
    assert [json.loads(text) for text in read_rows(manifest, [0])["c0"].to_pylist()] == [[1, 2], ["x"]]


def test_files_that_do_not_fit_are_refused(tmp_path: Any) -> None:
    with pytest.raises(StorageError, match=r"there is no file .*no: check the path"):
        foreign_manifest([tmp_path / "no"])
    with pytest.raises(StorageError, match="there is no Parquet file"):
        foreign_manifest([tmp_path])
    write(tmp_path / "1.parquet", a=[1])
    write(tmp_path / "2.parquet", b=[1])
    with pytest.raises(StorageError, match=r"other columns than .* \(a, b\)"):
        foreign_manifest([tmp_path])
    write(tmp_path / "2.parquet", a=["x"])
    with pytest.raises(StorageError, match="'a' is str in"):
        foreign_manifest([tmp_path])
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "3.parquet")
    with pytest.raises(StorageError, match="several columns of the name 'a'"):
        foreign_manifest([tmp_path / "3.parquet"])
    write(tmp_path / "4.parquet", a=pa.array([b"x"], pa.binary(1)))
    try:
        foreign_manifest([tmp_path / "4.parquet"])
    except SchemaError as error:
        assert "column 'a' of" in str(error)


def test_bounds_are_taken_from_footers_of_matching_types(tmp_path: Any) -> None:
    write(tmp_path / "f.parquet", a=pa.array([3, 5]), b=pa.array([3, 5], pa.int8()), c=pa.array([1.0, 2.0]))
    exact, other, floats = foreign_manifest([tmp_path / "f.parquet"]).segments[0].columns
    assert (exact.minimum, exact.maximum, exact.bounds_known) == (3, 5, True)
    assert not other.bounds_known
    assert (floats.minimum, floats.maximum, floats.has_nan) == (1.0, 2.0, None)


def test_a_file_of_no_rows_gives_types(tmp_path: Any) -> None:
    write(tmp_path / "f.parquet", a=pa.array([], pa.float64()))
    manifest = foreign_manifest([tmp_path / "f.parquet"])
    assert manifest.types == (FLOAT,) and manifest.rows == 0 and manifest.segments == ()
