"""Shift and diff: against plain Python, over many ranges, on Spark."""

from __future__ import annotations

import array
import datetime
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.planner.chunk import concatenate
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.values.arrow_to_python import decode
from tests.examples import part

UTC = datetime.UTC
COLUMNS: dict[str, list[Any]] = {
    "int": [5, None, -3, 2**63 - 1, 0],
    "float": [1.5, math.nan, None, math.inf, -0.0],
    "str": ["a", None, "", "d"],
    "list": [[1, "x"], None, [], [None]],
    "native list": [["x"], None, ["y", "z"]],
    "dict": [{"a": 1}, None, {"b": 2, "c": 3}],
    "array": [array.array("d", [1.0]), None, array.array("d", [])],
    "datetime": [datetime.datetime(2020, 1, 1), None, datetime.datetime(1950, 6, 1, 12, 0, 0, 7)],
    "zoned": [datetime.datetime(2020, 1, 1, tzinfo=UTC), None, datetime.datetime(2020, 1, 2)],
    "empty": [],
    "one": [7],
}
FILLS: dict[str, Any] = {
    "int": 4,
    "float": 2.5,
    "str": "fill",
    "list": [1.5, None],
    "native list": [1, 2],
    "dict": {"z": 9},
    "array": array.array("d", [7.0]),
    "datetime": datetime.datetime(2000, 1, 1),
    "zoned": datetime.datetime(2000, 1, 1),
    "one": 4,
}
OFFSETS = [0, 1, -1, 2, -4, 100, -100, 10**12]


def shifted(values: list[Any], n: int, fill: Any = None) -> list[Any]:
    return [values[row - n] if 0 <= row - n < len(values) else fill for row in range(len(values))]


def in_ranges(column: SArray, size: int) -> list[Any]:
    """Rows computed a few at a time, as in the tasks of a cluster."""
    plan = builtin_optimizer().optimize(column._node)
    chunks = list(PipelineRunner(Pipeline.of(plan)).stream(0, column._node.length.rows or 0, size))
    return decode(concatenate(chunks, plan.schema).columns[0], plan.schema[0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(COLUMNS))
@pytest.mark.parametrize("n", OFFSETS)
def test_every_type(name: str, n: int) -> None:
    values = COLUMNS[name]
    column = SArray(values, dtype=int if name == "empty" else None)
    assert repr(list(column.shift(n))) == repr(shifted(values, n))
    assert repr(in_ranges(column.shift(n), 2)) == repr(shifted(values, n))
    if name in FILLS:
        assert repr(list(column.shift(n, FILLS[name]))) == repr(shifted(values, n, FILLS[name]))
        assert repr(in_ranges(column.shift(n, FILLS[name]), 2)) == repr(shifted(values, n, FILLS[name]))


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=20), st.integers(-25, 25), st.integers(1, 7))
def test_ranges_do_not_matter(values: list[int | None], n: int, size: int) -> None:
    column = SArray(values, dtype=int)
    assert in_ranges(column.shift(n, fill=3), size) == list(column.shift(n, fill=3)) == shifted(values, n, 3)


@given(st.lists(st.one_of(st.none(), st.integers(-1000, 1000)), max_size=20), st.integers(-25, 25), st.integers(1, 7))
def test_diff(values: list[int | None], n: int, size: int) -> None:
    earlier = shifted(values, n)
    expected = [None if a is None or b is None else a - b for a, b in zip(values, earlier, strict=True)]
    assert in_ranges(SArray(values, dtype=int).diff(n), size) == list(SArray(values, dtype=int).diff(n)) == expected


def test_diff_of_other_types() -> None:
    times = SArray([datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2, 0, 0, 0, 500_000), None])
    assert list(times.diff()) == [None, 86_400.5, None]
    assert list(SArray([datetime.datetime(2020, 1, 1, tzinfo=UTC), datetime.datetime(2020, 1, 2)]).diff()) == [None, 86_400.0]
    assert list(SArray([0.5, 2.0]).diff()) == [None, 1.5]
    vectors = SArray([array.array("d", [1, 2]), array.array("d", [4, 8])])
    assert list(vectors.diff()) == [None, array.array("d", [3, 6])]
    assert list(SArray([2**63 - 1, -(2**63)]).diff()) == [None, 1]


def test_int_fill_of_floats_is_a_float() -> None:
    assert repr(list(SArray([0.5, 2.0]).shift(1, fill=3))) == "[3.0, 0.5]"


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="column holds int, but fill='x' is str"):
        SArray([1]).shift(1, fill="x")
    with pytest.raises(TypeError, match=r"column holds int, but fill=1\.5 is float"):
        SArray([1]).shift(1, fill=1.5)
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError, match="number of rows"):
            SArray([1]).shift(wrong)
        with pytest.raises(TypeError, match="number of rows"):
            SArray([1]).diff(wrong)
    for values in (["a"], [{"a": 1}], [["a"]]):
        with pytest.raises(TypeError, match="diff takes a column of"):
            SArray(values).diff()


@pytest.mark.spark
@pytest.mark.parametrize("n", part([-2, 1, 10], 2))
def test_lag_of_spark_agrees(n: int, spark: Any) -> None:
    for name, values in COLUMNS.items():
        column = SArray(values, dtype=int if name == "empty" else None)
        for fill in (None, FILLS.get(name)):
            node = compute(column.shift(n, fill)._node, MaterializeOptions(naive=True))
            assert repr(list(SArray(_node=node))) == repr(shifted(values, n, fill)), name


@pytest.mark.spark
def test_segments(spark: Any) -> None:
    values = [i if i % 3 else None for i in range(40)]
    with config.using(small_rows=0):
        for n in (3, -20):
            node = compute(SArray(values).shift(n, fill=-1)._node, MaterializeOptions(segments=7, in_memory=0))
            assert list(SArray(_node=node)) == shifted(values, n, -1)
        kept = SArray(values)
        kept = kept[kept > 10]
        node = compute(kept.diff()._node, MaterializeOptions(segments=7))
        present = [v for v in values if v is not None and v > 10]
        assert list(SArray(_node=node)) == [None, *[b - a for a, b in pairwise(present)]]


def test_order_of_shifted_columns() -> None:
    """Missing values come in at the top, where ascending order has them, or at the bottom, where it has not."""

    def in_order(column: SArray, direction: str) -> bool:
        return properties_of(column._node).order.satisfies([(0, direction)])

    column = SArray([3, None, 1]).sort()
    assert in_order(column, "asc")
    assert in_order(column.shift(2), "asc")
    assert in_order(column.shift(0), "asc")
    assert not in_order(column.shift(-1), "asc")
    assert not in_order(column.shift(1, fill=7), "asc")
    assert in_order(SArray([3, None, 1]).sort(ascending=False).shift(-1), "desc")
    assert not in_order(SArray([3, None, 1]).sort(ascending=False).shift(1), "desc")
