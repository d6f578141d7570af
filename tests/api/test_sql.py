"""Spark SQL over frames: rows, their order, names, what stays behind, and what is told of a wrong query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SFrame, config
from sframe_spark.api.interchange.to_spark import require_view_name
from sframe_spark.api.sql import require_distinct_names, require_query
from sframe_spark.errors import InvalidArgumentError, SchemaError, SFrameError
from sframe_spark.session.session import get_base
from sframe_spark.session.users_own_spark_session import clone_of, in_session, user_session

ODD = {"a.b": [3, 1, 2], "c d": ["x", "y", "z"], "e`f": [1.5, 2.5, 3.5], "日本": [1, 2, 3]}


@pytest.mark.spark
@pytest.mark.parametrize("where", ["driver", "spark"])
def test_rows_of_a_query(spark: Any, where: str) -> None:
    trades = SFrame({"user": ["ann", "bob", "ann"] * 40, "lots": range(120)})
    with config.using(small_rows=0 if where == "spark" else config.small_rows):
        found = sframe_spark.sql("SELECT user, sum(lots) AS n FROM trades WHERE lots < 6 GROUP BY user ORDER BY n", trades=trades)
        assert [tuple(row.values()) for row in found] == [("bob", 5), ("ann", 10)]
        ordered = sframe_spark.sql("SELECT lots FROM trades ORDER BY -lots", trades=trades)
        assert list(ordered.head(3)["lots"]) == [119, 118, 117]
        assert list(ordered["lots"]) == list(range(119, -1, -1)) and ordered["lots"][119] == 0


@pytest.mark.spark
def test_names_of_columns_and_of_frames(spark: Any) -> None:
    odd, user = SFrame(ODD), get_base()
    df = user.range(3)
    found = sframe_spark.sql("SELECT `a.b`, `c d`, `e``f`, `日本`, id FROM odd JOIN d ON `a.b` = id + 1 ORDER BY id", odd=odd, d=df)
    assert found.column_names() == [*ODD, "id"] and list(found["a.b"]) == [1, 2, 3]
    assert list(sframe_spark.sql("SELECT count(*) AS n FROM `größe`, x", größe={"a": [1, 2]}, x=odd)["n"]) == [6]


@pytest.mark.spark
def test_it_runs_as_in_the_session_of_the_user_and_leaves_nothing_there(spark: Any) -> None:
    user = get_base()
    user.udf.register("thrice_here", lambda value: 3 * value, "bigint")
    user.sql("SELECT 'theirs' AS whose").createOrReplaceTempView("frame_here")
    try:
        before = {table.name for table in user.catalog.listTables()}
        found = sframe_spark.sql("SELECT thrice_here(a) AS a FROM frame_here ORDER BY a", frame_here=SFrame({"a": [2, 1]}))
        assert list(found["a"]) == [3, 6]
        assert {table.name for table in user.catalog.listTables()} == before
        assert list(sframe_spark.sql("SELECT whose FROM frame_here")["whose"]) == ["theirs"]
        SFrame({"a": [2, 1]}).register_view("frame_here")
        assert user.sql("SELECT sum(a) FROM frame_here").first()[0] == 3
    finally:
        user.catalog.dropTempView("frame_here")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FORM t", r"Syntax error at or near 't'.*line 1, pos 14"),
        ("SELECT b FROM t", r"`b` cannot be resolved.*`a`.*line 1,? pos 7"),
        ("SELECT * FROM trades", r"`trades` cannot be found.*frames given are 't'"),
        ("SELECT (a\nFROM t", r"Syntax error.*line 2, pos \d+"),
    ],
)
def test_what_is_told_of_a_wrong_query(spark: Any, query: str, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told) as caught:
        sframe_spark.sql(query, t=SFrame({"a": [1]}))
    assert "\n" not in str(caught.value) and "SQLSTATE" not in str(caught.value) and "== SQL" not in str(caught.value)


@pytest.mark.spark
def test_columns_that_no_frame_holds(spark: Any) -> None:
    with pytest.raises(SFrameError, match="'a'"):
        sframe_spark.sql("SELECT a, a FROM t", t=SFrame({"a": [1]}))
    with pytest.raises(SchemaError, match="'year'"):
        sframe_spark.sql("SELECT interval 1 month AS year")


@pytest.mark.parametrize("query", ["", "  ", "DROP TABLE t", "-- SELECT\nSET a=b", "/* SELECT */ CREATE TEMP VIEW v AS SELECT 1", "; SELECT 1"])
def test_other_statements_are_refused(query: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"spark\.sql\(\)"):
        sframe_spark.sql(query)


@pytest.mark.spark
@pytest.mark.parametrize(
    "statement",
    [
        "WITH t AS (SELECT 1 AS z) INSERT INTO changed_here SELECT * FROM t",
        "FROM (SELECT 1 AS z) INSERT INTO changed_here SELECT *",
        "/* a */ with t AS (SELECT 1 AS z)\nFROM t insert OVERWRITE changed_here SELECT z; ",
    ],
)
def test_statements_that_begin_like_queries_change_nothing(spark: Any, statement: str, tmp_path: Path) -> None:
    user = get_base()
    user.sql(f"CREATE TABLE changed_here (z INT) USING parquet LOCATION '{tmp_path}/rows'")
    try:
        with pytest.raises(InvalidArgumentError, match=r"(?i)insert.*spark\.sql\(\)"):
            sframe_spark.sql(statement)
        assert user.table("changed_here").count() == 0
    finally:
        user.sql("DROP TABLE changed_here")
    found = sframe_spark.sql("WITH t AS (SELECT 'insert' AS `update`) SELECT `update` FROM t ORDER BY 1; ")
    assert list(found["update"]) == ["insert"]


def test_names_are_checked_before_anything_runs() -> None:
    for name in ("", "a b", "a`b", "a;b", "1a", "x" * 200, "a\n"):
        with pytest.raises(InvalidArgumentError, match="name of a view"):
            sframe_spark.sql("SELECT 1", **{name: SFrame({"a": [1]})})
        with pytest.raises(InvalidArgumentError, match="name of a view"):
            SFrame({"a": [1]}).register_view(name)
    with pytest.raises(InvalidArgumentError, match="'T' and 't' are the same name"):
        require_distinct_names({"T": 1, "t": 2})
    with pytest.raises(SchemaError, match="takes a query as a str, got int"):
        require_query(3)
    require_query("-- a comment\n/* two\nlines */ ( ( select 1) )")
    require_view_name("größe_2")


@pytest.mark.spark
def test_what_spark_tells_of_a_frame(spark: Any) -> None:
    told = sframe_spark.sql("DESCRIBE t", t=SFrame({"a": [1], "b": ["x"]}))
    assert list(told["col_name"]) == ["a", "b"] and list(told["data_type"]) == ["bigint", "string"]


@pytest.mark.spark
def test_a_command_runs_once(spark: Any, tmp_path: Path) -> None:
    user = user_session()
    user.sql(f"CREATE TABLE runs_once (a BIGINT) USING parquet LOCATION '{tmp_path / 'table'}'")
    try:
        with clone_of(user) as session:
            assert in_session(session.sql("INSERT INTO runs_once VALUES (1)"), user).collect() == []
        assert user.table("runs_once").count() == 1
    finally:
        user.sql("DROP TABLE runs_once")
