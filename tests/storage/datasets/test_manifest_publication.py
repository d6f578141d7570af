"""Publishing: order by number, one attempt per segment, leftovers gone, the manifest at one stroke."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets import manifest_publication
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import SegmentWriter, write_segment
from sframe_spark.types import INT


def segment(directory: Any, number: int, values: list[int]) -> SegmentEntry:
    writer = SegmentWriter(str(directory), number, [INT])
    writer.write([pa.array(values, pa.int64())])
    return writer.close()


def test_segments_are_ordered_by_number_and_empty_ones_dropped(tmp_path: Any) -> None:
    entries = [segment(tmp_path, 9, [3]), segment(tmp_path, 1, []), segment(tmp_path, 0, [1, 2])]
    manifest = publish(str(tmp_path), [INT], entries)
    assert [entry.number for entry in manifest.segments] == [0, 9]
    assert read_rows(manifest, [0])["c0"].to_pylist() == [1, 2, 3]


def test_no_rows_at_all_are_a_dataset(tmp_path: Any) -> None:
    publish(str(tmp_path / "new"), [INT], [], names=["x"])
    manifest = load_manifest(str(tmp_path / "new"))
    assert manifest.rows == 0 and manifest.names == ("x",)
    assert read_rows(manifest, [0]).schema.field("c0").type == pa.int64()


def test_attempts_at_the_same_time_do_not_touch_each_other(tmp_path: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        attempts = list(pool.map(lambda _: segment(tmp_path, 0, list(range(1000))), range(8)))
    assert len({entry.file for entry in attempts}) == 8
    manifest = publish(str(tmp_path), [INT], [attempts[3]])
    assert read_rows(manifest, [0])["c0"].to_pylist() == list(range(1000))
    assert sorted(os.listdir(tmp_path)) == sorted([MANIFEST_FILE, attempts[3].file])


def test_two_attempts_of_one_segment_are_refused(tmp_path: Any) -> None:
    attempts = [segment(tmp_path, 0, [1]), segment(tmp_path, 0, [1])]
    with pytest.raises(StorageError, match="both claim rows of segment 0"):
        publish(str(tmp_path), [INT], attempts)
    assert not (tmp_path / MANIFEST_FILE).exists()


def test_publishing_again_replaces_the_rows(tmp_path: Any) -> None:
    publish(str(tmp_path), [INT], [segment(tmp_path, 0, [1])])
    publish(str(tmp_path), [INT], [segment(tmp_path, 0, [2])])
    assert read_rows(load_manifest(str(tmp_path)), [0])["c0"].to_pylist() == [2]
    assert len(os.listdir(tmp_path)) == 2


def test_only_leftovers_of_writers_are_removed(tmp_path: Any) -> None:
    for name in ("_SUCCESS", ".part-0.parquet.crc", "part-0.parquet", "readme.txt", "other.json"):
        (tmp_path / name).write_text("x")
    (tmp_path / "_temporary" / "0").mkdir(parents=True)
    entry = segment(tmp_path, 0, [1])
    publish(str(tmp_path), [INT], [entry])
    assert sorted(os.listdir(tmp_path)) == sorted([MANIFEST_FILE, entry.file, "readme.txt", "other.json"])


@pytest.mark.parametrize("durable", [True, False])
def test_a_failed_publication_leaves_the_old_rows(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, durable: bool) -> None:
    publish(str(tmp_path), [INT], [segment(tmp_path, 0, [1])])
    new = segment(tmp_path, 0, [2])

    def fail(*_: Any) -> None:
        raise OSError("lost power")

    monkeypatch.setattr(manifest_publication.os, "replace", fail)
    with pytest.raises(StorageError, match="lost power"):
        publish(str(tmp_path), [INT], [new], durable=durable)
    assert read_rows(load_manifest(str(tmp_path)), [0])["c0"].to_pylist() == [1]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_missing_segment_is_not_published(tmp_path: Any) -> None:
    entry = segment(tmp_path, 0, [1])
    os.remove(tmp_path / entry.file)
    with pytest.raises(StorageError, match=entry.file):
        publish(str(tmp_path), [INT], [entry])
    assert not (tmp_path / MANIFEST_FILE).exists()


def test_a_temporary_directory_is_listed_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    entries = [write_segment(str(tmp_path), number, [INT], [[pa.array([number])]]) for number in range(3)]
    (tmp_path / (MANIFEST_FILE + manifest_publication.TEMPORARY_SUFFIX)).write_text("left by a process that died")
    publish(str(tmp_path), [INT], entries[:2], durable=False)
    assert len(listed) == 1
    assert sorted(os.listdir(tmp_path)) == sorted([MANIFEST_FILE, *(entry.file for entry in entries[:2])])
