"""Files of a saved frame that are swapped, replaced, cut, made longer or made something else are told, before and after the frame was loaded."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from tests.storage.damage import collected_by_spark, new_identity
from tests.storage.saved import save_dataset

ROWS, SEGMENTS = 180, 6
Read = Callable[[SFrame], object]

DOORS: dict[str, Read] = {
    "list": list,
    "len": len,
    "head": lambda frame: list(frame.head(3)),
    "tail": lambda frame: list(frame.tail(3)),
    "slice": lambda frame: list(frame[28:34]),
    "row": lambda frame: frame[40],
    "filter": lambda frame: list(frame[frame["b"] > 0.5]),
    "sum": lambda frame: (frame["a"].sum(), frame["b"].max()),
    "arrow": lambda frame: frame.to_arrow().to_pylist(),
    "sort": lambda frame: list(frame.sort("b").head(2)),
    "column": lambda frame: list(frame["b"]),
}
READING_EVERYTHING = ("list", "arrow", "column")


def rows_of(start: int) -> SFrame:
    """Rows whose files are equally long, whatever their values."""
    drawn = random.Random(start)
    rows = range(ROWS // SEGMENTS)
    # Nothing that compresses, so that lengths are equal.
    return SFrame({"a": [drawn.getrandbits(62) | 1 << 61 for _ in rows], "b": [drawn.random() for _ in rows]})


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two frames of several segments."""
    place = tmp_path_factory.mktemp("replaced")
    return saved(place, "one", 0), saved(place, "other", 500)


def test_files_have_twins(frames: tuple[Path, Path]) -> None:
    first, second = twins(frames[0])
    assert first.stat().st_size == second.stat().st_size == files_of(frames[1])[files_of(frames[0]).index(first)].stat().st_size


def twins(frame: Path) -> tuple[Path, Path]:
    """Two segments of one length."""
    found: dict[int, Path] = {}
    for file in files_of(frame):
        if (size := file.stat().st_size) in found:
            return found[size], file
        found[size] = file
    raise AssertionError("no two files are equally long")


def saved(place: Path, name: str, start: int) -> Path:
    """A frame of several segments."""
    for part in range(SEGMENTS):
        rows_of(start + part).save(str(place / f"{name}{part}"))
    manifests = [load_manifest(place / f"{name}{part}") for part in range(SEGMENTS)]
    save_dataset(manifests, place / name, manifests[0].names)
    assert len(files_of(place / name)) == SEGMENTS
    return place / name


def files_of(frame: Path) -> list[Path]:
    """Segments in row order."""
    return [frame / entry.file for entry in load_manifest(frame).segments]


def swapped(file: Path, twin: Path, other: Path) -> None:
    aside = file.with_name("aside")
    file.rename(aside)
    twin.rename(file)
    aside.rename(twin)


def of_another_frame(file: Path, twin: Path, other: Path) -> None:
    shutil.copyfile(other, file)


def extended(file: Path, twin: Path, other: Path) -> None:
    file.write_bytes(file.read_bytes() + b"PAR1")


def truncated(file: Path, twin: Path, other: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def emptied(file: Path, twin: Path, other: Path) -> None:
    file.write_bytes(b"")


def removed(file: Path, twin: Path, other: Path) -> None:
    file.unlink()


def linked(file: Path, twin: Path, other: Path) -> None:
    elsewhere = file.parent.parent / f"elsewhere of {file.parent.name}"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def linked_to_another(file: Path, twin: Path, other: Path) -> None:
    file.unlink()
    file.symlink_to(other)


def piped(file: Path, twin: Path, other: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def made_a_directory(file: Path, twin: Path, other: Path) -> None:
    file.unlink()
    file.mkdir()


Change = Callable[[Path, Path, Path], None]
REPLACED = [swapped, of_another_frame, extended, truncated, emptied, removed, linked, linked_to_another, piped, made_a_directory]


def outcomes(change: Change, frames: tuple[Path, Path], work: Path, doors: dict[str, Read]) -> dict[str, str]:
    """What each door gives after the frame was changed, loaded before that and after."""
    found: dict[str, str] = {}
    for name, door in doors.items():
        for moment in ("before", "after"):
            place = Path(shutil.copytree(frames[0], work / f"{name} {moment}"))
            right = repr(door(load_sframe(str(frames[0]))))
            loaded = load_sframe(str(place)) if moment == "after" else None
            file, twin = twins(place)
            change(file, twin, files_of(frames[1])[files_of(place).index(file)])
            for file in place.glob("*.parquet"):
                if file.is_file() and not file.is_symlink():
                    new_identity(file)
            try:
                answer = repr(door(loaded if loaded is not None else load_sframe(str(place))))
                found[f"{name} {moment}"] = "right" if answer == right else f"wrong: {answer[:80]}"
            except StorageError as error:
                found[f"{name} {moment}"] = "refused" if str(place) in str(error) else f"unclear: {error}"
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", REPLACED)
def test_a_file_that_is_another_one_is_told(frames: tuple[Path, Path], tmp_path: Path, change: Change) -> None:
    found = outcomes(change, frames, tmp_path, DOORS)
    assert {name: outcome for name, outcome in found.items() if outcome not in ("right", "refused")} == {}
    for name in READING_EVERYTHING:
        assert found[f"{name} before"] == found[f"{name} after"] == "refused"


@pytest.mark.spark
@pytest.mark.parametrize("change", [swapped, of_another_frame, linked_to_another, made_a_directory])
def test_a_file_that_is_another_one_is_told_on_spark(frames: tuple[Path, Path], tmp_path: Path, change: Change) -> None:
    doors: dict[str, Read] = {"spark rows": collected_by_spark, "spark sort": lambda frame: list(frame.sort("b", ascending=False))}
    with config.using(small_rows=0):
        found = outcomes(change, frames, tmp_path, doors)
    assert set(found.values()) == {"refused"}


@pytest.mark.parametrize("make", ["link", "pipe", "directory"])
def test_a_manifest_that_is_no_file_is_not_read(frames: tuple[Path, Path], tmp_path: Path, make: str) -> None:
    place = Path(shutil.copytree(frames[0], tmp_path / "frame"))
    manifest = place / MANIFEST_FILE
    manifest.rename(tmp_path / "elsewhere")
    {"link": lambda: manifest.symlink_to(tmp_path / "elsewhere"), "pipe": lambda: os.mkfifo(manifest), "directory": manifest.mkdir}[make]()
    for door in (lambda: load_sframe(str(place)), lambda: SFrame(str(place)), lambda: load_sframe(str(place), verify=True)):
        with pytest.raises(StorageError, match=str(place)):
            door()
