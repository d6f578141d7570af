"""Values in names of directories, against what Spark 4.3 takes them for."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.storage.filesystem.input_files import DataFile
from sframe_spark.storage.segments.partition_columns import kind_of_value, partition_columns
from sframe_spark.types import DATETIME, FLOAT, INT, STR
from sframe_spark.values.datetimes import to_microseconds
from tests.needs import TIMES_OF_DAY, has

# By the type that Spark's `df.schema` had for a table of this one directory.
KINDS = {
    "int": "1 +1 -0 01 00012 2020 20200101 -2147483648 \u0663 \uff11\uff12",
    "long": "2147483648 9223372036854775807 -9223372036854775808",
    "whole": "1e3 1E3 1. 1.e3 1e+3 1e03 0e0 1e18 1.0e1 1.5e1",
    "huge": "9223372036854775808 -9223372036854775809 99999999999999999999999999999999999999 1e19 1e30",
    "double": "1d 1D 1f 1F 1e-3 1.5e300 1e400 .5 +.5 -1.5 007.5 0x1p3 0x1.8p1d 0x1P-3f 0x.8p0 0x1.p0 NaN +NaN Infinity -Infinity 1e5f 0.0 -0.0 1e-400"
    " 0.10 12345678901234567890.0 1e38 1E-2 10e-1 100e-2 1.e-3",
    "date": "2020-01-01 0001-01-01 1500-01-01",
    "time": "10:11:12 10:11:12.5 10:11:12.123456 23:59:59 10%3A11%3A12",
    "text": "1L 1l 0x10 nan inf INF true false null NULL 2020-1-1 2020-01 2020-02-30 2020-01-01T 10000-01-01 2020-01-01T10:11:12 10:11 1:2:3 24:00:00"
    " 10:11:12.1234567 10:11:60 a%2Fb % %zz %31 %201 1_000 1,5 1e e1 - + . --1 0x 0xp0 1d1 1fd Infinityd NaNd 2020%2D01%2D01 .e3 \u0663.\u0665",
}
WITH_BLANKS = {
    "timestamp": ["2020-01-01 00:00:00", "2020-01-01 10:11:12.5", "2020-01-01 10%3A11%3A12"],
    "double": [" 1", "1 ", "\t1"],
    "text": [
        "2020-01-01 10:11",
        "2020-01-01 10:11:12.123456",
        "2020-01-01 10:11:12Z",
        "2020-01-01 24:00:00",
        "2020-01-01 ",
        "a b",
        "  ",
        "1 d",
        "1\xa0",
    ],
}


@pytest.mark.parametrize("kind", [*KINDS, "timestamp"])
def test_what_a_value_is(kind: str) -> None:
    texts = [*KINDS.get(kind, "").split(" "), *WITH_BLANKS.get(kind, [])]
    assert {text: kind_of_value(text) for text in texts if text} == {text: kind for text in texts if text}


def micros(*parts: int) -> int:
    return to_microseconds(dt.datetime(*parts))[0]


COLUMNS: list[tuple[list[str | None], Any, list[Any]]] = [
    (["1", "2147483648", None], INT, [1, 2147483648, None]),
    (["1e3", "1"], INT, [1000, 1]),
    (["1d", "1"], FLOAT, [1.0, 1.0]),
    (["0x1p3", "1", "Infinity"], FLOAT, [8.0, 1.0, math.inf]),
    (["2147483647", "0.5"], FLOAT, [2147483647.0, 0.5]),
    # No float would be these.
    (["9007199254740993", "0.5"], STR, ["9007199254740993", "0.5"]),
    (["1e3", "0.5"], STR, ["1e3", "0.5"]),
    (["9223372036854775808", "1"], STR, ["9223372036854775808", "1"]),
    (["9223372036854775808"], STR, ["9223372036854775808"]),
    (["2020-01-01", "2020-01-01 10%3A00%3A00"], DATETIME, [micros(2020, 1, 1), micros(2020, 1, 1, 10)]),
    (["10:11:12", None], FLOAT, [36672.0, None]),
    (["10:11:12", "1"], STR, ["10:11:12", "1"]),
    (["2020-01-01", "1"], STR, ["2020-01-01", "1"]),
    (["01", "a%20b"], STR, ["01", "a b"]),
    (["1", "%31"], STR, ["1", "1"]),
    ([None], STR, [None]),
]


@pytest.mark.parametrize(("texts", "column_type", "expected"), COLUMNS)
def test_what_a_column_is(texts: list[str | None], column_type: Any, expected: list[Any]) -> None:
    for turned in (1, -1):
        (column,) = partition_columns([DataFile("", "", (("p", text),)) for text in texts[::turned]])
        assert column.type == column_type and list(column.values) == expected[::turned]


def test_tables_of_such_directories(tmp_path: Path) -> None:
    for number, directory in enumerate(["a=NaN", "a=1d", "a=-2.5f", "a=__HIVE_DEFAULT_PARTITION__"]):
        (tmp_path / directory).mkdir()
        pq.write_table(pa.table({"n": [number]}), tmp_path / directory / "x.parquet")
    sf = SFrame.read_parquet(str(tmp_path)).sort("n")
    assert math.isnan(sf["a"][0]) and list(sf["a"])[1:] == [1.0, -2.5, None]
    assert list(sf[sf["a"] < 2]["n"]) == [1, 2]


@pytest.mark.spark
def test_spark_has_the_same_types(spark: Any, tmp_path: Path) -> None:
    ours = {INT: ("int", "bigint", "decimal"), FLOAT: ("double", "time"), DATETIME: ("date", "timestamp"), STR: ("string", "decimal(19,0)", "void")}
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.timeType.enabled", "true")
    # Before, a time of day was an instant of today.
    columns = [column for column in COLUMNS if has(TIMES_OF_DAY) or "10:11:12" not in column[0]]
    for number, (texts, column_type, _) in enumerate(columns):
        place = tmp_path / str(number)
        for text in texts:
            directory = place / f"p={'__HIVE_DEFAULT_PARTITION__' if text is None else text}"
            directory.mkdir(parents=True)
            pq.write_table(pa.table({"n": [1]}), directory / "x.parquet")
        found = session.read.parquet(str(place)).schema["p"].dataType.simpleString()
        assert found.startswith(ours[column_type]), (texts, found)
