"""All rows go into a table or none, however a connection commits; what the program has begun before stays; the database's own error is raised."""

from __future__ import annotations

import sqlite3
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import SFrameError

GOOD = {"a": range(3000)}
BAD = {"a": [*range(3000), 5]}


class Library:
    """A connection of another library to the same database: it commits each statement while it is switched so, as many do."""

    def __init__(self, path: str) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self._commits = True

    def cursor(self) -> Any:
        return self.database.cursor()

    @property
    def commits(self) -> bool:
        return self._commits

    @commits.setter
    def commits(self, value: bool) -> None:
        self._commits = value
        if self.database.in_transaction:
            self.database.execute("COMMIT")
        if not value:
            self.database.execute("BEGIN")

    def commit(self) -> None:
        # As several do: nothing happens where each statement is committed.
        if not self._commits:
            self.database.execute("COMMIT")
            self.database.execute("BEGIN")

    def rollback(self) -> None:
        if not self._commits:
            self.database.execute("ROLLBACK")
            self.database.execute("BEGIN")
        else:
            raise sqlite3.OperationalError("cannot roll back: no transaction is active")

    def close(self) -> None:
        self.database.close()


class Switch(Library):
    """As psycopg, pyodbc and oracledb: an attribute."""

    autocommit = Library.commits


class Begin(Library):
    """As PyMySQL: members."""

    def get_autocommit(self) -> bool:
        return self._commits

    def begin(self) -> None:
        self.database.execute("BEGIN")

    def commit(self) -> None:
        if self.database.in_transaction:
            self.database.execute("COMMIT")

    def rollback(self) -> None:
        self.database.execute("ROLLBACK")


class NoWay(Library):
    """Says that it commits each statement, and has nothing to change that."""

    def get_autocommit(self) -> bool:
        return True


for _kind in (Library, Switch, Begin, NoWay):
    _kind.__module__ = "library.connections"


def _sqlite(isolation: Any) -> Callable[[str], Any]:
    return lambda path: sqlite3.connect(path, isolation_level=isolation)


CONNECTIONS: dict[str, Callable[[str], Any]] = {
    "waits": _sqlite(""),
    "immediate": _sqlite("IMMEDIATE"),
    "commits each": _sqlite(None),
    "switch": Switch,
    "begin": Begin,
    "duckdb": duckdb.connect,
}


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("library")
    module.paramstyle = "qmark"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "library", module)


@pytest.fixture(params=CONNECTIONS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Callable[[str], Any]]]:
    """A connection, and what another one finds in a table."""
    path = str(tmp_path / "x.db")
    with closing(CONNECTIONS[request.param](path)) as conn:
        cursor = conn if request.param == "duckdb" else conn.cursor()
        for statement in ("create table t(a integer unique)", "create table w(x integer)"):
            cursor.execute(statement)

        def numbers(table: str) -> Any:
            if request.param == "duckdb":
                return conn.cursor().execute(f"select count(*) from {table}").fetchone()[0]
            with closing(sqlite3.connect(path)) as other:
                return other.execute(f"select count(*) from {table}").fetchone()[0]

        yield conn, numbers


def test_all_rows_or_none(opened: tuple[Any, Callable[[str], Any]]) -> None:
    conn, count = opened
    for _ in range(2):
        with pytest.raises(Exception, match=r"(?i)unique") as told:
            SFrame(BAD).to_sql(conn, "t")
        assert not isinstance(told.value, SFrameError) and not getattr(told.value, "__notes__", [])
        assert count("t") == 0
    SFrame(GOOD).to_sql(conn, "t")
    assert count("t") == 3000
    # The connection commits as before.
    cursor = conn.cursor()
    cursor.execute("insert into w values (1)")
    conn.commit()
    assert count("w") == 1


def test_an_error_amid_the_rows_leaves_none(opened: tuple[Any, Callable[[str], Any]]) -> None:
    conn, count = opened
    frame = SFrame(GOOD)
    frame["a"] = frame["a"].apply(lambda number: number // (number - 2500), dtype=int)
    with pytest.raises(ZeroDivisionError):
        frame.to_sql(conn, "t")
    assert count("t") == 0


@pytest.mark.parametrize("name", ["commits each", "waits"])
def test_earlier_statements_that_wait_stay(name: str, tmp_path: Path) -> None:
    with closing(CONNECTIONS[name](str(tmp_path / "x.db"))) as conn:
        conn.executescript("create table t(a integer unique); create table w(x integer)")
        conn.execute("begin")
        conn.execute("insert into w values (1)")
        with pytest.raises(sqlite3.IntegrityError):
            SFrame(BAD).to_sql(conn, "t")
        assert conn.in_transaction
        assert [conn.execute(f"select count(*) from {table}").fetchone()[0] for table in "tw"] == [0, 1]
        SFrame(GOOD).to_sql(conn, "t")
        # Who began a transaction on a connection that commits each statement ends it.
        assert conn.in_transaction is (name == "commits each")
        conn.rollback()
        assert [conn.execute(f"select count(*) from {table}").fetchone()[0] for table in "tw"] == ([0, 0] if name == "commits each" else [3000, 1])


def test_a_transaction_of_duckdb_stays_with_whoever_began_it() -> None:
    with closing(duckdb.connect()) as conn:
        conn.execute("create table t(a integer unique)")
        conn.begin()
        conn.execute("create temp table own(a integer)")
        SFrame({"a": [1, 2]}).to_sql(conn, "t")
        SFrame({"a": [1, 2]}).to_sql(conn, "own")
        assert list(SFrame.from_sql(conn, "select a from own order by a desc")["a"]) == [2, 1]
        assert conn.cursor().execute("select count(*) from t").fetchone() == (0,)
        conn.commit()
        assert conn.cursor().execute("select count(*) from t").fetchone() == (2,)
        conn.begin()
        with pytest.raises(duckdb.ConstraintException) as told:
            SFrame({"a": [3, 1]}).to_sql(conn, "t")
        assert "has no savepoints" in told.value.__notes__[0]
        assert conn.execute("select count(*) from t").fetchone() == (2,)


def test_a_commit_that_fails_leaves_none(tmp_path: Path) -> None:
    for isolation in ("", None):
        with closing(sqlite3.connect(":memory:", isolation_level=isolation)) as conn:
            conn.executescript("pragma foreign_keys = on; create table p(a integer primary key)")
            conn.execute("create table t(a integer references p(a) deferrable initially deferred)")
            with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
                SFrame({"a": [1]}).to_sql(conn, "t")
            assert not conn.in_transaction and conn.execute("select count(*) from t").fetchone() == (0,)


class Broken(Switch):
    """A connection that is lost amid the rows: nothing can be taken back."""

    def rollback(self) -> None:
        raise sqlite3.OperationalError("connection lost")


Broken.__module__ = "library.connections"


def test_the_error_of_the_database_is_raised_and_not_that_of_taking_back(tmp_path: Path) -> None:
    with closing(Broken(str(tmp_path / "x.db"))) as conn:
        conn.cursor().execute("create table t(a integer unique)")
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE") as told:
            SFrame(BAD).to_sql(conn, "t")
        assert "connection lost" in told.value.__notes__[0] and "check whether" in told.value.__notes__[0]
        # To switch it back would commit what waits.
        assert conn.autocommit is False


def test_a_connection_that_cannot_begin_is_refused_before_any_row(tmp_path: Path) -> None:
    with closing(NoWay(str(tmp_path / "x.db"))) as conn:
        conn.cursor().execute("create table t(a integer)")
        with pytest.raises(RuntimeError, match=r"commits each statement, and has no begin\(\).*turn autocommit off"):
            SFrame(GOOD).to_sql(conn, "t")
        assert conn.cursor().execute("select count(*) from t").fetchone() == (0,)


def test_an_interrupt_leaves_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.api.io import databases

    def interrupted(node: Any, names: Any) -> Iterator[tuple[Any, ...]]:
        yield from ((number,) for number in range(1500))
        raise KeyboardInterrupt

    monkeypatch.setattr(databases, "iterate_tuples", interrupted)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute("create table t(a integer)")
        with pytest.raises(KeyboardInterrupt):
            SFrame(GOOD).to_sql(conn, "t")
        assert conn.execute("select count(*) from t").fetchone() == (0,) and not conn.in_transaction
