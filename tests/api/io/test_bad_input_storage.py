"""Files that are missing, damaged, overwritten or do not fit: a StorageError that says which and what to do, and nothing lost."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError

HALF_A_CHARACTER = "a\ud800"
SMALL_DISK_BYTES = 1024 * 1024
# One column is more than the small disk holds, however well it is packed; few enough for the driver.
LARGE_ROWS = 200_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte, where this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", place], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs rights that this process does not have")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(scope="module")
def large() -> SFrame:
    """Random numbers, which no encoding makes smaller."""
    numbers = np.random.default_rng(1)
    return SFrame({"a": numbers.integers(0, 2**60, LARGE_ROWS), "b": numbers.random(LARGE_ROWS)})


def frame() -> SFrame:
    """A small frame with a value of each row."""
    return SFrame({"a": list(range(10)), "s": [f"text {i}" for i in range(10)]})


def files_below(place: Path) -> list[str]:
    """Files that hold data or could be taken for data."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and path.name != "_owner.json")


def segment_of(place: Path) -> Path:
    """The only segment file of a saved frame."""
    (found,) = place.glob("*.parquet")
    return found


WRITES: dict[str, Callable[[SFrame, Path], Any]] = {
    "frame": lambda sf, disk: sf.save(str(disk / "frame")),
    "column": lambda sf, disk: sf["a"].save(str(disk / "column")),
    "csv": lambda sf, disk: sf.save(str(disk / "frame.csv")),
    "text": lambda sf, disk: sf["a"].save(str(disk / "column.txt"), format="text"),
}

SPARK_WRITES: dict[str, Callable[[SFrame, Path], Any]] = {
    "tasks": lambda sf, disk: (sf["a"] + 1).save(str(disk / "column")),
    "query": lambda sf, disk: sf.sort("a").save(str(disk / "frame")),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_full_disk_while_saving(write: Callable[[SFrame, Path], Any], large: SFrame, small_disk: Path) -> None:
    frame().save(str(small_disk / "before"))
    before = files_below(small_disk)
    with pytest.raises(StorageError, match=r"the disk is full .*Free some space"):
        write(large, small_disk)
    assert files_below(small_disk) == before
    assert large["a"][LARGE_ROWS - 1] >= 0
    assert list(load_sframe(str(small_disk / "before"))["a"]) == list(range(10))


@pytest.mark.spark
@pytest.mark.parametrize("write", SPARK_WRITES.values(), ids=SPARK_WRITES)
def test_full_disk_in_spark(write: Callable[[SFrame, Path], Any], large: SFrame, small_disk: Path, everything_on_spark: None) -> None:
    with pytest.raises(StorageError, match=r"the disk is full \([0-9,]{1,9} bytes free\)"):
        write(large, small_disk)
    assert files_below(small_disk) == []


@pytest.mark.spark
def test_full_temporary_disk_is_given_back_and_the_query_repeated_elsewhere(large: SFrame, small_disk: Path, everything_on_spark: None) -> None:
    derived = large["a"] + 1
    with config.using(temporary_directory=str(small_disk)):
        for action in (derived.materialize, large.sort("a").materialize):
            with pytest.raises(StorageError, match="SFRAME_SPARK_TMP"):
                action()
            assert files_below(small_disk) == []
    derived.materialize()
    assert derived[5] == large["a"][5] + 1


def test_full_disk_while_reading_csv(large: SFrame, small_disk: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "large.csv")
    large.export_csv(path)
    full = pytest.raises(StorageError, match=r"the disk is full .*SFRAME_SPARK_TMP")
    with config.using(temporary_directory=str(small_disk), kept_memory=1), full:
        SFrame.read_csv(path)
    assert files_below(small_disk) == []
    assert SFrame.read_csv(path)["a"].sum() == large["a"].sum()


def test_full_disk_while_a_saved_frame_is_replaced(large: SFrame, small_disk: Path) -> None:
    place = small_disk / "frame"
    frame().save(str(place))
    saved = load_sframe(str(place))
    with pytest.raises(StorageError, match="disk is full"):
        large.save(str(place))
    assert list(load_sframe(str(place))["a"]) == list(saved["a"]) == list(range(10))


def test_saving_over_a_frame_in_use_keeps_what_it_holds(tmp_path: Path) -> None:
    place = str(tmp_path / "frame")
    frame().save(place)
    changed, other = load_sframe(place), load_sframe(place)
    column = changed["a"]
    changed["a"] = changed["a"] + 1
    changed.save(place)
    saved = load_sframe(place)
    assert list(saved["a"]) == list(changed["a"]) == list(range(1, 11))
    assert list(column) == list(other["a"]) == list(range(10))
    assert list(saved["a"] - other["a"]) == [1] * 10
    SFrame({"a": [7]}).save(place)
    assert [list(each["a"])[:1] for each in (load_sframe(place), saved, other)] == [[7], [1], [0]]


def test_old_rows_go_with_their_last_user(tmp_path: Path) -> None:
    place = str(tmp_path / "frame")
    frame().save(place)
    old = load_sframe(place)
    SFrame({"a": [7]}).save(place)
    assert len(os.listdir(tmp_path)) == 2
    assert list(old["a"]) == list(range(10))
    del old
    gc.collect()
    assert os.listdir(tmp_path) == ["frame"]


@pytest.mark.spark
def test_spark_reads_old_rows_where_they_are_now(tmp_path: Path, spark: Any) -> None:
    place = str(tmp_path / "frame")
    frame().save(place)
    old = load_sframe(place)
    backwards = old.sort("a", ascending=False)
    assert backwards["a"][0] == 9
    SFrame({"a": [7]}).save(place)
    with config.using(small_rows=0):
        assert list(backwards["a"]) == list(range(9, -1, -1))
        assert list(old["a"] * 2) == list(range(0, 20, 2))


def test_a_frame_replaced_by_someone_else_is_not_mistaken_for_the_new_one(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    frame().save(str(first))
    old = load_sframe(str(first))
    changed = frame()
    changed["a"] = changed["a"] + 1
    changed.save(str(second))
    shutil.rmtree(first)
    second.rename(first)
    new = load_sframe(str(first))
    with pytest.raises(StorageError, match="was overwritten, moved or deleted since it was opened; load it again"):
        list(new["a"] - old["a"])
    assert list(new["a"]) == list(range(1, 11))


def damaged_copies(place: Path) -> dict[str, Callable[[], None]]:
    """Ways to damage a saved frame."""
    segment, manifest = segment_of(place), place / "_manifest.json"
    text = manifest.read_text()
    return {
        "segment missing": segment.unlink,
        "segment cut": lambda: os.truncate(segment, segment.stat().st_size // 2),
        "segment emptied": lambda: os.truncate(segment, 0),
        "manifest missing": manifest.unlink,
        "manifest cut": lambda: manifest.write_text(text[: len(text) // 2]) and None,
        "manifest emptied": lambda: manifest.write_text("") and None,
        "manifest of another program": lambda: manifest.write_text("{}") and None,
        "manifest binary": lambda: manifest.write_bytes(b"\xff\xfe\x00") and None,
    }


@pytest.mark.parametrize("damage", [
    "segment missing", "segment cut", "segment emptied", "manifest missing", "manifest cut", "manifest emptied",
    "manifest of another program", "manifest binary",
])  # fmt: skip
def test_damaged_frames_are_refused_when_opened(damage: str, tmp_path: Path) -> None:
    place = tmp_path / "frame"
    frame().save(str(place))
    damaged_copies(place)[damage]()
    for load in (load_sframe, SFrame, SArray):
        with pytest.raises(StorageError) as caught:
            load(str(place))
        assert str(place) in str(caught.value)


def overwrite_bytes(file: Path) -> None:
    """Make the first pages of a Parquet file nonsense, and leave its length and footer."""
    with file.open("r+b") as stream:
        stream.seek(8)
        stream.write(b"\xff" * 64)


def test_damaged_pages_are_found_when_read(tmp_path: Path) -> None:
    place = tmp_path / "frame"
    frame().save(str(place))
    overwrite_bytes(segment_of(place))
    with pytest.raises(StorageError, match=r"segment-.*is damaged.*restore it from a copy"):
        list(load_sframe(str(place))["a"])


@pytest.mark.spark
def test_spark_names_damaged_and_missing_files(tmp_path: Path, spark: Any) -> None:
    place = tmp_path / "frame"
    frame().save(str(place))
    saved = load_sframe(str(place))
    overwrite_bytes(segment_of(place))
    with config.using(small_rows=0):
        for query in (lambda: list(saved.sort("a", False)["a"]), lambda: list(saved["a"] + 1)):
            with pytest.raises(StorageError, match=r"segment-.*damaged.*restore it from a copy"):
                query()
        shutil.rmtree(place)
        for query in (lambda: list(saved.sort("a", True)["a"]), lambda: list(saved["a"] + 2)):
            with pytest.raises(StorageError, match="missing: the dataset was overwritten, moved or deleted"):
                query()


def test_unreadable_parquet_files(tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.parquet"
    nonsense.write_bytes(b"PAR1 nothing PAR1")
    empty = tmp_path / "empty"
    empty.mkdir()
    for path, words in ((nonsense, "not a readable Parquet file"), (tmp_path / "none.parquet", "check the path"), (empty, "no Parquet file")):
        with pytest.raises(StorageError, match=words) as caught:
            SFrame.read_parquet(str(path))
        assert str(path) in str(caught.value)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "letter.txt").write_text("mine")
    sf = frame()
    for path, words in (
        (str(blocked), "is a file"),
        (str(blocked / "frame"), "cannot save to"),
        (str(folder), "is not a saved frame"),
        ("/proc/frame/x", "there is no directory|cannot save"),
        (str(tmp_path / "no" / "frame.csv"), f"there is no directory {tmp_path / 'no'}"),
    ):
        with pytest.raises(StorageError, match=words) as caught:
            sf.save(path)
        assert path in str(caught.value)
    with pytest.raises(StorageError, match="is a directory"):
        sf.export_csv(str(folder))
    assert files_below(tmp_path) == ["file", "folder/letter.txt"]
    assert list(sf["a"]) == list(range(10))


def test_paths_that_are_none() -> None:
    sf = frame()
    for save in (sf.save, sf["a"].save):
        with pytest.raises(InvalidArgumentError, match="path is empty"):
            save("")
        with pytest.raises(SchemaError, match=r"a path must be a str.*got NoneType"):
            save(None)
    with pytest.raises(InvalidArgumentError, match="format must be 'binary', 'csv' or 'json'"):
        sf.save("/tmp/never", format="xml")
    with pytest.raises(SchemaError):
        load_sframe(5)


def test_paths_may_be_path_objects(tmp_path: Path) -> None:
    frame().save(tmp_path / "frame")
    frame().save(tmp_path / "frame.csv")
    assert list(load_sframe(tmp_path / "frame")["a"]) == list(SFrame(tmp_path / "frame.csv")["a"]) == list(range(10))


@pytest.mark.parametrize("name", ["frame.csv", "frame.csv.gz", "frame.txt"])
def test_what_save_has_written_as_text_is_loaded(tmp_path: Path, name: str) -> None:
    frame().export_csv(tmp_path / name)
    assert list(load_sframe(tmp_path / name)["a"]) == list(load_sframe(str(tmp_path / name))["a"]) == list(range(10))
    with pytest.raises(ValueError, match="verify"):
        load_sframe(tmp_path / name, verify=True)
    # A directory of that name is a saved frame.
    frame().save(tmp_path / "below" / name, format="binary")
    assert list(load_sframe(tmp_path / "below" / name, verify=True)["a"]) == list(range(10))
    with pytest.raises(OSError, match=r"nothing\.csv"):
        load_sframe(tmp_path / "nothing.csv")


@pytest.mark.parametrize("wanted", ["frame", "frame.csv"])
def test_names_that_no_file_can_hold_are_refused_and_lose_nothing(tmp_path: Path, wanted: str) -> None:
    SFrame({"a": [1, 2]}).save(str(tmp_path / wanted))
    with pytest.raises(ValueError, match=r"a\\ud800.*not valid Unicode"):
        SFrame({HALF_A_CHARACTER: [3]}).save(str(tmp_path / wanted))
    assert list(SFrame(str(tmp_path / wanted))["a"]) == [1, 2]
    assert [file.name for file in tmp_path.iterdir()] == [wanted]
