"""Aggregates of the rows so far do not depend on how rows are cut into batches and blocks, and states are those of all rows."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.expressions.aggregates.counts import Count, count_of_rows
from sframe_spark.expressions.aggregates.float_sums import FloatSum, mean, sum_of_floats
from sframe_spark.expressions.aggregates.spreads import variance
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.running_states import RunningAggregates, RunningState
from sframe_spark.order.properties import OrderingProperties, RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import FLOAT, INT
from tests.compute.odd_numbers import NUMBERS
from tests.expressions.aggregates.test_running_sums import is_value

Rows = list[tuple[int, float | None]]
ROWS: st.SearchStrategy[Rows] = st.lists(st.tuples(st.integers(0, 3), st.one_of(NUMBERS, NUMBERS, st.none())), min_size=1, max_size=20)
CUTS = st.lists(st.integers(0, 20), max_size=3)
KINDS = ("count", "sum", "mean", "var", "std")
AGGREGATES = RunningAggregates.of((INT, FLOAT), [0], [count_of_rows(), sum_of_floats(1), mean(1), variance(1), variance(1, is_root=True)], [1])


def batches(rows: Rows, cuts: list[int]) -> list[Chunk]:
    """The rows in batches, of which none is empty."""
    edges = sorted({0, *(min(cut, len(rows)) for cut in cuts), len(rows)})
    return [chunk_of(rows[start:stop]) for start, stop in itertools.pairwise(edges)]


def chunk_of(rows: Rows) -> Chunk:
    return Chunk.of([pa.array([key for key, _ in rows], pa.int64()), pa.array([value for _, value in rows], pa.float64(), from_pandas=False)])


def sent(state: RunningState) -> RunningState:
    """What arrives in another task."""
    result: RunningState = pickle.loads(pickle.dumps(state))
    return result


def advanced(chunks: list[Chunk]) -> tuple[list[list[Any]], RunningState]:
    """The values of each aggregate, batch after batch, and the state after all of them."""
    state, found = AGGREGATES.empty(), list[list[list[Any]]]()
    for chunk in chunks:
        kept = pickle.dumps(state)
        columns, after = AGGREGATES.advanced(chunk, state)
        assert pickle.dumps(state) == kept
        found.append([column.to_pylist() for column in columns])
        state = sent(after)
    return [[value for values in parts for value in values] for parts in zip(*found, strict=True)], state


def told(state: RunningState) -> dict[Any, str]:
    """What is known of each group."""
    live = sent(state)
    columns = [column.to_pylist() for column in live.groups.states]
    return {token: repr([column[slot] for column in columns]) for token, slot in live.slots.items()}


@given(ROWS, CUTS, st.integers(1, 6))
def test_running_values_are_the_same_whatever_the_batches(rows: Rows, cuts: list[int], block: int) -> None:
    whole, after = advanced([chunk_of(rows)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FloatSum, "rows_per_block", block)
        for chunks in (batches(rows, cuts), [chunk_of(rows)], [chunk_of([row]) for row in rows]):
            found, state = advanced(chunks)
            assert repr(found) == repr(whole)
            assert told(state) == told(after)
    for place, (key, _) in enumerate(rows):
        known = [value for other, value in rows[: place + 1] if other == key and value is not None]
        for kind, column in zip(KINDS, whole, strict=True):
            if kind == "count":
                assert column[place] == sum(other == key for other, _ in rows[: place + 1])
            elif kind == "mean" and not known:
                assert column[place] is None
            elif all(map(math.isfinite, known)):
                assert is_value(column[place], kind, known)


@given(ROWS, CUTS)
def test_combined_states_are_that_of_all_rows(rows: Rows, cuts: list[int]) -> None:
    together = AGGREGATES.empty()
    for chunk in batches(rows, cuts):
        together = AGGREGATES.combined(together, sent(AGGREGATES.summarized(chunk)))
    assert told(together) == told(advanced([chunk_of(rows)])[1]) == told(AGGREGATES.summarized(chunk_of(rows)))


def test_of_missing_values_alone() -> None:
    found, state = advanced([chunk_of([(1, None), (2, None)]), chunk_of([(1, None)])])
    assert found == [[1, 1, 2], [0.0] * 3, [None] * 3, [0.0] * 3, [0.0] * 3]
    counts = AGGREGATES.aggregates.states.index(Count((1,)))
    assert AGGREGATES.aggregates.of_arrow(state.groups.states)[counts].tolist() == [0, 0]


@pytest.mark.parametrize("groups", [1, 3, 2_000, 200_000])
def test_long_and_short_groups_over_several_blocks(groups: int) -> None:
    """Blocks of sums end within groups."""
    rows = 150_000
    generator = np.random.default_rng(groups)
    keys, values = generator.integers(0, groups, rows), generator.integers(-(2**40), 2**40, rows)
    chunk = Chunk.of([pa.array(keys), pa.array(values.astype(np.float64))])
    driver = RunningAggregates.of((INT, FLOAT), [0], [sum_of_floats(1)], [1])
    (column,), state = driver.advanced(chunk, driver.empty())
    order = np.argsort(keys, kind="stable")
    totals = np.cumsum(values[order])
    starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    wanted = np.empty(rows)
    wanted[order] = totals - np.repeat(totals[starts] - values[order][starts], np.diff(np.append(starts, rows)))
    assert np.array_equal(column.to_numpy(), wanted)
    assert told(state) == told(driver.summarized(chunk))


@pytest.mark.parametrize(("least", "ascends", "is_key"), [(1, True, True), (0, True, False), (-1, False, False)])
def test_sums_of_ints_that_are_not_negative_ascend_and_differ_where_none_is_zero(least: int, ascends: bool, is_key: bool) -> None:
    known = RelationProperties(OrderingProperties(not_null=[0]), bounds={0: (least, 9)})
    order = Cumulative("sum").infer_properties([known], [Facts((INT,), Length.exactly(5))]).order
    assert (order.satisfies([(0, "asc")]), order.has_key([0])) == (ascends, is_key)
