"""Running aggregates by group do not depend on how rows are cut into runs: states that are put together are those of all rows."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import Sums
from sframe_spark.operators.window.running_exact_sums_of_numbers_and_vectors import ExactAggregate
from sframe_spark.operators.window.segmented_scan import RowGroups
from sframe_spark.types import INT
from tests.compute.odd_numbers import NUMBERS
from tests.compute.test_exact_running import is_value

Rows = list[tuple[int, float | None]]
ROWS: st.SearchStrategy[Rows] = st.lists(st.tuples(st.integers(0, 3), st.one_of(NUMBERS, NUMBERS, st.none())), min_size=1, max_size=20)
CUTS = st.lists(st.integers(0, 20), max_size=3)
KINDS = st.sampled_from(["sum", "mean", "var", "std"])


def runs_of(rows: Rows, cuts: list[int]) -> list[Rows]:
    """The rows in runs, of which none is empty."""
    edges = sorted({0, *(min(cut, len(rows)) for cut in cuts), len(rows)})
    return [rows[start:stop] for start, stop in itertools.pairwise(edges)]


def in_groups(rows: Rows, slots: dict[Any, int]) -> tuple[list[pa.Array], RowGroups, np.ndarray]:
    """The values of a run, its groups, and their places in a state, which gets one for each that is new."""
    groups = RowGroups.of([pa.array([key for key, _ in rows])], [INT], len(rows))
    places = np.array([slots.setdefault(token, len(slots)) for token in groups.tokens])
    return [pa.array([value for _, value in rows], pa.float64(), from_pandas=False)], groups, places


def advanced(aggregate: ExactAggregate, runs: list[Rows]) -> tuple[list[Any], Sums, dict[Any, int]]:
    """The value beside each row, run after run, and the state after all of them."""
    state, slots, found = aggregate.empty(0), dict[Any, int](), list[Any]()
    for rows in runs:
        columns, groups, places = in_groups(rows, slots)
        column, state = aggregate.advance(aggregate.widened(state, len(slots)), columns, groups, places)
        # A state goes from task to task.
        state = pickle.loads(pickle.dumps(state))
        found += column.to_pylist()
    return found, state, slots


def told(state: Sums, slots: dict[Any, int]) -> dict[Any, str]:
    """What is known of each group."""
    return {token: repr(state.variance_state(place)) for token, place in slots.items()}


@given(ROWS, CUTS, KINDS)
def test_running_values_are_the_same_whatever_the_runs(rows: Rows, cuts: list[int], kind: str) -> None:
    aggregate = ExactAggregate(kind)
    found, state, slots = advanced(aggregate, runs_of(rows, cuts))
    whole, after, of_whole = advanced(aggregate, [rows])
    assert repr(found) == repr(whole)
    assert told(state, slots) == told(after, of_whole)
    for place, (key, _) in enumerate(rows):
        known = [value for other, value in rows[: place + 1] if other == key and value is not None]
        if kind == "mean" and not known:
            assert found[place] is None
        elif all(map(math.isfinite, known)):
            assert is_value(found[place], kind, known)


@given(ROWS, CUTS, KINDS)
def test_states_put_together_are_that_of_all_rows(rows: Rows, cuts: list[int], kind: str) -> None:
    aggregate = ExactAggregate(kind)
    slots: dict[Any, int] = {}
    together = aggregate.empty(0)
    for run in runs_of(rows, cuts):
        columns, groups, _ = in_groups(run, {})
        part = aggregate.of_rows(columns, groups)
        _, _, places = in_groups(run, slots)
        together = aggregate.merged(aggregate.widened(together, len(slots)), part, places)
    _, after, of_whole = advanced(aggregate, [rows])
    assert told(together, slots) == told(after, of_whole)


@pytest.mark.parametrize(("kind", "nothing"), [("sum", 0.0), ("mean", None), ("var", 0.0), ("std", 0.0)])
def test_of_missing_values_alone(kind: str, nothing: float | None) -> None:
    found, state, _ = advanced(ExactAggregate(kind), [[(1, None), (2, None)], [(1, None)]])
    assert found == [nothing] * 3
    assert state.counts.tolist() == [0, 0]
