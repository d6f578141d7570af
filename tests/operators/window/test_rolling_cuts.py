"""Rolling values are the same however rows are cut into batches, beside the ends of the frame too, where windows have fewer rows."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.operators.window.rolling import Rolling
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import FLOAT
from tests.api.test_cuts_of_odd_floats import KINDS, numbers_of
from tests.examples import square


def in_batches(rolling: Rolling, column: pa.Array, bounds: list[int]) -> list[float | None]:
    """Rolling values of batches that begin and end there."""
    found, facts, rows = [], [Facts((FLOAT,), Length.exactly(len(column)))], len(column)
    for start, stop in itertools.pairwise(bounds):
        first, last = rolling.input_interval(0, start, stop, facts)
        first, last = min(max(first, 0), rows), max(min(last, rows), min(max(first, 0), rows))
        found += rolling.run_interval([Chunk.of([column.slice(first, last - first)])], facts, start, stop, [(first, last)]).columns[0].to_pylist()
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("kind", "what"), square(2, KINDS, ["sum", "mean", "var", "stdv"]))
def test_no_digit_depends_on_batches(kind: str, what: str) -> None:
    for seed in range(4):
        random = np.random.default_rng(seed)
        column = pa.array(numbers_of(random, kind, 60), pa.float64())
        before, after = sorted(random.integers(-40, 40, 2).tolist())
        rolling = Rolling(what, before, after, [None, 1, 2, 5][seed])
        expected = repr(in_batches(rolling, column, [0, 60]))
        for _ in range(2):
            assert repr(in_batches(rolling, column, [0, *sorted(random.integers(1, 60, 6).tolist()), 60])) == expected


def test_windows_beside_the_ends_are_exact() -> None:
    values = 1e9 + np.random.default_rng(2).normal(size=50)
    found = in_batches(Rolling("var", -29, 0, 1), pa.array(values), [0, 7, 20, 50])
    assert found[:29] == [VarianceState.of(values[: row + 1]).squares / (row + 1) for row in range(29)]
