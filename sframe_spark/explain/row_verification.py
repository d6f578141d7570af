"""Claims about rows that hold or fail at a row, given the row before it: what the planner knows of a relation, in a form that tasks can check."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import differs, plain_numbers
from sframe_spark.compute.sorting import steps
from sframe_spark.operators.sources.statistics import recordable_part
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Schema
from sframe_spark.types import ColumnType


class RowClaim(Protocol):
    """A claim about all rows; every row but the first is looked at together with the one before it."""

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """The first of consecutive rows that contradicts the claim."""

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns that the claim is about."""


@attrs.frozen
class InOrder:
    """No row comes before its predecessor in an order; with ``strict`` no two rows tie either.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> rows = Chunk.of([pa.array([1, 2, 2, 1])])
    >>> InOrder(((0, True),)).first_wrong(rows, (INT,)), InOrder(((0, True),), strict=True).first_wrong(rows, (INT,))
    (3, 2)
    """

    by: tuple[tuple[int, bool], ...]
    strict: bool = False

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """The first row that comes before its predecessor, or ties with it."""
        found = steps(rows, schema, self.by)
        return _first(np.concatenate([[False], found < (1 if self.strict else 0)]) if rows.rows else found.astype(bool))

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the order."""
        return tuple(position for position, _ in self.by)


@attrs.frozen
class OneValue:
    """A column holds one value."""

    column: int

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """The first row that differs from its predecessor."""
        if not rows.rows:
            return None
        return _first(np.concatenate([[False], differs(comparable(rows.columns[self.column], schema[self.column]))]))

    @property
    def columns(self) -> tuple[int, ...]:
        """The column."""
        return (self.column,)


@attrs.frozen
class EqualColumns:
    """Two columns are equal in every row; missing equals missing, NaN equals NaN."""

    first: int
    second: int

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """The first row in which they are not."""
        a, b = (comparable(rows.columns[position], schema[position]) for position in self.columns)
        valid = a.is_valid().to_numpy(zero_copy_only=False)
        other = b.is_valid().to_numpy(zero_copy_only=False)
        if pa.types.is_string(a.type):
            unequal = pc.fill_null(pc.not_equal(a, b), False).to_numpy(zero_copy_only=False)
        else:
            x, y = plain_numbers(a), plain_numbers(b)
            unequal = (x != y) & ~((x != x) & (y != y))
        return _first((valid != other) | (valid & other & unequal))

    @property
    def columns(self) -> tuple[int, ...]:
        """Both columns."""
        return (self.first, self.second)


@attrs.frozen
class NotMissing:
    """A column has no missing value."""

    column: int

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """The first row without a value."""
        return _first(rows.columns[self.column].is_null().to_numpy(zero_copy_only=False))

    @property
    def columns(self) -> tuple[int, ...]:
        """The column."""
        return (self.column,)


@attrs.frozen
class Within:
    """Values of a column that are there lie between bounds (date-times in microseconds) and are not NaN."""

    column: int
    low: Any
    high: Any

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """The first row outside of the bounds."""
        values = comparable(rows.columns[self.column], schema[self.column])
        if pa.types.is_string(values.type):
            inside = pc.and_(pc.greater_equal(values, self.low), pc.less_equal(values, self.high))
            return _first(pc.fill_null(pc.invert(inside), False).to_numpy(zero_copy_only=False))
        numbers = plain_numbers(values)
        outside = ~((numbers >= self.low) & (numbers <= self.high))
        return _first(outside & values.is_valid().to_numpy(zero_copy_only=False))

    @property
    def columns(self) -> tuple[int, ...]:
        """The column."""
        return (self.column,)


def _first(wrong: np.ndarray) -> int | None:
    places = np.flatnonzero(wrong)
    return int(places[0]) if len(places) else None


def row_claims(properties: RelationProperties, schema: Schema) -> list[RowClaim]:
    """What is claimed of visible columns, as far as a look at neighbouring rows decides it.

    A key is checked where the rows are claimed to be in an order of its columns; functional dependencies are not.

    Examples
    --------
    >>> from sframe_spark.order import OrderingProperties
    >>> from sframe_spark.types import INT
    >>> row_claims(RelationProperties(OrderingProperties(orderings=[[(0, "asc")]], keys=[[0]]), bounds={0: (1, 9)}), (INT,))
    [InOrder(by=((0, True),), strict=True), Within(column=0, low=1, high=9)]
    """
    order = properties.order
    claims: list[RowClaim] = []
    for items in order.orderings:
        by = recordable_part(items)
        if by:
            claims.append(_order_and_key(by, order.keys))
    claims += [OneValue(column) for column in order.constants if isinstance(column, int)]
    for group in order.equivalences:
        shown = [column for column in group if isinstance(column, int)]
        claims += [EqualColumns(a, b) for a, b in pairwise(shown) if _same_scale(schema[a], schema[b])]
    claims += [NotMissing(column) for column in order.not_null if isinstance(column, int)]
    claims += [Within(column, low, high) for column, (low, high) in properties.bounds.items()]
    return list(dict.fromkeys(claims))


def _order_and_key(by: tuple[tuple[int, bool], ...], keys: Iterable[Iterable[Hashable]]) -> InOrder:
    """The order; where its first columns hold a key, that they grow from row to row, which decides the order of the others."""
    for length in range(1, len(by) + 1):
        if any({position for position, _ in by[:length]}.issuperset(key) for key in keys):
            return InOrder(by[:length], strict=True)
    return InOrder(by)


def _same_scale(first: ColumnType, second: ColumnType) -> bool:
    return first == second or (first.is_numeric and second.is_numeric)


def first_wrong_rows(chunks: Iterable[Chunk], schema: Schema, claims: Sequence[RowClaim]) -> list[int | None]:
    """For each claim the number of the first of consecutive rows that contradicts it, counted from zero; None where no row does.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> chunks = [Chunk.of([pa.array([1, 3])]), Chunk.of([pa.array([2, 4])])]
    >>> first_wrong_rows(chunks, (INT,), [InOrder(((0, True),)), Within(0, 1, 3)])
    [2, 3]
    """
    found: list[int | None] = [None] * len(claims)
    before = Chunk.empty(schema)
    seen = 0
    for chunk in chunks:
        rows = concatenate([before, chunk], schema)
        for place, claim in enumerate(claims):
            wrong = None if found[place] is not None else claim.first_wrong(rows, schema)
            found[place] = found[place] if wrong is None else seen - before.rows + wrong
        seen += chunk.rows
        before = rows.slice(rows.rows - 1, rows.rows) if rows.rows else before
    return found
