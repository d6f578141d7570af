"""Plans far deeper than Python's stack run to the right answer."""

from __future__ import annotations

import sys

from sframe_spark import SArray, SFrame

DEEP = sys.getrecursionlimit() + 200


def test_a_column_assigned_once_for_each_of_many_columns() -> None:
    frame = SFrame({f"c{i}": [i, i + 1] for i in range(DEEP)})
    for i in range(DEEP):
        frame[f"c{i}"] = frame[f"c{i}"] + 1
    row = frame[1]
    assert [row[f"c{i}"] for i in (0, 7, DEEP - 1)] == [2, 9, DEEP + 1]
    frame.materialize()
    assert frame.is_materialized() and frame.num_columns() == DEEP


def test_running_values_of_running_values() -> None:
    column = SArray([1, 0, 0])
    for _ in range(DEEP):
        column = column.cumulative_max()
    assert list(column) == [1, 1, 1]


def test_windows_of_windows() -> None:
    column = SArray([1.0, 2.0])
    for _ in range(DEEP):
        column = column.rolling_max(0, 0)
    assert list(column) == [1.0, 2.0]
