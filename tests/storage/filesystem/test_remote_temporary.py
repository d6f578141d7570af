"""Temporary data elsewhere goes with the last reference, with the process, and after a crash with the next process."""

from __future__ import annotations

import datetime
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from sframe_spark import SFrame, SFrameBuilder, config, load_sframe
from sframe_spark.__main__ import main
from sframe_spark.config import Configuration
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.process.temporary_file_leases import mark_of_this_process, new_name, owner_in
from sframe_spark.storage.filesystem import temporary_datasets
from sframe_spark.storage.filesystem.remote_operations import listed, put_bytes
from sframe_spark.storage.filesystem.temporary_datasets import (
    RemoteStore,
    TemporaryStore,
    remote_orphans,
    remove_orphaned_remote_directories,
    scratch_store,
    temporary_store,
)
from tests.interpreters import run_program

SEGMENT = f"segment-00000000-{uuid.uuid4().hex}.parquet"
STARTS = """
import json, os, sys
from sframe_spark import config
from sframe_spark.storage.filesystem.remote_operations import put_bytes
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
config.storage_options, config.temporary_directory = {"s3://": json.loads(sys.argv[1])}, sys.argv[2]
handle = temporary_store().new_dataset()
put_bytes(handle.directory + "/" + sys.argv[3], b"rows")
print(handle.directory, flush=True)
"""


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, Any]]:
    """What there is to know of a server, which goes by a name that has to be looked up, as those of real ones have."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield {"key": "k", "secret": "a-secret-of-somebody", "endpoint_url": f"http://localhost:{server.get_host_and_port()[1]}"}
    server.stop()


@pytest.fixture
def root(options: dict[str, Any]) -> str:
    """A place for temporary data in a new bucket."""
    config.storage_options = {"s3://": options}
    return new_root(options)


def new_root(options: dict[str, Any]) -> str:
    bucket = f"t{uuid.uuid4().hex[:16]}"
    fsspec.filesystem("s3", **options).mkdir(bucket)
    return f"s3://{bucket}/tmp"


@pytest.fixture(scope="module", autouse=True)
def ending_late(options: dict[str, Any]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A place for temporary data, and a process that has some there and ends while other tests run.

    At its end no connection is left, and names of hosts are looked up anew, which takes threads; with usual options that takes 13 seconds.
    """
    place = new_root(options)
    forgetful = {**options, "config_kwargs": {"connector_args": {"keepalive_timeout": 0.1, "use_dns_cache": False}}}
    command = [sys.executable, "-c", STARTS + "import time; time.sleep(1)", json.dumps(forgetful), place, SEGMENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield place, process
        process.kill()


def names(place: str) -> list[str]:
    return [file.uri.removeprefix(place + "/") for file in listed(place, below=True)]


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def of_other_machine(process: int = 17) -> str:
    return f"sframe_spark-abcdefgh-{process}-1f-00ff"


def of_dead_process() -> str:
    return re.sub(r"-[0-9]+-([0-9a-f]+)-", r"-999999999-\1-", new_name())


def test_the_last_reference_removes_the_files(root: str) -> None:
    store = RemoteStore(root)
    handle, other = store.new_dataset(), store.new_dataset()
    for directory in (handle.directory, other.directory):
        put_bytes(f"{directory}/{SEGMENT}", b"rows")
        # Nobody knows whose it is.
        put_bytes(f"{directory}/notes.txt", b"mine")
    directory, copies = handle.directory, [handle, handle]
    del handle
    gc.collect()
    time.sleep(0.2)
    assert names(directory) == ["notes.txt", SEGMENT]
    copies.clear()
    wait_until(lambda: names(directory) == ["notes.txt"])
    assert names(other.directory) == ["notes.txt", SEGMENT]
    other.discard()
    wait_until(lambda: names(other.directory) == ["notes.txt"])
    store.close()


def test_the_store_is_that_of_this_process(root: str) -> None:
    with config.using(temporary_directory=root):
        store = temporary_store()
        assert isinstance(store, RemoteStore) and temporary_store() is store
        assert owner_in(store.directory.rpartition("/")[2]) == mark_of_this_process()
        # What nobody else reads stays here.
        scratch = scratch_store()
        assert isinstance(scratch, TemporaryStore) and os.path.isdir(scratch.directory)
    store.close()
    assert names(root) == []


@pytest.mark.spark
def test_rows_go_there_and_come_back(root: str) -> None:
    with config.using(temporary_directory=root, memory_budget=10_000, kept_memory=0):
        frame = SFrame({"a": range(50_000), "b": [f"{n % 7}" for n in range(50_000)]})
        frame = frame[frame["a"] % 2 == 0]
        frame.materialize()
        assert any(name.endswith(".parquet") for name in names(root))
        assert frame["a"].sum() == sum(range(0, 50_000, 2)) and list(frame["b"][:3]) == ["0", "2", "4"]
        directory = temporary_store().directory
        del frame
        gc.collect()
        wait_until(lambda: names(directory) == ["owner"])


def built(path: Path) -> SFrame:
    builder = SFrameBuilder([int, str])
    for number in range(5000):
        builder.append([number, f"{number % 7}"])
    return builder.close()


READERS: dict[str, Callable[[Path], SFrame]] = {
    "csv": lambda path: SFrame.read_csv(str(path / "rows.csv"), verbose=False),
    "json": lambda path: SFrame.read_json(str(path / "rows.json")),
    "orc": lambda path: SFrame.read_orc(str(path / "orc")),
    "parquet": lambda path: SFrame.read_parquet(str(path / "parquet")),
    "saved": lambda path: load_sframe(str(path / "saved")),
    "builder": built,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reader", READERS)
def test_whatever_is_read_has_its_rows_there(root: str, reader: str, tmp_path: Path) -> None:
    """Of rows that do not fit the budget, which are written where temporary data goes."""
    frame = SFrame({"X1": range(5000), "X2": [f"{n % 7}" for n in range(5000)]})
    frame.export_csv(str(tmp_path / "rows.csv"))
    frame.export_json(str(tmp_path / "rows.json"))
    frame.write_orc(str(tmp_path / "orc"))
    frame.write_parquet(str(tmp_path / "parquet"))
    frame.save(str(tmp_path / "saved"))
    with config.using(temporary_directory=root, memory_budget=20_000, kept_memory=0, segment_rows=2000):
        read = READERS[reader](tmp_path)
        assert [int(n) for n in read["X1"]] == list(range(5000)) and [str(n) for n in read["X2"]] == list(frame["X2"])
        assert any(name.endswith(".parquet") for name in names(root)) == (reader in ("csv", "json", "builder"))
        temporary_store().close()


@pytest.mark.parametrize("ends", ["", "raise SystemExit(3)", "raise ValueError", "import threading; threading.Thread(target=print).start()"])
def test_everything_goes_with_the_process(root: str, options: dict[str, Any], ends: str) -> None:
    done = run_program(STARTS + ends, json.dumps(options), root, SEGMENT)
    assert done.stdout.startswith(root) and names(root) == [], done.stderr


def test_what_a_killed_process_left_goes_with_the_next(root: str, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    done = run_program(STARTS + "os.kill(os.getpid(), 9)", json.dumps(options), root, SEGMENT)
    assert done.returncode == -signal.SIGKILL
    left = done.stdout.strip().rpartition("/")[0]
    assert len(names(left)) == 2
    with config.using(temporary_directory=root):
        assert main(["clean", "--dry-run"]) == 0
        assert f"would remove {left}, 4 bytes" in capsys.readouterr().out and len(names(left)) == 2
    put_bytes(f"{left}/dataset-000000/notes.txt", b"mine")
    RemoteStore(root).close()
    assert names(root) == [f"{left.removeprefix(root + '/')}/dataset-000000/notes.txt"]


def test_clean_takes_uris(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    put_bytes(f"{root}/.{of_dead_process()}/part-{uuid.uuid4().hex}", b"12345")
    assert main(["clean", root]) == 0
    assert ", 5 bytes" in capsys.readouterr().out and names(root) == []
    assert main(["clean", "s3://nothing-of-that-name/x"]) == 1
    assert "there is no s3://nothing-of-that-name: create it" in capsys.readouterr().out


def test_of_processes_that_cannot_be_seen_what_is_a_day_old_is_left(root: str) -> None:
    for name in (of_other_machine(), new_name(), of_dead_process(), "sframe_spark-mine", "somebody", "sframe_spark-abcdefgh-0-1f-00ff"):
        put_bytes(f"{root}/{name}/{temporary_datasets.OWNER}", b"")
        put_bytes(f"{root}/{name}/dataset-000000/{SEGMENT}", b"rows")
    dead = [name for name in {file.partition("/")[0] for file in names(root)} if "-999999999-" in name]
    now = datetime.datetime.now(datetime.UTC)
    assert remote_orphans(root, now) == [f"{root}/{dead[0]}"]
    assert remote_orphans(root, None) == [f"{root}/{dead[0]}"]
    later = now + datetime.timedelta(days=1, minutes=5)
    assert sorted(remote_orphans(root, later)) == sorted([f"{root}/{dead[0]}", f"{root}/{of_other_machine()}"])
    remove_orphaned_remote_directories(root, later)
    assert len(names(root)) == 8


def test_a_process_shows_that_it_lives(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_datasets, "SECONDS_BETWEEN_HEARTBEATS", 0.2)
    store = RemoteStore(root)
    for file in listed(store.directory):
        temporary_datasets.remove(file.uri)
    wait_until(lambda: names(store.directory) == ["owner"])
    store.close()
    time.sleep(0.5)
    assert names(root) == []


def test_a_forked_process_removes_nothing(root: str) -> None:
    store = RemoteStore(root)
    handle = store.new_dataset()
    put_bytes(f"{handle.directory}/{SEGMENT}", b"rows")
    child = os.fork()
    if not child:
        handle.discard()
        store.close()
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.2)
    assert len(names(root)) == 2
    store.close()
    assert names(root) == []


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("memory://tmp", "in the memory of this process"),
        ("https://host/tmp", "is read only"),
        ("s3://me:secret@bucket/tmp", "contains a password"),
        ("s3://", "does not name a bucket"),
    ],
)
def test_places_that_are_none(place: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((InvalidArgumentError, StorageError), match=words):
        config.temporary_directory = place
    monkeypatch.setenv("SFRAME_SPARK_TMP", place)
    with pytest.raises((InvalidArgumentError, StorageError), match=words) as raised:
        _ = Configuration().temporary_directory
    assert "SFRAME_SPARK_TMP" in str(raised.value)


def test_a_bucket_that_is_none_or_may_not_be_written(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        config.using(temporary_directory="s3://nothing-of-that-name/tmp"),
        pytest.raises(StorageError, match="there is no s3://nothing-of-that-name"),
    ):
        temporary_store()

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(temporary_datasets, "put_bytes", lambda uri, _: put_refused(uri, refused))
    with config.using(temporary_directory=root), pytest.raises(StorageError, match="permission denied"):
        temporary_store()


def put_refused(uri: str, refused: Callable[[], None]) -> None:
    from sframe_spark.storage.filesystem.remote_operations import translate_remote_errors

    with translate_remote_errors("write", uri):
        refused()


def test_everything_goes_with_a_process_that_ends_late(options: dict[str, Any], ending_late: tuple[str, subprocess.Popen[str]]) -> None:
    config.storage_options = {"s3://": options}
    place, process = ending_late
    told, wrong = process.communicate(timeout=100)
    assert told.startswith(place) and names(place) == [], wrong
