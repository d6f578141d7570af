"""Joins of intervals against every pair of rows compared, over blocks, batches, chunks and segments of every small size."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import SchemaError
from sframe_spark.operators.joins import interval_join as module
from sframe_spark.operators.joins.interval_join import IntervalJoin, interval_join
from sframe_spark.operators.joins.window_bounds import CLOSED
from sframe_spark.operators.lookup import cached_reader as blocks_module
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle import Oracle, rows_of
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from tests.examples import examples
from tests.random_tables import segments_source, table_source

INTS = st.one_of(st.none(), st.integers(-3, 9), st.sampled_from([-(2**63), 2**63 - 1]))
FLOATS = st.one_of(st.none(), st.integers(-3, 9).map(float), st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.5]))
GROUPS = st.sampled_from(["a", "b", None])
# Points on the left, points on the right, intervals on both sides.
ENDS = [((0, 0), (0, 1)), ((0, 1), (0, 0)), ((0, 1), (0, 1)), ((0, 0), (0, 0))]


def read_all(node: PlannerNode, batch: int) -> list[tuple[Any, ...]]:
    """All rows of a node, computed in batches."""
    plan = Pipeline.of(node)
    rows: list[tuple[Any, ...]] = []
    for chunk in PipelineRunner(plan).stream(0, node.inputs[0].length.known_rows, batch):
        rows += rows_of(chunk.columns, node.schema)
    return rows


@settings(max_examples=examples(120), deadline=None)
@given(data=st.data(), block=st.sampled_from([1, 2, 100]), batch=st.sampled_from([1, 3, 100]), held=st.sampled_from([1, 3, 100]))
def test_every_pair_of_rows_in_order(data: st.DataObject, block: int, batch: int, held: int) -> None:
    keys, kind = data.draw(st.sampled_from([(INTS, INT), (FLOATS, FLOAT)]))
    other_kind = data.draw(st.sampled_from([kind, FLOAT]))
    other_keys = keys if other_kind == kind else FLOATS
    left, right = (data.draw(st.lists(st.tuples(values, values, GROUPS), max_size=9)) for values in (keys, other_keys))
    first = table_source([list(column) for column in zip(*left, strict=True)] or [[], [], []], [kind, kind, STR], len(left))
    rows = [list(column) for column in zip(*right, strict=True)] or [[], [], []]
    bounds = [*range(0, len(right), data.draw(st.sampled_from([2, 5]))), len(right)]
    types = [other_kind, other_kind, STR]
    is_stored = data.draw(st.booleans())
    second = segments_source(rows, types, bounds) if is_stored else table_source(rows, types, len(right))
    by = data.draw(st.sampled_from([(), (2,)]))
    ends = data.draw(st.sampled_from(ENDS))
    join = IntervalJoin(*ends, by, by, (1, 0), data.draw(st.sampled_from(["inner", "left"])), data.draw(st.sampled_from(CLOSED)))
    expected = Oracle().rows(join.make_planner_node(first, second))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_ROWS", block)
        patch.setattr(module, "MAX_CANDIDATES", held)
        patch.setattr(module, "MAX_CHUNK_BYTES", data.draw(st.sampled_from([1, 1 << 20])))
        joined = interval_join(first, second, join)
        searched = joined.inputs[1]
        if searched is not second:
            searched = in_segments(searched) if is_stored else source_of_rows(searched)
        node = joined.operator.make_planner_node(first, searched)
        assert repr(read_all(node, batch)) == repr(expected)
        counting = joined.operator.joining.match_counting
        facts, chunk = [side.facts for side in node.inputs], PipelineRunner(Pipeline.of(first)).run(0, len(left))
        lookup = blocks_module.Lookup.of(node.inputs[1].operator)
        assert counting.count([chunk, lookup], facts) == len(expected)
        start = data.draw(st.integers(0, len(expected)))
        stop = data.draw(st.integers(start, len(expected)))
        part = counting.rows_between([chunk, lookup], facts, start, stop, 1 << 30)
        assert repr(rows_of(part.columns, node.schema)) == repr(expected[start:stop])


def source_of_rows(node: PlannerNode) -> PlannerNode:
    """The rows of a node in memory."""
    rows = Oracle().rows(node)
    return table_source([list(column) for column in zip(*rows, strict=True)] or [[] for _ in node.schema], list(node.schema), len(rows))


def in_segments(node: PlannerNode) -> PlannerNode:
    """The rows of a node in segments of two rows."""
    rows = Oracle().rows(node)
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in node.schema]
    return segments_source(columns, list(node.schema), [*range(0, len(rows), 2), len(rows)])


@pytest.mark.parametrize("ends", ENDS[:3])
def test_an_interval_that_covers_all_rows_is_no_square_of_pairs_in_memory(ends: Any) -> None:
    rows = 200_000
    starts = np.arange(rows)
    stops = starts + 1
    stops[0] = rows
    sides = [memory_source([pa.array(starts), pa.array(stops)], [INT, INT]) for _ in range(2)]
    join = IntervalJoin(*ends, (), (), (1,), closed="left")
    plan = Pipeline.of(join.make_planner_node(*sides))
    tracemalloc.start()
    found = 0
    for chunk in PipelineRunner(plan).stream(0, rows, 20_000):
        assert chunk.rows <= 20_000
        found += chunk.rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Each row meets itself, and the long one all; of intervals on both sides each side has a long one.
    assert found == (2 * rows - 1 if 0 in (len(set(side)) - 1 for side in ends) else 3 * rows - 2)
    assert peak < 100 << 20


def test_rows_in_any_order_are_sorted_and_back_only_if_both_sides_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = table_source([[5, 1, 3], ["x", "y", "z"]], [INT, STR], 3), table_source([[4, 0], [6, 3]], [INT, INT], 2)
    join = IntervalJoin((0, 0), (0, 1), (), (), (0, 1), "left")
    short = interval_join(left, right, join)
    monkeypatch.setattr(module, "MAX_RIGHT_ROWS_IN_ANY_ORDER", 0)
    monkeypatch.setattr(module, "MAX_LEFT_ROWS_IN_ANY_ORDER", 0)
    long = interval_join(left, right, join)
    assert short.operator_type == "interval_join" and long.operator_type == "project"
    assert Oracle().rows(short) == Oracle().rows(long) == [(5, "x", 4, 6), (1, "y", 0, 3), (3, "z", 0, 3)]
    in_order = interval_join(sort_rows(left, [(0, True)]), sort_rows(right, [(0, True)]), join)
    assert in_order.operator_type == "interval_join" and in_order.operator.number is None


@pytest.mark.parametrize(
    ("types", "join", "words"),
    [
        ([INT, STR], IntervalJoin((0, 0), (0, 1), (), (), ()), "str key cannot be used here"),
        ([INT, DATETIME], IntervalJoin((0, 0), (0, 1), (), (), ()), "cannot be compared"),
        ([INT, FLOAT], IntervalJoin((0, 0), (0, 0), (0,), (1,), ()), "both must have the same type"),
        ([INT, INT], IntervalJoin((0,), (0, 1), (), (), ()), "two ends"),
        ([INT, INT], IntervalJoin((0, 0), (0, 1), (0,), (), ()), "as many columns"),
    ],
)
def test_plans_of_others_that_compare_what_cannot_be_compared_are_refused(types: list[ColumnType], join: IntervalJoin, words: str) -> None:
    node = memory_source([pa.nulls(1, column_type.physical) for column_type in types], types, 1)
    with pytest.raises(SchemaError, match=words):
        join.make_planner_node(node, node)
