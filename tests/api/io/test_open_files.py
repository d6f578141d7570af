"""Readers and writers take open files, BytesIO, StringIO and whatever has read() or write(), as pandas and Polars do."""

from __future__ import annotations

import gc
import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import SchemaError, StorageError

ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "é, y"}]
TABLE = pa.table({"a": [1, 2], "b": ["x", "é, y"]})


def parquet() -> io.BytesIO:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, stream)
    return io.BytesIO(stream.getvalue())


def orc() -> io.BytesIO:
    stream = io.BytesIO()
    pyarrow.orc.write_table(TABLE, stream)
    return io.BytesIO(stream.getvalue())


CSV, JSON = 'a,b\n1,x\n2,"é, y"\n', '[{"a": 1, "b": "x"}, {"a": 2, "b": "é, y"}]'


def read_csv(source: Any) -> SFrame:
    return SFrame.read_csv(source, verbose=False)


@pytest.mark.parametrize(
    ("read", "source"),
    [
        (read_csv, lambda: io.StringIO(CSV)),
        (read_csv, lambda: io.BytesIO(CSV.encode())),
        (SFrame.read_json, lambda: io.StringIO(JSON)),
        (SFrame.read_json, lambda: io.BytesIO(JSON.encode())),
        (SFrame.read_parquet, parquet),
        (SFrame.read_orc, orc),
        (SFrame.read, parquet),
    ],
)
def test_objects_are_read(read: Callable[[Any], SFrame], source: Callable[[], Any]) -> None:
    opened = source()
    frame = read(opened)
    assert not opened.closed and not opened.read()
    del opened
    gc.collect()
    # Rows of Parquet files are read when they are asked for: the copy is there as long as the frame is.
    assert list(frame) == ROWS and list(frame[frame["a"] > 1]["b"]) == ["é, y"]


def test_files_that_are_open_are_read_from_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a comment\n" + CSV, encoding="utf-8")
    for mode in ("r", "rb"):
        with open(tmp_path / "rows.csv", mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:  # type: ignore[call-overload]
            file.readline()
            assert list(read_csv(file)) == ROWS
    with gzip.open(tmp_path / "rows.csv.gz", "wb") as packed:
        packed.write(CSV.encode())
    with gzip.open(tmp_path / "rows.csv.gz") as unpacked:
        assert list(read_csv(unpacked)) == ROWS
    with open(tmp_path / "rows.csv.gz", "rb") as packed_file:
        assert list(read_csv(packed_file)) == ROWS
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.writestr("rows.csv", CSV)
    with zipfile.ZipFile(tmp_path / "rows.zip") as archive, archive.open("rows.csv") as member:
        assert list(read_csv(member)) == ROWS
    with tempfile.TemporaryFile() as file:
        file.write(CSV.encode())
        file.seek(0)
        assert list(read_csv(file)) == ROWS


def test_a_list_may_have_paths_and_objects(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(CSV, encoding="utf-8")
    assert list(read_csv([io.StringIO(CSV), tmp_path / "rows.csv"])) == ROWS * 2
    assert len(SFrame.read_parquet([parquet(), parquet()])) == 4


def test_columns_of_text_and_json() -> None:
    assert list(SArray.read_json(io.StringIO("[1, 2]"))) == [1, 2]


class Fails:
    """An object whose reading fails."""

    def read(self, size: int) -> bytes:
        raise OSError("the line is broken")

    def write(self, data: bytes) -> int:
        raise OSError("the line is broken")


def test_errors_name_the_object(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot read the Fails: the line is broken"):
        read_csv(Fails())
    with pytest.raises(RuntimeError, match="the BytesIO"):
        SFrame.read_json(io.BytesIO(b"[{]"))
    closed = io.StringIO(CSV)
    closed.close()
    with pytest.raises(StorageError, match="cannot read the StringIO: I/O operation on closed file"):
        read_csv(closed)
    with open(tmp_path / "written.csv", "w", encoding="utf-8") as file, pytest.raises(StorageError, match=r"written.csv: not readable"):
        read_csv(file)
    with pytest.raises(StorageError, match="gave a list, neither bytes nor text"):
        read_csv(type("Lists", (), {"read": lambda self, size: [1]})())
    with pytest.raises(SchemaError, match="a path must be a str, or an open file, got int"):
        read_csv(3)


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (SFrame.export_csv, read_csv),
        (SFrame.export_json, SFrame.read_json),
        (SFrame.write_parquet, SFrame.read_parquet),
        (SFrame.write_orc, SFrame.read_orc),
    ],
)
def test_objects_are_written(write: Callable[[SFrame, Any], None], read: Callable[[Any], SFrame], tmp_path: Path) -> None:
    frame = SFrame(TABLE)
    stream = io.BytesIO()
    write(frame, stream)
    assert not stream.closed
    assert list(read(io.BytesIO(stream.getvalue()))) == ROWS
    with open(tmp_path / "rows", "wb") as file:
        write(frame, file)
    assert (tmp_path / "rows").read_bytes() == stream.getvalue()
    with pytest.raises(StorageError, match="cannot write to the Fails: the line is broken"):
        write(frame, Fails())


def test_text_is_written_to_objects_for_text() -> None:
    stream = io.StringIO()
    SFrame(TABLE).export_csv(stream)
    assert stream.getvalue() == CSV
    with pytest.raises(StorageError, match="cannot write to the StringIO"):
        SFrame(TABLE).write_parquet(io.StringIO())


def test_nothing_is_written_where_rows_fail() -> None:
    frame = SFrame({"a": range(10)})
    frame["b"] = frame["a"].apply(lambda value: 1 // (value - 9), int)
    stream = io.BytesIO()
    with pytest.raises(ZeroDivisionError):
        frame.export_csv(stream)
    assert stream.getvalue() == b""
