"""Exponential smoothing: against the weighted mean written out, over ranges and batches of any size."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sframe_spark import SFrame, config
from sframe_spark.engine.materialize import compute
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.operators.smoothing import exponential_smoothing
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle.values import rows_equal, token
from tests.operators.ranges import rows_of, run_in_ranges

UTC = datetime.UTC
START = datetime.datetime(2024, 1, 1)
Row = tuple[Any, Any, Any]
VALUE = st.none() | st.sampled_from([1.0, -2.5, 8.0, 0.0, math.nan])
STEPS = st.lists(st.tuples(VALUE, st.sampled_from([0, 0, 1, 3, 50]), st.sampled_from(["a", "b", None]), st.booleans()), max_size=14)


def rows_from(steps: Sequence[tuple[Any, int, Any, bool]]) -> list[Row]:
    """Rows whose times do not go backwards, some of them missing."""
    now, rows = 0, []
    for value, step, key, missing in steps:
        now += step
        rows.append((value, None if missing and step == 50 else now, key))
    return rows


def expected(rows: Sequence[Row], by_key: bool, by_rows: bool, half_life: float) -> list[tuple[Any]]:
    result: list[tuple[Any]] = []
    for place, row in enumerate(rows):
        seen = [r for r in rows[: place + 1] if not by_key or token(r[2]) == token(row[2])]
        now = len(seen) - 1 if by_rows else row[1]
        weighted = [
            (0.5 ** ((now - then) / half_life), r[0])
            for number, r in enumerate(seen)
            if now is not None and r[0] is not None and (then := number if by_rows else r[1]) is not None
        ]
        total = sum(weight for weight, _ in weighted)
        result.append((sum(weight * value for weight, value in weighted) / total if weighted else None,))
    return result


def node_of(rows: Sequence[Row], by_key: bool, by_rows: bool, half_life: float) -> PlannerNode:
    columns = zip(*[*rows, (1.0, 1, "a")], strict=True)
    sf = SFrame(dict(zip(["a", "b", "c"], map(list, columns), strict=True)))[: len(rows)]
    return exponential_smoothing(compute(sf._node), 0, None if by_rows else 1, [2] if by_key else [], half_life)


@settings(deadline=None, max_examples=150)
@given(STEPS, st.booleans(), st.booleans(), st.sampled_from([0.5, 3.0, 1000.0]), st.lists(st.integers(0, 14), max_size=3), st.integers(1, 5))
@example(steps=[], by_key=True, by_rows=False, half_life=1.0, cuts=[], batch_rows=1)
@example(steps=[(2.0, 1, "a", False)], by_key=True, by_rows=True, half_life=1.0, cuts=[1], batch_rows=1)
def test_weighted_means(steps: list[Any], by_key: bool, by_rows: bool, half_life: float, cuts: list[int], batch_rows: int) -> None:
    rows = rows_from(steps)
    node = node_of(rows, by_key, by_rows, half_life)
    bounds = sorted({0, len(rows), *[min(cut, len(rows)) for cut in cuts]})
    bounds = bounds if len(bounds) > 1 else [0, 0]
    found = run_in_ranges(node, bounds, batch_rows)
    assert rows_equal(found, expected(rows, by_key, by_rows, half_life)), (rows, found)


def test_agrees_with_pandas() -> None:
    values = [1.0, 4.0, None, 2.0, 8.0]
    times = [START + datetime.timedelta(hours=hours) for hours in (0, 1, 5, 5, 30)]
    done = SFrame({"v": values, "t": times}).exponential_smoothing("v", on="t", half_life="90min")
    wanted = pd.Series(values).ewm(halflife="90min", times=pd.Series(times)).mean()
    assert rows_equal([(value,) for value in done], [(value,) for value in wanted])


def test_after_a_very_long_time_the_new_value_counts() -> None:
    sf = SFrame({"v": [5.0, None, 7.0, math.inf, 1.0], "t": [0, 10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9]})
    assert list(sf.exponential_smoothing("v", on="t", half_life=1)) == [5.0, 5.0, 7.0, math.inf, 1.0]


def test_times_of_other_types() -> None:
    wanted = [1.0, 3.0]
    for times in ([0.0, 1.0], [-(2**62) - 2**61, -(2**62) - 2**61 + 1], [START, START + datetime.timedelta(microseconds=1)]):
        half_life = datetime.timedelta(microseconds=1) if times[0] == START else 1
        assert list(SFrame({"t": times, "v": [1, 4]}).exponential_smoothing("v", on="t", half_life=half_life)) == wanted
    assert list(SFrame({"t": [-(2**63), 2**63 - 1], "v": [1, 4]}).exponential_smoothing("v", on="t", half_life=1)) == [1.0, 4.0]


def test_times_with_offsets_count_by_instant() -> None:
    """The clocks of Berlin go from 2:00 to 3:00 on 31 March 2024: one hour lies between 1:30 and 3:30."""
    winter, summer = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (1, 2))
    times = [datetime.datetime(2024, 3, 31, 1, 30, tzinfo=winter), datetime.datetime(2024, 3, 31, 3, 30, tzinfo=summer)]
    assert list(SFrame({"t": times, "v": [1.0, 4.0]}).exponential_smoothing("v", on="t", half_life="1h")) == [1.0, 3.0]


def test_a_row_without_time_has_no_part() -> None:
    sf = SFrame({"t": [0.0, None, math.nan, 1.0], "v": [1.0, 100.0, 100.0, 4.0]})
    assert list(sf.exponential_smoothing("v", on="t", half_life=1)) == [1.0, None, None, 3.0]


@pytest.mark.parametrize("cuts", [[0, 4], [0, 2, 4], [0, 1, 2, 3, 4]])
def test_times_that_go_backwards_are_refused(cuts: list[int]) -> None:
    sf = SFrame({"t": [5, 7, None, 6], "v": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(RuntimeError, match="6 comes after 7: sort by time first"):
        run_in_ranges(sf.exponential_smoothing("v", on="t", half_life=1)._node, cuts, 2)


def test_only_times_of_one_key_must_ascend() -> None:
    sf = SFrame({"t": [5, 1, 6, 2], "v": [1.0, 2.0, 4.0, 8.0], "k": ["a", "b", "a", "b"]})
    assert list(sf.exponential_smoothing("v", on="t", half_life=1, by="k")) == [1.0, 2.0, 3.0, 6.0]


def test_backwards_date_times_are_shown() -> None:
    sf = SFrame({"t": [START, START - datetime.timedelta(days=1)], "v": [1.0, 2.0]})
    with pytest.raises(RuntimeError, match="2023-12-31 00:00:00 comes after 2024-01-01 00:00:00"):
        list(sf.exponential_smoothing("v", on="t", half_life="1d"))


def test_wrong_arguments() -> None:
    sf = SFrame({"t": [START], "v": [1.0], "s": ["x"], "d": [{"a": 1}]})
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (KeyError, "no column is named 'w'", {"column": "w", "half_life": 1}),
        (KeyError, "no column is named 'w'", {"column": "v", "on": "w", "half_life": 1}),
        (TypeError, "takes numbers", {"column": "s", "half_life": 1}),
        (TypeError, "str has no durations", {"column": "v", "on": "s", "half_life": 1}),
        (TypeError, "half_life: .*timedelta", {"column": "v", "on": "t", "half_life": 1}),
        (TypeError, "takes a number", {"column": "v", "half_life": "1d"}),
        (ValueError, "above zero", {"column": "v", "on": "t", "half_life": "0s"}),
        (TypeError, "holds dicts", {"column": "v", "half_life": 1, "by": "d"}),
    ]
    for error, words, arguments in wrong:
        with pytest.raises(error, match=words):
            sf.exponential_smoothing(**arguments)


ROWS = rows_from([(float(i % 5), i % 3, "ab"[i % 2], False) if i % 4 else (None, 50, "a", i % 8 == 0) for i in range(30)])


@pytest.mark.spark
@pytest.mark.parametrize(("by_key", "by_rows"), [(True, False), (False, True), (False, False), (True, True)])
def test_window_of_spark_agrees(by_key: bool, by_rows: bool, spark: Any) -> None:
    node = node_of(ROWS, by_key, by_rows, 3.0)
    source = compute(node, MaterializeOptions(naive=True))
    found = rows_of(source.operator.read(0, len(ROWS)), node)  # type: ignore[attr-defined]
    assert rows_equal(found, expected(ROWS, by_key, by_rows, 3.0))


@pytest.mark.spark
def test_segments(spark: Any) -> None:
    with config.using(small_rows=0):
        for by_rows in (False, True):
            node = node_of(ROWS, True, by_rows, 3.0)
            source = compute(node, MaterializeOptions(segments=7, in_memory=0))
            found = rows_of(source.operator.read(0, len(ROWS)), node)  # type: ignore[attr-defined]
            assert rows_equal(found, expected(ROWS, True, by_rows, 3.0))
        with pytest.raises(RuntimeError, match="0 comes after 29"):
            sf = SFrame({"t": [*range(30), 0], "v": [1.0] * 31})
            compute(sf.exponential_smoothing("v", on="t", half_life=1)._node, MaterializeOptions(segments=7))
