"""Functions over items of lists and dicts and over date-times do what they say of themselves, on the driver and on Spark."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from sframe_spark import SArray
from sframe_spark.expressions.functions.date_parts import PARTS
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.contract import Example, check_lowering
from sframe_spark.testing.function_and_aggregate_contracts import check_function, table_of
from sframe_spark.types import FLOAT, INT, STR

EAST, WEST = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (5.5, -0.5))
PLAIN = [None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 2, 29, 13, 5), datetime.datetime(1, 1, 1)]
ZONED = [*PLAIN, datetime.datetime(2024, 2, 29, 1, 2, 3, 4, EAST), datetime.datetime(1970, 1, 1, tzinfo=WEST)]
NATIVE = [{"a": 1, "b": 2}, {}, None, {"c": None, "a": -3}]
NUMBERS = [{1: 0.5, 2: math.nan}, {}, None, {7: None, 1: -0.0}]
MIXED = [{"a": 1, "b": "x"}, {}, None, {"c": [1, {"d": None}], "a": 2.5}]
VECTORS = [[1, 2, 3], [4.5], None, [math.nan, -1]]
LISTS: list[Any] = [["a", 1, [2, "b"]], [], None, [None, {"c": 3}]]
TEXTS = ["29.02.2024 13:05:06.5 GMT+05:30", None, "", "01.01.1970", "1.3.2024 1:02:03 Z"]
EVERY_DIRECTIVE = " ".join(f"%{letter}" for letter in "YyCGgmdejHkIlMSsfFpPuwUWVbhBaAqQzZTXRDxrc") + " %% %ZP %n"
CALLS: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    *[("moment_part", (values,), (part,)) for values in (PLAIN, ZONED) for part in PARTS],
    *[("moment_text", (values,), (form,)) for values in (PLAIN, ZONED) for form in (EVERY_DIRECTIVE, "", "constant", "%ZP")],
    ("moment_of_text", (TEXTS,), ("%e.%m.%Y %H:%M:%S%F %ZP",)),
    ("moment_of_text", (["20240229T130506.25", None],), ("ISO",)),
    *[(name, (values,), ()) for name in ("dict_keys", "dict_values") for values in (NATIVE, NUMBERS, MIXED)],
    *[("dict_has_keys", (values,), (keys, need_all)) for values, keys in ((NATIVE, ("a", "b")), (MIXED, ("a", "c"))) for need_all in (True, False)],
    ("dict_has_keys", (NUMBERS,), ((1, 2.0, 0.5), True)),
    *[("dict_trim_keys", (values,), (("a",), exclude)) for values in (NATIVE, MIXED) for exclude in (True, False)],
    *[("dict_trim_values", (values,), bounds) for values in (NATIVE, NUMBERS, MIXED) for bounds in ((1, None), (None, 1.5), (None, None))],
    *[("dict_trim_values", ([{"a": 2.0**53}, {"a": 2.0**53 + 2}],), bounds) for bounds in ((2**53 + 1, None), (None, 2**53 + 1))],
    *[("slots", (values,), (keys,)) for values, keys in ((NATIVE, ("c", "a")), (MIXED, ("a", "z")), (VECTORS, (0, 2)), (LISTS, (1, 0)))],
    ("slot", ([[1, None], [3, 4]],), (1, INT, False, None)),
    ("slot", ([["a", "b"], [None, "c"]],), (0, STR, False, "a")),
    ("slot", ([["1", None], ['"x"', "2"]],), (1, FLOAT, True, 2)),
    ("vector_slice", (VECTORS,), (0, 2)),
    ("element_slice", (LISTS,), (None, None, -1)),
    *[("pack_list", (first, [1, None, 3, -4]), (filler,)) for first in ([2, 5, None, 0], [0.5, math.nan, None, 1]) for filler in (None, 0)],
    ("pack_array", ([0.5, math.nan, None, 1], [1, None, 3, -4]), (None,)),
    ("pack_array", ([0.5, math.nan, None, 1], [1, None, 3, -4]), (7,)),
    ("pack_dict", ([2, 5, None, 0], [1, None, None, -4]), (None, ("x", "y"))),
    ("pack_dict", (["a", None, "c", ""], [1, None, 3, -4]), ("none", ("x", "y"))),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "arguments", "parameters"), CALLS)
def test_function_does_what_it_says(name: str, arguments: tuple[Any, ...], parameters: tuple[Any, ...]) -> None:
    check_function(name, *arguments, parameters=parameters, spark=False)


def called_together(calls: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]]) -> PlannerNode:
    """Make a plan of one program that calls each function on columns of its own, which are as long as the longest."""
    columns = [list(column) for _, arguments, _ in calls for column in arguments]
    rows = max(map(len, columns))
    places = iter(range(len(columns)))
    steps = tuple(Step(name, tuple(Register(next(places)) for _ in arguments), parameters) for name, arguments, parameters in calls)
    table = table_of([[*column, *[None] * (rows - len(column))] for column in columns])
    return apply_program(table, Program(len(columns), steps, tuple(Register(len(columns) + place) for place in range(len(steps)))))


@pytest.mark.spark
@pytest.mark.parametrize("start", range(3))
def test_functions_do_what_they_say_on_spark(spark: Any, start: int) -> None:
    """Many in one query, as each query takes Spark a while."""
    check_lowering(Example("generalized_transform", "calls", lambda: called_together(CALLS[start::3])))


def test_bounds_of_floats_are_compared_as_ints_where_they_are() -> None:
    floats = SArray([{"a": 2.0**53}, {"a": 2.0**53 + 2}], dict)
    assert list(floats.dict_trim_by_values(None, 2**53 + 1)) == [{"a": 2.0**53}, {}]
    assert list(floats.dict_trim_by_values(2**53 + 1, None)) == [{}, {"a": 2.0**53 + 2}]


def test_missing_values_are_in_no_bounds_and_stay() -> None:
    values = SArray([{"a": None, "b": 5, "c": 9}, {"a": None}, None], dict)
    assert list(values.dict_trim_by_values(None, 6)) == [{"a": None, "b": 5}, {"a": None}, None]
    assert list(values.dict_trim_by_values(6, None)) == [{"a": None, "c": 9}, {"a": None}, None]
