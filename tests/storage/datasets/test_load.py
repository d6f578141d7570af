"""A saved dataset opens only if it is complete; every refusal names the path and a way out."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest.manifest_json import unsealed
from sframe_spark.storage.segments.reader import read_rows
from tests.storage.saved import save_dataset


def refused(path: Any, words: str, **options: Any) -> None:
    with pytest.raises(StorageError, match=words) as caught:
        load_manifest(path, **options)
    assert str(path) in str(caught.value)


def test_no_directory_is_told_from_one_without_a_frame(tmp_path: Any) -> None:
    refused(tmp_path / "no", "there is no directory")
    refused(tmp_path, "is not a saved frame")
    (tmp_path / "x.parquet").write_text("x")
    refused(tmp_path, r"read it with SFrame.read_parquet\(\)")
    refused(tmp_path / "x.parquet", "a saved frame is a directory")


def test_a_directory_of_saved_frames_is_none(dataset: Any, tmp_path: Any) -> None:
    dataset("d", [1])
    refused(tmp_path, "contains saved frames, but is not one itself")
    os.remove(tmp_path / "d" / MANIFEST_FILE)
    refused(tmp_path / "d", "saving was interrupted")


def test_a_damaged_manifest_is_refused(dataset: Any, tmp_path: Any) -> None:
    dataset("d", [1])
    text = (tmp_path / "d" / MANIFEST_FILE).read_bytes()
    (tmp_path / "d" / MANIFEST_FILE).write_bytes(text[:-10])
    refused(tmp_path / "d", "damaged")
    (tmp_path / "d" / MANIFEST_FILE).write_bytes(b"\xff" + text)
    refused(tmp_path / "d", "damaged")


def test_missing_and_truncated_segments_are_found_without_reading_them(dataset: Any, tmp_path: Any) -> None:
    manifest = dataset("d", [1, 2], [3])
    file = tmp_path / "d" / manifest.segments[1].file
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    refused(tmp_path / "d", "damaged: it has")
    os.remove(file)
    refused(tmp_path / "d", "is missing")
    file.write_bytes(content)
    assert load_manifest(tmp_path / "d") == manifest


def older(directory: Any, **changes: Any) -> None:
    """Rewrite a manifest as version 1 of the format had it, without any check sum; segments can be changed as well."""
    path = directory / MANIFEST_FILE
    content = unsealed(path.read_text(), "")
    segments = [{**entry, "checksum": None, **changes} for entry in content["segments"]]
    for entry in segments:
        del entry["tail"], entry["pages"]
    rows = sum(entry["rows"] for entry in segments)
    path.write_text(json.dumps({"format": "sframe_spark", "version": 1, **content, "segments": segments, "rows": rows}))


def test_rows_are_checked_where_the_size_is_unknown(dataset: Any, tmp_path: Any) -> None:
    dataset("d", [1, 2])
    older(tmp_path / "d", size=None)
    assert load_manifest(tmp_path / "d").rows == 2
    older_again = unsealed((tmp_path / "d" / MANIFEST_FILE).read_text(), "")
    older_again["segments"][0]["rows"] = older_again["rows"] = 3
    (tmp_path / "d" / MANIFEST_FILE).write_text(json.dumps(older_again))
    refused(tmp_path / "d", "has 2 rows")


def test_check_sums_find_a_single_changed_byte(dataset: Any, tmp_path: Any) -> None:
    saved = dataset("d", range(1000))
    assert load_manifest(tmp_path / "d", verify=True) == saved
    file = tmp_path / "d" / saved.segments[0].file
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    os.remove(file)
    file.write_bytes(content)
    load_manifest(tmp_path / "d")
    refused(tmp_path / "d", "is damaged: .*check sum", verify=True)


def test_what_older_versions_saved_loads_and_gets_check_sums_when_it_is_saved_again(dataset: Any, tmp_path: Any) -> None:
    dataset("d", range(1000), range(10))
    older(tmp_path / "d")
    loaded = load_manifest(tmp_path / "d")
    assert read_rows(loaded, [0]).num_rows == 1010
    refused(tmp_path / "d", "without check sums", verify=True)
    save_dataset([loaded], tmp_path / "again")
    again = load_manifest(tmp_path / "again", verify=True)
    assert all(entry.tail and entry.pages for entry in again.segments)


def test_a_damaged_file_without_check_sums_is_told_where_it_is_saved_again(dataset: Any, tmp_path: Any) -> None:
    dataset("d", range(5_000))
    older(tmp_path / "d")
    (file,) = (tmp_path / "d").glob("*.parquet")
    content = bytearray(file.read_bytes())
    # The header of the first page.
    content[4:7] = bytes(byte ^ 0x7F for byte in content[4:7])
    file.write_bytes(content)
    with pytest.raises(StorageError, match=r"segment-\S+ is damaged"):
        save_dataset([load_manifest(tmp_path / "d")], tmp_path / "other")


def test_a_dataset_that_changes_after_it_was_opened_is_noticed(dataset: Any, tmp_path: Any) -> None:
    manifest = dataset("d", [1, 2, 3])
    file = tmp_path / "d" / manifest.segments[0].file
    content = file.read_bytes()
    file.write_bytes(content + b"x")
    with pytest.raises(StorageError, match="was replaced"):
        read_rows(manifest, [0])
    os.remove(file)
    with pytest.raises(StorageError, match="overwritten, moved or deleted"):
        read_rows(manifest, [0])


def test_a_dataset_can_be_moved(dataset: Any, tmp_path: Any) -> None:
    dataset("d", [1, 2, 3])
    os.rename(tmp_path / "d", tmp_path / "moved here")
    assert read_rows(load_manifest(tmp_path / "moved here"), [0])["c0"].to_pylist() == [1, 2, 3]
    assert load_manifest((tmp_path / "moved here").as_uri()).rows == 3
