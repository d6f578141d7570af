"""Many short files: put together by a save and by ``optimize``; the same rows in the same order, long files as they are, nothing lost on the way."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sframe_spark
from sframe_spark import SArray, SFrame, config, load_sarray, load_sframe, optimize
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets import dataset_copies, manifest_publication
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT, STR
from tests.examples import examples
from tests.storage.saved import save_dataset


def written(directory: Path, edges: list[int]) -> Manifest:
    """Numbers and texts in segments that end at some rows."""
    directory.mkdir(parents=True, exist_ok=True)
    entries = [
        write_segment(str(directory), number, [INT, STR], [[pa.array(range(a, b), pa.int64()), pa.array([f"t{row}" for row in range(a, b)])]])
        for number, (a, b) in enumerate(itertools.pairwise(edges))
    ]
    return publish(str(directory), [INT, STR], entries, names=["n", "t"])


def values(manifest: Manifest) -> list[Any]:
    table = read_rows(manifest, [0, 1])
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_save_puts_very_many_short_files_together(tmp_path: Path) -> None:
    source = written(tmp_path / "many", list(range(0, 301, 3)))
    saved = save_dataset([source], tmp_path / "saved", ["n", "t"])
    assert len(saved.segments) == 1 and saved.segments[0].columns[0].strictly_ascending
    assert values(load_manifest(tmp_path / "saved", verify=True)) == values(source)


def test_a_save_passes_few_files_on(tmp_path: Path) -> None:
    source = written(tmp_path / "few", [0, 2, 4, 6])
    saved = save_dataset([source], tmp_path / "saved", ["n", "t"])
    assert [entry.rows for entry in saved.segments] == [2, 2, 2]
    assert os.stat(tmp_path / "saved" / saved.segments[0].file).st_nlink > 1


def test_optimize_leaves_long_files_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = written(tmp_path / "frame", [0, 5, 10, 6_000, 6_003, 6_006])
    monkeypatch.setattr(dataset_copies, "SHORT_BYTES", 10_000)
    held = load_sframe(str(tmp_path / "frame"))
    assert optimize(tmp_path / "frame") == 3
    now = load_manifest(tmp_path / "frame", verify=True)
    assert [entry.rows for entry in now.segments] == [10, 5_990, 6]
    assert now.segments[1].checksum == source.segments[2].checksum and now.segments[1].tail == source.segments[2].tail
    assert values(now) == [(row, f"t{row}") for row in range(6_006)]
    # Who has it open reads on.
    assert list(held["n"]) == list(range(6_006)) and len(held) == 6_006
    stamp = (tmp_path / "frame" / "_manifest.json").stat().st_mtime_ns
    assert optimize(tmp_path / "frame") == 3
    assert (tmp_path / "frame" / "_manifest.json").stat().st_mtime_ns == stamp


def test_files_are_bounded_by_rows_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "frame", list(range(0, 101, 5)))
    with config.using(segment_rows=30):
        assert optimize(tmp_path / "frame") == 4
    assert [entry.rows for entry in load_manifest(tmp_path / "frame").segments] == [30, 30, 30, 10]
    monkeypatch.setattr(dataset_copies, "MAX_COMBINED_BYTES", 1)
    assert optimize(tmp_path / "frame") == 4


def test_columns_and_frames_elsewhere(tmp_path: Path) -> None:
    SArray([1]).append(SArray([2])).save(str(tmp_path / "column"))
    assert optimize(str(tmp_path / "column")) == 1 and list(load_sarray(str(tmp_path / "column"))) == [1, 2]
    place = "memory://tests/optimize"
    load_sframe(written(tmp_path / "frame", [0, 1, 2, 3]).directory).save(place)
    assert optimize(place) == 1
    assert list(load_sframe(place)["n"]) == list(load_sframe(place, version=1)["n"]) == [0, 1, 2]
    assert list(sframe_spark.history(place)["version"]) == [1, 2]


def test_what_has_no_files_of_its_own_is_refused(tmp_path: Path) -> None:
    SFrame({"a": [1, 2]}).save(str(tmp_path / "frame"))
    other = load_sframe(str(tmp_path / "frame"))
    other["b"] = other["a"] * 2
    other._save_reference(str(tmp_path / "reference"))
    with pytest.raises(StorageError, match="files of other saved frames"):
        optimize(tmp_path / "reference")
    with pytest.raises(OSError, match="there is no directory"):
        optimize(tmp_path / "nothing")
    assert list(load_sframe(str(tmp_path / "reference"))["b"]) == [2, 4]


def test_an_error_amid_it_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "frame", list(range(0, 101, 5)))
    original = manifest_publication.write_manifest

    def fail(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest_publication, "write_manifest", fail)
    with pytest.raises(KeyboardInterrupt):
        optimize(tmp_path / "frame")
    now = load_manifest(tmp_path / "frame", verify=True)
    assert len(now.segments) == 20 and [row for row, _ in values(now)] == list(range(100))
    assert sorted(os.listdir(tmp_path)) == ["frame"]


def test_damage_is_not_written_anew(tmp_path: Path) -> None:
    source = written(tmp_path / "frame", [0, 500, 1_000])
    file = tmp_path / "frame" / source.segments[1].file
    content = bytearray(file.read_bytes())
    content[60] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match="is damaged"):
        optimize(tmp_path / "frame")
    assert len(load_manifest(tmp_path / "frame").segments) == 2


@settings(max_examples=examples(25), deadline=None)
@given(
    pieces=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=8), min_size=1, max_size=3),
    least=st.integers(2, 4),
    rows=st.integers(1, 12),
    split=st.booleans(),
)
def test_rows_stay_in_order_whatever_is_put_together(
    tmp_path_factory: pytest.TempPathFactory, pieces: Any, least: int, rows: int, split: bool
) -> None:
    place = tmp_path_factory.mktemp("gather")
    sources = []
    for number, sizes in enumerate(pieces):
        source = written(place / f"source-{number}", [0, *itertools.accumulate(sizes)])
        if split and len(source.segments) > 1:
            # Sizes that nobody told, as other versions wrote.
            source = source.with_segments((attrs.evolve(source.segments[0], group_bytes=None), *source.segments[1:]))
        sources.append(source)
    with config.using(segment_rows=rows):
        saved = save_dataset(sources, place / "saved", ["n", "t"], min_combined=least)
    assert values(load_manifest(place / "saved", verify=True)) == [row for source in sources for row in values(source)]
    assert saved.rows == sum(map(sum, pieces))
    numbers = [entry.number for entry in saved.segments]
    assert numbers == sorted(set(numbers))
