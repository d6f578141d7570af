"""Ranges of values stand one after the other in the order of the values, whatever sample they were found by."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.range_and_hash_partitioning import KINDS, RangePartitioner
from sframe_spark.compute.sorting_and_searching import order_of, sort_parts
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.python_to_arrow import encode

ZONES = st.sampled_from([datetime.timezone(datetime.timedelta(hours=hours)) for hours in (-3, 0, 7)])
MOMENTS = {"min_value": datetime.datetime(1, 1, 3), "max_value": datetime.datetime(9999, 12, 29)}
VALUES: dict[str, tuple[ColumnType, st.SearchStrategy[Any]]] = {
    "int": (INT, st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)),
    "float": (FLOAT, st.floats() | st.sampled_from([0.0, -0.0, 1.0])),
    "str": (STR, st.text(max_size=3) | st.sampled_from(["", "a", "aa", "\U0001f600", "￿", "e\u0301"])),
    "datetime": (DATETIME, st.datetimes(**MOMENTS)),
    "datetime with an offset": (ZONED_DATETIME, st.datetimes(**MOMENTS, timezones=ZONES)),
}


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("name", VALUES)
@given(data=st.data(), count=st.integers(1, 9))
def test_ranges_are_in_the_order_of_the_values(name: str, ascending: bool, data: st.DataObject, count: int) -> None:
    kind, values = VALUES[name]
    assert kind.kind in KINDS
    column, sample = (encode(data.draw(st.lists(st.none() | values, max_size=30)), kind) for _ in range(2))
    ranges = RangePartitioner.of(sample, kind, ascending, count)
    places = ranges.range_numbers(column)
    assert len(places) == len(column) and ranges.count <= count
    assert not len(places) or (places.min() >= 0 and places.max() < ranges.count)
    parts = sort_parts(column, kind, ascending)
    order = order_of(parts)
    assert (np.diff(places[order]) >= 0).all()
    equal = np.logical_and.reduce([part[order][1:] == part[order][:-1] for part in parts])
    assert (np.diff(places[order])[equal] == 0).all()
    alone = ranges.have_one_value
    assert len(alone) == ranges.count and equal[(np.diff(places[order]) == 0) & alone[places[order][1:]]].all()


def test_a_sample_of_all_values_makes_even_ranges() -> None:
    column = pa.array(np.random.default_rng(5).permutation(1_000))
    places = RangePartitioner.of(column, INT, False, 8).range_numbers(column)
    assert np.bincount(places).tolist() == [125] * 8


@pytest.mark.parametrize("values", [[], [None], [float("nan")], [7.0] * 5])
def test_a_sample_that_tells_nothing(values: list[Any]) -> None:
    ranges = RangePartitioner.of(pa.array(values, pa.float64()), FLOAT, True, 5)
    assert ranges.count <= 3 and len(set(ranges.range_numbers(pa.array([7.0, 7.0])).tolist())) == 1


FEW: dict[str, tuple[ColumnType, list[Any]]] = {
    "int": (INT, [-(2**63), 3, 4, 2**63 - 1]),
    "float": (FLOAT, [float("-inf"), 0.0, 5e-324, 7.5, float("inf")]),
    "str": (STR, ["", "a", "a\0", "\U0001f600"]),
    "datetime": (DATETIME, [datetime.datetime(1, 1, 3), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, 0, 1)]),
}


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize(("name", "place"), [(name, place) for name, (_, values) in FEW.items() for place in (None, *range(len(values)))])
def test_what_most_rows_have_is_alone_in_its_range(name: str, place: int | None, ascending: bool) -> None:
    kind, values = FEW[name]
    often = None if place is None else values[place]
    column = encode([*values, None, *[often] * 50, *values, None], kind)
    ranges = RangePartitioner.of(column, kind, ascending, 8)
    places = ranges.range_numbers(column)
    number = int(places[len(values) + 1])
    # Infinity is beside NaN.
    assert ranges.have_one_value[number] == (often != float("inf")) and np.bincount(places)[number] == 52
