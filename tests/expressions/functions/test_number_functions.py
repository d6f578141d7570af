"""Elementwise mathematics gives what NumPy gives, row by row, whatever is missing and however rows are cut; Spark's tasks give the same bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS, PAIR_FUNCTIONS
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, evaluate
from sframe_spark.types import ARRAY, FLOAT, INT, ColumnType

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-300, 5e-324, 1e18, 1e300, 710.0, -746.0, 2.0**52 + 1, math.inf, -math.inf, math.nan]
INTS = [0, 1, -1, 2, 7, 10, -10, 2**53 + 1, 2**63 - 1, -(2**63)]
floats = st.lists(st.none() | st.sampled_from(EDGES) | st.floats(), max_size=40)
ints = st.lists(st.none() | st.sampled_from(INTS) | st.integers(-(2**63), 2**63 - 1), max_size=40)


def of_numpy(ufunc: Any, *columns: list[Any], as_floats: bool = True) -> list[Any]:
    """What NumPy gives for the rows in which nothing is missing, and None elsewhere."""
    complete = [None not in row for row in zip(*columns, strict=True)]
    kept = [
        np.array([value for value, whole in zip(column, complete, strict=True) if whole], np.float64 if as_floats else None) for column in columns
    ]
    with np.errstate(all="ignore"):
        results = iter(ufunc(*kept).tolist() if any(complete) else ())
    return [next(results) if whole else None for whole in complete]


def bits(values: list[Any]) -> list[Any]:
    """Values that are equal where floats have the same bytes, NaN aside."""
    return [("nan" if value != value else value.hex()) if isinstance(value, float) else None if value is None else int(value) for value in values]


def computed(name: str, kind: ColumnType, *columns: list[Any], parameters: tuple[Any, ...] = ()) -> list[Any]:
    """The kernel's values, of arrays that begin within longer ones."""
    arrays = [pa.array([None, 1, *column], kind.physical).slice(2) for column in columns]
    result, _ = evaluate(name, arrays, [kind] * len(columns), parameters, len(columns[0]))
    result.validate(full=True)
    return list(result.to_pylist())


@pytest.mark.parametrize("name", NUMBER_FUNCTIONS)
@given(floats)
def test_floats_are_those_of_numpy(name: str, values: list[Any]) -> None:
    assert bits(computed(name, FLOAT, values)) == bits(of_numpy(NUMBER_FUNCTIONS[name].ufunc, values))


@pytest.mark.parametrize("name", NUMBER_FUNCTIONS)
@given(ints)
def test_ints_give_floats_or_stay_ints(name: str, values: list[Any]) -> None:
    line = NUMBER_FUNCTIONS[name]
    found = computed(name, INT, values)
    if line.of_ints is None:
        assert bits(found) == bits(of_numpy(line.ufunc, values))
    else:
        assert found == of_numpy(line.of_ints, values, as_floats=False) and all(value is None or type(value) is int for value in found)


@pytest.mark.parametrize("name", PAIR_FUNCTIONS)
@given(
    floats.flatmap(lambda first: st.tuples(st.just(first), st.lists(st.none() | st.sampled_from(EDGES), min_size=len(first), max_size=len(first))))
)
def test_functions_of_two_floats_are_those_of_numpy(name: str, columns: tuple[list[Any], list[Any]]) -> None:
    assert bits(computed(name, FLOAT, *columns)) == bits(of_numpy(PAIR_FUNCTIONS[name].ufunc, *columns))


@pytest.mark.parametrize("name", PAIR_FUNCTIONS)
def test_a_number_beside_a_column_is_in_each_row(name: str) -> None:
    ufunc = PAIR_FUNCTIONS[name].ufunc
    for number in (2, -1.5, math.nan, None):
        for kind, values in ((FLOAT, [*EDGES, None]), (INT, [*INTS, None])):
            literal, literal_type = (
                pa.scalar(number, pa.int64() if isinstance(number, int) else pa.float64()),
                INT if isinstance(number, int) else FLOAT,
            )
            stays = PAIR_FUNCTIONS[name].ints_stay and kind == literal_type == INT
            column = pa.array(values, kind.physical)
            for arguments, types, columns in (
                ([column, literal], [kind, literal_type], [values, [number] * len(values)]),
                ([literal, column], [literal_type, kind], [[number] * len(values), values]),
            ):
                found, found_type = evaluate(name, arguments, types, (), len(values))
                assert found_type == (INT if stays else FLOAT)
                assert bits(found.to_pylist()) == bits(of_numpy(ufunc, *columns, as_floats=not stays)), (number, kind)


@given(floats, st.integers(-400, 400) | st.integers(-3, 3))
def test_rounded_floats_are_those_of_numpy_where_these_are_finite(values: list[Any], digits: int) -> None:
    found = computed("round", FLOAT, values, parameters=(digits,))
    for value, rounded in zip(values, found, strict=True):
        if value is None or not math.isfinite(value):
            assert bits([rounded]) == bits([value])
            continue
        with np.errstate(all="ignore"):
            expected = float(np.round(np.float64(value), digits)) if -300 < digits < 300 else math.nan
        if math.isfinite(expected):
            assert bits([rounded]) == bits([expected])
        else:
            assert rounded == (value if digits > 0 else 0.0)


@given(st.lists(st.none() | st.integers(-(2**62), 2**62), max_size=40), st.integers(-25, 3))
def test_rounded_ints_are_those_of_python(values: list[Any], digits: int) -> None:
    expected = [None if value is None else round(value, digits) for value in values]
    if all(value is None or abs(value) < 2**63 for value in expected):
        assert computed("round", INT, values, parameters=(digits,)) == expected


def test_elements_of_arrays_are_numbers() -> None:
    column = SArray([[1.0, 4.0], [], None, [-1.0, math.nan]])
    assert [None if row is None else list(row) for row in column.sqrt()][:3] == [[1.0, 2.0], [], None]
    assert [list(row) for row in SArray([[1.25, -2.5]]).round(1)] == [[1.2, -2.5]]
    assert FUNCTIONS["log"].infer((ARRAY,), ()) == ARRAY
    with pytest.raises(UnsupportedOperationError, match="isnan is not defined for array"):
        column.isnan()


@pytest.mark.filterwarnings("error")
def test_what_has_no_number_neither_warns_nor_fails() -> None:
    column = SArray([0, -1, None, 1])
    assert bits(list(column.log())) == bits([-math.inf, math.nan, None, 0.0])
    assert bits(list(column.sqrt())) == bits([0.0, math.nan, None, 1.0])
    assert bits(list(np.fmod(column, 0))) == bits([math.nan, math.nan, None, math.nan])
    assert list(SArray([800.0, None]).exp()) == [math.inf, None]


def test_names_and_digits_are_checked_at_once() -> None:
    with pytest.raises(UnsupportedOperationError, match="sqrt is not defined for str; convert with astype first"):
        SArray(["4"]).sqrt()
    int8: Any = np.int8(1)
    wrong: list[Any] = [1.5, "1", None, True]
    for digits in wrong:
        with pytest.raises(InvalidArgumentError, match="digits must be the number of digits"):
            SArray([1.5]).round(digits)
    assert list(round(SArray([1.26, None]), 1)) == [1.3, None] and list(round(SArray([2.5]))) == [2.0]
    assert list(SArray([1.26]).round(int8)) == [1.3]


@pytest.mark.parametrize("name", [name for name, line in NUMBER_FUNCTIONS.items() if line.keeps_order])
def test_sorted_rows_are_not_sorted_again(name: str) -> None:
    rows = SFrame({"x": [2.5, None, -1.5, math.nan, 0.5]}).sort("x")
    rows["y"] = getattr(rows["x"], name)()
    rows["z"] = rows["x"].cos()
    assert str(rows.sort("y").explain("unite")) == str(rows.explain("unite"))
    assert "z asc" in str(rows.sort("z").explain("unite"))


@pytest.mark.parametrize("line", [*NUMBER_FUNCTIONS.values()], ids=lambda line: line.name)
def test_examples_print_what_they_say(line: Any) -> None:
    expression, printed = line.example
    assert str(list(eval(expression, {"SArray": SArray}))) == printed
    assert line.name in expression and printed in (getattr(SArray, line.name).__doc__ or "")


def test_any_cut_of_the_rows_gives_the_same_bytes() -> None:
    numbers = np.random.default_rng(7).normal(0, 3, 1003)
    for name in NUMBER_FUNCTIONS:
        whole = evaluate(name, [pa.array(numbers)], [FLOAT], (), len(numbers))[0]
        for cut in (1, 2, 7, 8, 501):
            parts = [evaluate(name, [pa.array(part)], [FLOAT], (), len(part))[0] for part in (numbers[:cut], numbers[cut:])]
            assert bits(pa.concat_arrays(parts).to_pylist()) == bits(whole.to_pylist()), (name, cut)


@pytest.mark.spark
def test_spark_tasks_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [*EDGES, None, *np.random.default_rng(1).normal(0, 10, 50).tolist()]
    monkeypatch.setattr(config, "small_rows", 0)
    frame = SFrame({"x": values})
    for name, line in NUMBER_FUNCTIONS.items():
        assert bits(list(getattr(frame["x"], name)())) == bits(of_numpy(line.ufunc, values)), name
    for name, pair in PAIR_FUNCTIONS.items():
        assert bits(list(frame["x"]._binary(name, 2.5))) == bits(of_numpy(pair.ufunc, values, [2.5] * len(values))), name
