"""On a real cluster every program is right, or refused before anything is written; there is no third outcome.

`pytest tests/cluster -m cluster` runs all programs; without the mark a part of them runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.machine import PROJECT, SMALL_JVM_OPTIONS, connect_server, hiding_command, spark_environment, standalone_cluster
from tests.cluster.programs import PROGRAMS, SHORT, SHORTEST, WITHOUT_FILES
from tests.cluster.run import BROKEN, REFUSED, RIGHT

DRIVER = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "700m",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": SMALL_JVM_OPTIONS,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "3",
}
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


@contextmanager
def endings(url: str, shared: Path, names: Sequence[str], settings: dict[str, str]) -> Iterator[Endings]:
    """How programs end in a session on a cluster; those that passed say nothing else, and the directory holds no leftovers."""
    notes = shared.parent / "notes"
    notes.mkdir(exist_ok=True)
    every = json.dumps({**settings, "spark.test.notes": str(notes)})
    command = [sys.executable, "-m", "tests.cluster.run", url, str(shared), every, json.dumps(names)]
    variables = {**spark_environment(), "SFRAME_SPARK_TMP": str(shared)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=PROJECT, env=variables)
    assert done.returncode == 0, done.stderr[-5000:]
    yield json.loads(done.stdout.splitlines()[-1])
    assert [path.name for path in shared.iterdir() if path.name.startswith((".", "_", "sframe_spark-"))] == []


def require_right(found: Endings) -> None:
    """Every program is right."""
    assert {name: ending for name, ending in found.items() if ending[0] != RIGHT} == {}


def require_right_or_refused(found: Endings) -> None:
    """Every program is right or refused, and those that share no files are right."""
    assert {name: ending for name, ending in found.items() if ending[0] not in (RIGHT, REFUSED)} == {}
    assert {name: ending for name, ending in found.items() if name in WITHOUT_FILES and ending[0] != RIGHT} == {}


def require_refused(found: Endings) -> None:
    """Every program that shares files is refused, by the probe rather than by what was lost."""
    require_right_or_refused(found)
    shared_files = {name: ending for name, ending in found.items() if name not in WITHOUT_FILES}
    assert {name: ending for name, ending in shared_files.items() if not ending[1].startswith("NotSharedError")} == {}


def put_away(shared: Path) -> None:
    """Make room for the next session on the same cluster, which writes the same names."""
    first = Path(tempfile.mkdtemp(prefix="before-", dir=shared.parent))
    for path in (*shared.iterdir(), shared.parent / "notes"):
        path.rename(first / path.name)


@needs_namespaces
@pytest.mark.spark
def test_few_programs_while_fewer_and_fewer_workers_share(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [True, True]) as cluster:
        # On every cluster of Hadoop a path without a scheme is one of HDFS; where it is a file, all other tests run.
        with endings(cluster.url, shared, SHORT, {**DRIVER, **NOT_FILE}) as found:
            require_right(found)
        put_away(shared)
        cluster.end_first_worker()
        cluster.start_workers([False])
        with endings(cluster.url, shared, SHORTEST, DRIVER) as found:
            require_right_or_refused(found)
        put_away(shared)
        cluster.end_first_worker()
        with endings(cluster.url, shared, SHORTEST, DRIVER) as found:
            require_refused(found)


@pytest.mark.cluster
def test_shared_directory(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [True, True]) as cluster:
        with endings(cluster.url, shared, ALL, DRIVER) as found:
            require_right(found)
        put_away(shared)
        with endings(cluster.url, shared, ALL, {**DRIVER, **NOT_FILE}) as found:
            require_right(found)


@needs_namespaces
@pytest.mark.cluster
def test_no_shared_directory(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [False, False]) as cluster, endings(cluster.url, shared, ALL, DRIVER) as found:
        require_refused(found)


@needs_namespaces
@pytest.mark.cluster
def test_one_worker_that_shares(shared: Path, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, shared, [True, False]) as cluster, endings(cluster.url, shared, ALL, DRIVER) as found:
        require_right_or_refused(found)


@needs_namespaces
@pytest.mark.cluster
def test_an_executor_that_the_probe_has_not_met_loses_no_rows(shared: Path, tmp_path: Path) -> None:
    settings = {**DRIVER, "spark.test.unasked": "true"}
    with standalone_cluster(tmp_path, shared, [True, False]) as cluster, endings(cluster.url, shared, ALL, settings) as found:
        # What is refused need not name the option here: a task says that a file is missing.
        assert {name: ending for name, ending in found.items() if ending[0] not in (RIGHT, REFUSED, BROKEN)} == {}
        assert REFUSED in {ending for ending, _ in found.values()}


@needs_namespaces
@pytest.mark.parametrize(
    "names", [pytest.param(SHORTEST, id="shortest", marks=pytest.mark.spark), pytest.param(ALL, id="all", marks=pytest.mark.cluster)]
)
def test_connect_server_with_its_own_directory(names: Sequence[str], shared: Path, tmp_path: Path) -> None:
    with connect_server(tmp_path, shared, False) as url, endings(url, shared, names, {}) as found:
        require_refused(found)
