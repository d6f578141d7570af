"""Amid a job an executor or a worker is killed, the master starts anew, a disk is full, a file is deleted: right rows, or one clear line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from tests.cluster.machine import PROJECT, StandaloneCluster, hiding_command, spark_environment, standalone_cluster
from tests.cluster.object_store import ObjectStore, object_store
from tests.cluster.test_cluster import DRIVER

SECONDS = 120
needs_mounts = pytest.mark.skipif(hiding_command() != ("unshare", "--mount"), reason="a small disk cannot be mounted here")
pytestmark = pytest.mark.cluster


@attrs.frozen
class Place:
    """A cluster of two workers that see a directory and an object store.

    Parameters
    ----------
    cluster, store, directory
        What there is.
    """

    cluster: StandaloneCluster
    store: ObjectStore
    directory: Path

    def ending(self, name: str, elsewhere: bool, fail: Callable[[StandaloneCluster], None] | None = None) -> str:
        """What a program says amid which something happens; one line, and no trace of Java or Py4J."""
        number = len(list(self.directory.iterdir()))
        notes = self.directory / f"{name}-{number}"
        (notes / "tmp").mkdir(parents=True)
        place = f"{self.store.uri}/{notes.name}" if elsewhere else str(notes)
        arguments = json.dumps([self.cluster.url, DRIVER, place, self.store.options if elsewhere else {}, str(notes)])
        command = [sys.executable, "-m", "tests.cluster.failing", name, arguments]
        with (notes / "log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=PROJECT, env=spark_environment())
        try:
            if fail is not None:
                wait_for_file(notes / "begun", process)
                fail(self.cluster)
            said, _ = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        assert said.count("\n") == 1 and "Traceback" not in said and "py4j" not in said, said + (notes / "log").read_text("utf-8")[-3000:]
        return said.rstrip()


def wait_for_file(file: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a program says that its job runs."""
    until = time.monotonic() + SECONDS
    while not file.exists():
        assert process.poll() is None and time.monotonic() < until, "the job did not begin"
        time.sleep(0.02)


def executors(cluster: StandaloneCluster) -> list[int]:
    """The processes of executors, whose sessions are those of their workers."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in words and os.getsid(int(entry.name)) in [worker.pid for worker in cluster.workers]:
                found.append(int(entry.name))
    return sorted(found)


def kill_executor(cluster: StandaloneCluster) -> None:
    """Kill an executor; its worker starts another."""
    os.kill(executors(cluster)[0], signal.SIGKILL)


def kill_worker(cluster: StandaloneCluster) -> None:
    """Kill a worker with its executor, and let another one come."""
    gone = cluster.workers.pop(0)
    os.killpg(gone.pid, signal.SIGKILL)
    gone.wait(10)
    cluster.start_workers([True])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One cluster for all that leaves it whole."""
    directory = tmp_path_factory.mktemp("failures")
    shared = directory / "shared"
    shared.mkdir()
    with object_store() as store, standalone_cluster(directory, shared, [True, True]) as cluster:
        yield Place(cluster, store, shared)


EVENTS = {"executor": kill_executor, "worker": kill_worker, "master": StandaloneCluster.restart_master}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("name", ["query", "function"])
@pytest.mark.parametrize("event", EVENTS)
def test_processes_that_end(place: Place, event: str, name: str, elsewhere: bool) -> None:
    assert place.ending(name, elsewhere, EVENTS[event]) == "right"


@pytest.mark.parametrize("event", EVENTS)
def test_processes_that_end_while_tasks_exchange_rows(place: Place, event: str) -> None:
    assert place.ending("given", False, EVENTS[event]) == "right"


@pytest.mark.parametrize("event", EVENTS)
def test_processes_that_end_while_tasks_send_rows_to_one_another(place: Place, event: str) -> None:
    assert place.ending("sent", True, EVENTS[event]) == "right"


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
def test_files_that_are_deleted(place: Place, elsewhere: bool) -> None:
    assert place.ending("remade", elsewhere) == "right"
    told = place.ending("called", elsewhere)
    assert told.startswith("StorageError: ") and "functions of yours made them" in told and "save() keeps rows" in told, told


@contextlib.contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """A disk of two MB."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


@needs_mounts
def test_disks_that_are_full(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with small_disk(tmp_path / "disk") as disk, object_store() as store, standalone_cluster(tmp_path, shared, [True, True], str(disk)) as cluster:
        told = Place(cluster, store, shared).ending("exchange", False)
        assert told.startswith("StorageError: ") and "a disk of the executor on 127.0.0.1 is full (" in told and "spark.local.dir" in told, told
        assert Place(cluster, store, shared).ending("remade", False) == "right"


@needs_mounts
def test_a_full_disk_of_temporary_data(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    with small_disk(shared), object_store() as store, standalone_cluster(tmp_path, shared, [True, True]) as cluster:
        told = Place(cluster, store, shared).ending("exchange", False)
        assert told.startswith("StorageError: ") and "is full (" in told and "SFRAME_SPARK_TMP" in told, told
