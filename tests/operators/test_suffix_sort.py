"""Sorting ties only gives what sorting everything gives, and too many ties are left to Spark."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sframe_spark as tc
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.operators import sort_top_rows_and_assumed_order as sort_operators
from sframe_spark.operators.sort_top_rows_and_assumed_order import SuffixSort, sort_rows
from sframe_spark.rewrite_laws import optimize
from sframe_spark.testing.oracle import Oracle, rows_of
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import FLOAT, INT, STR
from tests.examples import examples
from tests.random_tables import table_source

FLOATS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.0, math.nan, math.inf]))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "é", "aa"]))
INTS = st.one_of(st.none(), st.sampled_from([-(2**63), 0, 1, 2**63 - 1]))


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), FLOATS, TEXTS, INTS), max_size=30).map(lambda rows: sorted(rows, key=lambda row: row[0])),
    st.permutations([1, 2, 3]),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.integers(1, 9),
)
def test_as_a_sort_of_all_rows(rows: list[tuple[Any, ...]], columns: list[int], ups: list[bool], batch: int) -> None:
    node = table_source([list(column) for column in zip(*rows, strict=True)] or [[]] * 4, [INT, FLOAT, STR, INT], len(rows))
    by = ((0, True), *zip(columns, ups, strict=True))
    plan = SuffixSort(by, 1).make_planner_node(node)
    with tc.config.using(batch_rows=batch):
        found = rows_of(read_all(plan).columns, plan.schema)
    assert rows_equal(found, Oracle().rows(sort_rows(node, by)))


def test_a_frame_in_order_sorts_its_ties_without_spark() -> None:
    sf = tc.SFrame({"t": [1, 1, 1, 2, 2], "v": [3, 1, 2, 5, 4]})
    ordered = sf.sort(["t", ("v")])
    assert "suffix_sort[t asc, v asc; 1 held]" in ordered.explain()
    assert "only ties are sorted" in ordered.explain(why=True)
    assert list(ordered["v"]) == [1, 2, 3, 4, 5]
    assert ordered.is_sorted(["t", "v"])


@pytest.mark.spark
def test_too_many_ties_are_sorted_by_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sort_operators, "MAX_TIES", 3)
    sf = tc.SFrame({"t": [1] * 4 + [2, 2], "v": [4, 3, 2, 1, 6, 5]})
    executor = Executor(MaterializeOptions())
    source = executor.execute(optimize(sf.sort(["t", "v"])._node))
    assert source.operator.read(0, 6).columns[1].to_pylist() == [1, 2, 3, 4, 5, 6]  # type: ignore[attr-defined]
    assert any("sorted again by Spark: 4 rows are equal in c0 asc" in line for line in executor.log)
    assert list(sf.sort(["t", "v"])["v"]) == [1, 2, 3, 4, 5, 6]


@pytest.mark.spark
def test_runs_that_cross_row_ranges(spark: Any) -> None:
    generator = np.random.default_rng(3)
    times, values = np.sort(generator.integers(0, 40, 500)), generator.integers(0, 1000, 500)
    sf = tc.SFrame({"t": times, "v": values})
    with tc.config.using(small_rows=0, default_segments=7, batch_rows=16):
        found = sf.sort([("t", True), ("v", False)])
        found.materialize()
    order = np.lexsort((-values, times))
    assert list(found["v"]) == values[order].tolist()
