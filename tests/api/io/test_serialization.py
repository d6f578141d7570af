"""Frames and columns in pickles: rows are in the directory that was named, and nothing else is read."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder, aggregate, config, load_sframe
from sframe_spark.data_structures import serialization
from sframe_spark.data_structures.serialization import enable_sframe_serialization, get_serialization_directory, restored
from sframe_spark.errors import StorageError
from tests.interpreters import run_program

LOADING = """
import os, pickle, sys
from sframe_spark.data_structures.serialization import enable_sframe_serialization

def load(directory):
    if directory:
        enable_sframe_serialization(directory)
    try:
        found = pickle.load(open(sys.argv[1], "rb"))
        print(list(found["rows"]), list(found["column"]), type(found["rows"]).__name__)
    except Exception as error:
        print(type(error).__mro__[2].__name__, error)

for directory in sys.argv[2:]:
    if not (child := os.fork()):
        load(directory)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, directory
"""


@pytest.fixture(autouse=True)
def no_directory_afterwards() -> Iterator[None]:
    yield
    config.serialization_directory = None


@pytest.fixture
def place(tmp_path: Path) -> Path:
    enable_sframe_serialization(str(tmp_path / "rows"))
    return tmp_path / "rows"


def in_other_processes(place: Path, *directories: object) -> list[str]:
    """What is loaded of a pickle in a process for each directory that is named there; an empty text: none is."""
    done = run_program(LOADING, str(place), *map(str, directories))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_rows_that_were_saved_are_not_loaded_without_a_directory() -> None:
    assert get_serialization_directory() is None
    with pytest.raises(TypeError, match="enable_sframe_serialization"):
        restored("sframe", "0" * 32)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_rows_are_saved_once_for_each_frame_in_a_pickle(protocol: int, place: Path) -> None:
    frame = SFrame({"a": [3, None], "b": ["x", "y"]})
    first, again, column = pickle.loads(pickle.dumps((frame, frame, frame["a"]), protocol))
    assert first is again and type(first) is SFrame and type(column) is SArray
    assert list(first) == list(frame) and first.column_names() == ["a", "b"] and list(column) == [3, None]
    assert len(list(place.iterdir())) == 2


def test_the_pickle_has_no_rows_and_no_path(place: Path) -> None:
    content = pickle.dumps(SFrame({"secret": ["told to nobody"]}))
    assert b"secret" not in content and b"told" not in content and str(place).encode() not in content
    assert [load_sframe(str(path))[0] for path in place.iterdir()] == [{"secret": "told to nobody"}]


def test_lazy_rows_are_computed(place: Path) -> None:
    frame = SFrame({"a": range(1000)})
    few = frame[frame["a"] % 3 == 0].sort("a", ascending=False)
    few["text"] = few["a"].apply(str)
    assert list(pickle.loads(pickle.dumps(few))) == list(few)


@pytest.mark.parametrize("frame", [SFrame(), SFrame({"a": []}), SFrame({"a": [[1, "x"], []], "b": [{"k": 1.5}, None]})])
def test_frames_of_all_sorts(frame: SFrame, place: Path) -> None:
    found = pickle.loads(pickle.dumps(frame))
    assert list(found) == list(frame) and found.column_types() == frame.column_types()


def test_a_frame_is_worked_with_as_one_that_was_not_pickled(place: Path) -> None:
    """Its names are found, and changed, as those of any frame."""
    frame = SFrame({"a": [2, 1, 2], "b": [0.5, 0.25, None]})
    found = pickle.loads(pickle.dumps(frame))
    for program in (
        lambda sf: sf.sort("a"),
        lambda sf: sf.join(sf, "a"),
        lambda sf: sf.groupby("a", {"total": aggregate.SUM("b")}).sort("a"),
        lambda sf: sf.running({"total": aggregate.SUM("b")}, by="a"),
        lambda sf: sf.add_column(sf["a"] + 1, "c").swap_columns("a", "c").rename({"b": "d"}),
        lambda sf: sf.remove_column("a"),
    ):
        assert list(program(found)) == list(program(frame))
    found["c"] = found["a"]
    assert type(found._names) is type(frame._names) and found.column_names() == ["a", "b", "c"]


class Named(SFrame):
    """A user's own kind of frame."""


def test_classes_of_users_stay(place: Path) -> None:
    frame = Named({"a": [1]})
    frame._label = "mine"  # type: ignore[attr-defined]
    found = pickle.loads(pickle.dumps(frame))
    assert type(found) is Named and found._label == "mine" and list(found) == [{"a": 1}]


def test_a_column_without_a_class_has_none_afterwards(place: Path) -> None:
    column = SArray([1, 2]).rolling_mean(-5, -4)
    assert column.dtype is type(None) is pickle.loads(pickle.dumps(column)).dtype


def test_another_process_has_to_name_the_directory(place: Path, tmp_path: Path) -> None:
    (tmp_path / "pickle").write_bytes(pickle.dumps({"rows": SFrame({"a": [1, 2]}), "column": SArray(["x"])}))
    told = "[{'a': 1}, {'a': 2}] ['x'] SFrame"
    assert in_other_processes(tmp_path / "pickle", place) == [told]
    shutil.move(place, tmp_path / "moved")
    moved, nowhere, missing = in_other_processes(tmp_path / "pickle", tmp_path / "moved", "", tmp_path / "empty")
    assert moved == told
    assert nowhere.startswith("TypeError pickling and unpickling frames and columns needs a directory")
    assert missing.startswith("OSError the rows of the pickle are missing:") and "does not exist" in missing


def test_rows_that_are_gone_are_told(place: Path) -> None:
    content = pickle.dumps(SFrame({"a": [1]}))
    shutil.rmtree(place)
    with pytest.raises(OSError, match=r"rows of the pickle are missing.*does not exist"):
        pickle.loads(content)


def test_names_lead_nowhere_else(place: Path, tmp_path: Path) -> None:
    SFrame({"a": [1]}).save(str(tmp_path / "frame"))
    name = "ab" * 16
    for wrong in ("../frame", str(tmp_path / "frame"), "frame", "", name.upper(), name + "\n", None, 3, name.encode()):
        with pytest.raises(TypeError, match="does not name rows"):
            restored("sframe", wrong)
    os.symlink(tmp_path / "frame", place / name)
    with pytest.raises(StorageError, match="is a link"):
        restored("sframe", name)


def test_rows_elsewhere_are_not_read(place: Path, tmp_path: Path) -> None:
    SFrame({"a": [1]}).save(str(tmp_path / "frame"))
    load_sframe(str(tmp_path / "frame"))._save_reference(str(place / ("cd" * 16)))
    with pytest.raises(StorageError, match="refers to rows in another place"):
        restored("sframe", "cd" * 16)


@pytest.mark.parametrize("kind", [int, "graph", None, 3, object, print])
def test_other_classes_are_not_made(kind: Any, place: Path) -> None:
    with pytest.raises(TypeError, match="neither an SFrame nor an SArray"):
        restored(kind, "ab" * 16)


def test_a_column_is_one_column(place: Path) -> None:
    SFrame({"a": [1], "b": [2]}).save(str(place / ("ef" * 16)))
    with pytest.raises(StorageError, match="2 columns"):
        restored("sarray", "ef" * 16)


def test_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ValueError, match="file is not a directory"):
        enable_sframe_serialization("file")
    with pytest.raises(TypeError):
        enable_sframe_serialization(3)  # type: ignore[arg-type]
    assert get_serialization_directory() is None
    for given in ("new/one", "~/new/one", Path("new/one")):
        enable_sframe_serialization(given)
        assert get_serialization_directory() == str(tmp_path / "new" / "one") and (tmp_path / "new" / "one").is_dir()
    enable_sframe_serialization(None)
    assert get_serialization_directory() is None


def test_copies_need_no_directory() -> None:
    frame = SFrame({"a": [1, 2]})
    for value in (frame, frame["a"]):
        assert list(copy.copy(value)) == list(copy.deepcopy([value])[0]) == list(value)


def test_what_lives_with_its_process_is_not_pickled(place: Path) -> None:
    for value in (SArray([1]).summary(), SArrayBuilder(int), SFrameBuilder([int])):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(value)


def test_functions_take_frames_along_without_a_directory() -> None:
    names = SArray(["a", "b"])
    assert list(SArray([1, 0]).apply(lambda number: names[number])) == ["b", "a"]


@pytest.mark.spark
def test_functions_take_frames_to_tasks_with_and_without_a_directory(tmp_path: Path) -> None:
    names, table = SArray(["a", "b"]), SFrame({"n": [10, 20]})
    for directory in (None, str(tmp_path / "rows")):
        enable_sframe_serialization(directory)
        with config.using(small_rows=0, default_segments=2):
            assert list(SArray([1, 0] * 50).apply(lambda number: f"{names[number]}{table[number]['n']}")) == ["b20", "a10"] * 50
    assert list((tmp_path / "rows").iterdir()) == []


def test_the_module_of_the_reference_has_it() -> None:
    from sframe_spark.data_structures.sarray import SArray as Column
    from sframe_spark.data_structures.sframe import SFrame as Frame

    assert (Column, Frame) == (SArray, SFrame)
    assert serialization.restored.__module__ == serialization.__name__
