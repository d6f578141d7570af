"""Joins that search a sorted input give the rows of the join that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sframe_spark as tc
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.operators.joins import sorted_join
from sframe_spark.operators.joins.sorted_join import Matches, SortedJoin
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import join_of_sorted, join_with_few
from sframe_spark.testing.oracle import Oracle, rows_of
from sframe_spark.types import INT, STR
from tests.examples import examples
from tests.random_tables import segments_source, table_source

KEYS = st.lists(st.integers(-3, 6), max_size=25)


def rows(sf: tc.SFrame) -> list[tuple[Any, ...]]:
    """All rows as tuples."""
    return [tuple(row[name] for name in sf.column_names()) for row in sf]


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 6)), max_size=20),
    KEYS.map(sorted),
    st.sampled_from(["inner", "left"]),
    st.integers(1, 6),
    st.booleans(),
)
def test_every_match_in_order(left: list[int | None], right: list[int], how: str, segment_rows: int, dense: bool) -> None:
    first = table_source([left, list(range(len(left)))], [INT, INT], len(left))
    bounds = [*range(0, len(right), segment_rows), len(right)]
    second = segments_source([right, list(range(len(right)))], [INT, INT], bounds)
    joined = SortedJoin(0, 0, how).make_planner_node(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_join, "MAX_NUMBERS", 1000 if dense else 0)
        found = read_all(joined)
    assert rows_of(found.columns, joined.schema) == Oracle().rows(joined)


@pytest.mark.parametrize("keys", [[-5, 40_000], [-5, -5, 7, 40_000, 40_000]])
def test_few_keys_far_apart_are_a_table_where_many_rows_are_searched_for(keys: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    # As of a filtered table: what the table costs is nothing beside a search for each row of the other side.
    monkeypatch.setattr(sorted_join, "KeySearch", None)
    right = segments_source([keys, list(range(len(keys)))], [INT, INT], [0, 1, len(keys)])
    for searched in ([40_000, 3, -5] * 250, [2**63 - 1, -(2**63), 40_000] * 250):
        left = table_source([searched], [INT], len(searched))
        joined = SortedJoin(0, 0, "left").make_planner_node(left, right)
        assert rows_of(read_all(joined).columns, joined.schema) == Oracle().rows(joined)


def test_a_table_of_keys_is_no_longer_than_the_rows_of_both_sides_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_join, "NUMBERS_PER_ROW", 1)
    lookup = Lookup.of(source_of(segments_source([[0, 9]], [INT], [0, 2])))
    assert sorted_join.dense_keys(lookup, 0, 7) is None and sorted_join.dense_keys(lookup, 0, 8) is not None


def test_rows_without_a_match_take_no_row() -> None:
    found = Matches.between(np.array([0, 5, -1]), np.array([1, 4, 9]), keep_all=False)
    assert [part.tolist() for part in found.pairs(0, found.rows)] == [[0, 0], [0, 1]]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)), max_size=8), st.booleans(), st.integers(1, 4))
def test_pairs_come_in_any_pieces(ranges: list[tuple[int, int]], keep_all: bool, size: int) -> None:
    first, last = (np.array([pair[side] for pair in ranges], dtype=np.int64) for side in (0, 1))
    wanted = []
    for row, (low, high) in enumerate(ranges):
        partners = list(range(low, high + 1)) if low >= 0 and high >= 0 else []
        wanted += [(row, partner) for partner in partners or ([-1] if keep_all else [])]
    found = Matches.between(first, last, keep_all)
    assert found.rows == len(wanted)
    pieces = [found.pairs(start, min(start + size, len(wanted))) for start in range(0, len(wanted), size)]
    assert [pair for rows, partners in pieces for pair in zip(rows.tolist(), partners.tolist(), strict=True)] == wanted


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_frame_joins_a_sorted_one_without_spark(how: str) -> None:
    left = tc.SFrame({"k": [5, 1, 9, 1, 5], "v": [1, 2, 3, 4, 5]})
    right = tc.SFrame({"k": [1, 1, 5, 7], "w": ["a", "b", "c", "d"]})
    joined = left.join(right, on="k", how=how)
    assert "sorted_join" in joined.explain()
    found = rows(joined)
    with tc.config.using(disabled_laws=frozenset([join_of_sorted.equation, join_with_few.equation])):
        assert "sorted_join" not in left.join(right, on="k", how=how).explain().partition("-- physical plan")[0]
    expected = [(5, 1, "c"), (1, 2, "a"), (1, 2, "b"), (9, 3, None), (1, 4, "a"), (1, 4, "b"), (5, 5, "c")]
    assert found == [row for row in expected if how == "left" or row[2] is not None]


def test_missing_keys_on_both_sides_are_not_searched() -> None:
    left = tc.SFrame({"k": [None, 1], "v": [1, 2]})
    right = tc.SFrame({"k": [None, 1], "w": [3, 4]})
    assert "sorted_join" not in left.join(right, on="k").explain()
    assert "sorted_join" in left.join(right.dropna("k"), on="k").explain()


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_kernel_leaves_out_no_long_pair(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = SortedJoin(0, 0, how).make_planner_node(table_source([[1, 1, 2]], [INT], 3), table_source([[1, 1], ["long", "longer"]], [INT, STR], 2))
    inputs = [Chunk.of([pa.array([1, 1, 2])]), Chunk.of([pa.array([1, 1]), pa.array(["long", "longer"])])]
    monkeypatch.setattr(sorted_join, "MAX_CHUNK_BYTES", 10)
    found = joined.operator.kernel(inputs, [child.facts for child in joined.inputs])
    assert rows_of(found.columns, joined.schema) == Oracle().rows(joined)
