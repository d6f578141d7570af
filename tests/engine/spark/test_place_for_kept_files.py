"""Spark is asked once in a session where it keeps rows, and the first place that works is used; no Spark runs here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sframe_spark import config
from sframe_spark.engine.spark import place_for_kept_files
from sframe_spark.engine.spark.place_for_kept_files import places, require_keeping
from sframe_spark.errors import ExecutionError, NotSharedError
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.session import get_reached
from sframe_spark.storage.filesystem import temporary_datasets
from sframe_spark.storage.filesystem.temporary_datasets import is_for_spark_alone, temporary_root

WHY = "/tmp/x is not shared; set config.temporary_directory"
HOME, WAREHOUSE = "hdfs://name/user/me", "s3a://bucket/warehouse"


class FakeSession:
    """Settings of a session."""

    def __init__(self, **settings: str) -> None:
        self.conf = {name.replace("__", "."): value for name, value in settings.items()}


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """A cluster with a default file system and a warehouse; the list has what was tried."""
    tried = list[str | None]()
    fake = FakeSession(spark__sql__warehouse__dir=WAREHOUSE, spark__hadoop__fs__defaultFS="hdfs://name")
    monkeypatch.setattr(place_for_kept_files, "get_session", lambda: fake)
    monkeypatch.setattr(place_for_kept_files, "home_directory", lambda session: HOME)
    monkeypatch.setattr(place_for_kept_files, "clean", lambda place: None)
    yield tried
    get_reached().clear()
    PLACE_OF_CLUSTER.blocks = None


def refusing(monkeypatch: pytest.MonkeyPatch, tried: list[str | None], *refused: str | None) -> None:
    """Some places cannot be written."""

    def keep() -> None:
        tried.append(PLACE_OF_CLUSTER.blocks)
        if any(PLACE_OF_CLUSTER.blocks == place or (place and str(PLACE_OF_CLUSTER.blocks).startswith(place)) for place in refused):
            raise ExecutionError("Permission denied: user=me, access=WRITE")

    monkeypatch.setattr(place_for_kept_files, "keep_one_row", keep)


def test_the_users_directory_on_the_default_file_system_is_first(session: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, session)
    require_keeping(WHY)
    require_keeping(WHY)
    assert session == [f"{HOME}/_sframe_spark_temporary"] and session[0] == PLACE_OF_CLUSTER.blocks


def test_where_nothing_may_be_written_disks_of_executors_are_used(session: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, session, "hdfs:", "s3a:")
    require_keeping(WHY)
    assert session[-1] is None and len(session) == 4 and PLACE_OF_CLUSTER.blocks is None


def test_a_server_that_keeps_nothing_is_told(session: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As Databricks serverless: PERSIST TABLE is not supported on serverless compute."""
    refusing(monkeypatch, session, "hdfs:", "s3a:", None)
    for _ in range(2):
        with pytest.raises(
            NotSharedError, match=r"does not keep rows \(hdfs://.*Permission denied.*disks of executors.*\), and /tmp/x is not shared"
        ):
            require_keeping(WHY)
    assert len(session) == 8 and PLACE_OF_CLUSTER.blocks is None


def test_a_place_that_the_user_names_is_the_only_one(session: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, session, "hdfs:")
    monkeypatch.setattr(place_for_kept_files, "is_for_spark_alone", lambda location: True)
    with config.using(temporary_directory="hdfs://name/mine"), pytest.raises(NotSharedError, match=r"hdfs://name/mine: Permission denied"):
        require_keeping(WHY)
    assert session == ["hdfs://name/mine"]


def test_a_file_system_without_a_library_is_for_spark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    is_for_spark_alone.cache_clear()
    with config.using(temporary_directory="hdfs:///tmp/mine"):
        assert temporary_root() == temporary_datasets.directory_of_system()
        assert is_for_spark_alone("hdfs:///tmp/mine") and not is_for_spark_alone("s3://bucket/tmp")
        monkeypatch.setattr(place_for_kept_files, "get_session", pytest.fail)
        assert list(places()) == ["hdfs:///tmp/mine"]
    is_for_spark_alone.cache_clear()
