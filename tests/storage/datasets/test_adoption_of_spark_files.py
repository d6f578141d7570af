"""Files that Spark wrote become segments only if their keys prove that they are all the rows, in order."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.adoption_of_spark_files import adopt
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, STR, ColumnType


def spark_file(path: Any, keys: list[int], **columns: pa.Array) -> None:
    data = columns or {"c0": pa.array(keys)}
    pq.write_table(pa.table({**data, "_key": pa.array(keys, pa.int64())}), path, row_group_size=2)


def base(number: int) -> int:
    return number << 33


def test_files_are_ordered_by_key_whatever_their_names(tmp_path: Any) -> None:
    spark_file(tmp_path / "part-00000-b.parquet", [base(7), base(7) + 1, base(7) + 2])
    spark_file(tmp_path / "part-00001-a.parquet", [base(2)])
    spark_file(tmp_path / "part-00002.parquet", [])
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-00001-a.parquet.crc"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "_temporary").mkdir()
    spark_file(tmp_path / "_temporary" / "lost.parquet", [base(2)])
    entries = adopt(str(tmp_path), [INT])
    assert [(entry.number, entry.rows, entry.first_position) for entry in entries] == [(2, 1, 0), (7, 3, 0)]
    manifest = publish(str(tmp_path), [INT], entries)
    table = read_rows(manifest, [0], with_key=True)
    assert table["c0"].to_pylist() == table["_key"].to_pylist() == [base(2), base(7), base(7) + 1, base(7) + 2]


def test_a_partition_cut_into_several_files_is_one_segment(tmp_path: Any) -> None:
    spark_file(tmp_path / "a.parquet", [base(1) + 2, base(1) + 3])
    spark_file(tmp_path / "b.parquet", [base(1), base(1) + 1])
    manifest = publish(str(tmp_path), [INT], adopt(str(tmp_path), [INT]))
    assert [entry.file for entry in manifest.segments] == ["b.parquet", "a.parquet"]
    assert manifest.offset_of_number == {1: 0}
    assert read_rows(manifest, [0], 1, 3, with_key=True)["_key"].to_pylist() == [base(1) + 1, base(1) + 2]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([[0, 1], [1, 2]], "another file"),
        ([[0, 1], [0, 1]], "another file"),
        ([[0, 2]], "not consecutive"),
        ([[0, 0]], "not consecutive"),
        ([[base(1) - 1, base(1)]], "not consecutive"),
        ([[1, 2]], "the rows from 0 on are missing"),
        ([[0], [2]], "the rows from 1 on are missing"),
    ],
)
def test_keys_that_do_not_prove_the_order_are_refused(tmp_path: Any, files: list[list[int]], words: str) -> None:
    for index, keys in enumerate(files):
        spark_file(tmp_path / f"{index}.parquet", keys)
    with pytest.raises(StorageError, match=words) as caught:
        adopt(str(tmp_path), [INT])
    assert str(tmp_path) in str(caught.value)


def test_files_without_keys_columns_or_bounds_are_refused(tmp_path: Any) -> None:
    pq.write_table(pa.table({"c0": [1]}), tmp_path / "a.parquet")
    with pytest.raises(StorageError, match="no column _key"):
        adopt(str(tmp_path), [INT])
    with pytest.raises(StorageError, match="no column _key, c1"):
        adopt(str(tmp_path), [INT, INT])
    pq.write_table(pa.table({"c0": [1], "_key": [0]}), tmp_path / "a.parquet", write_statistics=False)
    with pytest.raises(StorageError, match="no bounds"):
        adopt(str(tmp_path), [INT])
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(StorageError, match="not a readable Parquet file"):
        adopt(str(tmp_path), [INT])


def test_footers_tell_bounds_and_constants_and_no_more(tmp_path: Any) -> None:
    instant = datetime.datetime(1970, 1, 1, 0, 0, 1)
    columns: dict[str, tuple[ColumnType, pa.Array]] = {
        "c0": (INT, pa.array([5, 5, 5])),
        "c1": (INT, pa.array([1, None, 3])),
        "c2": (FLOAT, pa.array([1.0, 1.0, float("nan")])),
        "c3": (STR, pa.array(["a", "a", "a"])),
        "c4": (DATETIME, pa.array([instant] * 3, pa.timestamp("us"))),
        "c5": (ARRAY, pa.array([[1.0]] * 3)),
        "c6": (DATETIME, pa.array([instant] * 3, pa.timestamp("ms"))),
        "c7": (INT, pa.array([None] * 3, pa.int64())),
    }
    spark_file(tmp_path / "a.parquet", [0, 1, 2], **{name: array for name, (_, array) in columns.items()})
    (entry,) = adopt(str(tmp_path), [kind for kind, _ in columns.values()])
    constant, ints, floats, texts, instants, arrays, millis, missing = entry.columns
    assert constant.constant and constant.ascending and not constant.strictly_ascending and constant.first == 5
    assert (ints.minimum, ints.maximum, ints.has_missing, ints.ascending) == (1, 3, True, None)
    assert floats.constant is None and floats.has_nan is None and floats.has_missing is False
    assert not texts.bounds_known and texts.constant is None and texts.has_missing is False
    assert instants.constant and instants.first == 1_000_000
    assert arrays.has_missing is None and not millis.bounds_known
    assert missing.bounds_known and missing.minimum is None and missing.has_missing is True


def test_values_are_read_in_our_types_whatever_spark_calls_them(tmp_path: Any) -> None:
    element = pa.list_(pa.field("element", pa.float64(), nullable=False))
    spark_file(
        tmp_path / "a.parquet",
        [0, 1],
        c0=pa.array([[1.0], []], element),
        c1=pa.array([0, None], pa.timestamp("us", "UTC")),
    )
    manifest = publish(str(tmp_path), [ARRAY, DATETIME], adopt(str(tmp_path), [ARRAY, DATETIME]))
    table = read_rows(manifest, [0, 1])
    assert table.schema.types == [ARRAY.physical, DATETIME.physical]
    assert table.to_pydict() == {"c0": [[1.0], []], "c1": [datetime.datetime(1970, 1, 1), None]}
