"""Everything known of a relation's rows before they are computed: order and dependencies, what a true mask adds, bounds of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.order.items import SequenceFacts
from sframe_spark.order.ordering import OrderingProperties

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
    >>> rows.beside(RelationProperties(bounds={0: (5, 5)}), 1).bounds
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

    def beside(self, other: RelationProperties, width: int) -> RelationProperties:
        """Properties of these rows, ``width`` columns wide, with the other's columns to their right."""
        if other.says_nothing:
            return self
        shifted = other.order.project({column + width: column for column in visible(other.order)})
        order = shifted if self.order.facts == SequenceFacts() else self.order.meet(shifted)
        return RelationProperties(order, self.where, {**self.bounds, **{column + width: found for column, found in other.bounds.items()}})

    def reordered(self, order: OrderingProperties) -> RelationProperties:
        """The same values in an order of which other things are known."""
        return attrs.evolve(self, order=order)


def visible(order: OrderingProperties) -> list[int]:
    """Columns, given as positions, that an order speaks of."""
    from sframe_spark.order.rename import visible_columns

    return sorted(column for column in visible_columns(order.facts) if isinstance(column, int))


def requirement(by: Sequence[tuple[int, bool]]) -> list[tuple[int, str]]:
    """A sort's columns and directions as a requirement.

    Examples
    --------
    >>> requirement([(2, True), (0, False)])
    [(2, 'asc'), (0, 'desc')]
    """
    return [(position, "asc" if ascending else "desc") for position, ascending in by]
