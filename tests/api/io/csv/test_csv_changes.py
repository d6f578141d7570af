"""A CSV file that is changed while it is read is told: names, types and values come from several readings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines, reader as csv_reader
from sframe_spark.errors import StorageError

# The text far behind makes all of the file be read once more for its types.
LINES = ["a", *map(str, range(300)), "text"]


def longer(file: Path) -> None:
    file.write_text("\n".join([*LINES, "1"]) + "\n")


def of_other_rows(file: Path) -> None:
    file.write_text("\n".join(reversed(LINES)) + "\n")


def of_other_rows_with_its_time(file: Path) -> None:
    status = file.stat()
    of_other_rows(file.with_name("other"))
    os.utime(file.with_name("other"), ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(file.with_name("other"), file)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is not kept in memory."""
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 10)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_text("\n".join(LINES) + "\n")
    # A time that no clock gives again.
    os.utime(path, ns=(1, 1))
    return path


@pytest.mark.parametrize("change", [longer, of_other_rows, of_other_rows_with_its_time])
@pytest.mark.parametrize("reading", [2, 3])
def test_a_file_changed_between_two_readings_is_told(
    file: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], reading: int
) -> None:
    opened, readings = csv_reader.open_csv, []

    def counting(*args: object, **options: object) -> object:
        readings.append(args)
        if len(readings) == reading:
            change(file)
        return opened(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(csv_reader, "open_csv", counting)
    with pytest.raises(StorageError, match=f"{file} was changed while it was read"):
        SFrame.read_csv(str(file), verbose=False)
    assert len(readings) >= reading


def test_a_file_that_stays_is_read(file: Path) -> None:
    assert list(SFrame.read_csv(str(file), verbose=False)["a"]) == LINES[1:]
