"""Aggregates of many windows at once: in blocks or not, they are those of each window alone, to the last bit."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.compute import exact_running_and_rolling_sums_and_variances as exact_running_and_rolling_sum
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates import aggregates_of_windows
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.chosen_rows import BestRow, EdgeRow
from sframe_spark.expressions.aggregates.counts import Count, CountMissing, HasValue, WrappedSum, count_of_rows
from sframe_spark.expressions.aggregates.extremes import Extreme, KindOfFirstValue
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import State, StateColumn, joined, take
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.types import FLOAT, INT
from tests.examples import examples

VALUES = [0.0, -0.0, 1.0, -2.5, 1e16, -1e16, 3.0, 1e-9]
SPECIAL = [np.nan, np.inf, -np.inf]
FUNCTIONS = ["count", "sum", "mean", "min", "max", "var", "std", "select_one", "count_missing", "concat", "quantile", "count_distinct"]


def random_windows(choose: random.Random, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and stops; ascending ones reach over few rows, so that windows are taken in blocks."""
    starts = [choose.randint(0, rows) for _ in range(choose.randrange(60))]
    starts = sorted(starts) if choose.random() < 0.7 else starts
    reach = choose.choice([0, 3, rows])
    return np.array(starts, dtype=np.int64), np.array([min(rows, start + choose.randint(0, reach)) for start in starts], dtype=np.int64)


def aggregation_of(function: str) -> Aggregation:
    """The aggregation of the only column."""
    return Aggregation(function, () if function == "count" else (0,), (0.5,) if function == "quantile" else ())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("is_float", [False, True])
def test_blocks_give_what_each_window_gives_alone(function: str, is_float: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_running_and_rolling_sum, "WINDOWS_IN_CACHE", 4)
    monkeypatch.setattr(exact_running_and_rolling_sum, "WORDS_BLOCK", 3)
    monkeypatch.setattr(aggregates_of_windows, "VALUES_AT_ONCE", 5)
    schema = (FLOAT if is_float else INT,)
    aggregate = aggregation_of(function).on_columns(schema)
    for seed in range(examples(60, every=10)):
        choose = random.Random(seed)
        rows = choose.choice([1, 7, 50])
        some = VALUES + (SPECIAL if seed % 4 == 0 else [])
        there = choose.choice([0.5, 1.0])
        values = [choose.choice(some) if is_float else choose.choice([0, -1, 2**62, -(2**63)]) for _ in range(rows)]
        column = pa.array([value if choose.random() < there else None for value in values], schema[0].physical)
        starts, stops = random_windows(choose, rows)
        found = values_of_windows([aggregate, count_of_rows()], InputRows([column], rows), RowWindows(starts, stops))
        assert found[1].to_pylist() == (stops - starts).tolist()
        for value, start, stop in zip(found[0].to_pylist(), starts.tolist(), stops.tolist(), strict=True):
            window = InputRows([column.slice(start, stop - start)], stop - start)
            alone = values_of_windows([aggregate], window, RowWindows(np.array([0]), np.array([stop - start])))
            assert repr(value) == repr(alone[0][0].as_py()), seed


@pytest.mark.parametrize("function", ["argmin", "argmax"])
def test_of_equal_extremes_the_first_row_is_told(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_running_and_rolling_sum, "WINDOWS_IN_CACHE", 4)
    for seed in range(60):
        choose = random.Random(seed)
        values = [choose.choice([1.0, 2.0, -0.0, 0.0, *SPECIAL]) if choose.random() < 0.7 else None for _ in range(40)]
        starts, stops = random_windows(choose, 40)
        rows = InputRows([pa.array(values, pa.float64(), from_pandas=False), pa.array(range(40))], 40)
        (found,) = values_of_windows([Aggregation(function, (0, 1)).on_columns((FLOAT, INT))], rows, RowWindows(starts, stops))
        for place, start, stop in zip(found.to_pylist(), starts.tolist(), stops.tolist(), strict=True):
            there = [row for row in range(start, stop) if values[row] is not None]
            numbers = [(-values[row] if function == "argmax" else values[row], row) for row in there if values[row] == values[row]]  # type: ignore[operator]
            assert place == (min(numbers)[1] if numbers else there[0] if there else None)


STATES = [
    Count(),
    Count((0,)),
    CountMissing(0),
    HasValue(0),
    WrappedSum(1),
    FloatSum(0),
    FloatSum(0, is_squared=True),
    Extreme(0, FLOAT, True),
    Extreme(1, INT, False),
    KindOfFirstValue(0),
    EdgeRow(0, FLOAT),
    BestRow(0, FLOAT, True, 1, INT),
]


def sent(column: StateColumn, state: State) -> str:
    """A state as it is sent, in a form that tells zeros apart and has one NaN."""
    return repr([array.to_pylist() for array in column.to_arrow(state)])


@pytest.mark.parametrize("column", STATES, ids=repr)
def test_states_of_windows_are_those_of_their_rows(column: StateColumn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_running_and_rolling_sum, "WINDOWS_IN_CACHE", 4)
    for seed in range(examples(40, every=8)):
        choose = random.Random(seed)
        there, count = choose.choice([0.5, 1.0]), 30
        some = [*VALUES, *choose.choice([[], SPECIAL, SPECIAL[:1]])]
        numbers = [choose.choice(some) if choose.random() < there else None for _ in range(count)]
        ints = [choose.choice([0, -1, 2**62, -(2**63)]) if choose.random() < there else None for _ in range(count)]
        rows = InputRows([pa.array(numbers, pa.float64(), from_pandas=False), pa.array(ints, pa.int64())], count)
        for windows in (RowWindows(*random_windows(choose, count)), RowWindows.rolling(count, choose.randint(1, count))):
            alone = [column.empty(1)]
            for start, stop in zip(windows.starts.tolist(), windows.stops.tolist(), strict=True):
                one_group = GroupsOfRows(np.zeros(stop - start, dtype=np.int64), 1)
                alone.append(column.lift(rows.slice(start, stop), one_group) if start < stop else column.empty(1))
            found = joined([column.empty(1), column.windows(rows, windows)])
            assert sent(column, found) == sent(column, joined(alone)), (seed, windows)
            chosen = np.arange(len(alone))[::2]
            assert sent(column, take(found, chosen)) == sent(column, take(joined(alone), chosen))
