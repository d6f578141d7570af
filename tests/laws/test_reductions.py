"""Aggregates of rows of which missing values were dropped are those of all rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as st

from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws import optimize
from sframe_spark.rewrite_laws.aggregation import aggregates_skip_missing
from sframe_spark.types import INT
from tests.facts import same

# What those need that take parameters.
PARAMETERS = {"interpolated_quantile": ("linear", 0.3), "moment": (3, True)}
SKIPPING = sorted(name for name, function in AGGREGATES.items() if function.skips_missing)


def aggregates(node: PlannerNode) -> list[Any]:
    return [column[0].as_py() for column in read_all(node).columns]


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=12), st.integers(0, 3))
def test_dropping_missing_values_changes_no_aggregate(values: list[int | None], added: int) -> None:
    column = apply_function("add", memory_source([pa.array(values, pa.int64())], [INT]), Literal(added, INT))
    there = filter_by_mask(column, apply_function("is_not_missing", column))
    node = reduce_columns(there, [Aggregation(name, (0,), PARAMETERS.get(name, ())) for name in SKIPPING])
    trace = Trace()
    optimize(node, trace=trace)
    assert aggregates_skip_missing.equation in trace.counts()
    found = aggregates(node)
    with config.using(disabled_laws={aggregates_skip_missing.equation}):
        expected = aggregates(node)
    assert all(same(a, b, 1e-9) for a, b in zip(found, expected, strict=True)), (found, expected)
