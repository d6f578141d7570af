"""Smallest and largest values among NaN and missing values, and of date-times that are one instant with several offsets."""

from __future__ import annotations

import datetime
import math
import random
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.api.node_value_conversion import reduce_values
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.aggregates.extremes import extreme
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.types import FLOAT, INT
from tests.examples import examples
from tests.expressions.aggregates.every_way import check_every_way, wire
from tests.expressions.aggregates.test_chosen_rows import ORDERED, random_rows

ROWS = [2.0, math.nan, None, 1.0]


def reduced(name: str, values: list[Any], kind: type) -> Any:
    return reduce_values(SArray(values, kind)._node, [Aggregation(name, (0,))])[0]


@pytest.mark.parametrize("name", ["min", "max"])
def test_nan_is_the_result_of_aggregates_over_groups(name: str) -> None:
    assert math.isnan(reduced(name, ROWS, float))
    groups = SFrame({"key": [1, 1, 1, 1, 2], "value": [*ROWS, 5.0]}).groupby("key", {"value": getattr(aggregate, name.upper())("value")}).sort("key")
    assert math.isnan(groups["value"][0]) and groups["value"][1] == 5.0


@pytest.mark.parametrize("name, result", [("column_min", 1.0), ("column_max", 2.0)])
def test_columns_skip_nan_where_there_are_numbers(name: str, result: float) -> None:
    assert reduced(name, ROWS, float) == result
    assert math.isnan(reduced(name, [math.nan, None], float)) and reduced(name, [None], float) is None


def test_of_one_instant_the_date_time_without_an_offset_is_the_smallest() -> None:
    plain = datetime.datetime(2024, 1, 1, 12)
    zoned = [plain.replace(tzinfo=datetime.UTC).astimezone(datetime.timezone(datetime.timedelta(hours=hours))) for hours in (2, -3)]
    for values in ([*zoned, plain], [plain, *zoned]):
        assert reduced("min", values, datetime.datetime).tzinfo is None
        assert reduced("max", values, datetime.datetime).utcoffset() == datetime.timedelta(hours=2)


def extreme_of(values: list[Any], largest: bool, nan: str) -> Any:
    """The extreme in plain Python."""
    present, choose = [value for value in values if value is not None], max if largest else min
    if not present:
        return None
    if isinstance(present[0], dict):
        if nan == "first":
            # Of one instant the first.
            return choose(present, key=lambda value: value["instant"])
        return choose(present, key=lambda value: (value["instant"], value["offset"] is not None, value["offset"] or 0))
    numbers = [value for value in present if value == value]
    has_nan = len(numbers) < len(present)
    if not numbers or (has_nan and (nan == "spreads" or (nan == "first" and present[0] != present[0]))):
        return math.nan
    return choose(numbers) + (0.0 if isinstance(numbers[0], float) else 0) if isinstance(numbers[0], (int, float)) else choose(numbers)


@pytest.mark.parametrize("nan", ["spreads", "skipped", "first"])
@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("largest", [False, True])
def test_the_extreme_of_values(largest: bool, kind: str, nan: Literal["spreads", "skipped", "first"]) -> None:
    for seed in range(examples(60)):
        choose = random.Random(seed)
        rows, types = random_rows([kind], choose)
        check_every_way(extreme(0, types[0], largest, nan), rows, lambda columns: extreme_of(columns[0], largest, nan), choose)


@pytest.mark.parametrize("name", ["min", "max", "column_min", "column_max"])
def test_named_aggregates_differ_in_their_rule_for_nan(name: str) -> None:
    of_columns = AGGREGATES[name].of_columns
    assert of_columns is not None
    found = of_columns([FLOAT], (0,), ())
    assert found is not None and not found.needs_order
    wanted = extreme(0, FLOAT, name.endswith("max"), "skipped" if name.startswith("column") else "spreads")
    assert found.states == wanted.states and of_columns([INT], (0,), ()).states == extreme(0, INT, name.endswith("max")).states  # type: ignore[union-attr]


def test_states_of_equal_extremes_have_equal_bytes() -> None:
    """Which zero and which NaN is found depends on the cut; what is sent does not."""
    other_nan = np.array([0xFFF8000000000001], dtype=np.uint64).view(np.float64)[0]
    for values in ([0.0, -0.0], [math.nan, other_nan]):
        for nan in ("spreads", "skipped"):
            states, group = AggregateSet.of([extreme(0, FLOAT, False, nan)]), GroupsOfRows(np.zeros(1, np.int64), 1)  # type: ignore[arg-type]
            columns = [pa.array(np.array([value]), from_pandas=False) for value in values]
            assert len({wire(states, states.lift(InputRows([column], 1), group)) for column in columns}) == 1
