"""Order facts of functions hold on a grid of awkward values, where missing comes first, then the values, then NaN."""

from __future__ import annotations

import datetime
import itertools
import math
from typing import Any

import pytest

import sframe_spark.expressions.functions  # noqa: F401 - fills the table
from sframe_spark.errors import ExecutionError
from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, evaluate
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.calendar_intervals import YEAR_0
from sframe_spark.values.python_to_arrow import encode

LARGE = 2**63 - 1
HOUR = 3600 * 10**6
HOURS = [datetime.datetime(2024, 4, 6, 12), datetime.datetime(2024, 11, 2, 22)]
"""Before Lord Howe and New York put their clocks back."""
CHANGES = [start + datetime.timedelta(minutes=20 * count) for start in HOURS for count in range(30)]
GRIDS: dict[ColumnType, list[Any]] = {
    INT: [None, -LARGE - 1, -(2**53) - 1, -7, -1, 0, 1, 2, 7, 2**53, 2**53 + 1, LARGE],
    FLOAT: [None, -math.inf, -1e300, -2.5, -1e-300, 0.0, 1e-300, 0.5, 2.5, 2.0**53, 1e300, math.inf, math.nan],
    STR: [None, "", "A", "a", "aa", "ab", "b", "z", "é", "日"],
    DATETIME: [
        None,
        datetime.datetime(1, 1, 2),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(1970, 1, 1),
        datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
        *CHANGES,
        datetime.datetime(9999, 12, 30),
    ],
    ZONED_DATETIME: [None, *[time.replace(tzinfo=datetime.UTC) for time in CHANGES]],
}
LITERALS: list[tuple[Any, ColumnType]] = [
    *[(value, INT) for value in (-3, 0, 1, 2, LARGE)],
    *[(value, FLOAT) for value in (-2.5, 0.0, 1e-300, 3.5, 1e308, math.inf, math.nan)],
    *[(value, STR) for value in ("", "m", "zz")],
]
UNARY = {"positive", "cast", "clip", "round", "floor_time", "from_zone", "in_zone", *NUMBER_FUNCTIONS}
PARAMETERS = {"clip": [(0, 5), (0.5, None)], "round": [(0,), (1,), (-1,), (300,)], "cast": [(FLOAT, False), (INT, False), (STR, False)]}
NO_CALENDAR = (None, False, 0, 0, None)
PARAMETERS["floor_time"] = [(7, 3, *NO_CALENDAR), (0.1, 0.3, *NO_CALENDAR), (10**6, 0, *NO_CALENDAR)]
PARAMETERS["floor_time"] += [(None, 0, 12, True, YEAR_0, 5, "Europe/Dublin"), (None, 0, 2 * HOUR, False, 0, 0, "Australia/Lord_Howe")]
PARAMETERS["in_zone"] = [("Pacific/Apia",), ("Europe/Dublin",)]
PARAMETERS["from_zone"] = [("America/New_York", which, "forward") for which in ("earlier", "later")]


def rank(value: Any) -> tuple[int, Any]:
    """Place of a value in ascending order."""
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (3, 0)
    return (2, value.encode() if isinstance(value, str) else value)


def calls() -> list[tuple[str, list[Any], list[ColumnType], int, tuple[Any, ...]]]:
    """All calls of functions with order facts: literals (None in the column's place), types, place, parameters."""
    found = []
    for name, function in FUNCTIONS.items():
        if function in FUNCTIONS.added():
            continue
        if function.monotone is None:
            continue
        for column_type, parameters in itertools.product(GRIDS, PARAMETERS.get(name, [()])):
            if name in UNARY:
                found.append((name, [None], [column_type], 0, parameters))
                continue
            for literal, literal_type in LITERALS:
                found.append((name, [None, literal], [column_type, literal_type], 0, parameters))
                found.append((name, [literal, None], [literal_type, column_type], 1, parameters))
    return found


def promise(name: str, literals: list[Any], types: list[ColumnType], parameters: tuple[Any, ...]) -> str | None:
    """The declared order fact, None for a call of the wrong arity or types."""
    function = FUNCTIONS[name]
    try:
        function.infer(types, parameters)
        return function.monotone(types, [*literals, *parameters]) if function.monotone else None
    except (TypeError, RuntimeError, ValueError, IndexError):
        return None


def accepts(name: str, value: Any, literals: list[Any], types: list[ColumnType], place: int, parameters: tuple[Any, ...]) -> bool:
    """False for a value that makes the function fail."""
    if not FUNCTIONS[name].may_fail:
        return True
    arguments = [encode([value if i == place else literals[i]], types[i]) for i in range(len(types))]
    try:
        evaluate(name, [a if i == place else a[0] for i, a in enumerate(arguments)], types, parameters, 1)
    except ExecutionError:
        return False
    return True


@pytest.mark.parametrize("name", sorted(name for name, function in FUNCTIONS.items() if function.monotone))
def test_promised_order_holds(name: str) -> None:
    checked = 0
    for _, literals, types, place, parameters in (call for call in calls() if call[0] == name):
        fact = promise(name, literals, types, parameters)
        if fact is None:
            continue
        checked += 1
        grid = [value for value in GRIDS[types[place]] if accepts(name, value, literals, types, place, parameters)]
        arguments = [encode(grid, types[i]) if i == place else encode([literals[i]], types[i])[0] for i in range(len(types))]
        result, result_type = evaluate(name, arguments, types, parameters, len(grid))
        ranks = [rank(value) for value in decode(result, result_type)]
        assert [value == (0, 0) for value in ranks] == [value is None for value in grid], (name, literals, types, ranks)
        if fact.endswith("decreasing"):
            ranks.reverse()
        assert ranks == sorted(ranks), (name, literals, types, ranks)
        if fact.startswith("strictly"):
            assert len(set(ranks)) == len(ranks), (name, literals, types, ranks)
    assert checked


def test_wrapping_ints_promise_nothing() -> None:
    assert promise("add", [None, 1], [INT, INT], ()) is None
    assert promise("multiply", [None, 2], [INT, INT], ()) is None
    assert promise("negate", [None], [FLOAT], ()) is None
