"""Engines, connections, sessions and addresses of SQLAlchemy: rows both ways, transactions as SQLAlchemy has them, and what is refused."""

from __future__ import annotations

import datetime
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InvalidArgumentError, MissingLibraryError, UnsupportedOperationError

sqlalchemy = pytest.importorskip("sqlalchemy")
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
FRAME = {"n": [1, None, 3], "s": ["x", None, "%s :p"], "x": [0.5, None, 2.0], "t": [NOON, None, NOON]}


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/shop.db"


@pytest.fixture
def engine(address: str) -> Iterator[Any]:
    made = sqlalchemy.create_engine(address)
    yield made
    made.dispose()


def count(address: str, table: str = "t") -> int | None:
    conn = sqlite3.connect(address.removeprefix("sqlite:///"))
    try:
        return int(conn.execute(f"select count(*) from {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return None
    finally:
        conn.close()


KINDS: dict[str, Callable[[str, Any], Any]] = {
    "address": lambda address, engine: address,
    "URL": lambda address, engine: sqlalchemy.make_url(address),
    "engine": lambda address, engine: engine,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_both_ways(kind: str, address: str, engine: Any) -> None:
    conn, frame = KINDS[kind](address, engine), SFrame(FRAME)
    frame.to_sql(conn, "t")
    assert count(address) == 3
    found = SFrame.from_sql(conn, "select * from t", cursor_arraysize=2)
    assert list(found["n"]) == FRAME["n"] and list(found["s"]) == FRAME["s"] and list(found["x"]) == FRAME["x"]
    assert list(SFrame.from_sql(conn, "select s from t where n > ?", params=(1,))["s"]) == ["%s :p"]
    with pytest.raises(InvalidArgumentError, match="there is a table t already"):
        frame.to_sql(conn, "t", if_exists="fail")
    frame[:2].to_sql(conn, "t", if_exists="delete_rows")
    assert count(address) == 2
    SFrame({"other": [1]}).to_sql(conn, "t", if_exists="replace")
    SFrame({"any": [2]}).to_sql(conn, "t", use_exact_column_names=False)
    assert list(SFrame.from_sql(conn, "select other from t")["other"]) == [1, 2]
    with pytest.raises(InvalidArgumentError, match="has 1 columns, but the frame has 4"):
        frame.to_sql(conn, "t", use_exact_column_names=False)
    with pytest.raises(InvalidArgumentError, match="returns no rows"):
        SFrame.from_sql(conn, "delete from t")
    assert count(address) == 2


def test_statements_of_sqlalchemy(engine: Any) -> None:
    SFrame(FRAME).to_sql(engine, "t")
    table = sqlalchemy.table("t", sqlalchemy.column("n", sqlalchemy.Integer), sqlalchemy.column("t", sqlalchemy.DateTime))
    asked = sqlalchemy.select(table).where(table.c.n > sqlalchemy.bindparam("least"))
    # The type of the column is SQLAlchemy's: a text of SQLite's is a date-time.
    assert list(SFrame.from_sql(engine, asked, params={"least": 1})) == [{"n": 3, "t": NOON}]
    assert list(SFrame.from_sql(engine, sqlalchemy.text("select s from t where n = :n"), params={"n": 3})["s"]) == ["%s :p"]
    assert SFrame.from_sql(engine, "select null as a, 1 as b", column_type_hints={"b": float}).column_types() == [str, float]


def test_a_transaction_that_is_open_stays_open(address: str, engine: Any) -> None:
    with engine.connect() as connection:
        SFrame({"n": [1]}).to_sql(connection, "t")
        assert not connection.in_transaction() and count(address) == 1
        connection.execute(sqlalchemy.text("insert into t values (2)"))
        SFrame({"n": [3]}).to_sql(connection, "t")
        SFrame({"n": [3]}).to_sql(connection, "u")
        assert connection.in_transaction() and count(address) == 1 and count(address, "u") is None
        assert list(SFrame.from_sql(connection, "select n from t")["n"]) == [1, 2, 3]
        connection.rollback()
        assert count(address) == 1 and count(address, "u") is None


def test_sessions(address: str, engine: Any) -> None:
    from sqlalchemy.orm import Session, scoped_session, sessionmaker

    with Session(engine) as session:
        SFrame({"n": [1, 2]}).to_sql(session, "t")
        assert count(address) is None
        session.commit()
        assert count(address) == 2 and list(SFrame.from_sql(session, "select n from t")["n"]) == [1, 2]
    scoped = scoped_session(sessionmaker(engine))
    assert list(SFrame.from_sql(scoped, "select n from t")["n"]) == [1, 2]
    scoped.remove()


@pytest.mark.parametrize("commits_each", [False, True])
@pytest.mark.parametrize("open_already", [False, True])
def test_all_rows_or_none(commits_each: bool, open_already: bool, address: str) -> None:
    options = {"isolation_level": "AUTOCOMMIT"} if commits_each else {}
    engine = sqlalchemy.create_engine(address, **options)
    frame = SFrame({"n": range(3000)})
    frame["n"] = frame["n"].apply(lambda number: number // (number - 2500), dtype=int)
    with engine.connect() as connection:
        if open_already:
            connection.execute(sqlalchemy.text("create table before(n integer)"))
        error = UnsupportedOperationError if commits_each and open_already else ZeroDivisionError
        with pytest.raises(error):
            frame.to_sql(connection, "t")
        if error is ZeroDivisionError:
            assert connection.in_transaction() is open_already
            connection.commit()
        assert count(address) is None and count(address, "before") == (0 if open_already else None)
        connection.rollback()
        if not (open_already and commits_each):
            SFrame({"n": [1]}).to_sql(connection, "t")
            assert count(address) == 1
        # It commits as before.
        assert (connection.connection.driver_connection.isolation_level is None) is commits_each
    engine.dispose()


def test_addresses_that_cannot_be_used_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = SFrame({"n": [1]})
    for call in (lambda conn: SFrame.from_sql(conn, "select 1"), lambda conn: frame.to_sql(conn, "t")):
        with pytest.raises(MissingLibraryError, match="pip install nothere") as told:
            monkeypatch.setitem(sys.modules, "nothere", None)
            sqlalchemy.dialects.registry.register("odd.nothere", "nothere", "Dialect")
            call("odd+nothere://ann:secret@host/shop")
        assert "secret" not in str(told.value)
    with pytest.raises(Exception, match="nosuch") as told_by_sqlalchemy:
        SFrame.from_sql("nosuch://ann:secret@host/shop", "select 1")
    assert "secret" not in str(told_by_sqlalchemy.value)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingLibraryError, match="addresses of databases need SQLAlchemy: pip install"):
        SFrame.from_sql("sqlite:///x", "select 1")


def test_asynchronous_ones_are_refused() -> None:
    class AsyncEngine:
        pass

    AsyncEngine.__module__ = "sqlalchemy.ext.asyncio.engine"
    for call in (lambda: SFrame.from_sql(AsyncEngine(), "select 1"), lambda: SFrame({"n": [1]}).to_sql(AsyncEngine(), "t")):
        with pytest.raises(AttributeError, match="AsyncEngine"):
            call()
