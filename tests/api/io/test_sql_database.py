"""Rows from and to databases: types, names and values as they are, and nothing of what names hold is run."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.api import node_value_conversion
from sframe_spark.api.io.databases import _insert
from sframe_spark.errors import SFrameError
from sframe_spark.types import FLOAT, INT, STR

NASTY = ['x"; drop table t; --', "select", "a b", "ä", "%s", "?", "a.b", "'", "`", "[x]", ""]


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t(a integer, b text, c real)")
        connection.execute("insert into t values (1, 'x', 1.5), (2, null, 2.5), (null, 'ü', null)")
        yield connection


def test_rows_come_as_they_are(conn: sqlite3.Connection) -> None:
    frame = SFrame.from_sql(conn, "select * from t")
    assert frame.column_names() == ["a", "b", "c"] and frame.column_types() == [int, str, float]
    assert [list(row.values()) for row in frame] == [[1, "x", 1.5], [2, None, 2.5], [None, "ü", None]]
    assert list(SFrame.from_sql(conn, "select a from t where b = ?", params=["ü"])["a"]) == [None]
    assert SFrame.from_sql(conn, "select null as n, a from t where 0").column_types() == [str, str]


@pytest.mark.parametrize("budget", [1 << 27, 100])
def test_many_rows_go_to_disk(conn: sqlite3.Connection, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_value_conversion, "ROWS_PER_BATCH", 64)
    with config.using(memory_budget=budget):
        conn.execute("create table many(n integer, s text)")
        SFrame({"n": range(3000), "s": [f"row {number}" for number in range(3000)]}).to_sql(conn, "many")
        frame = SFrame.from_sql(conn, "select * from many order by n desc")
    assert list(frame["n"]) == list(range(2999, -1, -1)) and frame["s"][0] == "row 2999"


def test_hints_decide(conn: sqlite3.Connection) -> None:
    def types(hints: Any) -> list[type]:
        return SFrame.from_sql(conn, "select a, b from t", column_type_hints=hints).column_types()

    assert types({"a": float}) == [float, str] and types(str) == [str, str] and types([float]) == [float, str]
    for hints, error in (({"z": int}, KeyError), ([int, str, str], TypeError), ("int", TypeError), ([int, int], TypeError)):
        with pytest.raises(error) as told:
            types(hints)
        assert isinstance(told.value, SFrameError)


@pytest.mark.parametrize("late", ["'x'", "2.5", "1e30", "x'ff'"])
def test_a_value_of_another_class_is_told_and_not_changed(conn: sqlite3.Connection, late: str) -> None:
    with pytest.raises(TypeError, match=r"column 'n', row 1: .*column_type_hints=\{'n'"):
        SFrame.from_sql(conn, f"select 1 as n union all select {late}")


def test_a_name_runs_nothing(conn: sqlite3.Connection) -> None:
    for name in NASTY:
        table, column = name.replace(".", "_") or "e", name or "e"
        quoted = [text.replace('"', '""') for text in (table, column)]
        conn.execute(f'create table "{quoted[0]}" ("{quoted[1]}" integer)')
        SFrame({column: [1, 2]}).to_sql(conn, table)
        frame = SFrame.from_sql(conn, f'select * from "{quoted[0]}"')
        assert frame.column_names() == [column] and list(frame[column]) == [1, 2]
    assert conn.execute("select count(*) from t").fetchone() == (3,)
    with pytest.raises(ValueError, match="NUL"):
        SFrame({"a\0": [1]}).to_sql(conn, "t")


def test_all_rows_are_inserted_or_none(conn: sqlite3.Connection) -> None:
    conn.execute("create table u(a integer unique)")
    conn.commit()
    with pytest.raises(sqlite3.IntegrityError):
        SFrame({"a": [*range(2500), 7]}).to_sql(conn, "u")
    assert conn.execute("select count(*) from u").fetchone() == (0,)
    SFrame({"x": [1]}).to_sql(conn, "u", use_exact_column_names=False)
    assert conn.execute("select * from u").fetchall() == [(1,)]


def test_what_databases_do_not_take_is_refused(conn: sqlite3.Connection) -> None:
    for value in ([1, "a"], {"a": 1}, [1.5, 2]):
        with pytest.raises(TypeError, match="which databases do not accept"):
            SFrame({"a": [value]}).to_sql(conn, "t")
    with pytest.raises(ValueError, match="returns no rows"):
        SFrame.from_sql(conn, "delete from t where 0")
    with pytest.raises(RuntimeError, match="several columns are named 'a'"):
        SFrame.from_sql(conn, "select a, a from t")
    for wrong in (5, "jdbc:x", None):
        with pytest.raises(AttributeError, match="DB-API"):
            SFrame.from_sql(wrong, "select 1")
        with pytest.raises(AttributeError, match="DB-API"):
            SFrame({"a": [1]}).to_sql(wrong, "t")


def test_marks_and_quotes_are_those_of_the_library() -> None:
    def statement(name: str, style: str, specifiers: bool = False) -> str:
        library: Any = SimpleNamespace(__name__=name, paramstyle=style)
        return _insert(library, ["a", "b%"], [INT, FLOAT], ["s", "t"], specifiers, True)

    assert statement("sqlite3", "qmark") == 'INSERT INTO "s"."t" ("a", "b%") VALUES (?, ?)'
    assert statement("psycopg2", "pyformat") == 'INSERT INTO "s"."t" ("a", "b%%") VALUES (%s, %s)'
    assert statement("oracledb", "named") == 'INSERT INTO "s"."t" ("a", "b%") VALUES (:p1, :p2)'
    assert statement("x", "numeric") == 'INSERT INTO "s"."t" ("a", "b%") VALUES (:1, :2)'
    assert statement("pymysql", "pyformat", True) == "INSERT INTO `s`.`t` (`a`, `b%%`) VALUES (%d, %f)"
    assert _insert(SimpleNamespace(__name__="x", paramstyle="format"), ["a"], [STR], ["t"], True, False) == 'INSERT INTO "t" VALUES (%s)'  # type: ignore[arg-type]


def test_date_times_and_bytes(conn: sqlite3.Connection) -> None:
    class Cursor:
        description = (("t",), ("d",), ("b",))
        arraysize = 1

        def __init__(self) -> None:
            self.rows = [(datetime.datetime(2024, 2, 29), datetime.date(2024, 3, 1), memoryview(b"ab")), (None, None, None)]

        def execute(self, statement: str) -> None:
            pass

        def fetchmany(self) -> list[Any]:
            return [self.rows.pop(0)] if self.rows else []

        def close(self) -> None:
            pass

    class Connection:
        def cursor(self) -> Cursor:
            return Cursor()

        def commit(self) -> None:
            pass

    frame = SFrame.from_sql(Connection(), "", dbapi_module=sqlite3)
    assert list(frame) == [{"t": datetime.datetime(2024, 2, 29), "d": datetime.datetime(2024, 3, 1), "b": "ab"}, {"t": None, "d": None, "b": None}]


@pytest.mark.parametrize("own", [False, True])
def test_date_times_are_the_texts_that_sqlite_has_always_made(own: bool, conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Python 3.12 sqlite3 warns when it makes them, and warnings are errors here; an adapter of the user's is asked as ever."""
    if own:
        monkeypatch.setitem(sqlite3.adapters, (datetime.datetime, sqlite3.PrepareProtocol), lambda moment: f"in {moment.year}")  # type: ignore[attr-defined]
    noon = datetime.datetime(2024, 2, 29, 12)
    conn.execute("create table moments(a text, b text, n integer)")
    moments = {"a": [noon, None], "b": [noon.replace(tzinfo=datetime.UTC), noon.replace(tzinfo=datetime.UTC, microsecond=5)], "n": [1, 2]}
    SFrame(moments).to_sql(conn, "moments")
    texts = [("in 2024", "in 2024", 1), (None, "in 2024", 2)]
    if not own:
        texts = [("2024-02-29 12:00:00", "2024-02-29 12:00:00+00:00", 1), (None, "2024-02-29 12:00:00.000005+00:00", 2)]
    assert conn.execute("select * from moments").fetchall() == texts


@pytest.mark.parametrize(("code", "wanted"), [(1, str), (2, str), (3, float), (4, datetime.datetime), (5, int), (9, str), (None, str)])
def test_columns_without_values_have_the_type_of_their_code(code: Any, wanted: type) -> None:
    """As in Turi Create, by the type objects of the library; a DB-API type object is equal to several codes."""

    class Is:
        def __init__(self, *codes: int) -> None:
            self.codes = codes

        def __eq__(self, other: object) -> bool:
            return other in self.codes

        __hash__ = None  # type: ignore[assignment]

    library: Any = SimpleNamespace(__name__="library", paramstyle="qmark", STRING=Is(1), BINARY=Is(2), NUMBER=Is(3), DATETIME=Is(4), ROWID=Is(5))

    class Cursor:
        description = (("a", code, None, None, None, None, None),)
        rows = [[(None,)]]
        execute = close = staticmethod(lambda *_: None)
        fetchmany = staticmethod(lambda *_: Cursor.rows.pop() if Cursor.rows else [])

    class Connection:
        cursor = staticmethod(Cursor)
        commit = staticmethod(lambda: None)

    frame = SFrame.from_sql(Connection(), "", dbapi_module=library)
    assert frame.column_types() == [wanted] and list(frame["a"]) == [None]
    assert SFrame.from_sql(Connection(), "", dbapi_module=library).column_types() == [wanted]


def test_times_of_mysql_are_texts() -> None:
    """Its libraries give durations, which may be negative, or longer than a day; decimals have the digits of their column."""
    library: Any = SimpleNamespace(__name__="pymysql", paramstyle="pyformat")
    hours = [datetime.timedelta(hours=26, microseconds=5), None, -datetime.timedelta(seconds=1)]
    rows = [[(value, value, Decimal(5), Decimal("5.00")) for value in hours]]

    class Cursor:
        description = (("t", 11), ("d", 8), ("whole", 246, None, None, None, None), ("cents", 246, None, None, None, None))
        execute = close = staticmethod(lambda *_: None)
        fetchmany = staticmethod(lambda *_: rows.pop() if rows else [])

    class Connection:
        cursor = staticmethod(Cursor)
        commit = staticmethod(lambda: None)

    frame = SFrame.from_sql(Connection(), "", dbapi_module=library)
    assert list(frame["t"]) == ["26:00:00.000005", None, "-00:00:01"] and list(frame["d"])[2] == -1.0
    assert frame.column_types() == [str, float, int, float]
