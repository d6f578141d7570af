"""Tables of pandas, polars and Arrow: by constructors that say what they take, and where members take another frame."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import InvalidArgumentError, LostNanosecondsWarning, SchemaError, UnsupportedOperationError

UTC = datetime.UTC
DAY = datetime.datetime(2024, 2, 29)


def tables(columns: dict[str, list[Any]]) -> list[Any]:
    import polars

    return [columns, pd.DataFrame(columns), pa.table(columns), pa.table(columns).to_reader(), polars.DataFrame(columns), polars.LazyFrame(columns)]


@pytest.mark.parametrize("place", range(6))
def test_members_take_tables(place: int) -> None:
    frame = SFrame({"k": [1, 2, 3], "v": ["a", "b", "c"]})
    assert list(frame.join(tables({"k": [2, 3], "w": [20, 30]})[place], on="k")["w"]) == [20, 30]
    assert list(frame.append(tables({"k": [4], "v": ["d"]})[place])["v"]) == ["a", "b", "c", "d"]
    assert list(frame.asof_join(tables({"k": [0, 3], "w": [0, 30]})[place], on="k")["w"]) == [0, 0, 30]
    assert list(frame.merge_sorted(tables({"k": [2], "v": ["x"]})[place], on="k")["v"]) == ["a", "b", "x", "c"]


def test_members_take_saved_frames(tmp_path: Any) -> None:
    SFrame({"k": [2], "w": [20]}).save(str(tmp_path / "saved"))
    for place in (tmp_path / "saved", str(tmp_path / "saved")):
        assert list(SFrame({"k": [1, 2]}).join(place, on="k")["w"]) == [20]


@pytest.mark.parametrize("given", [None, 5, "nothing there", [1], SArray([1])])
def test_members_take_nothing_else(given: Any) -> None:
    frame = SFrame({"k": [1]})
    with pytest.raises(SchemaError, match="join takes an SFrame, got"):
        frame.join(given)
    with pytest.raises(UnsupportedOperationError, match="append takes an SFrame, got"):
        frame.append(given)


CONSTRUCTORS = {"from_pandas": (1,), "from_arrow": (1, 2, 3, 4, 5), "from_polars": (4, 5)}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_take_what_they_say(name: str) -> None:
    for place, table in enumerate(tables({"a": [1, 2]})):
        if place in CONSTRUCTORS[name]:
            assert list(getattr(SFrame, name)(table)["a"]) == [1, 2]
        else:
            with pytest.raises(SchemaError, match=rf"SFrame.{name}\(\) takes a"):
                getattr(SFrame, name)(table)


def test_arrays_of_arrow_are_one_column() -> None:
    for values in (pa.array([1, None]), pa.chunked_array([[1], [None]]), pa.array([{"a": 1}, None])):
        assert list(SFrame(values)["X1"]) == values.to_pylist() == list(SArray(values))


def test_a_row_of_spark_is_a_tuple() -> None:
    from pyspark.sql import Row

    frame = SFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    assert frame[Row("a", "c")].column_names() == ["a", "c"]
    assert list(frame["a"].is_in(Row(2, 3))) == [0, 1] and list(SArray(Row(1, 2))) == [1, 2]
    assert list(frame.filter_by(Row(2, 3), "a")["b"]) == [4]


def test_a_connection_of_duckdb_is_told_what_gives_rows() -> None:
    import duckdb

    with duckdb.connect() as connection, pytest.raises(InvalidArgumentError, match=r"pass the result of its sql\(\.\.\.\)"):
        SFrame(connection.execute("select 1 as a"))
    with duckdb.connect() as connection:
        assert list(SFrame(connection.sql("select 1 as a"))) == [{"a": 1}]


def test_dates_of_pandas_are_in_utc_unless_asked_otherwise() -> None:
    data = pd.DataFrame({"plain": pd.Series([DAY, None], dtype="datetime64[ns]")})
    data["zoned"] = data["plain"].dt.tz_localize("Asia/Kolkata")
    frame, naive = SFrame(data), SFrame.from_pandas(data, naive=True)
    assert list(frame["plain"]) == [DAY.replace(tzinfo=UTC), None]
    assert list(naive["plain"]) == [DAY, None]
    for made in (frame, naive):
        assert made["zoned"][0].utcoffset() == datetime.timedelta(hours=5, minutes=30)
    assert list(SFrame(pa.Table.from_pandas(data))["plain"]) == [DAY, None]


KEPT: list[tuple[Any, type, list[Any]]] = [
    (pd.array([1, None], dtype="Int64"), int, [1, None]),
    (pd.array([1.5, None], dtype="Float32"), float, [1.5, None]),
    (pd.array([True, None], dtype="boolean"), int, [1, None]),
    (pd.array(["a", None], dtype="string"), str, ["a", None]),
    (pd.array([2**60, None], dtype="int64[pyarrow]"), int, [2**60, None]),
    (pd.Categorical(["a", None, "a"]), str, ["a", None, "a"]),
    (pd.Categorical([1, 2, 1]), int, [1, 2, 1]),
    (pd.arrays.SparseArray([1, 0, 0]), int, [1, 0, 0]),
    (pd.to_timedelta([1.5, None], unit="s"), float, [1.5, None]),
]


@pytest.mark.parametrize(("values", "kind", "expected"), KEPT, ids=[str(values.dtype) for values, _, _ in KEPT])
def test_columns_of_pandas_come_in(values: Any, kind: type, expected: list[Any]) -> None:
    column = SFrame(pd.DataFrame({"x": values}))["x"]
    assert (column.dtype, list(column)) == (kind, expected)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.period_range("2024-01", periods=2, freq="M"), "dt.to_timestamp"),
        (pd.interval_range(0, 2), "make columns of .array.left"),
        ([1 + 2j], "'odd name'"),
        ([object()], "'odd name'"),
        ([1, "a"], "'odd name'"),
    ],
)
def test_columns_of_pandas_without_a_counterpart_are_named(values: Any, words: str) -> None:
    for make in (SFrame, SFrame.from_pandas):
        with pytest.raises(SchemaError, match=words) as raised:
            make(pd.DataFrame({"fine": range(len(values)), "odd name": values}))
        assert "column 'odd name'" in str(raised.value)


def test_levels_of_names_become_text_and_the_index_goes() -> None:
    data = pd.DataFrame({("a", "b"): [1], ("a", 1): [2]}, index=pd.MultiIndex.from_tuples([("x", "y")]))
    assert SFrame(data).column_names() == ["('a', 'b')", "('a', 1)"]
    assert list(SFrame.from_pandas(data.reset_index())["('level_0', '')"]) == ["x"]


CUT = np.array(["2024-02-29T00:00:00.000000001", "NaT", "2024-02-29"], "datetime64[ns]")


@pytest.mark.parametrize(
    "make",
    [
        lambda: SArray(CUT),
        lambda: SArray(pd.Series(CUT)),
        lambda: SArray(pd.Series(CUT).dt.tz_localize("UTC")),
        lambda: SArray(pa.array(CUT)),
        lambda: SFrame(pd.DataFrame({"x": CUT})),
        lambda: SFrame.from_pandas(pd.DataFrame({"x": CUT}), naive=True),
        lambda: SFrame(pa.table({"x": CUT})),
        lambda: SFrame({"x": CUT}),
    ],
)
def test_nanoseconds_that_are_cut_are_told_once(make: Callable[[], Any]) -> None:
    with pytest.warns(LostNanosecondsWarning, match="the nanoseconds of 1") as told:
        made = make()
    assert len(told) == 1 and told[0].filename == __file__
    column = made if isinstance(made, SArray) else made["x"]
    assert [None if day is None else day.replace(tzinfo=None) for day in column] == [DAY, None, DAY]


def test_whole_microseconds_are_nothing_to_tell() -> None:
    whole = CUT.astype("datetime64[us]").astype("datetime64[ns]")
    assert len(SArray(whole)) == len(SFrame(pa.table({"x": whole}))) == 3


BROKEN = pa.StringArray.from_buffers(1, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff"))


@pytest.mark.parametrize("make", [lambda: SFrame(pa.table({"t": BROKEN})), lambda: SFrame({"t": BROKEN})])
def test_arrow_data_is_not_believed(make: Callable[[], SFrame]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"column 't': .*UTF8"):
        make()
    with pytest.raises(InvalidArgumentError, match="UTF8"):
        SArray(BROKEN)
    nested = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), BROKEN)
    with pytest.raises(InvalidArgumentError, match="UTF8"):
        SArray(nested)


def test_a_signalling_nan_is_a_nan() -> None:
    assert np.isnan(SArray([decimal.Decimal("sNaN")])[0])


HALF = "a\ud800"


@pytest.mark.parametrize(
    "use",
    [
        lambda column: column.fillna(HALF),
        lambda column: column.contains(HALF),
        lambda column: column.is_in([HALF]),
        lambda column: column.filter_by([HALF]),
        lambda column: column == HALF,
        lambda column: column + HALF,
    ],
)
def test_half_characters_are_told(use: Callable[[SArray], Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="half of a character"):
        list(use(SArray(["a", None])))


@pytest.mark.parametrize("flip", [False, True])
def test_keys_with_and_without_an_offset_are_told(flip: bool) -> None:
    plain, aware = SFrame({"day": [DAY, None]}), SFrame({"day": [DAY.replace(tzinfo=UTC), None]})
    left, right = (aware, plain) if flip else (plain, aware)
    with pytest.raises(UnsupportedOperationError, match=r"on 'day': date-times with and without an offset.*from_zone\('UTC'\)"):
        left.join(right, on="day")
    for look in (lambda: left.filter_by(right["day"], "day"), lambda: left["day"].filter_by(list(right["day"]))):
        with pytest.raises(SchemaError, match="never equal"):
            look()
    # As in the reference: `is_in` compares moments, and one without an offset counts as UTC.
    assert list(left["day"].is_in([right["day"][0]])) == [1, 0]
    for same in (left, right):
        assert len(same.filter_by(same["day"][:1], "day")) == same["day"].is_in([same["day"][0]]).sum() == 1
        assert list(same["day"].is_in([])) == [0, 0]
        assert len(same.filter_by([None], "day")) == 1


def test_columns_with_both_have_both_kinds_of_keys() -> None:
    both = SFrame({"day": [DAY, DAY.replace(tzinfo=UTC)]})
    assert list(both.filter_by([DAY], "day")["day"]) == [DAY]
    assert list(both.filter_by([DAY.replace(tzinfo=UTC)], "day")["day"]) == [DAY.replace(tzinfo=UTC)]


@pytest.mark.spark
def test_columns_with_both_are_joined() -> None:
    both, plain = SFrame({"day": [DAY, DAY.replace(tzinfo=UTC)]}), SFrame({"day": [DAY]})
    assert len(both.join(plain, on="day")) == len(plain.join(both, on="day")) == 1
    assert len(both[:0].join(plain, on="day")) == 0


def test_the_interchange_protocol_is_pyarrow_s() -> None:
    frame = SFrame({"a": [1, None], "b": ["x", "y"]})
    offered = frame.__dataframe__()
    assert (list(offered.column_names()), offered.num_rows()) == (["a", "b"], 2)
    assert offered.get_column_by_name("a").null_count == 1
    assert pd.api.interchange.from_dataframe(frame)["b"].tolist() == ["x", "y"]
    assert not hasattr(frame["a"], "__dataframe__")
