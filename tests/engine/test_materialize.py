"""``config.check = "result"``: results are compared with those of the naive plan."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.engine.materialize import compare_with_naive
from sframe_spark.errors import PlanInvariantError
from sframe_spark.testing.tables import table_source
from sframe_spark.types import INT


@pytest.mark.spark
def test_rows_without_columns_are_counted(spark: Any) -> None:
    compare_with_naive(table_source([], [], 2), table_source([], [], 2))
    with pytest.raises(PlanInvariantError, match="memory_source has 3 rows by the optimized plan, 2 by the naive one"):
        compare_with_naive(table_source([], [], 2), table_source([], [], 3))


@pytest.mark.spark
def test_values_are_compared(spark: Any) -> None:
    node = table_source([[3, None], [5, 6]], [INT, INT], 2)
    compare_with_naive(node, table_source([[3, None], [5, 6]], [INT, INT], 2))
    with pytest.raises(PlanInvariantError, match="column 1 of memory_source differs"):
        compare_with_naive(node, table_source([[3, None], [5, 5]], [INT, INT], 2))
