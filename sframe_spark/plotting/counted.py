"""What charts of numbers and times need to know of columns: counts in bins, made by aggregates and never by collecting rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sframe_spark.api.node_values import reduce_values, row_tuples
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.rowwise.columns import project, zip_columns
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting.bins import Bins, round_bins, time_bins
from sframe_spark.plotting.extents import Extent, extents
from sframe_spark.types import DATETIME_KIND, FLOAT, INT_KIND, ColumnType

MOST_BINS = 30
# Of two columns of numbers, as in the reference; more rows are counted in cells.
MOST_POINTS = 5000
# On each side of a heat map.
MOST_CELLS = 40
# On a time line of more rows.
MOST_TIMES = 300


def as_numbers(node: PlannerNode) -> PlannerNode:
    """Date-times as seconds since 1970, numbers as they are."""
    return apply_function("cast", node, parameters=(FLOAT, False)) if node.schema[0].kind == DATETIME_KIND else node


def bins_for(extent: Extent, column_type: ColumnType, most: int = MOST_BINS) -> Bins:
    """Bins with round edges over a column."""
    if not extent.numbers:
        return Bins(0, 1, 1)
    if column_type.kind == DATETIME_KIND:
        return time_bins(extent.least, extent.largest, most)
    return round_bins(extent.least, extent.largest, column_type.kind == INT_KIND, most)


def bars(bins: Bins, counts: Sequence[float]) -> list[dict[str, Any]]:
    """A histogram as rows of a table."""
    return [{"left": bins.edge(place), "right": bins.edge(place + 1), "count": int(count)} for place, count in enumerate(counts)]


def histogram_of(node: PlannerNode) -> tuple[list[dict[str, Any]], Extent]:
    """The bars of a column of numbers or date-times, the times in seconds since 1970, and its extent."""
    materialize(node)
    numbers = as_numbers(node)
    extent = extents(numbers)[0]
    if not extent.numbers:
        return [], extent
    bins = bins_for(extent, node.schema[0])
    return bars(bins, reduce_values(numbers, [Aggregation("histogram", (0,), bins.parameters)])[0]), extent


def points_of(x: PlannerNode, y: PlannerNode) -> list[dict[str, Any]]:
    """Each row with two finite numbers; for few rows."""
    rows = row_tuples(zip_columns(as_numbers(x), as_numbers(y)))
    return [{"x": one, "y": other} for one, other in rows if _is_finite(one) and _is_finite(other)]


def _is_finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def cells_of(x: PlannerNode, y: PlannerNode) -> list[dict[str, Any]]:
    """How many rows lie in each cell of two columns of numbers; empty cells are left out."""
    pair = zip_columns(x, y)
    materialize(pair)
    numbers = zip_columns(*(as_numbers(project(pair, [place])) for place in (0, 1)))
    across, up = (bins_for(extent, node.schema[0], MOST_CELLS) for extent, node in zip(extents(numbers), (x, y), strict=True))
    counts = reduce_values(numbers, [Aggregation("histogram", (0, 1), (*across.parameters, *up.parameters))])[0]
    table = []
    for place, count in enumerate(counts):
        column, row = divmod(place, up.count)
        if count:
            edges = {"x_left": across.edge(column), "x_right": across.edge(column + 1), "y_left": up.edge(row), "y_right": up.edge(row + 1)}
            table.append({**edges, "count": int(count)})
    return table


def line_of(time: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], float]:
    """The mean, the least and the largest number of each bin of time that has one, in order, and the width of a bin in seconds."""
    pair = zip_columns(time, y)
    materialize(pair)
    numbers = zip_columns(*(as_numbers(project(pair, [place])) for place in (0, 1)))
    bins = bins_for(extents(project(numbers, [0]))[0], time.schema[0], MOST_TIMES)
    ranges = np.reshape(reduce_values(numbers, [Aggregation("bin_ranges", (0, 1), bins.parameters)])[0], (-1, 4)).tolist()
    table = [
        # Parts of a mean are rounded, which may lead out of the numbers.
        {"x": bins.edge(place), "y": min(max(mean, least), largest), "least": least, "largest": largest, "count": int(count)}
        for place, (count, least, largest, mean) in enumerate(ranges)
        if count
    ]
    return table, bins.step
