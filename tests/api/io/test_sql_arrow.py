"""Databases that give Arrow batches (DuckDB, ADBC): the same values as by rows of Python, types of the database, and errors that name the column."""

from __future__ import annotations

import datetime
import decimal
import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.api.io import database_values, databases_in_arrow
from sframe_spark.api.io.database_values import QueryRequest, node_of_arrow
from sframe_spark.errors import InexactDecimalWarning, InvalidArgumentError, SchemaError

LARGE = 987654321987654321


@pytest.fixture
def conn() -> Iterator[Any]:
    with closing(duckdb.connect()) as connection:
        connection.execute("set timezone = 'UTC'")
        yield connection


VALUES: list[tuple[str, Any, type]] = [
    ("1::utinyint", 1, int),
    ("true", 1, int),
    ("9223372036854775807::hugeint", 2**63 - 1, int),
    ("sum(n)", 3, int),
    (f"{LARGE}::decimal(18, 0)", LARGE, int),
    ("5::decimal(38, 0)", 5, int),
    ("1.25::decimal(18, 2)", 1.25, float),
    ("1.5::float", 1.5, float),
    ("'ä'", "ä", str),
    ("time '01:02:03'", "01:02:03", str),
    ("time '01:02:03.5'", "01:02:03.500000", str),
    ("time '24:00:00'", "24:00:00", str),
    ("date '2024-02-29'", datetime.datetime(2024, 2, 29), datetime.datetime),
    ("timestamp '2024-02-29 01:02:03.000004'", datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.datetime),
    ("timestamptz '2024-02-29 01:00:00+01'", datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC), datetime.datetime),
    # Of other types rows come as Python values.
    ("'00000000-0000-0000-0000-000000000005'::uuid", "00000000-0000-0000-0000-000000000005", str),
    ("interval 1 day", 86400.0, float),
    ("'101'::bit", "101", str),
    ("{'a': 1}", {"a": 1}, dict),
    ("5::uhugeint", 5, int),
]


@pytest.mark.parametrize(("sql", "value", "kind"), VALUES, ids=[sql for sql, *_ in VALUES])
def test_values_of_duckdb(sql: str, value: Any, kind: type, conn: Any) -> None:
    frame = SFrame.from_sql(conn, f"select {sql} as v from (values (1::int), (2)) as q(n) group by ()")
    assert list(frame["v"]) == [value] and frame.column_types() == [kind]


def test_columns_without_values_have_the_type_of_the_database(conn: Any) -> None:
    conn.execute("create table t(n integer, s varchar, t timestamp, x double)")
    assert SFrame.from_sql(conn, "select * from t").column_types() == [int, str, datetime.datetime, float]
    conn.execute("insert into t values (null, null, null, null)")
    frame = SFrame.from_sql(conn, "select * from t")
    assert frame.column_types() == [int, str, datetime.datetime, float] and set(frame[0].values()) == {None}


def test_what_does_not_fit_is_told_with_its_column_and_row(conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "select * from (values (0, 1::hugeint), (1, 9223372036854775808::hugeint)) as q(i, n) order by i"
    with pytest.raises(SchemaError, match=r"column 'n', row 1: .*column_type_hints=\{'n': str\}"):
        SFrame.from_sql(conn, asked, cursor_arraysize=1)
    assert list(SFrame.from_sql(conn, asked, column_type_hints={"n": str})["n"]) == ["1", "9223372036854775808"]
    with pytest.raises(SchemaError, match=r"column 'v', row 0: .*not int"):
        SFrame.from_sql(conn, "select 1.5::double as v", column_type_hints=int)
    with pytest.warns(InexactDecimalWarning, match="v"):
        SFrame.from_sql(conn, f"select {LARGE}.25::decimal(38, 2) as v")
    with pytest.raises(RuntimeError, match="several columns are named 'a'"):
        SFrame.from_sql(conn, "select 1 as a, 'x' as a")


def test_hints_for_arrow(conn: Any) -> None:
    asked = "select 1 as n, 1.5::double as x, time '01:00:00' as t, timestamp '2024-02-29 00:00:00' as d"
    frame = SFrame.from_sql(conn, asked, column_type_hints={"n": float, "x": str, "t": float, "d": datetime.datetime})
    assert frame[0] == {"n": 1.0, "x": "1.5", "t": 3600.0, "d": datetime.datetime(2024, 2, 29)} and frame.column_types()[:3] == [float, str, float]


def test_statements_that_change_rows_run_once(conn: Any) -> None:
    conn.execute("create table t(n integer)")
    assert list(SFrame.from_sql(conn, "insert into t values (1), (2) returning n")["n"]) == [1, 2]
    assert list(SFrame.from_sql(conn, "insert into t values (3); select count(*) as n from t")["n"]) == [3]
    assert list(SFrame.from_sql(conn, "select n from t where n > $least order by n", params={"least": 1})["n"]) == [2, 3]


def test_many_rows_go_through_arrow(conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_values, "_fitting_values", None)
    frame = SFrame({"n": range(300_000), "s": [None if number % 7 == 0 else str(number) for number in range(300_000)]})
    frame.to_sql(conn, "t")
    found = SFrame.from_sql(conn, "select * from t order by n", cursor_arraysize=10_000)
    assert (found["n"] == frame["n"]).all() and list(found["s"]) == list(frame["s"])
    # Nothing is left on the connection.
    assert conn.execute("select count(*) from information_schema.tables").fetchone() == (1,)


def numeric(scale: int | None) -> pa.Field:
    """A field as ADBC's driver for PostgreSQL gives it for a NUMERIC of 18 digits."""
    metadata = {} if scale is None else {"POSTGRESQL:typmod": str((18 << 16 | scale) + 4)}
    return pa.field("v", pa.opaque(pa.string(), "numeric", "PostgreSQL"), metadata=metadata)


@pytest.mark.skipif(not hasattr(pa, "opaque"), reason="this pyarrow has no opaque types")
@pytest.mark.parametrize(
    ("scale", "hints", "wanted"), [(0, None, [LARGE, None]), (2, None, None), (None, {"v": int}, [LARGE, None]), (2, str, [str(LARGE), None])]
)
def test_numerics_of_adbc(scale: int | None, hints: Any, wanted: Any) -> None:
    field = numeric(scale)
    values = pa.ExtensionArray.from_storage(field.type, pa.array([str(LARGE), None]))
    batch = pa.record_batch([values], schema=pa.schema([field]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if wanted is None else "error", InexactDecimalWarning)
        node, names = node_of_arrow([batch], batch.schema, QueryRequest("", None, 100, None, hints, 128))
    from sframe_spark.api.class_registry import make_frame

    assert list(make_frame(node, names)["v"]) == (wanted or [float(LARGE), None])


def test_types_without_a_column_type_are_refused_with_what_to_do() -> None:
    for data_type in (pa.month_day_nano_interval(), pa.list_(pa.month_day_nano_interval())):
        schema = pa.schema([("v", data_type)])
        with pytest.raises(SchemaError, match=r"column 'v': .*convert it in the query"):
            node_of_arrow([], schema, QueryRequest("", None, 100, None, None, 128))


@pytest.mark.parametrize(
    ("values", "target", "wanted"),
    [
        ([1, None], pa.int32(), [1, None]),
        ([1, 0], pa.bool_(), [True, False]),
        ([1.5, None, -1e-3], pa.float32(), [1.5, None, float(np.float32(-1e-3))]),
        ([datetime.datetime(2024, 2, 29)], pa.date32(), [datetime.date(2024, 2, 29)]),
        ([2.25, None], numeric(2).type, [decimal.Decimal("2.25"), None]),
        (["00000000-0000-0000-0000-000000000005", None], pa.uuid() if hasattr(pa, "uuid") else pa.string(), [b"\0" * 15 + b"\5", None]),
        (["x"], pa.int32(), ["x"]),
        ([1], pa.string(), [1]),
    ],
)
def test_values_take_the_type_of_a_table_for_adbc(values: list[Any], target: pa.DataType, wanted: list[Any]) -> None:
    table = databases_in_arrow._for_table(pa.table({"v": values, "other": values}), [pa.field("v", target)])
    assert table["v"].to_pylist() == wanted and table["other"].to_pylist() == values


@pytest.mark.parametrize(
    ("value", "target"),
    [(2**31, pa.int32()), (2, pa.bool_()), (1.5, pa.int32()), (datetime.datetime(2024, 2, 29, 1), pa.date32()), ("x", pa.uuid())],
)
def test_values_that_a_table_cannot_hold_are_refused_by_name(value: Any, target: pa.DataType) -> None:
    with pytest.raises(ValueError if target == pa.uuid() else TypeError, match="column 'v' has a"):
        databases_in_arrow._for_table(pa.table({"v": [value]}), [pa.field("v", target)])


class TestAdbc:
    """SQLite's driver, where it is installed."""

    @pytest.fixture
    def adbc(self) -> Iterator[Any]:
        library = pytest.importorskip("adbc_driver_sqlite.dbapi")
        with closing(library.connect(":memory:")) as connection:
            yield connection

    def test_rows_both_ways(self, adbc: Any) -> None:
        frame = SFrame({"n": [1, None], "s": ["x", None], "x": [0.5, None]})
        frame.to_sql(adbc, "t")
        frame.to_sql(adbc, "t")
        assert list(SFrame.from_sql(adbc, "select * from t")) == list(frame) * 2
        with pytest.raises(InvalidArgumentError, match="there is a table t already"):
            frame.to_sql(adbc, "t", if_exists="fail")
        frame[:1].to_sql(adbc, "t", if_exists="delete_rows")
        SFrame({"a": [2], "b": [None], "c": [1.0]}).to_sql(adbc, "t", use_exact_column_names=False)
        assert list(SFrame.from_sql(adbc, "select n from t where n > ?", params=[1])["n"]) == [2]
        frame[:1].to_sql(adbc, "t", if_exists="replace")
        assert SFrame.from_sql(adbc, "select * from t").num_rows() == 1
        with pytest.raises(InvalidArgumentError, match="returns no rows"):
            SFrame.from_sql(adbc, "delete from t where 0")

    @pytest.mark.parametrize("commits_each", [False, True])
    def test_all_rows_or_none(self, commits_each: bool) -> None:
        library = pytest.importorskip("adbc_driver_sqlite.dbapi")
        frame = SFrame({"n": range(300_000)})
        frame["n"] = frame["n"].apply(lambda number: number // (number - 299_000), dtype=int)
        with closing(library.connect(":memory:", autocommit=commits_each)) as conn:
            with pytest.raises(ZeroDivisionError):
                frame.to_sql(conn, "t")
            SFrame({"n": [1]}).to_sql(conn, "t", if_exists="fail")
            assert list(SFrame.from_sql(conn, "select * from t")["n"]) == [1]
            assert conn.adbc_connection.get_option("adbc.connection.autocommit") == str(commits_each).lower()
