"""Rolling values depend on nothing outside their windows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sframe_spark.operators.append import append
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.window.rolling import KINDS, rolling
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import FLOAT
from tests.random_programs.equivalence import EngineRunner
from tests.random_tables import table_source

VALUES = [1e16, 0.1, 0.2, 0.3, 0.3, 0.3, 1e9, None, 5.0, 1.0, 2.0]

# Recorded from turicreate 6.4.1: rolling_*(-1, 1, min_observations=1).
RECORDED: dict[str, list[float]] = {
    "sum": [1e16, 1e16, 0.6, 0.8, 0.9, 1000000000.6, 1000000000.3, 1000000005.0, 6.0, 8.0, 3.0],
    "var": [2.5e31, 2.2222222222222224e31, 0.006666666666666664, 0.0022222222222222214, 0.0],
}


def column(values: list[Any]) -> Any:
    return table_source([values], [FLOAT], len(values))


@pytest.mark.parametrize("kind", sorted(RECORDED))
def test_large_values_spoil_no_other_window(kind: str) -> None:
    found = [row[0] for row in EngineRunner().rows(rolling(column(VALUES), kind, -1, 1, 1))]
    assert found[: len(RECORDED[kind])] == pytest.approx(RECORDED[kind], rel=1e-14, abs=0.0)


@pytest.mark.parametrize("kind", ["var", "stdv"])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8])
def test_equal_values_have_no_spread(kind: str, width: int) -> None:
    values = [1e6, *[0.1] * 20, None, *[0.1] * 5, -3e7]
    found = [row[0] for row in EngineRunner().rows(rolling(column(values), kind, 1 - width, 0, 1))]
    assert found[width : len(values) - 1] == [0.0] * (len(values) - 1 - width) if width > 1 else all(value in (0.0, None) for value in found)


@pytest.mark.parametrize("kind", ["sum", "mean", "var", "stdv"])
def test_results_do_not_depend_on_where_rows_are_cut(kind: str) -> None:
    choose = random.Random(5)
    values = [choose.uniform(-1, 1) * 10 ** choose.randint(-5, 5) for _ in range(90)]
    whole = EngineRunner().rows(rolling(column(values), kind, -4, 1, 1))
    for first in (0, 1, 17):
        part = EngineRunner().rows(slice_rows(rolling(append(column(values[:40]), column(values[40:])), kind, -4, 1, 1), first, None))
        assert part == whole[first:]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("before", "after"), [(-(10**12), 0), (0, 10**12), (-(10**12), 10**12), (10**12, 2 * 10**12), (-5, -4), (3, 4)])
@pytest.mark.parametrize("minimum", [None, 1])
def test_windows_wider_than_the_rows(kind: str, before: int, after: int, minimum: int | None) -> None:
    node = rolling(column([3.0, None, 1.0, 2.0]), kind, before, after, minimum)
    assert rows_equal(EngineRunner().rows(node), Oracle().rows(node))
