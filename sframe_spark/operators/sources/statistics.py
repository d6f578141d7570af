"""Statistics and order properties of sources: recorded ones, and those computed in one pass over rows in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.operators.sources.spark_scan import segments_in_range
from sframe_spark.order import OrderingProperties
from sframe_spark.order.facts import Ordering
from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest.statistics import NO_RECORDED_ORDER, UNKNOWN_STATISTICS, ColumnStatistics, RecordedOrder, projected_order
from sframe_spark.storage.segments.statistics import column_statistics, merge, of_some_rows

if TYPE_CHECKING:
    from sframe_spark.operators.sources.generated import RangeSource
    from sframe_spark.operators.sources.memory import MemorySource
    from sframe_spark.operators.sources.source import SegmentSource, Source

# Statistics are computed only if at most so many cells must be scanned, at about 10 ns per float or string and 1 ns per int.
MAX_CELLS_SCANNED = 20_000_000
# Statistics of so many row ranges of a table are cached; the least recently used are evicted.
MAX_PARTS = 16
# At most so many orderings are recorded in a manifest, which matters for very wide frames.
MAX_RECORDED = 64

Statistics = tuple[ColumnStatistics, ...]


def source_statistics(source: Source) -> Statistics:
    """Return statistics of each column of a source: recorded when segments were written, or computed once for a table in memory."""
    return tuple(source.statistics()) or (UNKNOWN_STATISTICS,) * len(source.infer_type(()))


def segment_statistics(source: SegmentSource) -> Statistics:
    """Return the merged statistics of the segments in range. If the range cuts a segment, only what holds for any subset of rows is kept."""
    if source.manifest.stored is not None:
        # For a subset the summary of all segments is used, so that the statistics of many segments need not be loaded.
        summary = [source.manifest.stored.summary[position] for position in source.positions]
        return tuple(summary if (source.start, source.stop) == (0, source.manifest.rows) else map(of_some_rows, summary))
    chosen = [(offset, entry) for offset, entry in segments_in_range(source) if entry.rows]
    if not chosen or any(len(entry.columns) != len(source.manifest.types) for _, entry in chosen):
        return (UNKNOWN_STATISTICS,) * len(source.positions)
    whole = chosen[0][0] >= source.start and chosen[-1][0] + chosen[-1][1].rows <= source.stop
    merged = [merge([entry.columns[position] for _, entry in chosen]) for position in source.positions]
    return tuple(merged if whole else map(of_some_rows, merged))


def memory_statistics(source: MemorySource) -> Statistics:
    """Return statistics of arrays in memory, computed once per column, or recorded when the column was written for Spark."""
    data = source.data
    if source.start != 0 or source.stop != data.rows:
        return part_statistics(source)
    known = known_statistics(source)
    return tuple(known.get(position, UNKNOWN_STATISTICS) for position in source.positions)


def known_statistics(source: MemorySource) -> dict[int, ColumnStatistics]:
    """Return statistics of whole columns of a source's table, by position; columns that are too long to scan are left out."""
    data = source.data
    known: dict[int, ColumnStatistics] = data.remembered.setdefault("statistics", {})
    if source.stored is not None and not known.keys() >= set(source.positions):
        positions, segments = source.stored
        known |= {position: found for position, found in zip(positions, segment_statistics(segments), strict=True) if position not in known}
    unknown = set(source.positions) - known.keys()
    if data.rows * len(unknown) <= MAX_CELLS_SCANNED:
        known |= {position: column_statistics(data.column(position, 0, data.rows), source.types[position]) for position in unknown}
    return known


def part_statistics(source: MemorySource) -> Statistics:
    """Return statistics of a row range: computed if it is small enough to scan, otherwise what holds for any subset of the table."""
    data, rows = source.data, source.stop - source.start
    parts: dict[tuple[int, int], dict[int, ColumnStatistics]] = data.remembered.setdefault("statistics of parts", {})
    known = parts.pop((source.start, source.stop), {})
    unknown = set(source.positions) - known.keys()
    if rows * len(unknown) > MAX_CELLS_SCANNED:
        whole = known_statistics(source)
        return tuple(of_some_rows(whole.get(position, UNKNOWN_STATISTICS)) for position in source.positions)
    known |= {position: column_statistics(data.column(position, source.start, source.stop), source.types[position]) for position in unknown}
    for oldest in list(parts)[: max(0, len(parts) + 1 - MAX_PARTS)]:
        parts.pop(oldest, None)
    parts[source.start, source.stop] = known
    return tuple(known[position] for position in source.positions)


def range_statistics(source: RangeSource) -> ColumnStatistics:
    """Return the statistics of an arithmetic progression."""
    if not source.rows:
        return UNKNOWN_STATISTICS
    last = source.start + source.step * (source.rows - 1)
    return ColumnStatistics(
        ascending=source.step >= 0,
        descending=source.step <= 0,
        strictly_ascending=source.step > 0,
        strictly_descending=source.step < 0,
        constant=source.step == 0,
        has_missing=False,
        has_nan=False,
        edges_known=True,
        first=source.start,
        last=last,
        bounds_known=True,
        minimum=min(source.start, last),
        maximum=max(source.start, last),
    )


def source_properties(source: Source) -> RelationProperties:
    """Return order, constants, keys and bounds of a source's rows, from its statistics and its recorded order."""
    statistics = source_statistics(source)
    recorded = projected_order(source.recorded, source.exposed)
    facts = dict(enumerate(statistics))
    order = OrderingProperties(
        constants=[place for place, known in facts.items() if known.constant],
        equivalences=equal_columns(source),
        orderings=[
            *[[(place, "asc")] for place, known in facts.items() if known.ascending],
            *[[(place, "desc")] for place, known in facts.items() if known.descending],
            *[requirement(items) for items in recorded.orderings],
        ],
        keys=[*[[p] for p, known in facts.items() if known.strictly_ascending or known.strictly_descending], *recorded.keys],
        not_null=[place for place, known in facts.items() if known.has_missing is False],
    )
    bounds = {
        place: (known.minimum, known.maximum)
        for place, known in facts.items()
        if known.bounds_known and known.has_missing is False and known.has_nan is False and known.minimum is not None
    }
    return RelationProperties(order, bounds=bounds)


def equal_columns(source: Source) -> list[list[int]]:
    """Return groups of output columns that are copies of the same stored column."""
    places: dict[int, list[int]] = {}
    for place, position in enumerate(source.exposed):
        places.setdefault(position, []).append(place)
    return [group for group in places.values() if len(group) > 1]


def recorded_order(node: PlannerNode) -> RecordedOrder:
    """Return the orderings and keys that are proved for a node's rows, to be recorded in a manifest; files that Spark writes record none."""
    if node.length.at_most is not None and node.length.at_most <= 1:
        # A single row is in every order, which the statistics of its columns record.
        return NO_RECORDED_ORDER
    known = properties_of(node).order
    orderings = [prefix for items in known.orderings if (prefix := recordable_part(items))]
    keys = [tuple(column for column in key if isinstance(column, int)) for key in known.keys if key]
    whole = [key for key, original in zip(keys, filter(None, known.keys), strict=True) if len(key) == len(original)]
    return RecordedOrder(tuple(dict.fromkeys(orderings))[:MAX_RECORDED], tuple(whole[:MAX_RECORDED]))


def recordable_part(items: Ordering) -> tuple[tuple[int, bool], ...]:
    """Return the longest prefix of an ordering by output columns in which missing values are the smallest."""
    prefix: list[tuple[int, bool]] = []
    for item in items:
        smallest = "nulls_first" if item.direction == "asc" else "nulls_last"
        if not isinstance(item.column, int) or item.direction == "any" or item.nulls != smallest:
            break
        prefix.append((item.column, item.direction == "asc"))
    return tuple(prefix)
