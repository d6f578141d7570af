"""Windows of a key against plain Python, over blocks, batches and segments of every small size."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import SchemaError, TooLargeError
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.joins import key_window_aggregates as key_window_module
from sframe_spark.operators.joins.key_window_aggregates import KeyWindow
from sframe_spark.operators.joins.window_bounds import CLOSED
from sframe_spark.operators.lookup import cached_reader as blocks_module
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.in_memory import MemorySource, memory_source
from sframe_spark.planner.chunk import Chunk
from sframe_spark.testing.oracle import Oracle, rows_of
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from tests.examples import examples
from tests.expressions.aggregates.drivers import of_all_rows

INTS = st.one_of(st.none(), st.integers(-6, 9), st.sampled_from([-(2**63), 2**63 - 1]))
FLOATS = st.one_of(st.none(), st.integers(-6, 9).map(float), st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.5]))
NUMBERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))
VALUES = st.one_of(st.none(), st.floats(-1e3, 1e3, width=16), st.sampled_from([math.nan, math.inf, -math.inf, 1e12]))
TIMES = st.one_of(st.none(), st.integers(-5, 5).map(lambda number: datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=number)))
GROUPS = st.sampled_from(["a", "b", None])
DISTANCES = [(0, 0), (3, 0), (0, 2), (1, 1), (100, 100), (None, 0), (2, None), (None, None), (None, -2), (3, -1), (-1, 3), (-2, 2), (0.5, 1.5)]
TYPES = (STR, INT, FLOAT, DATETIME)


def aggregations(first: int) -> list[Aggregation]:
    """Every aggregate that takes numbers or text."""
    number, value, time = first, first + 1, first + 2
    found = [Aggregation("count"), *(Aggregation("concat", (place,)) for place in (first - 1, number, value, time))]
    found += [Aggregation("freq_count", (number,)), Aggregation("argmin", (value, number))]
    found += [Aggregation("quantile", (value,), (0.0, 0.5)), Aggregation("count_distinct", (number,)), Aggregation("select_one", (number,))]
    found += [Aggregation(name, (by, number)) for name in ("argmin", "argmax") for by in (number, value, time)]
    found += [Aggregation("min", (time,)), Aggregation("max", (time,)), Aggregation("select_one", (time,))]
    return found + [Aggregation(name, (place,)) for name in ("sum", "mean", "min", "max", "var", "std") for place in (number, value)]


def is_key(value: Any) -> bool:
    """True for values that have a window."""
    return value is not None and value == value


def rank(row: Sequence[Any]) -> tuple[int, Any]:
    """Place of a row in the order of its key: missing first, NaN last."""
    return (1, row[0]) if is_key(row[0]) else (0 if row[0] is None else 2, 0)


def expected(row: Any, rows: Sequence[Any], types: Sequence[ColumnType], window: KeyWindow) -> list[Any]:
    """The aggregates of one row's window, over the rows picked one by one."""
    near = [r for r in rows if is_key(r[0]) and is_key(row[0]) and all(r[place] == row[place] for place in window.by)]
    near = [r for r, inside in zip(near, are_inside([r[0] for r in near], row[0], window), strict=True) if inside]
    columns = [pa.array([r[place] for r in near], kind.physical) for place, kind in enumerate(types)]
    found = []
    for aggregation in window.aggregations:
        arguments, kinds = [columns[place] for place in aggregation.positions], [types[place] for place in aggregation.positions]
        found.append(of_all_rows(aggregation.function, arguments, kinds, aggregation.parameters) if arguments else len(near))
    return found


def are_inside(keys: Sequence[Any], center: Any, window: KeyWindow) -> list[bool]:
    """Which keys, in ascending order, are in the window around one."""
    if not is_key(center):
        return [False] * len(keys)
    before, after = (Fraction(d) if isinstance(center, int) and d is not None else d for d in (window.before, window.after))
    start, end = -math.inf if before is None else center - before, math.inf if after is None else center + after
    left, right = window.closed in ("both", "left") or window.before is None, window.closed in ("both", "right") or window.after is None
    inside = [(start <= key if left else start < key) and (key <= end if right else key < end) for key in keys]
    if window.prevailing and (entered := [place for place, key in enumerate(keys) if key <= start and window.before is not None]):
        inside[entered[-1]] = True
    return inside


def same(first: Any, second: Any) -> bool:
    """True for equal values; the order of summation may show in floats."""
    if isinstance(first, float) and isinstance(second, float):
        return (first != first and second != second) or first == second or math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-6)
    return repr(first) == repr(second)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), block=st.sampled_from([1, 2, 5, 100]), batch=st.sampled_from([1, 3, 100]))
def test_every_row_gets_the_aggregates_of_its_window(data: st.DataObject, block: int, batch: int) -> None:
    keys, kind = data.draw(st.sampled_from([(INTS, INT), (FLOATS, FLOAT)]))
    rows = sorted(data.draw(st.lists(st.tuples(keys, GROUPS, NUMBERS, VALUES, TIMES), max_size=14)), key=rank)
    by = data.draw(st.sampled_from([(), (1,)]))
    before, after = data.draw(st.sampled_from(DISTANCES))
    closed, prevailing = data.draw(st.sampled_from(CLOSED)), data.draw(st.booleans())
    window = KeyWindow(0, by, before, after, tuple(aggregations(2)), closed=closed, prevailing=prevailing)
    types = [kind, *TYPES]
    columns = [pa.array([row[place] for row in rows], kind.physical) for place, kind in enumerate(types)]
    left = data.draw(st.permutations(rows))
    asked = [pa.array([row[place] for row in left], kind.physical) for place, kind in enumerate(types)]
    node, source = memory_source(asked, types, len(rows)), memory_source(columns, types, len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_ROWS", block)
        patch.setattr(key_window_module, "MAX_BLOCKS", data.draw(st.sampled_from([1, 8])))
        plan = Pipeline.of(window.make_planner_node(node, source))
        found: list[list[Any]] = [[] for _ in window.aggregations]
        for chunk in PipelineRunner(plan).stream(0, len(rows), batch):
            for values, column, column_type in zip(found, chunk.columns, plan.facts[-1].schema, strict=True):
                values += decode(column, column_type)
    for row, answer in zip(left, zip(*found, strict=True), strict=True):
        wanted = expected(row, rows, types, window)
        for aggregation, got, want in zip(window.aggregations, answer, wanted, strict=True):
            assert same(got, want), (aggregation.describe(), row, got, want)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), block=st.sampled_from([1, 2, 5, 100]), batch=st.sampled_from([1, 3, 100]))
def test_windows_of_rows_in_the_order_of_their_groups(data: st.DataObject, block: int, batch: int) -> None:
    """The windows are those of any order of rows: nothing is sorted, but blocks are found by group and key."""
    keys, kind = data.draw(st.sampled_from([(INTS, INT), (FLOATS, FLOAT)]))
    by = data.draw(st.sampled_from([(1,), (1, 2)]))
    place = {None: 0, "a": 1, "b": 2}
    rows = data.draw(st.lists(st.tuples(keys, GROUPS, GROUPS, NUMBERS), max_size=14))
    rows = sorted(rows, key=lambda row: ([place[row[position]] for position in by], rank(row)))
    before, after = data.draw(st.sampled_from(DISTANCES))
    wanted = (Aggregation("concat", (3,)), Aggregation("count"), Aggregation("sum", (3,)))
    window = KeyWindow(0, by, before, after, wanted, (3,), (), data.draw(st.sampled_from(CLOSED)), data.draw(st.booleans()), within_groups=True)
    types = [kind, STR, STR, INT]
    left = data.draw(st.sampled_from([rows, rows[::-1]]))
    first, second = (
        memory_source([pa.array([row[p] for row in side], t.physical) for p, t in enumerate(types)], types, len(side)) for side in (left, rows)
    )
    node = window.make_planner_node(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_ROWS", block)
        patch.setattr(key_window_module, "MAX_BLOCKS", data.draw(st.sampled_from([1, 8])))
        plan = Pipeline.of(node)
        found = [row for chunk in PipelineRunner(plan).stream(0, len(left), batch) for row in rows_of(chunk.columns, node.schema)]
    assert repr(found) == repr(Oracle().rows(node))


def test_sums_do_not_lose_digits_to_their_neighbours() -> None:
    rows = 5_000
    values = [1e17] + [0.125] * (rows - 1)
    source = memory_source([pa.array(range(rows)), pa.array(values)], [INT, FLOAT])
    window = KeyWindow(0, (), 99, 0, (Aggregation("sum", (1,)), Aggregation("var", (1,))))
    found = PipelineRunner(Pipeline.of(window.make_planner_node(source, source))).run(0, rows)
    assert found.columns[0].to_pylist()[200:] == [12.5] * (rows - 200)
    assert found.columns[1].to_pylist()[200:] == [0.0] * (rows - 200)


def test_lists_of_more_than_an_array_holds_are_told_before_they_are_made() -> None:
    rows = 60_000
    source = memory_source([pa.array([7] * rows), pa.array(["t"] * rows)], [INT, STR])
    window = KeyWindow(0, (), 0, 0, (Aggregation("concat", (1,)),))
    before = pa.total_allocated_bytes()
    with pytest.raises(TooLargeError, match="over 2 GiB"):
        PipelineRunner(Pipeline.of(window.make_planner_node(source, source))).run(0, rows)
    assert pa.total_allocated_bytes() - before < 1 << 20


@pytest.mark.parametrize("distance", [-1, -0.5, float("nan"), -(2**63) + 1])
def test_a_plan_of_others_whose_windows_end_before_they_start_is_refused(distance: float) -> None:
    node = memory_source([pa.array([1, 2])], [INT])
    with pytest.raises(SchemaError, match=r"ends before it starts|must be a number"):
        KeyWindow(0, (), distance, 0, ()).make_planner_node(node, node)


def test_rows_whose_windows_are_long_themselves_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each window needs more blocks than stretches have otherwise: dividing the rows would read all of them again for each row."""
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 3)
    keys = np.arange(300)
    lookup = Lookup.of(MemorySource.of(Chunk.of([pa.array(keys)]), (INT,)))
    for reach, most in ((300, 12), (60, 30), (0, 40)):
        found = key_window_module.stretches(key_window_module.Reach(keys, keys - reach, keys, keys * 0, keys < 0), lookup, 0)
        assert [row for part, _, _ in found for row in part.rows] == keys.tolist()
        assert len(found) <= most
        assert all(last - first <= max(8, 2 * reach // 3 + 4) for _, first, last in found)
