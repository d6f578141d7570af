"""What columns become on their way through each door, as `docs/interchange.md` shows it: ``python -m tests.docs.interchange`` writes the tables anew.

A cell says "same" where values and type are as they were, the kind of column that they become, or that the door refuses them.
"""

from __future__ import annotations

import array
import datetime
import decimal
import json
import math
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

from sframe_spark import SArray, SFrame
from sframe_spark.errors import SFrameError

PAGE = Path(__file__).parents[2] / "docs" / "interchange.md"
NOON = datetime.datetime(2024, 2, 29, 12)
SAME, REFUSED, NONE = "same", "refused", "none"


def at(minutes: int) -> datetime.datetime:
    """The same wall clock, so far east of UTC."""
    return NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=minutes)))


OURS: dict[str, Any] = {
    "int": [1, -(2**63)],
    "int, some missing": [1, None],
    "float": [0.5, math.inf, -0.0],
    "float, NaN and missing": [math.nan, None],
    "str": ["ü", "", 'a, "b"\n', None],
    "datetime": [NOON, None],
    "datetime, in UTC": [at(0), None],
    "datetime, all at +02:00": [at(120), None],
    "datetime, several offsets": [at(60), at(330), None],
    "array": [array.array("d", [1.5, 2]), None],
    "list of ints": [[1, None], [], None],
    "list of texts": [["a", None], [], None],
    "list of lists": [[["a"], []], None],
    "list, mixed": [[1, "a"], None],
    "list, with a datetime": [[NOON, "a"], None],
    "dict, text to int": [{"a": 1}, {"b": None}, None],
    "dict, int to text": [{1: "a"}, None],
    "dict, same keys": [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, None],
    "dict, mixed": [{"a": 1, "b": "x"}, {"c": [1.5]}, None],
}
"""Columns of ours; those with missing values have one."""


def frame_of(values: list[Any]) -> SFrame:
    """A frame of one column, and of one that misses no value, as a file of text has no line for a row of nothing."""
    return SFrame({"x": SArray(values), "row": SArray(range(len(values)))})


def through_file(write: Callable[[SFrame, str], Any], read: Callable[[str], SFrame], ending: str) -> Callable[[SFrame], SFrame]:
    """Out to a file or directory, and back."""

    def there_and_back(frame: SFrame) -> SFrame:
        with tempfile.TemporaryDirectory() as directory:
            place = f"{directory}/rows{ending}"
            write(frame, place)
            found = read(place)
            found.materialize()
            return SFrame(found.to_arrow())

    return there_and_back


def through_numpy(frame: SFrame) -> SFrame:
    """A column at a time, as numpy has no columns of different types."""
    return SFrame({name: frame[name].to_numpy() for name in ("x", "row")})


def through_delta(frame: SFrame) -> SFrame:
    """The library's own writer."""
    import deltalake

    with tempfile.TemporaryDirectory() as directory:
        deltalake.write_deltalake(directory, frame)
        found = SFrame.read_delta(directory)
        found.materialize()
        return SFrame(found.to_arrow())


def through_duckdb(frame: SFrame) -> SFrame:
    """As a table that queries name."""
    import duckdb

    return SFrame(duckdb.sql("from frame"))


def through_polars(frame: SFrame) -> SFrame:
    """As a DataFrame."""
    import polars

    return SFrame(polars.DataFrame(frame))


def through_spark(frame: SFrame) -> SFrame:
    """As a DataFrame of the user's session."""
    return SFrame(frame.to_spark())


DOORS: dict[str, Callable[[SFrame], SFrame]] = {
    "save": through_file(lambda frame, place: frame.save(place), SFrame, ""),
    "Arrow": lambda frame: SFrame(pa.table(frame)),
    "pandas": lambda frame: SFrame(frame.to_pandas()),
    "pandas, `arrow=True`": lambda frame: SFrame(frame.to_pandas(arrow=True)),
    "polars": through_polars,
    "DuckDB": through_duckdb,
    "NumPy": through_numpy,
    "Parquet": through_file(lambda frame, place: frame.write_parquet(place), SFrame.read_parquet, ""),
    "ORC": through_file(lambda frame, place: frame.write_orc(place), lambda place: SFrame.read_orc(place), ""),
    "CSV": through_file(lambda frame, place: frame.export_csv(place), lambda place: SFrame.read_csv(place), ".csv"),
    "JSON": through_file(lambda frame, place: frame.export_json(place), lambda place: SFrame.read_json(place), ".json"),
    "Delta": through_delta,
}
ON_SPARK = {"Spark": through_spark, "Connect": through_spark}


def cell_out(door: Callable[[SFrame], SFrame], values: list[Any]) -> str:
    """What a column becomes that goes out through a door and comes back."""
    frame = frame_of(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = door(frame)
            row = found["row"].astype(int).to_numpy().tolist()
            column = [value for _, value in sorted(zip(row, list(found["x"]), strict=True), key=lambda pair: pair[0])]
    except SFrameError:
        return REFUSED
    before, after = frame["x"].dtype, found["x"].dtype
    if before is not after:
        return after.__name__
    return SAME if repr(column) == repr(list(frame["x"])) else f"{after.__name__}, changed"


FOREIGN: dict[str, pa.Array] = {
    "bool": pa.array([True, None]),
    "int8": pa.array([-128, None], pa.int8()),
    "int32": pa.array([1, None], pa.int32()),
    "uint64": pa.array([1, None], pa.uint64()),
    "float16": pa.array([0.5, None], pa.float16()),
    "float": pa.array([0.5, None], pa.float32()),
    "decimal(18, 0)": pa.array([decimal.Decimal(10**17), None], pa.decimal128(18, 0)),
    "decimal(38, 10)": pa.array([decimal.Decimal("0.5"), None], pa.decimal128(38, 10)),
    "string": pa.array(["a", None]),
    "large_string": pa.array(["a", None], pa.large_string()),
    "string_view": pa.array(["a", None], pa.string_view()),
    "binary": pa.array([b"a", None]),
    "binary, no UTF-8": pa.array([b"\xff", None]),
    "fixed_size_binary": pa.array([b"ab", None], pa.binary(2)),
    "date32": pa.array([NOON.date(), None], pa.date32()),
    "date64": pa.array([NOON.date(), None], pa.date64()),
    "time32(s)": pa.array([datetime.time(1, 2, 3), None], pa.time32("s")),
    "time64(us)": pa.array([datetime.time(1, 2, 3), None], pa.time64("us")),
    "timestamp(s)": pa.array([NOON, None], pa.timestamp("s")),
    "timestamp(us)": pa.array([NOON, None], pa.timestamp("us")),
    "timestamp(ns)": pa.array([NOON, None], pa.timestamp("ns")),
    "timestamp(us, UTC)": pa.array([NOON, None], pa.timestamp("us", "UTC")),
    "timestamp(us, Asia/Kolkata)": pa.array([NOON, None], pa.timestamp("us", "Asia/Kolkata")),
    "duration(us)": pa.array([datetime.timedelta(seconds=1.5), None], pa.duration("us")),
    "month_day_nano_interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "list<int64>": pa.array([[1, None], None]),
    "list<double>": pa.array([[0.5, None], None]),
    "list<string>": pa.array([["a", None], None]),
    "list<list<string>>": pa.array([[["a"], None], None]),
    "large_list<int64>": pa.array([[1], None], pa.large_list(pa.int64())),
    "fixed_size_list<double>": pa.array([[0.5, 1.5], None], pa.list_(pa.float64(), 2)),
    "list<timestamp>": pa.array([[NOON], None], pa.list_(pa.timestamp("us"))),
    "struct<int64, int64>": pa.array([{"a": 1, "b": 2}, None]),
    "struct<int64, string>": pa.array([{"a": 1, "b": "x"}, None]),
    "struct<struct<date32>>": pa.array([{"a": {"b": NOON.date()}}, None]),
    "map<string, int64>": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "map<string, list<int64>>": pa.array([[("a", [1])], None], pa.map_(pa.string(), pa.list_(pa.int64()))),
    "map<double, string>": pa.array([[(0.5, "a")], None], pa.map_(pa.float64(), pa.string())),
    "dictionary<string>": pa.array(["a", None]).dictionary_encode(),
    "null": pa.nulls(2),
    "arrow.json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None])),
    "arrow.uuid": pa.array([uuid.UUID(int=1).bytes, None], pa.uuid()),
    "arrow.opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "t", "v"), pa.array([1, None])),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", None])),
}
"""Columns of other libraries, as Arrow has them: a value, and a missing one."""


def parquet_in(table: pa.Table, directory: str) -> str:
    """A file that Arrow wrote."""
    pq.write_table(table, f"{directory}/rows.parquet")
    return f"{directory}/rows.parquet"


def orc_in(table: pa.Table, directory: str) -> str:
    """A file that Arrow wrote."""
    pyarrow.orc.write_table(table, f"{directory}/rows.orc")
    return f"{directory}/rows.orc"


def pandas_in(table: pa.Table, directory: str) -> Any:
    """Columns of Arrow types in pandas."""
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def polars_in(table: pa.Table, directory: str) -> Any:
    """A polars frame."""
    import polars

    return polars.from_arrow(table)


def duckdb_in(table: pa.Table, directory: str) -> Any:
    """What a query of DuckDB gives."""
    import duckdb

    return duckdb.from_arrow(table).to_arrow_table()


Made = tuple[Callable[[pa.Table, str], Any], Callable[[Any], SFrame]]
DOORS_IN: dict[str, Made] = {
    "Arrow": (lambda table, directory: table, SFrame),
    "Parquet": (parquet_in, lambda place: SFrame.read_parquet(place)),
    "ORC": (orc_in, lambda place: SFrame.read_orc(place)),
    "pandas": (lambda table, directory: table.to_pandas(), SFrame),
    "pandas, ArrowDtype": (pandas_in, SFrame),
    "polars": (polars_in, SFrame),
    "DuckDB": (duckdb_in, SFrame),
}
"""How other libraries make what holds a column, and how we read it."""


def cell_in(door: Made, values: pa.Array) -> str:
    """The kind of column that a column of another library becomes; "none" where the library, or the format, has none of this type."""
    make, read = door
    return kind_of(lambda directory: make(pa.table({"x": values}), directory), read, len(values))


def kind_of(make: Callable[[str], Any], read: Callable[[Any], SFrame], rows: int) -> str:
    """The kind of a column that somebody makes, in a directory if need be, and that we read."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = make(directory)
        except BaseException as error:
            assert not isinstance(error, (SFrameError, KeyboardInterrupt)), error
            return NONE
        try:
            found = read(given)["x"]
            values = list(found)
        except SFrameError as error:
            assert "'x'" in str(error), f"the error does not name the column: {error}"
            return REFUSED
    assert len(values) == rows
    return found.dtype.__name__


OF_SPARK: dict[str, str] = {
    "boolean": "true",
    "tinyint, smallint, int": "1S",
    "bigint": "1L",
    "float, double": "0.5F",
    "decimal(18,0)": "cast(1 as decimal(18, 0))",
    "decimal(38,18)": "cast(0.5 as decimal(38, 18))",
    "string": "'a'",
    "char(3), varchar(5)": "cast('a' as varchar(5))",
    "binary": "X'61'",
    "binary, no UTF-8": "X'ff'",
    "date": "date'2024-02-29'",
    "timestamp": "timestamp'2024-02-29 12:00:00'",
    "timestamp_ntz": "timestamp_ntz'2024-02-29 12:00:00'",
    "time(6)": "time'12:00:00'",
    "interval day to second": "interval '1 02:03:04' day to second",
    "interval year to month": "interval '1-2' year to month",
    "interval": "make_interval(1, 2)",
    "variant, an object": "parse_json('{\"a\": 1}')",
    "variant, an array": "parse_json('[1, \"a\"]')",
    "variant, a number": "parse_json('1')",
    "void": "null",
    "array<bigint>": "array(1L, null)",
    "array<double>": "array(0.5D)",
    "array<string>": "array('a', null)",
    "array<timestamp>": "array(timestamp'2024-02-29 12:00:00')",
    "array<array<string>>": "array(array('1'), array())",
    "array<struct<x:int,y:string>>": "array(named_struct('x', 1, 'y', 'b'))",
    "array<variant>": "array(parse_json('1'), parse_json('\"a\"'))",
    "map<string,bigint>": "map('a', 1L)",
    "map<int,string>": "map(1, 'a')",
    "map<string,array<bigint>>": "map('a', array(1L))",
    "map<string,map<string,date>>": "map('a', map('b', date'2024-02-29'))",
    "map<array<int>,int>": "map(array(1), 2)",
    "struct<a:int,b:int>": "from_json('{\"a\": 1, \"b\": 2}', 'a int, b int')",
    "struct<a:int,b:string>": 'from_json(\'{"a": 1, "b": "x"}\', \'a int, b string\')',
    "struct<a:struct<b:array<date>>>": 'from_json(\'{"a": {"b": ["2024-02-29"]}}\', \'a struct<b: array<date>>\')',
}
"""A value of each type of Spark's, of which a column has one, and a missing one; PySpark makes no Arrow table of structs whose fields miss none."""


def parquet_of_spark(df: Any, directory: str) -> str:
    """Files that Spark wrote."""
    df.write.parquet(f"{directory}/rows")
    return f"{directory}/rows"


MadeOfSpark = tuple[Callable[[Any, str], Any], Callable[[Any], SFrame]]
DOORS_OF_SPARK: dict[str, MadeOfSpark] = {
    "Spark": (lambda df, directory: df, SFrame),
    "Parquet of Spark": (parquet_of_spark, lambda place: SFrame.read_parquet(place)),
    "`toArrow()`": (lambda df, directory: df.toArrow(), SFrame),
    "`toPandas()`": (lambda df, directory: df.toPandas(), SFrame),
}
"""How Spark gives what holds a column, and how we read it."""
# Spark computes with times of day where somebody says so.
TIMES = "spark.sql.timeType.enabled"
CONNECT_IN = {"Connect": DOORS_OF_SPARK["Spark"]}


def column_of_spark(door: str) -> dict[str, str]:
    """A column of the third table."""
    from sframe_spark.session.user import user_session

    spark = user_session()
    before = spark.conf.get(TIMES)
    spark.conf.set(TIMES, "true")
    try:
        return {name: cell_of_spark({**DOORS_OF_SPARK, **CONNECT_IN}[door], spark.range(2), text) for name, text in OF_SPARK.items()}
    finally:
        spark.conf.set(TIMES, before)


def cell_of_spark(door: MadeOfSpark, two_rows: Any, text: str) -> str:
    """The kind of column that a column of a DataFrame becomes; "none" where Spark gives none of this type."""
    make, read = door
    df = two_rows.selectExpr(f"CASE WHEN id = 0 THEN {text} END AS x")
    return kind_of(lambda directory: make(df, directory), read, 2)


def column_out(door: str) -> dict[str, str]:
    """A column of the first table."""
    return {name: cell_out({**DOORS, **ON_SPARK}[door], values) for name, values in OURS.items()}


def column_in(door: str) -> dict[str, str]:
    """A column of the second table."""
    return {name: cell_in(DOORS_IN[door], values) for name, values in FOREIGN.items()}


def table_text(corner: str, columns: dict[str, dict[str, str]]) -> str:
    """A table of the page."""
    rows = list(next(iter(columns.values())))
    lines = [[corner, *columns], ["---"] * (len(columns) + 1), *([row, *(column[row] for column in columns.values())] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table_of_page(corner: str) -> dict[str, dict[str, str]]:
    """The columns of the table of the page that has this corner."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"| {corner} |"))
    doors = cells(lines[first])[1:]
    found: dict[str, dict[str, str]] = {door: {} for door in doors}
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        row, *values = cells(line)
        for door, value in zip(doors, values, strict=True):
            found[door][row] = value
    return found


def cells(line: str) -> list[str]:
    """The texts of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split(" | ")] if " | " in line else []


OUT_CORNER, IN_CORNER, SPARK_CORNER = "Column", "Arrow type", "Type of Spark"


def write_page() -> None:
    """Put the tables into the page, the text around them kept."""
    text = PAGE.read_text(encoding="utf-8")
    known = table_of_page(OUT_CORNER) if f"| {OUT_CORNER} |" in text else {}
    outs = {door: column_out(door) for door in [*DOORS, "Spark"]}
    outs["Connect"] = known.get("Connect", outs["Spark"])
    ins = {door: column_in(door) for door in DOORS_IN}
    of_spark = {"Spark": column_of_spark("Spark")}
    of_spark["Connect"] = (table_of_page(SPARK_CORNER) if f"| {SPARK_CORNER} |" in text else of_spark).get("Connect", of_spark["Spark"])
    of_spark |= {door: column_of_spark(door) for door in DOORS_OF_SPARK}
    for corner, columns in ((OUT_CORNER, outs), (IN_CORNER, ins), (SPARK_CORNER, of_spark)):
        table = table_text(corner, columns)
        start = text.index(f"| {corner} |")
        end = text.find("\n\n", start)
        text = text[:start] + table + (text[end:] if end >= 0 else "\n")
    PAGE.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Write the page; with the URL of a Connect server, print its columns instead."""
    if arguments:
        from tests.properties.other_sparks import start

        start(arguments[0])
        sys.stdout.write(json.dumps([column_out("Connect"), column_of_spark("Connect")]) + "\n")
    else:
        write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
