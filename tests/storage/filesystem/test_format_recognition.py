"""Files of saved frames are not read as those of others, whose columns have names: the error says what reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.dirfs import DirFileSystem

from sframe_spark import SArray, SFrame, config, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE, refuse_files_of_saved_for_spark
from tests.random_tables import INTEGER, made_column, write_archive

READERS: dict[str, Callable[[Any], Any]] = {
    "parquet": SFrame.read_parquet,
    "orc": SFrame.read_orc,
    "csv": SFrame.read_csv,
    "json": SFrame.read_json,
    "json lines": lambda place: SFrame.read_json(place, orient="lines"),
    "json values": SArray.read_json,
}
OURS = r"is a frame that save\(\) has written.* read it with load_sframe\(\), or load_sarray\(\)"


def frame() -> SFrame:
    return SFrame({"user": ["a", None], "n": [1, 2], "l": [[1, "a"], []]})


@pytest.mark.parametrize("reader", READERS)
def test_a_directory_of_a_saved_frame_is_told_by_all_readers(tmp_path: Path, reader: str) -> None:
    frame().save(tmp_path / "a.frame")
    frame()["n"].save(tmp_path / "b.column")
    load_sframe(tmp_path / "a.frame")._save_reference(str(tmp_path / "c.frame"))
    (tmp_path / "link").symlink_to(tmp_path / "a.frame")
    frame().save("memory://saved/a.frame")
    for place in ("a.frame", "b.column", "c.frame", "link", "*.frame", "?.column"):
        with pytest.raises(StorageError, match=OURS):
            READERS[reader](str(tmp_path / place))
    for given in ([tmp_path / "a.frame"], f"file://{tmp_path}/a.frame", "memory://saved/a.frame"):
        with pytest.raises(StorageError, match=OURS):
            READERS[reader](given)


@pytest.mark.parametrize("reader", READERS)
def test_a_directory_of_turi_create_is_told_by_all_readers(tmp_path: Path, reader: str) -> None:
    write_archive(str(tmp_path / "old"), {"n": made_column(INTEGER, [1, 2], [[2]])})
    assert list(load_sframe(tmp_path / "old")["n"]) == [1, 2]
    for file in (tmp_path / "old").iterdir():
        fsspec.filesystem("memory").pipe_file(f"/old-{reader.replace(' ', '')}/{file.name}", file.read_bytes())
    for place in (tmp_path / "old", f"memory://old-{reader.replace(' ', '')}"):
        with pytest.raises(StorageError, match=r"a frame that Turi Create has written.* load_sframe\(\)"):
            READERS[reader](place)


def test_files_of_a_saved_frame_are_told_too(tmp_path: Path) -> None:
    frame().save(tmp_path / "a.frame")
    segment = next((tmp_path / "a.frame").glob("*.parquet"))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "one.parquet").symlink_to(segment)
    linked = (tmp_path / "links", tmp_path / "links" / "one.parquet")
    for place in (segment, tmp_path / "*" / "*.parquet", [segment], f"{tmp_path}/**/*.parquet", f"file://{segment}", *linked):
        with pytest.raises(StorageError, match=rf"^{tmp_path}/a\.frame {OURS}"):
            SFrame.read_parquet(place)
    # Copies of a file are read by what is in it: nothing else tells what its columns are.
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / segment.name).write_bytes(segment.read_bytes())
    assert SFrame.read_parquet(tmp_path / "copy").column_names() == ["c0", "c1", "c2", "_key"]
    (tmp_path / "a.frame" / MANIFEST_FILE).write_text("")
    assert len(SFrame.read_parquet(tmp_path / "a.frame")) == 2


@pytest.mark.parametrize("scheme", ["memory", "lake"])
def test_files_of_a_frame_that_is_saved_elsewhere_are_told_too(tmp_path: Path, scheme: str) -> None:
    files = DirFileSystem(f"/files-{scheme}", fsspec.filesystem("memory"))
    root = f"memory://files-{scheme}/a" if scheme == "memory" else "lake://a"
    with config.using(storage_options={"lake://": files}):
        frame().save(root)
        frame().save(root)
        for place in (root, f"{root}/", f"{root}/data/*/*.parquet", f"{root}/**/*.parquet", f"{root}/data/*/segment-*"):
            with pytest.raises(StorageError, match=OURS):
                SFrame.read_parquet(place)
        segment = files.glob("a/data/*/*.parquet")[0]
        with pytest.raises(StorageError, match=OURS):
            SFrame.read_parquet(root + segment.removeprefix("a"))
        files.pipe_file("b/data/x/0.parquet", files.cat_file(segment))
        assert len(SFrame.read_parquet(f"{root.removesuffix('a')}b/data/x")) == 2


def test_directories_of_others_stay_readable(tmp_path: Path) -> None:
    # Columns of these names are anybody's.
    named = SFrame({"c0": ["x"], "_key": [5]})[["c0", "_key"]]
    named.write_parquet(tmp_path / "named")
    (tmp_path / "named" / MANIFEST_FILE).write_text('{"format": "other", "files": []}')
    assert list(SFrame.read_parquet(tmp_path / "named")) == list(SFrame.read_parquet(f"{tmp_path}/named/*.parquet")) == list(named)
    (tmp_path / "named" / MANIFEST_FILE).unlink()
    (tmp_path / "named" / MANIFEST_FILE).mkdir()
    assert list(SFrame.read_parquet(tmp_path / "named")) == list(named)
    # What somebody has put beside a frame's own files is his.
    frame().save(tmp_path / "a.frame")
    (tmp_path / "a.frame" / "notes.csv").write_text("k\n7\n")
    pq.write_table(frame()[["n"]].to_arrow(), tmp_path / "a.frame" / "notes.parquet")
    assert list(SFrame.read_csv(tmp_path / "a.frame" / "notes.csv")["k"]) == [7]
    assert list(SFrame.read_parquet(tmp_path / "a.frame" / "notes.parquet")["n"]) == [1, 2]


def test_parts_of_a_table_of_sparks_stay_readable(tmp_path: Path) -> None:
    for year in (2023, 2024):
        SFrame({"c0": [year], "_key": [0]})[["c0", "_key"]].write_parquet(tmp_path / "table" / f"year={year}")
    (tmp_path / "table" / "_SUCCESS").write_text("")
    assert SFrame.read_parquet(tmp_path / "table").column_names() == ["c0", "_key", "year"]
    assert len(SFrame.read_parquet(tmp_path / "table" / "*" / "part-*")) == 2


@pytest.mark.spark
def test_spark_dataframes_of_a_saved_frame_are_told_whatever_is_made_of_them(spark: Any, tmp_path: Path) -> None:
    place = tmp_path / "a b%20[1].frame"
    frame().save(place)
    plain = {"pathGlobFilter": "*.parquet"}
    read = spark.read.parquet(f"{tmp_path}/a b%20\\[1\\].frame")
    deeper = spark.read.options(recursiveFileLookup=True, **plain).parquet(str(tmp_path))
    read.createOrReplaceTempView("saved_rows")
    made = {
        "as it is": read,
        "derived": read.withColumn("more", read.c1 + 1),
        "renamed": read.selectExpr("c1 + 1 AS more"),
        "filtered": read.where("_key > 0").drop("_key"),
        "a file": spark.read.parquet(f"{tmp_path}/*/segment-*"),
        "from above": deeper,
        "a view": spark.sql("SELECT count(*) AS n FROM saved_rows JOIN range(9) ON id = c1"),
        "a column of a schema": spark.read.schema("c0 string, _key bigint").options(**plain).parquet(str(tmp_path / "*")).select("c0"),
        "kept": read.select("c1").cache(),
    }
    accepted = []
    for how, df in made.items():
        try:
            accepted.append((how, SFrame(df).column_names()))
        except StorageError as error:
            assert re.search(rf"^{re.escape(str(place))} {OURS}", str(error)), how
    assert accepted == []
    made["kept"].unpersist()
    spark.catalog.dropTempView("saved_rows")


@pytest.mark.spark
def test_spark_dataframes_that_frames_became_stay_readable(spark: Any, tmp_path: Path) -> None:
    # Names as in our files: what tells ours from others is not what columns are called.
    named = SFrame({"c0": ["x", "y"], "_key": [5, 6]})[["c0", "_key"]]
    named.save(tmp_path / "a.frame")
    loaded = load_sframe(tmp_path / "a.frame")
    for df in (loaded.to_spark(), loaded.to_spark().selectExpr("*", "_key + 1 AS more"), loaded[loaded["_key"] > 5].to_spark()):
        assert list(SFrame(df).sort("_key")["c0"])[-1] == "y"
    named.write_parquet(tmp_path / "named")
    read = spark.read.parquet(str(tmp_path / "named"))
    assert list(SFrame(read).sort("_key")["_key"]) == [5, 6]
    (tmp_path / "a.frame" / MANIFEST_FILE).unlink()
    assert SFrame(spark.read.parquet(str(tmp_path / "a.frame"))).column_names() == ["c0", "c1", "_key"]


@pytest.mark.spark
def test_others_dataframes_are_asked_for_no_files(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    monkeypatch.setattr("sframe_spark.storage.filesystem.format_recognition.is_saved_frame", lambda directory: looked.append(directory))
    frame()[["n"]].write_parquet(tmp_path / "others")
    read = spark.read.parquet(str(tmp_path / "others"))
    jobs = spark.sparkContext.statusTracker()
    before = len(jobs.getJobIdsForGroup(None))
    made = SFrame(read)
    assert SFrame(read)._node is made._node and looked == []
    assert len(jobs.getJobIdsForGroup(None)) == before


def test_names_of_spark_are_looked_at_where_they_can_be(tmp_path: Path) -> None:
    frame().save(tmp_path / "a b.frame")
    frame().save("memory://saved/spark.frame")
    (elsewhere,) = fsspec.filesystem("memory").glob("/saved/spark.frame/data/*/*.parquet")
    for uri, shown in (
        (f"file:///{str(tmp_path)[1:]}/a%20b.frame/segment-0.parquet", f"{tmp_path}/a b.frame"),
        (f"file:{tmp_path}/a%20b.frame/segment-0.parquet", f"{tmp_path}/a b.frame"),
        (f"memory:/{elsewhere}", "memory://saved/spark.frame"),
    ):
        with pytest.raises(StorageError, match=rf"^{re.escape(shown)} {OURS}"):
            refuse_files_of_saved_for_spark([f"{tmp_path.as_uri()}/none.parquet", uri])
    refuse_files_of_saved_for_spark(
        ["nobody://knows/data/0a/segment-0.parquet", "s3a:///x", "file://host/a.parquet", f"{tmp_path.as_uri()}/x.parquet"]
    )
