"""Some columns are saved without decoding a row: pages are copied, and what is saved is whole."""

from __future__ import annotations

import array
import datetime
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.storage.datasets.dataset_copies import may_copy_columns
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.parquet.column_copy import footer_of_file
from sframe_spark.storage.parquet.thrift import read_struct, write_struct
from sframe_spark.storage.segments import writer
from tests.needs import needs

# With pyarrow 17 footers of files without rows lack what is compared: all rows are decoded and written.
pytestmark = needs("pyarrow>=18")
ROWS = 1000
COLUMNS: dict[str, list[Any]] = {
    "row": list(range(ROWS)),
    "word": [None if row % 7 == 0 else f"w{row % 5}" for row in range(ROWS)],
    "half": [row / 2 if row % 11 else float("nan") for row in range(ROWS)],
    "vector": [array.array("d", [row, 1.5]) for row in range(ROWS)],
    "words": [["a", str(row)] for row in range(ROWS)],
    "bag": [{"k": row} for row in range(ROWS)],
    "mixed": [[row, "a"] for row in range(ROWS)],
    "time": [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=row) for row in range(ROWS)],
    "zoned": [datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=row % 3))) for row in range(ROWS)],
}


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SFrame:
    """A frame of every type, of several row groups."""
    monkeypatch.setattr(writer, "ROWS_PER_GROUP", 300)
    SFrame(COLUMNS).save(str(tmp_path / "saved"))
    return load_sframe(str(tmp_path / "saved"))


def decoding_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("rows are decoded")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refuse)


@pytest.mark.parametrize("names", [["word"], ["time", "row"], ["zoned", "mixed", "bag", "vector", "words", "half"]])
def test_columns_are_copied_and_the_same(saved: SFrame, tmp_path: Path, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    target = str(tmp_path / "target")
    with monkeypatch.context() as patch:
        decoding_nothing(patch)
        saved[names].save(target)
    found = load_sframe(target, verify=True)
    assert found.column_names() == names and found.dtype == saved[names].dtype
    assert repr([dict(row) for row in found]) == repr([dict(row) for row in saved[names]])
    assert pq.read_metadata(next(Path(target).glob("*.parquet"))).num_row_groups == 4


def test_a_column_and_one_that_is_saved_twice(saved: SFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        decoding_nothing(patch)
        saved["row"].save(str(tmp_path / "column"))
        twice = SFrame({"a": saved["row"], "b": saved["word"]})
        twice.save(str(tmp_path / "two"))
    assert list(SArray(str(tmp_path / "column"))) == COLUMNS["row"]
    assert load_sframe(str(tmp_path / "two"), verify=True).is_sorted("a")


def test_order_and_bounds_are_those_of_the_columns(saved: SFrame, tmp_path: Path) -> None:
    saved[["word", "row"]].save(str(tmp_path / "target"))
    old, new = (load_manifest(str(tmp_path / name)) for name in ("saved", "target"))
    places = [saved.column_names().index(name) for name in ("word", "row")]
    assert new.segments[0].columns == tuple(old.segments[0].columns[place] for place in places)
    assert new.types == tuple(old.types[place] for place in places) and new.rows == ROWS


def test_some_rows_are_written_anew(saved: SFrame, tmp_path: Path) -> None:
    saved[["row", "word"]][10:20].save(str(tmp_path / "target"))
    assert list(load_sframe(str(tmp_path / "target"))["row"]) == COLUMNS["row"][10:20]


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_damage_is_not_copied(saved: SFrame, tmp_path: Path, place: float) -> None:
    """Neither that of a header nor that of data, and nothing is left at the target."""
    (file,) = (tmp_path / "saved").glob("*.parquet")
    content = bytearray(file.read_bytes())
    name = f"c{saved.column_names().index('row')}"
    chunks = pq.read_metadata(file).to_dict()["row_groups"][1]["columns"]
    (chunk,) = [chunk for chunk in chunks if chunk["path_in_schema"] == name]
    content[int(chunk["data_page_offset"] + place * (chunk["total_compressed_size"] - 1))] ^= 0x55
    file.write_bytes(content)
    with pytest.raises(StorageError, match="damaged"):
        saved[["row", "word"]].save(str(tmp_path / "target"))
    assert not (tmp_path / "target").exists() and not [found for found in os.listdir(tmp_path) if found.startswith(".")]


def test_columns_stored_otherwise_are_not_copied(saved: SFrame, tmp_path: Path) -> None:
    """A file whose pages have no check sums, or other levels, is written anew."""
    source = saved._node.operator
    assert isinstance(source, SegmentSource) and may_copy_columns(source.manifest, (0,))
    (file,) = (tmp_path / "saved").glob("*.parquet")
    table = pq.read_table(file)
    fields = [field.with_nullable(False) if field.name == "c0" else field for field in table.schema]
    other = str(tmp_path / "other.parquet")
    pq.write_table(table.cast(pa.schema(fields)), other)
    schema = writer.segment_schema([source.manifest.types[0]])
    from sframe_spark.storage.parquet.column_copy import is_alike, names_in_file

    assert is_alike(pq.read_metadata(file), names_in_file((0,)), schema) and not is_alike(pq.read_metadata(other), names_in_file((0,)), schema)


def test_footers_are_read_and_written_byte_by_byte(saved: SFrame, tmp_path: Path) -> None:
    (file,) = (tmp_path / "saved").glob("*.parquet")
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer, end = read_struct(content[-8 - length : -8])
    assert end == length and write_struct(footer) == content[-8 - length : -8]
    assert footer_of_file(pa.BufferReader(content)) == footer


@pytest.mark.spark
def test_files_that_spark_wrote_are_copied_where_they_are_alike(tmp_path: Path) -> None:
    from sframe_spark.config import config

    with config.using(small_rows=0):
        SFrame(COLUMNS)[["row", "word", "half", "time"]].sort("word").save(str(tmp_path / "sorted"))
    found = load_sframe(str(tmp_path / "sorted"))
    found[["row", "word"]].save(str(tmp_path / "target"))
    assert load_sframe(str(tmp_path / "target"), verify=True).to_arrow().equals(found[["row", "word"]].to_arrow())
