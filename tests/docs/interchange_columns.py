"""Columns that go through doors, as `tests/docs/interchange.py` tries them: ours, those of other libraries, and those of Spark."""

from __future__ import annotations

import array
import datetime
import decimal
import math
import uuid
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark import Image
from tests.needs import has

NOON = datetime.datetime(2024, 2, 29, 12)


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
    "ndarray, one shape": [np.array([[1.5, 2]]), np.array([[0.5, -1]]), None],
    "ndarray, several shapes": [np.array([[1.5, 2]]), np.array([1.5]), None],
    "image": [Image(np.zeros((2, 3), "uint8")), None],
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


def canonical_extensions() -> dict[str, pa.Array]:
    """Columns of the extensions that pyarrow has classes for since version 19."""
    return {
        "arrow.json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None])),
        "arrow.uuid": pa.array([uuid.UUID(int=1).bytes, None], pa.uuid()),
        "arrow.fixed_shape_tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(4.0).reshape(2, 1, 2)),
        "arrow.opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "t", "v"), pa.array([1, None])),
    }


FOREIGN: dict[str, pa.Array] = {
    "bool": pa.array([True, None]),
    "int8": pa.array([-128, None], pa.int8()),
    "int32": pa.array([1, None], pa.int32()),
    "uint64": pa.array([1, None], pa.uint64()),
    "float16": pa.array([np.float16(0.5), None], pa.float16()),
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
    **(canonical_extensions() if has("pyarrow>=19") else {}),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", None])),
}
"""Columns of other libraries, as Arrow has them: a value, and a missing one."""


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
