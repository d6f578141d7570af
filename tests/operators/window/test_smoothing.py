"""Exponential smoothing: against the weighted mean written out, over ranges and batches of any size."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pandas as pd
import pytest

from sframe_spark import SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import task_runners
from sframe_spark.operators.window import exponentially_decayed_sums
from sframe_spark.operators.window.smoothed_column import exponential_smoothing
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle_functions import rows_equal, token
from tests.examples import examples, square
from tests.operators.ranges import check_states_are_values, random_cuts, rows_of, run_in_ranges

UTC = datetime.UTC
START = datetime.datetime(2024, 1, 1)
Row = tuple[Any, Any, Any]


def random_rows(choose: random.Random) -> list[Row]:
    """Rows whose times do not go backwards, some of them missing; one frame in four holds values that are not finite."""
    values = [None, 1.0, -2.5, 8.0, 0.0, *(choose.sample([math.nan, math.inf, -math.inf], 2) if choose.random() < 0.25 else [])]
    keys = choose.choice([["a"], ["a", "b", None]])
    steps = choose.choice([[0, 1], [0, 1, 3, 50], [0, 1, 5000]])
    now, rows = choose.choice([0, -100]), []
    for _ in range(choose.randrange(16)):
        now += choose.choice(steps)
        rows.append((choose.choice(values), None if choose.random() < 0.1 else now, choose.choice(keys)))
    return rows


def expected(rows: Sequence[Row], by_key: bool, by_rows: bool, half_life: float) -> list[tuple[Any]]:
    result: list[tuple[Any]] = []
    for place, row in enumerate(rows):
        seen = [r for r in rows[: place + 1] if not by_key or token(r[2]) == token(row[2])]
        timed = row[1] is not None or by_rows
        known = [(n if by_rows else r[1], r[0]) for n, r in enumerate(seen) if r[0] is not None and (by_rows or r[1] is not None)]
        # Only the ratios of weights matter: the last value weighs one.
        special = [value for _, value in known if not math.isfinite(value)]
        if special and timed:
            result.append((sum(special),))
            continue
        weighted = [(0.5 ** ((known[-1][0] - then) / half_life), value) for then, value in known] if timed else []
        total = sum(weight for weight, _ in weighted)
        result.append((sum(weight * value for weight, value in weighted) / total if weighted else None,))
    return result


def node_of(rows: Sequence[Row], by_key: bool, by_rows: bool, half_life: float) -> PlannerNode:
    columns = zip(*[*rows, (1.0, 1, "a")], strict=True)
    sf = SFrame(dict(zip(["a", "b", "c"], map(list, columns), strict=True)))[: len(rows)]
    return exponential_smoothing(compute(sf._node), 0, None if by_rows else 1, [2] if by_key else [], half_life)


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_weighted_means(by_key: bool, by_rows: bool) -> None:
    for seed in range(examples(60)):
        choose = random.Random(seed)
        rows = random_rows(choose)
        half_life = choose.choice([0.5, 3.0, 1000.0])
        node = node_of(rows, by_key, by_rows, half_life)
        found = run_in_ranges(node, random_cuts(choose, len(rows)), choose.randint(1, 5))
        assert rows_equal(found, expected(rows, by_key, by_rows, half_life)), (seed, rows, found)


def uneven_rows(choose: random.Random) -> list[Row]:
    """Rows of which each other order of adding gives other last digits; of some keys they are many, times go in steps of all lengths."""
    keys, now, rows = choose.choice(["a", "abbbbbbb", "abcdefghijklmnop"]), float(choose.choice([0, -1000])), []
    for _ in range(choose.randrange(400)):
        now += choose.choice([0.0, 0.1, 1.0, 30.0, 1e5 if choose.random() < 0.1 else 2.0])
        value = choose.gauss(0, 1) * choose.choice([1, 1, 1, 1e12, 1e-9])
        rows.append((None if choose.random() < 0.1 else value, None if choose.random() < 0.02 else now, choose.choice(keys)))
    return rows


@pytest.mark.parametrize("by_rows", [False, True])
def test_no_digit_depends_on_ranges_or_batches(by_rows: bool) -> None:
    for seed in range(examples(40)):
        choose = random.Random(seed)
        rows = uneven_rows(choose)
        node = node_of(rows, choose.random() < 0.7, by_rows, choose.choice([0.01, 0.5, 2.0, 7.3, 1000.0]))
        whole = run_in_ranges(node, [0, len(rows)], max(1, len(rows)))
        for _ in range(3):
            cuts, batch = random_cuts(choose, len(rows)), choose.choice([1, 7, 64, 1000])
            assert repr(run_in_ranges(node, cuts, batch)) == repr(whole), (seed, cuts, batch)


def test_ranges_whose_first_cells_are_long_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a range begins in the middle of is kept until the rows before are known, but only so much of it."""
    values = [random.Random(7).gauss(0, 1) * (1 + number % 3) for number in range(400)]
    found = []
    for most in (3, 1000):
        monkeypatch.setattr(exponentially_decayed_sums, "MAX_VALUES", most)
        with config.using(default_segments=5, small_rows=1), mock.patch.object(task_runners, "local_threads", lambda: 8):
            found.append(repr(list(SFrame({"v": values}).exponential_smoothing("v", half_life=50))))
    assert found[0] == found[1] == repr(list(SFrame({"v": values}).exponential_smoothing("v", half_life=50)))


def test_the_mean_of_one_value_is_the_value() -> None:
    """Weights are floats: a value times its weight by the weight need not be the value."""
    for value in (0.1, 1 / 3, 5e-324, 1e300, -7.7):
        for half_life in (0.7, 3, 1e6):
            sf = SFrame({"v": [None] * 10 + [value, None, None], "t": list(range(13))})
            assert list(sf.exponential_smoothing("v", on="t", half_life=half_life)) == [None] * 10 + [value] * 3


def test_agrees_with_pandas() -> None:
    values = [1.0, 4.0, None, 2.0, 8.0]
    times = [START + datetime.timedelta(hours=hours) for hours in (0, 1, 5, 5, 30)]
    done = SFrame({"v": values, "t": times}).exponential_smoothing("v", on="t", half_life="90min")
    wanted = pd.Series(values).ewm(halflife="90min", times=pd.Series(times)).mean()
    assert rows_equal([(value,) for value in done], [(value,) for value in wanted])


def test_after_a_very_long_time_the_new_value_counts_but_infinity_stays() -> None:
    sf = SFrame({"v": [5.0, None, 7.0, math.inf, 1.0], "t": [0, 10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9]})
    assert list(sf.exponential_smoothing("v", on="t", half_life=1)) == [5.0, 5.0, 7.0, math.inf, math.inf]


@pytest.mark.parametrize(
    ("values", "times", "wanted"),
    [
        ([5.0, 7.0], [0, 2000], [5.0, 7.0]),
        ([1e300, 1e300, -1e300], [0, 300, 300], [1e300, 1e300, 0.0]),
        ([1e-300, 2e-300], [0, 300], [1e-300, 2e-300]),
    ],
)
def test_sums_stay_within_floats(values: list[float], times: list[int], wanted: list[float]) -> None:
    found = list(SFrame({"v": values, "t": times}).exponential_smoothing("v", on="t", half_life=1))
    assert found == pytest.approx(wanted, rel=1e-9, abs=0 if values[0] < 1 else 1e280)


@pytest.mark.parametrize("half_life", [0.001, 3, 1e6])
def test_many_of_the_largest_floats_have_a_mean(half_life: float) -> None:
    values = [1.7e308 if row % 2 else -1.6e308 for row in range(1000)]
    found = list(SFrame({"v": values, "t": [5] * 1000}).exponential_smoothing("v", on="t", half_life=half_life))
    assert found[1::2] == pytest.approx([0.05e308] * 500, rel=1e-9)
    assert list(SFrame({"v": [1.7e308] * 1000}).exponential_smoothing("v", half_life=half_life)) == pytest.approx([1.7e308] * 1000, rel=1e-9)


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


ROWS = [(float(i % 5) if i % 4 else None, None if i % 8 == 0 else i * i, "ab"[i % 2]) for i in range(30)]


@pytest.mark.spark
@pytest.mark.parametrize(("by_key", "by_rows"), square(2, [True, False], [False, True]))
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


def test_states_are_values() -> None:
    check_states_are_values(node_of(ROWS[:2], True, False, 3.0), 2)
