"""Rows in opposite order: sorts, first rows and groups of them against plain Python, and against the naive plan."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

from sframe_spark import config
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import filter_by_mask, reverse, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import AssumeOrder, TopRows, sort_rows
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import Law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws import STAGES, optimize
from sframe_spark.rewrite_laws.filter_pushdown import filter_below
from sframe_spark.rewrite_laws.slice_pushdown import last_rows_of_sort
from sframe_spark.rewrite_laws.sort_elimination import group_by_of_neighbours, sort_of_partly_reversed, sort_of_reversed, top_of_reversed
from sframe_spark.testing.golden_plans_of_laws import apply_law
from sframe_spark.testing.oracle import sorted_rows
from sframe_spark.types import FLOAT, INT, STR
from sframe_spark.values.arrow_to_python import decode
from tests.examples import examples, part
from tests.facts import same
from tests.operators.ranges import run_in_ranges
from tests.random_tables import segments_source

NAN = float("nan")
SCHEMA = (INT, STR, FLOAT)
Row = tuple[Any, ...]
By = Sequence[tuple[int, bool]]
ROWS = st.lists(
    st.tuples(st.sampled_from([None, -3, 1, 2, 9]), st.sampled_from([None, "", "a", "é"]), st.sampled_from([None, NAN, -0.0, 0.0, 2.5])), max_size=20
)
ORDERS = st.sampled_from(
    [((0, False),), ((0, False), (1, True)), ((1, False), (0, False)), ((0, True), (1, False)), ((1, True), (0, True), (2, False))]
)
CUTS = st.lists(st.integers(0, 20), max_size=3)
AGGREGATIONS = (Aggregation("count"), Aggregation("concat", (0,)), Aggregation("select_one", (2,)), Aggregation("count_distinct", (1,)))


def table(rows: Sequence[Row], cuts: Sequence[int], by: By = ()) -> PlannerNode:
    """Rows as segments, known to be in an order."""
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    source = segments_source([[row[i] for row in rows] for i in range(len(SCHEMA))], SCHEMA, bounds)
    return AssumeOrder(tuple(by)).make_planner_node(source) if by else source


def values(source: PlannerNode) -> list[Row]:
    """Rows of a source."""
    chunk = source.operator.read(0, source.length.rows)  # type: ignore[attr-defined]
    lists = [decode(column, kind) for column, kind in zip(chunk.columns, source.schema, strict=True)]
    return list(zip(*lists, strict=True))


def assert_same(found: Sequence[Row], wanted: Sequence[Row]) -> None:
    """Equal rows in equal order."""
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert all(same(a, b, 1e-9) for a, b in zip(ours, theirs, strict=True)), (found, wanted)


def changed(rule: Law, node: PlannerNode) -> PlannerNode:
    """The plan after a law alone; examples that it leaves alone show nothing."""
    result = apply_law(rule, node, STAGES)
    assume(result is not node)
    return result


@settings(max_examples=examples(30))
@given(ROWS, CUTS, st.lists(st.integers(0, 20), max_size=3), st.integers(1, 6))
def test_ranges_of_rows_backwards_agree(rows: list[Row], segments: list[int], cuts: list[int], batch_rows: int) -> None:
    node = reverse(table(rows, segments))
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    assert_same(run_in_ranges(node, bounds, batch_rows), rows[::-1])


@settings(max_examples=examples(60))
@given(ROWS, ORDERS, CUTS, st.integers(1, 3))
def test_a_sort_of_rows_in_opposite_order(rows: list[Row], by: By, cuts: list[int], length: int) -> None:
    ordered = sorted_rows(rows, by)
    wanted = tuple((position, not up) for position, up in by[:length]) + tuple(by[length:])
    node = sort_rows(table(ordered, cuts, by), wanted)
    plan = changed(sort_of_partly_reversed, node)
    assert_same(values(Executor(MaterializeOptions()).execute(plan)), sorted_rows(ordered, wanted))


@settings(max_examples=examples(30))
@given(st.sets(st.integers(-9, 9), max_size=12), CUTS, st.integers(0, 5))
def test_keys_in_opposite_order_are_read_backwards(keys: set[int], cuts: list[int], count: int) -> None:
    rows = [(key, f"v{key}", None) for key in sorted(keys, reverse=True)]
    source = table(rows, cuts)
    if len(rows) > 1:
        plan = changed(sort_of_reversed, sort_rows(source, [(0, True), (1, False)]))
        assert "suffix_sort" not in {node.operator_type for node in postorder([plan])}
        assert_same(values(Executor(MaterializeOptions()).execute(plan)), rows[::-1])
    first = apply_law(top_of_reversed, TopRows(((0, True),), count).make_planner_node(source), STAGES)
    assert_same(values(Executor(MaterializeOptions()).execute(optimize(first))), rows[::-1][:count])


def groups_of(rows: Sequence[Row], keys: Sequence[int]) -> list[Row]:
    """Rows of ``AGGREGATIONS`` by some keys, ascending by them."""
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    groups = []
    for key, members in found.items():
        concat = [row[0] for row in members if row[0] is not None]
        groups.append((*key, len(members), concat, members[0][2], len({row[1] for row in members})))
    return sorted_rows(groups, [(place, True) for place in range(len(keys))])


@settings(max_examples=examples(60))
@given(ROWS, ORDERS, CUTS, st.sampled_from([(0,), (1,), (0, 1), (1, 0)]))
def test_groups_of_neighbours_come_in_ascending_order(rows: list[Row], by: By, cuts: list[int], keys: tuple[int, ...]) -> None:
    ordered = sorted_rows(rows, by)
    node = group_by(table(ordered, cuts, by), keys, AGGREGATIONS)
    changed(group_by_of_neighbours, node)
    assert_same(values(Executor(MaterializeOptions()).execute(optimize(node))), groups_of(ordered, keys))


@settings(max_examples=examples(80))
@given(ROWS, ORDERS, CUTS, st.integers(0, 6), st.integers(1, 6))
def test_the_last_rows_of_a_sort_are_the_first_of_the_opposite_order(rows: list[Row], by: By, cuts: list[int], first: int, count: int) -> None:
    node = slice_rows(sort_rows(table(rows, cuts), by), max(len(rows) - first - count, 0), max(len(rows) - first, 0))
    plan = changed(last_rows_of_sort, node)
    wanted = sorted_rows(rows, by)[max(len(rows) - first - count, 0) : max(len(rows) - first, 0)]
    assert_same(values(Executor(MaterializeOptions()).execute(optimize(plan))), wanted)


@settings(max_examples=examples(80))
@given(ROWS, ORDERS, CUTS, st.integers(0, 3), st.integers(1, 6))
def test_the_first_rows_of_a_sort_that_pass_a_filter(rows: list[Row], by: By, cuts: list[int], first: int, count: int) -> None:
    ordered = sort_rows(table(rows, cuts), by)
    passing = filter_by_mask(ordered, apply_function("is_not_missing", project(ordered, [1])))
    node = slice_rows(passing, first, first + count)
    trace = Trace()
    with config.using(small_rows=0):
        plan = optimize(node, trace=trace)
    assume(filter_below.equation in trace.counts())
    wanted = [row for row in sorted_rows(rows, by) if row[1] is not None][first : first + count]
    assert_same(values(Executor(MaterializeOptions()).execute(optimize(plan))), wanted)


def test_a_part_of_rows_read_backwards_reads_no_others() -> None:
    node = slice_rows(reverse(table([(i, None, None) for i in range(100)], [50])), 2, 5)
    assert_same(run_in_ranges(node, [0, 3], 2), [(97, None, None), (96, None, None), (95, None, None)])


SAMPLE = [(i // 4 if i < 60 else None, "abc"[i * 7 % 3] if i % 11 else None, i * 0.5 if i % 5 else NAN) for i in range(64)]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("order", "segments", "filtered"),
    part(product([((0, False),), ((0, False), (1, True)), ((1, True), (0, False))], [7, 1], [False, True]), 5),
)
def test_on_spark_as_in_python_and_by_the_naive_plan(spark: Any, order: By, filtered: bool, segments: int) -> None:
    rows = sorted_rows(random.Random(5).sample(SAMPLE, len(SAMPLE)), order)
    node = table(rows, [0, 9, 9, 40], order)
    if filtered:
        mask = [int(i % 3 != 1) for i in range(len(rows))]
        node = filter_by_mask(node, memory_source([pa.array(mask)], [INT]))
        rows = [row for row, kept in zip(rows, mask, strict=True) if kept]
    keys = tuple(position for position, _ in order)
    turned = [(position, not up) for position, up in order]
    cases = [
        (sort_rows(node, turned), sorted_rows(rows, turned)),
        (sort_rows(node, [*turned[:1], (2, True)]), sorted_rows(rows, [*turned[:1], (2, True)])),
        (TopRows(tuple(turned), 7).make_planner_node(node), sorted_rows(rows, turned)[:7]),
        (group_by(node, keys, AGGREGATIONS), groups_of(rows, keys)),
        (reverse(node), rows[::-1]),
        (slice_rows(sort_rows(node, [(2, True)]), len(rows) - 5, len(rows) - 1), sorted_rows(rows, [(2, True)])[-5:-1]),
    ]
    for plan, wanted in cases:
        with config.using(small_rows=0, single_task_rows=0):
            executor = Executor(MaterializeOptions(segments=segments))
            assert_same(values(executor.execute(optimize(plan))), wanted)
        # Which reads filtered rows as any others.
        if not filtered:
            assert_same(values(Executor(MaterializeOptions(naive=True)).execute(plan)), wanted)


@pytest.mark.spark
def test_few_groups_in_another_order_are_sorted_in_memory(spark: Any) -> None:
    rows = [(i // 1_000, "bca"[i // 100 % 10 % 3], float(i)) for i in range(3_000)]
    order = ((0, True), (1, True))
    node = group_by(table(sorted_rows(rows, order), [1_000], order), (1, 0), AGGREGATIONS[:1])
    with config.using(small_rows=500, single_task_rows=0):
        executor = Executor(MaterializeOptions())
        found = values(executor.execute(optimize(node)))
    assert found == [(row[0], row[1], row[2]) for row in groups_of(rows, (1, 0))]
    assert not [line for line in executor.log if line.startswith("query")], executor.log
