"""All programs are right, and none is refused, wherever files can be shared: as on this machine alone, row for row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.machine import connect_server, standalone_cluster
from tests.cluster.object_store import object_store
from tests.cluster.programs import PROGRAMS
from tests.cluster.test_cluster import DRIVER, Endings, driver, needs_namespaces, require_right

ALL = tuple(PROGRAMS)
PLACES = (
    "standalone, shared directory",
    "standalone, shared directory, few bytes",
    "standalone, shared directory, many bytes",
    "standalone, object store",
    "Connect, object store",
    "standalone, object store, many bytes",
    "Connect, object store, many bytes",
    "standalone, nothing shared, many bytes",
    "Connect, nothing shared, many bytes",
    "standalone, file system of Hadoop, many bytes",
)
# Rows are too many for one thread, and so few bytes that those of the driver are through with them sooner.
FEW_BYTES = {"spark.test.small_rows": "40"}
# Of many bytes, tasks exchange rows: in files of the shared directory, or by messages.
SET = {"few bytes": FEW_BYTES, "many bytes": {**FEW_BYTES, "spark.test.memory_budget": "20000"}}


def endings_at(place: str, names: Sequence[str], directory: Path) -> Endings:
    """How programs end at one of the places; what is not shared is hidden from executors and server."""
    shared = directory / "shared"
    shared.mkdir(parents=True)
    with ExitStack() as stack:
        enter = stack.enter_context
        elsewhere = enter(object_store()) if "object store" in place else None
        settings = ({} if place.startswith("Connect") else DRIVER) | SET.get(place.rpartition(", ")[2], {})
        (homes := directory / "homes").mkdir()
        if "Hadoop" in place:
            # Spark reaches it on all machines, and Python does not know it.
            settings |= {"spark.hadoop.fs.defaultFS": "viewfs:///", "spark.hadoop.fs.viewfs.mounttable.default.link./user": homes.as_uri()}
        if place.startswith("Connect"):
            url = enter(connect_server(directory, shared, False))
        elif place.startswith("standalone"):
            url = enter(standalone_cluster(directory, shared, ["shared directory" in place] * 2)).url
        else:
            # As often as a cluster's tasks are tried again.
            url = "local[2, 4]"
        with driver(url, shared) as one:
            found = one.endings(names, settings, f"{elsewhere.uri}/place", elsewhere.options) if elsewhere else one.endings(names, settings)
        # One directory, which has what other processes may have left.
        assert [path.name for path in homes.rglob("*") if "sframe_spark-" in path.name] == []
        assert any(homes.iterdir()) == ("Hadoop" in place)
        assert elsewhere is None or [name for name in elsewhere.names() if name.startswith("place/tmp/")] == []
        return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endings]:
    """What the programs give on this machine."""
    found = endings_at("this machine", ALL, tmp_path_factory.mktemp("alone"))
    require_right(found)
    yield found


@needs_namespaces
@pytest.mark.cluster
@pytest.mark.parametrize("place", PLACES)
def test_all_programs(place: str, alone: Endings, tmp_path: Path) -> None:
    found = endings_at(place, ALL, tmp_path / "there")
    require_right(found)
    assert found == alone
