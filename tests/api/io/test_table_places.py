"""The directory that is asked about before a table is written is the one that Spark writes to, whatever its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.api.io import catalog_tables
from sframe_spark.api.io.catalog_tables import require_shared_place
from sframe_spark.session.users_own_spark_session import user_session

DATABASE = "sframe_places"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Directories that were asked about, as on a cluster."""
    found: list[str] = []
    monkeypatch.setattr(catalog_tables, "is_one_process", lambda _: False)
    monkeypatch.setattr(catalog_tables, "require_writable", lambda directory, _: found.append(str(Path(directory).parent)))
    return found


@pytest.fixture
def odd(spark: Any, tmp_path: Path) -> Iterator[Path]:
    """The directory of a database, whose name an URI writes otherwise, beside one that it does not have."""
    place = tmp_path / "a b%41é"
    user = user_session()
    user.sql(f"CREATE DATABASE {DATABASE} LOCATION '{place}/in'")
    user.sql(f"CREATE TABLE {DATABASE}.own (n BIGINT) USING parquet")
    user.sql(f"CREATE TABLE {DATABASE}.others (Location BIGINT, Type STRING) USING parquet LOCATION '{place}/out/others'")
    yield place
    user.sql(f"DROP DATABASE {DATABASE} CASCADE")


@pytest.mark.spark
@pytest.mark.parametrize(("table", "is_there", "where"), [("new", False, "in"), ("own", True, "in"), ("others", True, "out/others")])
def test_it_is_where_spark_writes(odd: Path, table: str, is_there: bool, where: str, asked: list[str]) -> None:
    require_shared_place(user_session(), f"`{DATABASE}`.`{table}`", f"`{DATABASE}`", is_there)
    assert asked == [str(odd / where)] and (odd / where).is_dir()
    # Nothing is made by another reading of the name.
    assert [path.name for path in odd.parent.iterdir()] == [odd.name]


@pytest.mark.spark
def test_without_a_database_it_is_the_current_one(odd: Path, asked: list[str]) -> None:
    user = user_session()
    before = user.catalog.currentDatabase()
    user.catalog.setCurrentDatabase(DATABASE)
    try:
        require_shared_place(user, "`new`", "", False)
    finally:
        user.catalog.setCurrentDatabase(before)
    assert asked == [str(odd / "in")]
