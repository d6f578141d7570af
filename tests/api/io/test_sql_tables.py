"""`to_sql` makes the table that is absent, with columns that hold the values, and does as it is asked with one that exists; all or nothing."""

from __future__ import annotations

import datetime
import sqlite3
import types
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any

import duckdb
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.api.io.database_tables import MYSQL, TableRequest, prepared_table
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError

EAST = datetime.timezone(datetime.timedelta(hours=2))
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
FRAME = {"n": [1, None, -(2**63) + 1], "s": ["x", None, '%s"`'], "x": [0.5, None, -1e300], "t": [NOON, None, datetime.datetime(1960, 1, 1)]}


@pytest.fixture(params=["sqlite3", "sqlite3 that commits each", "duckdb"])
def conn(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = {
        "sqlite3": lambda: sqlite3.connect(":memory:"),
        "sqlite3 that commits each": lambda: sqlite3.connect(":memory:", isolation_level=None),
        "duckdb": duckdb.connect,
    }
    with closing(made[request.param]()) as connection:
        yield connection


def rows(conn: Any, table: str = "t") -> list[Any]:
    return list(conn.execute(f"select * from {table}").fetchall())


def tables(conn: Any) -> set[str]:
    found = "select name from sqlite_master" if isinstance(conn, sqlite3.Connection) else "select table_name from information_schema.tables"
    return {name for (name,) in conn.execute(found).fetchall()}


def test_a_table_is_made_with_types_that_hold_the_values(conn: Any) -> None:
    frame = SFrame(FRAME)
    frame.to_sql(conn, "t")
    found = SFrame.from_sql(conn, "select * from t", column_type_hints=None)
    assert [row["n"] for row in found] == FRAME["n"] and list(found["s"]) == FRAME["s"] and list(found["x"]) == FRAME["x"]
    texts = [None if moment is None else moment.isoformat(" ") for moment in FRAME["t"]]  # type: ignore[attr-defined]
    assert list(found["t"]) == (texts if isinstance(conn, sqlite3.Connection) else FRAME["t"])
    if isinstance(conn, sqlite3.Connection):
        declared = {row[1]: row[2] for row in conn.execute("pragma table_info(t)").fetchall()}
        assert declared == {"n": "INTEGER", "s": "TEXT", "x": "REAL", "t": "TIMESTAMP"}
    else:
        declared = {row[0]: row[1] for row in conn.execute("describe t").fetchall()}
        assert declared == {"n": "BIGINT", "s": "VARCHAR", "x": "DOUBLE", "t": "TIMESTAMP"}


def test_frames_without_rows_make_a_table(conn: Any) -> None:
    SFrame({"a": SArray([], dtype=int), "b": SArray([], dtype=str)}).to_sql(conn, "t")
    assert rows(conn) == [] and SFrame.from_sql(conn, "select * from t").column_names() == ["a", "b"]


def test_what_becomes_of_a_table_that_exists(conn: Any) -> None:
    frame = SFrame({"n": [1, 2]})
    frame.to_sql(conn, "t")
    frame.to_sql(conn, "t")
    assert rows(conn) == [(1,), (2,), (1,), (2,)]
    with pytest.raises(InvalidArgumentError, match="there is a table t already"):
        frame.to_sql(conn, "t", if_exists="fail")
    assert len(rows(conn)) == 4
    frame[:1].to_sql(conn, "t", if_exists="delete_rows")
    assert rows(conn) == [(1,)]
    with pytest.raises(Exception, match=r"(?i)column"):
        SFrame({"other": ["a"]}).to_sql(conn, "t")
    SFrame({"other": ["a"]}).to_sql(conn, "t", if_exists="replace")
    assert rows(conn) == [("a",)]
    SFrame({"new": [1]}).to_sql(conn, "u", if_exists="fail")
    SFrame({"z": [2]}).to_sql(conn, "u", use_exact_column_names=False)
    assert rows(conn, "u") == [(1,), (2,)]


@pytest.mark.parametrize("how", ["append", "replace", "delete_rows"])
def test_an_error_leaves_what_was_there(conn: Any, how: str) -> None:
    conn.execute("create table old(n integer)")
    conn.execute("insert into old values (7)")
    conn.commit() if isinstance(conn, sqlite3.Connection) else None
    frame = SFrame({"n": range(3000)})
    frame["n"] = frame["n"].apply(lambda number: number // (number - 2500), dtype=int)
    for table in ("t", "old"):
        with pytest.raises(ZeroDivisionError):
            frame.to_sql(conn, table, if_exists=how)
    assert "t" not in tables(conn) and rows(conn, "old") == [(7,)]
    SFrame({"n": [1]}).to_sql(conn, "t")
    assert rows(conn) == [(1,)]


def test_a_transaction_of_the_program_keeps_the_table_open() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute("begin")
        SFrame({"n": [1]}).to_sql(conn, "t")
        assert conn.in_transaction
        conn.rollback()
        assert tables(conn) == set()


def test_names_of_tables(conn: Any) -> None:
    for name in ('x"; drop table t', "order", "ä b", "100%"):
        SFrame({name: [1]}).to_sql(conn, name)
        SFrame({name: [2]}).to_sql(conn, name)
        quoted = name.replace('"', '""')
        assert rows(conn, f'"{quoted}"') == [(1,), (2,)]
    if not isinstance(conn, sqlite3.Connection):
        conn.execute("create schema shop")
        conn.execute("attach ':memory:' as other")
        for place in ("shop.t", "other.t", "other.main.u", "memory.shop.u"):
            SFrame({"n": [1]}).to_sql(conn, place)
            SFrame({"n": [2]}).to_sql(conn, place)
            assert rows(conn, place) == [(1,), (2,)]
        # A temporary table of the name comes first.
        conn.execute("create temp table hidden(n bigint)")
        SFrame({"n": [1]}).to_sql(conn, "HIDDEN")
        assert rows(conn, "temp.hidden") == [(1,)] and "HIDDEN" not in tables(conn)
    else:
        conn.execute("attach ':memory:' as other")
        SFrame({"n": [1]}).to_sql(conn, "other.t")
        assert rows(conn, "other.t") == [(1,)] and "t" not in tables(conn)


def test_date_times_with_an_offset_have_a_type_of_their_own() -> None:
    with closing(duckdb.connect()) as conn:
        conn.execute("set timezone = 'UTC'")
        SFrame({"t": [NOON.replace(tzinfo=EAST), None, NOON.replace(tzinfo=datetime.UTC)]}).to_sql(conn, "t")
        assert [row[1] for row in conn.execute("describe t").fetchall()] == ["TIMESTAMP WITH TIME ZONE"]
        assert list(SFrame.from_sql(conn, "select * from t")["t"]) == [
            NOON.replace(hour=10, tzinfo=datetime.UTC),
            None,
            NOON.replace(tzinfo=datetime.UTC),
        ]
        with pytest.raises(SchemaError, match="column 't' has date-times with and without an offset"):
            SFrame({"t": [NOON.replace(tzinfo=EAST), NOON]}).to_sql(conn, "u")
        assert "u" not in tables(conn)


def test_values_are_refused_before_a_table_is_made(conn: Any) -> None:
    for wrong in ({"n": [[1, "a"]]}, {"n": [{"a": 1}]}, {"n": [[1.5]]}):
        with pytest.raises(SchemaError, match="databases do not accept"):
            SFrame(wrong).to_sql(conn, "t")
    for request in ({"if_exists": "never"}, {"if_exists": None}):
        with pytest.raises(InvalidArgumentError, match="if_exists must be one of"):
            SFrame({"n": [1]}).to_sql(conn, "t", **request)
    with pytest.raises(SchemaError, match="table_name"):
        SFrame({"n": [1]}).to_sql(conn, "")
    assert tables(conn) == set()


def test_of_unknown_databases_nothing_but_rows_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("unknown")
    module.paramstyle = "qmark"  # type: ignore[attr-defined]
    with closing(sqlite3.connect(":memory:")) as conn:
        for how in ("fail", "replace", "delete_rows"):
            with pytest.raises(UnsupportedOperationError, match="Engine of SQLAlchemy"):
                SFrame({"n": [1]}).to_sql(conn, "t", module, if_exists=how)
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            SFrame({"n": [1]}).to_sql(conn, "t", module)
        conn.execute("create table t(n)")
        SFrame({"n": [1]}).to_sql(conn, "t", module)
        assert rows(conn) == [(1,)]


class _Mysql:
    """A cursor that notes statements; a table exists if it is named so, and statements with some text fail."""

    def __init__(self, exists: bool, fails: str = "never") -> None:
        self.statements: list[str] = []
        self._exists, self._fails = exists, fails

    def execute(self, statement: str) -> None:
        if statement.startswith("SELECT") and not self._exists:
            raise LookupError(1146, "Table 'a.t' doesn't exist")
        self.statements.append(statement)
        if self._fails in statement:
            raise RuntimeError("lost")

    def fetchall(self) -> list[Any]:
        return []


def test_where_making_a_table_commits_another_name_is_used_until_all_rows_are_there() -> None:
    def statements(exists: bool, how: str, rows_fail: bool) -> list[str]:
        cursor = _Mysql(exists)
        try:
            with prepared_table(cursor, MYSQL, TableRequest("a.t", if_exists=how), lambda: [("n`", "int")], nullcontext()) as target:
                cursor.statements.append("rows into " + MYSQL.quoted(target))
                if rows_fail:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert rows_fail
        return cursor.statements

    assert statements(False, "append", False) == ["CREATE TABLE `a`.`t` (`n``` BIGINT)", "rows into `a`.`t`"]
    assert statements(False, "replace", True)[2:] == ["DROP TABLE IF EXISTS `a`.`t`"]
    _, make, insert, rename, drop = statements(True, "replace", False)
    new = make.split(" (")[0].removeprefix("CREATE TABLE ")
    assert new.startswith("`a`.`t_") and insert == f"rows into {new}"
    old = drop.removeprefix("DROP TABLE ")
    assert rename == f"RENAME TABLE `a`.`t` TO {old}, {new} TO `a`.`t`" and old not in (new, "`a`.`t`")
    failed = statements(True, "replace", True)
    assert failed[-1].startswith("DROP TABLE IF EXISTS `a`.`t_") and not any("RENAME" in statement for statement in failed)
    with pytest.raises(RuntimeError, match="lost"), prepared_table(_Mysql(True, "SELECT"), MYSQL, TableRequest("t"), list, nullcontext()):
        pass
