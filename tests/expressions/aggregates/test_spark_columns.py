"""Every Spark expression of an aggregate gives, for each group, what the Arrow implementation gives."""

from __future__ import annotations

import array
import datetime
import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sframe_spark.expressions.aggregates  # noqa: F401 - fills the table
from sframe_spark.compute.spark_columns import fit, spark_type
from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES, AggregateFunction, QueryProperties
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import grouped_in_spark
from sframe_spark.planner.spark_relation import SummedFloats
from sframe_spark.session.spark_versions import dataframe_of, to_arrow
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, NDARRAY, STR, ZONED_DATETIME, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from tests.examples import by_turns, part
from tests.expressions.aggregates.drivers import of_all_rows
from tests.facts import same

pytestmark = pytest.mark.spark

EAST = datetime.timezone(datetime.timedelta(minutes=330))
FIRST, LATER = datetime.datetime(1969, 12, 31, 23, 59, 59, 500000), datetime.datetime(9998, 12, 31, 23, 59, 59, 999999)


def vector(*values: float) -> array.array[float]:
    return array.array("d", values)


NAN = math.nan
GROUPS: dict[ColumnType, list[list[Any]]] = {
    INT: [[1, 2, 2], [None, 3, 3], [None, None], [2**62] * 3, [-(2**63), 2**63 - 1], [0, 0, None, 5, 1]],
    FLOAT: [
        [1.5, 2.5, 2.5, -1.0, None],
        [None, None],
        [NAN, 1.0],
        [1.0, NAN, -math.inf],
        [NAN, NAN],
        [math.inf, 2.0],
        [0.0, -0.0],
        [-2.5],
    ],
    STR: [["b", "a", "b"], [None, "é"], [None], [""]],
    DATETIME: [[FIRST, LATER, FIRST], [None, LATER], [None]],
    ZONED_DATETIME: [
        [datetime.datetime(2011, 1, 1, tzinfo=EAST), datetime.datetime(2010, 12, 31, 18, 30, tzinfo=datetime.UTC)],
        [None, FIRST],
        [datetime.datetime(2010, 12, 31, 18, 30), datetime.datetime(2011, 1, 1, tzinfo=EAST)],
    ],
    ARRAY: [[vector(1, 2), vector(3, 4), vector(1, 2)], [None], [vector(), vector()], [None, vector(NAN, 1)]],
    NDARRAY: [[np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), np.array([[1.0], [2.0]])], [None], [np.zeros((0, 2))], [None, np.array([NAN])]],
    list_of(INT): [[[1], [1], [2, None]], [None, []]],
    dict_of(STR, INT): [[{"a": 1, "b": 2}, {"b": 2, "a": 1}], [None, {}]],
    ENCODED_LIST: [[[1, "a"], [1.0, "a"], [None]], [None, []]],
    ENCODED_DICT: [[{1: "a", "b": 2}, {"b": 2, 1: "a"}], [None, {}]],
}
PARAMETERS: dict[str, list[tuple[Any, ...]]] = {
    "quantile": [(), (0.0, 0.3, 0.5, 1.0)],
    "var": [(), (1,)],
    "std": [(), (1,)],
    "skewness": [(), (False,)],
    "kurtosis": [(), (False, False)],
    "moment": [(3, True)],
    "zscore": [(), (1, False)],
    "interpolated_quantile": [("linear", 0.3), ("nearest", (0.5, 0.7))],
    "column_var": [(0,), (1,)],
    "column_std": [(0,), (1,)],
    "histogram": [(0, 1.0, 4), (-20, 0.1, 40)],
    "label_counts": [(("b", None, "nowhere"),)],
    "key_counts": [(0, 2**64 - 1)],
    "keys_between": [(2**63, 2**64 - 1)],
}
ROW_ORDER = "position"
# So many aggregates are in one query.
AT_ONCE = 8


def frame(spark: Any, columns: dict[str, pa.Array], types: dict[str, ColumnType]) -> Any:
    """A Spark frame of the columns, in several partitions and not in row order."""
    schema = ", ".join(f"{name} {spark_type(kind)}" for name, kind in types.items())
    return dataframe_of(spark, pa.table(columns), schema).repartition(3)


Request = tuple[str, tuple[Any, ...]]
"""The name of an aggregate, and its parameters."""


def grouped_together(spark: Any, requests: Sequence[Request], kinds: list[ColumnType], groups: list[list[list[Any]]]) -> tuple[Any, list[list[str]]]:
    """Return a grouped query of several aggregates over the same columns, and the names of its columns for each of them.

    Sums are added up in one of the ways, by turns: a plan of all takes seconds, and `test_spark_sums.py` has them all.
    """
    from pyspark.sql import functions as F

    flat = [[value for group in groups for value in group[i]] for i in range(len(kinds))]
    keys = [number for number, group in enumerate(groups) for _ in group[0]]
    types = {"g": INT, ROW_ORDER: INT, **{f"v{i}": kind for i, kind in enumerate(kinds)}}
    plain = {"g": keys, ROW_ORDER: list(range(len(keys))), **{f"v{i}": values for i, values in enumerate(flat)}}
    df = frame(spark, {key: encode_plain(plain[key], types[key]) for key in types}, types)
    order = F.struct(F.col(ROW_ORDER).alias("k"))
    copies, aggregates, names = [], [], []
    for turn, (name, case) in enumerate(requests):
        function, of_request = AGGREGATES[name], []
        for summed in by_turns(tuple(SummedFloats), len(SummedFloats), turn) if function.exact is not None else [SummedFloats.EVERY]:
            # Each way has columns of its own: what sums read alongside is named after these.
            number = len(aggregates)
            columns = [f"v{i}_{number}" for i in range(len(kinds))]
            copies += [f"v{i} AS {column}" for i, column in enumerate(columns)]
            aggregates.append(function.in_spark(columns, kinds, case, order, QueryProperties(summed)))
            of_request.append(f"r{number}")
        names.append(of_request)
    grouped, finished = grouped_in_spark(df.selectExpr("g", ROW_ORDER, *copies), ["g"], ["g"], aggregates)
    return grouped.select("g", *[column.alias(f"r{number}") for number, column in enumerate(finished)]), names


def check(spark: Any, name: str, kinds: list[ColumnType], groups: list[list[list[Any]]], case: tuple[Any, ...]) -> None:
    """Compare one grouped query with one reduction per group."""
    grouped, _ = grouped_together(spark, [(name, case)], kinds, groups)
    compare(AGGREGATES[name], groups, kinds, case, grouped.schema, to_arrow(grouped.orderBy("g")))


def compare(function: AggregateFunction, groups: list[list[list[Any]]], kinds: list[ColumnType], case: Any, schema: Any, table: pa.Table) -> None:
    """Compare the values of a grouped query, in all columns but the first one, with those of each group."""
    result = function.infer(kinds, case)
    names = table.column_names[1:]
    for name in names:
        assert schema[name].dataType.simpleString() == spark_type(result).replace("integer", "int")
    found = [decode(fit(table[name], result.physical), result) for name in names]
    for group, *values in zip(groups, *found, strict=True):
        arrays = [encode_plain(members, kind) for members, kind in zip(group, kinds, strict=True)]
        stored = of_all_rows(function.name, arrays, kinds, case)
        for value in values:
            assert same(value, stored, 1e-9), f"{function.name}{case} of {group!r} as {kinds}: {value!r}, not {stored!r}"


def takes(name: str, kinds: list[ColumnType], case: tuple[Any, ...]) -> bool:
    try:
        AGGREGATES[name].infer(kinds, case)
    except (TypeError, RuntimeError):
        return False
    return True


# Other tests of this process may have added some.
ONE_COLUMN = sorted(name for name in AGGREGATES._built_in if AGGREGATES[name].arguments[0] <= 1)


def usable(kind: ColumnType, case: tuple[Any, ...]) -> list[list[list[Any]]]:
    """The groups of a type; ddof=1 refuses groups of one row, as it should."""
    return [[group] for group in GROUPS[kind] if case != (1,) or len(group) > 1]


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[tuple[ColumnType, Request], tuple[Any, pa.Table]]:
    """What Spark gives for each aggregate of each type, with its schema: a query for all aggregates of a type that take the same groups."""
    results = {}
    every = [(name, case) for name in ONE_COLUMN for case in PARAMETERS.get(name, [()])]
    for kind, is_short in product(GROUPS, (False, True)):
        requests = [(name, case) for name, case in every if takes(name, [kind], case) and (case == (1,)) == is_short]
        for some in (requests[start : start + AT_ONCE] for start in range(0, len(requests), AT_ONCE)):
            grouped, names = grouped_together(spark, some, [kind], usable(kind, some[0][1]))
            table = to_arrow(grouped.orderBy("g"))
            results |= {(kind, request): (grouped.schema, table.select(["g", *own])) for request, own in zip(some, names, strict=True)}
    return results


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_spark_gives_what_arrow_gives(found: dict[tuple[ColumnType, Request], tuple[Any, pa.Table]], name: str) -> None:
    for kind, (request, case) in found:
        if request == name:
            compare(AGGREGATES[name], usable(kind, case), [kind], case, *found[kind, (name, case)])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_values_at_extremes(spark: Any, name: str) -> None:
    turn = int(name == "argmax")
    for kind in by_turns((INT, FLOAT, DATETIME, ZONED_DATETIME), 2, turn + 1):
        rows = [[group, list(range(len(group)))] for group in GROUPS[kind]]
        check(spark, name, [kind, INT], rows, ())
    for kind in by_turns((STR, ENCODED_DICT, dict_of(STR, INT), ARRAY), 2, turn):
        rows = [[list(range(len(group))), group] for group in GROUPS[kind]]
        check(spark, name, [INT, kind], rows, ())


@pytest.mark.parametrize(("value", "key"), part(product([INT, STR, DATETIME, ENCODED_LIST, dict_of(STR, INT)], [INT, FLOAT, STR]), 2))
def test_dicts_of_two_columns(spark: Any, key: ColumnType, value: ColumnType) -> None:
    values = [item for group in GROUPS[value] for item in group]
    rows = [[group, [values[i % len(values)] for i in range(len(group))]] for group in GROUPS[key]]
    check(spark, "concat", [key, value], rows, ())


LABELS = (None, "a", "b")
OF_TWO_COLUMNS = {
    "label_counts": (STR, (LABELS, ("é", "a"))),
    "label_ranges": (FLOAT, LABELS),
    "label_histograms": (INT, (LABELS, ((0, 1, 4), (-2, 0.5, 3), (0, 10, 1)))),
    "bin_ranges": (FLOAT, (-1, 1, 5)),
    **dict.fromkeys(("correlation", "weighted_mean", "dot_product", "first_known_by", "last_by", "last_known_by"), (FLOAT, ())),
    "covariance": (FLOAT, (1,)),
    "linear_regression": (FLOAT, (("x",), False)),
}


@pytest.mark.parametrize("name", OF_TWO_COLUMNS)
def test_aggregates_of_two_columns(spark: Any, name: str) -> None:
    kind, parameters = OF_TWO_COLUMNS[name]
    first = STR if name.startswith("label") else INT
    values = [item for group in GROUPS[kind] for item in group]
    rows = [[group, [values[(i + place) % len(values)] for i in range(len(group))]] for place, group in enumerate(GROUPS[first])]
    check(spark, name, [first, kind], rows, parameters)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("weighted_covariance", (0,)), ("weighted_covariance", (1,)), ("weighted_correlation", ()), ("linear_regression", (("x",), True))],
)
def test_aggregates_of_three_columns(spark: Any, name: str, parameters: tuple[Any, ...]) -> None:
    values = [item for group in GROUPS[FLOAT] for item in group]
    rows = [
        [group, *([values[(i + place + turn) % len(values)] for i in range(len(group))] for turn in (0, 1))]
        for place, group in enumerate(GROUPS[INT])
    ]
    check(spark, name, [INT, FLOAT, FLOAT], rows, parameters)


RAGGED = [
    [vector(1), vector(3, 4)],
    [vector(3, 4), vector(1)],
    [None, vector(1, 2), vector(3)],
    [vector(), vector(1, 2)],
    [vector(1, 2), vector(1), vector(3, 4)],
]


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_vectors_of_different_lengths_have_no_sum_in_a_group(spark: Any, name: str) -> None:
    check(spark, name, [ARRAY], [[group] for group in [*RAGGED, *GROUPS[ARRAY]]], ())
    assert [of_all_rows(name, [encode_plain(group, ARRAY)], [ARRAY]) for group in RAGGED] == [None] * len(RAGGED)


@pytest.mark.parametrize("name", ["column_vector_sum", "column_vector_mean"])
def test_vectors_of_different_lengths_in_a_column_are_an_error(spark: Any, name: str) -> None:
    with pytest.raises(UnsupportedOperationError, match="vectors of different lengths"), translated_errors("testing"):
        check(spark, name, [ARRAY], [[RAGGED[0]]], ())
    with pytest.raises(UnsupportedOperationError, match="vectors of different lengths"):
        of_all_rows(name, [encode_plain(RAGGED[0], ARRAY)], [ARRAY])
