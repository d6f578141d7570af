"""Each of Spark's types has one meaning: a frame of a DataFrame is the frame of its rows written by Spark as Parquet files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate
from sframe_spark.errors import InexactDecimalWarning, SchemaError, SFrameError
from sframe_spark.message_text import visible
from sframe_spark.session.spark_versions import settings_of
from tests.examples import part
from tests.needs import CALENDAR_INTERVALS, TIMES_OF_DAY, VARIANTS, cases, has

# Values of each type at its edges; all other forms are made of them.
VALUES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "127Y"],
    "smallint": ["-32768S", "32767S"],
    "int": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808L", "9223372036854775807L"],
    "float": ["float('NaN')", "float('-inf')", "float('1.17549435E-38')", "float(0.1)", "float('-0.0')"],
    "double": ["double('NaN')", "double('inf')", "4.9E-324D", "0.1D", "-0.0D"],
    "decimal(1,0)": ["9BD", "-9BD"],
    "decimal(18,0)": ["999999999999999999BD", "-999999999999999999BD"],
    "decimal(19,0)": ["9999999999999999999BD", "9007199254740993BD"],
    "decimal(5,2)": ["0.07BD", "-999.99BD"],
    "decimal(15,15)": ["0.000000000000001BD", "0.123456789012345BD"],
    "decimal(38,18)": ["99999999999999999999.999999999999999999BD", "0.1BD"],
    "decimal(38,38)": ["cast('0.00000000000000000000000000000000000001' as decimal(38,38))", "cast('0.3' as decimal(38,38))"],
    "string": ["''", "'1'", "'é\\n\"'", "'null'"],
    "char(3)": ["'x'"],
    "varchar(5)": ["'x'", "''"],
    "binary": ["X'61'", "X''"],
    "date": ["date'0001-01-01'", "date'9999-12-31'", "date'1582-10-15'"],
    "timestamp": ["timestamp'0001-01-02 00:00:00'", "timestamp'9999-12-30 23:59:59.999999'", "timestamp'2021-11-07 01:30:00'"],
    "timestamp_ntz": ["timestamp_ntz'0001-01-01 00:00:00'", "timestamp_ntz'9999-12-31 23:59:59.999999'"],
    "time": ["time'00:00:00'", "time'23:59:59.999999'", "time'10:00:00.25'"],
}
if not has(TIMES_OF_DAY):
    del VALUES["time"]
FORMS: dict[str, str] = {
    "{v}": "{t}",
    "array({v}, null)": "array<{t}>",
    "array({v})": "array<{t}>",
    "map('k', {v}, 'z', null)": "map<string,{t}>",
    "named_struct('a', {v}, 'b', null)": "struct<a:{t},b:{t}>",
    "named_struct('a', {v}, 'c', 'text')": "struct<a:{t},c:string>",
    "array(map('k', named_struct('a', {v})), null, map())": "array<map<string,struct<a:{t}>>>",
    "named_struct('a', array(array({v}, null), array()))": "struct<a:array<array<{t}>>>",
}
KEYS = ("boolean", "tinyint", "int", "bigint", "decimal(5,2)", "decimal(18,0)", "string", "date", "double")
EMPTY = {"array": "array()", "map": "map()"}


def columns_of(kind: str) -> dict[str, list[str]]:
    """For each form of a type the literals of its rows, the missing and the empty one among them."""
    found: dict[str, list[str]] = {}
    for number, (form, whole) in enumerate(FORMS.items()):
        target = whole.format(t=kind)
        cells = [f"cast({form.format(v=f'cast({value} as {kind})')} as {target})" for value in VALUES[kind]]
        empty = [f"cast({EMPTY[target.split('<')[0]]} as {target})"] if target.split("<")[0] in EMPTY else []
        found[f"form {number}"] = [*cells, *empty, f"cast(null as {target})"]
    if kind in KEYS:
        target = f"map<{kind},int>"
        found["key"] = [*[f"cast(map(cast({value} as {kind}), 1) as {target})" for value in VALUES[kind]], f"cast(null as {target})"]
    return found


def frame_of(spark: Any, columns: dict[str, list[str]]) -> Any:
    """A DataFrame of one partition; shorter columns end with missing values."""
    rows = max(map(len, columns.values()))
    lines = [", ".join(f"{cells[min(row, len(cells) - 1)]} AS `{name}`" for name, cells in columns.items()) for row in range(rows)]
    return spark.sql(" UNION ALL ".join(f"SELECT {line}" for line in lines)).coalesce(1)


def shown(sf: SFrame) -> dict[str, tuple[type, str]]:
    """The class and the values of each column, or how it is refused."""
    found: dict[str, tuple[type, str]] = {}
    for name in sf.column_names():
        try:
            found[name] = (sf[name].dtype, repr(list(sf[name])))
        except SFrameError as error:
            found[name] = (type(error), "")
    return found


@pytest.fixture
def times_of_day(spark: Any) -> Any:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")
    spark.conf.unset("spark.sql.session.timeZone")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::sframe_spark.errors.InexactDecimalWarning")
@pytest.mark.parametrize("first", part(range(4), 2))
def test_a_type_is_what_it_is_in_parquet_files(first: int, spark: Any, times_of_day: None, tmp_path: Path) -> None:
    kinds = list(VALUES)[first::4]
    df = frame_of(spark, {f"{kind} {form}": cells for kind in kinds for form, cells in columns_of(kind).items()})
    df.write.parquet(str(tmp_path / "files"))
    found, expected = shown(SFrame(df)), shown(SFrame.read_parquet(str(tmp_path / "files")))
    assert {name: pair for name, pair in found.items() if pair != expected[name]} == {}
    assert list(found) == list(expected) and not [kind for kind, _ in found.values() if issubclass(kind, Exception)]


NATIVE = """boolean|tinyint|bigint|float|double|decimal(18,0)|decimal(38,18)|string|char(3)|date|timestamp|timestamp_ntz|void|array<boolean>
array<int>|array<bigint>|array<float>|array<double>|array<decimal(5,2)>|array<string>|map<string,bigint>|map<int,double>|map<string,string>|struct<a:string>
struct<a:int,`b.c`:bigint>|struct<a:double,b:float>"""


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::sframe_spark.errors.InexactDecimalWarning")
def test_native_types_are_read_without_python(spark: Any) -> None:
    for kind in NATIVE.replace("\n", "|").split("|"):
        sf = SFrame(spark.sql(f"SELECT cast(null AS {kind}) AS x"))
        plan = sf._node.operator.df._jdf.queryExecution().executedPlan().toString()  # type: ignore[attr-defined]
        assert "Python" not in plan and "ArrowEval" not in plan, kind
    plan = SFrame(spark.sql("SELECT X'61' AS x"))._node.operator.df._jdf.queryExecution().executedPlan().toString()  # type: ignore[attr-defined]
    assert "ArrowEvalPython" in plan


REFUSED = {
    "interval 1 month": ("interval month", "extract its years and months"),
    "make_interval(1, 2)": ("interval", "cast it to a string first"),
    "array(named_struct('b`c', map('k', interval 1 month)))": ("interval month", r"in '\[\]\.b`c value' of it"),
    "map(interval 1 month, 1)": ("interval month", "in 'key' of it"),
    "named_struct('a', 1, 'a', 2)": ("fields are named 'a'", "rename them"),
    "array(named_struct('x', named_struct('a', 1, 'a', 2)))": ("fields are named 'a'", r"in '\[\]\.x' of it"),
}


@pytest.mark.spark
@pytest.mark.parametrize("text", cases(REFUSED, {"make_interval": CALENDAR_INTERVALS}))
def test_what_no_column_holds_is_refused_when_the_frame_is_made(text: str, spark: Any) -> None:
    df = spark.sql(f"SELECT 1 AS c0, {text} AS `the.``column`, 2 AS `a b`")
    with pytest.raises(SchemaError, match=r"column 'the\.`column'") as caught:
        SFrame(df)
    for said in REFUSED[text]:
        assert re.search(said, str(caught.value))


@pytest.mark.spark
def test_values_that_no_column_holds_are_told_with_their_column(spark: Any) -> None:
    for text in ("X'00ff'", "array(X'ff')", "map('k', X'ff')"):
        with pytest.raises(SFrameError, match=r"column 'a ``b': .*not UTF-8"):
            list(SFrame(spark.sql(f"SELECT {text} AS `a ````b`"))["a ``b"])


@pytest.mark.spark
def test_decimals(spark: Any, tmp_path: Path) -> None:
    cells = ", ".join(f"cast({value} AS decimal({digits},{scale})) AS d{digits}_{scale}" for value, digits, scale in (
        ("7", 1, 0), ("999999999999999999", 18, 0), ("0.07", 5, 2), ("0.123456789012345", 15, 15),
    ))  # fmt: skip
    exact = spark.sql(f"SELECT {cells}")
    assert list(SFrame(exact)) == [{"d1_0": 7, "d18_0": 999999999999999999, "d5_2": 0.07, "d15_15": 0.123456789012345}]
    for text in ("decimal(19,0)", "decimal(38,18)", "array<decimal(16,2)>", "map<string,struct<a:decimal(30,2)>>"):
        df = spark.sql(f"SELECT cast(null AS {text}) AS `a\n b`, 1 AS other")
        df.write.mode("overwrite").parquet(str(tmp_path / "files"))
        for made in (lambda df=df: SFrame(df), lambda: SFrame.read_parquet(str(tmp_path / "files"))):
            with pytest.warns(InexactDecimalWarning, match=r"longer values of 'a\\n b' \(\d\d digits\) are rounded") as told:
                made()
            assert len(told) == 1 and told[0].filename == __file__


ODD_NAMES = ["a.b", "`", "", " ", "A", "a", "c0", "naïve 日本", "x" * 300, "a\nb", "*", "key", "c1`.`c2", "\u202e"]


@pytest.mark.spark
def test_odd_names_are_the_users_own(spark: Any) -> None:
    df = spark.range(3).toDF("n").selectExpr(*[f"n + {place} AS x{place}" for place in range(len(ODD_NAMES))]).toDF(*ODD_NAMES)
    sf = SFrame(df)
    assert sf.column_names() == ODD_NAMES and len(str(sf)) > 0 and "\u202e" not in str(sf)
    assert sorted(sf["A"]) == [4, 5, 6] and sorted(sf["a"]) == [5, 6, 7] and sorted(sf[""]) == [2, 3, 4]
    assert sf.to_spark().columns == ODD_NAMES
    for name in ("a.b", "", "`", "a\nb"):
        with pytest.raises(SchemaError, match=re.escape(f"column {visible(repr(name))}")):
            SFrame(spark.sql("SELECT 1 AS a, interval 1 month AS b").toDF("c0", name))


@pytest.mark.spark
def test_a_session_of_the_users_with_settings_of_its_own(spark: Any, tmp_path: Path) -> None:
    others = spark.newSession()
    for key, value in {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.caseSensitive": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
        "spark.sql.shuffle.partitions": "3",
    }.items():
        others.conf.set(key, value)
    before = settings_of(others)
    text = """SELECT timestamp'2021-11-07 00:30:00' + make_interval(0, 0, 0, 0, id) AS t, timestamp_ntz'2021-03-14 02:30:00' AS n,
    date'2021-03-14' AS d, named_struct('a', id, 'A', id + 1) AS s, named_struct('x', cast(id AS int), 'y', 2) AS dict, map('k', id) AS m,
    array(id, null) AS l, cast(id AS string) AS text, cast(id AS decimal(18,0)) AS whole, array(cast(id AS float), null) AS f, array(X'61') AS b,
    array(array(cast(id AS string))) AS ll FROM range(4)"""
    others.sql(text).createOrReplaceTempView("only_there")
    df = others.table("only_there").coalesce(1)
    sf = SFrame(df)
    looked_at = str(sf["t"]).splitlines()[0]
    rows = list(sf)
    assert [row["t"].isoformat() for row in rows] == [f"2021-11-07T0{4 + hour}:30:00+00:00" for hour in range(4)] and looked_at == str(list(sf["t"]))
    assert [row["s"] for row in rows] == [{"a": value, "A": value + 1} for value in range(4)]
    assert [(row["dict"], row["m"], row["l"], row["text"], row["whole"], row["b"], row["ll"]) for row in rows] == [
        ({"x": v, "y": 2}, {"k": v}, [v, None], str(v), v, ["a"], [[str(v)]]) for v in range(4)
    ]
    assert {row["n"].isoformat() for row in rows} == {"2021-03-14T02:30:00"} and {row["d"].isoformat() for row in rows} == {"2021-03-14T00:00:00"}
    assert settings_of(others) == before
    if has(VARIANTS):
        assert SFrame(others.table("only_there")).to_spark().count() == 4
    assert SFrame(others.table("only_there")).groupby("text", {"s": aggregate.SUM("whole")})["s"].sum() == 6
    failing = SFrame(others.sql("SELECT cast(text AS int) AS x FROM only_there UNION ALL SELECT cast('no number' AS int)"))
    with pytest.raises(SFrameError, match=r"reading the first rows.*'no number' of the type"):
        str(failing)
