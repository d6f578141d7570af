"""Facts about columns are true: compared with brute force over Python values."""

from __future__ import annotations

import datetime
import itertools
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.segments.column_statistics_collection import (
    LONGEST_TEXT,
    StatisticsCollector,
    column_statistics,
    compare_scalars,
    dataset_statistics,
    merge,
)
from sframe_spark.types import ARRAY, DATETIME, ENCODED_LIST, FLOAT, INT, STR, ColumnType

EPOCH = datetime.datetime(1970, 1, 1)

# Small domains, so that orders, ties and constants turn up by themselves.
VALUES: dict[ColumnType, Any] = {
    INT: st.sampled_from([None, -1, 0, 1, 2**62, -(2**63)]),
    FLOAT: st.sampled_from([None, math.nan, -0.0, 0.0, 1.5, -math.inf, math.inf]),
    STR: st.sampled_from([None, "", "a", "ab", "\u00e9", "\U0001f600", "\uffff"]),
    DATETIME: st.sampled_from([None, EPOCH, datetime.datetime(1, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, 0, 1)]),
}
COLUMNS = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.tuples(
        st.just(kind),
        st.lists(VALUES[kind], min_size=1, max_size=6).flatmap(lambda values: st.sampled_from([values, *sorted_forms(values)])),
    )
)


def key(value: Any) -> tuple[int, Any]:
    """Return the engine's order as a Python sort key: missing, values, NaN."""
    if value is None:
        return 0, 0
    if isinstance(value, float) and math.isnan(value):
        return 2, 0
    return 1, value


def sorted_forms(values: list[Any]) -> list[list[Any]]:
    ascending = sorted(values, key=key)
    return [ascending, ascending[::-1]]


def plain(value: Any) -> Any:
    """Return a value as a manifest keeps it."""
    return (value - EPOCH) // datetime.timedelta(microseconds=1) if isinstance(value, datetime.datetime) else value


def same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and key(left) == key(right)


def check(facts: ColumnStatistics, values: list[Any]) -> None:
    """Compare facts with the values, one by one."""
    keys = [key(plain(value)) for value in values]
    pairs = list(itertools.pairwise(keys))
    numbers = [value[1] for value in keys if value[0] == 1]
    assert facts.ascending == all(before <= after for before, after in pairs)
    assert facts.descending == all(before >= after for before, after in pairs)
    assert facts.strictly_ascending == all(before < after for before, after in pairs)
    assert facts.strictly_descending == all(before > after for before, after in pairs)
    assert facts.constant == all(before == after for before, after in pairs)
    assert facts.has_missing == (None in values)
    assert facts.has_nan == any(value[0] == 2 for value in keys)
    assert facts.edges_known and same(facts.first, plain(values[0])) and same(facts.last, plain(values[-1]))
    assert facts.bounds_known
    assert facts.minimum == min(numbers, default=None)
    assert facts.maximum == max(numbers, default=None)


@given(COLUMNS)
def test_facts_of_one_array_are_true(column: tuple[ColumnType, list[Any]]) -> None:
    kind, values = column
    check(column_statistics(pa.array(values, kind.physical), kind), values)


@given(COLUMNS, st.integers(1, 5), st.integers(0, 2))
def test_facts_from_batches_are_those_of_the_whole(column: tuple[ColumnType, list[Any]], size: int, offset: int) -> None:
    kind, values = column
    # Slices with an offset, as kernels produce them.
    array = pa.array([values[0]] * offset + values, kind.physical)[offset:]
    collector = StatisticsCollector(kind)
    for start in range(0, len(values), size):
        collector.add(array[start : start + size])
        collector.add(array[:0])
    check(collector.result(), values)


@given(COLUMNS, st.integers(1, 3))
def test_merged_facts_are_those_of_the_whole(column: tuple[ColumnType, list[Any]], size: int) -> None:
    kind, values = column
    parts = [values[start : start + size] for start in range(0, len(values), size)]
    check(merge([column_statistics(pa.array(part, kind.physical), kind) for part in parts]), values)


@given(COLUMNS, st.integers(0, 200))
def test_order_beyond_the_prefix_is_seen(column: tuple[ColumnType, list[Any]], repeats: int) -> None:
    kind, values = column
    longer = [values[0]] * repeats + values
    check(column_statistics(pa.array(longer, kind.physical), kind), longer)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("late", [0, 1, -1])
def test_a_late_violation_of_a_long_strict_order_is_seen(direction: int, late: int) -> None:
    values = [direction * number for number in range(1000)]
    values[-1] = values[-2] + late
    check(column_statistics(pa.array(values), INT), values)


def test_an_unknown_part_leaves_only_what_cannot_be_otherwise() -> None:
    disordered = column_statistics(pa.array([2, 1, 3]), INT)
    ascending = column_statistics(pa.array([4, 5]), INT)
    unknown = ColumnStatistics()
    merged = merge([disordered, unknown])
    assert merged.ascending is False and merged.has_missing is None
    assert not merged.edges_known and not merged.bounds_known
    assert merge([ascending, unknown]).ascending is None
    assert merge([ascending, unknown]).descending is False
    assert merge([]) == unknown


def test_unordered_kinds_know_only_about_missing_values() -> None:
    facts = column_statistics(pa.array([[1.0], None]), ARRAY)
    assert facts == ColumnStatistics(has_missing=True)
    assert column_statistics(pa.array(["[]"]), ENCODED_LIST) == ColumnStatistics(has_missing=False)


def test_long_texts_are_not_kept() -> None:
    facts = column_statistics(pa.array(["a", "b" * (LONGEST_TEXT + 1)]), STR)
    assert facts == ColumnStatistics(has_missing=False, has_nan=False)


def test_infinities_of_both_signs_are_not_nan() -> None:
    assert column_statistics(pa.array([-math.inf, math.inf]), FLOAT).has_nan is False


@given(st.lists(st.sampled_from([None, math.nan, -0.0, 0.0, 1, -1.5, math.inf]), min_size=2, max_size=2))
def test_scalars_compare_as_sort_keys_do(pair: list[Any]) -> None:
    left, right = map(key, pair)
    assert compare_scalars(*pair) == (left > right) - (left < right)


def test_facts_of_a_dataset_need_facts_of_every_segment() -> None:
    facts = (column_statistics(pa.array([1, 2]), INT),)
    full = Manifest((INT,), (SegmentEntry("a", 0, 2, facts), SegmentEntry("b", 1, 0), SegmentEntry("c", 2, 2, facts)), "/")
    assert dataset_statistics(full)[0].ascending is False
    assert dataset_statistics(full)[0].bounds_known
    partial = Manifest((INT,), (SegmentEntry("a", 0, 2, facts), SegmentEntry("b", 1, 2)), "/")
    assert dataset_statistics(partial) == (ColumnStatistics(),)
