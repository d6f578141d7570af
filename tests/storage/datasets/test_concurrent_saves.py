"""Of savers at one time one wins, and the others are told; what breaks off blocks nobody, and every load sees one whole frame."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from sframe_spark import SFrame, history, load_sframe, vacuum
from sframe_spark.errors import ConcurrentSaveError, StorageError
from sframe_spark.storage.datasets import numbered_versions_of_remote_frames as remote_versions
from sframe_spark.storage.datasets.numbered_versions_of_remote_frames import versions_at
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT
from tests.interpreters import run_program
from tests.storage.datasets.conftest import Bucket

PROJECT = Path(__file__).parents[3]
ROWS = 50

SAVER = """
import json, os, sys
from sframe_spark import SFrame, config
from sframe_spark.errors import ConcurrentSaveError
place, options, names, times, rows = json.loads(sys.argv[1])
for name in names[:-1]:
    if not os.fork():
        break
else:
    name = names[-1]
config.storage_options = {"s3://": options}
won = lost = 0
while won < times:
    try:
        SFrame({"by": [name] * rows, "save": [won] * rows, "row": list(range(rows))}).save(place)
        won += 1
    except ConcurrentSaveError:
        lost += 1
print(won, lost, flush=True)
if name != names[-1]:
    os._exit(0)
while len(names) > 1:
    assert os.wait()[1] == 0
    names.pop()
"""

DYING = """
import os
from sframe_spark.storage.datasets import numbered_versions_of_remote_frames as save
save.NewVersion.commit = lambda *_: os._exit(7)
"""


def meanwhile(monkeypatch: pytest.MonkeyPatch, what: Callable[[], Any]) -> None:
    """Let something happen once, when all files of a save are there and its manifest is about to be put."""
    commit, happened = remote_versions.NewVersion.commit, []

    def late(version: remote_versions.NewVersion, *arguments: Any) -> Any:
        if not happened:
            happened.append(True)
            what()
        return commit(version, *arguments)

    monkeypatch.setattr(remote_versions.NewVersion, "commit", late)


def test_the_second_of_two_savers_is_told(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    SFrame({"a": [0]}).save(place)
    meanwhile(monkeypatch, lambda: SFrame({"a": [1, 1]}).save(place))
    with pytest.raises(ConcurrentSaveError, match=r"another program saved .*/frame in the meantime, as version 2, .*save again"):
        SFrame({"a": [2, 2, 2]}).save(place)
    assert list(load_sframe(place)["a"]) == [1, 1] and list(history(place)["version"]) == [1, 2]
    # Nothing of the loser is left.
    assert [name for name in vacuum(place, older_than=0, dry_run=True)["file"] if "00000001" not in name] == _files(load_sframe(place, version=1))
    SFrame({"a": [2, 2, 2]}).save(place)
    assert list(load_sframe(place)["a"]) == [2, 2, 2]


def _files(frame: SFrame) -> list[str]:
    return [entry.file for entry in frame._node.operator.manifest.segments]  # type: ignore[attr-defined]


def test_the_first_version_too(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: SFrame({"a": [1]}).save(place))
    with pytest.raises(ConcurrentSaveError):
        SFrame({"a": [2]}).save(place)
    assert list(load_sframe(place)["a"]) == [1] and len(versions_at(place)) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, StorageError])
def test_a_save_that_ends_before_its_manifest_leaves_nothing(place: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> None:
        raise error("broken off")

    SFrame({"a": [0]}).save(place)
    meanwhile(monkeypatch, end)
    with pytest.raises(error):
        SFrame({"a": [1]}).save(place)
    assert list(load_sframe(place)["a"]) == [0] and len(vacuum(place, older_than=0, dry_run=True)) == 0


def test_a_process_that_dies_before_its_manifest_blocks_nobody(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [0]}).save(place)
    done = run_program(DYING + SAVER, json.dumps([place, bucket.options, ["x"], 1, ROWS]))
    assert done.returncode == 7, done.stderr
    assert len([name for name in bucket.names() if "/data/" in name]) == 2
    assert list(load_sframe(place)["a"]) == [0]
    SFrame({"a": [1]}).save(place)
    assert list(load_sframe(place)["a"]) == [1] and list(history(place)["version"]) == [1, 2]
    # What it left is as old as the versions.
    assert len(vacuum(place, older_than=1)) == 0 and len(vacuum(place, older_than=0)) == 3
    assert list(load_sframe(place, verify=True)["a"]) == [1]


@pytest.fixture
def no_request_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a process that has ended may be removed at once."""
    monkeypatch.setattr(remote_versions, "SECONDS_OF_REQUEST", 0)


def kill_a_save(bucket: Bucket) -> None:
    """Let a process end before it creates its manifest."""
    done = run_program(DYING + SAVER, json.dumps([bucket.uri + "/frame", bucket.options, ["x"], 1, ROWS]))
    assert done.returncode == 7, done.stderr


def save_as_another_process(place: str, value: int) -> None:
    """Save a row as a process does that has not saved the frame before."""
    remote_versions._remove_unfinished_once.cache_clear()
    SFrame({"a": [value]}).save(place)


def directories(bucket: Bucket) -> list[str]:
    """The directories with files of rows."""
    return sorted({name.split("/")[2] for name in bucket.names() if "/data/" in name})


def test_what_a_killed_save_has_left_goes_with_the_next_process_that_saves(bucket: Bucket, no_request_is_late: None) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [0]}).save(place)
    kill_a_save(bucket)
    assert len(directories(bucket)) == 2
    save_as_another_process(place, 1)
    assert len(directories(bucket)) == 2 and [list(load_sframe(place, version=number, verify=True)["a"]) for number in (1, 2)] == [[0], [1]]


def test_of_two_saves_of_one_number_only_that_of_the_killed_process_goes(bucket: Bucket, no_request_is_late: None) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [0]}).save(place)
    kill_a_save(bucket)
    SFrame({"a": [1]}).save(place)
    assert len(directories(bucket)) == 3
    save_as_another_process(place, 2)
    assert len(directories(bucket)) == 3 and [list(load_sframe(place, version=number, verify=True)["a"]) for number in (1, 2, 3)] == [[0], [1], [2]]


def test_versions_of_processes_that_have_ended_stay(bucket: Bucket, no_request_is_late: None) -> None:
    place = bucket.uri + "/frame"
    done = run_program(SAVER, json.dumps([place, bucket.options, ["x"], 3, ROWS]))
    assert done.returncode == 0, done.stderr
    kill_a_save(bucket)
    save_as_another_process(place, 1)
    assert len(vacuum(place)) == 0 and len(directories(bucket)) == 4
    assert [set(load_sframe(place, version=number, verify=True)["save"]) for number in (1, 2, 3)] == [{0}, {1}, {2}]


def test_a_save_that_goes_on_loses_nothing(bucket: Bucket, no_request_is_late: None, monkeypatch: pytest.MonkeyPatch) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [0]}).save(place)
    meanwhile(monkeypatch, lambda: (remote_versions.remove_unfinished_saves(place, versions_at(place)), vacuum(place)))
    SFrame({"a": [1]}).save(place)
    assert list(load_sframe(place, verify=True)["a"]) == [1]


def test_what_was_written_a_moment_ago_stays(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    kill_a_save(bucket)
    save_as_another_process(place, 1)
    assert len(directories(bucket)) == 2 and len(vacuum(place)) == 0 and len(vacuum(place, older_than=0)) == 1


def test_whether_a_process_of_another_machine_runs_is_not_known(bucket: Bucket, no_request_is_late: None) -> None:
    place = bucket.uri + "/frame"
    kill_a_save(bucket)
    (left,) = [name for name in bucket.names() if "/data/" in name]
    directory = remote_versions.SaveDirectory.named(left.split("/")[2])
    assert directory is not None
    other = attrs.evolve(directory, process=attrs.evolve(directory.process, scope="elsewher"))
    bucket.files.mv(f"{bucket.uri}/{left}", f"{bucket.uri}/{left.replace(str(directory), str(other))}")
    save_as_another_process(place, 1)
    assert str(other) in directories(bucket) and len(vacuum(place)) == 0 and len(vacuum(place, older_than=0)) == 1


def test_a_vacuum_asks_who_has_ended(bucket: Bucket, no_request_is_late: None) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [0]}).save(place)
    kill_a_save(bucket)
    (removed,) = vacuum(place)["file"]
    assert removed.split("/")[1] not in directories(bucket) and list(load_sframe(place, verify=True)["a"]) == [0]


def test_an_answer_that_gets_lost(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create = remote_versions.create

    def lost(uri: str, content: bytes) -> bool:
        done = create(uri, content)
        if done and uri.endswith(".json"):
            raise StorageError("cannot write: no answer")
        return done

    monkeypatch.setattr(remote_versions, "create", lost)
    SFrame({"a": [1]}).save(place)
    assert list(load_sframe(place, verify=True)["a"]) == [1]


def test_a_request_that_is_sent_twice(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create = remote_versions.create
    monkeypatch.setattr(
        remote_versions,
        "create",
        lambda uri, content: create(uri, content) and (not uri.endswith(".json") or create(uri, content)),
    )
    SFrame({"a": [1]}).save(place)
    assert list(load_sframe(place, verify=True)["a"]) == [1]


def test_a_request_of_which_nobody_knows_keeps_its_files(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create, late = remote_versions.create, []

    def unknown(uri: str, content: bytes) -> bool:
        if uri.endswith(".json"):
            late.append((uri, content))
            raise StorageError("cannot write: no answer")
        return create(uri, content)

    monkeypatch.setattr(remote_versions, "create", unknown)
    with pytest.raises(StorageError, match="it is unknown whether it was saved"):
        SFrame({"a": [1]}).save(place)
    # It comes after all.
    assert create(*late[0])
    assert list(load_sframe(place, verify=True)["a"]) == [1]


def test_a_file_system_that_does_not_keep_savers_apart_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create = remote_versions.create
    remote_versions._proved.cache_clear()
    monkeypatch.setattr(remote_versions, "create", lambda uri, content: create(uri, content) or True)
    with pytest.raises(StorageError, match="one of two savers would lose its rows without a word"):
        SFrame({"a": [1]}).save(place)
    with pytest.raises(StorageError, match="there is no saved frame"):
        load_sframe(place)
    monkeypatch.undo()


class LooksFirst(MemoryFileSystem):
    """One that only looks whether a file is there before it writes."""

    protocol = "looksfirst"
    pipe_file = fsspec.AbstractFileSystem.pipe_file


def test_looking_first_is_not_enough() -> None:
    fsspec.register_implementation("looksfirst", LooksFirst, clobber=True)
    with pytest.raises(StorageError, match="one of two savers"):
        SFrame({"a": [1]}).save("looksfirst://x/frame")


def test_threads_that_save_one_place(place: str) -> None:
    won: list[int] = []
    errors: list[BaseException] = []

    def saving(number: int) -> None:
        for _ in range(5):
            try:
                SFrame({"by": [number] * ROWS}).save(place)
                won.append(number)
            except ConcurrentSaveError:
                pass
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=saving, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(versions_at(place)) == len(won) >= 5
    assert set(load_sframe(place)["by"]) == {load_sframe(place)["by"][0]}


@pytest.mark.parametrize("times", [2, pytest.param(50, marks=pytest.mark.campaign)])
def test_processes_that_save_one_place(bucket: Bucket, times: int) -> None:
    place = bucket.uri + "/frame"
    SFrame({"by": ["first"] * ROWS, "save": [0] * ROWS, "row": list(range(ROWS))}).save(place)
    answers: list[str] = []
    asked = json.dumps([place, bucket.options, ["one", "two"], times, ROWS])
    savers = threading.Thread(target=lambda: answers.extend(run_program(SAVER, asked, timeout=300).stdout.splitlines()))
    savers.start()
    loads = 0
    while savers.is_alive():
        frame = load_sframe(place)
        assert list(frame["row"]) == list(range(ROWS))
        assert len(set(frame["by"])) == 1 and len(set(frame["save"])) == 1
        loads += 1
        # The savers have something to do, too.
        time.sleep(0.1)
    assert [answer.split()[0] for answer in answers] == [str(times)] * 2 and loads > 0
    found = history(place)
    assert list(found["version"]) == list(range(1, 2 * times + 2)) and set(found["rows"]) == {ROWS}
    for number in (1, times, 2 * times + 1):
        assert len(load_sframe(place, version=number, verify=True)) == ROWS
    # Whoever lost left nothing.
    assert len([name for name in bucket.names() if "/data/" in name]) == 2 * times + 1


def test_what_a_vacuum_removes_amid_a_save_is_not_saved(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    SFrame({"a": [1]}).save(place)
    meanwhile(monkeypatch, lambda: vacuum(place, older_than=0))
    with pytest.raises(StorageError, match="it was removed"):
        SFrame({"a": [2]}).save(place)
    assert list(load_sframe(place, verify=True)["a"]) == [1]


def test_files_of_attempts_that_failed_are_gone_when_the_version_is_saved(bucket: Bucket) -> None:
    place = f"{bucket.uri}/frame"
    with remote_versions.saving_version(place) as new:
        # A task that ended before its result was heard of has run twice.
        _, entry = (write_segment(new.directory, 0, [INT], [[pa.array([1, 2])]]) for _ in range(2))
        new.commit(Manifest((INT,), (entry,), new.directory), ["a"], "sframe")
    assert [name.rpartition("/")[2] for name in bucket.names() if "/data/" in name] == [entry.file]
    assert list(load_sframe(place)["a"]) == [1, 2]
