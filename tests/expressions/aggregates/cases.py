"""The values that every aggregate meets in every driver: by type, short columns with one awkward thing each. No package code."""

from __future__ import annotations

import array
import datetime
import math
from typing import Any

import numpy as np

NAN, INF = math.nan, math.inf
BIG, TINY = 1e300, 1e-300
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
EAST, WEST = (datetime.timezone(datetime.timedelta(minutes=minutes)) for minutes in (330, -480))
OLD, NOON, LATE = datetime.datetime(1960, 1, 1), datetime.datetime(2020, 1, 1, 12), datetime.datetime(2199, 12, 31, 23, 59, 59)


def vectors(*rows: list[float] | None) -> list[array.array[float] | None]:
    return [None if row is None else array.array("d", row) for row in rows]


def zoned(moment: datetime.datetime, zone: datetime.timezone) -> datetime.datetime:
    return moment.replace(tzinfo=datetime.UTC).astimezone(zone)


COLUMNS: dict[str, list[list[Any]]] = {
    "int": [
        *([], [None], [None, None], [5], [0, -1, 1], [1, 2, 2, 1], [3, 3, 3]),
        *([None, 3, 4], [4, 3, None], [3, None, 5], [None, 7, None]),
        *([2**62] * 3, [INT_MIN, INT_MAX], [INT_MIN, -1], [INT_MAX, 1, -1], [2**53 + 1, 1, -(2**53)]),
    ],
    "float": [
        *([], [None], [None, None], [1.5], [1.0, 2.5, -4.0, 8.0], [2.0, 1.0, 1.0, 2.0], [0.1, 0.1, 0.1]),
        *([None, 2.5, 1.0], [1.0, 2.5, None], [2.5, None, 1.0], [None, -7.25, None]),
        *([NAN], [NAN, NAN], [NAN, None], [2.0, NAN, 1.0], [NAN, 1.0, 2.0], [1.0, 2.0, NAN], [None, NAN, 3.0]),
        *([INF], [-INF], [INF, INF], [INF, 1.0, -INF], [-INF, 2.0], [1.0, INF, 2.0], [-INF, NAN, INF], [1.0, NAN, -INF]),
        *([-0.0], [-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0], [-0.0, None, -1.0]),
        *([BIG, TINY, -BIG], [TINY, TINY, 3.0], [BIG, BIG, -BIG], [TINY, -TINY], [1e308, 1e308, -1e308]),
        *([1e16, 1.0, -1e16, 1.0], [5e-324, 1.0]),
    ],
    "str": [
        *([], [None], [""], ["b", "a", "b"], [None, "é"], ["é", None], ["", None, ""], [None, None]),
        *(["x" * 300, "x" * 299 + "y", "x" * 300], ["a", "A", "a\0", "a"], ["1", "2", "1", None, "3"]),
    ],
    "datetime": [[], [None], [NOON], [LATE, OLD, LATE], [None, NOON, OLD], [NOON, OLD, None], [OLD, OLD, NOON], [None, None]],
    "zoned": [
        *([], [None], [zoned(NOON, EAST)], [zoned(NOON, EAST), zoned(NOON, WEST)]),
        [zoned(NOON, WEST), zoned(NOON, EAST), zoned(NOON, WEST)],
        *([None, zoned(LATE, WEST), zoned(OLD, EAST)], [zoned(OLD, EAST), zoned(LATE, EAST), None], [NOON, zoned(NOON, EAST)]),
    ],
    "vector": [
        vectors(*rows)
        for rows in (
            *([], [None], [[]], [[], []], [None, []], [None, None], [[1, 2], None], [None, [1, 2], [3, 5]]),
            *([[1, 2]], [[1, 2], [3, 4], [1, 2]]),
            *([[1], [1, 2]], [[1, 2], [3, 4], [5]], [[], [1]], [[1], None, [2, 3]]),
            *([[NAN, 1], [2, 3]], [[INF, INF], [-INF, 1]], [[-0.0], [-0.0]], [[BIG, 1], [TINY, 1], [-BIG, 1]], [[1e308], [1e308]]),
        )
    ],
    "ndarray": [
        [None if row is None else np.array(row, dtype=float) for row in rows]
        for rows in (
            *([], [None], [[]], [None, None], [[[1, 2]], None], [None, [[1], [2]], [[3], [5]]]),
            *([[1, 2]], [[[1, 2]], [[3, 4]], [[1, 2]]], [[[1, 2]], [1, 2]], [[[1, 2]], [[1], [2]]]),
            *([[[NAN, 1]], [[2, 3]]], [[[-0.0]], [[-0.0]]], [[[BIG], [1]], [[TINY], [1]], [[-BIG], [1]]], [[[[1e308]]], [[[1e308]]]]),
        )
    ],
    "list": [[], [None], [[]], [[1], [1], [2, None]], [None, [], [1]], [[1], [2], None]],
    "encoded list": [[], [None], [["a", 1], ["a", 1], [1]], [None, ["a", None], []]],
    "dict": [[], [None], [{}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}], [None, {}, {"b": None}], [{"a": 1}, None]],
    "encoded dict": [[], [None], [{1: "a", "b": 2}, {"b": 2, 1: "a"}], [None, {}, {1: None}]],
}  # fmt: skip
