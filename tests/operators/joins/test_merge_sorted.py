"""Merging against a stable sort, over blocks and batches of every small size."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.joins.union_of_sorted_inputs import merge_sorted
from sframe_spark.operators.lookup import cached_reader as blocks_module
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT, INT, STR, ColumnType
from tests.examples import examples

KEYS = {
    INT: st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1])),
    FLOAT: st.one_of(st.none(), st.integers(-2, 2).map(float), st.sampled_from([math.nan, math.inf, -math.inf, -0.0])),
    STR: st.sampled_from([None, "", "a", "ab", "b", "é", "\U0001f600"]),
}


def rank(value: Any) -> tuple[int, Any]:
    """Place of a value: missing first, NaN last."""
    if value is None or value != value:
        return (0 if value is None else 2, 0)
    return (1, value.encode() if isinstance(value, str) else value)


def rows_of(keys: list[Any], kind: ColumnType, side: str) -> PlannerNode:
    """Rows of a key and a name of their own."""
    names = [f"{side}{number}" for number in range(len(keys))]
    return memory_source([pa.array(keys, kind.physical), pa.array(names, pa.string())], [kind, STR], len(keys))


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), block=st.sampled_from([1, 2, 5, 100]), batch=st.sampled_from([1, 2, 3, 100]))
def test_rows_come_as_a_stable_sort_puts_them(data: st.DataObject, block: int, batch: int) -> None:
    kind = data.draw(st.sampled_from([INT, FLOAT, STR]))
    first, second = (sorted(data.draw(st.lists(KEYS[kind], max_size=9)), key=rank) for _ in range(2))
    named = [(key, f"a{number}") for number, key in enumerate(first)] + [(key, f"b{number}") for number, key in enumerate(second)]
    node = merge_sorted(rows_of(first, kind, "a"), rows_of(second, kind, "b"), [(0, True)], ["t"])
    assert node.length.rows == len(named)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_ROWS", block)
        chunks = list(PipelineRunner(Pipeline.of(node)).stream(0, len(named), batch))
    found = [row for chunk in chunks for row in zip(*[column.to_pylist() for column in chunk.columns], strict=True)]
    assert repr(found) == repr(sorted(named, key=lambda row: rank(row[0])))


ORDERS = [[(0, False)], [(0, True), (1, True)], [(1, False), (0, True)], [(2, True), (0, False), (1, True)], [(1, True), (2, False)]]
TYPES = (INT, FLOAT, STR)


@settings(max_examples=examples(75), deadline=None)
@given(data=st.data(), by=st.sampled_from(ORDERS), block=st.sampled_from([1, 2, 5, 100]), batch=st.sampled_from([1, 2, 3, 100]))
def test_rows_in_the_order_of_several_columns(data: st.DataObject, by: list[tuple[int, bool]], block: int, batch: int) -> None:
    few = {INT: st.sampled_from([None, -1, 2]), FLOAT: st.sampled_from([None, math.nan, -0.0, 0.0, 1.5]), STR: st.sampled_from([None, "", "a"])}
    sides = []
    for side in "ab":
        rows = data.draw(st.lists(st.tuples(*[few[kind] for kind in TYPES]), max_size=9))
        sides.append([(*row, f"{side}{number}") for number, row in enumerate(by_hand(rows, by))])
    columns = [[pa.array([row[i] for row in rows], kind.physical, from_pandas=False) for i, kind in enumerate((*TYPES, STR))] for rows in sides]
    sources = [memory_source(arrays, [*TYPES, STR], len(rows)) for arrays, rows in zip(columns, sides, strict=True)]
    node = merge_sorted(*sources, by, [f"c{position}" for position, _ in by])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_ROWS", block)
        chunks = list(PipelineRunner(Pipeline.of(node)).stream(0, len(sides[0]) + len(sides[1]), batch))
    found = [row for chunk in chunks for row in zip(*[column.to_pylist() for column in chunk.columns], strict=True)]
    assert repr(found) == repr(by_hand([*sides[0], *sides[1]], by))


def by_hand(rows: list[Any], by: list[tuple[int, bool]]) -> list[Any]:
    """Rows in the order of some columns, ties as they stand."""
    for position, ascending in reversed(by):
        rows = rows if ascending else rows[::-1]
        rows = sorted(rows, key=lambda row, place=position: rank(row[place]))  # type: ignore[misc]
        rows = rows if ascending else rows[::-1]
    return rows


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize(
    ("first", "second", "side", "row"),
    [([1, 5, 4, 6], [2], "first", 2), ([1], [2, None], "second", 1), ([3, 2], [], "first", 1), ([1.0, math.nan, 2.0], [0.5], "first", 2)],
)
def test_the_first_row_out_of_order_is_named(first: list[Any], second: list[Any], side: str, row: int, batch: int) -> None:
    kind = FLOAT if isinstance(first[0], float) else INT
    node = merge_sorted(rows_of(first, kind, "a"), rows_of(second, kind, "b"), [(0, True)], ["time"])
    with pytest.raises(InvalidArgumentError, match=rf"row {row} of the {side} frame.*sort\('time'\)"):
        list(PipelineRunner(Pipeline.of(node)).stream(0, len(first) + len(second), batch))


def test_no_block_of_a_side_is_kept_but_its_keys() -> None:
    sides = [rows_of(list(range(start, 400, 2)), INT, "s") for start in (0, 1)]
    runner = PipelineRunner(Pipeline.of(merge_sorted(*sides, [(0, True)], ["k"])))
    assert [value for chunk in runner.stream(0, 400, 30) for value in chunk.columns[0].to_pylist()] == list(range(400))
    assert {column for side in runner.lookups.values() for _, column in side._columns._values} == {0}
