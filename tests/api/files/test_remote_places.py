"""Object stores cannot hold frames yet: every way in says so before anything is written, read or asked of a network.

Files of other programs are read from there: see tests/storage/files/test_places.py.
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
from collections.abc import Callable
from typing import Any

import fsspec
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.config import Configuration, config
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.operators.sources.segment_parts import SegmentParts
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


def saved_frame(tmp: pathlib.Path) -> SFrame:
    rows().save(str(tmp / "saved"))
    return load_sframe(str(tmp / "saved"))


DOORS: dict[str, Callable[[str], Any]] = {
    "save derived": lambda place: derived().save(place),
    "save": lambda place: rows().save(place),
    "save csv": lambda place: derived().save(place + ".csv"),
    "save csv.gz": lambda place: derived().save(place + ".csv.gz"),
    "save format csv": lambda place: derived().save(place, format="csv"),
    "export csv": lambda place: derived().export_csv(place),
    "write parquet": lambda place: derived().write_parquet(place),
    "write orc": lambda place: derived().write_orc(place),
    "column": lambda place: derived()["a"].save(place),
    "column text": lambda place: derived()["a"].save(place, format="text"),
    "load": load_sframe,
    "frame": SFrame,
    "array": SArray,
    "option": lambda place: setattr(config, "temporary_directory", place),
    "option for a while": lambda place: config.using(temporary_directory=place).__enter__(),
    "path": lambda place: derived().save(pathlib.Path(place)),
}


# Ways in that look for an archive of Turi Create, which is fetched from where it is, before they refuse what else is there.
READING = ("load", "frame", "array")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", [door for door in DOORS if door not in READING])
def test_every_door_refuses(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    with pytest.raises(StorageError, match="cannot be read or written yet"):
        DOORS[door](place)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("place", ["https://h/frame", "memory://bucket/frame", "memory://bucket/nothing"])
@pytest.mark.parametrize("door", READING)
def test_every_door_refuses_what_is_no_archive(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows().save(str(tmp_path / "saved"))
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "saved"), "/bucket/frame", recursive=True)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    try:
        with pytest.raises(StorageError, match="cannot be read or written yet"):
            DOORS[door](place)
    finally:
        memory.rm("/bucket", recursive=True)
    assert os.listdir(tmp_path / "empty") == []


def test_the_environment_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_TMP", "s3://bucket/tmp")
    with pytest.raises(StorageError, match=r"SFRAME_SPARK_TMP = 's3://bucket/tmp'.*cannot be read or written yet"):
        _ = Configuration().temporary_directory


def test_a_saved_frame_does_not_go_there_either(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = saved_frame(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="cannot be read or written yet"):
        frame.save("s3://bucket/copy")
    assert os.listdir(tmp_path) == ["saved"]


@pytest.mark.parametrize("place", [*PLACES, "relative/frame", "/data/../data/frame", "file:///data/frame"])
@pytest.mark.parametrize("rows", [2, 0])
def test_a_plan_that_reads_from_there_is_refused(place: str, rows: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = tmp_path / "saved"
    SFrame({"a": [1, 2]})[:rows].save(str(saved))
    text = graph_to_json(node_of(load_sframe(str(saved))))
    assert json.dumps(str(saved)) in text
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "scandir", lambda *_: pytest.fail("a directory was looked into"))
    with pytest.raises(StorageError, match=r"cannot be read or written yet|not an absolute path|on the host|file: URI"):
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
    for place in PLACES:
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
