"""Frames and columns are pickled without a setting: few rows in the pickle itself, of more rows the names of their files."""

from __future__ import annotations

import concurrent.futures
import datetime
import multiprocessing
import pickle
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sframe_spark.api.io.pickling as pickling
from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.data_structures.serialization import restored_rows
from sframe_spark.types import INT

PROJECT = Path(__file__).parents[3]

EVERY_TYPE = {
    "int": [1, None, 2**62],
    "float": [0.5, float("inf"), None],
    "str": ["é", "", None],
    "list": [[1, "a", None], [], None],
    "texts": [["a"], None, []],
    "dict": [{"a": 1}, {}, None],
    "mixed": [{"a": 1, "b": "x"}, None, {3: [1]}],
    "array": [array("d", [1.5]), array("d"), None],
    "time": [datetime.datetime(2024, 1, 1), None, datetime.datetime(1, 1, 1)],
    "zoned": [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None, datetime.datetime(2024, 1, 1)],
    "none": [None, None, None],
}


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def first_rows(frame: SFrame) -> list[dict[str, Any]]:
    """A function for other processes."""
    return list(frame.head(2))


class Labelled(SFrame):
    """A frame of a user."""


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_rows_of_every_type_are_as_they_were(protocol: int) -> None:
    frame = SFrame(EVERY_TYPE)
    found = pickle.loads(pickle.dumps(frame, protocol))
    assert found.column_names() == frame.column_names() and found.column_types() == frame.column_types() and list(found) == list(frame)
    for name in frame.column_names():
        column = again(frame[name])
        assert type(column) is SArray and column.dtype is frame[name].dtype and list(column) == list(frame[name])


def test_results_that_were_not_computed_yet_are_pickled() -> None:
    frame = SFrame({"a": [3, 1, 2]})
    frame["b"] = frame["a"].apply(lambda value: value * 2)
    assert list(again(frame[frame["a"] > 1].sort("a"))) == [{"a": 2, "b": 4}, {"a": 3, "b": 6}]
    empty = again(frame[frame["a"] > 9])
    assert len(empty) == 0 and empty.column_types() == [int, int]
    assert len(again(SFrame())) == 0 and again(SFrame()).column_names() == []


def test_what_is_unpickled_is_a_frame_of_its_own() -> None:
    frame = SFrame({"a": [1]})
    found = again(frame)
    found["b"] = found["a"] + 1
    found = found.rename({"a": "c"})
    assert frame.column_names() == ["a"] and list(found) == [{"c": 1, "b": 2}]
    labelled = Labelled({"a": [1]})
    labelled.label = "mine"  # type: ignore[attr-defined]
    assert type(again(labelled)) is Labelled and again(labelled).label == "mine"
    both = again({"first": frame, "second": frame})
    assert both["first"] is both["second"]


@pytest.mark.parametrize("saved", [False, True])
def test_more_rows_are_read_from_their_files(saved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickling, "MAX_PICKLED_BYTES", 1000)
    frame = SFrame({"a": np.arange(100_000)})
    if saved:
        frame.save(str(tmp_path / "frame"))
        frame = load_sframe(str(tmp_path / "frame"))
        assert len(pickle.dumps(frame)) < 20_000
    found = again(frame[frame["a"] > 10] if not saved else frame)
    assert found["a"].sum() == frame["a"].sum() - (0 if saved else 55)


def test_files_that_are_gone_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickling, "MAX_PICKLED_BYTES", 1000)
    SFrame({"a": np.arange(100_000)}).save(str(tmp_path / "frame"))
    (tmp_path / "pickle").write_bytes(pickle.dumps(load_sframe(str(tmp_path / "frame"))))
    (tmp_path / "frame").rename(tmp_path / "elsewhere")
    program = f"import pickle; print(pickle.load(open({str(tmp_path / 'pickle')!r}, 'rb'))['a'].sum())"
    run = subprocess.run([sys.executable, "-c", program], check=False, cwd=PROJECT, capture_output=True, text=True)
    assert run.returncode and "StorageError" in run.stderr and "moved or deleted" in run.stderr


def test_frames_go_to_a_pool_of_processes_and_back() -> None:
    frame = SFrame({"a": [1, 2, 3]})
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(first_rows, frame).result() == [{"a": 1}, {"a": 2}]
        assert list(pool.submit(SFrame, {"b": ["x"]}).result()) == [{"b": "x"}]


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", None, (INT,), b""),
        ("sarray", None, (INT,), b"no stream"),
        ("sarray", None, (INT,), None),
        ("sarray", None, ("int",), b""),
        ("sframe", ["a", "b"], (INT,), None),
        (int, None, (INT,), b""),
    ],
)
def test_damaged_pickles_are_told(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="damaged"):
        restored_rows(*arguments)


def test_rows_of_other_types_than_told_are_no_rows() -> None:
    stream = pa.BufferOutputStream()
    batch = pa.record_batch({"0": ["a"]})
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(TypeError, match="do not have the types"):
        restored_rows("sarray", None, (INT,), stream.getvalue().to_pybytes())
