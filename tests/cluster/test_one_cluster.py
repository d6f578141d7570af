"""On one cluster and one Connect server, few programs are right whatever the machines see of a directory.

A JVM takes seconds to start, so one cluster goes through what others have a cluster for: `pytest tests/cluster -m cluster` runs all programs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.cluster.machine import connect_server, standalone_cluster
from tests.cluster.object_store import ObjectStore, object_store
from tests.cluster.programs import SHORT, SHORTEST
from tests.cluster.test_cluster import DRIVER, NOT_FILE, SMALL_BUDGET, Endings, driver, needs_namespaces, require_right
from tests.cluster.test_packages import PROGRAM, bare_python, without_project

pytestmark = [needs_namespaces, pytest.mark.spark]

BY_TASKS, BY_THE_DRIVER = "file_programs:read_by_tasks", "file_programs:read_by_the_driver"
ON_AN_OBJECT_STORE = (
    "file_programs:frames_on_an_object_store",
    "file_programs:temporary_data_on_an_object_store",
    "file_programs:temporary_data_on_the_object_store_of_the_cluster",
)
# What an object store holds in the end, when no session has temporary data there.
NAMES_THAT_STAY = {"good", "kept", "made", "out", "saved", "table", "table.csv", "odd.csv", "bad.csv", "odd.json"}


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    """What all machines reach."""
    with object_store() as started:
        yield started


@pytest.fixture(scope="module")
def found(store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Endings]:
    """How programs end while two, one and none of two machines see the driver's directory; sessions stay for all that needs the same machines."""
    place = tmp_path_factory.mktemp("cluster")
    shared = place / "shared"
    shared.mkdir()
    python = bare_python(place / "bare")
    lacks = subprocess.run([python, "-c", "import pyarrow, sframe_spark"], cwd=place, env={}, capture_output=True, text=True, check=False)
    assert "No module named 'sframe_spark'" in lacks.stderr
    with standalone_cluster(place, shared, [True, True]) as cluster, driver(cluster.url, shared) as one:
        # On every cluster of Hadoop a path without a scheme is one of HDFS; where it is a file, all other tests run.
        found = {"both": one.endings((*SHORT, BY_TASKS), {**DRIVER, **NOT_FILE})}
        # One executor is enough to lack a package.
        found["bare"] = one.endings([PROGRAM], {**without_project(python), "spark.cores.max": "1"})
        cluster.end_first_worker()
        cluster.start_workers([False])
        found["one"] = one.endings((*SHORTEST, BY_THE_DRIVER), DRIVER)
        cluster.end_first_worker()
        cluster.start_workers([False])
        # Spark itself has no connector to the store.
        found["none"] = one.endings(SHORT, {**DRIVER, "spark.sql.warehouse.dir": "s3a://bucket/cluster/warehouse"}, stays=True)
        found["none, small budget"] = one.endings(SHORTEST, SMALL_BUDGET, stays=True)
        found["none, object store"] = one.endings(ON_AN_OBJECT_STORE, None, f"{store.uri}/cluster", store.options)
    return found


@pytest.fixture(scope="module")
def found_by_server(store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Endings]:
    """How programs end in a session of a Connect server that does not see the driver's directory."""
    place = tmp_path_factory.mktemp("server")
    shared = place / "shared"
    shared.mkdir()
    with connect_server(place, shared, False) as url, driver(url, shared) as one:
        found = {"directory": one.endings(SHORT, {}, stays=True), "small budget": one.endings(SHORTEST, SMALL_BUDGET, stays=True)}
        found["object store"] = one.endings(SHORT, None, f"{store.uri}/server", store.options)
    return found


def names_left(store: ObjectStore, directory: str) -> set[str]:
    """What is left in a directory of the object store, but for the files that programs begin with."""
    names = [name.removeprefix(f"{directory}/").split("/")[0] for name in store.names() if name.startswith(f"{directory}/")]
    return {name for name in names if not name.startswith("part-")}


def test_programs_are_right_where_all_machines_see_the_directory(found: dict[str, Endings]) -> None:
    require_right(found["both"])


def test_executors_without_the_package_are_sent_it(found: dict[str, Endings]) -> None:
    require_right(found["bare"])


@pytest.mark.parametrize("seen_by", ["one", "none"])
def test_programs_are_right_where_not_all_machines_see_it(found: dict[str, Endings], seen_by: str) -> None:
    require_right(found[seen_by])


def test_what_is_too_large_to_be_collected_is_kept_where_no_machine_sees_it(found: dict[str, Endings]) -> None:
    require_right(found["none, small budget"])


def test_programs_are_right_on_an_object_store_of_machines_that_share_nothing(found: dict[str, Endings], store: ObjectStore) -> None:
    require_right(found["none, object store"])
    assert names_left(store, "cluster") == NAMES_THAT_STAY


def test_programs_are_right_on_a_server_that_does_not_see_the_directory(found_by_server: dict[str, Endings]) -> None:
    require_right(found_by_server["directory"])
    require_right(found_by_server["small budget"])


def test_programs_are_right_on_an_object_store_of_a_server(found_by_server: dict[str, Endings], store: ObjectStore) -> None:
    require_right(found_by_server["object store"])
    assert "tmp" not in names_left(store, "server")
