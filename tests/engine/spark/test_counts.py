"""Rows that Spark says it wrote are all there, or nothing is published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.engine.runtime import result_storage as datasets
from sframe_spark.engine.spark import shared_file_and_row_count_checks as shared_file_checks
from sframe_spark.engine.spark.shared_file_and_row_count_checks import require_all_rows, require_known_rows
from sframe_spark.errors import StorageError
from sframe_spark.storage.manifest.manifest import SegmentEntry


def entries(*rows: int) -> list[SegmentEntry]:
    """Entries of files of so many rows."""
    return [SegmentEntry(f"part-{number}.parquet", number, count, ()) for number, count in enumerate(rows)]


def complaint(found: Sequence[int], counted: int | None, expected: int | None) -> str:
    """What is said against files of so many rows; nothing where they are all there."""
    try:
        require_all_rows(entries(*found), counted, expected, "/data")
    except StorageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("found", "counted", "expected"), [((2, 3), 5, 5), ((2, 3), 5, None), ((), 0, 0), ((), 0, None)])
def test_all_rows_pass(found: Sequence[int], counted: int, expected: int | None) -> None:
    assert complaint(found, counted, expected) == ""


@pytest.mark.parametrize(
    ("found", "counted", "expected", "words"),
    [
        ((), 5, None, "wrote 5 rows to /data"),
        ((2,), 5, 5, "finds 2 of them"),
        ((6,), 5, None, "finds 6"),
        ((5,), 5, 7, "there are 7"),
        ((0,), 0, 3, "there are 3"),
        ((5,), None, 5, "did not report"),
        ((), None, None, "did not report"),
    ],
)
def test_any_other_number_is_refused(found: Sequence[int], counted: int | None, expected: int | None, words: str) -> None:
    assert words in complaint(found, counted, expected)


def test_rows_that_are_sent_are_those_that_were_known() -> None:
    require_known_rows(3, 3, "sent 3 rows")
    require_known_rows(3, None, "sent 3 rows")
    with pytest.raises(StorageError, match="Spark sent 0 rows, but there are 3") as told:
        require_known_rows(0, 3, "sent 0 rows")
    # There was nothing to be published.
    assert "published" not in str(told.value)
    with pytest.raises(StorageError, match=r"meanwhile\. Nothing was published; set config\."):
        require_all_rows(entries(2), 2, 3, "/data")


@pytest.fixture
def lost_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what Spark writes, every second file is not seen by this process."""
    adopt = datasets.adopt
    monkeypatch.setattr(datasets, "adopt", lambda *arguments: adopt(*arguments)[::2][1:])


def doors(frame: SFrame, place: Path) -> dict[str, Any]:
    """Ways to have Spark write rows."""
    sorted_frame = frame.sort("k")
    return {
        "iterate": lambda: list(sorted_frame["n"]),
        "length": lambda: len(sorted_frame[sorted_frame["n"] > 2]),
        "materialize": lambda: frame.join(frame, on="n").materialize(),
        "group": lambda: frame.groupby("n", {"s": aggregate.SUM("k")}).materialize(),
        "csv": lambda: frame.join(frame, on="n").export_csv(str(place / "frame.csv")),
        "save": lambda: frame.sort("k").save(str(place / "new")),
        "save over": lambda: frame.sort("k").save(str(place / "good")),
    }


@pytest.mark.spark
@pytest.mark.parametrize("door", ["iterate", "length", "materialize", "group", "csv", "save", "save over"])
def test_lost_files_are_never_fewer_rows(door: str, everything_on_spark: None, lost_files: None, tmp_path: Path, spark: Any) -> None:
    SFrame({"a": [1, 2, 3]}).save(str(tmp_path / "good"))
    frame = SFrame(spark.range(150_000, numPartitions=4).selectExpr("id AS n", "id % 7 AS k"))
    with pytest.raises(StorageError, match=r"set config\.temporary_directory"):
        doors(frame, tmp_path)[door]()
    assert list(load_sframe(str(tmp_path / "good"))["a"]) == [1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good"]


@pytest.mark.spark
def test_counts_are_told_after_the_action(spark: Any, tmp_path: Path) -> None:
    for rows in (0, 1, 10_000):
        observed, count = shared_file_checks.observed_rows(spark.range(rows))
        observed.write.parquet((tmp_path / str(rows)).as_uri())
        assert count() == rows
