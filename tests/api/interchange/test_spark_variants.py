"""Columns of VARIANT come in as the dicts, lists or values that they hold; what has no one type is refused by its name."""

from __future__ import annotations

import array
import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from sframe_spark import SFrame, aggregate, sql
from sframe_spark.errors import DateTimeRangeError, SchemaError, SFrameError
from tests.needs import VARIANTS, needs

pytestmark = [pytest.mark.spark, needs(VARIANTS)]
UTC = datetime.UTC
COLUMNS: dict[str, tuple[list[str], type, list[Any]]] = {
    "dicts": (["""parse_json('{"b":[1,1.0,1e0,null,true,"x"],"a":{"c":[1,2]}}')""", "parse_json('{}')"], dict,
              [{"b": [1, 1.0, 1.0, None, 1, "x"], "a": {"c": array.array("d", [1, 2])}}, {}]),
    "lists": (["parse_json('[1,2]')", """parse_json('[[1,2],"a",[]]')"""], list, [[1, 2], [array.array("d", [1, 2]), "a", []]]),
    "ints": (["parse_json('9223372036854775807')", "cast(true as variant)"], int, [2**63 - 1, 1]),
    "ints and floats": (["parse_json('1')", "cast(2.5f as variant)"], float, [1.0, 2.5]),
    "beyond ints": (["parse_json('123456789012345678901')", "parse_json('1.0')"], float, [123456789012345678901.0, 1.0]),
    "texts": (["""parse_json('"5"')""", "cast(X'61' as variant)"], str, ["5", "a"]),
    "moments": (["cast(timestamp'2024-01-02 03:04:05' as variant)", "cast(timestamp'0001-01-02 00:00:00' as variant)"], datetime.datetime,
                [datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), datetime.datetime(1, 1, 2, tzinfo=UTC)]),
    "date-times": (["cast(date'2024-01-02' as variant)", "cast(timestamp_ntz'9999-12-31 23:59:59.999999' as variant)"], datetime.datetime,
                   [datetime.datetime(2024, 1, 2), datetime.datetime.max]),
    "both": (["cast(date'2024-01-02' as variant)", "cast(timestamp'2024-01-02 00:00:00' as variant)"], datetime.datetime,
             [datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 2, tzinfo=UTC)]),
    "missing": (["cast(null as variant)", "parse_json('null')"], float, [None, None]),
    "of structs": (["to_variant_object(named_struct('t', date'2024-01-01', 'b', X'61'))", "to_variant_object(named_struct('t', 1))"], dict,
                   [{"t": datetime.datetime(2024, 1, 1), "b": "a"}, {"t": 1}]),
    "in lists": (["array(parse_json('1'), parse_json('\"a\"'), null)", "array()"], list, [[1, "a", None], []]),
    "in dicts": (["map('k', parse_json('[1]'))", "map('k', parse_json('null'))"], dict, [{"k": array.array("d", [1])}, {"k": None}]),
    "in structs": (["named_struct('a', parse_json('[1,2]'), 'b', 1)", "named_struct('a', null, 'b', null)"], dict,
                   [{"a": array.array("d", [1, 2]), "b": 1}, {"a": None, "b": None}]),
}  # fmt: skip
"""Two cells each, the class of the column, and what the cells are."""


@pytest.fixture
def others(spark: Any) -> Any:
    """A session with settings of its own."""
    found = spark.newSession()
    for key, value in {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.caseSensitive": "false",
    }.items():
        found.conf.set(key, value)
    return found


def test_each_kind_has_its_type(spark: Any, others: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        # Parsed as they are in one projection: a union would make one type of the cells in lists and dicts.
        rows = [", ".join(f"{cells[place]} AS `{name}`" for name, (cells, _, _) in COLUMNS.items()) for place in (0, 1)]
        text = " UNION ALL ".join(f"SELECT {number} AS place, {row}" for number, row in enumerate(rows))
        missing = ", ".join(f"null AS `{name}`" for name in COLUMNS)
        for session in (spark, others):
            sf = SFrame(session.sql(f"{text} UNION ALL SELECT 2, {missing}")).sort("place")
            assert {name: sf[name].dtype for name in COLUMNS} == {name: kind for name, (_, kind, _) in COLUMNS.items()}
            found = {name: repr(list(sf[name])) for name in COLUMNS}
            assert found == {name: repr([*expected, None]) for name, (_, _, expected) in COLUMNS.items()}
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


ODD_NAME = "the.`v`\n"


def of(spark: Any, *cells: str) -> Any:
    """A DataFrame of cells of VARIANT in one partition, under a name that no expression takes for itself."""
    return spark.sql(" UNION ALL ".join(f"SELECT 1 AS c0, {cell} AS v" for cell in cells)).toDF("c0", ODD_NAME).coalesce(1)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["parse_json('1')", "parse_json('\"1\"')"], "are ints and texts, .*'bigint'"),
        (["parse_json('[]')", "parse_json('null')", "parse_json('{}')"], "are dicts and lists, .*'map<string,variant>'"),
        (["cast(date'2024-01-01' as variant)", "parse_json('1.5')"], "are floats and date-times, .*'double'"),
    ],
)
def test_kinds_that_no_column_holds_together_are_refused_when_the_frame_is_made(spark: Any, cells: list[str], told: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(f"column {ODD_NAME!r}: its VARIANTs ") + told):
        SFrame(of(spark, *cells))


def test_what_the_refusal_advises_comes_in(spark: Any) -> None:
    df = of(spark, "parse_json('[1,\"a\"]')", "parse_json('{\"a\":1}')", "parse_json('7')").toDF("c0", "v")
    taken = ["map<string,variant>", "array<variant>", "bigint"]
    sf = SFrame(df.selectExpr(*[f"try_variant_get(v, '$', '{ddl}') AS x{place}" for place, ddl in enumerate(taken)], "to_json(v) AS text"))
    expected = [[None, {"a": 1}, None], [[1, "a"], None, None], [None, None, 7], ['[1,"a"]', '{"a":1}', "7"]]
    assert [list(sf[name]) for name in sf.column_names()] == expected


def test_values_that_do_not_fit_the_type_found_are_told_when_they_are_read(spark: Any) -> None:
    df = spark.sql("SELECT if(id < 3000, parse_json('{}'), parse_json('[]')) AS v FROM range(0, 3500, 1, 1)").toDF(ODD_NAME)
    sf = SFrame(df)
    assert sf.column_types() == [dict] and "{}" in str(sf)
    told = re.escape(
        f"column {ODD_NAME!r}: some of its VARIANTs are lists, but the first ones, which determined its type, were dicts: take the dicts out of it"
    )
    # A DataFrame of it is the user's own query, so Spark raises the error, which tells the same.
    with pytest.raises(PySparkException, match=told):
        sf.to_spark().collect()
    for use in (len, lambda frame: frame[ODD_NAME].dropna().apply(len).sum()):
        with pytest.raises(SFrameError, match=told):
            use(sf)


def test_ints_that_are_no_longer_alone_behind_the_first_rows_make_floats(spark: Any) -> None:
    cells = "if(id < 3000, parse_json('1'), parse_json('1.5')) AS a, if(id < 3000, null, parse_json('\"x\"')) AS b"
    sf = SFrame(spark.sql(f"SELECT {cells} FROM range(0, 3500, 1, 3)"))
    assert sf.column_types() == [float, str]
    assert sf["a"].sum() == 3000 + 750 and list(sf.groupby("b", {"n": aggregate.COUNT()}).sort("b")["n"]) == [3000, 500]


def test_first_rows_settle_what_cannot_become_another_type(spark: Any) -> None:
    """Nobody reads what lies behind them, where there is no JSON."""
    text = "SELECT if(id >= 4000, parse_json(concat('no JSON', id)), {first}) AS v FROM range(0, 8000, 1, 2)"
    assert SFrame(spark.sql(text.format(first="parse_json('[1]')"))).column_types() == [list]
    for first in ("parse_json('1')", "null"):
        with pytest.raises(SFrameError, match=r"reading the VARIANTs of a DataFrame: .*no JSON"):
            SFrame(spark.sql(text.format(first=first)))


def test_a_dataframe_without_rows_or_columns_of_others(spark: Any) -> None:
    sf = SFrame(spark.sql("SELECT parse_json('{}') AS v, 1 AS n WHERE false"))
    assert sf.column_types() == [float, int] and len(sf) == 0


def test_values_that_no_column_holds_are_told_with_their_column(spark: Any) -> None:
    for cell, error, told in (
        ("cast(X'ff' as variant)", SchemaError, "binary values are not UTF-8"),
        ("map('k', cast(date'+10000-01-01' as variant))", DateTimeRangeError, "years 1 to 9999"),
        (f"parse_json('{'[' * 201}{']' * 201}')", SchemaError, "more than 200 lists"),
    ):
        with pytest.raises(error, match=re.escape(f"column {ODD_NAME!r}: ") + f".*{told}"):
            list(SFrame(of(spark, cell)))


def test_dicts_and_lists_come_back_from_sql_and_from_dataframes(spark: Any) -> None:
    rows = {"d": [{"b": 1, "a": "x"}, None, {"c": [1, "y", {}]}], "l": [[1, "a"], [None], None], "n": [1, 2, 3]}
    sf = SFrame(rows)
    for back in (SFrame(sf.to_spark()), sql("select * from t order by n", t=sf), SFrame(SFrame(sf.to_spark()).to_spark())):
        assert back.sort("n")["d"].dtype is dict and repr(list(back.sort("n"))) == repr(list(sf))
    few = sql("select l, n from t where variant_get(d, '$.b', 'int') = 1", t=sf)
    assert list(few) == [{"l": [1, "a"], "n": 1}]


def test_parquet_files_of_variants_are_read_by_spark(spark: Any, tmp_path: Path) -> None:
    """Spark writes them as bytes, with common fields as columns of their own."""
    place = str(tmp_path / "files")
    spark.sql('SELECT parse_json(concat(\'{"a":\', id, \',"b":["x"]}\')) AS v, id FROM range(0, 9, 1, 1)').write.parquet(place)
    with pytest.raises(SchemaError, match=r"column 'v' of .*\.parquet: it is of Parquet's type VARIANT, which .*: .*spark\.read\.parquet"):
        SFrame.read_parquet(place)
    assert list(SFrame(spark.read.parquet(place)).sort("id")["v"]) == [{"a": n, "b": ["x"]} for n in range(9)]


def test_variants_of_files_without_bytes_are_told_with_their_column(spark: Any, tmp_path: Path) -> None:
    """Spark does not look at the bytes of files that others wrote."""
    parts = pa.struct([pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)])
    sound = [{"value": b"\x0c\x01", "metadata": b""}] * 1_100
    told = re.escape(f"column {ODD_NAME!r}: a VARIANT is damaged: it has no bytes")
    for place, cells in enumerate(([], sound, [{"value": b"\x03\x00\x00", "metadata": b""}] * 1_100)):
        file = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"v": pa.array([*cells, {"value": b"", "metadata": b""}], parts)}), file)
        with pytest.raises(SchemaError, match=told):
            list(SFrame(spark.read.schema("v variant").parquet(str(file)).toDF(ODD_NAME)))
