"""What a frame holds, column by column, in as many passes over each column as pictures of it need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.nodes import reduce_values, row_count
from sframe_spark.api.pictures.bins import Bins
from sframe_spark.api.pictures.counted import MOST_LABELS, Extent, as_numbers, bars, bins_for, extent_of, frequency_table, value_counts
from sframe_spark.operators.aggregates.histograms import bin_numbers
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.rowwise.columns import project, zip_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, INT_KIND, STR_KIND, ColumnType

QUARTILES = (0.25, 0.5, 0.75)
# Columns whose values are counted in one pass: each may keep some megabytes of different values.
COLUMNS_AT_ONCE = 8
# Between the edges of a bar, for quartiles.
PARTS_OF_A_BAR = 100
# A quartile is told to this share of itself, or as well as so many passes tell it.
EXACTNESS, MOST_PASSES = 1e-4, 4


@attrs.frozen
class ColumnFacts:
    """What is told of a column.

    Parameters
    ----------
    kind
        Its type.
    rows, missing
        Numbers of rows, and of those without a value.
    distinct, is_exact
        How many values differ, and whether that is counted or estimated; None where it is not asked: of lists and dicts.
    numbers
        Of numbers and date-times.
    bars, labels
        Of a histogram, or of the most frequent texts.
    """

    kind: str
    rows: int
    missing: int
    distinct: int | None = None
    is_exact: bool = True
    numbers: NumberFacts | None = None
    bars: list[dict[str, Any]] = attrs.Factory(list)
    labels: list[dict[str, Any]] = attrs.Factory(list)


@attrs.frozen
class NumberFacts:
    """What is told of numbers; date-times are seconds since 1970."""

    extent: Extent
    mean: float
    deviation: float
    quartiles: tuple[float, ...]


def facts_of(node: PlannerNode) -> list[ColumnFacts]:
    """What is told of each column of a materialised frame."""
    rows = row_count(node)
    found: list[ColumnFacts] = []
    for start in range(0, len(node.schema), COLUMNS_AT_ONCE):
        places = range(start, min(start + COLUMNS_AT_ONCE, len(node.schema)))
        found += _facts_at_once([project(node, [place]) for place in places], rows)
    return found


def has_pictures(column_type: ColumnType) -> bool:
    """Whether values are counted, and not only the missing ones."""
    return column_type.is_numeric or column_type.kind == STR_KIND or column_type == DATETIME


def _facts_at_once(columns: Sequence[PlannerNode], rows: int) -> list[ColumnFacts]:
    types = [column.schema[0] for column in columns]
    sources = [as_numbers(column) if has_pictures(column_type) else column for column, column_type in zip(columns, types, strict=True)]
    asked = [Aggregation("summary" if has_pictures(column_type) else "count_missing", (place,)) for place, column_type in enumerate(types)]
    of_numbers = [place for place, source in enumerate(sources) if source.schema[0].is_numeric]
    found = reduce_values(zip_columns(*sources), [*asked, *(Aggregation("finite_range", (place,)) for place in of_numbers)])
    extents = {place: extent_of(part) for place, part in zip(of_numbers, found[len(columns) :], strict=True)}
    facts = []
    for place, (source, column_type, part) in enumerate(zip(sources, types, found[: len(columns)], strict=True)):
        if not has_pictures(column_type):
            facts.append(ColumnFacts(column_type.kind, rows, int(part)))
            continue
        base = ColumnFacts(column_type.kind, rows, part["missing"], part["distinct"], part["counted"] is not None)
        if place in extents:
            numbers, table = _number_facts(source, column_type, extents[place], part)
            facts.append(attrs.evolve(base, numbers=numbers, bars=table))
        else:
            facts.append(attrs.evolve(base, labels=_labels(source, part, rows)))
    return facts


def _labels(column: PlannerNode, summary: dict[str, Any], rows: int) -> list[dict[str, Any]]:
    if summary["counted"] is None:
        return frequency_table(*value_counts(column), rows)
    values = sorted(summary["counted"].items(), key=lambda pair: (-pair[1], pair[0]))
    if summary["missing"]:
        values = sorted([(None, summary["missing"]), *values], key=lambda pair: -pair[1])
    return frequency_table(values[:MOST_LABELS], len(values), rows)


def _number_facts(numbers: PlannerNode, column_type: ColumnType, extent: Extent, summary: dict[str, Any]) -> tuple[NumberFacts, list[dict[str, Any]]]:
    """Facts and the bars of a histogram: from the different values where they are few, else from another pass or more."""
    if not extent.numbers:
        return NumberFacts(extent, math.nan, math.nan, ()), []
    bins = bins_for(extent, column_type)
    if summary["counted"] is None:
        fine = bins.finer(PARTS_OF_A_BAR)
        counts = _counts(numbers, fine)
        quartiles = tuple(_quantile(numbers, fine, counts, _place(extent.numbers, share), column_type) for share in QUARTILES)
        shown = counts.reshape(-1, PARTS_OF_A_BAR).sum(axis=1)
    else:
        values, weights = _finite(summary["counted"])
        cumulative = np.cumsum(weights)
        quartiles = tuple(float(values[np.searchsorted(cumulative, _place(extent.numbers, share), side="right")]) for share in QUARTILES)
        shown = np.bincount(bin_numbers(values, *bins.parameters), weights, bins.count)
    deviation = math.sqrt(summary["squares"] / summary["numbers"])
    return NumberFacts(extent, summary["mean"], deviation, quartiles), bars(bins, [int(count) for count in shown])


def _finite(counted: dict[float, int]) -> tuple[np.ndarray, np.ndarray]:
    """Different finite values in order, and how often each occurs."""
    pairs = sorted((float(value), count) for value, count in counted.items() if math.isfinite(value))
    return np.array([value for value, _ in pairs]), np.array([count for _, count in pairs])


def _place(numbers: int, share: float) -> int:
    """How many numbers come before a quantile."""
    return min(int(numbers * share), numbers - 1)


def _counts(numbers: PlannerNode, bins: Bins) -> np.ndarray:
    return np.array(reduce_values(numbers, [Aggregation("histogram", (0,), bins.parameters)])[0]).astype(np.int64)


def _quantile(numbers: PlannerNode, bins: Bins, counts: np.ndarray, place: int, column_type: ColumnType) -> float:
    """The number with so many before it: its bin is divided until it is narrow."""
    before = 0
    for passes in range(MOST_PASSES + 1):
        cumulative = before + np.cumsum(counts)
        chosen = int(np.searchsorted(cumulative, place, side="right"))
        least = bins.edge(chosen)
        narrow = bins.step <= abs(least) * EXACTNESS or (column_type.kind == INT_KIND and bins.step <= 1)
        if narrow or passes == MOST_PASSES:
            break
        before = int(cumulative[chosen] - counts[chosen])
        finer = Bins(bins.first + chosen, bins.step, 1).finer(1000)
        # What lies outside is counted in one more bin at each end.
        bins = Bins(finer.first, finer.step, finer.count)
        counts = _counts(numbers, Bins(finer.first - 1, finer.step, finer.count + 2))[1:-1]
    return math.ceil(least - 1e-9) if column_type.kind == INT_KIND else least
