"""File systems that users made, for what URIs begin with: every way in and out takes them, in tasks of Spark too."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow

from sframe_spark import SArray, SFrame, aggregate, config, history, load_sframe
from sframe_spark.__main__ import main
from sframe_spark.config import StorageOptions
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.operators.sources import segments_read_in_spark
from sframe_spark.storage.filesystem.remote_operations import file_system
from tests.storage.datasets.conftest import KEY, SECRET, Bucket

Maker = Callable[[Bucket, Path], tuple[str, Any]]


def arrow_s3(bucket: Bucket) -> arrow.FileSystem:
    options = bucket.options
    return arrow.S3FileSystem(access_key=options["key"], secret_key=options["secret"], endpoint_override=options["endpoint_url"], region="us-east-1")


GIVEN: dict[str, Maker] = {
    "the scheme's own": lambda bucket, _: (bucket.uri, fsspec.filesystem("s3", **bucket.options)),
    "a directory of another": lambda bucket, _: ("lake://x", DirFileSystem(bucket.uri[5:] + "/below", fsspec.filesystem("s3", **bucket.options))),
    "here": lambda bucket, tmp_path: (f"mine://{str(tmp_path)[1:]}/here", DirFileSystem("/", LocalFileSystem())),
    "pyarrow's own": lambda bucket, _: (bucket.uri, arrow_s3(bucket)),
    "pyarrow, of a directory": lambda bucket, tmp_path: ("mine://x", arrow.SubTreeFileSystem(str(tmp_path), arrow.LocalFileSystem())),
}
# Their files are created exclusively, which takes a file system that can.
SAVING = ["the scheme's own", "a directory of another"]


@pytest.fixture
def no_options(bucket: Bucket) -> Bucket:
    """A bucket that nobody has options for."""
    config.storage_options = {}
    return bucket


@pytest.fixture(params=GIVEN)
def given(request: pytest.FixtureRequest, no_options: Bucket, tmp_path: Path) -> str:
    place, files = GIVEN[request.param](no_options, tmp_path)
    config.storage_options = {place: files}
    return place


@pytest.fixture(params=SAVING)
def saving(request: pytest.FixtureRequest, no_options: Bucket, tmp_path: Path) -> str:
    place, files = GIVEN[request.param](no_options, tmp_path)
    config.storage_options = {place: files}
    return place


@pytest.mark.sampled(2)
def test_files_go_there_and_come_back(given: str) -> None:
    frame = SFrame({"a": [3, 1, 2], "t": ["x", "y", None]})
    frame.export_csv(given + "/d/t.csv.gz")
    frame.export_csv(given + "/d/t.csv.gz")
    frame.export_json(given + "/d/t.json")
    frame.write_parquet(given + "/p")
    frame["a"].save(given + "/a.txt", format="text")
    assert list(SFrame.read_csv(given + "/d/*.csv.gz", verbose=False)["a"]) == [3, 1, 2]
    assert list(SFrame.read_json(given + "/d/t.json")["a"]) == [3, 1, 2]
    assert list(SFrame.read_parquet(given + "/p")["t"]) == ["x", "y", None]
    assert list(SArray(given + "/a.txt", dtype=int)) == [3, 1, 2]
    files, path = file_system(given)
    files.invalidate_cache()
    assert len(files.find(path)) == 4
    with pytest.raises(StorageError, match=f"{given}/nothing"):
        SFrame.read_csv(given + "/nothing.csv")


def test_frames_are_saved_there(saving: str, capsys: pytest.CaptureFixture[str]) -> None:
    SFrame({"a": [1, 2]}).save(saving + "/frame")
    load_sframe(saving + "/frame").append(SFrame({"a": [3]})).save(saving + "/frame")
    assert list(load_sframe(saving + "/frame", verify=True)["a"]) == [1, 2, 3]
    assert len(history(saving + "/frame")) == 2
    assert main(["verify", saving + "/frame"]) == 0
    assert f"{saving}/frame: ok, 3 rows" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [kind for kind in GIVEN if kind not in SAVING])
def test_frames_are_refused_where_files_are_written_over(kind: str, no_options: Bucket, tmp_path: Path) -> None:
    place, files = GIVEN[kind](no_options, tmp_path)
    config.storage_options = {place: files}
    with pytest.raises(StorageError, match=f"cannot save to {place}/frame: its file system creates files that are there"):
        SFrame({"a": [1]}).save(place + "/frame")


def test_frames_are_read_by_pyarrow(bucket: Bucket) -> None:
    SFrame({"a": range(100)}).save(bucket.uri + "/frame")
    with config.using(storage_options={bucket.uri: arrow_s3(bucket)}):
        frame = load_sframe(bucket.uri + "/frame", verify=True)
        assert frame["a"].sum() == 4950 and list(frame[90:]["a"]) == list(range(90, 100))


@pytest.mark.spark
def test_tasks_have_copies(saving: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if Spark's own file system for the scheme could be had: it knows nothing of the one that was given.
    monkeypatch.setattr(segments_read_in_spark, "has_file_system", lambda *_: True)
    with config.using(small_rows=0, single_task_rows=0, default_segments=3):
        frame = SFrame({"n": range(300), "k": [n % 7 for n in range(300)]})
        frame["n"] = frame["n"].apply(lambda n: n * 2, dtype=int)
        frame.save(saving + "/frame")
        frame = load_sframe(saving + "/frame")
        assert list(frame["n"].apply(lambda n: n + 1, dtype=int)) == [n * 2 + 1 for n in range(300)]
        with caplog.at_level(logging.INFO, "sframe_spark"):
            assert list(frame.sort("k")["n"]) == sorted(range(0, 600, 2), key=lambda n: n // 2 % 7)
        assert any("has no file system for" in record.getMessage() for record in caplog.records)
        frame.groupby("k", {"s": aggregate.SUM("n")}).sort("k").save(saving + "/grouped")
        assert list(load_sframe(saving + "/grouped")["s"]) == [sum(2 * n for n in range(300) if n % 7 == k) for k in range(7)]


class Unsendable(DirFileSystem):
    """A file system with something in it that no other process can have."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.lock = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle {SECRET}")


@pytest.mark.spark
@pytest.mark.usefixtures("called_functions")
def test_one_that_cannot_be_sent_is_told(no_options: Bucket, tmp_path: Path) -> None:
    config.storage_options = {"lake://": Unsendable(no_options.uri[5:], fsspec.filesystem("s3", **no_options.options))}
    SFrame({"n": range(300)}).save("lake://frame")
    assert load_sframe("lake://frame")["n"].sum() == sum(range(300))
    SFrame({"n": range(300)}).save(str(tmp_path / "here"))
    with config.using(small_rows=0, single_task_rows=0, default_segments=2):
        # What goes elsewhere goes.
        here = load_sframe(str(tmp_path / "here"))["n"]
        assert here.apply(lambda n: n + 1, dtype=int).sum() == sum(range(1, 301))
        with pytest.raises(StorageError, match=r"the Unsendable that config\.storage_options has cannot be sent to other processes") as raised:
            load_sframe("lake://frame")["n"].apply(lambda n: n + 1, dtype=int).sum()
        assert SECRET not in str(raised.value) and "\n" not in str(raised.value)
        # Few rows come here, and are written from here.
        here.apply(lambda n: n + 1, dtype=int).save("lake://made")
    assert list(load_sframe("lake://made")["X1"]) == list(range(1, 301))
    assert {name.partition("/")[0] for name in no_options.names()} == {"frame", "made"}


def test_secrets_of_those_are_not_shown(no_options: Bucket) -> None:
    files = DirFileSystem("x", fsspec.filesystem("s3", **{**no_options.options, "endpoint_url": "http://127.0.0.1:1"}))
    config.storage_options = {"lake://": files}
    assert KEY not in repr(config) and SECRET not in repr(config)
    options = pickle.loads(pickle.dumps(config.storage_options))
    assert isinstance(options, StorageOptions) and options.file_system_for("lake://x").in_this_process().path == "x"

    with config.using(storage_options={"lake://": files}), pytest.raises(StorageError) as raised:
        files.fs.config_kwargs["retries"] = {"max_attempts": 0}
        load_sframe("lake://frame")
    assert KEY not in str(raised.value) and SECRET not in str(raised.value)


@pytest.mark.parametrize("value", [object(), DirFileSystem, "s3", 5])
def test_what_is_no_file_system_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="must be a file system of fsspec or pyarrow, or a dict of texts"):
        config.storage_options = {"lake://": value}


def test_a_forked_process_is_told(no_options: Bucket, tmp_path: Path) -> None:
    config.storage_options = {
        "lake://": DirFileSystem(no_options.uri[5:], fsspec.filesystem("s3", **no_options.options)),
        "mine://": arrow.SubTreeFileSystem(str(tmp_path), arrow.LocalFileSystem()),
    }
    SFrame({"a": [1, 2]}).export_csv("mine://a.csv")
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            # Those that have no threads go on.
            found = len(SFrame.read_csv("mine://a.csv", verbose=False))
            try:
                load_sframe("lake://frame")
            except StorageError as error:
                status = 0 if "belongs to the parent process" in str(error) and found == 2 else 2
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
