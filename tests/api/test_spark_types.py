"""Each of Spark's types has one meaning: a frame of a DataFrame is the frame of its rows written by Spark as Parquet files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InexactDecimalWarning, SchemaError, SFrameError

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
@pytest.mark.parametrize("kind", VALUES)
def test_a_type_is_what_it_is_in_parquet_files(kind: str, spark: Any, times_of_day: None, tmp_path: Path) -> None:
    df = frame_of(spark, columns_of(kind))
    df.write.parquet(str(tmp_path / "files"))
    found, expected = shown(SFrame(df)), shown(SFrame.read_parquet(str(tmp_path / "files")))
    assert {name: pair for name, pair in found.items() if pair != expected[name]} == {name: expected[name] for name in found if found[name] != expected[name]}
