"""Every Spark expression gives what the kernel gives, on all pairs of awkward values."""

from __future__ import annotations

import array
import datetime
import itertools
import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest

import sframe_spark.expressions.functions  # noqa: F401 - fills the table
from sframe_spark.compute.spark_columns import ddl
from sframe_spark.expressions.functions.date_parts import PARTS
from sframe_spark.expressions.functions.number_functions import PAIR_FUNCTIONS
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, ScalarFunction, evaluate
from sframe_spark.images import Image
from sframe_spark.session.spark_versions import dataframe_of, to_arrow
from sframe_spark.types import (
    ARRAY,
    DATETIME,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    IMAGE,
    INT,
    NDARRAY,
    STR,
    ZONED_DATETIME,
    ColumnType,
    dict_of,
    list_of,
)
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from tests.facts import same

pytestmark = pytest.mark.spark

LARGE = 2**63 - 1
EAST = datetime.timezone(datetime.timedelta(minutes=330))
MOMENTS = [
    None,
    datetime.datetime(1970, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 500000),
    datetime.datetime(2011, 1, 1, 0, 0, 0, 1),
    datetime.datetime(1600, 2, 29),
    datetime.datetime(9998, 12, 31, 23, 59, 59, 999999),
]
GRIDS: dict[ColumnType, list[Any]] = {
    INT: [None, 0, 1, -1, 2, -3, 7, 70, 2**53 + 1, -(2**53) - 1, LARGE, -LARGE, -LARGE - 1],
    FLOAT: [None, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.9, 1e-300, 1e18, 1e300, math.inf, -math.inf, math.nan],
    STR: [None, "", "a", "A", "ab", "é", "日本", "1", "aé\U0001f601aa", " a\x1fß"],
    DATETIME: MOMENTS,
    ZONED_DATETIME: [*MOMENTS[:3], datetime.datetime(2011, 1, 1, tzinfo=EAST), datetime.datetime(2010, 12, 31, 18, 30)],
    ARRAY: [None, array.array("d"), array.array("d", [0.0]), array.array("d", [1.5, math.nan])],
    NDARRAY: [None, np.zeros((0, 2)), np.array([[0.0]]), np.array([[1.5], [math.nan]])],
    IMAGE: [None, Image(), Image(np.zeros((1, 2), "uint8")), Image(np.full((1, 1, 3), 7, "uint8"))],
    list_of(STR): [None, [], ["a"], ["", None]],
    dict_of(STR, INT): [None, {}, {"a": 1}, {"a": None, "b": 2}],
    dict_of(INT, FLOAT): [None, {}, {1: 0.5, 7: math.nan}, {LARGE: None, 1: -0.0, 2: math.inf}],
    dict_of(STR, STR): [None, {}, {"a": "", "é": "x"}, {"b": None}],
    ENCODED_LIST: [None, [], [1, "a"], [None]],
    ENCODED_DICT: [None, {}, {1: "a"}],
}
PARAMETERS: dict[str, list[tuple[Any, ...]]] = {
    "fill_missing": [(1,), (2.5,), ("x",), (math.nan,), (datetime.datetime(2011, 1, 1),), ([1.0],), (["q"],), ({},)],
    "cast": [(INT, True), (FLOAT, True), (STR, True), (DATETIME, True)],
    "clip": [(0, 5), (-1.5, 1e200), (None, 2), (math.nan, 2)],
    "is_in": [((1, 7, None),), (("a", "é"),), ((),), ((0.5, math.nan, -LARGE),)],
    "contains": [("a",), ("",)],
    "bin_between": [((0, 2, 7), "right", None), ((-1.5, 0.0, 2.0), "left", ("low", "high"))],
    "str_pad": [(3, "left", "0"), (4, "both", "é"), (5, "both", "\U0001f601"), (3, "right", " "), (-(2**70), "left", "0")],
    "str_replace": [("a", "é$1\\", None, False), ("aa", "", None, False), ("", "-", None, False), ("a", "b", 1, False), ("(a)", r"\1x", None, True)],
    "str_repeat": [(0,), (2,), (-(2**70),)],
    "str_find": [("a",), ("",), ("\U0001f601",)],
    "str_startswith": [(("a",),), (("",),), (("a", "é"),), ((),)],
    "str_endswith": [(("a",),), (("",),), (("a", "é"),), ((),)],
    "str_contains": [("a", False), ("", False), ("[aé]", True), (".", False)],
    "recode": [(INT,), (STR,)],
    "round": [(0,), (2,), (-2,)],
    "moment_part": [(part,) for part in PARTS],
    "dict_has_keys": [(("a",), False), (("a", "b"), True), ((1, 2), True), ((1, 0.5), True), ((), False), ((), True)],
    "dict_trim_keys": [(("a",), True), (("a", "é"), False), ((1,), True), ((), False), ((), True)],
    "dict_trim_values": [(1, None), (None, 0.5), (0, math.inf), (None, None), (-math.inf, 1), (math.nan, None)],
    "slots": [(("a", "é"),), ((1, LARGE),), ((0, 1, 5),)],
    "pack_list": [(None,), (0,), ("",), (([1],),)],
    "pack_array": [(None,), (2.5,)],
    "pack_dict": [(None, ("x", "y")), (0, ("x", "y"))],
    "literal": [(1.5, FLOAT), ("a", STR), (None, INT), (["a", None], list_of(STR))],
}
ARITY = {"if_else": 3, **dict.fromkeys(("literal",), 0)}
BINARY = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "reverse_floor_divide",
    "modulo",
    "power",
    "coalesce",
}
BINARY |= set(PAIR_FUNCTIONS)
BINARY |= {"pack_list", "pack_array", "pack_dict"}
BINARY |= {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and_", "or_"}
ELSEWHERE = {"add_duration", "slot", "tick_time"}
"""Functions that fail for some of the values here, or take row numbers or lists of one length only: they have Spark tests of their own."""
SIDE = max(map(len, GRIDS.values()))


@attrs.frozen
class Call:
    """One function with types and parameters."""

    function: str
    types: tuple[ColumnType, ...]
    parameters: tuple[Any, ...]

    def columns(self) -> list[str]:
        """Names of the argument columns: the left and the right one of a type hold all pairs of its values."""
        sides = "rlr" if len(self.types) == 3 else "lr"
        return [f"{side}{list(GRIDS).index(t)}" for side, t in zip(sides, self.types, strict=False)]


def own_functions() -> dict[str, ScalarFunction]:
    """The functions of this package, without those that other tests define."""
    return {name: function for name, function in FUNCTIONS.items() if function not in FUNCTIONS.added()}


def calls() -> Iterator[Call]:
    """All calls that ``infer`` accepts."""
    for name, function in own_functions().items():
        arity = ARITY.get(name, 2 if name in BINARY else 1)
        if function.column is None or name in ELSEWHERE:
            continue
        for types, parameters in itertools.product(itertools.product(GRIDS, repeat=arity), PARAMETERS.get(name, [()])):
            try:
                function.infer(types, parameters)
            except (TypeError, RuntimeError):
                continue
            if name != "recode" or types[0] == parameters[0]:
                yield Call(name, types, parameters)


def table() -> pa.Table:
    """Two columns of each type that hold all pairs of the values of its grid, and pair values across types."""
    columns = {}
    for index, (column_type, grid) in enumerate(GRIDS.items()):
        pairs = list(itertools.product(range(SIDE), repeat=2))
        columns[f"l{index}"] = encode_plain([grid[i % len(grid)] for i, _ in pairs], column_type)
        columns[f"r{index}"] = encode_plain([grid[j % len(grid)] for _, j in pairs], column_type)
    return pa.table(columns)


@pytest.fixture(scope="module")
def results() -> tuple[pa.Table, list[Call], pa.Table]:
    """The table, the calls with a Spark expression, and what Spark makes of them, all in one select."""
    from sframe_spark.session.spark_start_and_settings import open_session, start_spark

    session = open_session(start_spark()[0])
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # hundreds of expressions: compiling them takes longer
    source = table()
    frame = dataframe_of(session, source, ", ".join(f"{field.name} {ddl(field.type)}" for field in source.schema))
    chosen, expressions = [], []
    for call in calls():
        build = FUNCTIONS.named(call.function).expression
        expression = None if build is None else build([frame[name] for name in call.columns()], call.types, call.parameters)
        if expression is not None:
            expressions.append(expression.alias(f"x{len(chosen)}"))
            chosen.append(call)
    return source, chosen, to_arrow(frame.select(*expressions))


def test_spark_agrees_with_the_kernels(results: tuple[pa.Table, list[Call], pa.Table]) -> None:
    source, chosen, computed = results
    wrong = []
    for index, call in enumerate(chosen):
        arguments = [source.column(name).combine_chunks() for name in call.columns()]
        kernel, column_type = evaluate(call.function, arguments, call.types, call.parameters, source.num_rows)
        spark = computed.column(index).combine_chunks()
        if spark.type != kernel.type:
            spark = spark.cast(kernel.type)
        expected, got = decode(kernel, column_type), decode(spark, column_type)
        tolerance = 1e-14 if call.function == "power" else 0.0
        rows = [row for row, pair in enumerate(zip(expected, got, strict=True)) if not same(*pair, tolerance=tolerance)]
        if rows:
            values = [decode(a, t)[rows[0]] for a, t in zip(arguments, call.types, strict=True)]
            kinds = [str(t) for t in call.types]
            shown = f"{len(rows)} rows, {values} kernel {expected[rows[0]]!r} Spark {got[rows[0]]!r}"
            wrong.append(f"{call.function} {kinds} {call.parameters}: {shown}")
    assert wrong == []


def test_most_functions_have_spark_expressions(results: tuple[pa.Table, list[Call], pa.Table]) -> None:
    _, chosen, _ = results
    assert {call.function for call in chosen} == {name for name, function in own_functions().items() if function.column} - ELSEWHERE
