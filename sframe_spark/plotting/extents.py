"""Between which numbers a column lies, and how many of its rows hold none: one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from sframe_spark.api.node_values import reduce_values
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.planner.node import PlannerNode


@attrs.frozen
class Extent:
    """The numbers of a column.

    Parameters
    ----------
    numbers, missing, nan, infinite
        How many are finite, missing, NaN and infinite.
    least, largest
        Of the finite ones.
    mean, deviation
        Of the finite ones, the deviation that of a whole population; NaN where there are none.
    """

    numbers: int
    missing: int
    nan: int
    infinite: int
    least: float
    largest: float
    mean: float = math.nan
    deviation: float = math.nan

    def told(self) -> str:
        """How many rows have no place on an axis.

        Examples
        --------
        >>> Extent(5, 1000, 1, 0, 0.0, 1.0).told()
        '1,000 missing, 1 NaN'
        """
        parts = ((self.missing, "missing"), (self.nan, "NaN"), (self.infinite, "infinite"))
        return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def extent_of(part: Sequence[float]) -> Extent:
    """What the aggregate ``finite_range`` tells."""
    numbers, missing, nan, infinite = map(int, part[:4])
    if not numbers:
        return Extent(numbers, missing, nan, infinite, part[4], part[5])
    return Extent(numbers, missing, nan, infinite, part[4], part[5], part[6], math.sqrt(part[7] / numbers))


def extents(nodes: PlannerNode) -> list[Extent]:
    """The extent of each column of numbers, in one pass."""
    found = reduce_values(nodes, [Aggregation("finite_range", (place,)) for place in range(len(nodes.schema))])
    return [extent_of(part) for part in found]
