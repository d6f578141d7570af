"""Rows with equal keys are in pieces of the same number, in whatever batch of whichever side they are; others are spread evenly."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.key_equality_and_codes import codes_of, comparable_values
from sframe_spark.compute.range_and_hash_partitioning import HashPartitioner
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.python_to_arrow import encode

DAYS = [datetime.datetime(2020, 1, day) for day in (1, 2)]
ZONES = [datetime.timezone(datetime.timedelta(hours=hours)) for hours in (0, 5)]
VALUES: dict[str, tuple[ColumnType, list[Any]]] = {
    "int": (INT, [0, 1, -1, 2**63 - 1, -(2**63)]),
    "float": (FLOAT, [0.0, -0.0, 1.5, float("nan"), -float("nan"), float("inf")]),
    "str": (STR, ["", "a", "é", "e\u0301", "a\0", "a" * 40]),
    "datetime": (DATETIME, DAYS),
    "array": (ARRAY, [[0.0], [-0.0], [], [1.0, float("nan")]]),
    "list": (ENCODED_LIST, [[1, "a"], [], [None], [1.0, "a"]]),
    "dict": (ENCODED_DICT, [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {}]),
    "datetime with an offset": (ZONED_DATETIME, [day.replace(tzinfo=zone) for day in DAYS for zone in ZONES]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("second", ["int", "str"])
@pytest.mark.parametrize("first", VALUES)
@given(data=st.data(), count=st.integers(1, 70_000))
def test_equal_keys_are_in_one_piece(first: str, second: str, data: st.DataObject, count: int) -> None:
    types = VALUES[first][0], VALUES[second][0]
    rows = data.draw(st.lists(st.tuples(*(st.sampled_from([None, *VALUES[name][1]]) for name in (first, second))), min_size=1, max_size=20))
    columns = [encode([row[place] for row in rows], kind) for place, kind in enumerate(types)]
    codes = codes_of([values for column, kind in zip(columns, types, strict=True) for values in comparable_values(column, kind)])
    # The other side has its keys in other places, and the batch is cut.
    pieces, cut = HashPartitioner((0, 1), types, count), data.draw(st.integers(0, len(rows)))
    turned = HashPartitioner((2, 0), types, count)
    places = np.concatenate(
        [pieces.partition_numbers(Chunk.of([column.slice(*part) for column in columns])) for part in ((0, cut), (cut, len(rows) - cut))]
    )
    assert places.min() >= 0 and places.max() < count
    assert (turned.partition_numbers(Chunk.of([columns[1], columns[1], columns[0]])) == places).all()
    assert len({(code, place) for code, place in zip(codes.tolist(), places.tolist(), strict=True)}) == len(set(codes.tolist()))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [2, 7, 64, 1_000])
@pytest.mark.parametrize("step", [1, 2, 1024, 2**32, 2**40 + 1])
def test_pieces_are_even(count: int, step: int) -> None:
    """Whatever bits keys have in common."""
    keys = np.arange(200 * count) * np.int64(step)
    for kind, column in ((INT, pa.array(keys)), (FLOAT, pa.array(keys.astype(np.float64))), (STR, pa.array(keys.astype(str)))):
        found = np.bincount(HashPartitioner((0,), (kind,), count).partition_numbers(Chunk.of([column])), minlength=count)
        assert found.min() > 100 and found.max() < 300
