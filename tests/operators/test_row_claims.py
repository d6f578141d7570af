"""Claims about rows, against a plain look at all rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.explain.verification_of_facts_and_stored_rows import (
    EqualColumns,
    InOrder,
    NotMissing,
    OneValue,
    RowClaim,
    Within,
    first_wrong_rows,
    row_claims,
)
from sframe_spark.order import OrderingProperties
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.testing.order_claims import out_of_order, rank
from sframe_spark.types import FLOAT, INT, STR

NAN = float("nan")
ROWS = st.lists(
    st.tuples(st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, 0.0, -0.0, 1.0, NAN]), st.sampled_from([None, "", "a", "b"])), max_size=6
)
SCHEMA = (INT, FLOAT, STR)
COLUMNS = st.permutations([0, 1, 2]).flatmap(lambda order: st.integers(1, 3).map(lambda length: order[:length]))


def batches(rows: list[tuple[Any, ...]], cuts: set[int]) -> list[Chunk]:
    """The rows in consecutive chunks."""
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    chunks = [Chunk.of([pa.array([row[i] for row in rows[a:b]], SCHEMA[i].physical) for i in range(3)]) for a, b in pairwise(edges)]
    return chunks or [Chunk.empty(SCHEMA)]


@given(ROWS, st.sets(st.integers(1, 5)), COLUMNS, st.booleans(), st.booleans())
def test_orders_are_those_of_a_look_at_all_pairs(rows: list[Any], cuts: set[int], columns: list[int], up: bool, strict: bool) -> None:
    by = tuple((column, up) for column in columns)
    items = OrderingProperties(orderings=[[(column, "asc" if up else "desc") for column in columns]]).orderings[0]

    def is_wrong(place: int) -> bool:
        before, after = rows[place - 1], rows[place]
        ties = all(rank(before[c]) == rank(after[c]) for c in columns)
        return out_of_order(before, after, items) or (strict and ties)

    expected = next((place for place in range(1, len(rows)) if is_wrong(place)), None)
    assert first_wrong_rows(batches(rows, cuts), SCHEMA, [InOrder(by, strict)]) == [expected]


@given(ROWS, st.sets(st.integers(1, 5)), st.integers(0, 2))
def test_values_are_those_of_a_look_at_each_row(rows: list[Any], cuts: set[int], column: int) -> None:
    values = [rank(row[column]) for row in rows]
    one = next((place for place in range(1, len(rows)) if values[place] != values[place - 1]), None)
    missing = next((place for place, row in enumerate(rows) if row[column] is None), None)
    assert first_wrong_rows(batches(rows, cuts), SCHEMA, [OneValue(column), NotMissing(column)]) == [one, missing]


@pytest.mark.parametrize(
    ("claim", "wrong"),
    [
        (Within(0, 0, 2), None),
        (Within(0, 1, 2), 1),
        (Within(1, 0.0, 1.0), 3),
        (Within(2, "", "a"), 2),
        (EqualColumns(0, 1), 3),
        (EqualColumns(0, 0), None),
        (InOrder(((0, True), (1, False))), None),
    ],
    ids=str,
)
def test_bounds_and_equal_columns(claim: RowClaim, wrong: int | None) -> None:
    rows = [(None, None, ""), (0, 0.0, "a"), (1, 1.0, "b"), (2, NAN, None)]
    assert first_wrong_rows(batches(rows, {2}), SCHEMA, [claim]) == [wrong]


def test_text_columns_are_equal_where_their_values_are() -> None:
    columns = [pa.array(["a", None, "b"]), pa.array(["a", None, "c"])]
    assert first_wrong_rows([Chunk.of(columns)], (STR, STR), [EqualColumns(0, 1)]) == [2]


def test_what_is_known_becomes_claims_about_visible_columns() -> None:
    order = OrderingProperties(
        orderings=[[(0, "asc"), (1, "desc")], [("hidden", "asc"), (2, "asc")]],
        constants=[2],
        keys=[[0, 1]],
        equivalences=[[0, "hidden"]],
        not_null=[1],
    )
    claims = row_claims(RelationProperties(order, bounds={0: (0, 9)}), SCHEMA)
    assert InOrder(((0, True), (1, False)), strict=True) in claims
    assert {OneValue(2), NotMissing(1), Within(0, 0, 9)} <= set(claims)
    assert "'hidden'" not in repr(claims)
