"""Manifests of many segments keep them in a file beside them: the same is known, nothing is read before somebody asks, and no damage passes."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.dataset_verification import damage_in
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish, write_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest import sidecar_file_of_segment_statistics_and_checksums as sidecar_file
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import sealed, unsealed
from sframe_spark.storage.manifest.recorded_order import RecordedOrder
from sframe_spark.storage.manifest.sidecar_file_of_segment_statistics_and_checksums import FIRST_COLUMNS, StoredSegments, is_file_of_segments
from sframe_spark.storage.segments.column_statistics_collection import dataset_statistics
from sframe_spark.storage.segments.pruning import matching_ranges, recorded_bounds
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ENCODED_LIST, FLOAT, INT, STR
from tests.examples import part
from tests.storage.conftest import write_dataset
from tests.storage.damage import ROWS, cut, frame_of_every_type, lengthened, linked, piped, removed, save_in_segments
from tests.storage.saved import save_dataset

Change = Callable[[dict[str, Any]], None]


# A number as values of three types, in one order.
FORMS: tuple[Callable[[int], Any], ...] = (lambda value: value, lambda value: value / 2, lambda value: f"{value + 1000:05}")


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of every frame are kept beside its manifest."""
    monkeypatch.setattr(sidecar_file, "MIN_CELLS", 1)


def file_of(directory: Path) -> Path:
    """The one file of segments in a directory."""
    (found,) = [file for file in directory.iterdir() if is_file_of_segments(file.name)]
    return found


def both_forms(place: Path) -> tuple[Manifest, Manifest]:
    """One dataset of every type as its manifest's text tells it, and as a file beside does."""
    save_in_segments(place)
    text = load_manifest(place / "frame")
    assert text.stored is None
    shutil.copytree(place / "frame", place / "beside")
    with mock.patch.object(sidecar_file, "MIN_CELLS", 1):
        write_manifest(attrs.evolve(text, directory=str(place / "beside")), durable=True)
    stored = load_manifest(place / "beside")
    assert stored.stored is not None
    return text, stored


def test_the_same_is_known(tmp_path: Path) -> None:
    text, stored = both_forms(tmp_path)
    assert stored.segments == text.segments and stored.rows == text.rows and stored.order == text.order and stored.names == text.names
    for one, other in zip(stored.segments, text.segments, strict=True):
        assert type(one.columns) is not tuple and tuple(one.columns) == other.columns
        assert one.pages == other.pages and one.pages is not None and other.pages is not None and one.pages[-1] == other.pages[-1]
        assert (one.tail, one.whole, one.group_bytes, one.group_pages) == (other.tail, other.whole, other.group_bytes, other.group_pages)
    assert dataset_statistics(stored) == dataset_statistics(text)
    assert stored.column_bytes == text.column_bytes and None not in stored.column_bytes
    assert read_rows(stored, range(9)).equals(read_rows(text, range(9)))
    assert load_manifest(stored.directory, verify=True) == stored


def test_values_that_json_has_not(tmp_path: Path, beside: None) -> None:
    rows = [[math.inf, None, math.nan], [-math.inf, -0.0, 1e-320], [None, None, None]]
    made = write_dataset(tmp_path / "d", [FLOAT], [[values] for values in rows])
    loaded = load_manifest(tmp_path / "d")
    assert [repr(tuple(entry.columns)) for entry in loaded.segments] == [repr(entry.columns) for entry in made.segments]


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, stored = both_forms(tmp_path)
    blocks: list[tuple[int, int, int]] = []
    original = sidecar_file.read_block

    def counting(location: str, size: int, block: tuple[int, int, int], *rest: Any) -> pa.RecordBatch:
        blocks.append(block)
        return original(location, size, block, *rest)

    monkeypatch.setattr(sidecar_file, "read_block", counting)
    frame = load_sframe(stored.directory)
    assert len(frame) == ROWS and len(blocks) == 1
    # Short files have a check sum of all bytes, and the type of numbers tells how long they are.
    assert frame[["number"]][ROWS - 2] == {"number": ROWS - 2} and frame["number"].max() == ROWS - 1
    assert len(blocks) == 1
    assert len(list(frame[frame["number"] > 500])) == 99
    # The facts about one column; nobody asks for check sums of pages.
    assert len(blocks) == 2


def test_small_frames_have_no_file_beside(tmp_path: Path) -> None:
    frame_of_every_type().save(str(tmp_path / "frame"))
    assert not [name for name in os.listdir(tmp_path / "frame") if is_file_of_segments(name)]
    assert '"version": 2' in (tmp_path / "frame" / MANIFEST_FILE).read_text()[:60]


def test_facts_of_many_cells_are_those_of_columns_that_can_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: None) -> None:
    monkeypatch.setattr(sidecar_file, "MAX_FACTS", 100)
    width = FIRST_COLUMNS + 10
    tumbled = [3, 1, 2]
    columns = [[[*tumbled] for _ in range(width)], [[*tumbled] for _ in range(width)], [[*tumbled] for _ in range(width)]]
    # One in order of its values, and one of which it was proved.
    for number, segment in enumerate(columns):
        segment[FIRST_COLUMNS + 2] = [10 * number, 10 * number + 1, 10 * number + 5]
    order = RecordedOrder(orderings=(((FIRST_COLUMNS + 2, True), (FIRST_COLUMNS + 4, True)),))
    write_dataset(tmp_path / "d", [INT] * width, columns, order=order)
    loaded = load_manifest(tmp_path / "d")
    known = [column for column in range(width) if loaded.segments[1].columns[column].bounds_known]
    assert known == [*range(FIRST_COLUMNS), FIRST_COLUMNS + 2, FIRST_COLUMNS + 4]
    # Of all rows something is known of each column.
    assert recorded_bounds(loaded, width - 1) == (1, 3)
    assert matching_ranges(loaded, width - 1, [(2, 2)], 0, 9) == ((0, 9),)
    assert matching_ranges(loaded, FIRST_COLUMNS + 2, [(11, 12)], 0, 9) == ((3, 6),)


def test_ranges_are_those_that_single_segments_tell(tmp_path: Path, beside: None) -> None:
    generator = np.random.default_rng(7)
    segments = []
    for number in range(40):
        low = int(generator.integers(-50, 50))
        values = [None if generator.random() < 0.2 or not number % 9 else int(low + generator.integers(0, 9)) for _ in range(5)]
        segments.append([[None if value is None else of(value) for value in values] for of in FORMS])
    write_dataset(tmp_path / "d", [INT, FLOAT, STR], segments)
    loaded = load_manifest(tmp_path / "d")
    one_by_one = loaded.with_segments(loaded.segments)
    assert loaded.stored is not None and one_by_one.stored is None
    for _ in range(100):
        low, wide = int(generator.integers(-60, 70)), int(generator.integers(0, 9))
        start, stop = sorted(int(place) for place in generator.integers(0, 201, 2))
        limits = [(low, low + wide), (low, None), (None, low)][int(generator.integers(0, 3))]
        for column, of in enumerate((lambda value: value, lambda value: value / 2, lambda value: f"{value:05}")):
            wanted = [tuple(None if limit is None else of(limit) for limit in limits)]
            assert matching_ranges(loaded, column, wanted, start, stop) == matching_ranges(one_by_one, column, wanted, start, stop)
        many = [(value, value) for value in range(-40, 40, 3)]
        assert matching_ranges(loaded, 0, many, start, stop) == matching_ranges(one_by_one, 0, many, start, stop)


@pytest.mark.parametrize("first", part(range(0, 28, 7), 4))
def test_no_changed_byte_gives_other_facts(tmp_path: Path, first: int) -> None:
    text, stored = both_forms(tmp_path)
    file, right = file_of(Path(stored.directory)), (dataset_statistics(text), [(entry.columns, entry.pages) for entry in text.segments])
    content = file.read_bytes()
    for place in range(first, len(content), 61):
        file.write_bytes(content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :])
        try:
            found = load_manifest(stored.directory)
            assert (dataset_statistics(found), [(tuple(entry.columns), tuple(entry.pages or ())) for entry in found.segments]) == right
            raise AssertionError(f"byte {place} is in no block")
        except StorageError as error:
            assert str(file) in str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("change", "said"),
    [(cut, "bytes"), (lengthened, "bytes"), (removed, "is missing"), (linked, "is a link"), (piped, "is not a regular file")],
)
def test_what_stands_where_the_file_was(tmp_path: Path, change: Callable[[Path], None], said: str) -> None:
    _, stored = both_forms(tmp_path)
    file = file_of(Path(stored.directory))
    change(file)
    with pytest.raises(StorageError, match=f"{file.name}.*{said}"):
        load_sframe(stored.directory)
    change_of_facts = stored.segments[0].columns
    with pytest.raises(StorageError, match=f"{file.name}.*{said}"):
        change_of_facts[0]


def test_the_file_of_another_frame_is_told(tmp_path: Path, beside: None) -> None:
    for name, rows in (("d", [1, 2]), ("e", [1, 3])):
        write_dataset(tmp_path / name, [INT], [[rows], [rows]])
    shutil.copy(file_of(tmp_path / "e"), file_of(tmp_path / "d"))
    with pytest.raises(StorageError, match="the check sum of bytes 0 to"):
        load_manifest(tmp_path / "d")


def change_text(directory: Path, change: Change) -> None:
    """Let a manifest say something else, with the right check sum."""
    content = unsealed((directory / MANIFEST_FILE).read_text(), "here")
    change(content["beside"])
    (directory / MANIFEST_FILE).write_text(sealed(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(file="../_segments-0.arrow"),
        lambda said: said.update(file="/etc/passwd"),
        lambda said: said.update(file=7),
        lambda said: said.update(size=-1),
        lambda said: said.update(size=1.0),
        lambda said: said.update(count=5),
        lambda said: said.update(count=True),
        lambda said: said.update(together=0),
        lambda said: said.update(together=1),
        lambda said: said.update(segments=[0, 0, 0]),
        lambda said: said.update(segments=[0, 1 << 70, 0]),
        lambda said: said.update(segments="abc"),
        lambda said: said.update(sums=[]),
        lambda said: said.update(group_sums=[[0, 8, 1], [0, 8, 1]]),
        lambda said: said["facts"][0].update(columns=[99]),
        lambda said: said["facts"][0].update(columns=["0"]),
        lambda said: said["facts"][0].update(block=None),
        lambda said: said.update(summary=said["summary"][:-1]),
        lambda said: said.update(column_bytes=said["column_bytes"][:-1]),
        lambda said: said.update(column_bytes=["1", 2, 3]),
        lambda said: said["summary"][0].update(minimum="x"),
        lambda said: said["summary"][0].update(minimum=1 << 70),
        lambda said: said["summary"][0].update(ascending=1),
        lambda said: said.pop("facts"),
        lambda said: said.clear(),
    ],
)
def test_what_a_manifest_cannot_say_is_refused(tmp_path: Path, change: Change, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT, FLOAT, INT], [[[1, 2], [0.5, 1.5], [3, 4]], [[5, 6], [0.5, 2.5], [4, 5]]])
    change_text(tmp_path / "d", change)
    with pytest.raises(StorageError, match="damaged"):
        load_manifest(tmp_path / "d").segments[0].columns[0]


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../segment-1.parquet"}, {"file": "_hidden.parquet"}, {"file": "a:b"}, {"file": "a._COPYING_"}, {"file": "a\n"}, {"file": ""},
        {"number": -1}, {"number": 1 << 31}, {"rows": -1}, {"rows": 1 << 40}, {"first_position": 1 << 40}, {"size": -1}, {"size": None},
        {"tail": (1 << 40, 1)}, {"tail": (10, 1 << 40)}, {"whole": 1 << 40}, {"group_bytes": -5}, {"checksum": "crc32:123"}, {"checksum": "x"},
        {"number": 7}, {"first_position": 3},
    ],
)  # fmt: skip
def test_segments_that_cannot_be_are_refused(tmp_path: Path, change: dict[str, Any], beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_dataset(tmp_path / "d", [INT], [[[1, 2]], [[3, 4]]])
    first, second = made.segments
    wrong = SegmentEntry(*(change.get(field.name, getattr(first, field.name)) for field in attrs.fields(SegmentEntry)))
    if change == {"first_position": 3}:
        second = attrs.evolve(second, number=wrong.number)
    # As who writes a file by hand would: nobody looks at it here.
    monkeypatch.setattr("sframe_spark.storage.manifest.manifest.check", lambda _: None)
    write_manifest(made.with_segments((wrong, second)), durable=False)
    monkeypatch.undo()
    with pytest.raises(StorageError, match=r"_segments-.* is damaged or was replaced|another number of rows"):
        load_manifest(tmp_path / "d")


@pytest.mark.parametrize("flags", [3, 3 << 12, 1 << 16, -1])
def test_facts_that_cannot_be_are_refused(tmp_path: Path, flags: int, beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_file, "_flags", lambda _: flags)
    write_dataset(tmp_path / "d", [INT], [[[1, 2]], [[3, 4]]])
    with pytest.raises(StorageError, match="neither true nor false"):
        load_manifest(tmp_path / "d").segments[0].columns[0]


def test_bounds_that_cannot_be_are_refused(tmp_path: Path, beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for values in ([5, 3], [math.nan, 1.0], [None, 1]):
        made = write_dataset(tmp_path / "d", [FLOAT], [[[1.0, 2.0]], [[3.0, 4.0]]])
        low, high = values
        known = dataset_statistics(made)
        facts = attrs.evolve(made.segments[0].columns[0], minimum=low, maximum=high)
        with monkeypatch.context() as patch:
            patch.setattr("sframe_spark.storage.manifest.manifest.check", lambda _: None)
            patch.setattr("sframe_spark.storage.datasets.manifest_publication.dataset_statistics", lambda _, known=known: known)
            write_manifest(made.with_segments((attrs.evolve(made.segments[0], columns=(facts,)), made.segments[1])), durable=False)
        with pytest.raises(StorageError, match="no values lie between"):
            load_manifest(tmp_path / "d").segments[0].columns[0]
        shutil.rmtree(tmp_path / "d")


def test_another_version_than_the_content_has_is_refused(tmp_path: Path, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT], [[[1, 2]]])
    content = unsealed((tmp_path / "d" / MANIFEST_FILE).read_text(), "here")
    for version in (2, 3):
        (tmp_path / "d" / MANIFEST_FILE).write_text(sealed(content, version))
        with pytest.raises(StorageError, match="its version is not that of its content"):
            load_manifest(tmp_path / "d")
    text = (tmp_path / "d" / MANIFEST_FILE).read_text().replace('"version": 3', '"version": 5')
    (tmp_path / "d" / MANIFEST_FILE).write_text(text)
    with pytest.raises(StorageError, match="was saved in format version 5, but this version of sframe_spark reads up to 4; install a newer one"):
        load_manifest(tmp_path / "d")


def test_verifying_tells_what_is_said_of_all_rows_and_is_not_so(tmp_path: Path, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT, INT], [[[1, 2], [7, 5]], [[3, 4], [6, 8]]])
    change_text(tmp_path / "d", lambda said: said["summary"][1].update(minimum=6))
    (error,) = damage_in(load_manifest(tmp_path / "d"))
    assert "of column 1: its smallest value is said to be 6, and is 5" in str(error)


def test_verifying_reads_all_of_the_file(tmp_path: Path, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT], [[[1, 2]], [[3, 4]]])
    loaded = load_manifest(tmp_path / "d")
    file = file_of(tmp_path / "d")
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)
    assert [str(error).startswith(str(file)) for error in damage_in(loaded)] == [True]


def test_a_save_in_its_place_removes_it_and_whoever_had_loaded_it_goes_on(tmp_path: Path, beside: None) -> None:
    place = str(tmp_path / "frame")
    SFrame({"a": range(100), "b": [f"{i:03}" for i in range(100)]}).save(place)
    before, loaded = file_of(tmp_path / "frame"), load_sframe(place)
    SFrame({"a": [1]}).save(place)
    assert file_of(tmp_path / "frame") != before and list(load_sframe(place)["a"]) == [1]
    assert list(loaded[loaded["b"] == "077"]["a"]) == [77]


def test_publishing_anew_removes_it(tmp_path: Path, beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for durable in (True, False):
        entry = write_segment(str(tmp_path), 0, [INT], [[pa.array([1, 2])]])
        publish(str(tmp_path), [INT], [entry], durable=durable)
        assert file_of(tmp_path).exists()
    monkeypatch.undo()
    publish(str(tmp_path), [INT], [write_segment(str(tmp_path), 0, [INT], [[pa.array([1])]])])
    assert not [name for name in os.listdir(tmp_path) if is_file_of_segments(name)]


def test_saving_again_copies_what_is_known(tmp_path: Path, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT, ENCODED_LIST], [[[1, 2], ["[1]", None]], [[3, 4], ["[]", '[{"a": 1}]']]])
    loaded = load_manifest(tmp_path / "d")
    save_dataset([loaded], tmp_path / "e", ["a", "b"])
    again = load_manifest(tmp_path / "e", verify=True)
    assert [tuple(entry.columns) for entry in again.segments] == [tuple(entry.columns) for entry in loaded.segments]
    assert again.stored is not None and dataset_statistics(again) == dataset_statistics(loaded)


def test_tasks_are_sent_values_and_no_file(tmp_path: Path, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT], [[[1, 2]], [[3, 4]]])
    loaded = load_manifest(tmp_path / "d")
    sent = pickle.loads(pickle.dumps(loaded))
    assert sent.stored is None and sent == loaded
    assert [type(entry.columns) for entry in sent.segments] == [tuple, tuple] and type(sent.segments[0].pages) is tuple
    assert tuple(sent.segments[1].columns) == tuple(loaded.segments[1].columns)
    assert sent.between(2, 3).segments[0].columns == ()


def test_other_segments_are_not_what_the_file_tells(tmp_path: Path, beside: None) -> None:
    write_dataset(tmp_path / "d", [INT], [[[1, 2]], [[3, 4]]])
    loaded = load_manifest(tmp_path / "d")
    assert attrs.evolve(loaded, names=("x",)).stored is loaded.stored
    assert attrs.evolve(loaded, segments=loaded.segments[:1]).stored is None
    assert loaded.with_segments(loaded.segments[1:]).stored is None
    assert recorded_bounds(loaded.with_segments(loaded.segments[1:]), 0) == (3, 4)


def recorded(place: Path) -> Iterator[str]:
    """Manifests as versions of this package before wrote them: 1 without check sums, 2 without those of short files and 2 of today."""
    content = unsealed((place / MANIFEST_FILE).read_text(), "here")
    for entry in content["segments"]:
        entry.pop("whole", None)
        entry.pop("group_bytes", None)
    yield sealed(content)
    for entry in content["segments"]:
        entry.pop("tail"), entry.pop("pages")
    yield json.dumps({"format": "sframe_spark", "version": 1, **content})


def test_what_was_saved_before_is_read(tmp_path: Path) -> None:
    frame = frame_of_every_type()
    frame.save(str(tmp_path / "frame"))
    for text in recorded(tmp_path / "frame"):
        assert "beside" not in text and '"whole"' not in text
        (tmp_path / "frame" / MANIFEST_FILE).write_text(text)
        assert list(load_sframe(str(tmp_path / "frame"))) == list(frame)


def test_many_segments_are_opened_quickly(tmp_path: Path) -> None:
    """Files are named and not there: what opening takes of each is little, whatever the machine does meanwhile."""
    facts = write_dataset(tmp_path / "one", [INT], [[[1, 2]]]).segments[0]
    entries = tuple(attrs.evolve(facts, file=f"segment-{number:08d}.parquet", number=number) for number in range(30_000))
    (tmp_path / "d").mkdir()
    write_manifest(Manifest((INT,), entries, str(tmp_path / "d"), ("a",)), durable=False)
    text = (tmp_path / "d" / MANIFEST_FILE).read_text()
    assert len(text) < 2_000
    unread = mock.Mock(side_effect=AssertionError)
    with mock.patch.multiple(StoredSegments, facts_of=unread, sums_of=unread):
        loaded = Manifest.from_json(text, str(tmp_path / "d"))
        assert loaded.rows == 60_000 and loaded.segments == entries
