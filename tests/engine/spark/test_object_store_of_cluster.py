"""Which settings of Spark name a place for temporary data, and when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from sframe_spark import config
from sframe_spark.engine.spark import object_store_of_cluster
from sframe_spark.engine.spark.object_store_of_cluster import (
    is_object_store_of_cluster_used,
    places_in_settings,
    use_object_store_of_cluster,
    writing,
)
from sframe_spark.errors import StorageError
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.storage.filesystem.temporary_datasets import temporary_root

WAREHOUSE, FILE_SYSTEM = "spark.sql.warehouse.dir", "spark.hadoop.fs.defaultFS"


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Sets what Spark's settings name."""

    def name(**settings: str) -> None:
        conf = {WAREHOUSE: settings.get("warehouse", ""), FILE_SYSTEM: settings.get("files", "")}
        monkeypatch.setattr(object_store_of_cluster, "get_session", lambda: SimpleNamespace(conf=conf))

    with config.using(temporary_directory=None):
        yield name
    PLACE_OF_CLUSTER.uri = None


@pytest.mark.parametrize(
    ("warehouse", "files", "expected"),
    [
        ("file:/work/spark-warehouse", "file:///", []),
        ("/user/hive/warehouse", "hdfs://name:8020", []),
        ("s3a://bucket/warehouse/", "", [(WAREHOUSE, "s3://bucket/warehouse/_sframe_spark_temporary")]),
        (
            "gs://bucket/w",
            "abfss://box@account.dfs.core.windows.net/",
            [
                (WAREHOUSE, "gs://bucket/w/_sframe_spark_temporary"),
                (FILE_SYSTEM, "abfss://box@account.dfs.core.windows.net/_sframe_spark_temporary"),
            ],
        ),
    ],
)
def test_object_stores_are_found_in_settings(named: Callable[..., None], warehouse: str, files: str, expected: list[Any]) -> None:
    named(warehouse=warehouse, files=files)
    assert list(places_in_settings()) == expected


def test_a_place_that_all_can_write_is_used(named: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    named(warehouse="s3://bucket/w")
    monkeypatch.setattr(object_store_of_cluster, "temporary_store", lambda: SimpleNamespace(directory=temporary_root()))
    asked: list[str] = []
    monkeypatch.setattr(object_store_of_cluster, "require_written_by_all", asked.append)
    assert use_object_store_of_cluster() == ""
    assert is_object_store_of_cluster_used() and asked == [temporary_root()] == ["s3://bucket/w/_sframe_spark_temporary"]
    with config.using(temporary_directory="/elsewhere"):
        assert not is_object_store_of_cluster_used() and temporary_root() == "/elsewhere"


@pytest.mark.parametrize("refused_by", ["temporary_store", "require_written_by_all"])
def test_a_place_that_cannot_be_written_is_not_used(named: Callable[..., None], monkeypatch: pytest.MonkeyPatch, refused_by: str) -> None:
    def refuse(*arguments: object) -> None:
        raise StorageError("access denied")

    named(warehouse="s3://bucket/w")
    monkeypatch.setattr(object_store_of_cluster, "temporary_store", lambda: SimpleNamespace(directory=temporary_root()))
    monkeypatch.setattr(object_store_of_cluster, refused_by, refuse)
    assert use_object_store_of_cluster() == f"{WAREHOUSE}: access denied"
    assert not is_object_store_of_cluster_used() and not temporary_root().startswith("s3:")


def test_nothing_is_looked_for_where_the_user_has_named_a_place(named: Callable[..., None]) -> None:
    named(warehouse="s3://bucket/w")
    with config.using(temporary_directory="/elsewhere"):
        assert use_object_store_of_cluster() == ""
    assert PLACE_OF_CLUSTER.uri is None


def test_a_task_writes_a_file_and_removes_it() -> None:
    assert writing("memory://place-of-cluster", {})() == "written"
    with pytest.raises(OSError, match="nowhere"):
        writing("unknown-scheme-nowhere://place", {})()
