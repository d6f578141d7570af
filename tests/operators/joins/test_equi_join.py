"""Row order of joins."""

from __future__ import annotations

import pytest

from sframe_spark import SFrame
from sframe_spark.config import config


def outer_rows() -> list[tuple[int, int | None, int | None]]:
    left = SFrame({"k": [1, 2, 3, 4], "v": [5, None, 3, None]})
    right = SFrame({"k": [2, 9, 4], "w": [1, 2, 3]})
    return [(row["k"], row["v"], row["w"]) for row in left.sort("v").join(right, on="k", how="outer")]


@pytest.mark.spark
def test_left_rows_sorted_by_a_missing_value_come_before_right_rows_without_a_match(spark: object) -> None:
    expected = [(2, None, 1), (4, None, 3), (3, 3, None), (1, 5, None), (9, None, 2)]
    for options in ({}, {"small_rows": 0}, {"small_rows": 0, "single_task_rows": 0}):
        with config.using(**options):
            assert outer_rows() == expected
