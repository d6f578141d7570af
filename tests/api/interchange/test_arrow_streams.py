"""Arrow's C stream interface, both ways, with the libraries that people use: polars, DuckDB, pandas and pyarrow."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.session import is_started

DAY = datetime.datetime(2020, 1, 1)
COLUMNS: dict[str, list[Any]] = {
    "n": [3, 1, None, 2],
    "f": [0.5, None, float("inf"), -0.0],
    "s": ["x", "", None, "ü\0"],
    "t": [DAY, None, DAY.replace(year=1), DAY.replace(year=9999)],
    "l": [["a"], [], None, ["b", None]],
    "d": [{"k": 1}, {}, None, {"k": None}],
}


def frame() -> SFrame:
    return SFrame(COLUMNS)[list(COLUMNS)]


def duckdb() -> Any:
    """The library, imported when it is used: what is there when tests are collected is never freed, and it complains of that."""
    import duckdb

    return duckdb


class Exporter:
    """An object that has nothing but the interface."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.data.__arrow_c_stream__(requested_schema)


TABLES = {
    "pyarrow reader": lambda table: table.to_reader(max_chunksize=3),
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": lambda table: duckdb().from_arrow(table),
    "nothing but the interface": Exporter,
}


@pytest.mark.parametrize("give", TABLES.values(), ids=TABLES)
def test_tables_of_others_come_in_with_their_columns(give: Any) -> None:
    found = SFrame(give(frame().to_arrow().select(["n", "f", "s", "t", "l"])))
    expected = frame()[["n", "f", "s", "t", "l"]]
    assert (found.column_names(), found.column_types()) == (expected.column_names(), expected.column_types())
    assert list(found) == list(expected)


@pytest.mark.parametrize("name", list(COLUMNS))
def test_columns_of_others_come_in(name: str) -> None:
    series = pl.Series(name, frame()[name].to_arrow()) if name != "d" else pl.Series(frame()[name])
    for found in (SArray(series), SFrame(series)["X1"], SFrame({"a": series})["a"]):
        assert (found.dtype, list(found)) == (frame()[name].dtype, COLUMNS[name])


def test_pandas_is_read_as_before() -> None:
    """It has the interface too, but takes NaN for missing."""
    found = SFrame(pd.DataFrame({"a": [1.5, None], "b": pd.array([1, None], dtype="Int64")}))
    assert repr(list(found["a"])) == "[1.5, nan]" and list(found["b"]) == [1, None]
    assert list(SArray(pd.Series([1, 2]))) == [1, 2]


def test_rows_of_rows_stay_dicts() -> None:
    assert list(SArray(frame())) == list(frame())


@pytest.mark.parametrize("rows", [0, 1_000_000])
def test_frames_go_out_in_order(rows: int) -> None:
    numbers = frame() if rows else frame()[frame()["n"] > 5]
    assert pa.table(numbers) == numbers.to_arrow()
    assert pa.schema(numbers) == numbers.to_arrow().schema
    assert pl.DataFrame(numbers).columns == list(COLUMNS)
    assert pl.DataFrame(numbers)["n"].to_list() == list(numbers["n"])
    assert duckdb().sql("select count(*) as rows, sum(n) as total from numbers").fetchall() == [(len(numbers), numbers["n"].sum() if rows else None)]
    assert pa.table(pa.RecordBatchReader.from_stream(numbers)) == numbers.to_arrow()


def test_round_trips_are_the_identity() -> None:
    for there in (pa.table, lambda sf: pa.RecordBatchReader.from_stream(sf), pl.DataFrame, lambda sf: pl.DataFrame(sf).lazy()):
        again = SFrame(there(frame()))
        assert (again.column_types(), list(again)) == (frame().column_types(), list(frame()))


@pytest.mark.parametrize("name", list(COLUMNS))
def test_columns_go_out(name: str) -> None:
    column = frame()[name]
    assert pa.chunked_array(column).to_pylist() == column.to_arrow().to_pylist()
    assert SArray(pl.Series(column)).dtype == column.dtype and list(SArray(pl.Series(column))) == COLUMNS[name]
    assert pa.field(column).type == column.to_arrow().type


def test_rows_come_a_batch_at_a_time() -> None:
    with config.using(batch_rows=10):
        batches: Iterator[pa.RecordBatch] = iter(pa.RecordBatchReader.from_stream(SFrame({"a": range(100)})))
        assert [batch.num_rows for batch in batches] == [10] * 10


def test_types_are_told_without_rows() -> None:
    def fail(value: int) -> int:
        raise AssertionError("nobody asked for rows")

    lazy = SFrame({"a": SArray([1]).apply(fail, dtype=int)})
    assert pa.schema(lazy) == pa.schema({"a": pa.int64()})


def test_errors_of_a_users_function_are_raised_as_they_are() -> None:
    broken = SFrame({"a": SArray([1, 0]).apply(lambda value: 1 // value, dtype=int)})
    for look in (pa.table, pl.DataFrame):
        with pytest.raises(ZeroDivisionError):
            look(broken)


def test_a_stream_that_fails_is_told_with_its_library() -> None:
    with pytest.raises(InvalidArgumentError, match=r"the LazyFrame cannot be converted to rows: .*absent"):
        SFrame(pl.DataFrame({"a": [1]}).lazy().select("absent"))
    with pytest.raises(InvalidArgumentError, match="the Exporter cannot be converted to rows"):
        SFrame(Exporter(object()))


def test_frames_without_columns() -> None:
    assert pl.DataFrame(SFrame()).shape == (0, 0) and SFrame(pl.DataFrame()).shape == (0, 0)


@pytest.mark.spark
def test_rows_that_spark_makes(everything_on_spark: None) -> None:
    ordered = frame().sort("n")
    assert pl.DataFrame(ordered)["n"].to_list() == [None, 1, 2, 3] and is_started()
