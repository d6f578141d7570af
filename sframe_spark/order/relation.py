"""Everything known of a relation's rows before they are computed: order and dependencies, what a true mask adds, bounds of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import attrs

from sframe_spark.order.facts import Column, Hidden, SequenceFacts, merged_all
from sframe_spark.order.properties import OrderingProperties
from sframe_spark.order.rename import rename_facts

# Smallest and largest value of a column that has neither missing values nor NaN.
ValueBounds = tuple[Any, Any]


@attrs.frozen
class RelationProperties:
    """Properties of a node's rows; columns are positions.

    Parameters
    ----------
    order
        Order, constants, equal columns, dependencies and keys of the row sequence.
    where
        For int columns that are masks: facts that hold among the rows where the column is true.
    bounds
        Smallest and largest value of columns that have no missing values and no NaN, for any part of the rows.

    Examples
    --------
    >>> rows = RelationProperties(OrderingProperties(orderings=[[(0, "asc")]]), bounds={0: (1, 9)})
    >>> RelationProperties.side_by_side([rows, RelationProperties(bounds={0: (5, 5)})], [1, 1]).bounds
    {0: (1, 9), 1: (5, 5)}
    """

    order: OrderingProperties = attrs.field(factory=OrderingProperties)
    where: Mapping[int, SequenceFacts] = attrs.field(factory=dict)
    bounds: Mapping[int, ValueBounds] = attrs.field(factory=dict)

    @property
    def says_nothing(self) -> bool:
        """True when nothing is known."""
        return self.order.facts == SequenceFacts() and not self.where and not self.bounds

    def project(self, origins: Sequence[int | None]) -> RelationProperties:
        """Properties of rows whose column ``i`` is the column ``origins[i]`` of these, or something unknown where that is None."""
        if self.says_nothing:
            return self
        places = {place: origin for place, origin in enumerate(origins) if origin is not None}
        where: dict[int, SequenceFacts] = {}
        if self.where and list(places.items()) == [(p, p) for p in range(len(origins))]:
            where = dict(self.where)
        bounds = {place: self.bounds[origin] for place, origin in places.items() if origin in self.bounds}
        return RelationProperties(self.order.project(dict(enumerate(origins))), where, bounds)

    @classmethod
    def side_by_side(cls, inputs: Sequence[RelationProperties], widths: Sequence[int]) -> RelationProperties:
        """Properties of the columns of several inputs, of so many columns each, taken as one row; they are brought together at once."""
        starts = [*accumulate(widths, initial=0)]
        telling = [(place, rows) for place, rows in enumerate(inputs) if place and not rows.says_nothing]
        if not telling:
            return inputs[0]
        shifted = [moved_right(rows.order.facts, starts[place], place) for place, rows in telling]
        order = OrderingProperties.of(merged_all([inputs[0].order.facts, *shifted]))
        bounds = {column + starts[place]: found for place, rows in [(0, inputs[0]), *telling] for column, found in rows.bounds.items()}
        return cls(order, inputs[0].where, bounds)

    def reordered(self, order: OrderingProperties) -> RelationProperties:
        """The same values in an order of which other things are known."""
        return attrs.evolve(self, order=order)


def moved_right(facts: SequenceFacts, start: int, place: int) -> SequenceFacts:
    """Facts about columns that stand further right, behind those of other inputs; hidden ones are told from those of the others by the place."""

    def moved(column: Column) -> Column:
        return Hidden((f"{place:06}", column.number)) if isinstance(column, Hidden) else column + start  # type: ignore[operator]

    return rename_facts(facts, moved)


def requirement(by: Sequence[tuple[int, bool]]) -> list[tuple[int, str]]:
    """A sort's columns and directions as a requirement.

    Examples
    --------
    >>> requirement([(2, True), (0, False)])
    [(2, 'asc'), (0, 'desc')]
    """
    return [(position, "asc" if ascending else "desc") for position, ascending in by]
