"""Numbers that no float holds, infinities and NaN come out as such, without a warning of numpy's to the user.

Warnings are errors in tests: each computation raises where it warns.
"""

from __future__ import annotations

import array
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.config import config
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import FLOAT
from tests.examples import examples

EXTREMES = st.sampled_from([0.0, 1.5, 1e200, -1e200, 1.7e308, -1.7e308, 5e-324, math.inf, -math.inf, math.nan])
NUMBERS = st.lists(EXTREMES | st.none(), min_size=1, max_size=6)
VECTORS = st.lists(st.lists(EXTREMES, min_size=2, max_size=2).map(lambda cell: array.array("d", cell)) | st.none(), min_size=1, max_size=5)
KINDS = ("sum", "mean", "min", "max", "std", "var")
AGGREGATES = {kind: getattr(aggregate, kind.upper())("x") for kind in KINDS}
# Of NaN and a number, the number is the smaller and the larger one.
PLAIN: dict[str, Callable[[float, float], float]] = {
    "sum": lambda before, value: before + value,
    "min": lambda before, value: value if math.isnan(before) or value < before else before,
    "max": lambda before, value: value if math.isnan(before) or value > before else before,
}
BATCHES = st.sampled_from([1, 2, 100])


def every_window(column: SArray, kinds: tuple[str, ...]) -> None:
    """Look at all running and rolling aggregates, and at those of all rows."""
    for kind in kinds:
        assert len(list(getattr(column, f"cumulative_{kind}")())) == len(column)
        assert len(list(getattr(column, f"rolling_{'stdv' if kind == 'std' else kind}")(-2, 1, 1))) == len(column)
        getattr(column, kind)()


def so_far(kind: str, values: Iterable[float | None]) -> list[float | None]:
    """The aggregate of the rows so far, by plain Python: it warns of nothing, and adds one number after the other."""
    found: list[float | None] = []
    for value in values:
        before = found[-1] if found else None
        found.append(before if value is None else value if before is None else PLAIN[kind](before, value))
    return found


@settings(max_examples=examples(20), deadline=None)
@given(NUMBERS, BATCHES)
def test_aggregates_of_extreme_numbers(values: list[float | None], batch_rows: int) -> None:
    with config.using(batch_rows=batch_rows):
        column = SArray(values, dtype=float)
        every_window(column, KINDS)
        for kind in PLAIN:
            assert repr(list(getattr(column, f"cumulative_{kind}")())) == repr(so_far(kind, values))
        ordered = sorted(0.0 if value is None or math.isnan(value) else value for value in values)
        frame = SFrame({"x": column, "k": [row % 2 for row in range(len(values))], "n": range(len(values)), "t": ordered})
        list(frame.groupby("k", AGGREGATES))
        list(frame.groupby_intervals("n", 2, operations=AGGREGATES))
        for every, label in itertools.product((1e-300, 1e300), ("left", "right")):
            list(frame.groupby_intervals("t", every, closed=label, label=label, operations=AGGREGATES))
        list(frame.running(AGGREGATES))
        list(frame.running(AGGREGATES, by="k"))
        list(frame.window("t", AGGREGATES, before=1e308, after=1e308))
        list(frame.exponential_smoothing("x", half_life=1e-300))
        list(frame.exponential_smoothing("x", "t", half_life=2.0))


@settings(max_examples=examples(20), deadline=None)
@given(VECTORS, BATCHES)
def test_sums_and_means_of_extreme_vectors(values: list[Any], batch_rows: int) -> None:
    with config.using(batch_rows=batch_rows):
        every_window(SArray(values, dtype=array.array), ("sum", "mean"))


@settings(max_examples=examples(20), deadline=None)
@given(NUMBERS, NUMBERS)
def test_runs_of_extreme_numbers_are_joined(first: list[float | None], second: list[float | None]) -> None:
    """As where runs are summed up in parallel."""
    for kind in KINDS:
        operator, facts = Cumulative(kind), [Facts((FLOAT,), Length.unknown())]
        states = [operator.summarize([column_of(values)], facts) for values in (first, second)]
        found = operator.advance([column_of([None])], facts, operator.combine(*states))[0].columns[0][0].as_py()
        assert repr(found) == repr(operator.kernel([column_of([*first, *second, None])], facts).columns[0][-1].as_py())
        if kind in PLAIN:
            assert repr(found) == repr(so_far(kind, first + second)[-1])


def column_of(values: list[float | None]) -> Chunk:
    return Chunk.of([pa.array(values, pa.float64(), from_pandas=False)])


def test_what_overflows_is_infinite() -> None:
    assert list(SArray([1e200, 0.0]).cumulative_var()) == [0.0, math.inf]
    vectors = SArray([array.array("d", [1.7e308])] * 2)
    for found in (vectors.cumulative_sum(), vectors.rolling_sum(-1, 0, 1)):
        assert [list(cell) for cell in found] == [[1.7e308], [math.inf]]
    operator, facts = Cumulative("var"), [Facts((FLOAT,), Length.unknown())]
    both = operator.combine(*(operator.summarize([column_of([value])], facts) for value in (math.inf, -math.inf)))
    assert math.isnan(operator.advance([column_of([1.0])], facts, both)[0].columns[0][0].as_py())


@pytest.mark.parametrize("reach", [1.0, 1e308])
def test_windows_beyond_the_largest_float(reach: float) -> None:
    frame = SFrame({"x": [1, 2, 3], "t": [-1.7e308, 0.0, 1.7e308]})
    assert [row["n"] for row in frame.window("t", {"n": aggregate.SUM("x")}, before=reach)] == [1, 2, 3]
