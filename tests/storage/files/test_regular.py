"""Files opened by their names in an opened directory: those inside it, whatever else happens to the way there, and closed whatever happens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sframe_spark.storage.files.regular import CAN_OPEN_BELOW, open_below, opened_directory

pytestmark = pytest.mark.skipif(not CAN_OPEN_BELOW, reason="this system does not open files in opened directories")


def content(directory: int, file: str) -> bytes:
    descriptor = open_below(directory, file)
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def test_files_are_those_of_the_directory_that_was_opened(tmp_path: Path) -> None:
    (tmp_path / "a" / "data").mkdir(parents=True)
    (tmp_path / "a" / "x").write_text("first")
    (tmp_path / "a" / "data" / "x").write_text("below")
    with opened_directory(str(tmp_path / "a")) as opened:
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "x").write_text("other")
        assert content(opened, "x") == b"first" and content(opened, "data/x") == b"below"


def test_links_are_not_followed_and_pipes_do_not_wait(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    os.mkfifo(tmp_path / "pipe")
    with opened_directory(str(tmp_path)) as opened:
        with pytest.raises(OSError):
            open_below(opened, "link")
        with pytest.raises(FileNotFoundError):
            open_below(opened, "none")
        assert content(opened, "pipe") == b""


def test_the_directory_is_closed_and_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for name in ("x", "none"):
        with pytest.raises(OSError), opened_directory(str(tmp_path / name)):
            pass
    with pytest.raises(ZeroDivisionError), opened_directory(str(tmp_path)):
        raise ZeroDivisionError
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)
