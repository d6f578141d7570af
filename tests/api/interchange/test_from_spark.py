"""A frame of a Spark DataFrame is the frame of its Arrow table: types, values and refusals are the same by both doors."""

from __future__ import annotations

import array
import datetime
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.api.interchange import from_spark
from sframe_spark.config import config
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, NotSharedError, SchemaError, SFrameError
from sframe_spark.session.spark_start_and_settings import WORKER_PYTHON
from sframe_spark.session.spark_versions import to_arrow
from tests.examples import part
from tests.needs import CALENDAR_INTERVALS, PANDAS_API, TIMES_OF_DAY, VARIANTS, cases, has, needs

# Decimals of more digits than floats hold are told of.
pytestmark = pytest.mark.filterwarnings("ignore::sframe_spark.errors.InexactDecimalWarning")

HELD = [
    "true", "cast(1 as tinyint)", "cast(1 as smallint)", "1", "9223372036854775807L", "cast(3.5 as float)", "2.5D",
    "cast(12345.25 as decimal(38,2))", "cast(9007199254740992 as decimal(20,0))", "cast('NaN' as double)", "cast('inf' as float)",
    "cast(null as void)", "'a'", "''", "'é\\n\"'", "cast('x' as varchar(5))", "cast('x' as char(3))", "X'61'", "date'1400-01-01'", "date'2020-02-03'",
    "timestamp_ntz'9999-12-31 23:59:59'", "timestamp_ntz'0001-01-01 00:00:00'", "timestamp'2020-07-01 12:30:00.000001'", "time'10:00:00.25'",
    "interval '1 02:03:04.5' day to second", "array(null)", "array(true,false)", "array(1,null)", "array(1.5D,null)",
    "array(cast(1.5 as decimal(10,2)))", "array('a',null)", "array('1','2')", "array(date'2020-01-01')", "array(timestamp_ntz'2020-01-01 00:00:00')",
    "array(timestamp'2020-01-01 00:00:00')", "array(array(1,2),array())", "array(array('1'))", "array(named_struct('x',1,'y','b'))", "array(X'61')",
    "map('a',1)", "map('a','1')", "map('a',true)", "map('a',array(1))", "map('a',array('1'))", "map('a',map('b',1))", "map(1,'x')",
    "map(1,2.5D)", "map(1.5D,2)", "map('a',cast(null as int))", "map(date'2020-01-01',1)", "map('a',timestamp'2020-01-01 00:00:00')",
    "named_struct('a',1)", "named_struct('a','1')", "named_struct('a',1,'b','x')", "named_struct('a',cast('NaN' as double))",
    "named_struct('a',named_struct('b',array('1')))",
]  # fmt: skip
REFUSED = [
    "interval 1 month",
    "make_interval(1,2)",
    "X'00ff'",
    "array(X'ff')",
    "map(array(1), 2)",
    "array(map(named_struct('a', 1), 2))",
]


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_every_type_is_as_in_its_arrow_table(spark: Any, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.timeType.enabled", "true")
    try:
        held = [text for text in HELD if has(TIMES_OF_DAY) or not text.startswith("time'")]
        values = ", ".join(f"{text} AS v{number}" for number, text in enumerate(held))
        missing = ", ".join(f"null AS v{number}" for number in range(len(held)))
        df = spark.sql(f"SELECT 1 AS place, {values}")
        frame, table = SFrame(df.unionAll(spark.sql(f"SELECT 2, {missing}"))).sort("place"), SFrame(to_arrow(df))
        assert set(list(frame)[1].values()) == {2, None}
        frame = frame.head(1)
        found, expected = ({text: side[f"v{number}"] for number, text in enumerate(held)} for side in (frame, table))
        assert {text: column.dtype for text, column in found.items()} == {text: column.dtype for text, column in expected.items()}
        # Equal moments may have other offsets, which are shown, and by which a join tells them apart; NaN is not equal to itself.
        pairs = {text: (repr(list(column)), repr(list(expected[text]))) for text, column in found.items()}
        assert {text: (ours, arrow) for text, (ours, arrow) in pairs.items() if ours != arrow} == {}
        with config.using(small_rows=0):
            assert len(SFrame(df.where("place > 5"))) == 0
            assert list(SFrame(df).sort("place")["place"]) == [1]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
        spark.conf.unset("spark.sql.timeType.enabled")


MOMENTS = """SELECT explode(array(timestamp'2021-11-07 00:30:00', timestamp'2021-11-07 01:30:00', timestamp'1850-01-01 00:00:00',
timestamp'1582-10-10 00:00:00', timestamp'0001-01-01 00:00:00', null)) AS t"""
HOLDERS = ["t", "array(t)", "map('k', t)", "map(coalesce(t, timestamp'2020-01-01 00:00:00'), 1)", "named_struct('a', t, 'b', 1)"]


def shown(made_of: Any) -> list[str]:
    """All rows of a frame, or that it is refused."""
    try:
        return list(map(repr, SFrame(made_of)))
    except DateTimeRangeError:
        return ["refused"]


@pytest.mark.spark
def test_moments_are_those_of_the_arrow_table_whatever_the_sessions_zone(spark: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        moments = spark.sql(MOMENTS)
        held = moments.selectExpr(*[f"{text} AS h{number}" for number, text in enumerate(HOLDERS)])
        table = to_arrow(held)
        assert sorted(shown(held)) == sorted(shown(table)) != ["refused"]
        assert len(SFrame(moments).join(SFrame(to_arrow(moments)), on="t")) == 6
        # Within the years that Python shows in one zone, but not in the other: both refuse it.
        far = spark.sql("SELECT timestamp'9999-12-31 23:59:59.999999' AS t")
        for text in HOLDERS:
            df = far.selectExpr(f"{text} AS t")
            assert shown(df) == shown(to_arrow(df)) == ["refused"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture
def no_times(spark: Any) -> Any:
    """Spark as it is where nobody lets it compute with times of day."""
    if not has(TIMES_OF_DAY):
        pytest.skip(f"needs {TIMES_OF_DAY}")
    name = "spark.sql.timeType.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    yield spark
    spark.conf.set(name, before)


@pytest.mark.spark
@pytest.mark.parametrize("text", ["time'12:34:56.789'", "array(time'12:34:56')", "map('a', named_struct('b', time'01:02:03'))"])
def test_what_spark_does_not_compute_with_is_told_by_its_column(no_times: Any, spark: Any, text: str) -> None:
    df = spark.sql(f"SELECT 1 AS first, {text} AS `a ``column`, 2 AS `A ``COLUMN`")
    with pytest.raises(SchemaError, match=r"column 'a `column': Spark cannot compute with .*time\(6\).* values: .*set spark\.sql\.timeType"):
        SFrame(df)


@pytest.mark.spark
def test_which_of_many_columns_spark_refuses_is_found_in_few_questions(no_times: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    inner = from_spark._analysed

    def counted(df: Any, columns: Any) -> Any:
        asked.append(len(columns))
        return inner(df, columns)

    monkeypatch.setattr(from_spark, "_analysed", counted)
    for place in (0, 37, 63):
        columns = [
            f"{'time' if k == place else 'interval'} {chr(39)}01:02:03{chr(39)} {'' if k == place else 'hour to second'} AS v{k}" for k in range(64)
        ]
        df = spark.sql(f"SELECT {', '.join(columns)}")
        asked.clear()
        with pytest.raises(SchemaError, match=f"column 'v{place}': Spark cannot compute"):
            SFrame(df)
        assert asked == [64, 32, 16, 8, 4, 2, 1]


@pytest.mark.spark
def test_columns_of_native_types_take_no_conversation_each(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    day, moment = "date'2020-02-29'", "timestamp'2020-02-29 01:02:03Z'"
    kinds = ["id", "array(id, null)", "array(2.5D, null)", "map('k', id)", day, moment, "cast(1.5 as decimal(3,1))", "'s'"]
    df = spark.range(2).selectExpr(*[f"{text} AS v{number}" for number, text in enumerate(kinds)])
    monkeypatch.setattr(F, "col", None)
    assert SFrame(df).column_types() == [int, list, array.array, dict, datetime.datetime, datetime.datetime, float, str]


@pytest.mark.spark
@pytest.mark.parametrize("text", part(["{}", "array({})", "map('k', {})", "array(array({}))"], 2))
def test_texts_of_spark_that_are_none_are_told(spark: Any, text: str) -> None:
    df = spark.range(2).selectExpr("id", text.format("cast(X'61ff' as string)") + " AS v")
    with pytest.raises(SFrameError, match="UTF-8"):
        list(SFrame(df).sort("id")["v"])


@pytest.mark.spark
def test_nested_values_of_nothing(spark: Any) -> None:
    frame = SFrame(spark.sql("SELECT array() AS a, array(array()) AS b, map('k', array()) AS c"))
    assert list(frame) == [{"a": [], "b": [[]], "c": {"k": []}}]


@pytest.mark.spark
@pytest.mark.parametrize("text", cases(REFUSED, {"make_interval": CALENDAR_INTERVALS}))
def test_what_no_column_holds_is_refused(spark: Any, text: str) -> None:
    df = spark.sql(f"SELECT {text} AS `the column`")
    with pytest.raises(SFrameError, match=r"cannot hold|not UTF-8|cannot have lists or dicts as keys") as caught:
        list(SFrame(df)["the column"])
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.spark
def test_two_columns_of_one_name_are_refused(spark: Any) -> None:
    tables = {"spark": spark.sql("SELECT 1 AS x, 2 AS x, 3 AS y"), "arrow": pa.table([[1], [2], [3]], names=["x", "x", "y"])}
    frames = {"pandas": pd.DataFrame([[1, 2, 3]], columns=["x", "x", "y"]), "numbers": pd.DataFrame([[1, 2]], columns=[1, "1"])}
    for made_of in (*tables.values(), *frames.values()):
        with pytest.raises(ValueError, match=r"several columns are named '[x1]': rename them first"):
            SFrame(made_of)


@pytest.mark.spark
def test_group_columns_stay_whatever_the_user_has_set(spark: Any) -> None:
    spark.conf.set("spark.sql.retainGroupColumns", "false")
    try:
        with config.using(small_rows=0):
            found = SFrame({"k": [1, 1, 2], "v": [1, 2, 3]}).groupby("k", {"s": aggregate.SUM("v")})
            assert [(row["k"], row["s"]) for row in found.sort("k")] == [(1, 3), (2, 3)]
    finally:
        spark.conf.unset("spark.sql.retainGroupColumns")


@pytest.mark.spark
def test_what_else_spark_has_is_refused_by_its_class(spark: Any) -> None:
    from pyspark.sql import Row, functions as F

    df = spark.range(3)
    for given, name in ((df.groupBy("id"), "GroupedData"), (F.col("id"), "Column"), (spark, "SparkSession"), (df.schema, "StructType")):
        with pytest.raises(SchemaError, match=rf"cannot be made of pyspark\..*{name}: pass a DataFrame"):
            SFrame(given)
    with pytest.raises(InvalidArgumentError, match="a frame cannot be made of a stream, which has no end"):
        SFrame(spark.readStream.format("rate").load())
    assert list(SFrame(Row(a=1, b=2))["X1"]) == [1, 2]


@pytest.mark.spark
@needs(PANDAS_API)
def test_frames_of_pyspark_pandas_are_refused(spark: Any) -> None:
    pytest.importorskip("pyspark.pandas", reason="it imports pandas 2 only", exc_type=ImportError)
    with pytest.raises(SchemaError, match=r"pandas.*DataFrame: pass its to_pandas\(\), whose rows are in order"):
        SFrame(spark.range(3).pandas_api())


@pytest.mark.spark
def test_columns_of_spark_are_no_columns_of_a_frame(spark: Any) -> None:
    from pyspark.sql import functions as F

    frame = SFrame({"a": [1, 2]})
    uses: list[Any] = [
        lambda column: frame.__setitem__("b", column),
        lambda column: frame.add_column(column, "b"),
        lambda column: frame[column],
        lambda column: frame["a"][column],
        lambda column: frame["a"] + column,
        lambda column: SArray(column),
        lambda column: SFrame({"a": column}),
        lambda column: frame.filter_by(column, "a"),
        lambda column: frame["a"].is_in(column),
    ]
    for use in uses:
        with pytest.raises(SFrameError, match=r"Column"):
            use(F.col("a") > 3)
    with pytest.raises(SchemaError, match=r"a Spark Column holds no values: use .* sf\['name'\], or work on sf.to_spark\(\)"):
        frame["b"] = F.col("a")
    assert frame.column_names() == ["a"]


@pytest.mark.spark
def test_errors_tell_which_dataframe_they_are_of_and_the_reason(spark: Any) -> None:
    text = "SELECT id AS `the\nid`, if(id < 5, id, raise_error('no such row')) AS `v,w` FROM range(9)"
    of = r"a DataFrame of the columns 'the\\nid', 'v,w'"
    for use, told in (
        (len, f"materialising the rows of {of}: no such row"),
        (lambda sf: list(sf[sf["v,w"] > 3]), f"materialising (filter_rows|the rows) of {of}"),
        (lambda sf: sf.groupby("v,w", {"n": aggregate.COUNT()}).materialize(), f"(computing|materialising) .* of {of}"),
    ):
        with pytest.raises(SFrameError, match=told) as caught:
            use(SFrame(spark.sql(text)))
        assert "spark_source" not in str(caught.value) and "no such row" in str(caught.value)
    wide = spark.range(1).selectExpr(*[f"id AS c{place}" for place in range(8)], f"raise_error('wide') AS `{'x' * 100}`")
    with pytest.raises(SFrameError, match=r"of the columns 'c0', 'c1', 'c2', 'c3', 'c4' and 4 more: wide"):
        len(SFrame(wide))


@pytest.mark.spark
def test_functions_of_ours_start_our_python_in_a_users_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a notebook's Python is not the `python3` of the PATH, a user's Spark starts another one, without our packages.
    other, another = spark.newSession(), "/no/such/python3"
    other.conf.unset(WORKER_PYTHON)
    ddl = "l array<string>, m map<string,int>, s struct<p:int,q:string>"
    nested = other.createDataFrame([(["a"], {"x": 1}, (1, "z")), (None, None, None)], ddl).coalesce(1)
    # Rows that the user gives are made by the Python that was named before.
    monkeypatch.setattr(spark.sparkContext, "pythonExec", another)
    expected = {"l": ["a"], "m": {"x": 1}, "s": {"p": 1, "q": "z"}}
    assert "'z'" in str(SFrame(nested)) and list(SFrame(nested)) == [expected, dict.fromkeys("lms")]
    if has(VARIANTS):
        assert list(SFrame(other.sql("select parse_json('[1]') as v"))["v"]) == [[1]]
    assert spark.sparkContext.pythonExec == another


@pytest.mark.spark
def test_a_python_without_our_packages_is_told_at_the_first_rows(spark: Any, tmp_path: Path) -> None:
    bare = tmp_path / "python3"
    # Without the packages of its environment, but with PySpark, which Spark brings in archives.
    archives = "PYTHONPATH=$(printf %s \"$PYTHONPATH\" | tr : '\\n' | grep -E 'zip$|worker_daemon$' | paste -sd:)"
    bare.write_text(f'#!/bin/sh\nexport {archives}\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    other = spark.newSession()
    other.conf.set(WORKER_PYTHON, str(bare))
    frame = SFrame(other.sql("select named_struct('p', 1, 'q', 'z') as s"))
    with pytest.raises(NotSharedError, match=r"this package needs \w+ in the Python of Spark's workers: .*PYSPARK_PYTHON"):
        str(frame)
