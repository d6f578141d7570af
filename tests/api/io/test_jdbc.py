"""Tables over JDBC: what is asked, rows in the order that is named, values as they are, and no statement that a name makes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.api.io.jdbc import JdbcRequest, _bounds, _source, errors_of_database, options_of
from sframe_spark.errors import ExecutionError, SFrameError
from sframe_spark.session.users_own_spark_session import user_session
from tests.derby import DRIVER, address, keep_quiet

URL = "jdbc:x://host/shop"
ROWS = 1000


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"url": None}, TypeError, "url must be a text"),
        ({"url": "postgresql://host"}, ValueError, "such as jdbc:"),
        ({"url": ""}, ValueError, "url is empty"),
        ({"table": None}, ValueError, "one of them"),
        ({"query": "select 1"}, ValueError, "one of them"),
        ({"table": 3}, TypeError, "table must be a text"),
        ({"table": "t\0"}, ValueError, "NUL"),
        ({"column": "id"}, ValueError, "give 'lowerBound', 'upperBound', 'numPartitions' too"),
        ({"column": "id", "lowerBound": 1, "upperBound": 2, "numPartitions": 0}, ValueError, "number of tasks"),
        ({"column": "id", "lowerBound": 1, "upperBound": 2, "numPartitions": True}, ValueError, "number of tasks"),
        ({"column": "id", "lowerBound": 1, "upperBound": 2, "numPartitions": 2, "predicates": ["a"]}, ValueError, "not both"),
        ({"numPartitions": 3}, ValueError, "need column= as well"),
        ({"predicates": "id > 3"}, TypeError, "list of conditions"),
        ({"predicates": []}, TypeError, "list of conditions"),
        ({"properties": "user=x"}, TypeError, "dict of options"),
        ({"properties": {"user": None}}, TypeError, "'user' must be a text"),
        ({"properties": {"dbTable": "t"}}, ValueError, "parameter of its own"),
        ({"properties": {"numPartitions": 3}}, ValueError, "parameter of its own"),
        ({"order_by": None}, ValueError, "rows of a table have no order"),
        ({"order_by": []}, ValueError, "rows of a table have no order"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_spark_starts(arguments: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as raised:
        SFrame.read_jdbc(**{"url": URL, "table": "t", "order_by": "id", **arguments})
    assert isinstance(raised.value, SFrameError)


@pytest.mark.parametrize(
    ("frame", "arguments", "error", "told"),
    [
        ({"a": [1]}, {"url": "x"}, ValueError, "such as jdbc:"),
        ({"a": [1]}, {"table": " "}, ValueError, "table is empty"),
        ({"a": [1]}, {"mode": "replace"}, ValueError, "mode must be one of"),
        ({"a": [1]}, {"properties": {"url": "x"}}, ValueError, "parameter of its own"),
        ({"a": [[1, "x"]]}, {}, TypeError, "holds values of list"),
        ({"a": [{"k": 1}]}, {}, TypeError, "holds values of dict"),
        ({"a": [[1.5]]}, {}, TypeError, "holds values of array"),
        ({'a" integer); drop table t; --': [1]}, {}, ValueError, "rename it first"),
        ({"a`": [1]}, {}, ValueError, "rename it first"),
        ({"a]": [1]}, {}, ValueError, "rename it first"),
        ({"a\0": [1]}, {}, ValueError, "rename it first"),
    ],
)
def test_what_cannot_be_written_is_refused_before_spark_starts(
    frame: dict[str, Any], arguments: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told) as raised:
        SFrame(frame).write_jdbc(**{"url": URL, "table": "t", **arguments})
    assert isinstance(raised.value, SFrameError)


def test_requests_as_spark_takes_them() -> None:
    assert _source(JdbcRequest(URL, query="select * from t ; ")) == "(select * from t) sframe_spark_query"
    assert _source(JdbcRequest(URL, "shop.t")) == "shop.t"
    bounds = _bounds(JdbcRequest(URL, "t", column="day", lowerBound=datetime.date(2024, 1, 1), upperBound="2024-02-01", numPartitions=4))
    assert bounds == {"partitionColumn": "day", "lowerBound": "2024-01-01", "upperBound": "2024-02-01", "numPartitions": "4"}
    assert options_of(URL, {"fetchsize": 5, "pushDownLimit": True}) == {"fetchsize": "5", "pushDownLimit": "true"}


def test_messages_have_no_passwords() -> None:
    from py4j.protocol import Py4JError

    url, options = f"{URL}?token=abcdef", {"user": "ann", "password": "open sesame"}
    with pytest.raises(ExecutionError) as told, errors_of_database(url, options):
        raise Py4JError(f"java.sql.SQLException: {url} refuses ann with open sesame\n\tat org.x")
    assert str(told.value) == "the database cannot be used: ... refuses ann with ..."
    with pytest.raises(ExecutionError, match=r"No suitable driver: put the driver's jar into spark\.jars"), errors_of_database(url, options):
        raise Py4JError("An error occurred.\n: java.sql.SQLException: No suitable driver\n\tat java")


def test_other_doors_name_this_one() -> None:
    with pytest.raises(AttributeError, match=r"SFrame\.read_jdbc\(\)"):
        SFrame.from_sql("jdbc:x", "select 1")


@pytest.fixture
def database(spark: Any, request: pytest.FixtureRequest) -> str:
    keep_quiet(user_session())
    return address("".join(filter(str.isalnum, request.node.name)))


@pytest.fixture
def written(database: str) -> tuple[str, SFrame]:
    frame = SFrame(
        {
            "id": [number * 7 % ROWS for number in range(ROWS)],
            "half": [None if number % 11 == 0 else number / 2 for number in range(ROWS)],
            "name": [None if number % 13 == 0 else f'"row" {number % 50} ü' for number in range(ROWS)],
            "moment": [datetime.datetime(2024, 3, 31, 2, 30) + datetime.timedelta(minutes=number, microseconds=number) for number in range(ROWS)],
        }
    )
    frame.write_jdbc(database, "shop")
    return database, frame


def plain_rows(frame: SFrame) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in frame]


@pytest.mark.spark
def test_values_are_as_they_were_in_the_order_that_is_named(written: tuple[str, SFrame]) -> None:
    url, frame = written
    found = SFrame.read_jdbc(url, "shop", order_by="id")
    assert found.column_names() == ["half", "id", "moment", "name"] and found.column_types() == [float, int, datetime.datetime, str]
    assert plain_rows(found) == plain_rows(frame.sort("id"))


@pytest.mark.spark
@pytest.mark.parametrize(
    "ways",
    [
        {"column": "id", "lowerBound": 100, "upperBound": 800, "numPartitions": 3},
        {"predicates": ['"id" < 10', '"id" >= 10 and "id" < 990', '"id" >= 990']},
        {"properties": {"fetchsize": 7, "driver": DRIVER}},
    ],
)
def test_however_many_tasks_read_the_rows_are_the_same(ways: dict[str, Any], written: tuple[str, SFrame]) -> None:
    url, _ = written
    order: Any = [("name", False), ("half", True)]
    with config.using(default_segments=3):
        found = SFrame.read_jdbc(url, "shop", order_by=order, **ways)
        assert plain_rows(found) == plain_rows(SFrame.read_jdbc(url, "shop", order_by=order))
    assert len(found) == ROWS


@pytest.mark.spark
def test_queries_are_asked_and_what_is_not_used_stays(written: tuple[str, SFrame]) -> None:
    url, frame = written
    asked = 'select mod("id", 10) as "key", sum("half") as "total" from shop group by mod("id", 10);'
    frame["key"] = frame["id"] % 10
    wanted = frame.groupby("key", {"total": aggregate.SUM("half")}).sort("key", ascending=False)
    assert plain_rows(SFrame.read_jdbc(url, query=asked, order_by=[("key", False)])) == plain_rows(wanted)
    with pytest.raises(ValueError, match="no column"):
        SFrame.read_jdbc(url, "shop", order_by="nothing")


@pytest.mark.spark
def test_modes(database: str) -> None:
    first, second = SFrame({"n": [1, 2]}), SFrame({"n": [3]})
    first.write_jdbc(database, "t", properties={"numPartitions": 1})
    with pytest.raises(ExecutionError, match="already exists"):
        second.write_jdbc(database, "t")
    second.write_jdbc(database, "t", mode="ignore")
    second.write_jdbc(database, "t", mode="append")
    assert list(SFrame.read_jdbc(database, "t", order_by="n")["n"]) == [1, 2, 3]
    second.write_jdbc(database, "t", mode="overwrite")
    assert list(SFrame.read_jdbc(database, "t", order_by="n")["n"]) == [3]


@pytest.mark.spark
def test_refusals_are_one_line(database: str) -> None:
    SFrame({"n": [1]}).write_jdbc(database, "t")
    for ask in (
        lambda: SFrame.read_jdbc(database, "nothing", order_by="n"),
        lambda: SFrame.read_jdbc(database, query="select nothing from t", order_by="n"),
        lambda: SFrame.read_jdbc("jdbc:derby:memory:absent", "t", order_by="n"),
        lambda: SFrame.read_jdbc("jdbc:nobody://host/x?password=secret", "t", order_by="n"),
        lambda: SFrame.read_jdbc(database, "t", order_by="n", properties={"driver": "no.such.Driver"}),
        lambda: SFrame.read_jdbc(database, "t", column="z", lowerBound=1, upperBound=2, numPartitions=2, order_by="n"),
        lambda: SFrame({"x": ["a"]}).write_jdbc(database, "t", mode="append"),
    ):
        with pytest.raises(ExecutionError, match="the database cannot be used: ") as told:
            ask()
        assert "\n" not in str(told.value) and "secret" not in str(told.value) and "\tat " not in str(told.value)


@pytest.mark.spark
def test_a_table_is_read_once(written: tuple[str, SFrame]) -> None:
    """What is written later is in no frame of before."""
    url, _ = written
    found = SFrame.read_jdbc(url, "shop", order_by="id")
    first = found["id"][0]
    SFrame({"id": [-5], "half": [0.5], "name": ["late"], "moment": [datetime.datetime(2024, 1, 1)]}).write_jdbc(url, "shop", mode="append")
    assert (found["id"][0], len(found)) == (first, ROWS)
    assert SFrame.read_jdbc(url, "shop", order_by="id")["id"][0] == -5
