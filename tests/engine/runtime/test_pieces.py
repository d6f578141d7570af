"""Rows that one row becomes are made a piece at a time: the same rows whatever the size, and none that nobody asks for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import sframe_spark as tc
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.window.cumulative import cumulative
from sframe_spark.planner.chunk import concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import is_started
from sframe_spark.testing.oracle import Oracle
from sframe_spark.types import INT
from tests.examples import examples
from tests.operators.ranges import rows_of
from tests.random_tables import table_source

KEYS = st.lists(st.integers(0, 3), max_size=12)


def joined(left: list[int], middle: list[int], right: list[int], how: str) -> PlannerNode:
    """A running sum over some rows of two joins, one above the other."""
    first, second, third = (table_source([keys, list(range(len(keys)))], [INT, INT], len(keys)) for keys in (left, sorted(middle), sorted(right)))
    both = SortedJoin(0, 0, how).make_planner_node(first, second)
    all_three = SortedJoin(0, 0, "inner").make_planner_node(both, third)
    return cumulative(filter_by_mask(project(all_three, [3]), project(all_three, [1])), "sum")


@settings(max_examples=examples(60), deadline=None)
@given(KEYS, KEYS, KEYS, st.sampled_from(["inner", "left"]), st.integers(1, 5), st.integers(1, 5))
def test_pieces_of_any_size_are_the_rows(left: list[int], middle: list[int], right: list[int], how: str, batch: int, most: int) -> None:
    node = joined(left, middle, right, how)
    runner = PipelineRunner(Pipeline.of(node))
    steps = range(0, len(left), batch)
    found = [piece for start in steps for piece in runner.chunks(start, min(start + batch, len(left)), start == steps[-1], most)]
    assert all(piece.rows <= most for piece in found)
    assert left or not found
    assert rows_of(concatenate(found, node.schema), node) == Oracle().rows(node)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_first_rows_of_a_join_make_no_others(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    rows_of = SortedJoin.rows_of
    monkeypatch.setattr(SortedJoin, "rows_of", lambda *arguments: made.append(arguments[-1] - arguments[-2]) or rows_of(*arguments))
    started = is_started()
    rows = 30_000
    left = tc.SFrame({"k": [1] * rows, "v": list(range(rows))})
    right = tc.SFrame({"k": [1] * rows, "w": list(range(rows))})
    assert list(left.join(right, on="k", how=how).head(2)) == [{"k": 1, "v": 0, "w": 0}, {"k": 1, "v": 0, "w": 1}]
    assert sum(made) < 10_000
    assert is_started() == started


def test_a_function_that_gives_many_rows_is_asked_no_further() -> None:
    calls = []

    def many(row: dict[str, Any]) -> list[list[int]]:
        calls.append(row["v"])
        return [[row["v"]]] * 3_000

    column = tc.SFrame({"v": list(range(1_000))})
    found = column.flat_map(["w"], many, column_types=[int]).head(4_000)
    assert [row["w"] for row in found] == [0] * 3_000 + [1] * 1_000
    assert len(calls) < 10
