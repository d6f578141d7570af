"""Object stores cannot hold data yet: every way in says so before anything is written, read or asked of a network."""

from __future__ import annotations

import os
import pathlib
import socket
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.config import Configuration, config
from sframe_spark.errors import StorageError

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
    "column": lambda place: derived()["a"].save(place),
    "column text": lambda place: derived()["a"].save(place, format="text"),
    "load": load_sframe,
    "frame": SFrame,
    "frame csv": lambda place: SFrame(place + ".csv"),
    "frame parquet": lambda place: SFrame(place + ".parquet"),
    "array": SArray,
    "read csv": SFrame.read_csv,
    "read csv with errors": SFrame.read_csv_with_errors,
    "read parquet": SFrame.read_parquet,
    "option": lambda place: setattr(config, "temporary_directory", place),
    "option for a while": lambda place: config.using(temporary_directory=place).__enter__(),
    "path": lambda place: derived().save(pathlib.Path(place)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses(door: str, place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was asked of a network"))
    with pytest.raises(StorageError, match="cannot be read or written yet"):
        DOORS[door](place)
    assert os.listdir(tmp_path) == []


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
