"""Page headers of much data are compared with their check sums by tasks, of little data by the driver; once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.spark import page_header_checks
from sframe_spark.engine.task_pickling import pack_tasks
from sframe_spark.errors import StorageError
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.parquet import checksums, footer
from sframe_spark.storage.parquet.checksums import FileChecksums, PageCheck

ROWS = 3_000


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A frame of several files."""
    place = str(tmp_path / "frame")
    with config.using(default_segments=3, small_rows=0):
        SFrame({"a": range(ROWS), "b": [row % 7 for row in range(ROWS)]}).save(place)
    return place


@pytest.fixture
def walks() -> Iterator[mock.Mock]:
    """Counts the walks of the driver through the page headers of a file."""
    with mock.patch.object(checksums, "page_headers", wraps=checksums.page_headers) as counting:
        yield counting


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of files that tasks check."""
    found: list[int] = []
    run_callables = page_header_checks.run_callables

    def counting(works: Sequence[Callable[[], Any]], description: str) -> list[Any]:
        found.append(len(works))
        return run_callables(works, description)

    monkeypatch.setattr(page_header_checks, "run_callables", counting)
    return found


def sums(place: str) -> list[int]:
    """Something that a query of Spark reads both columns for."""
    with config.using(small_rows=0, single_task_rows=0):
        found = load_sframe(place).groupby("b", {"all": aggregate.CONCAT("a")}).sort("b")
        return list(map(sum, found["all"]))


EXPECTED = [sum(range(b, ROWS, 7)) for b in range(7)]


@pytest.mark.spark
def test_tasks_check_much_data_once(saved: str, walks: mock.Mock, tasks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_BYTES_CHECKED_LOCALLY", 0)
    files = sum(name.endswith(".parquet") for name in os.listdir(saved))
    assert sums(saved) == EXPECTED
    assert tasks == [files] and walks.call_count == 0
    footer._load.cache_clear()
    assert sums(saved) == EXPECTED
    assert tasks == [files] and walks.call_count == 0


@pytest.mark.spark
def test_the_driver_checks_little_data(saved: str, walks: mock.Mock, tasks: list[int]) -> None:
    files = sum(name.endswith(".parquet") for name in os.listdir(saved))
    assert sums(saved) == EXPECTED
    assert tasks == [] and walks.call_count == files


@pytest.mark.spark
def test_damage_that_a_task_finds_is_told_with_its_file(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_BYTES_CHECKED_LOCALLY", 0)
    file = max(Path(saved).glob("*.parquet"))
    content = bytearray(file.read_bytes())
    # The first byte of the header of the first page.
    content[4] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match=file.name):
        sums(saved)


@pytest.mark.parametrize(("files", "works"), [(1, 1), (3, 3), (costs.MAX_CHECK_TASKS + 1, costs.MAX_CHECK_TASKS)])
def test_every_file_is_checked_once_by_few_works(files: int, works: int) -> None:
    checks = [
        PageCheck("/d", SegmentEntry(f"{number}", number, 1, pages=(7, 8)), FileChecksums({"c0": 0, "_key": -1}, (7, 8))) for number in range(files)
    ]
    made = page_header_checks.check_tasks(checks)
    assert len(made) == works
    parcels, shared = pack_tasks(made)
    sent = [check for parcel in parcels for check in parcel.unpack(shared).__self__.checks]  # type: ignore[attr-defined]
    assert [(check.entry.file, check.sums) for check in sent] == [(str(number), {"c0": 7, "_key": 8}) for number in range(files)]
    # The check has the sums; the entry need not.
    assert all(check.entry.pages is None for check in sent)
