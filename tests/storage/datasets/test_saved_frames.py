"""Frames saved elsewhere are the frames that were saved: all kinds of columns, versions, copies from and to everywhere."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from sframe_spark import SArray, SFrame, history, load_sarray, load_sframe, vacuum
from sframe_spark.errors import InvalidArgumentError, NotSavedError, StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.plugin import graph_from_json, graph_to_json, node_of
from sframe_spark.storage.manifest import sidecar_file_of_segment_statistics_and_checksums as sidecar_file
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.util import get_archive_type, is_directory_archive
from tests.storage.damage import frame_of_every_type, save_in_segments
from tests.storage.datasets.conftest import KEY, SECRET, Bucket


def manifest_of(frame: SFrame) -> Manifest:
    """The files that a frame is read from."""
    source = node_of(frame).operator
    assert isinstance(source, SegmentSource)
    return source.manifest


def test_all_kinds_of_columns(place: str) -> None:
    frame = frame_of_every_type()
    frame.save(place)
    loaded = load_sframe(place)
    assert loaded.column_names() == frame.column_names() and loaded.column_types() == frame.column_types()
    assert list(loaded) == list(frame)
    assert list(load_sframe(place, verify=True)) == list(frame)
    assert list(SFrame(place)) == list(frame)


def test_columns_and_empty_frames(place: str) -> None:
    SArray([3, None, 1]).save(place)
    assert list(load_sarray(place)) == [3, None, 1] and list(SArray(place)) == [3, None, 1]
    SFrame({"a": [1], "b": ["x"]})[:0].save(place)
    assert load_sframe(place).column_types() == [int, str] and len(load_sframe(place)) == 0
    SFrame().save(place)
    assert load_sframe(place).column_names() == []
    assert len(load_sarray(place, version=1)) == 3
    with pytest.raises(StorageError, match="load_sframe"):
        load_sarray(place, version=2)


def test_what_is_saved_is_told(place: str) -> None:
    assert not is_directory_archive(place)
    SArray([1]).save(place)
    assert get_archive_type(place) == "sarray" and is_directory_archive(place)
    SFrame({"a": [1]}).save(place)
    assert get_archive_type(place) == "sframe"


def test_versions_are_held_by_who_has_opened_them(place: str) -> None:
    SFrame({"a": [1, 2]}).save(place)
    first = load_sframe(place)
    later = first["a"] * 10
    first[first["a"] > 1].save(place)
    second = load_sframe(place)
    second.append(first).save(place)
    assert [list(frame["a"]) for frame in (first, second, load_sframe(place))] == [[1, 2], [2], [2, 1, 2]]
    assert list(later) == [10, 20]
    assert [list(load_sframe(place, version=number)["a"]) for number in (1, 2, 3)] == [[1, 2], [2], [2, 1, 2]]
    for number in (0, 4, -1):
        with pytest.raises(StorageError, match=f"has no version {number}: it has versions 1 to 3"):
            load_sframe(place, version=number)


def test_empty_versions_of_other_types_are_told_apart(place: str) -> None:
    SFrame({"a": [1]})[:0].save(place)
    numbers = load_sframe(place)
    SFrame({"a": ["x"]})[:0].save(place)
    texts = load_sframe(place)
    assert numbers.column_types() == [int] and texts.column_types() == [str]
    assert node_of(numbers).operator != node_of(texts).operator


def test_history(place: str) -> None:
    began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    SFrame({"a": [1, 2]}).save(place)
    SFrame({"a": [1, 2, 3], "b": [1, 2, 3]}).save(place)
    found = history(place)
    assert list(found["version"]) == [1, 2] and list(found["rows"]) == [2, 3] and list(found["columns"]) == [1, 2]
    times = list(found["time"])
    assert began <= times[0] <= times[1] <= datetime.datetime.now(datetime.UTC)


def test_vacuum_removes_old_versions_and_what_they_alone_name(place: str) -> None:
    for number in range(3):
        SFrame({"a": list(range(number + 1))}).save(place)
    assert list(vacuum(place)["file"]) == [] and list(vacuum(place, older_than=1)["file"]) == []
    told = vacuum(place, older_than=0, dry_run=True)
    assert len(told) == 4 and all(size > 0 for size in told["bytes"]) and len(history(place)) == 3
    assert list(vacuum(place, older_than=0)["file"]) == list(told["file"])
    assert list(history(place)["version"]) == [3] and len(load_sframe(place, verify=True)) == 3
    with pytest.raises(StorageError, match="has no version 1: it has version 3 alone"):
        load_sframe(place, version=1)
    SFrame({"a": [1]}).save(place)
    assert list(history(place)["version"]) == [3, 4]


def test_vacuum_keeps_what_is_somebody_elses(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [1]}).save(place)
    SFrame({"a": [2]}).save(place)
    root = place.removeprefix("s3://")
    theirs = ["data/readme.txt", "data/x.parquet", f"data/{'0' * 32}/notes.txt", "_manifests/notes.json", "other.txt"]
    for name in theirs:
        bucket.files.pipe_file(f"{root}/{name}", b"mine")
    assert len(vacuum(place, older_than=0)) == 2
    assert {f"frame/{name}" for name in theirs} <= set(bucket.names())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("days", [-1, "x", None, True, float("nan"), float("inf")])
def test_days_that_are_none_are_refused(place: str, days: object) -> None:
    SFrame({"a": [1]}).save(place)
    with pytest.raises(InvalidArgumentError, match="older_than"):
        vacuum(place, older_than=days)  # type: ignore[arg-type]


def test_directories_of_this_machine_have_one_version(tmp_path: Path) -> None:
    SFrame({"a": [1]}).save(str(tmp_path / "x"))
    with pytest.raises(InvalidArgumentError, match="one version"):
        load_sframe(str(tmp_path / "x"), version=1)
    for work in (history, vacuum):
        with pytest.raises(InvalidArgumentError, match="one version"):
            work(str(tmp_path / "x"))


@pytest.mark.parametrize("work", [load_sframe, load_sarray, history, vacuum, SFrame, SArray])
def test_nothing_is_there(place: str, work: object) -> None:
    with pytest.raises(NotSavedError, match="there is no saved frame in"):
        work(place)  # type: ignore[operator]


def test_copies_go_everywhere(place: str, tmp_path: Path, bucket: Bucket) -> None:
    frame = frame_of_every_type()
    here = str(tmp_path / "here")
    frame.save(here)
    load_sframe(here).save(place)
    elsewhere = bucket.uri + "/copy"
    load_sframe(place).save(elsewhere)
    load_sframe(elsewhere).save(elsewhere)
    load_sframe(elsewhere).save(str(tmp_path / "back"))
    for copy in (place, elsewhere, str(tmp_path / "back")):
        assert list(load_sframe(copy, verify=True)) == list(frame)
    columns = frame.column_names()[2:5]
    for number, origin in enumerate((here, place)):
        for target in (elsewhere, str(tmp_path / f"columns-{number}")):
            load_sframe(origin)[columns].save(target)
            assert list(load_sframe(target, verify=True)) == list(frame[columns])


def test_files_are_copied_and_not_written_anew(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame_of_every_type().save(place)
    monkeypatch.setattr("sframe_spark.storage.segments.writer.SegmentWriter.write", lambda *_: pytest.fail("rows were written"))
    load_sframe(place).save(place)
    load_sframe(place)[frame_of_every_type().column_names()[:2]].save(place)
    assert len(history(place)) == 3


def test_files_of_several_row_groups(place: str, tmp_path: Path) -> None:
    frame = frame_of_every_type()
    save_in_segments(tmp_path)
    load_sframe(str(tmp_path / "frame")).save(place)
    loaded = load_sframe(place)
    for entry in manifest_of(loaded).segments:
        assert entry.group_pages is not None and len(entry.group_pages) == 2
    for start, stop in ((0, 5), (97, 103), (99, 301), (595, 600)):
        assert list(loaded[start:stop]) == list(frame[start:stop])
    assert list(loaded) == list(frame)
    loaded.save(place)
    again = load_sframe(place, verify=True)
    assert [entry.group_pages for entry in manifest_of(again).segments] == [entry.group_pages for entry in manifest_of(loaded).segments]
    assert list(again) == list(frame)


def test_frames_appended_to_themselves(place: str) -> None:
    SFrame({"a": [1, 2]}).save(place)
    for _ in range(3):
        loaded = load_sframe(place)
        loaded.append(loaded).save(place)
    assert list(load_sframe(place, verify=True)["a"]) == [1, 2] * 8


def test_plans_name_the_place_and_no_credentials(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [1, 2, 3]}).save(place)
    text = graph_to_json(node_of(load_sframe(place)))
    SFrame({"a": [9]}).save(place)
    assert place in text and KEY not in text and SECRET not in text
    again = SFrame(_node=graph_from_json(text), _names=["a"])
    assert list(again["a"]) == [1, 2, 3]
    assert all(None not in (entry.tail, entry.pages) for entry in manifest_of(again).segments)
    for name in bucket.names():
        content = bucket.files.cat_file(f"{bucket.uri.removeprefix('s3://')}/{name}")
        assert KEY.encode() not in content and SECRET.encode() not in content
    with pytest.raises(StorageError, match="that belong to no version of it"):
        graph_from_json(text.replace("segment-00000000-", "segment-00000001-"))


def test_entries_say_what_they_did_before() -> None:
    # Readers of today meet the new field, and manifests of old have none.
    found = Manifest((), (), "/data", names=())
    assert "group_pages" not in found.to_json() and attrs.evolve(found) == found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", ["1", 1.0, True, [1]])
@pytest.mark.parametrize("work", [load_sframe, load_sarray])
def test_versions_are_whole_numbers(place: str, work: Callable[..., object], version: object) -> None:
    SArray([1]).save(place)
    with pytest.raises(InvalidArgumentError, match="version must be the number of a version"):
        work(place, version=version)


def test_many_segments_are_in_a_file_of_their_version(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_file, "MIN_CELLS", 1)
    frame = frame_of_every_type()
    frame.save(place)
    loaded = load_sframe(place)
    first = manifest_of(loaded).stored
    assert first is not None and first.file.startswith("data/")
    assert list(loaded[loaded["number"] > 590]) == list(frame[frame["number"] > 590])
    assert list(load_sframe(place, verify=True)) == list(frame)
    SFrame({"a": [1, 2]}).save(place)
    # Who has loaded a version goes on with it.
    assert list(load_sframe(place, version=1)) == list(frame) and list(loaded[loaded["number"] > 590]) == list(frame[frame["number"] > 590])
    second = manifest_of(load_sframe(place)).stored
    assert second is not None and second.file != first.file
    removed = list(vacuum(place, older_than=0)["file"])
    assert sum(name.endswith(".arrow") for name in removed) == 1 and any("00000001.json" in name for name in removed)
    assert list(load_sframe(place)["a"]) == [1, 2]
