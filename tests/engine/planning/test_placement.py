"""Many rows that the driver holds anyway are made one row there, without Spark."""

from __future__ import annotations

import numpy as np

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.planning.placement import MOST_ROWS_AT_HAND, is_at_hand
from sframe_spark.operators.sources.made import RangeSource

ROWS = 400_000


def test_reductions_of_rows_in_memory_start_no_spark() -> None:
    # No mark `spark`: the test fails if it starts a JVM.
    assert config.small_rows < ROWS
    frame = SFrame({"a": np.arange(ROWS), "b": np.arange(ROWS) * 0.5})
    assert frame["a"].sum() == ROWS * (ROWS - 1) // 2
    assert (frame["a"] - frame["b"] * 2).max() == 0
    assert frame[frame["a"] % 4 == 0]["b"].min() == 0


def test_rows_at_hand() -> None:
    column = SArray(np.arange(ROWS))
    assert is_at_hand(column._node)
    assert is_at_hand((column + 1)._node)
    assert not is_at_hand(column.apply(lambda value: value + 1)._node)
    assert not is_at_hand(RangeSource(0, MOST_ROWS_AT_HAND + 1).make_planner_node())
    with config.using(small_rows=0):
        assert not is_at_hand(column._node)
