"""A user's function is called once per row whoever reads its results, in the places where rows may be computed."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config
from tests.examples import part

pytestmark = pytest.mark.spark


def with_running_sum(sf: SFrame) -> SFrame:
    """The frame with a running sum of its applied column."""
    copy = sf.copy()
    copy["sum"] = copy["b"].cumulative_sum()
    return copy


def with_rolling_sum(sf: SFrame) -> SFrame:
    """The frame with a rolling sum of its applied column."""
    copy = sf.copy()
    copy["sum"] = copy["b"].rolling_sum(-1, 0, 1)
    return copy


PROGRAMS_OF_APPLIED = {
    "a running sum beside it": (with_running_sum, [2, 5, 9]),
    "a rolling sum beside it": (with_rolling_sum, [2, 5, 7]),
    "a filter by it, and a running sum of what is left": (lambda sf: with_running_sum(sf[sf["b"] > 2]), [3, 7]),
    "a sort by it": (lambda sf: sf.sort("b", ascending=False).rename({"b": "sum"}), [4, 3, 2]),
    "a sort by it, and a running sum of the sorted": (lambda sf: with_running_sum(sf.sort("b", ascending=False)), [4, 7, 9]),
    "a sort by another column": (lambda sf: with_running_sum(sf.sort("a", ascending=False)), [4, 7, 9]),
    "groups by it, sorted by another column": (lambda sf: sf.groupby("b", {"sum": aggregate.SUM("a")}).sort("sum", ascending=False), [3, 2, 1]),
    "its first row and all rows": (lambda sf: with_running_sum(sf.head(1).append(sf)), [2, 4, 7, 11]),
    "those of a filter that does not read it, and all rows": (lambda sf: with_running_sum(sf[sf["a"] > 1].append(sf)), [3, 7, 9, 12, 16]),
    "a join with some of its rows": (lambda sf: with_running_sum(sf.join(sf[sf["b"] > 2][["a"]], on="a").sort("a")), [3, 7]),
}
PLACES = {
    "on the driver": {"small_rows": 1_000},
    "in one task": {"small_rows": 0},
    "in three tasks": {"small_rows": 0, "single_task_rows": 0, "default_segments": 3},
}


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("place", "title"), part(product(PLACES, PROGRAMS_OF_APPLIED), 2))
def test_function_is_called_once_per_row_whoever_reads_its_results(title: str, place: str, spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "calls"

    def noted(value: int) -> int:
        with open(log, "a") as file:
            file.write("x")
        return value + 1

    program, expected = PROGRAMS_OF_APPLIED[title]
    with config.using(**PLACES[place]):
        sf = SFrame({"a": [1, 2, 3]})
        sf["b"] = sf["a"].apply(noted, int)
        result = program(sf)
        result.materialize()
        assert list(result["sum"]) == expected
    assert len(log.read_text()) == 3
