"""What users name as places: paths and ``file:`` URIs are exact, everything else is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sarray, load_sframe, optimize, paths_and_uris
from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import location_of, normalised

REMOTE = (
    "s3://bucket/frame", "S3://bucket/frame", "s3a://bucket/frame", "gs://bucket/frame", "abfss://c@a.dfs.core.windows.net/x", "hdfs://node/x",
    "hdfs:///x", "hdfs:/x", "viewfs:/x", "http://host/x.csv", "https://host/x.csv", "ftp://host/x", "memory://x", "a+b.c-d://x", str(Path("s3://bucket/x")),
    "simplecache::s3://bucket/x", "filecache::https://host/x", "zip://a::s3:/bucket/x", "arrow_hdfs://x/y", " s3://bucket/x", "\t\nhdfs://node/x", "\ufeffs3://bucket/x",
)  # fmt: skip


@pytest.mark.parametrize("location", REMOTE)
def test_other_file_systems_are_refused(location: str) -> None:
    with pytest.raises(StorageError, match="cannot be read or written yet"):
        normalised(location)


@pytest.mark.parametrize(
    "location", ["file:///d/a%20b", "FILE:///d/a%20b", "file:/d/a%20b", "file://localhost/d/a%20b", "File://LOCALHOST/d//a%20b/", "/d/a b", "//d/a b"]
)
def test_one_place_under_many_names(location: str) -> None:
    assert normalised(location) == "/d/a b"


def test_escapes_in_file_uris() -> None:
    assert normalised("file:///d/%25%3F%23%2Fx%C3%BC") == "/d/%?#/xü"
    assert normalised("/d/a%20b#c?d") == "/d/a%20b#c?d"


@pytest.mark.parametrize(
    "location",
    [
        "file:///d/100%",
        "file:///d/a?b",
        "file:///d/a#b",
        "file://host/d",
        "file:d",
        "file:",
        "file:///d%00",
        "/d\0",
        "/d\udcff",
        b"/d\xff",
        "file:///%ff",
    ],
)
def test_what_names_no_file_is_refused(location: str) -> None:
    with pytest.raises(StorageError):
        normalised(location)  # type: ignore[arg-type]


def test_names_with_colons_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = os.getcwd()
    assert normalised("a:b") == f"{here}/a:b"
    assert normalised("./s3:/x") == f"{here}/s3:/x"
    assert normalised("C:/x") == f"{here}/C:/x"
    assert normalised("/data/s3://x") == "/data/s3:/x"


@pytest.mark.parametrize("slip", ["s3:bucket/x", "S3:bucket", "s3 ://bucket/x", "gs:x", "jdbc:foo/x", " hdfs:x", "abfss :/c@a/x"])
def test_what_was_meant_for_a_uri_makes_no_directory(slip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for door in (normalised, location_of, SFrame({"a": [1]}).save, SFrame({"a": [1]}).export_csv, SFrame.read_csv, load_sframe):
        with pytest.raises(OSError, match=r"write \w+://bucket/name|is on |neither a URI"):
            door(slip)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "s3:there").mkdir()
    assert normalised("s3:there") == f"{os.getcwd()}/s3:there"


def test_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert normalised("~/x") == "/home/me/x" and normalised("/d/~/x") == "/d/~/x"


@pytest.mark.parametrize("location", ["simplecache::s3://bucket/x", "blockcache::memory://x", "zip://a.zip::s3://bucket/x"])
def test_file_systems_in_a_chain_are_no_places_of_frames(location: str) -> None:
    with pytest.raises(StorageError, match="'::'"):
        location_of(location)


@pytest.mark.parametrize(
    "read",
    [SFrame.read_csv, SFrame.read_json, SFrame.read_parquet, SFrame.read_orc, SFrame, SArray, SArray.read_json, load_sframe, load_sarray, optimize],
)
def test_what_is_mounted_is_written_and_read_at_one_place(read: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(paths_and_uris._MOUNTED, "dbfs", str(tmp_path))
    for call in (read, SFrame({"a": [1]}).export_csv):
        with pytest.raises(StorageError, match=f"{re.escape(str(tmp_path))}/none"):
            call("dbfs:/none/file.csv")


@pytest.mark.parametrize("uri", ["dbfs:/{}", "dbfs:///{}", " DBFS:/{}"])
def test_files_that_are_mounted(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(paths_and_uris._MOUNTED, "dbfs", str(tmp_path))
    frame = SFrame({"a": [1, 2]})
    frame.save(uri.format("frame"))
    frame.export_csv(uri.format("a.csv"))
    frame.write_parquet(uri.format("parquet"))
    assert (tmp_path / "a.csv").is_file() and list(load_sframe(uri.format("frame"))["a"]) == [1, 2]
    for found in (SFrame.read_csv(uri.format("*.csv"), verbose=False), SFrame.read_parquet(uri.format("parquet"))):
        assert list(found["a"]) == [1, 2]


def test_a_working_directory_that_is_not_unicode_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(directory)
    monkeypatch.chdir(directory)  # type: ignore[arg-type]
    for work in (lambda: SFrame({"a": [1]}).export_csv("x.csv"), lambda: SFrame.read_csv("x.csv"), lambda: SFrame({"a": [1]}).save("x")):
        with pytest.raises(StorageError, match="is not Unicode text"):
            work()
    SFrame({"a": [1]}).save(str(tmp_path / "saved"))
    assert len(load_sframe(str(tmp_path / "saved"))) == 1


def test_a_locale_that_cannot_write_a_name_is_told(tmp_path: Path) -> None:
    program = """
from sframe_spark import SFrame, load_sframe
frame = SFrame({"a": [1], "b": ["\\u00e9"]})
writers = [frame.export_csv, frame.export_json, frame.write_parquet, frame.write_orc, frame.save, frame.checkpoint]
for work in [*writers, SFrame.read_csv, SFrame.read_json, SFrame.read_parquet, SFrame, load_sframe]:
    try:
        work("caf\\u00e9.csv")
    except OSError as error:
        assert "start Python with PYTHONUTF8=1" in str(error), error
    else:
        raise AssertionError(work)
frame.export_csv("plain.csv")
assert list(SFrame.read_csv("plain.csv", verbose=False)["b"]) == ["\\u00e9"]
"""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-1500:]
