"""Group-by over neighbouring rows: against plain Python, however the rows are cut into batches and ranges, and against Spark."""

from __future__ import annotations

import datetime
import pickle
from itertools import groupby, pairwise, product
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import config
from sframe_spark.compute.key_runs import run_starts
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, joined_ranges, states_between, summarize, summarize_range
from sframe_spark.operators import run_operator
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys, group_adjacent_equal_keys
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sources.in_memory import MemorySource, memory_source
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import TOO_LARGE
from sframe_spark.testing.oracle_functions import AGGREGATES, token
from sframe_spark.types import FLOAT, INT, STR, ZONED_DATETIME, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode
from tests.examples import examples, part
from tests.facts import same
from tests.operators.ranges import run_in_ranges

NAN = float("nan")
EAST = datetime.timezone(datetime.timedelta(hours=2))
TIMES = [
    datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC),
    datetime.datetime(2024, 1, 1, 14, tzinfo=EAST),  # the same instant
    datetime.datetime(2024, 1, 2, tzinfo=EAST),
    None,
]
SCHEMA = (INT, FLOAT, STR, INT, FLOAT, ZONED_DATETIME)
ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, None]),
        st.sampled_from([0.0, -0.0, NAN, None]),
        st.sampled_from(["a", "b", None]),
        st.one_of(st.none(), st.integers(-(10**6), 10**6)),
        st.sampled_from([None, NAN, 0.5, -1.25, float("inf"), 1e6, 3.0]),
        st.sampled_from(TIMES),
    ),
    max_size=25,
)
AGGREGATIONS = (
    Aggregation("count"),
    Aggregation("sum", (3,)),
    Aggregation("sum", (4,)),
    Aggregation("mean", (3,)),
    Aggregation("mean", (4,)),
    Aggregation("var", (3,)),
    Aggregation("std", (4,)),
    Aggregation("min", (3,)),
    Aggregation("max", (4,)),
    Aggregation("min", (5,)),
    Aggregation("argmin", (4, 2)),
    Aggregation("argmax", (3, 5)),
    Aggregation("argmax", (4, 3)),
    Aggregation("argmin", (5, 4)),
    Aggregation("select_one", (5,)),
    Aggregation("concat", (2,)),
    Aggregation("distinct", (4,)),
    Aggregation("count_distinct", (2,)),
    Aggregation("quantile", (4,), (0.5, 1.0)),
    Aggregation("freq_count", (2,)),
)


def chunk_of(rows: list[tuple[Any, ...]]) -> Chunk:
    columns = [encode([row[i] for row in rows], column_type) for i, column_type in enumerate(SCHEMA)]
    return Chunk(tuple(columns), len(rows))


def node_of(rows: list[tuple[Any, ...]]) -> PlannerNode:
    return memory_source(chunk_of(rows).columns, SCHEMA)


def values_of(chunk: Chunk, node: PlannerNode) -> list[tuple[Any, ...]]:
    lists = [decode(column, kind) for column, kind in zip(chunk.columns, node.schema, strict=True)]
    return list(zip(*lists, strict=True))


def key_of(value: Any) -> Any:
    return value.astimezone(datetime.UTC) if isinstance(value, datetime.datetime) else token(value)


def aggregate(aggregation: Aggregation, columns: list[list[Any]], kinds: list[str]) -> Any:
    if aggregation.function == "min" and kinds == ["datetime"]:
        # Of equal instants the one with the smaller offset.
        return min((value for value in columns[0] if value is not None), key=lambda value: (value, value.utcoffset()), default=None)
    return AGGREGATES[aggregation.function](columns, aggregation.parameters, kinds)


def expected(rows: list[tuple[Any, ...]], operator: GroupByOfAdjacentEqualKeys) -> list[tuple[Any, ...]]:
    result = []
    for _, run in groupby(rows, lambda row: [key_of(row[p]) for p in operator.keys]):
        groups: dict[Any, list[Any]] = {}
        for row in run:
            groups.setdefault(tuple(key_of(row[p]) for p in operator.within), []).append(row)
        for group in groups.values():
            values = [group[0][p] for p in operator.grouped]
            for aggregation in operator.aggregations:
                columns = [[row[p] for row in group] for p in aggregation.positions]
                kinds = [SCHEMA[p].kind for p in aggregation.positions]
                values.append(aggregate(aggregation, columns, kinds) if columns else len(group))
            result.append(tuple(values))
    return result


def assert_same(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            a, b = (list(value) if hasattr(value, "typecode") else value for value in (a, b))
            assert same(a, b, 1e-9), (ours, theirs)


KEYS = st.sampled_from([((0,), ()), ((1,), ()), ((0, 2), ()), ((5,), ()), ((), ()), ((0,), (2,)), ((1,), (5, 0)), ((), (1,))])


@settings(deadline=None, max_examples=examples(40))
@given(ROWS, KEYS, st.lists(st.integers(0, 25), max_size=4))
def test_kernel_agrees_with_plain_python_in_any_batches(rows: Any, keys: Any, cuts: list[int]) -> None:
    operator = GroupByOfAdjacentEqualKeys(keys[0], AGGREGATIONS, keys[1])
    source = node_of(rows)
    node = operator.make_planner_node(source)
    facts, whole = [source.facts], chunk_of(rows)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    state = operator.initial_state(facts)
    parts = []
    for start, stop in pairwise(bounds):
        part, state = operator.advance([whole.slice(start, stop)], facts, state)
        parts.append(part)
    rest = operator.finish(facts, state)
    found = concatenate([*parts, *([rest] if rest else [])], node.schema)
    assert_same(values_of(found, node), expected(rows, operator))
    assert_same(values_of(operator.kernel([whole], facts), node), expected(rows, operator))


@settings(deadline=None, max_examples=examples(40))
@given(ROWS, KEYS, st.lists(st.integers(0, 25), max_size=4))
def test_states_of_ranges_combine(rows: Any, keys: Any, cuts: list[int]) -> None:
    operator = GroupByOfAdjacentEqualKeys(keys[0], AGGREGATIONS, keys[1])
    source = node_of(rows)
    node = operator.make_planner_node(source)
    facts, whole = [source.facts], chunk_of(rows)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    ranges = list(pairwise(bounds))
    parts = []
    state = operator.initial_state(facts)
    for index, (start, stop) in enumerate(ranges):
        part, after = operator.advance([whole.slice(start, stop)], facts, pickle.loads(pickle.dumps(state)))
        rest = operator.finish(facts, after) if index == len(ranges) - 1 else None
        parts += [part, *([rest] if rest else [])]
        middle = (start + stop) // 2
        halves = [operator.summarize([whole.slice(a, b)], facts) for a, b in ((start, middle), (middle, stop))]
        state = operator.combine(state, operator.combine(*pickle.loads(pickle.dumps(halves))))
    assert_same(values_of(concatenate(parts, node.schema), node), expected(rows, operator))


@settings(deadline=None, max_examples=examples(40))
@given(ROWS, KEYS, st.lists(st.integers(0, 25), max_size=4), st.integers(1, 6))
def test_ranges_of_a_plan_agree(rows: Any, keys: Any, cuts: list[int], batch_rows: int) -> None:
    node = GroupByOfAdjacentEqualKeys(keys[0], AGGREGATIONS, keys[1]).make_planner_node(node_of(rows))
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    assert_same(run_in_ranges(node, bounds, batch_rows), expected(rows, node.operator))


@settings(deadline=None, max_examples=examples(50))
@given(ROWS, st.lists(st.integers(0, 25), max_size=4), st.integers(1, 6))
def test_ranges_of_a_filtered_plan_agree(rows: Any, cuts: list[int], batch_rows: int) -> None:
    mask = memory_source([encode([int(row[2] != "a") for row in rows], INT)], [INT])
    node = GroupByOfAdjacentEqualKeys((0,), AGGREGATIONS).make_planner_node(filter_by_mask(node_of(rows), mask))
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    assert_same(run_in_ranges(node, bounds, batch_rows), expected([row for row in rows if row[2] != "a"], node.operator))


@settings(deadline=None, max_examples=examples(50))
@given(ROWS, KEYS, st.lists(st.integers(0, 25), min_size=1, max_size=6), st.sampled_from([0, 200, 600]))
def test_ranges_that_share_a_long_run_are_run_as_one(rows: Any, keys: Any, cuts: list[int], most: int) -> None:
    operator = GroupByOfAdjacentEqualKeys(keys[0], AGGREGATIONS, keys[1])
    node = operator.make_planner_node(node_of(rows))
    plan = Pipeline.of(node)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_operator, "MAX_CARRIED_BYTES", most)
        ranges, initial = list(pairwise(bounds)), operator.initial_state(plan.input_facts(1))
        parts = [summarize_range(RangeTask(plan, start, stop, 3), [1])[0] for start, stop in ranges[:-1]]
        before = states_between(operator, initial, pickle.loads(pickle.dumps(parts)))
        assert all(state is TOO_LARGE or state.open.to_table().nbytes <= most for state in before)
        ranges, states = joined_ranges(ranges, [{1: initial}, *[{} for _ in ranges[1:]]], {1: before})
    chunks = []
    for number, ((start, stop), state) in enumerate(zip(ranges, states, strict=True), start=1):
        chunks += PipelineRunner(plan, state).stream(start, stop, 3, final=number == len(ranges))
    assert_same(values_of(concatenate(chunks, node.schema), node), expected(rows, operator))


@pytest.mark.spark
def test_a_run_of_many_rows_does_not_pass_through_the_driver(spark: Any) -> None:
    rows = 1_500_000
    source = memory_source([pa.array(np.arange(rows) // 1_400_000), pa.array(np.arange(rows)[::-1])], [INT, INT])
    node = group_adjacent_equal_keys(source, [0], [Aggregation("quantile", (1,), (0.0, 0.5)), Aggregation("count")])
    with config.using(small_rows=0):
        executor = Executor(MaterializeOptions(segments=5))
        found = values_of(executor.execute(node).operator.read(0, 2), node)  # type: ignore[attr-defined]
    assert [(key, list(values), count) for key, values, count in found] == [(0, [100_000.0, 800_000.0], 1_400_000), (1, [0.0, 50_000.0], 100_000)]
    assert "in 2 task(s)" in executor.log[-1]


def test_only_the_ends_of_a_range_are_read_for_its_state() -> None:
    rows = [(i // 30, None, "a", i, 0.5, None) for i in range(1_000)]
    read: list[tuple[int, int]] = []

    @attrs.frozen
    class Watched(MemorySource):
        name = "watched_source"

        def read(self, start: int, stop: int) -> Chunk:
            read.append((start, stop))
            return super().read(start, stop)

    source = Watched.of(chunk_of(rows), SCHEMA).make_planner_node()
    plan = Pipeline.of(group_adjacent_equal_keys(source, [0], AGGREGATIONS[:3]))
    found = summarize(plan, 1, {}, 100, 900, 20)
    assert read == [(100, 120), (120, 140), (880, 900), (860, 880)]
    whole = plan.operators[1].summarize([chunk_of(rows).slice(100, 900)], [source.facts])  # type: ignore[attr-defined]
    for ours, theirs in ((found.first, whole.first), (found.last, whole.last)):
        results = [plan.operators[1].results(part, np.zeros(part.rows, np.int64), SCHEMA) for part in (ours, theirs)]  # type: ignore[attr-defined]
        assert results[0].to_table() == results[1].to_table() and results[0].rows == 1


def test_state_of_a_range_is_small_when_pickled() -> None:
    rows = [(i // 1000, None, "a", i, 0.5, None) for i in range(20_000)]
    operator = GroupByOfAdjacentEqualKeys((0,), AGGREGATIONS[:5])
    facts = [node_of(rows).facts]
    assert len(pickle.dumps(operator.summarize([chunk_of(rows)], facts))) < 5_000


def test_nested_keys_compare_by_value() -> None:
    column_type = list_of(INT)
    cells = [[1], [1, 2], [1, 2], None, None, [1]]
    assert run_starts([encode(cells, column_type)], [column_type], 6).tolist() == [0, 1, 3, 5]


def test_a_plan_has_no_more_rows_than_its_input() -> None:
    node = group_adjacent_equal_keys(node_of([(1, 0.0, "a", 1, 1.0, None)]), [0], [])
    assert node.length.at_most == 1
    assert node.operator.describe() == "[c0]; "


SAMPLE = [
    (key, [0.0, -0.0, NAN, NAN, None, None][i % 6], "abb"[i % 3] if i % 4 else None, i * 7 % 5 or None, [0.5, NAN, None, -1.0][i % 4], TIMES[i % 4])
    for i, key in enumerate([1, 1, 2, 2, 2, None, None, 1, 1, 1, 1, 1, 1, 3, None, 2, 2, 2, 2, 5])
]


@pytest.mark.spark
@pytest.mark.parametrize(("keys", "segments"), part(product([((0,), ()), ((1, 0), ()), ((0,), (2,)), ((0,), (5,)), ((), ())], [7, 1]), 3))
def test_ranges_on_spark_agree(keys: Any, segments: int, spark: Any) -> None:
    operator = GroupByOfAdjacentEqualKeys(keys[0], AGGREGATIONS, keys[1])
    node = operator.make_planner_node(node_of(SAMPLE))
    with config.using(small_rows=0):
        source = Executor(MaterializeOptions(segments=segments)).execute(node)
    found = source.operator.read(0, source.length.rows)
    assert_same(values_of(found, node), expected(SAMPLE, operator))


@pytest.mark.spark
@pytest.mark.parametrize(("keys",), part([(keys,) for keys in [((1, 0), ()), ((5,), ()), ((0,), ()), ((0,), (2,)), ((0,), (5,)), ((), ())]], 3))
def test_the_naive_plan_agrees(keys: Any, spark: Any) -> None:
    operator = GroupByOfAdjacentEqualKeys(keys[0], AGGREGATIONS, keys[1])
    node = operator.make_planner_node(node_of(SAMPLE))
    source = Executor(MaterializeOptions(naive=True)).execute(node)
    found = source.operator.read(0, source.length.rows)
    assert_same(values_of(found, node), expected(SAMPLE, operator))


@pytest.mark.spark
def test_a_stack_of_two_agrees(spark: Any) -> None:
    lower = group_adjacent_equal_keys(node_of(SAMPLE), [0, 2], [Aggregation("sum", (3,))])
    upper = group_adjacent_equal_keys(lower, [0], [Aggregation("concat", (2,)), Aggregation("count")])
    with config.using(small_rows=0):
        source = Executor(MaterializeOptions(segments=7)).execute(upper)
    found = values_of(source.operator.read(0, source.length.rows), upper)
    sums = expected(SAMPLE, GroupByOfAdjacentEqualKeys((0, 2), (Aggregation("sum", (3,)),)))
    wanted = []
    for key, run in groupby(sums, lambda row: row[0]):
        totals = [row[2] for row in run]
        wanted.append((key, totals, len(totals)))
    assert found == wanted
