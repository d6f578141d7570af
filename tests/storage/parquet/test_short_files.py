"""Short files are opened once and read at once, and nothing of what is checked of others is left out."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets import dataset_verification
from sframe_spark.storage.datasets.dataset_copies import copied_columns
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish, publish_manifest, write_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.parquet import open_file
from sframe_spark.storage.parquet.open_file import is_short
from sframe_spark.storage.segments.reader import iterate_rows, read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT, INT, STR
from tests.examples import by_turns
from tests.storage.damage import a_directory, cut, emptied, lengthened, linked, piped, removed

ROWS = 40
_TIMES = itertools.count(1_700_000_000_000_000_000, 1_000_000)


def saved(directory: Path, rows: int = ROWS) -> Manifest:
    """One short segment of three columns."""
    directory.mkdir(exist_ok=True)
    columns = [pa.array(range(rows)), pa.array([i / 7 for i in range(rows)]), pa.array([f"text {i % 5}" for i in range(rows)])]
    return publish(str(directory), [INT, FLOAT, STR], [write_segment(str(directory), 0, [INT, FLOAT, STR], [columns])])


def without_whole(manifest: Manifest) -> Manifest:
    """The manifest as versions before this check sum wrote it."""
    return manifest.with_segments(tuple(attrs.evolve(entry, whole=None) for entry in manifest.segments))


def all_rows(manifest: Manifest) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = read_rows(manifest, [0, 1, 2]).to_pydict()
    return found


def test_a_short_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = load_manifest(saved(tmp_path / "d").directory)
    opened: list[Any] = []
    original = os.open

    def counting(path: Any, *arguments: Any, **options: Any) -> int:
        opened.append(path)
        return original(path, *arguments, **options)

    def refused(*_: Any) -> None:
        raise AssertionError("pyarrow opens a file")

    monkeypatch.setattr(os, "open", counting)
    monkeypatch.setattr(pa, "OSFile", refused)
    assert all_rows(manifest)["c0"] == list(range(ROWS))
    assert opened == [f"{manifest.directory}/{manifest.segments[0].file}"]


@pytest.mark.parametrize("form", [lambda manifest: manifest, without_whole], ids=["whole", "before"])
def test_no_changed_byte_gives_other_rows(tmp_path: Path, form: Callable[[Manifest], Manifest]) -> None:
    manifest = form(saved(tmp_path / "d"))
    file = Path(manifest.directory, manifest.segments[0].file)
    right, original = all_rows(manifest), file.read_bytes()
    told, places = 0, by_turns(range(len(original)), 3, 0)
    for place in places:
        file.write_bytes(original[:place] + bytes([original[place] ^ (1 << place % 8)]) + original[place + 1 :])
        # Nobody may take it for the file that was found sound.
        os.utime(file, ns=(next(_TIMES),) * 2)
        try:
            assert all_rows(manifest) == right
        except StorageError as error:
            assert str(file) in str(error) and "\n" not in str(error)
            told += 1
    # Of the form before nobody compares the four letters at the start, and the pages of the key, which nobody reads here.
    assert told == len(places) if manifest.segments[0].whole is not None else told > len(places) // 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cut, "is damaged or was replaced: it has"),
        (lengthened, "is damaged or was replaced: it has"),
        (emptied, "is damaged or was replaced: it has 0 bytes"),
        (linked, "is a link: only files inside a saved frame are read"),
        (piped, "is not a regular file"),
        (removed, "is missing: the dataset was overwritten, moved or deleted"),
        (a_directory, "is not a regular file"),
    ],
)
@pytest.mark.parametrize("form", [lambda manifest: manifest, without_whole], ids=["whole", "before"])
def test_what_stands_where_a_file_was(tmp_path: Path, form: Callable[[Manifest], Manifest], change: Callable[[Path], None], said: str) -> None:
    manifest = form(saved(tmp_path / "d"))
    change(Path(manifest.directory, manifest.segments[0].file))
    with pytest.raises(StorageError, match=said):
        all_rows(manifest)


def test_another_file_of_the_same_length_is_told(tmp_path: Path) -> None:
    manifest, other = saved(tmp_path / "d"), saved(tmp_path / "e")
    stranger = Path(other.directory, other.segments[0].file)
    changed = bytearray(stranger.read_bytes())
    changed[len(changed) // 2] ^= 1
    Path(manifest.directory, manifest.segments[0].file).write_bytes(changed)
    with pytest.raises(StorageError, match="its check sum is another one"):
        all_rows(manifest)


def test_frames_without_the_check_sum_are_read_and_verified(tmp_path: Path) -> None:
    before = without_whole(saved(tmp_path / "d"))
    write_manifest(before, durable=False)
    assert '"whole"' not in Path(before.directory, MANIFEST_FILE).read_text()
    loaded = load_manifest(before.directory, verify=True)
    assert loaded.segments[0].whole is None
    assert all_rows(loaded)["c0"] == list(range(ROWS))


def test_verifying_compares_it(tmp_path: Path) -> None:
    manifest = saved(tmp_path / "d")
    wrong = manifest.with_segments(tuple(attrs.evolve(entry, whole=1) for entry in manifest.segments))
    assert "the check sums of its footer or page headers are others" in str(dataset_verification.damage_in(wrong)[0])


@pytest.mark.parametrize("value", [-1, 1 << 32, "1", True, 1.0, [1]])
def test_a_check_sum_that_is_none_is_refused(tmp_path: Path, value: Any) -> None:
    manifest = saved(tmp_path / "d")
    with pytest.raises(StorageError, match="the check sum of a column, or of a file, is none"):
        attrs.evolve(manifest, segments=tuple(attrs.evolve(entry, whole=value) for entry in manifest.segments))


def test_copied_columns_have_one_of_their_own(tmp_path: Path) -> None:
    manifest = saved(tmp_path / "d")
    (tmp_path / "e").mkdir()
    copied = publish_manifest(copied_columns(manifest, [2, 0], str(tmp_path / "e")), durable=True)
    assert copied.segments[0].whole not in (None, manifest.segments[0].whole)
    assert load_manifest(tmp_path / "e", verify=True).rows == ROWS


def test_long_files_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sframe_spark.storage.parquet.checksums.SHORT_BYTES", 100)
    manifest = saved(tmp_path / "d")
    assert manifest.segments[0].whole is None
    assert "whole" not in json.loads(Path(manifest.directory, MANIFEST_FILE).read_text())["content"]["segments"][0]
    assert all_rows(manifest)["c0"] == list(range(ROWS))


def test_few_rows_of_a_file_that_is_not_very_short_are_read_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = saved(tmp_path / "d", 100)
    (entry,) = manifest.segments
    assert is_short(manifest.directory, entry, 1)
    monkeypatch.setattr(open_file, "VERY_SHORT_BYTES", 100)
    assert not is_short(manifest.directory, entry, 1)
    assert is_short(manifest.directory, entry, 25)
    assert not is_short("s3://bucket/frame", entry, 100)
    assert [len(arrays[0]) for arrays in iterate_rows(manifest, [0], 3, 5)] == [2]
