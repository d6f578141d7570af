"""Aggregates from parts of runs of rows are those of all rows at once."""

from __future__ import annotations

import datetime
import math
import pickle
from functools import reduce
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.exact_sum_and_variance import wrapped
from sframe_spark.errors import SFrameError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.reduce_to_one_row import Reduce
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, ZONED_DATETIME, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode
from tests.expressions.aggregates.drivers import of_all_rows

PARAMETERS: dict[str, tuple[Any, ...]] = {"column_var": (1,), "column_std": (1,)}


def makes_numbers(name: str) -> bool:
    """Whether an aggregate of numbers is one."""
    try:
        return AGGREGATES[name].infer([INT], PARAMETERS.get(name, ())).is_numeric
    except (SFrameError, IndexError):
        return False


def facts_of(column_type: ColumnType) -> list[Facts]:
    return [Facts((column_type,), Length.unknown())]


def operator_of(name: str) -> Reduce:
    return Reduce((Aggregation(name, () if name == "count" else (0,), PARAMETERS.get(name, ())),))


def decomposes(name: str) -> bool:
    """Whether an aggregate of one column of numbers, or of none, is a number that is computed from parts."""
    return makes_numbers(name) and AGGREGATES[name].arguments[0] <= 1 and operator_of(name).decomposes(facts_of(INT))


DECOMPOSED = sorted(filter(decomposes, AGGREGATES._built_in))
VALUES: dict[ColumnType, st.SearchStrategy[Any]] = {
    INT: st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    FLOAT: st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1e308, -1e308]),
    DATETIME: st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)),
}
TAKEN = {name: (INT, FLOAT, DATETIME) if "m" in name and name.split("_")[-1] in ("min", "max", "missing") else (INT, FLOAT) for name in DECOMPOSED}


def from_parts(operator: Reduce, column: pa.Array, cuts: list[int], facts: list[Facts]) -> Any:
    edges = [0, *sorted(min(cut, len(column)) for cut in cuts), len(column)]
    runs = [Chunk.of([column]).slice(start, stop) for start, stop in pairwise(edges)]
    parts = [pickle.loads(pickle.dumps(operator.part_of(run, facts))) for run in runs]
    part = reduce(lambda first, second: operator.combined(first, second, facts), parts)
    return decode(operator.rows_from(part, facts).columns[0], operator.infer_type(facts)[0])[0]


def at_once(name: str, column: pa.Array, column_type: ColumnType) -> Any:
    if name == "count":
        return len(column)
    return of_all_rows(name, [column], [column_type], PARAMETERS.get(name, ()))


def is_same(first: Any, second: Any, scale: float) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (math.isnan(first) and math.isnan(second)) or abs(first - second) <= 1e-9 * scale
    return bool(first == second) and type(first) is type(second)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DECOMPOSED)
@given(st.data())
def test_parts_make_the_whole(name: str, data: st.DataObject) -> None:
    column_type = data.draw(st.sampled_from(TAKEN[name]))
    values = data.draw(st.lists(st.none() | VALUES[column_type], max_size=12))
    column, facts = encode(values, column_type), facts_of(column_type)
    cuts = data.draw(st.lists(st.integers(0, 12), max_size=4))
    operator = operator_of(name)
    assert operator.decomposes(facts)
    try:
        expected = at_once(name, column, column_type)
    except UnsupportedOperationError as error:
        with pytest.raises(UnsupportedOperationError, match=str(error)):
            from_parts(operator, column, cuts, facts)
        return
    found = from_parts(operator, column, cuts, facts)
    finite = [abs(float(value)) for value in values if isinstance(value, (int, float)) and math.isfinite(value)]
    largest = max(finite, default=0.0)
    if name in ("sum", "mean") and largest > 1e100 and not math.isfinite(expected + (found or 0.0)):
        # Where a sum overflows depends on the order of its terms.
        return
    assert is_same(found, expected, max(1.0, largest * (largest if "std" in name or "var" in name else 1.0)))


def test_every_aggregate_of_numbers_has_parts() -> None:
    counts = {"count", "count_missing", "count_values", "count_runs"}
    edges = {"select_one", "first_known", "last", "last_known"}
    sums = {"sum", "mean", "product", "geometric_mean", "var", "std", "column_var", "column_std", "skewness", "kurtosis", "zscore"}
    assert set(DECOMPOSED) == counts | edges | sums | {"min", "max", "column_min", "column_max"}


def test_offsets_of_date_times_stay() -> None:
    east = datetime.timezone(datetime.timedelta(hours=5))
    values = [datetime.datetime(2020, 1, 1, 9, tzinfo=east), None, datetime.datetime(2020, 1, 1, 9, tzinfo=datetime.UTC)]
    column, facts = encode(values, ZONED_DATETIME), facts_of(ZONED_DATETIME)
    found = [from_parts(operator_of(name), column, [1, 2], facts) for name in ("min", "max")]
    assert found == [values[0], values[2]] and [value.utcoffset() for value in found] == [east.utcoffset(None), datetime.timedelta(0)]


def test_states_that_grow_are_no_parts() -> None:
    assert operator_of("sum").decomposes(facts_of(ARRAY)) and not Reduce((Aggregation("concat", (0,)),)).decomposes(facts_of(INT))
    assert not Reduce((Aggregation("sum", (0,)), Aggregation("count_distinct", (0,)))).decomposes(facts_of(INT))


@pytest.mark.parametrize("total", [0, 2**63 - 1, 2**63, -(2**63) - 1, 3 * 2**64 + 5])
def test_sums_of_ints_wrap(total: int) -> None:
    assert -(2**63) <= wrapped(total) < 2**63 and (wrapped(total) - total) % 2**64 == 0
