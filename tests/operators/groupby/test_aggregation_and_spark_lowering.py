"""An aggregate over some columns, as operators ask it."""

from __future__ import annotations

import pyarrow as pa

from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.types import INT
from tests.expressions.aggregates.drivers import of_all_rows


def test_only_a_count_counts_rows() -> None:
    assert Aggregation("count").counts_rows((INT,)) and Aggregation("count", (0,)).counts_rows((INT,))
    assert not any(Aggregation(name, (0,)).counts_rows((INT,)) for name in ("sum", "count_missing", "count_distinct", "min"))


def test_a_reduction_is_of_all_rows() -> None:
    assert of_all_rows("sum", [pa.array([1, None, 3])], (INT,)) == 4
