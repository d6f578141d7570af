"""Saving replaces saved frames and nothing else, takes over who may enter them, and takes no directory from under a process."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from tests.storage.saved import save_dataset


def everything_below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def make_file(name: str) -> Callable[[Path], None]:
    def make(directory: Path) -> None:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("precious")

    return make


SOMEBODYS: dict[str, Callable[[Path], object]] = {
    "a JSON file": make_file("settings.json"),
    "a Parquet file": make_file("results.parquet"),
    "a Parquet file that sounds like ours": make_file("segment-mine.parquet"),
    "check sums of another file": make_file(".results.parquet.crc"),
    "a directory": make_file("sub/settings.json"),
    "a file of our name in a directory": make_file("sub/segment-00000000-0123456789abcdef0123456789abcdef.parquet"),
    "an empty directory": lambda directory: (directory / "sub").mkdir(),
    "a frame": lambda directory: SFrame({"b": [1]}).save(str(directory / "inner")),
    "a link": lambda directory: (directory / "data.parquet").symlink_to(directory),
}


@pytest.mark.parametrize("damaged", [False, True], ids=["", "in a damaged frame"])
@pytest.mark.parametrize("make", SOMEBODYS.values(), ids=SOMEBODYS)
def test_what_is_somebodys_is_not_deleted(tmp_path: Path, make: Callable[[Path], object], damaged: bool) -> None:
    target = tmp_path / "target"
    SFrame({"a": [1, 2]}).save(str(target))
    before_that = everything_below(target)
    make(target)
    if damaged:
        (target / MANIFEST_FILE).write_text("{")
    before = everything_below(target)
    with pytest.raises(StorageError, match="which saving would delete") as told:
        SFrame({"a": [3]}).save(str(target))
    assert any(name in str(told.value) for name in before - before_that)
    assert everything_below(target) == before


def test_leftovers_of_writers_and_damaged_frames_are_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    SFrame({"a": [1, 2]}).save(str(target))
    segment = next(name for name in os.listdir(target) if name.endswith(".parquet"))
    for name in ("_SUCCESS", "._SUCCESS.crc", f".{segment}.crc", MANIFEST_FILE + ".tmp", f"segment-00000009-{'0' * 32}.parquet"):
        (target / name).write_text("left over")
    SFrame({"a": [3]}).save(str(target))
    (target / MANIFEST_FILE).write_text("{")
    SFrame({"a": [4]}).save(str(target))
    assert list(load_sframe(str(target))["a"]) == [4] and len(os.listdir(target)) == 2


def test_files_that_the_manifest_names_may_be_called_anything(dataset: Any, tmp_path: Path) -> None:
    import attrs

    from sframe_spark.storage.datasets.manifest_publication import write_manifest

    manifest = save_dataset([dataset("a", [1])], tmp_path / "target")
    target, entry = Path(manifest.directory), manifest.segments[0]
    (target / "parts").mkdir()
    os.rename(target / entry.file, target / "parts" / "part-0.parquet")
    write_manifest(attrs.evolve(manifest, segments=(attrs.evolve(entry, file="parts/part-0.parquet"),)), durable=False)
    save_dataset([dataset("b", [2])], target)
    assert load_manifest(target, verify=True).rows == 1 and len(os.listdir(target)) == 2


@pytest.mark.parametrize("frame_before", [True, False])
def test_the_working_directory_stays_under_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame_before: bool) -> None:
    target = tmp_path / "target"
    target.mkdir()
    if frame_before:
        SFrame({"a": [1, 2]}).save(str(target))
    monkeypatch.chdir(target)
    opened = load_sframe(".") if frame_before else None
    for value in (3, 4):
        SFrame({"a": [value]}).save(".")
        assert os.getcwd() == str(target) and list(load_sframe(".")["a"]) == [value]
    assert opened is None or list(opened["a"]) == [1, 2]
    assert len(os.listdir(target)) == 2


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for use in (SFrame({"a": [1]}).save, load_sframe):
        with pytest.raises(StorageError, match="working directory, which was deleted"):
            use("frame")
    SFrame({"a": [1]}).save(str(tmp_path / "frame"))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX modes")
@pytest.mark.parametrize("mode", [0o700, 0o750, 0o2775, 0o755])
def test_nobody_gets_in_who_could_not_before(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "target"
    target.mkdir()
    for value in range(3):
        # An empty directory made for it, then a saved frame.
        target.chmod(mode)
        SFrame({"a": [value]}).save(str(target))
        assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the administrator gives directories to any group")
@pytest.mark.parametrize("may_give", [True, False])
def test_rights_of_a_group_are_of_the_same_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_give: bool) -> None:
    target = tmp_path / "target"
    SFrame({"a": [1]}).save(str(target))
    os.chown(target, -1, 4242)
    target.chmod(0o770)
    if not may_give:
        monkeypatch.setattr(os, "chown", refuse)
    SFrame({"a": [2]}).save(str(target))
    status = target.stat()
    assert (status.st_gid, stat.S_IMODE(status.st_mode)) == ((4242, 0o770) if may_give else (os.getegid(), 0o700))


def refuse(*_: Any) -> None:
    raise PermissionError("not a member")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_links_to_nothing_and_pipes_are_told_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    for use in (SFrame({"a": [1]}).save, load_sframe):
        for name in ("dangling", "circle"):
            with pytest.raises(StorageError, match=rf"{name} is a link to .*, which does not exist"):
                use(str(tmp_path / name))
        with pytest.raises(StorageError, match=r"pipe is (a file, not a|not a) directory"):
            use(str(tmp_path / "pipe"))
    with pytest.raises(StorageError, match=r"dangling is a link to .*, which does not exist"):
        SFrame({"a": [1]}).save(str(tmp_path / "dangling" / "below"))
