"""What is recorded of segments as they are written is what plain Python finds in the rows: filters and sorts may trust it."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import attrs
from hypothesis import given, settings, strategies as st

from sframe_spark import SFrame
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.result_storage import new_dataset
from sframe_spark.operators.sources.base_and_segment_source import segment_source
from sframe_spark.planner.length_and_order_inference import is_in_order, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import is_started
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.testing.oracle_functions import rank, rows_equal
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from tests.examples import examples
from tests.random_tables import column_array

DAY = datetime.datetime(2024, 2, 29)
VALUES: dict[ColumnType, list[Any]] = {
    INT: [None, -(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1],
    FLOAT: [None, -math.inf, -1.5, -0.0, 0.0, 5e-324, math.inf, math.nan],
    STR: [None, "", "a", "ab", "\u00e9", "\uffff", "\U0001f600"],
    DATETIME: [None, datetime.datetime(1, 1, 1), DAY, DAY + datetime.timedelta(microseconds=1), datetime.datetime(9999, 12, 31)],
}
COMPARISONS: list[Callable[[Any, Any], Any]] = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@attrs.frozen
class Written:
    """Rows of two columns, and the sizes of the segments that they are written in."""

    types: tuple[ColumnType, ColumnType]
    rows: list[tuple[Any, Any]]
    sizes: list[int]


@st.composite
def written(draw: st.DrawFn) -> Written:
    """Rows that are often in order, ties, whole segments of missing values or NaN, segments without rows."""
    types = tuple(draw(st.sampled_from(list(VALUES))) for _ in range(2))
    parts = draw(st.lists(st.lists(st.tuples(*[st.sampled_from(VALUES[kind]) for kind in types]), max_size=4), min_size=1, max_size=5))
    rows = [row for part in parts for row in part]
    by = draw(st.sampled_from([None, (0, False), (0, True), (1, False), (1, True)]))
    if by is not None:
        rows.sort(key=lambda row: rank(row[by[0]]), reverse=by[1])
    return Written(types, rows, [len(part) for part in parts])  # type: ignore[arg-type]  # two of them


def source(case: Written) -> PlannerNode:
    """A node over these segments; those without rows are in the manifest too."""
    with new_dataset(case.types, MaterializeOptions()) as dataset:
        entries = []
        for number, (start, stop) in enumerate(pairwise([0, *accumulate(case.sizes)])):
            with SegmentWriter(dataset.directory, number, case.types) as writer:
                writer.write([column_array([row[p] for row in case.rows[start:stop]], kind) for p, kind in enumerate(case.types)])
                entries.append(writer.close())
        manifest = dataset.publish(entries)
    return segment_source(attrs.evolve(manifest, segments=tuple(entries)), dataset.handle)


def in_order(rows: list[tuple[Any, Any]], position: int, ascending: bool) -> bool:
    """Whether rows are in order of a column."""
    ranks = [rank(row[position]) for row in (rows if ascending else rows[::-1])]
    return all(before <= after for before, after in pairwise(ranks))


@settings(max_examples=examples(120))
@given(written(), st.data())
def test_what_is_known_of_segments_is_true_and_all_of_it_is_known(case: Written, data: st.DataObject) -> None:
    node = source(case)
    assert false_claims(properties_of(node), case.rows) == []
    for position in (0, 1):
        for ascending in (True, False):
            assert is_in_order(node, [(position, ascending)]) == in_order(case.rows, position, ascending)
    start = data.draw(st.integers(0, len(case.rows)))
    stop = data.draw(st.integers(start, len(case.rows)))
    part = node.operator.rows_between(start, stop).make_planner_node()  # type: ignore[attr-defined]
    assert false_claims(properties_of(part), case.rows[start:stop]) == []


@settings(max_examples=examples(120))
@given(written(), st.sampled_from(COMPARISONS), st.booleans(), st.data())
def test_filters_and_sorts_of_segments_give_the_rows_that_they_must(
    case: Written, compare: Callable[[Any, Any], Any], ascending: bool, data: st.DataObject
) -> None:
    started = is_started()
    frame = SFrame(_node=source(case), _names=["a", "b"])
    bound = data.draw(st.sampled_from([value for value in VALUES[case.types[0]] if value is not None]))
    kept = frame[compare(frame["a"], bound)]
    expected = [row for row in case.rows if compares(compare, row[0], bound)]
    assert rows_equal([tuple(row.values()) for row in kept], expected)
    ordered = [tuple(row.values()) for row in kept.sort("a", ascending=ascending)]
    expected = expected if ascending else expected[::-1]
    expected = sorted(expected, key=lambda row: rank(row[0]))
    assert rows_equal(ordered, expected if ascending else expected[::-1])
    assert is_started() == started


def compares(compare: Callable[[Any, Any], Any], value: Any, bound: Any) -> bool:
    """Whether a row is kept: a missing value is only unequal, NaN equals NaN and is in no other relation."""
    if value is None:
        return compare is operator.ne
    if value != value and bound != bound:
        return compare in (operator.eq, operator.le, operator.ge)
    return bool(compare(value, bound))
