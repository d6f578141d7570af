"""PostgreSQL and MariaDB as servers: a million rows both ways by every library, values of their types, and all rows or none.

apt-get install postgresql mariadb-server
pip install --target drivers "psycopg[binary]" psycopg2-binary pymysql mysql-connector-python adbc-driver-postgresql
PYTHONPATH=drivers python -m pytest -m servers tests/api/io/test_sql_servers.py
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import resource
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.api.io import databases
from sframe_spark.errors import InvalidArgumentError, SchemaError
from tests.api.io import database_servers

pytestmark = pytest.mark.servers
ROWS = 1_000_000
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
FRAME = {"n": [1, None, -(2**63) + 1], "s": ["x", None, 'ü%s"`\\'], "x": [0.5, None, -1e300], "t": [NOON, None, datetime.datetime(1960, 1, 1)]}
LARGE = 987654321987654321


def _started(server: Callable[[], contextlib.AbstractContextManager[int]], program: str) -> Iterator[int]:
    if database_servers.program(program) is None:
        pytest.skip(f"there is no {program}: apt-get install postgresql mariadb-server")
    with server() as port:
        yield port


@pytest.fixture(scope="module")
def postgresql() -> Iterator[int]:
    yield from _started(database_servers.postgresql, "postgres")


@pytest.fixture(scope="module")
def mariadb() -> Iterator[int]:
    yield from _started(database_servers.mariadb, "mariadbd")


def _of_postgresql(library: str, **options: Any) -> Callable[[int], Any]:
    return lambda port: importlib.import_module(library).connect(f"host=127.0.0.1 port={port} user=postgres", **options)


def _adbc(port: int) -> Any:
    return importlib.import_module("adbc_driver_postgresql.dbapi").connect(f"postgresql://postgres@127.0.0.1:{port}/postgres")


def _of_mariadb(library: str, **options: Any) -> Callable[[int], Any]:
    return lambda port: importlib.import_module(library).connect(host="127.0.0.1", port=port, user="root", database="test", **options)


def _engine(address: str, **options: Any) -> Callable[[int], Any]:
    return lambda port: importlib.import_module("sqlalchemy").create_engine(address.format(port), **options)


PSYCOPG_ENGINE = "postgresql+psycopg://postgres@127.0.0.1:{}/postgres"
CONNECTIONS: dict[str, tuple[str, str, Callable[[int], Any]]] = {
    "psycopg": ("postgresql", "psycopg", _of_postgresql("psycopg")),
    "psycopg that commits each": ("postgresql", "psycopg", _of_postgresql("psycopg", autocommit=True)),
    "psycopg2": ("postgresql", "psycopg2", _of_postgresql("psycopg2")),
    "ADBC": ("postgresql", "adbc_driver_postgresql", _adbc),
    "engine of psycopg": ("postgresql", "psycopg", _engine(PSYCOPG_ENGINE)),
    "engine of psycopg that commits each": ("postgresql", "psycopg", _engine(PSYCOPG_ENGINE, isolation_level="AUTOCOMMIT")),
    "pymysql": ("mariadb", "pymysql", _of_mariadb("pymysql")),
    "pymysql that commits each": ("mariadb", "pymysql", _of_mariadb("pymysql", autocommit=True)),
    "mysql.connector": ("mariadb", "mysql.connector", _of_mariadb("mysql.connector")),
    "engine of pymysql": ("mariadb", "pymysql", _engine("mysql+pymysql://root@127.0.0.1:{}/test")),
}


@pytest.fixture(params=CONNECTIONS)
def conn(request: pytest.FixtureRequest) -> Iterator[Any]:
    server, library, connect = CONNECTIONS[request.param]
    pytest.importorskip(library)
    made = connect(request.getfixturevalue(server))
    yield made
    if hasattr(made, "dispose"):
        made.dispose()
    else:
        with contextlib.suppress(Exception):
            made.rollback()
        made.close()
    plain = (_of_postgresql("psycopg") if server == "postgresql" else _of_mariadb("pymysql"))(request.getfixturevalue(server))
    with contextlib.closing(plain):
        for table in _tables(plain):
            plain.cursor().execute(f"drop table {_quoted(table, server == 'mariadb')}")
        plain.commit()


def _quoted(name: str, is_mariadb: bool) -> str:
    quote = "`" if is_mariadb else '"'
    return quote + name.replace(quote, quote * 2) + quote


def _tables(conn: Any) -> set[str]:
    where = "table_schema in ('public', 'test')"
    return set(SFrame.from_sql(conn, f"select table_name as name from information_schema.tables where {where}")["name"])


@pytest.fixture
def is_mariadb(request: pytest.FixtureRequest) -> bool:
    return CONNECTIONS[request.node.callspec.params["conn"]][0] == "mariadb"


def test_values_both_ways(conn: Any) -> None:
    frame = SFrame(FRAME)
    frame.to_sql(conn, "t")
    found = SFrame.from_sql(conn, "select * from t")
    assert found.column_names() == frame.column_names() and list(found) == list(frame)
    assert found.column_types() == frame.column_types()
    frame.to_sql(conn, "t")
    assert SFrame.from_sql(conn, "select count(*) as n from t")[0] == {"n": 6}
    with pytest.raises(InvalidArgumentError, match="there is a table t already"):
        frame.to_sql(conn, "t", if_exists="fail")
    frame[:1].to_sql(conn, "t", if_exists="delete_rows")
    SFrame({"other": [7]}).to_sql(conn, "t", if_exists="replace")
    SFrame({"any": [8]}).to_sql(conn, "t", use_exact_column_names=False)
    assert list(SFrame.from_sql(conn, "select other from t order by other")["other"]) == [7, 8]
    assert _tables(conn) == {"t"}


@pytest.mark.parametrize("how", ["append", "replace", "delete_rows"])
def test_an_error_leaves_what_was_there(conn: Any, how: str) -> None:
    SFrame({"n": [7]}).to_sql(conn, "old")
    frame = SFrame({"n": range(5000)})
    frame["n"] = frame["n"].apply(lambda number: number // (number - 2500), dtype=int)
    for table in ("t", "old"):
        with pytest.raises(ZeroDivisionError):
            frame.to_sql(conn, table, if_exists=how)
    assert _tables(conn) == {"old"} and list(SFrame.from_sql(conn, "select n from old")["n"]) == [7]


def test_names_of_tables_and_columns(conn: Any, is_mariadb: bool) -> None:
    names = ["order", "ä b", "100%", 'a"b`c']
    for name in names:
        frame = SFrame({name: [1, 2]})
        for _ in range(2):
            frame.to_sql(conn, name)
        found = SFrame.from_sql(conn, f"select * from {_quoted(name, is_mariadb)}")
        assert found.column_names() == [name] and list(found[name]) == [1, 2, 1, 2]
        frame.to_sql(conn, name, if_exists="replace")
    assert _tables(conn) == set(names)


def test_columns_of_other_types(conn: Any, is_mariadb: bool) -> None:
    """Rows go into a table that a program has made, with narrower types, as far as these hold the values."""
    statement = "create table k(a integer, b smallint, f float, n numeric(10, 2), u uuid, d date, s varchar(10))"
    if hasattr(conn, "dispose"):
        with conn.begin() as connection:
            connection.exec_driver_sql(statement)
    else:
        with contextlib.closing(conn.cursor()) as cursor:
            cursor.execute(statement)
        conn.commit()
    row = {"a": 1, "b": 2, "f": 1.5, "n": 2.25, "u": "00000000-0000-0000-0000-000000000005", "d": datetime.datetime(2024, 2, 29), "s": "x"}
    frame = SFrame({name: [value, None] for name, value in row.items()})
    frame.to_sql(conn, "k")
    assert list(SFrame.from_sql(conn, "select * from k")) == [row, dict.fromkeys(row)]
    with pytest.raises(Exception, match=r"(?i)range|too large|cannot hold"):
        SFrame({"a": [2**40]}).to_sql(conn, "k")
    assert SFrame.from_sql(conn, "select a from k").num_rows() == 2


def test_tables_are_found_where_the_database_finds_them(conn: Any, is_mariadb: bool) -> None:
    """Not made once more in the first schema of the path, nor beside a temporary table of the name."""
    if hasattr(conn, "dispose"):
        pytest.skip("each call has a connection of its own")
    place = "create database other" if is_mariadb else "create schema other"
    statements = [place, "create table other.deep(n bigint)", "create temporary table passing(n bigint)"]
    if not is_mariadb:
        statements.append("set search_path = public, other")
    for statement in statements:
        with contextlib.closing(conn.cursor()) as cursor:
            cursor.execute(statement)
    conn.commit()
    for table in ("other.deep", "other.deep" if is_mariadb else "deep", "other.made"):
        SFrame({"n": [1]}).to_sql(conn, table)
    assert SFrame.from_sql(conn, "select n from other.deep").num_rows() == 2 and SFrame.from_sql(conn, "select n from other.made").num_rows() == 1
    if hasattr(conn, "adbc_connection"):
        with pytest.raises(RuntimeError, match="passing is a temporary table"):
            SFrame({"n": [1]}).to_sql(conn, "passing")
    else:
        SFrame({"n": [1]}).to_sql(conn, "passing")
        assert SFrame.from_sql(conn, "select n from passing").num_rows() == 1
    assert _tables(conn) == set()
    with contextlib.closing(conn.cursor()) as cursor:
        cursor.execute("drop database other" if is_mariadb else "drop schema other cascade")
    conn.commit()


def test_date_times_with_an_offset(conn: Any, is_mariadb: bool) -> None:
    frame = SFrame({"t": [NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))), None]})
    if is_mariadb:
        with pytest.raises(SchemaError, match="column 't' has date-times with an offset, which MySQL or MariaDB does not keep"):
            frame.to_sql(conn, "t")
        assert _tables(conn) == set()
        return
    frame.to_sql(conn, "t")
    moment, missing = SFrame.from_sql(conn, "select t from t")["t"]
    assert (moment, moment.utcoffset() is None, missing) == (frame["t"][0], False, None)


OF_BOTH = {"cast(5 as decimal(18, 0))": 5, f"cast({LARGE} as decimal(18, 0))": LARGE, "cast(1.25 as decimal(10, 2))": 1.25, "1 = 1": 1}
OF_POSTGRESQL = {
    "'00000000-0000-0000-0000-000000000005'::uuid": "00000000-0000-0000-0000-000000000005",
    "time '01:02:03'": "01:02:03",
    "'ab'::bytea": "ab",
    "date '2024-02-29'": datetime.datetime(2024, 2, 29),
    "'NaN'::float8 is null": 0,
    "array['a', null]": ["a", None],
}
OF_MARIADB = {
    "time('01:02:03')": "01:02:03",
    "time('-26:00:00')": "-26:00:00",
    "cast('00000000-0000-0000-0000-000000000005' as uuid)": "00000000-0000-0000-0000-000000000005",
    "cast('2001:db8::1' as inet6)": "2001:db8::1",
    "sum(1)": 1,
}


def test_values_of_types(conn: Any, is_mariadb: bool) -> None:
    is_arrow = hasattr(conn, "adbc_connection")
    own = OF_MARIADB if is_mariadb else OF_POSTGRESQL if is_arrow else {**OF_POSTGRESQL, "'10.0.0.1'::inet": "10.0.0.1", "'1 day'::interval": 86400.0}
    found = {sql: SFrame.from_sql(conn, f"select {sql} as v")["v"][0] for sql in {**OF_BOTH, **own}}
    assert found == {**OF_BOTH, **own}


def test_a_million_rows_both_ways_in_little_memory(conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """160 MB of texts: neither the rows that are written nor those that are read are all in memory."""
    monkeypatch.setattr(databases, "ROWS_PER_INSERT", 5000)
    with config.using(memory_budget=10_000_000):
        frame = SFrame({"n": range(ROWS)})
        frame["s"] = frame["n"].apply(lambda number: f"{number:0120}", dtype=str)
        frame["x"] = frame["n"] / 7
        frame.materialize()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        frame.to_sql(conn, "big")
        found = SFrame.from_sql(conn, "select * from big order by n", cursor_arraysize=5000)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert len(found) == ROWS and (found["n"] == frame["n"]).all() and (found["s"] == frame["s"]).all() and (found["x"] == frame["x"]).all()
    assert after - before < 120_000
