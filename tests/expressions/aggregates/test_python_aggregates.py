"""Aggregates of plug-ins that are Python functions: how often they are called, and that any division of the rows gives the same parts."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates import python_aggregates
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.python_aggregates import ROWS_WORTH_A_CALL, Decomposition, of_parts
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, joined
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.plugin import define_aggregate
from sframe_spark.types import INT, STR


class Texts:
    """An aggregate that joins the values of rows to a text, from parts, and counts its calls."""

    def __init__(self) -> None:
        self.lifted, self.combined = 0, 0

    def _lift(self, arrays: Sequence[pa.Array], rows: int, types: Any, parameters: Any) -> str:
        self.lifted += 1
        return "".join(f"{value}," for value in arrays[0].to_pylist())

    def _combine(self, first: str, second: str, types: Any) -> str:
        self.combined += 1
        return first + second

    def parts(self) -> Decomposition:
        return Decomposition(self._lift, self._combine, lambda part, types, parameters: part)

    def aggregate(self) -> ColumnAggregate:
        return of_parts(self.parts(), [INT], [0], (), STR)


def merged(aggregate: ColumnAggregate, values: np.ndarray, codes: np.ndarray, bounds: Sequence[int], sent: bool = False) -> State:
    """The state of all rows, from states of the rows between bounds."""
    (column,), groups = aggregate.states, int(codes.max(initial=-1)) + 1
    states, found = [], []
    for start, stop in pairwise(bounds):
        present, places = np.unique(codes[start:stop], return_inverse=True)
        state = column.lift(InputRows([pa.array(values[start:stop])], stop - start), GroupsOfRows(places, len(present)))
        states.append(column.of_arrow(column.to_arrow(state)) if sent else state)
        found.append(present)
    return column.merge(joined(states), GroupsOfRows(np.concatenate(found), groups))


def expected(values: np.ndarray, codes: np.ndarray) -> list[str]:
    return ["".join(f"{value}," for value in values[codes == code].tolist()) for code in range(int(codes.max(initial=-1)) + 1)]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.lists(st.integers(0, 40), max_size=5), st.booleans(), st.sampled_from([1, 2, 3, 100]))
def test_parts_of_any_division_are_those_of_all_rows(found: list[int], cuts: list[int], sent: bool, worth: int) -> None:
    codes = np.unique(np.array(found), return_inverse=True)[1]
    values, texts = np.arange(len(codes)), Texts()
    bounds = sorted({0, *(min(cut, len(codes)) for cut in cuts), len(codes)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_aggregates, "ROWS_WORTH_A_CALL", worth)
        aggregate = texts.aggregate()
        state = merged(aggregate, values, codes, bounds, sent)
        (column,) = aggregate.states
        assert aggregate.finish(state, last=False).to_pylist() == expected(values, codes)
        assert column.to_arrow(state)[0].to_pylist() == [pickle.dumps(text) for text in expected(values, codes)]
        assert aggregate.finish(column.of_arrow(column.to_arrow(state)), last=True).to_pylist() == expected(values, codes)


@pytest.mark.parametrize(("groups", "batches"), [(3, 8), (500, 8), (8_000, 8), (8_000, 2)])
def test_rows_wait_until_a_call_is_worth_it(groups: int, batches: int) -> None:
    rows, texts = 40_000, Texts()
    codes = np.arange(rows) % groups
    aggregate = texts.aggregate()
    state = merged(aggregate, np.arange(rows), codes, range(0, rows + 1, rows // batches))
    assert texts.lifted <= rows // ROWS_WORTH_A_CALL
    aggregate.finish(state, last=True)
    # Many groups are lifted once each, a few groups once for each batch.
    assert texts.lifted == (groups * batches if groups == 3 else groups) and texts.combined == texts.lifted - groups


def test_running_parts_and_parts_of_windows_are_lifted() -> None:
    aggregate, rows = Texts().aggregate(), InputRows([pa.array([1, 2, 3])], 3)
    (column,) = aggregate.states
    before = column.lift(InputRows([pa.array([7, 8])], 2), GroupsOfRows(np.array([0, 1]), 2))
    every, after = column.running(rows, np.array([0, 2]), before)
    assert aggregate.finish(every, last=False).to_pylist() == ["7,1,", "7,1,2,", "8,3,"]
    assert aggregate.finish(after, last=False).to_pylist() == ["7,1,2,", "8,3,"]
    found = column.windows(rows, RowWindows(np.array([0, 1, 1]), np.array([2, 3, 1])))
    assert aggregate.finish(found, last=False).to_pylist() == ["1,2,", "2,3,", ""]


def test_a_group_by_of_an_aggregate_with_parts_decomposes() -> None:
    define_aggregate("test_texts_of_parts", lambda types, parameters: STR, parts=Texts().parts())
    define_aggregate("test_texts_at_once", lambda types, parameters: STR, lambda arrays, types, parameters: str(arrays[0].to_pylist()))
    facts = [Facts((INT, INT), Length.unknown())]
    assert GroupBy((0,), (Aggregation("test_texts_of_parts", (1,)),)).decomposes(facts)
    assert not GroupBy((0,), (Aggregation("test_texts_at_once", (1,)),)).decomposes(facts)


def test_equal_parameters_are_the_same_state_column() -> None:
    parts = Texts().parts()
    columns = [of_parts(parts, [INT], [0], parameters, STR).states[0] for parameters in (([1],), ([1],), (1,), (True,))]
    assert len(set(columns)) == 3 and columns[0] == columns[1]
