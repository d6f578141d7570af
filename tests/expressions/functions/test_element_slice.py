"""Slices of texts, lists and arrays are Python's, whatever their bounds."""

from __future__ import annotations

import array
import itertools
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.types import ARRAY, ENCODED_LIST, INT, STR, ColumnType, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from tests.examples import by_turns

BOUNDS = (None, 0, 1, 3, 9, 2**40, -1, -3, -9, -(2**40))
STEPS = (None, 1, 2, 7, -1, -2, -7)
CELLS: dict[ColumnType, list[Any]] = {
    STR: ["", "a", "abcdef", None, "é漢\U0001f601x", "e\u0301"],
    list_of(INT): [[], [1], [1, 2, None, 4, 5, 6], None, [7, 8]],
    ARRAY: [array.array("d"), None, array.array("d", [1, 2, 3, 4])],
    ENCODED_LIST: [[], ["a", 1, [2]], None],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("column_type", CELLS, ids=str)
@pytest.mark.parametrize("first", [0, 1])
def test_slices_are_those_of_python(column_type: ColumnType, first: int) -> None:
    cells = CELLS[column_type]
    column = encode_plain(cells, column_type).slice(first)
    for start, stop, step in by_turns(list(itertools.product(BOUNDS, BOUNDS, STEPS)), 4, first):
        found, _ = evaluate("element_slice", [column], [column_type], (start, stop, step), len(column))
        expected = [None if cell is None else cell[start:stop:step] for cell in cells[first:]]
        assert decode(found, column_type) == expected, (start, stop, step)


def test_a_constant_is_sliced_too() -> None:
    assert evaluate("element_slice", [pa.scalar("abc")], [STR], (1, None, None), 2)[0].to_pylist() == ["bc", "bc"]
