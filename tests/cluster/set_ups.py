"""Clusters as people have them: machines that share a directory, an object store, or nothing with the driver; each also behind a Connect server."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.cluster.machine import LOOPBACK, StandaloneCluster, connect_server, hiding_command, spark_environment, standalone_cluster
from tests.cluster.object_store import ObjectStore, object_store
from tests.cluster.slow_tasks.pyspark_with_slow_tasks import BEGUN, NOTES, PACE
from tests.cluster.test_cluster import DRIVER

MODULE_OF_SLOW_TASKS = "pyspark_with_slow_tasks"
HOSTS = (LOOPBACK, "127.0.0.2")
# What a disk of a test holds, unless something fills it.
SIZE_OF_DISK = "400m"


@attrs.frozen
class SetUp:
    """A kind of cluster.

    Parameters
    ----------
    shares_directory
        Whether all machines see one directory.
    has_store
        Whether temporary data is on an object store.
    is_server
        Whether a Connect server runs the driver's queries.
    """

    shares_directory: bool = False
    has_store: bool = False
    is_server: bool = False


SET_UPS = {
    "shared directory": SetUp(shares_directory=True),
    "object store": SetUp(has_store=True),
    "nothing shared": SetUp(),
    "Connect, shared directory": SetUp(shares_directory=True, is_server=True),
    "Connect, object store": SetUp(has_store=True, is_server=True),
    "Connect, nothing shared": SetUp(is_server=True),
}


@attrs.define
class Machines:
    """A running cluster of two workers.

    Parameters
    ----------
    set_up
        What it shares.
    cluster
        The master and the workers.
    url
        What drivers connect to.
    store
        The object store, if there is one.
    shared
        The directory that workers see if it is shared: of saved and temporary data, and of other temporary files of drivers.
    notes
        A directory that all see.
    local
        Where executors have their files.
    """

    set_up: SetUp
    cluster: StandaloneCluster
    url: str
    store: ObjectStore | None
    shared: Path
    notes: Path
    local: Path

    @property
    def place(self) -> str:
        """Where programs save, with temporary data below."""
        return str(self.shared / "place") if self.store is None else f"{self.store.uri}/place"

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a driver's session."""
        return {} if self.set_up.is_server else settings_of_application(self.notes)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a driver, whose temporary files no other machine sees unless they are to be shared."""
        scratch, local = self.shared / "scratch", self.notes / "local"
        for directory in (scratch, local):
            directory.mkdir(exist_ok=True)
        return {**spark_environment(), "TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(local)}


def settings_of_application(notes: Path) -> dict[str, str]:
    """Settings of what has executors: a driver, or a server. Tasks may be slow, and are tried elsewhere then."""
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "2",
        "spark.speculation.minTaskRuntime": "2s",
    }
    slow_tasks = {"spark.python.worker.module": MODULE_OF_SLOW_TASKS, f"spark.executorEnv.{NOTES}": str(notes)}
    return {**DRIVER, **speculation, **slow_tasks, "spark.decommission.enabled": "true", "spark.storage.decommission.enabled": "true"}


@contextlib.contextmanager
def small_disk(directory: Path, size: str = SIZE_OF_DISK) -> Iterator[Path]:
    """A disk of its own, where one can be mounted; else a directory."""
    directory.mkdir()
    is_mounted = hiding_command() == ("unshare", "--mount")
    if is_mounted:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(directory)], check=True)
    try:
        yield directory
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(directory)], check=True)
        else:
            shutil.rmtree(directory)


@contextlib.contextmanager
def machines(set_up: SetUp, directory: Path) -> Iterator[Machines]:
    """Start a cluster whose tasks are as fast as they can be."""
    notes = directory / "notes"
    (notes / BEGUN).mkdir(parents=True)
    (notes / PACE).write_text("0", encoding="ascii")
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        shared, local = enter(small_disk(directory / "shared")), enter(small_disk(directory / "disk"))
        store = enter(object_store()) if set_up.has_store else None
        sees = [set_up.shares_directory] * 2
        cluster = enter(standalone_cluster(directory, shared, sees, str(local), hosts=HOSTS))
        url = cluster.url
        if set_up.is_server:
            settings = settings_of_application(notes)
            url = enter(connect_server(directory, shared, set_up.shares_directory, master=cluster.url, settings=settings))
        yield Machines(set_up, cluster, url, store, shared, notes, local)
