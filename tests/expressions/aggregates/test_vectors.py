"""Sums and means of vectors by every function of their state column, beside sums by fractions, however rows are cut."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.exact_sums_of_groups import Digits
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates import vectors
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate, State, joined
from sframe_spark.expressions.aggregates.vectors import sum_of_vectors
from sframe_spark.types import ARRAY
from tests.compute.odd_numbers import NUMBERS
from tests.expressions.aggregates.test_running_sums import rounded

Vector = list[float | None] | None
# Most vectors have two numbers, so that groups have a sum.
VECTORS = st.one_of(*[st.lists(NUMBERS, min_size=2, max_size=2)] * 6, st.none(), st.lists(st.one_of(NUMBERS, st.none()), max_size=3))
ROWS = st.lists(st.tuples(st.integers(0, 2), VECTORS), min_size=1, max_size=12)
SUM, MEAN = sum_of_vectors(0), sum_of_vectors(0, is_mean=True)


def expected(values: Sequence[Vector], is_mean: bool = False) -> list[float] | None:
    """The sum or mean of some vectors: empty without vectors, None if their lengths differ."""
    known = [[math.nan if number is None else number for number in vector] for vector in values if vector is not None]
    if len({len(vector) for vector in known}) > 1:
        return None
    result = []
    for numbers in zip(*known, strict=True):
        odd = [number for number in numbers if not math.isfinite(number)]
        total = sum(map(Fraction, numbers), Fraction(0)) if not odd else Fraction(0)
        result.append(sum(odd) if odd else rounded(total / len(known) if is_mean else total))
    return result


def rows_of(values: Sequence[Vector]) -> InputRows:
    return InputRows([pa.array(values, ARRAY.physical, from_pandas=False)], len(values))


def agree(found: pa.Array, wanted: Sequence[list[float] | None]) -> None:
    assert found.type == ARRAY.physical
    for ours, theirs in zip(found.to_pylist(), wanted, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert len(ours) == len(theirs)
            for a, b in zip(ours, theirs, strict=True):
                assert a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=3e-16, abs_tol=5e-324)


def lifted(aggregates: AggregateSet, rows: Sequence[tuple[int, Vector]], count: int = 3) -> tuple[State, ...]:
    return aggregates.lift(rows_of([vector for _, vector in rows]), GroupsOfRows(np.array([key for key, _ in rows], dtype=np.int64), count))


@given(ROWS, st.lists(st.integers(0, 12), max_size=3), st.booleans())
def test_groups_of_parts(rows: list[tuple[int, Vector]], cuts: list[int], is_mean: bool) -> None:
    aggregates = AggregateSet.of([MEAN if is_mean else SUM])
    wanted = [expected([vector for key, vector in rows if key == group], is_mean) for group in range(3)]
    whole = lifted(aggregates, rows)
    edges = sorted({0, *(min(cut, len(rows)) for cut in cuts), len(rows)})
    parts = [aggregates.of_arrow(aggregates.to_arrow(pickle.loads(pickle.dumps(lifted(aggregates, rows[a:b]))))) for a, b in pairwise(edges)]
    states = [joined(states) for states in zip(*parts, strict=True)]
    merged = aggregates.merge(states, GroupsOfRows(np.tile(np.arange(3), len(parts)), 3))
    for found in (whole, merged):
        agree(aggregates.finish(found)[0], wanted)
    # Equal states are sent as equal columns.
    assert sent(aggregates, whole) == sent(aggregates, merged)


@given(ROWS, st.sampled_from([1, 3, 1 << 16]), st.integers(0, 12), st.booleans())
def test_rows_so_far(rows: list[tuple[int, Vector]], step: int, cut: int, is_mean: bool) -> None:
    """From a state before, and from the one after some rows."""
    rows = sorted(rows, key=lambda row: row[0])
    keys = sorted({key for key, _ in rows})
    aggregates = AggregateSet.of([MEAN if is_mean else SUM])
    wanted = [expected([vector for other, vector in rows[: place + 1] if other == key], is_mean) for place, (key, _) in enumerate(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "NUMBERS_PER_STEP", step)
        found, after = running(aggregates, rows, [column.empty(len(keys)) for column in aggregates.states])
        agree(found, wanted)
        codes = np.array([keys.index(key) for key, _ in rows])
        whole = aggregates.lift(rows_of([vector for _, vector in rows]), GroupsOfRows(codes, len(keys)))
        assert sent(aggregates, after) == sent(aggregates, whole)
        one_group = [(0, vector) for _, vector in rows]
        first, second = one_group[:cut], one_group[cut:]
        before = lifted(aggregates, first, 1)
        if second:
            agree(
                running(aggregates, second, before)[0],
                [expected([v for _, v in one_group[: cut + end]], is_mean) for end in range(1, len(second) + 1)],
            )


def sent(aggregates: AggregateSet, states: Sequence[State]) -> list[str]:
    """What is sent of states, with NaN equal to NaN."""
    return [repr(column.to_pylist()) for column in aggregates.to_arrow(states)]


def running(aggregates: AggregateSet, rows: Sequence[tuple[int, Vector]], before: Sequence[State]) -> tuple[pa.Array, list[State]]:
    keys = np.array([key for key, _ in rows])
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    given_rows = rows_of([vector for _, vector in rows])
    pairs = [column.running(given_rows, starts, state) for column, state in zip(aggregates.states, before, strict=True)]
    return aggregates.finish([every for every, _ in pairs], last=True)[0], [after for _, after in pairs]


@given(
    st.lists(VECTORS, min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=6),
    st.integers(1, 4),
    st.booleans(),
)
def test_windows(values: list[Vector], bounds: list[tuple[int, int]], width: int, is_mean: bool) -> None:
    aggregate = MEAN if is_mean else SUM
    edges = [sorted((min(a, len(values)), min(b, len(values)))) for a, b in bounds]
    some = RowWindows(np.array([a for a, _ in edges], dtype=np.int64), np.array([b for _, b in edges], dtype=np.int64))
    for windows in (some, RowWindows.rolling(len(values), min(width, len(values)))):
        wanted = [expected(values[a:b], is_mean) for a, b in zip(windows.starts.tolist(), windows.stops.tolist(), strict=True)]
        rows = rows_of(values)
        agree(aggregate.finish(*[column.windows(rows, windows) for column in aggregate.states], last=True), wanted)


def of_all(aggregate: ColumnAggregate, values: Sequence[Vector]) -> pa.Array:
    return AggregateSet.of([aggregate]).finish(lifted(AggregateSet.of([aggregate]), [(0, vector) for vector in values], 1))[0]


def test_rules_for_none_and_for_different_lengths() -> None:
    missing = sum_of_vectors(0, is_missing_of_none=True)
    assert of_all(SUM, [None]).to_pylist() == [[]] == of_all(SUM, [[], None]).to_pylist()
    assert of_all(missing, [None]).to_pylist() == [None]
    assert of_all(missing, [[]]).to_pylist() == [[]]
    strict = sum_of_vectors(0, ragged=lambda: UnsupportedOperationError("lengths differ"))
    assert of_all(strict, [[1.0], None]).to_pylist() == [[1.0]]
    with pytest.raises(UnsupportedOperationError, match="lengths differ"):
        of_all(strict, [[1.0], [1.0, 2.0]])


def test_slices_and_missing_vectors_with_numbers() -> None:
    column = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 6], pa.int32()), pa.array([1.0, 2.0, 9.0, 9.0, 3.0, 4.0]), mask=pa.array([False, True, False])
    )
    for part, wanted in ((column, [4.0, 6.0]), (column.slice(1), [3.0, 4.0]), (column.slice(0, 2), [1.0, 2.0])):
        state = SUM.states[0].lift(InputRows([part], len(part)), GroupsOfRows(np.zeros(len(part), dtype=np.int64), 1))
        assert SUM.finish(state, last=True).to_pylist() == [wanted]


def test_infinities_added_to_groups_of_no_sums() -> None:
    merged = Digits(0, others=np.zeros(0)).grouped(np.zeros(0, dtype=np.int64), 1)
    merged.add(np.array([math.nan]), np.array([0]))
    assert math.isnan(merged.rounded()[0])
