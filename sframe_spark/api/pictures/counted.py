"""What pictures need to know of columns: counts of bins, of values and of pairs, made by aggregates and never by collecting rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.api.nodes import reduce_values, row_count, row_tuples
from sframe_spark.api.pictures.bins import Bins, round_bins, time_bins
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.groupby import group_by
from sframe_spark.operators.relational.rows import filter_by_mask, slice_rows
from sframe_spark.operators.relational.sort import sort_rows
from sframe_spark.operators.rowwise.columns import project, zip_columns
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.operators.rowwise.program import Literal
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT, INT_KIND, ColumnType
from sframe_spark.visible import visible

MOST_BINS = 30
MOST_LABELS = 12
# Of two columns of numbers, as in the reference; more rows are counted in cells.
MOST_POINTS = 5000
# On a time line of more rows.
MOST_TIMES = 300
# A text of megabytes is no label.
MOST_CHARACTERS = 60
MISSING = "(missing)"


@attrs.frozen
class Extent:
    """The numbers of a column: how many are finite, missing, NaN and infinite; the least and the largest finite one."""

    numbers: int
    missing: int
    nan: int
    infinite: int
    least: float
    largest: float


def label_texts(values: Sequence[Any]) -> list[str]:
    """Values as they stand at an axis: never a command, short, and no two alike.

    Examples
    --------
    >>> label_texts([None, "(missing)", "a\\x07"])
    ['(missing)', '(missing) 2', 'a\\\\x07']
    """
    labels: dict[str, None] = {}
    for value in values:
        text = MISSING if value is None else visible(str(value)[: MOST_CHARACTERS + 1])
        text = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
        number = 1
        while (label := text if number == 1 else f"{text} {number}") in labels:
            number += 1
        labels[label] = None
    return list(labels)


def as_numbers(node: PlannerNode) -> PlannerNode:
    """Date-times as seconds since 1970, numbers as they are."""
    return apply_function("cast", node, parameters=(FLOAT, False)) if node.schema[0].kind == DATETIME_KIND else node


def extent_of(part: Sequence[float]) -> Extent:
    """What the aggregate ``finite_range`` tells."""
    numbers, missing, nan, infinite = map(int, part[:4])
    return Extent(numbers, missing, nan, infinite, part[4], part[5])


def extents(nodes: PlannerNode) -> list[Extent]:
    """The extent of each column of numbers, in one pass."""
    found = reduce_values(nodes, [Aggregation("finite_range", (place,)) for place in range(len(nodes.schema))])
    return [extent_of(part) for part in found]


def bins_for(extent: Extent, column_type: ColumnType, most: int = MOST_BINS) -> Bins:
    """Bins with round edges over a column."""
    if not extent.numbers:
        return Bins(0, 1, 1)
    if column_type.kind == DATETIME_KIND:
        return time_bins(extent.least, extent.largest, most)
    return round_bins(extent.least, extent.largest, column_type.kind == INT_KIND, most)


def counts_of(numbers: PlannerNode, bins: Bins, place: int = 0) -> list[int]:
    """How many numbers lie in each bin."""
    return [int(count) for count in reduce_values(numbers, [Aggregation("histogram", (place,), bins.parameters)])[0]]


def bars(bins: Bins, counts: Sequence[int]) -> list[dict[str, Any]]:
    """A histogram as rows of a table."""
    return [{"left": bins.edge(place), "right": bins.edge(place + 1), "count": count} for place, count in enumerate(counts)]


def histogram_of(node: PlannerNode) -> tuple[list[dict[str, Any]], Extent]:
    """The bars of a column of numbers or date-times, the times in seconds since 1970, and its extent."""
    materialize(node)
    numbers = as_numbers(node)
    extent = extents(numbers)[0]
    bins = bins_for(extent, node.schema[0])
    return (bars(bins, counts_of(numbers, bins)) if extent.numbers else []), extent


def value_counts(node: PlannerNode, most: int = MOST_LABELS) -> tuple[list[tuple[Any, int]], int]:
    """The most frequent values with their numbers of rows, then the least first; and how many different ones there are."""
    counted = group_by(node, [0], [Aggregation("count")])
    materialize(counted)
    first = slice_rows(sort_rows(counted, [(1, False), (0, True)]), 0, most)
    return [(value, int(count)) for value, count in row_tuples(first)], row_count(counted)


def frequencies_of(node: PlannerNode) -> list[dict[str, Any]]:
    """The most frequent values of a column, what is missing among them, and all others in one row."""
    materialize(node)
    rows = row_count(node)
    return frequency_table(*value_counts(node), rows)


def frequency_table(shown: Sequence[tuple[Any, int]], different: int, rows: int) -> list[dict[str, Any]]:
    """The most frequent values of so many different ones in so many rows, as rows of a table; all others are one row."""
    labels = label_texts([value for value, _ in shown])
    table = [_frequency(label, count, rows, value is None) for label, (value, count) in zip(labels, shown, strict=True)]
    if different > len(shown):
        others = different - len(shown)
        table.append(_frequency(f"Other ({others:,} value{'s' * (others != 1)})", rows - sum(count for _, count in shown), rows, False))
    return [{**row, "label_idx": place} for place, row in enumerate(table)]


def _frequency(label: str, count: int, rows: int, missing: bool) -> dict[str, Any]:
    row = {"label": label, "count": count, "percentage": f"{100 * count / rows:.3g}%"}
    return {**row, "missing": True} if missing else row


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
    across, up = (bins_for(extent, node.schema[0]) for extent, node in zip(extents(numbers), (x, y), strict=True))
    counts = reduce_values(numbers, [Aggregation("histogram", (0, 1), (*across.parameters, *up.parameters))])[0]
    table = []
    for place, count in enumerate(counts):
        column, row = divmod(place, up.count)
        if count:
            edges = {"x_left": across.edge(column), "x_right": across.edge(column + 1), "y_left": up.edge(row), "y_right": up.edge(row + 1)}
            table.append({**edges, "count": int(count)})
    return table


def spreads_of(labels: PlannerNode, y: PlannerNode) -> list[dict[str, Any]]:
    """Least, quartiles, median and largest number of the most frequent values of a column of texts."""
    pair = zip_columns(labels, y)
    materialize(pair)
    label = project(pair, [0])
    shown = [value for value, _ in value_counts(label)[0]]
    numbers = as_numbers(project(pair, [1]))
    chosen = _rows_with(zip_columns(label, numbers), 0, shown)
    # Of what is missing or NaN nothing is told; infinite numbers have no place on an axis.
    inside = apply_function("less", apply_function("absolute", project(chosen, [1])), Literal(math.inf, FLOAT))
    kept = filter_by_mask(chosen, inside)
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    groups = row_tuples(group_by(kept, [0], [Aggregation("quantile", (1,), shares), Aggregation("count")]))
    names = ("min", "lower quartile", "median", "upper quartile", "max")
    found = {value: {**dict(zip(names, quantiles, strict=True)), "count": count} for value, quantiles, count in groups}
    return [{"x": label, **found[value]} for label, value in zip(label_texts(shown), shown, strict=True) if value in found]


def _rows_with(node: PlannerNode, place: int, values: Sequence[Any]) -> PlannerNode:
    """The rows that hold one of some texts, or None if that is among them."""
    column = project(node, [place])
    wanted = tuple(value for value in values if value is not None)
    mask = apply_function("is_in", column, parameters=(wanted,))
    if None in values:
        mask = apply_function("or_", mask, apply_function("is_missing", column))
    return filter_by_mask(node, mask)


def pairs_of(x: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], bool]:
    """How often the most frequent texts of two columns come together, and whether there are other texts."""
    pair = zip_columns(x, y)
    materialize(pair)
    shown = [value_counts(project(pair, [place])) for place in (0, 1)]
    kept = pair
    for place, (values, _) in enumerate(shown):
        kept = _rows_with(kept, place, [value for value, _ in values])
    found = {(one, other): count for one, other, count in row_tuples(group_by(kept, [0, 1], [Aggregation("count")]))}
    across, up = ([value for value, _ in values] for values, _ in shown)
    places = itertools.product(zip(label_texts(across), across, strict=True), zip(label_texts(up), up, strict=True))
    table = [{"x": x_label, "y": y_label, "count": found.get((one, other), 0)} for (x_label, one), (y_label, other) in places]
    return table, any(different > len(values) for values, different in shown)


def line_of(time: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], float]:
    """The mean, the least and the largest number of each bin of time, in order, and the width of a bin in seconds."""
    pair = zip_columns(time, y)
    materialize(pair)
    seconds, numbers = (as_numbers(project(pair, [place])) for place in (0, 1))
    bins = bins_for(extents(seconds)[0], time.schema[0], MOST_TIMES)
    binned = apply_function("floor_divide", seconds, Literal(float(bins.step), FLOAT))
    chosen = zip_columns(binned, numbers)
    kept = filter_by_mask(chosen, apply_function("less", apply_function("absolute", project(chosen, [1])), Literal(math.inf, FLOAT)))
    asked = [Aggregation(name, (1,)) for name in ("mean", "min", "max")] + [Aggregation("count")]
    table = []
    for place, mean, least, largest, count in row_tuples(group_by(kept, [0], asked)):
        if place is not None:
            table.append({"x": place * bins.step, "y": mean, "least": least, "largest": largest, "count": count})
    return table, bins.step
