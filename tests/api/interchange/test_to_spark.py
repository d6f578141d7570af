"""Frames go to Spark in the user's own session, with Spark's own types, and whatever that session's settings are with the same rows."""

from __future__ import annotations

import array
import datetime
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe
from sframe_spark.api.interchange.to_spark import to_spark_within
from sframe_spark.session import get_session
from sframe_spark.session.session import get_base
from sframe_spark.session.spark_start_and_settings import WORKER_PYTHON
from sframe_spark.values.spark_variant_decoding_and_json import variant_text
from tests.examples import examples

UTC, INDIA = datetime.UTC, datetime.timezone(datetime.timedelta(hours=5, minutes=30))
DATA: dict[str, list[Any]] = {
    "moment": [
        datetime.datetime(2024, 3, 10, 2, 30, tzinfo=UTC),
        None,
        datetime.datetime(1, 1, 2, 0, 0, 0, 1, tzinfo=UTC),
        datetime.datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=INDIA),
    ],
    "clock": [datetime.datetime(2024, 3, 10, 2, 30), datetime.datetime(1, 1, 1), None, datetime.datetime(1500, 1, 1, 1, 1, 1, 7)],
    "list": [[1, "a", 1.5, None], [], None, [datetime.datetime(2020, 1, 1), {"x": "y"}]],
    "dict": [{"a": 1, 2: "x"}, {}, None, {"q": [1, {"z": None}]}],
    "array": [array.array("d", [1, 2.5]), array.array("d"), None, array.array("d", [math.inf])],
    "map": [{"a": 1}, {"b": 2}, None, {"c": None}],
    "texts": [["a"], [], None, ["b", None]],
    "odd `name`, with. dots": [1, 2, 3, None],
    "text": ["a", "12", None, "é"],
    "number": [1.5, math.nan, None, -0.0],
}
HOSTILE = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.caseSensitive": "false",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.legacy.doLooseUpcast": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ColumnPruning",
    "spark.sql.sources.useV1SourceList": "",
    "spark.sql.codegen.wholeStage": "false",
}


@pytest.fixture
def user(spark: Any) -> Iterator[Any]:
    """The session beside which ours are."""
    yield get_base()


@pytest.fixture
def hostile(user: Any) -> Iterator[Any]:
    """A user's session with settings that would change results of ours."""
    before = {key: user.conf.get(key, None) for key in HOSTILE}
    for key, value in HOSTILE.items():
        user.conf.set(key, value)
    yield user
    for key, old in before.items():
        if old is None:
            user.conf.unset(key)
        else:
            user.conf.set(key, old)


def expected(name: str, value: Any) -> Any:
    """What Spark gives of a value, in the form in which the tests read it."""
    if value is None:
        return None
    if name in ("list", "dict"):
        return json.loads(variant_text(value))
    if name == "moment":
        return (value - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)
    return list(value) if name == "array" else repr(value) if name == "number" else value


def rows_of(df: Any, names: list[str]) -> list[dict[str, Any]]:
    """The rows of a DataFrame of these columns."""
    from pyspark.sql import functions as F

    read: dict[str, Any] = {"moment": F.unix_micros, "list": F.to_json, "dict": F.to_json}
    columns = [read.get(name, lambda column: column)(df[f"`{name.replace('`', '``')}`"]).alias(f"v{n}") for n, name in enumerate(names)]
    made: dict[str, Any] = {"list": json.loads, "dict": json.loads, "number": repr}
    return [
        {name: value if value is None else made.get(name, lambda v: v)(value) for name, value in zip(names, row, strict=True)}
        for row in df.select(*columns).collect()
    ]


def frames(place: Path) -> dict[str, SFrame]:
    """The same rows as a table in memory, a saved frame, and what queries and tasks of ours make."""
    frame = SFrame(DATA)
    frame.save(str(place / "saved"))
    saved = load_sframe(str(place / "saved"))
    frame["place"] = range(4)
    with config.using(small_rows=0):
        made = frame.append(frame[:0]).sort("place", ascending=False).sort("place").remove_column("place")
    return {"memory": SFrame(DATA), "saved": saved, "query": made}


@pytest.mark.spark
def test_rows_and_types_are_the_same_under_hostile_settings(hostile: Any, tmp_path: Path) -> None:
    rows = [{name: expected(name, DATA[name][place]) for name in DATA} for place in range(4)]
    types = {
        "moment": "timestamp", "clock": "timestamp_ntz", "list": "variant", "dict": "variant", "array": "array<double>", "map": "map<string,bigint>",
        "texts": "array<string>", "odd `name`, with. dots": "bigint", "text": "string", "number": "double",
    }  # fmt: skip
    for kind, frame in frames(tmp_path).items():
        df = frame.to_spark()
        assert df.sparkSession is hostile, kind
        assert {field.name: field.dataType.simpleString() for field in df.schema.fields} == types
        assert rows_of(df, list(DATA)) == rows, kind


@pytest.mark.spark
def test_expressions_of_ours_keep_their_meaning(hostile: Any, tmp_path: Path) -> None:
    frame = SFrame({"a": [2**62, 3, None], "t": ["1", "x", "9" * 30], "f": [1.5, 1e300, math.nan], "A": [1, 2, 3]})
    frame.save(str(tmp_path / "saved"))
    frame = load_sframe(str(tmp_path / "saved"))
    with config.using(small_rows=0, single_task_rows=0):
        frame["twice"] = frame["a"] + frame["a"]
        frame["int"] = frame["t"].astype(int, undefined_on_failure=True)
        frame["half"] = frame["A"] / 0
        made = [tuple(row.values()) for row in frame.sort("A", ascending=False)]
        found = [tuple(row) for row in frame.sort("A", ascending=False).to_spark().collect()]
    assert list(map(repr, found)) == list(map(repr, made))


@pytest.mark.spark
def test_it_belongs_to_the_session_that_is_active(user: Any) -> None:
    from pyspark.sql import SparkSession, functions as F

    frame = SFrame({"a": [3, 1, 2], "b": ["x", "y", "z"]})
    df = frame.to_spark()
    assert df.sparkSession is user and user is not get_session()
    user.udf.register("plus_one_here", lambda value: value + 1, "bigint")
    user.range(3).createOrReplaceTempView("numbers_here")
    try:
        df.createOrReplaceTempView("frame_here")
        assert [row[0] for row in user.sql("SELECT plus_one_here(a) FROM frame_here JOIN numbers_here ON a = id ORDER BY a").collect()] == [2, 3]
        assert user.sql("SELECT sum(a) FROM {d}", d=df).first()[0] == 6
        assert df.join(df.select("a"), "a").count() == 3
    finally:
        for view in ("frame_here", "numbers_here"):
            user.catalog.dropTempView(view)
    other = user.newSession()
    other.conf.set("spark.sql.ansi.enabled", "false")
    try:
        # Which makes it the active one.
        other.createDataFrame([(1,)], "a int")
        assert SparkSession.active() is other
        theirs = frame.to_spark()
        assert theirs.sparkSession is other and SparkSession.active() is other
        assert theirs.select(F.col("b").cast("int")).first()[0] is None
    finally:
        user.createDataFrame([(1,)], "a int")
    assert SparkSession.active() is user and frame.to_spark().sparkSession is user


@pytest.mark.spark
def test_settings_of_the_user_are_those_of_what_is_built_on_it(user: Any) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    df = SFrame({"b": ["x"]}).to_spark()
    before = user.conf.get("spark.sql.ansi.enabled")
    try:
        user.conf.set("spark.sql.ansi.enabled", "true")
        with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
            df.select(F.col("b").cast("int")).collect()
        user.conf.set("spark.sql.ansi.enabled", "false")
        assert df.select(F.col("b").cast("int")).first()[0] is None
    finally:
        user.conf.set("spark.sql.ansi.enabled", before)


@pytest.mark.spark
def test_an_error_of_a_function_of_ours_can_be_read(spark: Any) -> None:
    with config.using(small_rows=0, single_task_rows=0):
        df = SFrame({"d": [{1: "a", "1": "b"}, {"x": 1}]}).to_spark()
    with pytest.raises(Exception, match="the keys 1 and '1' of a dict are both '1' as texts"):
        df.collect()


@pytest.mark.spark
def test_a_count_neither_sorts_nor_calls_python(user: Any, tmp_path: Path) -> None:
    SFrame({"a": range(1000), "l": [[1, "a"]] * 1000}).save(str(tmp_path / "saved"))
    df = load_sframe(str(tmp_path / "saved")).to_spark()
    counted = df.groupBy().count()
    plan = counted._jdf.queryExecution().executedPlan().toString()
    assert counted.first()[0] == 1000
    assert [word for word in ("Sort", "Python", "rangepartitioning") if word in plan] == []
    assert "Sort" in df._jdf.queryExecution().executedPlan().toString()


@pytest.mark.spark
def test_a_dataframe_goes_out_as_it_came_in(user: Any) -> None:
    df = user.range(1000).selectExpr("id", "cast(id AS string) AS t", "timestamp_seconds(id) AS m")
    frame = SFrame(df)
    kept = frame[frame["id"] < 1000]
    kept["more"] = kept["id"] + 1
    assert kept.to_spark().where("id = 7").collect()[0][-1] == 8 and frame._node.operator_type == "spark_source"
    out = frame[["m", "id"]].to_spark()
    plan = out._jdf.queryExecution().executedPlan().toString()
    assert "Python" not in plan and "FileScan" not in plan and "Sort" not in plan
    assert out.dtypes == [("m", "timestamp"), ("id", "bigint")]
    assert out.exceptAll(df.select("m", "id")).count() == 0
    assert frame._node.operator_type == "spark_source"


@pytest.mark.spark
def test_a_dataframe_that_nothing_was_done_to_is_itself(user: Any) -> None:
    df = user.range(10).selectExpr("id", "cast(id AS string) AS t")
    frame = SFrame(df)
    assert frame.to_spark() is df and frame[["id", "t"]].to_spark() is df and frame[["t", "id"]][["id", "t"]].to_spark() is df
    for other in (frame[["t", "id"]], frame[["id"]], frame.rename({"id": "ID"}), frame[frame["id"] < 5]):
        out = other.to_spark()
        assert out is not df and out.columns == other.column_names()
        assert sorted(map(tuple, out.collect())) == sorted(tuple(row.values()) for row in SFrame(out))
    # Columns that are others in our types, and rows that somebody has used in order, are ours.
    assert dict(SFrame(user.sql("SELECT 1 AS i, true AS b, 1.50 AS d")).to_spark().dtypes) == {"i": "bigint", "b": "bigint", "d": "double"}
    assert frame[3] == {"id": 3, "t": "3"} and frame.to_spark() is not df
    assert [row["id"] for row in frame.to_spark().collect()] == list(range(10))


@pytest.mark.spark
def test_a_dataframe_of_another_session_goes_to_the_one_that_is_given(user: Any) -> None:
    other = user.newSession()
    other.conf.set("spark.sql.ansi.enabled", "true")
    df = user.range(3)
    frame = SFrame(df)
    out = to_spark_within(frame._node, frame._names, other)
    assert out.sparkSession is other and out.columns == ["id"] and sorted(row["id"] for row in out.collect()) == [0, 1, 2]
    out.createOrReplaceTempView("of_other")
    assert other.sql("SELECT sum(id) FROM of_other").first()[0] == 3


@pytest.mark.spark
def test_frames_of_one_source_go_out_under_names_of_their_own(user: Any, tmp_path: Path) -> None:
    SFrame({"a": [3, 1, 2], "b": ["x", "y", "z"]}).save(str(tmp_path / "saved"))
    frames = [load_sframe(str(tmp_path / "saved")) for _ in range(3)]
    frames[1] = frames[1].rename({"a": "other", "b": "a"})
    frames[2] = frames[2][["b"]]
    for frame in (*frames, *reversed(frames), *frames):
        assert [row.asDict() for row in frame.to_spark().collect()] == list(frame)


@pytest.mark.spark
def test_expressions_over_a_dataframe_are_ours_too(hostile: Any) -> None:
    frame = SFrame(hostile.range(2**62, 2**62 + 1))
    frame["twice"] = frame["id"] + frame["id"]
    df = frame.to_spark()
    assert df.sparkSession is hostile and df.first()["twice"] == -(2**63) and frame._node.operator_type != "segment_source"


@pytest.mark.spark
def test_a_spark_that_starts_another_python(user: Any) -> None:
    other = user.newSession()
    other.conf.set(WORKER_PYTHON, "/no/such/python3")
    frame = SFrame({"l": [[1, "a"], ["b", None]], "a": [1, 2]})
    df = to_spark_within(frame._node, frame._names, other)
    assert df.sparkSession is other
    assert [tuple(row) for row in df.selectExpr("to_json(l)", "a").collect()] == [('[1,"a"]', 1), ('["b",null]', 2)]


@pytest.mark.spark
def test_values_come_back(spark: Any) -> None:
    kept = {name: values for name, values in DATA.items() if name not in ("list", "dict")}
    frame = SFrame(kept)
    back = SFrame(frame.to_spark())
    assert [repr(row) for row in back[[n for n in kept if n != "moment"]]] == [repr(row) for row in frame[[n for n in kept if n != "moment"]]]
    assert list(back["moment"]) == list(frame["moment"])


MOMENTS = st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29))
COLUMNS = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "str": st.text(st.characters(codec="utf-8"), max_size=5),
    "clock": MOMENTS,
    "moment": MOMENTS.map(lambda moment: moment.replace(tzinfo=INDIA)),
    "array": st.lists(st.floats(), max_size=3).map(lambda values: array.array("d", values)),
    "texts": st.lists(st.text(st.characters(codec="utf-8"), max_size=3), min_size=1, max_size=3),
    "map": st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), st.integers(-9, 9), min_size=1, max_size=3),
}
ROWS = st.lists(st.fixed_dictionaries({name: st.none() | values for name, values in COLUMNS.items()}), min_size=1, max_size=5)


@pytest.mark.spark
@settings(max_examples=examples(10))
@given(ROWS)
def test_any_values_come_back(rows: list[dict[str, Any]]) -> None:
    types = {"clock": datetime.datetime, "moment": datetime.datetime, "array": array.array, "texts": list, "map": dict}
    given_types: dict[str, Any] = {"int": int, "float": float, "str": str, **types}
    full = {name: [row[name] for row in rows] for name in COLUMNS if any(row[name] is not None for row in rows)}
    frame = SFrame({name: SArray(values, None if name in ("texts", "map") else given_types[name]) for name, values in full.items()})
    back = SFrame(frame.to_spark())
    assert back.column_names() == frame.column_names()
    for name, values in full.items():
        same = list(back[name]) == values if name == "moment" else repr(list(back[name])) == repr(list(frame[name]))
        assert same, name


@pytest.mark.spark
def test_frames_without_rows_or_columns(spark: Any) -> None:
    assert SFrame().to_spark().count() == 0
    empty = SFrame({"l": SArray([], list), "z": SArray([], datetime.datetime), "i": SArray([], int)}).to_spark()
    assert empty.collect() == [] and [kind for _, kind in empty.dtypes] == ["bigint", "variant", "timestamp_ntz"]
    assert SFrame({"l": [None, [1, [2]]]}).groupby([], {"n": aggregate.COUNT()}).to_spark().first()[0] == 2


def test_texts_of_variants() -> None:
    assert variant_text({1: True, None: [1e300, 2.0], 2.5: "é\n"}) == '{"1":1,"null":[1e+300,2.0e0],"2.5":"é\\n"}'
    assert variant_text([-math.inf, array.array("d", [-0.0])]) == '["-Infinity",[-0.0e0]]'
