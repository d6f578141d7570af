"""What is proved about the columns of a source before a row of it is read."""

from __future__ import annotations

from sframe_spark.operators.segment_scan import segments_in_range
from sframe_spark.operators.sources import MemorySource, RangeSource, SegmentSource, Source
from sframe_spark.storage.manifest import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.statistics import column_statistics, merge, of_some_rows

# Facts about rows in memory are found by looking at them, which pays for tables that are not huge.
MOST_CELLS_LOOKED_AT = 20_000_000

Statistics = tuple[ColumnStatistics, ...]


def source_statistics(source: Source) -> Statistics:
    """Facts about each column of a source, in row order.

    Segments recorded them when they were written; tables in memory are looked at once.
    """
    match source:
        case SegmentSource():
            return segment_statistics(source)
        case MemorySource():
            return memory_statistics(source)
        case RangeSource():
            return (range_statistics(source),)
        case _:
            return (UNKNOWN_STATISTICS,) * len(source.infer_type(()))


def segment_statistics(source: SegmentSource) -> Statistics:
    """Merged facts of the segments in range; only order survives where the range cuts a segment."""
    chosen = [(offset, entry) for offset, entry in segments_in_range(source) if entry.rows]
    if not chosen or any(len(entry.columns) != len(source.manifest.types) for _, entry in chosen):
        return (UNKNOWN_STATISTICS,) * len(source.positions)
    whole = chosen[0][0] >= source.start and chosen[-1][0] + chosen[-1][1].rows <= source.stop
    merged = [merge([entry.columns[position] for _, entry in chosen]) for position in source.positions]
    return tuple(merged if whole else map(of_some_rows, merged))


def memory_statistics(source: MemorySource) -> Statistics:
    """Facts about arrays in memory, found once per table."""
    data = source.data
    if data.rows * len(data.columns) > MOST_CELLS_LOOKED_AT:
        return (UNKNOWN_STATISTICS,) * len(source.positions)
    known: dict[int, ColumnStatistics] = data.remembered.setdefault("statistics", {})
    for position in source.positions:
        if position not in known:
            known[position] = column_statistics(data.columns[position], source.types[position])
    facts = [known[position] for position in source.positions]
    whole = source.start == 0 and source.stop == data.rows
    return tuple(facts if whole else map(of_some_rows, facts))


def range_statistics(source: RangeSource) -> ColumnStatistics:
    """Order and bounds of consecutive integers."""
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
