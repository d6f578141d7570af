"""Running aggregates of infinities do not depend on where batches and segments end."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.config import config
from tests.examples import by_turns

VALUES = (1.0, math.inf, -math.inf, math.nan, None, 3.0)


def mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def cumulated(kind: str, every: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """A running aggregate of each of many columns, all computed at once."""
    columns = [getattr(SArray(list(values), dtype=float), f"cumulative_{kind}")() for values in every]
    frame = SFrame({str(number): column for number, column in enumerate(columns)})
    rows = list(frame)
    return [[row[str(number)] for row in rows] for number in range(len(every))]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_means_are_those_of_all_rows_so_far(batch_rows: int) -> None:
    with config.using(batch_rows=batch_rows):
        every = list(itertools.product(VALUES, repeat=3))
        for values, found in zip(every, cumulated("mean", every), strict=True):
            expected = [mean(list(values[: end + 1])) for end in range(3)]
            for ours, theirs in zip(found, expected, strict=True):
                assert ours == theirs or (theirs is not None and ours == pytest.approx(theirs, rel=1e-12, nan_ok=True))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch_rows", [1, 100])
@pytest.mark.parametrize("kind", ["mean", "var", "std", "sum"])
def test_each_value_is_that_of_the_column_so_far(kind: str, batch_rows: int) -> None:
    every = list(itertools.product(VALUES, repeat=2))

    @functools.cache
    def of_column(*known: float) -> float | None:
        return getattr(SArray(known, dtype=float), kind)() if known else None

    with config.using(batch_rows=batch_rows):
        for values, found in zip(every, cumulated(kind, every), strict=True):
            for end, ours in enumerate(found):
                theirs = of_column(*(value for value in values[: end + 1] if value is not None))
                assert ours == theirs or ours == pytest.approx(theirs, rel=1e-15, nan_ok=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["mean", "var", "std", "sum", "min", "max"])
def test_all_batches_give_the_same(kind: str, tmp_path: Path) -> None:
    every = by_turns(list(itertools.product((1.0, math.inf, math.nan, None), repeat=3)), 3, len(kind))
    found = []
    for batch_rows in (1, 3, 100):
        with config.using(batch_rows=batch_rows):
            found.append([repr(values) for values in cumulated(kind, every)])
    assert found[0] == found[1] == found[2]
    for number in range(0, len(every), 20):
        with config.using(segment_rows=1):
            SFrame({"a": SArray(list(every[number]), dtype=float)}).save(str(tmp_path / str(number)))
        assert repr(list(getattr(load_sframe(str(tmp_path / str(number)))["a"], f"cumulative_{kind}")())) == found[0][number]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_sums_are_those_of_exact_numbers_also_where_some_on_the_way_are_beyond_all_floats(batch_rows: int) -> None:
    most = 1.7e308
    every = [list(values) for values in by_turns(list(itertools.product((most, -most, None, 1.0), repeat=4)), 5, batch_rows)]
    # Sums of these by floats differ by the order of additions.
    every += [[1e16, 1.0, -1e16, 0.1], [0.1, 0.2, 0.3, 0.4]]
    expected = []
    for values in every:
        present = [[Fraction(value) for value in values[: end + 1] if value is not None] for end in range(len(values))]
        expected.append([rounded(sum(known, Fraction(0))) if known else None for known in present])
    with config.using(batch_rows=batch_rows):
        assert repr(cumulated("sum", every)) == repr(expected)


def rounded(number: Fraction) -> float:
    """The float next to a number."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def test_runs_are_joined_as_rows_are() -> None:
    joined = VarianceState.of(np.array([math.inf])).merged(VarianceState.of(np.array([1.0, 1.0])))
    assert joined.mean == math.inf and joined.count == 3
