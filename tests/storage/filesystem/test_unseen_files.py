"""What stands among the files of a directory and cannot be read as one is named: its rows are not left out without a word."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import StorageError

UNSEEN: dict[str, Callable[[Path], object]] = {
    "link to nothing": lambda path: path.symlink_to("/nowhere/at/all"),
    "pipe": os.mkfifo,
    "directory": os.mkdir,
    "link to a directory": lambda path: path.symlink_to("/tmp"),
}


def write(directory: Path, kind: str, name: str) -> None:
    if kind == "parquet":
        pq.write_table(pa.table({"t": [1]}), directory / f"{name}.parquet")
    else:
        (directory / f"{name}.csv").write_text("t\n1\n")


def read(path: Path, kind: str) -> list[int]:
    frame = SFrame.read_parquet(str(path)) if kind == "parquet" else SFrame.read_csv(str(path), verbose=False)
    return list(frame["t"])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("make", UNSEEN)
def test_what_cannot_be_read_is_named(tmp_path: Path, kind: str, make: str) -> None:
    write(tmp_path, kind, "a")
    UNSEEN[make](tmp_path / f"b.{kind}")
    with pytest.raises(StorageError, match=f"{tmp_path}/b.{kind} is "):
        read(tmp_path, kind)


def test_a_pattern_finds_no_less(tmp_path: Path) -> None:
    write(tmp_path, "csv", "a")
    (tmp_path / "b.csv").symlink_to("/nowhere/at/all")
    with pytest.raises(StorageError, match=f"{tmp_path}/b.csv is a link to /nowhere/at/all, which does not exist"):
        read(tmp_path / "*.csv", "csv")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_hidden_names_are_no_data_and_links_to_files_are(tmp_path: Path, kind: str) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    write(tmp_path, kind, "elsewhere")
    write(directory, kind, "a")
    (directory / f"b.{kind}").symlink_to(tmp_path / f"elsewhere.{kind}")
    (directory / "_hidden").symlink_to("/nowhere/at/all")
    (directory / ".temporary").mkdir()
    assert read(directory, kind) == [1, 1]
