"""Tables of catalogs: rows come back in the order written, nothing is lost where something fails, and what is missing is named."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.api.io import catalog_tables as io_catalog_tables
from sframe_spark.api.io.catalog_tables import ORDER_COLUMN, _options_of, errors_of_catalog, parts_of
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.errors import ExecutionError, SFrameError, StorageError, UnsupportedOperationError
from sframe_spark.session.users_own_spark_session import user_session
from tests.examples import part

ROWS = 3_000
DATABASE = "sframe_tables"


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"name": None}, TypeError, "a text, not NoneType"),
        ({"name": ""}, ValueError, "not the name of a table"),
        ({"name": "a..b"}, ValueError, "not the name of a table"),
        ({"name": "a."}, ValueError, "not the name of a table"),
        ({"name": "a; drop table b"}, ValueError, "not the name of a table"),
        ({"name": "`a"}, ValueError, "not the name of a table"),
        ({"name": "`a`b"}, ValueError, "not the name of a table"),
        ({"name": "a\nb"}, ValueError, "not the name of a table"),
        ({"version": 1.5}, TypeError, "not float"),
        ({"version": True}, TypeError, "not bool"),
        ({"version": -1}, ValueError, "from 0"),
        ({"version": ""}, ValueError, "from 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_spark_starts(arguments: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as raised:
        SFrame.from_table(**{"name": "t", **arguments})
    assert isinstance(raised.value, SFrameError) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("frame", "arguments", "error", "told"),
    [
        ({"a": [1]}, {"name": 3}, TypeError, "a text, not int"),
        ({"a": [1]}, {"format": "csv"}, ValueError, "format must be one of 'delta', 'iceberg', 'parquet'"),
        ({"a": [1]}, {"format": ["delta"]}, ValueError, "format must be one of"),
        ({"a": [1]}, {"mode": "replace"}, ValueError, "mode must be one of 'error', 'append', 'overwrite', 'ignore'"),
        ({"a": [1]}, {"mode": None}, ValueError, "mode must be one of"),
        ({}, {}, ValueError, "without columns"),
        ({"_SFrame_Row": [1]}, {}, RuntimeError, "rename it first"),
    ],
)
def test_what_cannot_be_written_is_refused_before_spark_starts(
    frame: dict[str, Any], arguments: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told) as raised:
        SFrame(frame).to_table(**{"name": "t", **arguments})
    assert isinstance(raised.value, SFrameError) and "\n" not in str(raised.value)


def test_names_and_versions_as_spark_takes_them() -> None:
    assert parts_of("a.b_2.`c ``d`") == ("a", "b_2", "c `d")
    assert _options_of(3) == {"versionAsOf": "3"}
    assert _options_of("main") == {"versionAsOf": "main"}
    assert _options_of(datetime.datetime(2024, 2, 29, 12)) == {"timestampAsOf": "2024-02-29 12:00:00"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Failed to find the data source: delta. Make sure", "io.delta:delta-spark_2.13"),
        ("Failed to find the data source: org.apache.iceberg. Make sure", "org.apache.iceberg:iceberg-spark-runtime"),
        ("Failed to find the data source: x. Make sure", "no tables of x: add its package"),
    ],
)
@pytest.mark.parametrize("raised", ["py4j", "ours"])
def test_the_package_that_is_missing_is_named(said: str, told: str, raised: str) -> None:
    from py4j.protocol import Py4JError

    with pytest.raises(UnsupportedOperationError, match=told), errors_of_catalog("t"):
        raise Py4JError(said) if raised == "py4j" else ExecutionError(said)


@pytest.fixture
def database(spark: Any, tmp_path: Path) -> Iterator[str]:
    """A database of the session's own catalog, which is in memory."""
    user = user_session()
    user.sql(f"CREATE DATABASE {DATABASE} LOCATION '{tmp_path}/tables'")
    yield DATABASE
    user.sql(f"DROP DATABASE {DATABASE} CASCADE")


def many_rows() -> SFrame:
    return SFrame(
        {
            "id": [number * 7 % ROWS for number in range(ROWS)],
            "half": [None if number % 11 == 0 else number / 2 for number in range(ROWS)],
            "name": [None if number % 13 == 0 else f"row {number % 50} ü" for number in range(ROWS)],
            "moment": [datetime.datetime(2024, 3, 31, 2, 30) + datetime.timedelta(minutes=number) for number in range(ROWS)],
            "items": [[number, number + 1] for number in range(ROWS)],
            "counts": [{"n": number} for number in range(ROWS)],
        }
    )


@pytest.mark.spark
@pytest.mark.behaviour
def test_rows_come_back_in_the_order_written(database: str) -> None:
    frame = many_rows()
    with config.using(default_segments=5):
        frame.to_table(f"{database}.shop")
        found = SFrame.from_table(f"{database}.shop")
        assert found.column_names() == frame.column_names() and len(found) == ROWS
        assert list(found) == list(frame)
        assert user_session().table(f"{database}.shop").columns == [*frame.column_names(), ORDER_COLUMN]
        assert list(found["id"][10:13]) == [number * 7 % ROWS for number in range(10, 13)]


@pytest.mark.spark
def test_what_needs_no_order_sorts_nothing(database: str) -> None:
    many_rows().to_table(f"{database}.shop")
    found = SFrame.from_table(f"{database}.shop")
    grouped = found.groupby("name", {"n": aggregate.COUNT()})
    assert "sort" not in str(grouped.explain()).partition("-- optimized plan")[2]
    assert found["id"].sum() == ROWS * (ROWS - 1) // 2
    by_id = SFrame.from_table(f"{database}.shop", order_by="id")
    assert by_id.is_sorted("id") and list(by_id["id"]) == list(range(ROWS))
    assert str(by_id.sort("id").explain()).partition("-- optimized plan")[2].count(":= sort") <= 1


@pytest.mark.spark
def test_ties_keep_the_order_written(database: str) -> None:
    SFrame({"k": [2, 1, 2, 1], "v": [4, 3, 2, 1]}).to_table(f"{database}.ties")
    assert list(SFrame.from_table(f"{database}.ties", order_by=[("k", False)])["v"]) == [4, 2, 3, 1]


@pytest.mark.spark
def test_modes(database: str) -> None:
    name = f"{database}.`Orders`"
    first, second = SFrame({"n": [5, 2]}), SFrame({"n": [3]})
    first.to_table(name)
    with pytest.raises(ExecutionError, match="exists already: choose mode='append'"):
        second.to_table(name)
    second.to_table(name, mode="ignore")
    assert list(SFrame.from_table(name)["n"]) == [5, 2]
    second.to_table(name, mode="append")
    first.to_table(name, mode="append")
    assert list(SFrame.from_table(name)["n"]) == [5, 2, 3, 5, 2]
    second.to_table(name, mode="overwrite")
    assert list(SFrame.from_table(name)["n"]) == [3]
    SFrame.from_table(name).append(first).to_table(name, mode="overwrite")
    assert list(SFrame.from_table(name)["n"]) == [3, 5, 2]
    SFrame({"n": []}).to_table(f"{database}.nothing")
    assert len(SFrame.from_table(f"{database}.nothing")) == 0
    assert sorted(table.name for table in user_session().catalog.listTables(database)) == ["nothing", "orders"]


@pytest.mark.spark
def test_tables_of_others_need_an_order(database: str) -> None:
    name = f"{database}.others"
    user_session().range(4).write.saveAsTable(name)
    with pytest.raises(ValueError, match="have no order: name the columns"):
        SFrame.from_table(name)
    assert list(SFrame.from_table(name, order_by=[("id", False)])["id"]) == [3, 2, 1, 0]
    with pytest.raises(ValueError, match="keep_order=False"):
        SFrame({"id": [9]}).to_table(name, mode="append")
    SFrame({"id": [9]}).to_table(name, mode="append", keep_order=False)
    assert list(SFrame.from_table(name, order_by="id")["id"]) == [0, 1, 2, 3, 9]
    with pytest.raises(ValueError, match="no column"):
        SFrame.from_table(name, order_by="nothing")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("INSERT INTO {} (n) VALUES (7)", "1 rows of table .* have no _sframe_row"),
        ("INSERT INTO {} VALUES (7, 1)", "have the same number"),
        # Two numbers that are there twice, among those inserted alone.
        *part(
            [
                ("INSERT OVERWRITE {} VALUES (7, 0), (8, 2), (9, 2)", "have the same number"),
                ("INSERT INTO {} VALUES (7, 9), (8, 9)", "have the same number"),
            ],
            2,
        ),
    ],
)
def test_rows_that_others_have_inserted_are_not_guessed_into_the_order(database: str, statement: str, told: str) -> None:
    name = f"{database}.mixed"
    SFrame({"n": [5, 2]}).to_table(name)
    user_session().sql(statement.format(name))
    with pytest.raises(StorageError, match=told):
        SFrame.from_table(name)
    assert list(SFrame.from_table(name, order_by="n")["n"]) == sorted(row.n for row in user_session().table(name).collect())


@pytest.mark.spark
def test_rows_that_are_missing_leave_the_others_in_order(database: str) -> None:
    name = f"{database}.gaps"
    SFrame({"n": [5, 2, 4]}).to_table(name)
    user_session().sql(f"INSERT OVERWRITE {name} VALUES (4, 2), (5, 0)")
    assert list(SFrame.from_table(name)["n"]) == [5, 4]


@pytest.mark.spark
def test_what_fails_changes_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{database}.kept"
    SFrame({"n": [5, 2]}).to_table(name)
    with pytest.raises(ZeroDivisionError):
        SFrame({"n": SFrame({"n": [1, 0]})["n"].apply(lambda n: 1 // n, dtype=int)}).to_table(name, mode="overwrite")
    with pytest.raises(TypeError, match="the frame has no 'n', and 1 more"):
        SFrame({"m": [1]}).to_table(name, mode="append")
    with pytest.raises(ExecutionError, match="Cannot safely cast"):
        SFrame({"n": ["text"]}).to_table(name, mode="append")
    with pytest.raises(ExecutionError, match=r"already exists\. Choose another name"):
        SFrame({"a": [1], "A": [2]}).to_table(name, mode="overwrite")
    with pytest.raises(UnsupportedOperationError, match="delta-spark"):
        SFrame({"n": [1]}).to_table(name, "delta", "overwrite")
    assert list(SFrame.from_table(name)["n"]) == [5, 2]
    assert [table.name for table in user_session().catalog.listTables(database)] == ["kept"]


@pytest.mark.spark
@pytest.mark.parametrize("failing", [1, 2])
def test_a_table_is_there_whichever_step_of_replacing_it_fails(database: str, failing: int, monkeypatch: pytest.MonkeyPatch) -> None:

    name, rename = f"{database}.kept", io_catalog_tables._Writing._rename
    SFrame({"n": [5, 2]}).to_table(name)
    calls: list[Any] = []

    def frail(self: Any, parts: Any, other: Any) -> None:
        calls.append(parts)
        if len(calls) == failing:
            raise KeyboardInterrupt
        rename(self, parts, other)

    monkeypatch.setattr(io_catalog_tables._Writing, "_rename", frail)
    with pytest.raises(KeyboardInterrupt):
        SFrame({"n": [1]}).to_table(name, mode="overwrite")
    assert list(SFrame.from_table(name)["n"]) == [5, 2]
    assert [table.name for table in user_session().catalog.listTables(database)] == ["kept"]


@pytest.mark.spark
def test_leftovers_views_and_external_tables_are_refused(database: str, tmp_path: Path) -> None:
    name, user = f"{database}.kept", user_session()
    SFrame({"n": [5, 2]}).to_table(name)
    user.range(1).write.saveAsTable(f"{name}__sframe_old")
    with pytest.raises(ExecutionError, match="kept__sframe_old is there"):
        SFrame({"n": [1]}).to_table(name, mode="overwrite")
    user.range(1).write.option("path", str(tmp_path / "elsewhere")).saveAsTable(f"{database}.outside")
    with pytest.raises(UnsupportedOperationError, match=r"outside is external, whose files"):
        SFrame({"n": [1]}).to_table(f"{database}.outside", mode="overwrite")
    user.sql(f"CREATE VIEW {database}.seen AS SELECT * FROM {name}")
    assert list(SFrame.from_table(f"{database}.seen")["n"]) == [5, 2]
    with pytest.raises(UnsupportedOperationError, match="seen is view"):
        SFrame({"n": [1]}).to_table(f"{database}.seen", mode="overwrite")


@pytest.mark.spark
def test_refusals_are_one_line(database: str) -> None:
    SFrame({"n": [1]}).to_table(f"{database}.t")
    for ask, error in (
        (lambda: SFrame.from_table(f"{database}.nothing"), ExecutionError),
        (lambda: SFrame.from_table("no.such.catalog"), ExecutionError),
        (lambda: SFrame({"n": [1]}).to_table("nowhere.t"), ExecutionError),
        (lambda: SFrame.from_table(f"{database}.t", version=1), UnsupportedOperationError),
        (lambda: SFrame.from_table(f"{database}.t", version=datetime.datetime(2024, 1, 1)), UnsupportedOperationError),
        (lambda: SFrame({"n": [1]}).to_table("x", "iceberg"), UnsupportedOperationError),
    ):
        with pytest.raises(error) as told:
            ask()
        assert "\n" not in str(told.value) and "\tat " not in str(told.value) and "Exception" not in str(told.value)


@pytest.mark.spark
def test_two_that_append_at_one_time_are_told(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, materialized = f"{database}.shared", materialize
    SFrame({"n": [5]}).to_table(name)

    def slow(node: Any) -> Any:
        if not others:
            others.append(True)
            return materialized(node)
        monkeypatch.setattr(io_catalog_tables, "materialize", materialized)
        SFrame({"n": [6]}).to_table(name, mode="append")
        return materialized(node)

    others: list[bool] = []
    monkeypatch.setattr(io_catalog_tables, "materialize", slow)
    with pytest.raises(StorageError, match="has 2 rows with the numbers of the 1 that were written: another program"):
        SFrame({"n": [7]}).to_table(name, mode="append")
    with pytest.raises(StorageError, match="have the same number"):
        SFrame.from_table(name)


DERBY = """
import sys
from pyspark.sql import SparkSession
place = sys.argv[1]
builder = SparkSession.builder.master("local[2]").enableHiveSupport().config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.warehouse.dir", f"{place}/warehouse").config("spark.hadoop.hive.metastore.warehouse.dir", f"{place}/warehouse")
builder = builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:memory:metastore;create=true")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
from sframe_spark import SFrame
frame = SFrame({"n": [5, 2, 4], "t": ["x", None, "z"]})
frame.to_table("default.kept")
frame.to_table("kept", mode="append")
assert list(SFrame.from_table("kept")["n"]) == [5, 2, 4, 5, 2, 4]
frame.sort("n").to_table("kept", mode="overwrite")
assert list(SFrame.from_table("spark_catalog.default.kept")) == list(frame.sort("n"))
assert [table.name for table in spark.catalog.listTables()] == ["kept"]
print("all right")
"""


@pytest.mark.spark
def test_a_metastore_in_derby(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DERBY, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.endswith("all right\n"), done.stdout[-2000:] + done.stderr[-4000:]


def environment() -> dict[str, str]:
    """Of a program that starts Spark as users do, and sees this checkout from elsewhere."""
    from tests.cluster.machine import PROJECT, spark_environment

    return {**spark_environment(), "PYTHONPATH": str(PROJECT)}
