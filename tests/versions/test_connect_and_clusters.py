"""Spark Connect and a standalone cluster of the Spark that is installed: operations give the recorded values, programs their rows.

`make versions` runs these with every version; `tests/cluster` goes through many more clusters with the newest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyspark
import pytest

from sframe_spark.session.spark_versions import NO_CONNECT, NO_CONNECT_SQL, missing_in
from tests.cluster.machine import connect_server, standalone_cluster
from tests.cluster.object_store import object_store
from tests.cluster.programs import SHORT
from tests.cluster.test_cluster import ALL, DRIVER, driver, needs_namespaces, require_right
from tests.properties.other_sparks import last_line
from tests.versions.operations import OPERATIONS, recorded

pytestmark = pytest.mark.matrix

LACKS = missing_in(pyspark.__version__)
# Rows are too many for one thread, and more bytes than the driver may use.
MANY_BYTES = {"spark.test.small_rows": "40", "spark.test.memory_budget": "20000"}

# Programs in which tasks exchange rows, or read what others have written.
OF_EXCHANGES = (*SHORT, "join", "group-by with many groups", "unique", "sort")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The directory for temporary and saved data."""
    place = tmp_path / "shared"
    place.mkdir()
    return place


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the operations give over Spark Connect."""
    place = tmp_path_factory.mktemp("server")
    (place / "shared").mkdir()
    with connect_server(place, place / "shared", True) as url:
        found: dict[str, Any] = json.loads(last_line("tests.versions.operations", url))
    return found


@pytest.mark.skipif(NO_CONNECT in LACKS, reason="this Spark is too old")
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_over_connect_are_those_of_every_version(name: str, values: dict[str, Any]) -> None:
    if NO_CONNECT_SQL in LACKS and name == "runs_a_query":
        assert NO_CONNECT_SQL in values[name]
    else:
        assert values[name] == recorded()[name]


@needs_namespaces
def test_programs_of_a_cluster(shared: Path, tmp_path: Path) -> None:
    """Tasks exchange rows in files of a directory, and by messages where an object store is all that the machines share."""
    with object_store() as store, standalone_cluster(tmp_path, shared, [True, True]) as cluster, driver(cluster.url, shared) as one:
        require_right(one.endings(ALL, {**DRIVER, **MANY_BYTES}))
        for _ in range(2):
            cluster.end_first_worker()
        cluster.start_workers([False, False])
        require_right(one.endings(OF_EXCHANGES, {**DRIVER, **MANY_BYTES}, f"{store.uri}/place", store.options))
