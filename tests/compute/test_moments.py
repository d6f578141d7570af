"""Spreads of large floats are what exact numbers say, however rows are cut: one range may have other sums that no float holds than all rows."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SFrame, aggregate, config
from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.in_memory_groupby import GroupingByKeys
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import FLOAT, INT

POOLS = ([1e308], [1e200, -1e200], [1.7e308, -1.7e308], [1e200, 3e200], [1e101, 3e101], [1e150, 1.0], [1.0, 2.0, 3.5], [5e-324, 1e-320])
ROWS = st.sampled_from(POOLS).flatmap(lambda pool: st.lists(st.sampled_from(pool), min_size=1, max_size=9))
CUTS = st.lists(st.integers(0, 9), max_size=3)


def exact_variance(values: list[float]) -> float:
    """That of all values, rounded once."""
    numbers = list(map(Fraction, values))
    mean = sum(numbers) / len(numbers)
    try:
        return float(sum((number - mean) ** 2 for number in numbers) / len(numbers))
    except OverflowError:
        return math.inf


def parts_of(values: list[float], cuts: list[int]) -> list[list[float]]:
    """The values in parts, some of which may have none."""
    edges = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    return [values[start:stop] for start, stop in pairwise(edges)]


def is_rounded(found: float, exact: float) -> bool:
    """Whether a variance is that of exact numbers; of large ones it may be infinite sooner."""
    return math.isclose(found, exact, rel_tol=1e-9, abs_tol=1e-300) or (exact > 1e307 and found == math.inf)


@given(ROWS, CUTS)
def test_moments_of_parts(values: list[float], cuts: list[int]) -> None:
    together = VarianceState()
    for part in parts_of(values, cuts):
        together = together.merged(VarianceState.of(np.array(part)))
    assert is_rounded(together.squares / together.count, exact_variance(values)) and math.isfinite(together.mean)


@given(ROWS, CUTS)
def test_groups_of_parts(values: list[float], cuts: list[int]) -> None:
    grouping = GroupingByKeys.of((INT, FLOAT), [0], [Aggregation("var", (1,))])
    # The same beside a group of numbers that are not large, one that is missing among them.
    parts = [Chunk.of([pa.array([1] * len(part) + [0, 0, 0]), pa.array([*part, 2.0, 4.0, None])]) for part in parts_of(values, cuts)]
    usual, large = grouping.finished(grouping.merged([grouping.groups(part) for part in parts])).columns[1].to_pylist()
    assert usual == 1.0 and is_rounded(large, exact_variance(values))


@pytest.mark.parametrize("values", [[1e308] * 5, [1e200, 1e200, 1e200, -1e200], [1.7e308, -1.7e308] * 3, [1e101, 3e101, 3e101]])
def test_running_spreads_do_not_depend_on_batches(values: list[float]) -> None:
    exact = [exact_variance(values[: count + 1]) for count in range(len(values))]
    for batch_rows in (1, 2, 100):
        with config.using(batch_rows=batch_rows):
            frame = SFrame({"k": [1] * len(values), "f": values})
            found = [list(frame.running({"v": aggregate.VAR("f")}, by=by)["v"]) for by in (None, "k")]
            found.append(list(frame["f"].cumulative_var()))
        assert all(is_rounded(*pair) for each in found for pair in zip(each, exact, strict=True)), (batch_rows, found)
