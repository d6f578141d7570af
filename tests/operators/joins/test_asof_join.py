"""The as-of join against a search in plain Python, over blocks, batches and segments of every small size."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.joins.asof_join import DIRECTIONS, AsofJoin
from sframe_spark.operators.lookup import cached_reader as blocks_module
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, segment_source
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import FLOAT, INT, STR, ColumnType
from tests.examples import examples

INTS = st.one_of(st.none(), st.integers(-6, 9), st.sampled_from([-(2**63), 2**63 - 1]))
FLOATS = st.one_of(st.none(), st.integers(-6, 9).map(float), st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.5]))
TEXTS = st.sampled_from(["a", "b", None])
NUMBERS = st.sampled_from([0, 1, -1, None])


def is_key(value: Any) -> bool:
    """True for values that can be found."""
    return value is not None and value == value


def rank(row: Sequence[Any]) -> tuple[int, Any]:
    """Place of a row in the order of its key: missing first, NaN last."""
    return (1, row[0]) if is_key(row[0]) else (0 if row[0] is None else 2, 0)


def nearest_row(row: Sequence[Any], right: Sequence[Sequence[Any]], join: AsofJoin) -> int | None:
    """Number of the right row that a left row gets."""
    key, *group = row
    if not is_key(key) or None in group:
        return None
    near = [(r[0], i) for i, r in enumerate(right) if is_key(r[0]) and list(r[1:]) == group and (join.allow_exact or r[0] != key)]
    before = max(((k, i) for k, i in near if k <= key), default=None)
    after = min(((k, i) for k, i in near if k >= key), default=None)

    def gap(found: tuple[Any, int]) -> Any:
        return 0 if found[0] == key else abs(found[0] - key)

    found = {"backward": before, "forward": after}.get(join.direction)
    if join.direction == "nearest":
        found = min((candidate for candidate in (before, after) if candidate is not None), key=gap, default=None)
    return None if found is None or (join.tolerance is not None and gap(found) > join.tolerance) else found[1]


def table(rows: Sequence[Sequence[Any]], types: Sequence[ColumnType]) -> list[pa.Array]:
    """Columns of rows."""
    return [pa.array([row[place] for row in rows], kind.physical) for place, kind in enumerate(types)]


def numbered(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows with their number as last value."""
    return [(*row, number) for number, row in enumerate(rows)]


def saved(directory: Path, rows: Sequence[Sequence[Any]], types: Sequence[ColumnType], cuts: Sequence[int]) -> PlannerNode:
    """Rows as a dataset whose segments end at some rows."""
    edges = sorted({0, *(min(cut, len(rows)) for cut in cuts), len(rows)})
    os.makedirs(directory, exist_ok=True)
    entries = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        writer = SegmentWriter(str(directory), number, types)
        writer.write(table(rows[start:stop], types))
        entries.append(writer.close())
    return segment_source(publish(str(directory), list(types), entries))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[ColumnType], AsofJoin]:
    """Left rows, right rows in the order of their keys, types, and a join that gives numbers of right rows."""
    keys, kind = draw(st.sampled_from([(INTS, INT), (FLOATS, FLOAT)]))
    groups = draw(st.sampled_from([(), ((TEXTS, STR),), ((NUMBERS, INT),), ((NUMBERS, INT), (TEXTS, STR))]))
    row = st.tuples(keys, *[values for values, _ in groups])
    left, right = draw(st.lists(row, max_size=12)), sorted(draw(st.lists(row, max_size=16)), key=rank)
    width = len(groups) + 1
    tolerance = draw(st.sampled_from([None, 0, 1, 3]))
    join = AsofJoin(0, tuple(range(1, width)), (width,), draw(st.sampled_from(DIRECTIONS)), tolerance, draw(st.booleans()))
    return left, right, [kind, *[group for _, group in groups]], join


@settings(max_examples=examples(75), deadline=None)
@given(case=cases(), block=st.sampled_from([1, 2, 5, 100]), batch=st.sampled_from([1, 3, 100]))
def test_every_row_gets_the_row_that_a_search_finds(case: Any, block: int, batch: int) -> None:
    left, right, types, join = case
    node = memory_source(table(left, types), types, len(left))
    answers = memory_source(table(numbered(right), [*types, INT]), [*types, INT], len(right))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_ROWS", block)
        plan = Pipeline.of(join.make_planner_node(node, answers))
        found = [value for chunk in PipelineRunner(plan).stream(0, len(left), batch) for value in chunk.columns[0].to_pylist()]
    assert found == [nearest_row(row, right, join) for row in left]


@settings(max_examples=examples(30), deadline=None)
@given(case=cases(), cuts=st.lists(st.integers(1, 15), max_size=4), clip=st.integers(0, 3))
def test_segments_of_any_size(case: Any, cuts: list[int], clip: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    left, right, types, join = case
    everything = saved(tmp_path_factory.mktemp("right"), numbered(right), [*types, INT], cuts)
    assert isinstance(everything.operator, SegmentSource)
    clip = min(clip, len(right))
    source = everything.operator.rows_between(clip, len(right)).make_planner_node()
    node = memory_source(table(left, types), types, len(left))
    found = PipelineRunner(Pipeline.of(join.make_planner_node(node, source))).run(0, len(left)).columns[0].to_pylist()
    part = [nearest_row(row, right[clip:], join) for row in left]
    assert found == [None if place is None else place + clip for place in part]


def test_int_keys_meet_float_keys() -> None:
    left = memory_source([pa.array([1, 2, 3])], [INT])
    right = memory_source([pa.array([0.5, 2.0, 2.5]), pa.array(["a", "b", "c"])], [FLOAT, STR])
    join = AsofJoin(0, (), (1,), "nearest")
    assert PipelineRunner(Pipeline.of(join.make_planner_node(left, right))).run(0, 3).columns[0].to_pylist() == ["a", "b", "c"]


def test_only_the_blocks_that_can_match_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 10)
    rows = [(number, number * 2) for number in range(40)]
    source = saved(tmp_path, rows, [INT, INT], [10, 20, 30])
    assert isinstance(source.operator, SegmentSource)
    lookup = Lookup.of(source.operator)
    assert lookup.block_count == 4
    left = Chunk.of([pa.array([12, 15, 19])])
    facts = [memory_source(left.columns, [INT]).facts, source.facts]
    found = AsofJoin(0, (), (1,)).kernel([left, lookup], facts)
    assert found.columns[0].to_pylist() == [24, 30, 38]
    # Once for the keys, once for the values.
    assert lookup.blocks_read == 2
    AsofJoin(0, (), (1,)).kernel([left, lookup], facts)
    assert lookup.blocks_read == 2


def test_a_tolerance_bounds_how_far_groups_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 10)
    rows = [(number, "other", number) for number in range(40)]
    source = saved(tmp_path, rows, [INT, STR, INT], [10, 20, 30])
    assert isinstance(source.operator, SegmentSource)
    left = Chunk.of([pa.array([38]), pa.array(["absent"])])
    facts = [memory_source(left.columns, [INT, STR]).facts, source.facts]
    for tolerance, blocks in ((2, 1), (9, 2), (None, 4)):
        lookup = Lookup.of(source.operator)
        assert AsofJoin(0, (1,), (2,), tolerance=tolerance).kernel([left, lookup], facts).columns[0].to_pylist() == [None]
        assert lookup.blocks_read == blocks


def test_rows_out_of_order_are_noticed() -> None:
    left, right = memory_source([pa.array([5])], [INT]), memory_source([pa.array([3, 1])], [INT])
    with pytest.raises(PlanInvariantError, match="ascending"):
        PipelineRunner(Pipeline.of(AsofJoin(0, (), (0,)).make_planner_node(left, right))).run(0, 1)


@pytest.mark.parametrize("keys", [[1, 2, 0, 1], [1, 2, None, 3]])
def test_segments_out_of_order_are_noticed(keys: list[int | None], tmp_path: Path) -> None:
    left, right = memory_source([pa.array([9])], [INT]), saved(tmp_path, [(key,) for key in keys], [INT], [2])
    with pytest.raises(PlanInvariantError, match="ascending"):
        PipelineRunner(Pipeline.of(AsofJoin(0, (), (0,)).make_planner_node(left, right))).run(0, 1)


def test_the_left_rows_keep_their_domain() -> None:
    left = memory_source([pa.array([1, 2]), pa.array(["x", "y"])], [INT, STR])
    right = memory_source([pa.array([1]), pa.array([5])], [INT, INT])
    node = AsofJoin(0, (), (1,)).make_planner_node(project(left, [0]), right)
    assert node.facts.domain is left.facts.domain
    assert node.length.rows == 2
