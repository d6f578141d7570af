"""Places at which nothing can be written: every way in says so before anything is asked of a network.

Files of other programs are read from elsewhere: see tests/storage/filesystem/test_input_files.py.
Saved frames and exports: see tests/storage/datasets.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import socket
from collections.abc import Callable
from typing import Any

import fsspec
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.operators.sources.segment_row_ranges import SegmentParts
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plugin import column_of, graph_from_json, graph_to_json, node_of

PLACES = (
    "s3://bucket/frame",
    "S3A://bucket/frame",
    "gs://bucket/frame",
    "hdfs://node:9000/frame",
    "hdfs:/frame",
    "abfss://c@a/frame",
    "https://h/frame",
)


def rows() -> SFrame:
    return SFrame({"a": [1, 2, 3]})


def derived() -> SFrame:
    frame = rows()
    return frame[frame["a"].apply(lambda value: pytest.fail("work was done"), dtype=int) > 1]


DOORS: dict[str, Callable[[str], Any]] = {
    "option": lambda place: setattr(config, "serialization_directory", place),
    "option for a while": lambda place: config.using(serialization_directory=place).__enter__(),
}
# Ways in of files for other programs, which are written wherever files can be.
EXPORTING: dict[str, Callable[[str], Any]] = {
    "save csv": lambda place: derived().save(place + ".csv"),
    "save csv.gz": lambda place: derived().save(place + ".csv.gz"),
    "save format csv": lambda place: derived().save(place, format="csv"),
    "export csv": lambda place: derived().export_csv(place),
    "export json": lambda place: derived().export_json(place),
    "write parquet": lambda place: derived().write_parquet(place),
    "write orc": lambda place: derived().write_orc(place),
    "column text": lambda place: derived()["a"].save(place, format="text"),
}
# Ways in of saved frames.
SAVING: dict[str, Callable[[str], Any]] = {
    "save derived": lambda place: derived().save(place),
    "save": lambda place: rows().save(place),
    "column": lambda place: derived()["a"].save(place),
    "path": lambda place: derived().save(pathlib.Path(place)),
}
# Ways in that look for an archive of Turi Create, too, which is fetched from where it is, before they refuse what else is there.
READING: dict[str, Callable[[str], Any]] = {"load": load_sframe, "frame": SFrame, "array": SArray}
# Where nobody can save anything; the words that say so.
NO_PLACES = {
    "https://h/frame": "read only",
    "s3://": "does not name a bucket",
    "s3://user:secret@bucket/frame": "contains a password",
    "s3://bucket/a/../frame": "contains",
    "s3://bucket/a*": "contains",
    "nosuch://bucket/frame": "there is no file system 'nosuch'",
    "local:///no/frame": "creates files that are there already",
}


@pytest.mark.parametrize("place", [place for place in NO_PLACES if place not in ("s3://", "local:///no/frame")])
@pytest.mark.parametrize("door", EXPORTING)
def test_nothing_is_exported_where_nothing_can_be_saved(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    with pytest.raises(StorageError, match=NO_PLACES[place]) as raised:
        EXPORTING[door](place)
    assert "secret" not in str(raised.value) and "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == []


# A path of that is the name of a directory here.
@pytest.mark.parametrize(("door", "place"), [pair for pair in itertools.product(SAVING, NO_PLACES) if pair != ("path", "s3://")])
def test_frames_are_not_saved_where_nothing_can_be_saved(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    with pytest.raises(StorageError, match=NO_PLACES[place]) as raised:
        SAVING[door](place)
    assert "secret" not in str(raised.value) and "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    with pytest.raises(StorageError, match="cannot be read or written yet"):
        DOORS[door](place)
    assert os.listdir(tmp_path) == []


# An address of the web is one of lines of text to SArray.
@pytest.mark.parametrize(
    ("door", "place"),
    [
        pair
        for pair in itertools.product(READING, ["https://h/frame", "memory://bucket/frame", "memory://bucket/nothing"])
        if pair != ("array", "https://h/frame")
    ],
)
def test_every_door_refuses_what_is_no_archive(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows().save(str(tmp_path / "saved"))
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "saved"), "/bucket/frame", recursive=True)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    try:
        with pytest.raises(StorageError, match=r"cannot be read or written yet|there is no saved frame"):
            READING[door](place)
    finally:
        memory.rm("/bucket", recursive=True)
    assert os.listdir(tmp_path / "empty") == []


@pytest.mark.parametrize(
    "place", ["S3A://bucket/frame", "https://h/frame", "relative/frame", "/data/../data/frame", "file:///data/frame", "memory://no"]
)
@pytest.mark.parametrize("rows", [2, 0])
def test_a_plan_that_reads_from_there_is_refused(place: str, rows: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = tmp_path / "saved"
    SFrame({"a": [1, 2]})[:rows].save(str(saved))
    text = graph_to_json(node_of(load_sframe(str(saved))))
    assert json.dumps(str(saved)) in text
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "scandir", lambda *_: pytest.fail("a directory was looked into"))
    with pytest.raises(StorageError, match=r"read only|not an absolute path|on the host|file: URI|there is no saved frame"):
        graph_from_json(text.replace(json.dumps(str(saved)), json.dumps(place)))


def parts_of(saved: pathlib.Path, ranges: tuple[tuple[int, int], ...]) -> str:
    """The text of a plan that reads some rows of a saved column."""
    source: Any = node_of(load_sframe(str(saved))).operator
    parts = SegmentParts(source.manifest, source.positions, ((0, 1), (3, 4)))
    return graph_to_json(PlannerNode(parts, ())).replace(json.dumps([[0, 1], [3, 4]]), json.dumps(ranges))


def test_a_plan_that_reads_parts_of_a_frame_is_looked_at_as_closely(tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "saved"
    SFrame({"a": [10, 11, 12, 13]}).save(str(saved))
    text = parts_of(saved, ((0, 1), (3, 4)))
    assert list(column_of(graph_from_json(text))) == [10, 13]
    for place in ("S3A://bucket/frame", "https://h/frame", "memory://no/frame"):
        with pytest.raises(StorageError):
            graph_from_json(text.replace(json.dumps(str(saved)), json.dumps(place)))
    next(saved.glob("*.parquet")).unlink()
    with pytest.raises(StorageError, match="no such file"):
        graph_from_json(text)


@pytest.mark.parametrize("ranges", [(), ((3, 4), (0, 1)), ((0, 9),), ((-1, 2),), ((2, 2),), ((0, 3), (2, 4))])
def test_ranges_out_of_order_or_beyond_the_rows_are_refused(tmp_path: pathlib.Path, ranges: tuple[tuple[int, int], ...]) -> None:
    SFrame({"a": [10, 11, 12, 13]}).save(str(tmp_path / "saved"))
    with pytest.raises(SFrameError):
        graph_from_json(parts_of(tmp_path / "saved", ranges))
