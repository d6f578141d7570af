"""Kernels of the functions that are not operators, against what the reference was seen to do."""

from __future__ import annotations

import array
import datetime
from typing import Any

import pytest

import sframe_spark.expressions.functions  # noqa: F401 - fills the table
from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, IMAGE, INT, NDARRAY, STR, ZONED_DATETIME, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode, infer_type
from tests.expressions.functions.test_spark_columns import ELSEWHERE, calls, own_functions
from tests.facts import same

NAN = float("nan")
EARLY = datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)
FIRST, SECOND = datetime.datetime(2011, 1, 1), datetime.datetime(2012, 1, 1)


def numbers(*items: float) -> array.array:
    """An array cell."""
    return array.array("d", items)


X: dict[str, list[Any]] = {
    "int": [1, None, 3],
    "float": [1.5, NAN, None],
    "str": ["a", None, "c"],
    "list": [["a"], None, []],
    "mixed": [["a", 1], None, []],
    "dict": [{"a": 1}, None, {}],
    "array": [numbers(1.0), None, numbers()],
    "datetime": [FIRST, None, SECOND],
}


def call(function: str, *columns: list[Any], parameters: tuple[Any, ...] = ()) -> tuple[str, list[Any]]:
    """Evaluate a function over columns of inferred types."""
    types = [infer_type(values) for values in columns]
    arrays = [encode(values, column_type) for values, column_type in zip(columns, types, strict=True)]
    result, column_type = evaluate(function, arrays, types, parameters, len(columns[0]))
    result.validate(full=True)
    assert result.type == column_type.physical
    return column_type.kind, decode(result, column_type)


CASES: list[tuple[str, list[list[Any]], tuple[Any, ...], str, list[Any]]] = [
    ("truth", [X["int"]], (), "int", [1, None, 1]),
    ("truth", [[1.5, 0.0, -0.0, NAN, None]], (), "int", [1, 0, 0, 1, None]),
    ("truth", [X["str"] + ["", "0"]], (), "int", [1, None, 1, 0, 1]),
    ("truth", [X["list"]], (), "int", [1, None, 0]),
    ("truth", [X["mixed"]], (), "int", [1, None, 0]),
    ("truth", [X["dict"]], (), "int", [1, None, 0]),
    ("truth", [[{"a": 1, 2: 3}, {}]], (), "int", [1, 0]),
    ("truth", [X["array"] + [numbers(0.0)]], (), "int", [1, None, 0, 1]),
    ("is_missing", [X["float"]], (), "int", [0, 1, 1]),
    ("is_not_missing", [X["str"]], (), "int", [1, 0, 1]),
    ("fill_missing", [X["int"]], (2.7,), "int", [1, 2, 3]),
    ("fill_missing", [X["int"]], (FIRST,), "int", [1, 1293840000, 3]),
    ("fill_missing", [X["float"]], (1,), "float", [1.5, 1.0, 1.0]),
    ("fill_missing", [X["float"]], (NAN,), "float", [1.5, NAN, NAN]),
    ("fill_missing", [X["str"]], ({"a": 1},), "str", ["a", '{"a":1}', "c"]),
    ("fill_missing", [X["str"]], (None,), "str", ["a", None, "c"]),
    ("fill_missing", [X["list"]], ([1],), "list", [["a"], [1.0], []]),
    ("fill_missing", [X["list"]], (["q"],), "list", [["a"], ["q"], []]),
    ("fill_missing", [X["list"]], ([],), "list", [["a"], [], []]),
    ("fill_missing", [X["dict"]], ({"b": "x"},), "dict", [{"a": 1}, {"b": "x"}, {}]),
    ("fill_missing", [X["dict"]], ({},), "dict", [{"a": 1}, {}, {}]),
    ("fill_missing", [X["array"]], ([9],), "array", [numbers(1.0), numbers(9.0), numbers()]),
    (
        "fill_missing",
        [X["datetime"]],
        (1.5,),
        "datetime",
        [FIRST, datetime.datetime(1970, 1, 1, 0, 0, 1, 500000), SECOND],
    ),
    ("coalesce", [X["float"], [7.0, 8.0, None]], (), "float", [1.5, 8.0, None]),
    ("coalesce", [X["dict"], [None, {"x": "y"}, None]], (), "dict", [{"a": 1}, {"x": "y"}, {}]),
    ("if_else", [[1, 0, None], [1, 2, 3], [4, 5, 6]], (), "int", [1, 5, 6]),
    ("if_else", [[NAN, 0.0, 2.0], ["a", "b", None], ["x", None, "z"]], (), "str", ["a", None, None]),
    ("if_else", [["a", "", None], [["a"]] * 3, [["b", 1]] * 3], (), "list", [["a"], ["b", 1], ["b", 1]]),
    ("if_else", [[1, 0, 1], X["array"], X["array"]], (), "array", X["array"]),
    ("if_else", [[1, 0, 0], X["dict"], [None, {"q": 1}, {}]], (), "dict", [{"a": 1}, {"q": 1}, {}]),
    ("clip", [X["int"]], (0, 2), "int", [1, None, 2]),
    ("clip", [X["int"]], (0, 2.5), "float", [1.0, None, 2.5]),
    ("clip", [X["int"]], (NAN, NAN), "float", [1.0, None, 3.0]),
    ("clip", [X["int"]], (None, 1), "int", [1, None, 1]),
    ("clip", [[1.0, 5.0, NAN, None]], (2, 3), "float", [2.0, 3.0, NAN, None]),
    ("clip", [[numbers(1.0, 5.0, NAN), None]], (2, 3), "array", [numbers(2.0, 3.0, NAN), None]),
    ("clip", [[2**53 + 1]], (0, 2**62), "int", [2**53 + 1]),
    ("is_in", [X["int"]], ((1.0, "a", 2.5),), "int", [1, 0, 0]),
    ("is_in", [X["int"]], ((None,),), "int", [0, 1, 0]),
    ("is_in", [X["int"]], ((),), "int", [0, 0, 0]),
    ("is_in", [[2**63 - 1, 0]], ((2**63 - 1,),), "int", [1, 0]),
    ("is_in", [[1, 0]], ((float("inf"), 1),), "int", [1, 0]),
    ("is_in", [[0.0, -0.0, 1.0]], ((0.0,),), "int", [1, 1, 0]),
    ("is_in", [[0.0, -0.0, 1.0]], ((-0.0, 2),), "int", [1, 1, 0]),
    ("is_in", [X["float"]], ((NAN, None),), "int", [0, 1, 1]),
    ("is_in", [X["float"]], ((NAN,),), "int", [0, 0, 0]),
    ("is_in", [X["float"]], ((NAN,), True), "int", [0, 1, 0]),
    ("is_in", [X["str"]], ((1, "a"),), "int", [1, 0, 0]),
    ("is_in", [X["list"]], ((["a"], None),), "int", [1, 1, 0]),
    ("is_in", [X["dict"]], (({"a": 1.0},),), "int", [1, 0, 0]),
    ("is_in", [X["array"]], ((numbers(1.0),),), "int", [1, 0, 0]),
    ("is_in", [X["datetime"]], ((SECOND, "x"),), "int", [0, 0, 1]),
    ("bin_between", [[0, 1, 5, 6, None]], ((0, 5, 9), "right", None), "int", [None, 0, 0, 1, None]),
    ("bin_between", [[0.0, 5.0, 9.0, NAN, -1.0]], ((0, 5, 9), "left", ("low", "high")), "str", ["low", "high", None, None, None]),
    ("str_pad", [["ab", "", None]], (3, "left", "*"), "str", ["*ab", "***", None]),
    ("contains", [X["str"]], ("a",), "int", [1, 0, 0]),
    ("contains", [X["str"]], ("",), "int", [1, 0, 1]),
    ("contains", [X["list"]], ("a",), "int", [1, 0, 0]),
    ("contains", [[[1.0, "a"], [NAN], [None]]], (1,), "int", [1, 0, 0]),
    ("contains", [[[1, NAN, None, "a"]]], (NAN,), "int", [1]),
    ("contains", [[[1, NAN, None, "a"]]], (None,), "int", [1]),
    ("contains", [X["dict"]], ("a",), "int", [1, 0, 0]),
    ("contains", [[{1: 2}]], (1.0,), "int", [1]),
    ("contains", [X["array"]], (True,), "int", [1, 0, 0]),
    ("item_length", [X["list"]], (), "int", [1, None, 0]),
    ("item_length", [X["mixed"]], (), "int", [2, None, 0]),
    ("item_length", [X["dict"]], (), "int", [1, None, 0]),
    ("item_length", [[{"a": 1, 2: 3}, None]], (), "int", [2, None]),
    ("item_length", [X["array"]], (), "int", [1, None, 0]),
    ("vector_slice", [[[1, 2, 3], [1], None]], (0, None), "float", [1.0, 1.0, None]),
    ("vector_slice", [[[1, 2, 3], [1]]], (1, 2), "float", [2.0, None]),
    ("vector_slice", [[[1, 2, 3], [1]]], (1, 3), "array", [numbers(2.0, 3.0), None]),
    ("vector_slice", [[["a", 2, 3], [1]]], (1, None), "list", [[2], None]),
    ("vector_slice", [[["a", "b"], None, []]], (1, None), "list", [["b"], None, None]),
    ("element_slice", [[[1, 2, 3], [1], None]], (None, None, 2), "array", [numbers(1.0, 3.0), numbers(1.0), None]),
    ("element_slice", [["abcd", "é日", None]], (0, 1, 1), "str", ["a", "é", None]),
    ("element_slice", [[["a", 2, 3], []]], (None, None, -1), "list", [[3, 2, "a"], []]),
    ("element_at", [[{"a": 1}, {"a": "x"}, {}, None]], ("a", INT), "int", [1, None, None, None]),
    ("element_at", [[["a", 2], [3, 4], []]], (1, FLOAT), "float", [2.0, 4.0, None]),
    ("element_at", [X["array"]], (0, FLOAT), "float", [1.0, None, None]),
    ("cast", [["1", "x", None]], (INT, True), "int", [1, None, None]),
    ("cast", [X["array"]], (ENCODED_LIST, False), "list", [[1.0], None, []]),
    ("recode", [X["dict"]], (ENCODED_DICT,), "dict", X["dict"]),
    ("literal", [X["int"]], (["a", None], ENCODED_LIST), "list", [["a", None]] * 3),
    ("equal", [[[1, "a"], [NAN]], [[1.0, "a"], [NAN]]], (), "int", [1, 1]),
    ("equal", [[{"a": 1, "b": 2.0}], [{"b": 2, "a": 1}]], (), "int", [1]),
    ("equal", [[numbers(1.0), numbers(NAN)], [[1], [NAN]]], (), "int", [1, 0]),
]


@pytest.mark.parametrize(
    ("function", "columns", "parameters", "kind", "values"),
    CASES,
    ids=[f"{case[0]}-{index}" for index, case in enumerate(CASES)],
)
def test_kernel(function: str, columns: list[Any], parameters: tuple[Any, ...], kind: str, values: list[Any]) -> None:
    got_kind, got = call(function, *columns, parameters=parameters)
    assert got_kind == kind
    assert same(got, values), got


REFUSED: list[tuple[str, list[list[Any]], tuple[Any, ...], type[Exception]]] = [
    ("truth", [X["datetime"]], (), RuntimeError),
    ("and_", [X["datetime"], X["int"]], (), RuntimeError),
    ("xor", [X["int"], X["int"]], (), TypeError),
    ("invert", [X["int"]], (), TypeError),
    ("fill_missing", [X["int"]], ([1],), RuntimeError),
    ("fill_missing", [X["int"]], (None,), RuntimeError),
    ("fill_missing", [X["int"]], ("x",), RuntimeError),
    ("fill_missing", [X["dict"]], (1.5,), RuntimeError),
    ("fill_missing", [X["array"]], (0,), RuntimeError),
    ("fill_missing", [X["datetime"]], (NAN,), RuntimeError),
    ("if_else", [[1], [1], [2.5]], (), RuntimeError),
    ("clip", [X["int"]], (3, 1), RuntimeError),
    ("clip", [X["int"]], ("a", "b"), RuntimeError),
    ("clip", [X["str"]], (0, 2), RuntimeError),
    ("clip", [X["datetime"]], (0, 2), RuntimeError),
    ("is_in", [X["str"]], ((1,),), RuntimeError),
    ("is_in", [X["array"]], ((1, 2.5),), RuntimeError),
    ("contains", [X["int"]], (1,), RuntimeError),
    ("contains", [X["str"]], (1,), RuntimeError),
    ("contains", [X["array"]], ("a",), RuntimeError),
    ("item_length", [X["str"]], (), TypeError),
    ("element_slice", [X["dict"]], (0, 1, 1), TypeError),
    ("cast", [X["dict"]], (INT, False), RuntimeError),
    ("cast", [["x"]], (INT, False), RuntimeError),
]


@pytest.mark.parametrize(("function", "columns", "parameters", "error"), REFUSED)
def test_refusal(function: str, columns: list[Any], parameters: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(function, *columns, parameters=parameters)


def test_hash_depends_on_the_value_alone() -> None:
    words = call("hash", [1, None, 1, 2], parameters=(0,))[1]
    assert words[0] == words[2] and len({*words}) == 3
    assert call("hash", [0.0, -0.0], parameters=(0,))[1][0] == call("hash", [-0.0, 0.0], parameters=(0,))[1][0]
    assert call("hash", ["a"], parameters=(0,)) != call("hash", ["a"], parameters=(1,))
    native = evaluate("hash", [encode([[1]], list_of(INT))], [list_of(INT)], (0,), 1)[0]
    assert native == evaluate("hash", [encode([[1]], ENCODED_LIST)], [ENCODED_LIST], (0,), 1)[0]


def test_empty_columns_have_empty_results() -> None:
    for column_type in (
        INT,
        FLOAT,
        STR,
        ARRAY,
        NDARRAY,
        IMAGE,
        DATETIME,
        ZONED_DATETIME,
        ENCODED_LIST,
        list_of(STR),
        dict_of(STR, INT),
    ):
        empty = encode([], column_type)
        for function, parameters in (("is_missing", ()), ("hash", (0,)), ("recode", (column_type,))):
            assert len(evaluate(function, [empty], [column_type], parameters, 0)[0]) == 0


def test_every_function_with_a_spark_column_is_compared_with_its_kernel() -> None:
    """A function that takes parameters has some in ``PARAMETERS``."""
    with_columns = {name for name, function in own_functions().items() if function.column is not None}
    assert {call.function for call in calls()} == with_columns - ELSEWHERE
