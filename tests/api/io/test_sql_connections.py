"""Connections of any library of the DB-API are read from, or refused by name with what to give instead."""

from __future__ import annotations

import sqlite3
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import duckdb
import pytest

from sframe_spark import SFrame


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("create table t(a integer, b text)")
        conn.executemany("insert into t values (?, ?)", [(number, f"x{number}") for number in range(300)])
        yield conn


def made(name: str, **members: Any) -> Any:
    """A connection of a library of that name."""
    members.setdefault("commit", lambda self: None)
    members.setdefault("rollback", lambda self: None)
    return type("Connection", (), {"__module__": name, **members})()


def test_connections_of_duckdb() -> None:
    with closing(duckdb.connect()) as conn:
        conn.execute("create table t(a integer, b text)")
        SFrame({"a": range(1000), "b": ["x"] * 1000}).to_sql(conn, "t")
        frame = SFrame.from_sql(conn, "select * from t where a > ? order by a desc", params=[10], cursor_arraysize=7)
        assert list(frame["a"]) == list(range(999, 10, -1)) and frame.column_types() == [int, str]
        assert list(SFrame.from_sql(conn, "select 1 as one, null as none")) == [{"one": 1, "none": None}]
        # It is as open as before.
        assert conn.execute("select count(*) from t").fetchone() == (1000,)
        with pytest.raises(duckdb.CatalogException):
            SFrame.from_sql(conn, "select * from nothing")


class Fixed:
    """A cursor whose size cannot be set."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    @property
    def description(self) -> Any:
        return self._cursor.description

    @property
    def arraysize(self) -> int:
        return 1

    def execute(self, *given: Any) -> None:
        self._cursor.execute(*given)

    def fetchmany(self, size: int = 1) -> list[Any]:
        return self._cursor.fetchmany(size)

    def close(self) -> None:
        self._cursor.close()


class AsDicts(Fixed):
    """A cursor that gives rows as dicts, as several libraries do where they are told so."""

    __slots__ = ()

    def fetchmany(self, size: int = 1) -> list[Any]:
        names = [column[0] for column in self.description]
        return [dict(zip(names, row, strict=True)) for row in super().fetchmany(size)]


@pytest.mark.parametrize("kind", [Fixed, AsDicts])
def test_cursors_of_other_forms(kind: type[Fixed], database: sqlite3.Connection) -> None:
    # A library without a style of marks is enough to read.
    conn = made("some_library", cursor=lambda self: kind(database.cursor()))
    frame = SFrame.from_sql(conn, "select b, a from t order by a")
    assert frame.column_names() == ["b", "a"] and frame[299] == {"b": "x299", "a": 299} and frame.num_rows() == 300


def test_rows_that_are_named(database: sqlite3.Connection) -> None:
    database.row_factory = sqlite3.Row
    assert SFrame.from_sql(database, "select b, a from t order by a")[1] == {"b": "x1", "a": 1}


def test_wrapped_connections(database: sqlite3.Connection) -> None:
    """As SQLAlchemy's pools wrap them: members are those of the library's, but what is set is set on the wrapper."""
    wrapped = made("pool", cursor=lambda self: database.cursor(), dbapi_connection=database)
    SFrame({"a": [-1], "b": ["new"]}).to_sql(wrapped, "t")
    assert SFrame.from_sql(wrapped, "select * from t where a < 0")[0] == {"a": -1, "b": "new"}


def test_classes_of_users(database: sqlite3.Connection) -> None:
    class Own(sqlite3.Connection):
        pass

    with closing(sqlite3.connect(":memory:", factory=Own)) as conn:
        conn.execute("create table t(a integer)")
        SFrame({"a": [1]}).to_sql(conn, "t")
        assert list(SFrame.from_sql(conn, "select a from t")["a"]) == [1]


async def _later(self: Any, *given: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("conn", "told"),
    [
        ("ann:secret@host/shop", "not str: connect with the library"),
        ("jdbc:postgresql://host/shop", r"read_jdbc\(\)"),
        (made("sqlalchemy.ext.asyncio", connect=_later), "is not a synchronous engine"),
        (made("asyncpg", cursor=lambda self: None, commit=_later), "is asynchronous"),
        (made("other", cursor=_later), "is asynchronous"),
        (None, "DB-API"),
    ],
)
def test_what_is_no_connection_is_refused_with_what_to_give(conn: Any, told: str) -> None:
    for call in (lambda: SFrame.from_sql(conn, "select 1"), lambda: SFrame({"a": [1]}).to_sql(conn, "t")):
        with warnings.catch_warnings(), pytest.raises(AttributeError, match=told) as error:
            warnings.simplefilter("error")
            call()
        assert "secret" not in str(error.value)


def test_a_cursor_that_answers_later_is_refused() -> None:
    cursor = types.SimpleNamespace(execute=lambda *given: _later(None), executemany=lambda *given: _later(None), close=lambda: None, description=None)
    module = types.ModuleType("later")
    module.paramstyle = "qmark"  # type: ignore[attr-defined]
    sys.modules["later"] = module
    try:
        conn = made("later", cursor=lambda self: cursor)
        for call in (lambda: SFrame.from_sql(conn, "select 1"), lambda: SFrame({"a": [1]}).to_sql(conn, "t")):
            with pytest.raises(AttributeError, match="is asynchronous"):
                call()
    finally:
        del sys.modules["later"]


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("has_cursors", [False, True])
def test_a_database_without_cursors_at_the_server(has_cursors: bool, is_open: bool, database: sqlite3.Connection) -> None:
    """As those that only speak PostgreSQL's protocol; what a program has begun is not rolled back for it."""
    log: list[Any] = []

    def cursor(self: Any, name: str | None = None) -> Any:
        log.append(name)
        if name is not None and not has_cursors:
            failing = types.SimpleNamespace(close=lambda: None, arraysize=1)
            failing.execute = lambda *given: database.execute("no such statement")
            return failing
        return Fixed(database.cursor())

    members = {
        "autocommit": False,
        "info": types.SimpleNamespace(transaction_status=2 if is_open else 0),
        "rollback": lambda self: log.append("rolled back"),
    }
    conn = made("psycopg.connection", cursor=cursor, **members)
    if is_open and not has_cursors:
        with pytest.raises(sqlite3.OperationalError):
            SFrame.from_sql(conn, "select a from t")
        assert log == ["sframe_rows"]
    else:
        assert len(SFrame.from_sql(conn, "select a from t")) == 300
        assert log == (["sframe_rows"] if has_cursors else ["sframe_rows", "rolled back", None])
    log.clear()
    with pytest.raises(ValueError, match="returns no rows"):
        SFrame.from_sql(conn, "insert into t values (1, 'x')")
    assert log == [None]
