"""What tells a file in place from a later one at its place: only what every later content changes; all else is fetched, or keeps its name whole."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from sframe_spark import SFrame, config
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import files_in_place, name_of, state_of_item, states_now

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
A_MOMENT = datetime.timedelta(microseconds=1)


class TellingLess(LocalFileSystem):
    """Files here, of which less is told."""

    told: str = "all"

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        item: dict[str, Any] = super().info(path, **kwargs)
        if self.told == "creation":
            return {name: value for name, value in item.items() if name in ("name", "size", "type", "created")}
        if self.told == "whole seconds":
            return {**item, "mtime": int(item["mtime"])}
        return item if self.told == "all" else {name: value for name, value in item.items() if name in ("name", "size", "type")}

    def ls(self, path: str, detail: bool = False, **kwargs: Any) -> list[Any]:
        names = super().ls(path, detail=False, **kwargs)
        return [self.info(name) for name in names] if detail else names


@pytest.fixture(autouse=True)
def own_options() -> Iterator[None]:
    with config.using(storage_options={}):
        yield


def write(path: Path, first: int) -> None:
    pq.write_table(pa.table({"n": range(first, first + 300)}), path, row_group_size=100)


@pytest.mark.parametrize(
    ("item", "is_known"),
    [
        ({"size": 3, "ETag": '"a"'}, True),
        ({"size": 3, "generation": 7, "created": NOON}, True),
        ({"size": 3, "mtime": (NOON + A_MOMENT).timestamp()}, True),
        ({"size": 3, "LastModified": NOON + A_MOMENT}, True),
        ({"size": 3, "last_modified": NOON}, False),
        ({"size": 3, "mtime": 1_700_000_000}, False),
        ({"size": 3, "created": NOON + A_MOMENT}, False),
        ({"size": 3, "LastModified": "Thu, 01 Jan 2026"}, False),
        ({"size": 3}, False),
        ({"size": None, "ETag": "a"}, False),
    ],
)
def test_only_what_a_later_content_changes_counts(item: dict[str, Any], is_known: bool) -> None:
    assert (state_of_item(item) is not None) == is_known


@pytest.mark.parametrize("told", ["all", "whole seconds", "creation", "nothing"])
def test_a_later_content_of_the_same_length_is_never_taken_for_the_first(tmp_path: Path, told: str) -> None:
    files = TellingLess(skip_instance_cache=True)
    files.told = told
    config.storage_options = {"mine://x": DirFileSystem(str(tmp_path), files)}
    (tmp_path / "x").mkdir()
    write(tmp_path / "x" / "a.parquet", 1_000)
    frame = SFrame.read_parquet("mine://x/a.parquet")
    write(tmp_path / "x" / "a.parquet", 2_000)
    later = SFrame.read_parquet("mine://x/a.parquet")
    assert list(later["n"]) == list(range(2_000, 2_300))
    if told == "all":
        with pytest.raises(StorageError, match="was changed since it was opened"):
            list(frame["n"])
    else:
        # It was fetched when it was named.
        assert list(frame["n"]) == list(range(1_000, 1_300))


def test_each_file_is_asked_for_by_the_options_of_its_own_place(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / name).mkdir(parents=True)
    config.storage_options = {f"mine://{name}": DirFileSystem(str(tmp_path / name), LocalFileSystem()) for name in ("one", "other")}
    write(tmp_path / "one" / "one" / "a.parquet", 0)
    write(tmp_path / "other" / "other" / "b.parquet", 300)
    found = [file for name in ("one", "other") for file in files_in_place(f"mine://{name}", str, False) or ()]
    assert [file.inside for file in found] == ["a.parquet", "b.parquet"]
    assert states_now([file.uri for file in found]) == [file.state for file in found]
    rows = SFrame.read_parquet("mine://one").append(SFrame.read_parquet("mine://other"))
    assert list(rows["n"]) == list(range(600))


@pytest.mark.parametrize(
    ("url", "place", "name"),
    [
        ("hdfs://host:8020/d/*.parquet", "/d/a.parquet", "hdfs://host:8020/d/a.parquet"),
        ("sftp://me@host/d", "/d/a.parquet", "sftp://me@host/d/a.parquet"),
        ("abfss://box@me.dfs.core.windows.net/d", "box/d/a.parquet", "abfss://box@me.dfs.core.windows.net/d/a.parquet"),
        # Who writes a password does not want it in messages: such a file is called what its file system calls it, and so are all others.
        ("sftp://me:secret@host/d", "/d/a.parquet", None),
        ("abfss://box@me.dfs.core.windows.net/d", "chest/d/a.parquet", None),
        ("memory://d", "/d/a.parquet", None),
    ],
)
def test_a_name_keeps_the_host_or_the_account(url: str, place: str, name: str | None) -> None:
    files = fsspec.filesystem("memory")
    assert name_of(url, files, place) == (name or files.unstrip_protocol(place))
