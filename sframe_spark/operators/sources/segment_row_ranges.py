"""The source of several row ranges of a dataset; rows between the ranges are not read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import attrs

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.sources.base_and_segment_source import Reader, SegmentSource, Source
from sframe_spark.operators.sources.segments_read_in_spark import KEY_BITS, dense_position, scan_segments
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.pruning import RowRange, joined
from sframe_spark.storage.segments.reader import intersecting
from sframe_spark.storage.segments.row_sizes import MAX_GROUPS, spread


@register
@attrs.frozen
class SegmentParts(Source):
    """Rows of a dataset of Parquet segments: some columns and several row ranges.

    Parameters
    ----------
    manifest, positions, handle
        As in :class:`SegmentSource`.
    ranges
        Row ranges of the dataset, ascending; none is empty or adjacent to another.
    """

    name: ClassVar[str] = "segment_parts"
    manifest: Manifest = attrs.field(eq=lambda manifest: manifest.identity)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    ranges: tuple[RowRange, ...] = attrs.field()
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    @property
    def whole(self) -> SegmentSource:
        """The source of all rows from the first to the last range, including the gaps."""
        return SegmentSource(self.manifest, self.positions, self.ranges[0][0], self.ranges[-1][1], self.handle)

    def as_read(self) -> SegmentParts:
        """As :meth:`SegmentSource.as_read`; also check that ranges are not empty and in order."""
        bounds = [bound for pair in self.ranges for bound in pair]
        if not bounds or any(len(pair) != 2 for pair in self.ranges) or any(low >= high for low, high in itertools.pairwise(bounds)):
            raise InvalidArgumentError(f"the plan's text reads the rows {list(self.ranges)!r:.200}, which are not ascending")
        return attrs.evolve(self, manifest=self.whole.as_read().manifest)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(self.manifest.types[position] for position in self.positions)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(sum(last - first for first, last in self.ranges))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of all rows from the first to the last range, which hold for any subset of the rows."""
        return self.whole.infer_properties(inputs, facts)

    def rows_of_dataset(self, start: int, stop: int) -> Iterator[RowRange]:
        """Yield the row ranges of the dataset that are rows ``start`` to ``stop`` of this source."""
        before = 0
        for first, last in self.ranges:
            low, high = max(start - before, 0), min(stop - before, last - first)
            if low < high:
                yield first + low, first + high
            before += last - first

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows; only the segments that hold them are opened."""
        return self.read_by(Reader(self.whole), start, stop)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """Return a reader that decodes each row group once in sequential reads. It decodes nothing ahead, which might be in a gap."""
        return PartsReader(self)

    def read_by(self, whole: Reader, start: int, stop: int) -> Chunk:
        """Return rows ``start`` to ``stop``, read with a reader of :attr:`whole`."""
        origin = self.ranges[0][0]
        parts = [whole.read(first - origin, last - origin) for first, last in self.rows_of_dataset(start, stop)]
        return concatenate(parts or [whole.read(0, 0)], self.infer_type(()))

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the sizes of rows; for many ranges they are extrapolated from an evenly spread sample."""
        return self._extrapolated(self.whole.sizes_between, start, stop)

    def planned_sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the sizes of rows as :meth:`sizes_between` does, from sizes in the manifest if it records them."""
        return self._extrapolated(self.whole.planned_sizes_between, start, stop)

    def _extrapolated(self, sizes_between: Callable[[int, int], Sizes], start: int, stop: int) -> Sizes:
        origin = self.ranges[0][0]
        ranges = list(self.rows_of_dataset(start, stop))
        chosen = spread(ranges, MAX_GROUPS)
        rows, seen = (sum(last - first for first, last in part_of_ranges) for part_of_ranges in (ranges, chosen))
        parts = [sizes_between(first - origin, last - origin) for first, last in chosen]
        columns = [[part[position] for part in parts] for position in range(len(self.positions))]
        return tuple(None if None in column else sum(size for size in column if size is not None) * rows / max(seen, 1) for column in columns)

    def rows_between(self, start: int, stop: int) -> Source:
        return parts_of(self.whole, list(self.rows_of_dataset(start, stop)))

    def with_columns(self, positions: Sequence[int]) -> SegmentParts:
        return attrs.evolve(self, positions=tuple(self.positions[position] for position in positions))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a Parquet scan of the segments that hold some of the rows, filtered by stored key."""
        from pyspark.sql import functions as F

        relation = scan_segments(self.scanned(), context)
        key = F.col(relation.key[0].name)
        row = dense_position(SegmentSource.of(self.manifest), key)
        in_range, position = F.lit(False), row - F.lit(self.ranges[0][0])
        for (first, last), before in zip(self.ranges, rows_before(self.ranges), strict=True):
            in_range = in_range | ((key >= F.lit(key_of_row(self.manifest, first))) & (key <= F.lit(key_of_row(self.manifest, last - 1))))
            position = F.when(row >= F.lit(first), row - F.lit(first - before)).otherwise(position)
        return attrs.evolve(relation, df=relation.df.where(in_range).withColumn(str(relation.position), position))

    def scanned(self) -> SegmentSource:
        """Return the source that Spark scans: all rows of the segments that hold some of the rows."""
        files = {entry.file for first, last in self.ranges for entry, _, _ in intersecting(self.manifest, first, last)}
        opened = self.manifest.with_segments(tuple(entry for entry in self.manifest.segments if entry.file in files))
        return SegmentSource(opened, self.positions, 0, opened.rows, self.handle)

    def describe(self) -> str:
        rows = ", ".join(f"{first}..{last}" for first, last in self.ranges)
        return f"{self.manifest.called}, columns {list(self.positions)}, rows {rows}"


class PartsReader(Reader):
    """Reads the ranges of a :class:`SegmentParts` with a reader of :attr:`SegmentParts.whole`."""

    def __init__(self, source: SegmentParts) -> None:
        super().__init__(source)
        self._parts, self._whole = source, source.whole.reader()

    def read(self, start: int, stop: int) -> Chunk:
        return self._parts.read_by(self._whole, start, stop)

    def close(self) -> None:
        self._whole.close()


# The sources whose rows a manifest describes.
STORED_ROWS = (SegmentSource, SegmentParts)


def scanned(operator: SegmentSource | SegmentParts) -> SegmentSource:
    """Return the source that Spark scans to read the rows of a stored source."""
    return operator.scanned() if isinstance(operator, SegmentParts) else operator


def lacks_key(operator: Operator) -> bool:
    """Return whether an operator reads external files, whose rows have no stored key."""
    return isinstance(operator, STORED_ROWS) and not operator.manifest.has_key


def parts_of(source: SegmentSource, ranges: Sequence[RowRange]) -> Source:
    """Return a source of some row ranges of a dataset: a :class:`SegmentSource` if at most one range remains after adjacent ranges are joined."""
    merged = tuple(joined(ranges))
    if len(merged) > 1:
        return SegmentParts(source.manifest, source.positions, merged, source.handle)
    first, last = merged[0] if merged else (source.start, source.start)
    return attrs.evolve(source, start=first, stop=last)


def rows_before(ranges: Sequence[RowRange]) -> list[int]:
    """Return the number of rows before each range.

    Examples
    --------
    >>> rows_before([(0, 5), (8, 9), (20, 30)])
    [0, 5, 6]
    """
    return [0, *accumulate(last - first for first, last in ranges)][:-1]


def key_of_row(manifest: Manifest, row: int) -> int:
    """Return the stored key of a row of a dataset."""
    entry, low, _ = next(intersecting(manifest, row, row + 1))
    return (entry.number << KEY_BITS) + entry.first_position + low
