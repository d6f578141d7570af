"""On a real cluster every program is right, whatever directories its machines share.

`pytest tests/cluster -m cluster` runs all programs; `test_one_cluster.py` runs a part of them without the mark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import IO

import pytest

from tests.cluster.machine import PROJECT, SMALL_JVM_OPTIONS, connect_server, hiding_command, spark_environment, standalone_cluster
from tests.cluster.programs import PROGRAMS
from tests.cluster.run import ANSWER, BROKEN, REFUSED, RIGHT

DRIVER = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "700m",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": SMALL_JVM_OPTIONS,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "3",
}
# What the driver may collect is less than the rows of the DataFrame, and more than its groups.
SMALL_BUDGET = {"spark.test.memory_budget": "20000"}
NOT_FILE = {"spark.hadoop.fs.defaultFS": "hdfs://nowhere:9000"}
SECONDS = 900
Endings = dict[str, tuple[str, str]]

needs_namespaces = pytest.mark.skipif(hiding_command() is None, reason="a process cannot be given another view of a directory here")
ALL = tuple(PROGRAMS)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The directory for temporary and saved data that processes share, or do not."""
    place = tmp_path / "shared"
    place.mkdir()
    return place


class Driver:
    """A process that runs programs in one session after the other.

    Parameters
    ----------
    url
        The cluster or Spark Connect server.
    shared
        A directory; each session has another one in it.
    log
        Where the process writes what it says besides.
    packages
        A directory of packages that this process has and executors lack; None if there is none.
    """

    def __init__(self, url: str, shared: Path, log: IO[str], packages: Path | None = None) -> None:
        self.shared, self.log = shared, log
        self.places: list[Path] = []
        # All temporary files of the process are there: those that no other machine may need are hidden with the rest.
        variables = {**spark_environment(), "SFRAME_SPARK_TMP": str(shared), "TMPDIR": str(shared)}
        if packages is not None:
            variables["PYTHONPATH"] += f"{os.pathsep}{packages}"
        command = [sys.executable, "-m", "tests.cluster.run", url]
        self.process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=log, text=True, cwd=PROJECT, env=variables)
        self.watchdog = threading.Timer(SECONDS, self.process.kill)
        self.watchdog.start()

    def endings(
        self,
        names: Sequence[str],
        settings: Mapping[str, str] | None,
        uri: str = "",
        options: Mapping[str, str] | None = None,
        stays: bool = False,
    ) -> Endings:
        """How programs end in another session, or in that which was told to stay, with their files in a directory of their own, or at a URI."""
        notes, place = (Path(tempfile.mkdtemp(dir=above)) for above in (self.shared.parent, self.shared))
        self.places.append(place)
        assert self.process.stdin is not None and self.process.stdout is not None
        request = {
            "directory": uri or str(place),
            "options": options or {},
            "names": names,
            "settings": settings,
            "stays": stays,
            "notes": str(notes),
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = next((line for line in self.process.stdout if line.startswith(ANSWER)), None)
        assert answer is not None, self.said()
        found: Endings = {name: (kind, text) for name, (kind, text) in json.loads(answer.removeprefix(ANSWER)).items()}
        return found

    def said(self) -> str:
        """The end of what the process wrote into its log."""
        return Path(self.log.name).read_text(errors="replace")[-5000:]

    def end(self) -> None:
        """Let the process end by itself, and look that it leaves nothing behind."""
        self.process.communicate()
        assert self.process.returncode == 0, self.said()
        left = [path for above in (self.shared, *self.places) for path in above.iterdir()]
        assert [path for path in left if path.name.startswith((".", "_", "sframe_spark-"))] == []


@contextmanager
def driver(url: str, shared: Path, packages: Path | None = None) -> Iterator[Driver]:
    """A driver that ends well when the block does, and is killed when the block fails."""
    with (shared.parent / "driver.log").open("w", encoding="utf-8") as log:
        started = Driver(url, shared, log, packages)
        try:
            yield started
            started.end()
        finally:
            started.watchdog.cancel()
            started.process.kill()
            started.process.communicate()


def require_right(found: Endings) -> None:
    """Every program is right."""
    assert {name: ending for name, ending in found.items() if ending[0] != RIGHT} == {}


@pytest.mark.cluster
def test_shared_directory(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [True, True]) as cluster, driver(cluster.url, shared) as one:
        require_right(one.endings(ALL, DRIVER))
        require_right(one.endings(ALL, {**DRIVER, **NOT_FILE}))


@needs_namespaces
@pytest.mark.cluster
def test_no_shared_directory(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [False, False]) as cluster, driver(cluster.url, shared) as one:
        require_right(one.endings(ALL, DRIVER))
        require_right(one.endings(ALL, {**DRIVER, **SMALL_BUDGET}))


@needs_namespaces
@pytest.mark.cluster
def test_one_worker_that_shares(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [True, False]) as cluster, driver(cluster.url, shared) as one:
        require_right(one.endings(ALL, DRIVER))


@needs_namespaces
@pytest.mark.cluster
def test_an_executor_that_the_probe_has_not_met_loses_no_rows(shared: Path, tmp_path: Path) -> None:
    settings = {**DRIVER, "spark.test.unasked": "true"}
    with standalone_cluster(tmp_path, shared, [True, False]) as cluster, driver(cluster.url, shared) as one:
        found = one.endings(ALL, settings)
        # What is refused need not name the option here: a task says that a file is missing.
        assert {name: ending for name, ending in found.items() if ending[0] not in (RIGHT, REFUSED, BROKEN)} == {}
        assert REFUSED in {ending for ending, _ in found.values()}


@needs_namespaces
@pytest.mark.cluster
def test_connect_server_with_its_own_directory(shared: Path, tmp_path: Path) -> None:
    with connect_server(tmp_path, shared, False) as url, driver(url, shared) as one:
        require_right(one.endings(ALL, {}))
        require_right(one.endings(ALL, SMALL_BUDGET))
