"""Smallest and largest values among NaN and missing values, and of date-times that are one instant with several offsets."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.api.node_value_conversion import reduce_values
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation

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
