"""Columns of arrays of numpy by every path: in process and on Spark, through files and plans, beside numpy itself."""

from __future__ import annotations

import array
import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.errors import DamagedValueError, SchemaError, UnsupportedOperationError
from sframe_spark.planner.row_sizes import fixed_size
from sframe_spark.types import NDARRAY
from sframe_spark.values.ndarrays import ndarray_column, ndarrays, shape_texts
from sframe_spark.values.plain_values import agree
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value
from tests.examples import examples

SHAPES = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)


@st.composite
def cells(draw: Any) -> list[Any]:
    """Arrays of any shapes, few of them different, and missing ones."""
    shapes = draw(st.lists(SHAPES, min_size=1, max_size=3))
    numbers = st.sampled_from([0.0, -0.0, 1.5, -2.0, 1e300, float("nan"), float("inf"), 1 / 3])
    cell = st.sampled_from(shapes).flatmap(
        lambda shape: st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(lambda flat: np.array(flat).reshape(shape))
    )
    return draw(st.lists(st.none() | cell, max_size=6))


def same(found: Any, wanted: Any) -> bool:
    return agree(list(found), list(wanted))


@settings(max_examples=examples(40), deadline=None)
@given(cells())
def test_any_arrays_are_what_they_were(values: list[Any]) -> None:
    assert same(ndarrays(ndarray_column(values)), values)
    column = SArray(values, np.ndarray)
    assert same(column, values) and same(column[1::2], values[1::2])
    assert same(SArray(column.to_arrow()), values)
    assert same(pickle.loads(pickle.dumps(column)), values)
    assert [decode_value(encode_value([value])) for value in values if value is None] == [[None]] * sum(value is None for value in values)
    assert all(agree(decode_value(encode_value([value])), [value]) for value in values)
    assert same(SArray([[value] for value in values], list).apply(lambda items: items[0], np.ndarray), values)


@settings(max_examples=examples(40), deadline=None)
@given(cells())
def test_texts_and_sums_are_those_of_numpy(values: list[Any]) -> None:
    def text(value: Any) -> str:
        return f"[{','.join(map(text, value))}]" if isinstance(value, list) else f"{value:g}"

    column, present = SArray(values, np.ndarray), [value for value in values if value is not None]
    assert list(column.astype(str)) == [None if value is None else text(value.tolist()) for value in values]
    assert same(column.astype(array.array), [None if value is None else array.array("d", value.ravel()) for value in values])
    assert same(column * 2 - 1, [None if value is None else value * 2 - 1 for value in values])
    assert list(column == column) == [int(value is None or not np.isnan(value).any()) for value in values]
    shapes = {value.shape for value in present}
    assert set(shape_texts(ndarray_column(values)).drop_null().to_pylist()) == {",".join(map(str, shape)) for shape in shapes}
    if len(shapes) > 1:
        with pytest.raises(UnsupportedOperationError, match="different shapes"):
            column.sum()
    elif present and all(np.isfinite(value).all() and abs(value).max(initial=0) < 1e3 for value in present):
        assert agree(column.sum(), np.sum(present, axis=0)) and agree(column.mean(), np.mean(present, axis=0))


def test_a_constant_is_compared_to_its_last_digit() -> None:
    """Also in a long array, of which numpy shows some items only."""
    near, other = np.zeros(2000), np.zeros(2000)
    other[1000] = 1e-12
    column = SArray([near])
    frame = SFrame({"a": column + near, "b": column + other})
    assert frame["a"][0][1000] == 0.0 and frame["b"][0][1000] == 1e-12


def test_what_users_change_afterwards_changes_no_column() -> None:
    given_array = np.array([[1.0, 2.0]])
    column, filled = SArray([given_array]), SArray([None], np.ndarray).fillna(given_array)
    found = SArray([[1.0, 2.0]], np.ndarray).is_in([given_array[0]])
    given_array[0, 0] = 9.0
    row = column[0]
    row[0, 0] = 7.0
    assert (column[0][0, 0], filled[0][0, 0], list(found)) == (1.0, 1.0, [1])
    assert copy.deepcopy(column)[0].tolist() == [[1.0, 2.0]]


FRAME = {
    "k": [1, 1, 2, 2],
    "one": [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0]), None],
    "two": [np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([[5.0, 6.0]]), None],
}
PROGRAMS: dict[str, Callable[[SFrame], Any]] = {
    "rows": lambda frame: frame,
    "arithmetic": lambda frame: 1 / (-frame["two"] * 2 + frame["two"]),
    "equal": lambda frame: frame["two"] == np.array([[1.0, 2.0]]),
    "sums": lambda frame: [frame["two"].sum(), frame["two"].mean()],
    "groups": lambda frame: frame.groupby(
        "k", {name: getattr(aggregate, name)("two") for name in ("SUM", "MEAN", "SELECT_ONE", "CONCAT", "COUNT_DISTINCT", "DISTINCT")}
    ).sort("k"),
    "keys": lambda frame: frame.append(frame).groupby("two", {"n": aggregate.COUNT()})["n"].sort(),
    "join": lambda frame: frame.join(frame[["two"]], on="two").sort("k"),
    "filter_by": lambda frame: frame.filter_by([np.array([[1.0, 2.0]])], "two"),
    "is_in": lambda frame: frame["two"].is_in([np.array([[1.0, 2.0]]), np.array([1.0, 2.0])]),
    "fillna": lambda frame: frame["two"].fillna(np.array([9.0])),
    "apply": lambda frame: frame["two"].apply(lambda value: value.T),
    "lists": lambda frame: frame.pack_columns(["k", "two"], dtype=list),
    "items": lambda frame: frame.groupby("k", {"x": aggregate.CONCAT("two")}).sort("k").stack("x", "y")["y"],
    "casts": lambda frame: [*frame["two"].astype(str), *frame["two"].astype(array.array).astype(np.ndarray)],
    "hash": lambda frame: frame["two"].hash(),
    "choice": lambda frame: SArray.where(frame["k"] == 1, frame["one"], frame["two"]),
}


def outcome(program: Callable[[SFrame], Any], frame: SFrame) -> list[Any]:
    return list(program(frame))


@pytest.mark.spark
def test_programs_give_the_same_rows_on_spark(spark: Any, everything_on_spark: None) -> None:
    there = SFrame(SFrame(FRAME).to_spark())
    assert there.column_types() == [int, np.ndarray, np.ndarray]
    # Printed before anything is computed: by a query of the first rows.
    assert str(SFrame(SFrame(FRAME).to_spark())).splitlines()[:8] == str(SFrame(FRAME)).splitlines()[:8]
    found = {name: outcome(program, there) for name, program in PROGRAMS.items()}
    assert [name for name, program in PROGRAMS.items() if not agree(found[name], EXPECTED[name])] == []


EXPECTED = {name: outcome(program, SFrame(FRAME)) for name, program in PROGRAMS.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same_rows_from_files(name: str, tmp_path: Path) -> None:
    SFrame(FRAME).save(str(tmp_path / "saved"))
    SFrame(FRAME).write_parquet(str(tmp_path / "parquet"))
    for frame in (load_sframe(str(tmp_path / "saved")), SFrame.read_parquet(str(tmp_path / "parquet"))):
        assert agree(outcome(PROGRAMS[name], frame), EXPECTED[name])


def test_rows_are_rows_in_numpy() -> None:
    frame = SFrame(FRAME).dropna()
    assert frame["two"].to_numpy().shape == np.asarray(frame["two"]).shape == (3, 1, 2)
    assert frame[["two"]].to_numpy().shape == (3, 1) and frame[["two"]].to_numpy()[0, 0].shape == (1, 2)
    assert frame[["one"]].head(0).to_numpy().shape == (0, 1)


def test_the_size_of_arrays_is_unknown_before_they_are_there() -> None:
    assert fixed_size(NDARRAY) is None


def test_tensors_of_arrow_come_in_and_go_out(tmp_path: Path) -> None:
    parts = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(24.0).reshape(6, 2, 2))
    assert same(SArray(pa.chunked_array([parts[1:2], parts[4:]])), np.arange(24.0).reshape(6, 2, 2)[[1, 4, 5]])
    storage = pa.array([list(range(6)), None], pa.list_(pa.int32(), 6))
    turned = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0]), storage)
    assert same(SFrame({"a": turned})["a"], [np.arange(6.0).reshape(2, 3).T, None])
    table = SFrame(FRAME).to_arrow()
    assert [str(field.type.shape) for field in table.schema if field.name != "k"] == ["[2]", "[1, 2]"]
    pq.write_table(table, tmp_path / "tensors.parquet")
    assert same(SFrame.read_parquet(str(tmp_path / "tensors.parquet")), SFrame(FRAME))


@pytest.mark.parametrize(
    "stored", [{"shape": [3], "values": [1.0]}, {"shape": [-1, -1], "values": [1.0]}, {"shape": [2, None], "values": [1.0, 2.0]}]
)
def test_shapes_that_do_not_fit_are_refused(stored: dict[str, Any]) -> None:
    kind = pa.struct([("shape", pa.list_(pa.int64())), ("values", pa.list_(pa.float64()))])
    with pytest.raises(SchemaError, match="row 0 has an array of the shape"):
        SArray(pa.array([stored], kind))


@pytest.mark.parametrize("text", ['{"$ndarray":[1.0],"shape":[2]}', '{"$ndarray":[1.0],"shape":["1"]}', '{"$ndarray":[],"shape":[99999999999,0,-1]}'])
def test_damaged_texts_are_refused(text: str) -> None:
    with pytest.raises(DamagedValueError):
        decode_value(text)
