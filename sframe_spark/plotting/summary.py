"""What a frame holds, column by column: one pass over each column, and a few more over those with many different values, all at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.node_values import reduce_values, row_count
from sframe_spark.operators.aggregates.histograms import bin_numbers
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.rowwise.arrange import column_of
from sframe_spark.operators.rowwise.columns import zip_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting.bins import Bins
from sframe_spark.plotting.counted import as_numbers, bars, bins_for
from sframe_spark.plotting.extents import Extent, extent_of
from sframe_spark.plotting.frequent import frequency_table, most_frequent
from sframe_spark.plotting.quantiles import QUARTILES, Asked, Quantile, find_quantiles, guarded, place_of
from sframe_spark.types import DATETIME_KIND, STR_KIND, ColumnType

# Columns whose values are counted in one pass: each may keep some megabytes of different values.
COLUMNS_AT_ONCE = 8
# Of bins each keeps some hundred kilobytes.
BINS_AT_ONCE = 48
# Between the edges of a bar, for quartiles.
PARTS_OF_A_BAR = 200


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
    extent, quartiles
        Of numbers and date-times, these in seconds since 1970; no quartiles where no number is finite.
    bars, labels
        Of a histogram, or of the most frequent texts.
    in_utc
        Whether date-times have offsets, and are told without.
    """

    kind: str
    rows: int
    missing: int
    distinct: int | None = None
    is_exact: bool = True
    extent: Extent | None = None
    quartiles: tuple[float, ...] = ()
    bars: list[dict[str, Any]] = attrs.Factory(list)
    labels: list[dict[str, Any]] = attrs.Factory(list)
    in_utc: bool = False


def facts_of(node: PlannerNode) -> list[ColumnFacts]:
    """What is told of each column of a materialised frame."""
    rows = row_count(node)
    columns = [column_of(node, place) for place in range(len(node.schema))]
    sources = [as_numbers(column) if has_pictures(column.schema[0]) else column for column in columns]
    found: list[_Found] = []
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        places = slice(start, start + COLUMNS_AT_ONCE)
        found += _summed_up(columns[places], sources[places])
    labels = _labels(sources, found)
    bars_and_quartiles = _of_numbers(sources, found)
    facts = []
    for place, (column, one) in enumerate(zip(columns, found, strict=True)):
        kind = column.schema[0].kind
        if one.summary is None:
            facts.append(ColumnFacts(kind, rows, one.missing))
            continue
        table, quartiles = bars_and_quartiles.get(place, ([], ()))
        is_exact = one.summary["counted"] is not None
        shown = labels.get(place, [])
        zoned = column.schema[0].is_zoned
        facts.append(ColumnFacts(kind, rows, one.missing, one.summary["distinct"], is_exact, one.extent, quartiles, table, shown, zoned))
    return facts


def has_pictures(column_type: ColumnType) -> bool:
    """Whether values are counted, and not only the missing ones."""
    return column_type.is_numeric or column_type.kind in (STR_KIND, DATETIME_KIND)


@attrs.frozen
class _Found:
    """What the first pass finds in a column: what ``summary`` tells, and the extent of numbers."""

    column_type: ColumnType
    missing: int
    summary: dict[str, Any] | None
    extent: Extent | None


def _summed_up(columns: Sequence[PlannerNode], sources: Sequence[PlannerNode]) -> list[_Found]:
    types = [column.schema[0] for column in columns]
    asked = [Aggregation("summary" if has_pictures(column_type) else "count_missing", (place,)) for place, column_type in enumerate(types)]
    of_numbers = [place for place, source in enumerate(sources) if source.schema[0].is_numeric]
    parts = reduce_values(zip_columns(*sources), [*asked, *(Aggregation("finite_range", (place,)) for place in of_numbers)])
    extents = {place: extent_of(part) for place, part in zip(of_numbers, parts[len(columns) :], strict=True)}
    found = []
    for place, (column_type, part) in enumerate(zip(types, parts, strict=False)):
        if has_pictures(column_type):
            found.append(_Found(column_type, part["missing"], part, extents.get(place)))
        else:
            found.append(_Found(column_type, int(part), None, None))
    return found


def _labels(sources: Sequence[PlannerNode], found: Sequence[_Found]) -> dict[int, list[dict[str, Any]]]:
    """The most frequent values of each column of texts."""
    summaries = {place: one.summary for place, one in enumerate(found) if one.summary is not None and one.extent is None}
    labels: dict[int, list[dict[str, Any]]] = {}
    for places in _groups(list(summaries)):
        tops = most_frequent(zip_columns(*(sources[place] for place in places)), [summaries[place] for place in places])
        labels.update({place: frequency_table(top) for place, top in zip(places, tops, strict=True)})
    return labels


def _of_numbers(sources: Sequence[PlannerNode], found: Sequence[_Found]) -> dict[int, tuple[list[dict[str, Any]], tuple[float, ...]]]:
    """The bars of a histogram and the quartiles of each column of numbers: from the different values where they are few, else from further passes."""
    shown: dict[int, tuple[list[dict[str, Any]], tuple[float, ...]]] = {}
    searched: list[Quantile] = []
    bins_of: dict[int, Bins] = {}
    for place, one in enumerate(found):
        extent = one.extent
        if extent is None or one.summary is None or not extent.numbers:
            continue
        bins = bins_for(extent, one.column_type)
        if one.summary["counted"] is not None:
            shown[place] = _of_few(one.summary["counted"], bins, extent)
            continue
        bins_of[place] = bins
        fine, span = guarded(bins.finer(PARTS_OF_A_BAR)), extent.largest - extent.least
        searched += [Quantile(place, place_of(extent.numbers, share), fine, span, one.column_type.kind) for share in QUARTILES]
    first = find_quantiles(searched, lambda asked: _counts(sources, asked))
    for (place, _), counts in first.items():
        quartiles = tuple(quantile.number for quantile in searched if quantile.owner == place)
        # A number at an edge may be counted on either side of it.
        inside = np.concatenate([[counts[0] + counts[1]], counts[2:-2], [counts[-2] + counts[-1]]])
        shown[place] = bars(bins_of[place], inside.reshape(-1, PARTS_OF_A_BAR).sum(axis=1).tolist()), quartiles
    return shown


def _of_few(counted: dict[float, int], bins: Bins, extent: Extent) -> tuple[list[dict[str, Any]], tuple[float, ...]]:
    pairs = sorted((float(value), count) for value, count in counted.items() if math.isfinite(value))
    values, weights = np.array([value for value, _ in pairs]), np.array([count for _, count in pairs])
    cumulative = np.cumsum(weights)
    quartiles = tuple(float(values[np.searchsorted(cumulative, place_of(extent.numbers, share), side="right")]) for share in QUARTILES)
    return bars(bins, np.bincount(bin_numbers(values, *bins.parameters), weights, bins.count).tolist()), quartiles


def _counts(sources: Sequence[PlannerNode], asked: Sequence[Asked]) -> list[np.ndarray]:
    counts: list[np.ndarray] = []
    for part in _groups(asked):
        places = list(dict.fromkeys(place for place, _ in part))
        columns = zip_columns(*(sources[place] for place in places))
        aggregations = [Aggregation("histogram", (places.index(place),), bins.parameters) for place, bins in part]
        counts += [np.asarray(found).astype(np.int64) for found in reduce_values(columns, aggregations)]
    return counts


def _groups(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + BINS_AT_ONCE] for start in range(0, len(items), BINS_AT_ONCE)]
