"""Libraries of the standard interface: every way to mark values, and rows that come and go a few at a time."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import re
import sqlite3
import sys
import tracemalloc
import types
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.api import node_value_conversion
from sframe_spark.api.io import databases

ROWS = 20_000


class Cursor:
    """A cursor that takes statements as a library of a style does, and lets SQLite run them."""

    def __init__(self, cursor: sqlite3.Cursor, style: str, log: list[Any]) -> None:
        self._cursor, self._style, self._log = cursor, style, log
        self.arraysize = 1

    def _statement(self, text: str) -> str:
        if self._style in ("format", "pyformat"):
            signs = {"%": "%", **dict.fromkeys("sdf", "?")}
            return re.sub(r"%(?:\((\w+)\)s|(.))", lambda found: f":{found[1]}" if found[1] else signs[found[2]], text)
        return re.sub(r":(\d+)", r"?\1", text) if self._style == "numeric" else text

    def execute(self, statement: str, parameters: Any = ()) -> None:
        self._cursor.execute(self._statement(statement), parameters)

    def executemany(self, statement: str, rows: Sequence[Any]) -> None:
        assert all(isinstance(row, dict) for row in rows) == (self._style == "named")
        self._log.append((statement, len(rows)))
        self._cursor.executemany(self._statement(statement), rows)

    @property
    def description(self) -> Any:
        return self._cursor.description

    def fetchmany(self) -> list[Any]:
        found = self._cursor.fetchmany(self.arraysize)
        self._log.append(("fetched", len(found)))
        return found

    def close(self) -> None:
        self._log.append(("closed", 0))
        self._cursor.close()


class Connection:
    """A connection of such a library."""

    def __init__(self, style: str) -> None:
        self.style, self.log, self.database = style, list[Any](), sqlite3.connect(":memory:")

    def cursor(self) -> Cursor:
        return Cursor(self.database.cursor(), self.style, self.log)

    def commit(self) -> None:
        self.database.commit()

    def rollback(self) -> None:
        self.database.rollback()

    def close(self) -> None:
        self.database.close()


@pytest.fixture(params=["qmark", "format", "pyformat", "numeric", "named"])
def connection(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    module = types.ModuleType("library")
    module.paramstyle = request.param  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "library", module)
    monkeypatch.setattr(Connection, "__module__", "library.connections")
    with closing(Connection(request.param)) as made:
        made.database.execute('create table "of 5%" ("a%s" integer, name text, "x?" real)')
        yield made


def test_marks_of_every_style(connection: Connection) -> None:
    frame = SFrame({"a%s": [1, None, 3], "name": ["x", "100% :p1 ?", None], "x?": [0.5, 1.5, None]})
    frame.to_sql(connection, "of 5%")
    found = SFrame.from_sql(connection, 'select * from "of 5%%"' if "format" in connection.style else 'select * from "of 5%"')
    assert list(found) == list(frame)
    marked = {"qmark": "?", "format": "%s", "pyformat": "%(least)s", "numeric": ":1", "named": ":least"}[connection.style]
    given: Any = {"least": 2} if connection.style in ("pyformat", "named") else [2]
    asked = f"select name from t where n >= {marked}"
    connection.database.execute("create table t(n integer, name text)")
    SFrame({"n": [1, 2, 3], "name": ["a", "b", "c"]}).to_sql(connection, "t")
    assert list(SFrame.from_sql(connection, asked, params=given)["name"]) == ["b", "c"]


def test_specifiers_of_python_where_the_style_has_them(connection: Connection) -> None:
    connection.database.execute("create table t(n integer, x real, name text)")
    SFrame({"n": [1], "x": [0.5], "name": ["a"]}).to_sql(connection, "t", use_python_type_specifiers=True)
    assert connection.database.execute("select n, x, name from t").fetchall() == [(1, 0.5, "a")]
    assert ("%d" in connection.log[0][0]) == ("format" in connection.style)


def test_rows_come_and_go_a_few_at_a_time(connection: Connection) -> None:
    connection.database.execute("create table t(n integer)")
    connection.database.execute("create table u(n integer)")
    connection.database.execute(f"with recursive c(n) as (select 0 union all select n + 1 from c where n < {ROWS - 1}) insert into t select n from c")
    frame = SFrame.from_sql(connection, "select n from t order by n", cursor_arraysize=500)
    assert {count for told, count in connection.log if told == "fetched"} == {500, 0} and connection.log[-1] == ("closed", 0)
    connection.log.clear()
    frame.to_sql(connection, "u")
    counts = [count for told, count in connection.log if told.startswith("INSERT")]
    assert sum(counts) == ROWS and max(counts) == databases.ROWS_PER_INSERT
    assert connection.database.execute("select count(*), sum(n) from u").fetchone() == (ROWS, sum(range(ROWS)))


def test_no_more_than_some_rows_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 MB of texts, both ways, in less than a third of that."""
    monkeypatch.setattr(node_value_conversion, "ROWS_PER_BATCH", 512)
    with closing(sqlite3.connect(":memory:")) as database, config.using(memory_budget=100_000):
        database.execute("create table t(n integer, s text)")
        database.executemany("insert into t values (?, ?)", ((number, f"{number:01000}") for number in range(ROWS)))
        # Modules that are imported at first use are none of the rows.
        SFrame.from_sql(database, "select * from t limit 1000").to_sql(database, "first")
        tracemalloc.start()
        try:
            frame = SFrame.from_sql(database, "select * from t order by n")
            read = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            with config.using(batch_rows=512):
                frame.to_sql(database, "t")
            written = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert frame._node.operator_type == "segment_source" and len(frame) == ROWS
    assert max(read, written) < 6_000_000


@pytest.mark.parametrize(
    ("value", "hints", "wanted"),
    [
        (decimal.Decimal("1.25"), None, 1.25),
        (decimal.Decimal("7"), {"v": int}, 7),
        (True, None, 1),
        (datetime.date(2024, 2, 29), None, datetime.datetime(2024, 2, 29)),
        (b"abc", None, "abc"),
        (uuid.UUID(int=5), None, str(uuid.UUID(int=5))),
        (ipaddress.ip_address("10.0.0.1"), None, "10.0.0.1"),
        (datetime.time(1, 2, 3), None, "01:02:03"),
        (datetime.time(1, 2, 3), {"v": float}, 3723.0),
        ([1, 2], {"v": list}, [1, 2]),
        ({"a": 1}, None, {"a": 1}),
    ],
)
def test_values_that_libraries_give(value: Any, hints: Any, wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Connection("qmark")) as connection:
        monkeypatch.setattr(Cursor, "fetchmany", lambda self: [] if self._log else self._log.append(1) or [(value,), (None,)])
        monkeypatch.setattr(Cursor, "description", [("v", None)])
        monkeypatch.setattr(Cursor, "execute", lambda self, statement: None)
        assert list(SFrame.from_sql(connection, "", dbapi_module=sqlite3, column_type_hints=hints)["v"]) == [wanted, None]


@pytest.mark.parametrize("hints", [None, {"v": str}])
def test_values_that_no_column_holds_are_told_with_their_column(hints: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Connection("qmark")) as connection:
        monkeypatch.setattr(Cursor, "fetchmany", lambda self: [] if self._log else self._log.append(1) or [(1j,)])
        monkeypatch.setattr(Cursor, "description", [("v", None)])
        monkeypatch.setattr(Cursor, "execute", lambda self, statement: None)
        with pytest.raises(TypeError, match=r"column 'v'.*complex"):
            SFrame.from_sql(connection, "", dbapi_module=sqlite3, column_type_hints=hints)


def test_rows_of_other_lengths_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Connection("qmark")) as connection:
        monkeypatch.setattr(Cursor, "fetchmany", lambda self: [] if self._log else self._log.append(1) or [(1,), (1, 2)])
        monkeypatch.setattr(Cursor, "description", [("v", None)])
        monkeypatch.setattr(Cursor, "execute", lambda self, statement: None)
        with pytest.raises(TypeError, match="row 1 has 2 values for 1 columns"):
            SFrame.from_sql(connection, "", dbapi_module=sqlite3)
