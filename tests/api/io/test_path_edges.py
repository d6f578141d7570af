"""Paths that name no file of their own: open files by number, devices, directories, the empty path; and path objects that give bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError
from sframe_spark.storage.filesystem import local_files

PROGRAM = """
import os, sys
from sframe_spark import SFrame
from sframe_spark.errors import StorageError
number = os.dup(1)
os.symlink("/dev/stdout", sys.argv[1])
os.symlink("link.csv", sys.argv[2])
mine = f"/proc/{os.getpid()}/fd/1"
for path in ("/dev/stdout", f"/dev/fd/{number}", "/proc/self/fd/1", mine, "/proc/thread-self/fd/1", "/dev/fd/999", *sys.argv[1:]):
    try:
        SFrame({"a": [1]}).export_csv(path)
    except StorageError as error:
        print(error, flush=True)
    try:
        SFrame({"a": [1]})["a"].save(path, format="text")
    except StorageError as error:
        print(error, flush=True)
print("last", flush=True)
"""


class Place:
    """A path object that gives bytes."""

    def __init__(self, path: Path | bytes) -> None:
        self._path = os.fsencode(path)

    def __fspath__(self) -> bytes:
        return self._path


def test_open_files_are_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    links = [str(tmp_path / name) for name in ("link.csv", "link-to-link.csv")]
    with out.open("wb") as stream:
        subprocess.run([sys.executable, "-c", PROGRAM, *links], stdout=stream, check=True, timeout=300)
    lines = out.read_text().splitlines()
    assert len(lines) == 17 and lines[-1] == "last"
    assert all("is an open file of a process" in line for line in lines[:-1])
    assert sorted(os.listdir(tmp_path)) == ["link-to-link.csv", "link.csv", "out"]


def test_directories_that_are_reached_through_an_open_file_are_written_to(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        SFrame({"a": [1]}).export_csv(f"/proc/self/fd/{descriptor}/a.csv")
    finally:
        os.close(descriptor)
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"


@pytest.mark.parametrize("name", ["out/", "out/.", "out/..", "new/", ".", "..", "/", "out.csv/"])
def test_no_csv_without_a_name_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "here" / "out").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    frame = SFrame({"a": [1]})
    doors: list[Callable[[], object]] = [
        lambda: frame.save(name, format="csv"),
        lambda: frame.export_csv(name),
        lambda: frame["a"].save(name, format="csv"),
        lambda: frame["a"].save(name, format="text"),
    ]
    for door in doors:
        with pytest.raises(StorageError, match="names a directory, not a file"):
            door()
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["here", "out"]


def test_a_csv_may_stand_beside_a_directory_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    SFrame({"a": [1]}).save(str(tmp_path / "out"), format="csv")
    assert (tmp_path / "out.csv").read_text() == "a\n1\n" and not os.listdir(tmp_path / "out")


def test_parquet_is_read_from_paths_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match="the path is empty"):
        SFrame.read_parquet("")
    for given in (None, b"x.parquet", 5, [5], {"x.parquet"}):
        with pytest.raises(SchemaError, match="a path must be a str"):
            SFrame.read_parquet(given)
    os.mkfifo("pipe")
    os.symlink("/nowhere", "link")
    for path, words in (
        ("pipe", "is a pipe"),
        ("/dev/null", "is a pipe, a socket or a device"),
        ("link", "is a link to /nowhere"),
        ("no", "there is no file"),
    ):
        with pytest.raises(StorageError, match=words):
            SFrame.read_parquet(path)


def test_path_objects_may_give_bytes(tmp_path: Path) -> None:
    frame = SFrame({"a": [1, 2]})
    frame.save(Place(tmp_path / "frame"))
    frame.save(Place(tmp_path / "frame.csv"))
    frame.save(Place(tmp_path / "other"), format="csv")
    frame.export_csv(Place(tmp_path / "third.csv"))
    frame["a"].save(Place(tmp_path / "column"))
    for path in ("frame", "frame.csv", "other.csv", "third.csv"):
        assert list(SFrame(Place(tmp_path / path))["a"]) == [1, 2]
    assert list(load_sframe(Place(tmp_path / "frame"))["a"]) == list(SArray(str(tmp_path / "column"))) == [1, 2]
    assert list(SFrame.read_csv(Place(tmp_path / "third.csv"), verbose=False)["a"]) == [1, 2]
    for door in (frame.save, SArray([1]).save, frame.export_csv, SFrame):
        with pytest.raises(StorageError, match="is not Unicode text"):
            door(Place(bytes(tmp_path) + b"/\xff"))
        with pytest.raises(InvalidArgumentError, match="the path is empty"):
            door(Place(b""))


def test_the_whole_disk_is_not_looked_at_to_say_that_it_is_no_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "deep" / "/".join("abcdef")
    for number in range(30):
        (tmp_path / f"{number}" / "x").mkdir(parents=True)
    deep.mkdir(parents=True)
    (deep / "x.parquet").write_text("")
    monkeypatch.setattr(local_files, "MAX_SEEN", 40)
    assert len(local_files.some_below(str(tmp_path))) <= 41
    assert not any(str(deep) in place for place in local_files.some_below(str(tmp_path)))
    with pytest.raises(StorageError, match="is not a saved frame: it has no"):
        load_sframe(tmp_path)


def test_frames_among_many_files_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "near").mkdir()
    SFrame({"a": [1]}).save(tmp_path / "near" / "frame")
    for number in range(30):
        (tmp_path / "near" / "frame" / f"segment-{number}").write_text("")
    monkeypatch.setattr(local_files, "MAX_SEEN_IN_EACH", 5)
    with pytest.raises(StorageError, match="contains saved frames, but is not one itself"):
        load_sframe(tmp_path)
