"""A scan that Spark has open is used again only while its files are as they were: a file that was changed since is told by every query."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources import segments_read_in_spark
from tests.storage.damage import collected_by_spark
from tests.storage.datasets.test_replaced_files import files_of, saved, twins

DOORS: dict[str, Callable[[SFrame], Any]] = {
    "rows": collected_by_spark,
    "sort": lambda frame: list(frame.sort("b")),
}


def of_another_frame(file: Path, other: Path) -> None:
    shutil.copyfile(other, file)


def with_its_time(file: Path, other: Path) -> None:
    status = file.stat()
    shutil.copyfile(other, file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def swapped(file: Path, other: Path) -> None:
    twin = next(found for found in twins(file.parent) if found != file)
    aside = file.with_name("aside")
    file.rename(aside)
    twin.rename(file)
    aside.rename(twin)


def a_header_changed(file: Path, other: Path) -> None:
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)


def removed(file: Path, other: Path) -> None:
    file.unlink()


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two frames of several segments of equal length."""
    place = tmp_path_factory.mktemp("scans")
    return saved(place, "one", 0), saved(place, "other", 500)


@pytest.mark.spark
@pytest.mark.parametrize("change", [of_another_frame, with_its_time, swapped, a_header_changed, removed])
def test_a_file_changed_under_an_open_scan_is_told(frames: tuple[Path, Path], tmp_path: Path, change: Callable[[Path, Path], None]) -> None:
    place = Path(shutil.copytree(frames[0], tmp_path / "frame"))
    kept = Path(shutil.copytree(place, tmp_path / "kept"))
    file = twins(place)[0]
    other = files_of(frames[1])[files_of(place).index(file)]
    with config.using(small_rows=0):
        before = load_sframe(str(place))
        right = {name: repr(door(load_sframe(str(place)))) for name, door in DOORS.items()}
        assert {name: repr(door(before)) for name, door in DOORS.items()} == right
        change(file, other)
        for door in DOORS.values():
            with pytest.raises(StorageError, match=str(place)):
                door(before)
            with pytest.raises(StorageError, match=str(place)):
                door(load_sframe(str(place)))
        for good in kept.glob("*.parquet"):
            shutil.copyfile(good, place / good.name)
        assert {name: repr(door(load_sframe(str(place)))) for name, door in DOORS.items()} == right


@pytest.mark.spark
def test_a_scan_is_opened_once_while_its_files_stay(frames: tuple[Path, Path], tmp_path: Path) -> None:
    place = str(shutil.copytree(frames[0], tmp_path / "frame"))
    with config.using(small_rows=0), mock.patch.object(segments_read_in_spark, "open_scan", wraps=segments_read_in_spark.open_scan) as opening:
        for _ in range(3):
            DOORS["sort"](load_sframe(place))
        assert opening.call_count == 1
        os.utime(files_of(Path(place))[0])
        DOORS["sort"](load_sframe(place))
        assert opening.call_count == 2
