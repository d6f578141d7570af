"""Files at paths that a cluster shares, changed while works read parts of them: that is told, and rows of before and after are never mixed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SFrame
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem import external_file_streams_and_line_ranges as external_byte_streams
from tests.engine.runtime.test_parts_of_shared_files import DOORS, lines, on_a_cluster, read, write
from tests.examples import square
from tests.storage.datasets.test_csv_in_parts import NUMBERS


def rewritten(file: Path) -> None:
    file.write_text("a,b,c\n" + NUMBERS.replace("text", "TEXT"))


def replaced(file: Path) -> None:
    """By one of the same length and time."""
    status = file.stat()
    other = file.with_name("other")
    rewritten(other)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)


def cut(file: Path) -> None:
    os.truncate(file, 300)


def longer(file: Path) -> None:
    with file.open("a") as stream:
        stream.write("1,2,3\n")


def removed(file: Path) -> None:
    file.unlink()


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("change", "reading", "door", "name"), square(5, [rewritten, replaced, cut, longer, removed], [1, 2, 3, 7, 12], DOORS, ["b.csv", "b.json"])
)
def test_a_file_that_changes_is_told_and_never_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], reading: int, door: str, name: str
) -> None:
    write(tmp_path, {"b.csv": "a,b,c\n" + NUMBERS, "b.json": lines(12)})
    os.utime(tmp_path / name, ns=(10**18, 10**18))
    original, seen = external_byte_streams.LocalFile._read_between, []

    def changing(stream: external_byte_streams.LocalFile, start: int, stop: int) -> bytes:
        seen.append(start)
        if len(seen) == reading:
            change(tmp_path / name)
        return original(stream, start, stop)

    with DOORS[door]():
        monkeypatch.setattr(external_byte_streams.LocalFile, "_read_between", changing)
        with pytest.raises(StorageError, match=re.escape(name)):
            read(tmp_path / name)
    assert len(seen) >= reading


@pytest.mark.parametrize("change", [rewritten, replaced, cut, longer, removed])
def test_a_file_that_changes_before_its_first_block_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]) -> None:
    """Between the header, which the driver reads, and the works."""
    write(tmp_path, {"b.csv": "a,b,c\n" + NUMBERS})
    os.utime(tmp_path / "b.csv", ns=(10**18, 10**18))
    with on_a_cluster():
        monkeypatch.setattr(external_file_import, "why_not_in_tasks", lambda _: change(tmp_path / "b.csv") or "")
        with pytest.raises(StorageError, match=r"b\.csv"):
            SFrame.read_csv(str(tmp_path / "b.csv"), verbose=False)


def test_another_file_at_the_path_of_a_task_is_refused(tmp_path: Path) -> None:
    """With its length and time, as where copies were made on each machine: its number tells."""
    write(tmp_path, {"b.csv": "a,b,c\n" + NUMBERS})
    with on_a_cluster() as tasks:
        tasks.begin = lambda: replaced(tmp_path / "b.csv")
        with pytest.raises(StorageError, match=r"b\.csv was changed while it was read, or is another file on .*: read it again"):
            SFrame.read_csv(str(tmp_path / "b.csv"), verbose=False)


def test_links_are_followed_and_other_rights_are_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"real/b.csv": "a,b,c\n" + NUMBERS})
    (tmp_path / "b.csv").symlink_to("real/b.csv")
    with on_a_cluster() as tasks:
        monkeypatch.setattr(external_file_import, "why_not_in_tasks", lambda _: (tmp_path / "b.csv").chmod(0o600) or "")
        assert len(SFrame.read_csv(str(tmp_path / "b.csv"), verbose=False)) == 60
    assert tasks.number > 10
