"""Directories of Parquet and ORC files: every value where other programs find it, in row order, whole or not at all."""

from __future__ import annotations

import array
import datetime
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, StorageError, UserFunctionError
from sframe_spark.storage.datasets import atomic_directory_save as saving

FORMATS = ("parquet", "orc")
MOMENT = datetime.datetime(2012, 1, 1, 3, 4, 5, 6)
ODD_NAMES = ["", " ", "a.b", "a b", "a\nb", "A", "a", "é", "`x`", "a,b", "x=y", '"q"', ";", "{a}", "_key", "c0", "part-00000"]


def write(sf: SFrame, form: str, path: Any) -> Path:
    {"parquet": sf.write_parquet, "orc": sf.write_orc}[form](path)
    return Path(path)


def parts(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def short(directory: Path) -> list[str]:
    """Names without what tells one writing from others."""
    return [f"{name[:10]}.{name.partition('.')[2]}" for name in parts(directory)]


def rows_of(directory: Path) -> pa.Table:
    read = {".parquet": pq.read_table, ".orc": orc.read_table}
    return pa.concat_tables([read[Path(name).suffix](directory / name) for name in parts(directory)])


def frame_of_every_type() -> SFrame:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    return SFrame(
        {
            "int": [2**62, None, -1],
            "float": [0.5, None, float("nan")],
            "str": ['a"\n', None, ""],
            "array": [array.array("d", [1, 2.5]), None, array.array("d")],
            "datetime": [MOMENT, None, MOMENT.replace(year=1970)],
            "zoned": [MOMENT.replace(tzinfo=zone), None, MOMENT.replace(tzinfo=datetime.UTC)],
            "texts": [["a", None], None, []],
            "list": [[1, "a", None, MOMENT], None, [[float("nan")]]],
            "dict": [{"a": 1}, None, {}],
            "mixed": [{1: "x", "b": [1.5, None]}, None, {"k": {}}],
        }
    )


EXPECTED = {
    "int": [2**62, None, -1],
    "str": ['a"\n', None, ""],
    "array": [[1, 2.5], None, []],
    "texts": [["a", None], None, []],
    "list": ['[1, "a", null, "2012-01-01T03:04:05.000006"]', None, "[[NaN]]"],
    "dict": [[("a", 1)], None, []],
    "mixed": ['{"1": "x", "b": [1.5, null]}', None, '{"k": {}}'],
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_type_goes_out_as_one_that_others_know(form: str, tmp_path: Path) -> None:
    found = rows_of(write(frame_of_every_type(), form, tmp_path / "x"))
    assert found.column_names == frame_of_every_type().column_names()
    for name, values in EXPECTED.items():
        assert found[name].to_pylist() == values, name
    assert found["float"].to_pylist()[:2] == [0.5, None] and str(found["float"][2]) == "nan"
    zoned = found["zoned"].cast(pa.timestamp("us", "UTC")).to_pylist()
    assert zoned[0] == MOMENT.replace(hour=1, tzinfo=datetime.UTC) and zoned[1] is None
    assert found["datetime"].cast(pa.timestamp("us")).to_pylist()[:2] == [MOMENT, None]
    for text in (*EXPECTED["list"], *EXPECTED["mixed"]):
        assert text is None or json.loads(text) is not None


@pytest.mark.parametrize("form", FORMATS)
def test_a_slice_of_rows_keeps_its_own_instants(form: str, tmp_path: Path) -> None:
    moments = [MOMENT.replace(tzinfo=datetime.UTC, second=second) for second in range(9)]
    found = rows_of(write(SFrame({"t": moments})[3:7], form, tmp_path / "x"))
    assert [moment.second for moment in found["t"].to_pylist()] == [3, 4, 5, 6]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", [*ODD_NAMES, "a\0b"])
def test_odd_names(form: str, name: str, tmp_path: Path) -> None:
    frame = SFrame(pa.table([[1, 2]], names=[name]))
    if form == "orc" and name in ("", "`x`"):
        with pytest.raises(InvalidArgumentError, match="have a backtick in them: '"):
            write(frame, form, tmp_path / "x")
        return
    found = rows_of(write(frame, form, tmp_path / "x"))
    assert found.column_names == frame.column_names() and found[0].to_pylist() == [1, 2]


@pytest.mark.parametrize("form", FORMATS)
def test_no_rows_keep_their_columns(form: str, tmp_path: Path) -> None:
    found = rows_of(write(frame_of_every_type()[:0], form, tmp_path / "x"))
    assert found.num_rows == 0 and found.column_names == frame_of_every_type().column_names()


@pytest.mark.parametrize("form", FORMATS)
def test_what_cannot_be_written_is_refused(form: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="a frame without columns"):
        write(SFrame(), form, tmp_path / "x")
    with pytest.raises(InvalidArgumentError, match="half of a character"):
        write(SFrame({"a": [1]}).rename({"a": "\ud83d"}), form, tmp_path / "x")
    with pytest.raises(StorageError, match="is read only"):
        write(SFrame({"a": [1]}), form, "https://bucket/x")
    with pytest.raises(InvalidArgumentError, match="the path is empty"):
        write(SFrame({"a": [1]}), form, "")
    assert os.listdir(tmp_path) == []


def test_only_what_was_written_so_is_replaced(tmp_path: Path) -> None:
    place = write(SFrame({"a": [1, 2]}), "parquet", tmp_path / "x")
    write(SFrame({"b": ["x"]}), "orc", place)
    assert short(place) == ["part-00000.orc"] and rows_of(place).to_pydict() == {"b": ["x"]}
    (place / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"holds notes\.txt, which writing would delete"):
        write(SFrame({"a": [1]}), "parquet", place)
    assert (place / "notes.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="is a file, not a directory"):
        write(SFrame({"a": [1]}), "parquet", tmp_path / "file")
    SFrame({"a": [1]}).save(str(tmp_path / "saved"))
    with pytest.raises(StorageError, match="was not written by sframe_spark"):
        write(SFrame({"a": [1]}), "parquet", tmp_path / "saved")
    assert len(load_sframe(str(tmp_path / "saved"))) == 1


def test_parts_of_several_writings_or_of_others_are_not_deleted(tmp_path: Path) -> None:
    first, second = (write(SFrame({"a": [1]}), "parquet", tmp_path / name) for name in "xy")
    os.rename(second / parts(second)[0], first / parts(second)[0])
    with pytest.raises(StorageError, match=r"holds part-00000-.*, which writing would delete"):
        write(SFrame({"a": [1]}), "parquet", first)
    for names, words in (
        (["part-00001-" + "0" * 32 + ".parquet"], "lacks some of the files"),
        (["part-00000-1f0c-c000.snappy.parquet", "_SUCCESS"], "was not written by sframe_spark"),
        (["part-00000-" + "0" * 32 + ".parquet", "_SUCCESS"], "holds _SUCCESS"),
        (["part-00000.parquet"], "was not written by sframe_spark"),
    ):
        place = tmp_path / "z"
        place.mkdir()
        for name in names:
            (place / name).write_text("theirs")
        with pytest.raises(StorageError, match=words):
            write(SFrame({"a": [1]}), "parquet", place)
        assert parts(place) == sorted(names)
        place.rename(tmp_path / names[0])


def test_other_programs_read_the_directory(tmp_path: Path) -> None:
    import duckdb
    import polars

    place = write(SFrame({"a": [1, 2]}), "parquet", tmp_path / "x")
    assert polars.read_parquet(place)["a"].to_list() == [1, 2]
    assert duckdb.sql(f"select sum(a) from '{place}/*.parquet'").fetchall() == [(3,)]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    place = write(SFrame({"a": [1, 2]}), "parquet", tmp_path / "x")
    with pytest.raises(UserFunctionError):
        SFrame({"a": SArray([1, 0]).apply(lambda value: 1 // value)}).write_parquet(place)
    assert rows_of(place).to_pydict() == {"a": [1, 2]}
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("is_moved_by_files", [False, True])
def test_rows_read_from_a_directory_may_be_written_to_it(is_moved_by_files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(SFrame({"a": [1, 2]}), "parquet", tmp_path / "x")
    if is_moved_by_files:
        # As where the file system lets no directories change places.
        monkeypatch.setattr(saving, "_exchange", lambda first, second: saving.NO_EXCHANGE[0])
    frame = SFrame.read_parquet(str(place))
    frame["b"] = frame["a"] * 10
    frame.write_parquet(place)
    assert list(SFrame.read_parquet(str(place))["b"]) == [10, 20]
    assert os.listdir(tmp_path) == ["x"] and short(place) == ["part-00000.parquet"]


def test_a_directory_that_is_worked_in_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(SFrame({"a": [1, 2]}), "parquet", tmp_path / "x")
    monkeypatch.chdir(place)
    write(SFrame({"a": [3]}), "parquet", place)
    assert rows_of(Path()).to_pydict() == {"a": [3]}


def test_a_link_stays_and_its_directory_is_replaced(tmp_path: Path) -> None:
    place = write(SFrame({"a": [1]}), "parquet", tmp_path / "x")
    (tmp_path / "link").symlink_to(place)
    write(SFrame({"a": [2]}), "parquet", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and rows_of(place).to_pydict() == {"a": [2]}


def test_tables_in_memory_are_written_without_spark_in_parts_in_order(tmp_path: Path) -> None:
    rows = 300_000
    place = write(SFrame(pa.table({"a": range(rows)})), "parquet", tmp_path / "x")
    assert rows_of(place)["a"].to_pylist() == list(range(rows))
    assert all(pq.ParquetFile(place / name).metadata.row_group(0).num_rows <= 131_072 for name in parts(place))


def test_row_groups_of_long_texts_are_small(tmp_path: Path) -> None:
    texts = pa.array(["x" * 1_000_000] * 150)
    place = write(SFrame(pa.table({"a": texts})), "parquet", tmp_path / "x")
    file = pq.ParquetFile(place / parts(place)[0])
    assert max(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)) < 70


@pytest.mark.spark
@pytest.mark.parametrize("form", FORMATS)
def test_tasks_write_the_rows_in_order(form: str, everything_on_spark: None, tmp_path: Path) -> None:
    rows = 200_000
    SFrame({"a": range(rows)}).save(str(tmp_path / "saved"))
    frame = load_sframe(str(tmp_path / "saved"))
    frame["sum"] = frame["a"].cumulative_sum()
    frame["called"] = frame["a"].apply(lambda value: value + 1, dtype=int)
    with config.using(default_segments=3):
        place = write(frame[frame["a"] >= 100_000], form, tmp_path / "x")
    assert short(place) == [f"part-0000{number}.{form}" for number in range(len(short(place)))] and len(short(place)) > 1
    found = rows_of(place)
    assert found["a"].to_pylist() == list(range(100_000, rows))
    assert found["called"].to_pylist() == list(range(100_001, rows + 1))
    assert found["sum"].to_pylist()[0] == 100_000 * 100_001 // 2
    descending = write(frame.sort("a", ascending=False), form, tmp_path / "x")
    assert rows_of(descending)["a"].to_pylist() == list(range(rows))[::-1]


@pytest.mark.spark
def test_spark_reads_odd_names_and_every_type(spark: Any, tmp_path: Path) -> None:
    names = [name for name in ODD_NAMES if name not in ("A", "", "`x`")]
    frame = SFrame(pa.table([[place] for place in range(len(names))], names=names))
    for form in FORMATS:
        place = write(frame, form, tmp_path / form)
        read = spark.read.format(form).load(f"file://{place}")
        assert sorted(read.columns) == sorted(names)
        assert tuple(read.first()) == tuple(frame[0][name] for name in read.columns)
        typed = spark.read.format(form).load(f"file://{write(frame_of_every_type(), form, tmp_path / 'typed')}")
        assert typed.count() == 3 and typed.first()["int"] == 2**62 and typed.first()["dict"] == {"a": 1}
