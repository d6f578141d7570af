"""Types have the names that they have in Python, NumPy, pandas, Polars, Arrow, Spark and SQL."""

from __future__ import annotations

import array
import datetime
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyspark.sql.types as spark_types
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import NoColumnTypeError
from sframe_spark.values.python_to_arrow import column_type_for
from tests.examples import in_one_test

NAMES = {
    int: "int integer long bigint smallint tinyint bool boolean int8 int16 int32 int64 Int64 UInt8 uint64 i8 <i4 Int32 INT64 int64[pyarrow]",
    float: "float double real float16 float32 float64 Float64 f8 <f4 halffloat double[pyarrow] torch.float32 numpy.float64",
    str: "str string text String utf8 Utf8 large_string varchar(20) <U10 string[pyarrow] unicode",
    list: "list list<item:int64> List(Int8) large_list",
    dict: "dict map<string,int64> struct<a:int64> map",
    array.array: "array array.array vector",
    datetime.datetime: "datetime datetime64[ns] datetime64[ns,UTC] date timestamp[us] timestamp_ntz date32[day] datetime.datetime",
}
OBJECTS: dict[type, list[Any]] = {
    int: [np.int8, np.dtype("u2"), pd.Int64Dtype(), pa.int16(), pa.bool_(), pl.Int64, pl.UInt8, pl.Boolean, narwhals.Int32, spark_types.LongType()],
    float: [np.float32, np.dtype("f8"), pd.Float64Dtype(), pa.float32(), pl.Float32, spark_types.DoubleType, narwhals.Float64],
    str: [np.str_, np.dtype("U3"), pd.StringDtype(), pa.large_string(), pl.String, pl.Utf8, spark_types.StringType()],
    list: [pa.list_(pa.int64()), pl.List(pl.Int8), spark_types.ArrayType(spark_types.LongType()), tuple, set],
    dict: [pa.map_(pa.string(), pa.int64()), spark_types.MapType(spark_types.StringType(), spark_types.LongType())],
    array.array: [pa.list_(pa.float64())],
    np.ndarray: [np.ndarray, "ndarray", pa.fixed_shape_tensor(pa.float64(), [2, 2])],
    datetime.datetime: [np.dtype("M8[ns]"), pa.date32(), pa.timestamp("s"), pl.Date, pl.Datetime("us"), spark_types.TimestampType(), pd.Timestamp],
}


@in_one_test(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names.split()])
def test_names(kind: type, name: str) -> None:
    for text in (name, f" {name} ", name.upper() if not name.startswith("<") else name):
        assert column_type_for(text).python_class is kind, text


@in_one_test(("kind", "dtype"), [(kind, dtype) for kind, dtypes in OBJECTS.items() for dtype in dtypes])
def test_types_of_libraries(kind: type, dtype: Any) -> None:
    assert column_type_for(dtype).python_class is kind, dtype


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("floot", "'floot' is not a column type, did you mean 'float'?"),
        ("object", "no column has the type 'object': columns have one type each"),
        ("category", "'category': use str"),
        ("decimal(10, 2)", "use float, or str to keep all digits"),
        ("timedelta64[ns]", "use float, in seconds"),
        ("", "'' is not a column type: use int"),
        ("int float", "'int float' is not a column type"),
        (pl.Duration, "use float, in seconds"),
        (pl.Object, "'Object'"),
        (object, "is not a column type"),
        (np.dtype("O"), "is not a column type"),
    ],
)
def test_types_that_no_column_has(name: Any, told: str) -> None:
    with pytest.raises(NoColumnTypeError) as refused:
        column_type_for(name)
    assert told in str(refused.value)


def test_names_wherever_a_type_is_given(tmp_path: Any) -> None:
    sa = SArray([1, 2])
    assert list(sa.astype("float")) == [1.0, 2.0] and list(sa.apply(lambda x: x, "str")) == ["1", "2"]
    assert list(SArray(["1"], "string").astype("int64")) == [1] and SArray.from_const(1, 2, "float64").dtype is float
    (tmp_path / "a.csv").write_text("zip,n\n007,1\n")
    path = str(tmp_path / "a.csv")
    assert list(SFrame.read_csv(path, column_type_hints={"zip": "str", "n": "double"})) == [{"zip": "007", "n": 1.0}]
    assert SFrame.read_csv(path, column_type_hints="string").column_types() == [str, str]
    assert SFrame.read_csv(path, column_type_hints=[np.float32, pl.String]).column_types() == [float, str]
    sf = SFrame({"a": [1], "b": [2]})
    packed = sf.pack_columns(dtype="dict", new_column_name="ab")
    assert packed.column_types() == [dict] and packed.unpack("ab", "", ["float", "int"], limit=["a", "b"]).column_types() == [float, int]
    assert sf.flat_map(["n"], lambda row: [[row["a"]]], ["float"]).column_types() == [float]
    # A name in brackets is one of a column.
    assert SFrame({"int": ["x"], "n": [1]})[["int"]].column_names() == ["int"]
