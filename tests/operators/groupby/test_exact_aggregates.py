"""Sums, means and spreads of groups are those of exact numbers, of whole groups and put together of parts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute import exact_sums_of_groups
from sframe_spark.expressions.aggregates import float_sums
from sframe_spark.expressions.aggregates.state_columns import AggregateSet
from sframe_spark.operators.groupby import in_memory_groupby
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.in_memory_groupby import GroupingByKeys, group_rows
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import ARRAY, FLOAT, INT
from tests.compute.odd_numbers import NUMBERS
from tests.expressions.aggregates.drivers import of_all_rows
from tests.expressions.aggregates.test_running_sums import is_value

FUNCTIONS = ("sum", "mean", "var", "std")
ROWS = st.lists(st.tuples(st.integers(0, 5), st.one_of(NUMBERS, NUMBERS, st.none())), max_size=25)


def grouping(*aggregations: tuple[str, int]) -> GroupingByKeys:
    """Aggregates of a column of floats, or of the ints that are the keys."""
    return GroupingByKeys.of((INT, FLOAT), [0], [Aggregation(function, (column,)) for function, column in aggregations])


def chunk_of(rows: list[tuple[int, float | None]]) -> Chunk:
    """Keys and values."""
    return Chunk.of([pa.array([key for key, _ in rows], pa.int64()), pa.array([value for _, value in rows], pa.float64(), from_pandas=False)])


def told(chunk: Chunk) -> str:
    """All values, and which zero each zero is."""
    return repr([column.to_pylist() for column in chunk.columns])


def expected_others(function: str, known: list[float]) -> float:
    """What there is of numbers of which some are not finite."""
    if function in ("sum", "mean"):
        return sum(value for value in known if not math.isfinite(value))
    return math.nan


@given(ROWS)
def test_whole_groups_have_the_values_of_exact_numbers(rows: Any) -> None:
    found = grouping(*((function, 1) for function in FUNCTIONS)).of_whole_groups(chunk_of(rows))
    keys, *columns = (column.to_pylist() for column in found.columns)
    assert keys == sorted({key for key, _ in rows})
    for function, column in zip(FUNCTIONS, columns, strict=True):
        for key, value in zip(keys, column, strict=True):
            known = [number for other, number in rows if other == key and number is not None]
            if function == "mean" and not known:
                assert value is None
            elif all(map(math.isfinite, known)):
                assert is_value(value, function, known)
                assert value != 0.0 or math.copysign(1.0, value) == 1.0
            else:
                assert repr(value) == repr(expected_others(function, known))


@given(ROWS, st.lists(st.integers(0, 25), max_size=4))
def test_parts_put_together_are_the_whole_whatever_the_cuts(rows: Any, cuts: Any) -> None:
    by_keys, whole = grouping(*((function, 1) for function in FUNCTIONS)), chunk_of(rows)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    expected = told(by_keys.of_whole_groups(whole))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_sums_of_groups, "GROUPS_PER_BLOCK", 2)
        parts = [by_keys.groups(whole.slice(start, stop)) for start, stop in itertools.pairwise(edges)]
        assert told(by_keys.finished(by_keys.merged(parts))) == expected
        assert told(by_keys.of_whole_groups(whole)) == expected


def test_ints_have_means_and_spreads() -> None:
    by_keys = grouping(("mean", 0), ("var", 0))
    rows = Chunk.of([pa.array([2**62, 2**62, 7]), pa.array([0.0, 0.0, 0.0])])
    for found in (by_keys.of_whole_groups(rows), by_keys.finished(by_keys.groups(rows))):
        assert [column.to_pylist() for column in found.columns] == [[7, 2**62], [7.0, 2.0**62], [0.0, 0.0]]


def test_of_whole_groups_there_are_no_lists(monkeypatch: Any) -> None:
    """Or sums of many groups of few rows would take twice as long."""
    monkeypatch.delattr(float_sums, "digits_to_lists")
    found = grouping(("sum", 1), ("std", 1)).of_whole_groups(chunk_of([(1, 0.1), (1, 0.3), (2, 5.0)]))
    assert [column.to_pylist() for column in found.columns[:2]] == [[1, 2], [0.4, 5.0]]


VECTORS = st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), *(st.lists(NUMBERS, min_size=width, max_size=width) for width in (0, 2, 2, 3)))))


@given(VECTORS, st.sampled_from(["sum", "mean"]), st.booleans(), st.integers(0, 3))
def test_vectors_of_all_groups_are_added_up_as_those_of_each(rows: Any, function: str, ragged: bool, skipped: int) -> None:
    if not ragged:
        rows = [(key, vector) for key, vector in rows if vector is None or len(vector) == key]
    keys, vectors = pa.array([key for key, _ in rows], pa.int64()), pa.array([vector for _, vector in rows], ARRAY.physical, from_pandas=False)
    chunk = Chunk.of([keys, vectors]).slice(min(skipped, len(rows)), len(rows))
    found = group_rows(chunk, (INT, ARRAY), [0], [Aggregation(function, (1,))])
    rows = rows[skipped:]
    for key, value in zip(*(column.to_pylist() for column in found.columns), strict=True):
        known = pa.array([vector for other, vector in rows if other == key], ARRAY.physical, from_pandas=False)
        expected = of_all_rows(function, [known], (ARRAY,))
        assert repr(value) == repr(None if expected is None else expected.tolist())
    assert found.columns[1].type == ARRAY.physical


def test_vectors_of_many_groups_are_looked_at_together(monkeypatch: Any) -> None:
    """Or each group would take a hundred microseconds."""
    monkeypatch.setattr(exact_sums_of_groups, "GROUPS_PER_BLOCK", 2)
    vectors = pa.array([[key * 0.1, 1e300, -1e300] for key in range(1000)], ARRAY.physical)
    found = group_rows(Chunk.of([pa.array(np.arange(1000) % 400), vectors]), (INT, ARRAY), [0], [Aggregation("sum", (1,))])
    assert found.columns[1].to_pylist() == [[math.fsum(key * 0.1 for key in range(group, 1000, 400)), *whole(group)] for group in range(400)]


def whole(group: int) -> tuple[float, float]:
    """Sums of the large numbers."""
    count = len(range(group, 1000, 400))
    return count * 1e300, count * -1e300


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", ["sum", "mean", "std", "skewness"])
def test_groups_of_floats_that_are_far_apart_are_computed_some_at_a_time(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their digits would take many times the bytes of the rows."""
    rng, groups = np.random.default_rng(3), 700
    keys = pa.array(rng.integers(0, groups, 5_000))
    rows = Chunk.of([keys, pa.array(rng.normal(size=5_000) * 10.0 ** rng.integers(-150, 150, 5_000))])
    expected = group_rows(rows, (INT, FLOAT), [0], [Aggregation(function, (1,))])
    lifted = []
    monkeypatch.setattr(in_memory_groupby, "MANY_GROUPS", 1)
    monkeypatch.setattr(in_memory_groupby, "MAX_STATE_BYTES", 20_000)
    lift = AggregateSet.lift
    monkeypatch.setattr(AggregateSet, "lift", lambda self, rows, groups: lifted.append(groups.count) or lift(self, rows, groups))
    found = group_rows(rows, (INT, FLOAT), [0], [Aggregation(function, (1,))])
    assert repr([column.to_pylist() for column in found.columns]) == repr([column.to_pylist() for column in expected.columns])
    assert len(lifted) > 3 and sum(lifted) == groups
