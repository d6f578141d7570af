"""The base classes of sources and readers, the source of stored segments, and what statistics say about the order of a source's rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, PlanInvariantError, StorageError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.paths_and_uris import is_remote_location, location_of
from sframe_spark.planner.chunk import Chunk, combine
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_declarations import NO_EXCHANGE, SparkCost
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.process.memory import batch_bytes
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder, projected_order

with lazy_imports(globals()):
    from sframe_spark.operators.sources.segments_read_in_spark import segments_in_range
    from sframe_spark.order import OrderingProperties
    from sframe_spark.order.order_facts import Ordering
    from sframe_spark.order.properties import RelationProperties, requirement
    from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
    from sframe_spark.planner.spark_relation import LoweringContext, Relation
    from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
    from sframe_spark.storage.segments.column_statistics_collection import merge, of_some_rows
    from sframe_spark.storage.segments.decoded_column_cache import last_pack_start, packed_rows
    from sframe_spark.storage.segments.reader import last_group_start
    from sframe_spark.storage.segments.row_group_read_ahead import Cursor, DecodedPart

# At most this many orderings are recorded in a manifest, which matters for very wide frames.
MAX_RECORDED = 64
Statistics = tuple[ColumnStatistics, ...]

# At most this many interleaved sequential scans of one source in a plan have a decoder of their own.
MAX_SCANS = 4


class Reader:
    """Reads row ranges of a source during one run of a plan.

    Parameters
    ----------
    source
        The source to read.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows ``start`` (inclusive) to ``stop`` (exclusive) of the source."""
        return self.source.read(start, stop)

    def bytes_between(self, start: int, stop: int) -> float:
        """Return the estimated bytes in memory of rows that will be read next."""
        return self.source.bytes_between(start, stop)

    def close(self) -> None:
        """Release decoded rows, because nothing more will be read soon."""


class SegmentReader(Reader):
    """Reads stored rows. In a sequential scan, from its second range on, each row group is decoded once.

    Several scans may be interleaved at a distance, for instance of a column and of the same column shifted.

    Parameters
    ----------
    source
        The source to read.
    threads
        Number of threads that decode ahead.
    max_bytes
        Row groups larger than this are decoded in steps.
    coded
        Output columns of strings that may be returned dictionary-encoded.
    """

    def __init__(self, source: SegmentSource, threads: int, max_bytes: int, coded: Iterable[int] = ()) -> None:
        super().__init__(source)
        self._stored = source
        self._threads, self._max_bytes = threads, max_bytes
        self._coded = frozenset(source.positions[position] for position in coded)
        # For each scan the latest range (start and stop) and its cursor; the most recently used scan comes last.
        self._scans: list[tuple[int, int, Cursor]] = []

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows of the source, taken from rows that were decoded before if possible."""
        first, last = self._stored.start + start, min(self._stored.start + stop, self._stored.stop)
        if not self._stored.positions or first >= last:
            return self._stored.read(start, stop)
        packed = self._stored.packed(first, last)
        if packed is not None:
            return packed
        candidates = [scan for scan in self._scans if follows(scan[:2], first, last) or scan[2].can_go_on(first)]
        if not candidates:
            # The first range of a possible scan is read directly.
            cursor = self._cursor(len(self._scans)) if len(self._scans) < MAX_SCANS else self._scans.pop(0)[2]
            cursor.close()
            self._scans.append((first, last, cursor))
            return self._stored.read(start, stop)
        scan = min(candidates, key=lambda scan: abs(scan[1] - first))
        self._scans.remove(scan)
        self._scans.append((first, last, scan[2]))
        return self._stored.chunk_of(self._columns(scan[2].read(first, last)), first, last)

    def _cursor(self, number: int) -> Cursor:
        """Return a cursor for the scan with this number.

        Later scans decode less at a time, so that all together decode about twice as much as the first.
        """
        stored, threads = self._stored, 0 if number else self._threads
        return Cursor(
            stored.manifest, stored.positions, stored.stop, partial(size_between, stored), self._max_bytes / (number + 1), threads, self._coded
        )

    def read_batches(self) -> Iterator[Chunk]:
        """Yield all rows, in batches as they are decoded."""
        first, stop = self._stored.start, self._stored.stop
        if first == stop or not self._stored.positions:
            yield self._stored.read_all()
            return
        cursor = self._cursor(0)
        try:
            for part in cursor.rest(first, config.batch_rows):
                last = first + len(part[0])
                yield self._stored.chunk_of(self._columns([part]), first, last)
                first = last
        finally:
            cursor.close()
        if first != stop:
            raise PlanInvariantError(f"reading {self._stored.manifest.directory} up to row {stop} ended with row {first}")

    def close(self) -> None:
        for _, _, cursor in self._scans:
            cursor.close()

    def _columns(self, parts: list[DecodedPart]) -> list[pa.ChunkedArray]:
        kinds = [kind.physical for kind in self._stored.infer_type(())]
        if self._coded:
            parts = [list(part) for part in zip(*map(alike, zip(*parts, strict=True)), strict=True)]
            kinds = [values.type for values in parts[0]] if parts else kinds
        return [pa.chunked_array([part[position] for part in parts], kind) for position, kind in enumerate(kinds)]


def alike(parts: Sequence[pa.Array]) -> Sequence[pa.Array]:
    """Return the arrays of a string column, all decoded unless all are dictionary-encoded.

    Examples
    --------
    >>> coded = pa.array(["a"]).dictionary_encode()
    >>> [part.type == pa.string() for part in alike([coded, pa.array(["b"])])], alike([coded, coded])[0] is coded
    ([True, True], True)
    """
    if len({part.type for part in parts}) == 1:
        return parts
    return [part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts]


def follows(before: tuple[int, int], first: int, last: int) -> bool:
    """Return whether a range continues an earlier one: it starts in the earlier range, or after a gap no longer than itself, and ends no earlier.

    Examples
    --------
    >>> follows((0, 10), 8, 18), follows((0, 10), 20, 30), follows((0, 10), 21, 30), follows((5, 10), 0, 5)
    (True, True, False, False)
    """
    return before[0] <= first <= before[1] + (last - first) and before[1] <= last


def size_between(source: SegmentSource, first: int, last: int) -> float | None:
    """Return the estimated bytes in memory of rows ``first`` to ``last`` of a dataset, in the columns of a source; None if unknown."""
    sizes = source.sizes_between(first - source.start, last - source.start)
    return None if None in sizes else row_bytes(sizes, 0)


# Bytes decoded at a time when all rows are read; far below 2 GiB, the most bytes of strings that an array can hold.
MAX_CHUNK_BYTES = 256 << 20
Saved = TypeVar("Saved")


class Watched(Protocol):
    """External files from which rows are read, and which are checked for changes."""

    @property
    def identity(self) -> Hashable:
        """A value that identifies the files."""

    def require_unchanged(self) -> None:
        """Raise an error if a file has changed."""


@attrs.frozen
class Source(Operator):
    """Base class of operators without inputs that provide rows by index."""

    arity: ClassVar[int | None] = 0
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    is_source: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = NO_EXCHANGE

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows ``start`` (inclusive) to ``stop`` (exclusive) of the source.

        Raises
        ------
        PlanInvariantError
            If the source does not define this method.
        """
        raise PlanInvariantError(f"source {self.name!r} cannot be read by row range")

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """Return a reader for one run of a plan; ``threads`` decode ahead, and the string columns ``coded`` may be returned dictionary-encoded."""
        return Reader(self)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """Yield all rows in order, in batches, for a consumer that keeps them and does not need each column as one array."""
        yield self.read_all()

    @property
    def row_count(self) -> int:
        """Number of rows, which every source knows."""
        return self.infer_length(()).known_rows

    def read_all(self) -> Chunk:
        """Return all rows of the source."""
        return self.read(0, self.row_count)

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the mean sizes of the columns, from :meth:`planned_sizes_between`."""
        fixed = tuple(fixed_size(kind) for kind in schema)
        rows = self.row_count
        if None not in fixed or not rows:
            return fixed if rows else (0.0,) * len(schema)
        return tuple(None if size is None else size / rows for size in self.planned_sizes_between(0, rows))

    def planned_sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the sizes of :meth:`sizes_between`, or coarser estimates if these need no file to be opened."""
        return self.sizes_between(start, stop)

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the estimated bytes in memory of rows ``start`` to ``stop``, column by column; None for a column if unknown."""
        return tuple(None if size is None else size * (stop - start) for size in (fixed_size(kind) for kind in self.infer_type(())))

    def bytes_between(self, start: int, stop: int) -> float:
        """Return the estimated bytes in memory of rows ``start`` to ``stop``, without columns of unknown size."""
        return row_bytes(self.sizes_between(start, stop), 0)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return order, constants, keys and bounds of the rows, from the statistics of the columns and the recorded order."""
        statistics = dict(enumerate(source_statistics(self)))
        recorded = projected_order(self.recorded, self.exposed)
        copies: dict[int, list[int]] = {}
        for column, position in enumerate(self.exposed):
            copies.setdefault(position, []).append(column)
        order = OrderingProperties(
            constants=[column for column, column_facts in statistics.items() if column_facts.constant],
            equivalences=[columns for columns in copies.values() if len(columns) > 1],
            orderings=[
                *[[(column, "asc")] for column, column_facts in statistics.items() if column_facts.ascending],
                *[[(column, "desc")] for column, column_facts in statistics.items() if column_facts.descending],
                *(requirement(ordering) for ordering in recorded.orderings),
            ],
            keys=[
                *[[column] for column, column_facts in statistics.items() if column_facts.strictly_ascending or column_facts.strictly_descending],
                *recorded.keys,
            ],
            not_null=[column for column, column_facts in statistics.items() if column_facts.has_missing is False],
        )
        bounds = {
            column: (column_facts.minimum, column_facts.maximum)
            for column, column_facts in statistics.items()
            if column_facts.bounds_known and column_facts.has_missing is False and column_facts.has_nan is False and column_facts.minimum is not None
        }
        return RelationProperties(order, bounds=bounds)

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return statistics of each column; empty if nothing is known about any column."""
        return ()

    def saved_by(self, save: Callable[[Source], Saved]) -> Saved:
        """Return the result of ``save``, called with this source, or with a source of the same rows that is faster to save."""
        return save(self)

    @property
    def exposed(self) -> Sequence[int]:
        """The stored column of each output column; empty if unknown."""
        return ()

    @property
    def stored_names(self) -> Sequence[str]:
        """Names of all stored columns in an external format that has names; empty if there are none."""
        return ()

    @property
    def recorded(self) -> RecordedOrder:
        """The recorded order of the stored rows, in positions of the stored columns."""
        return NO_RECORDED_ORDER

    @property
    def watched(self) -> Watched | None:
        """External files that may change while they are used; None if there are none, or if a manifest has their checksums."""
        return None

    @property
    def shared_file(self) -> str | None:
        """A file that Spark's processes must be able to read, if the rows are in a file that no manifest lists; otherwise None."""
        return None

    def write_segments(self, directory: str) -> list[SegmentEntry]:
        """Write all rows as segments into a directory, using threads of this process, and return their entries; for sources with ``decodes`` only."""
        raise PlanInvariantError(f"source {self.name!r} does not write its rows")

    def batch_end(self, start: int, stop: int) -> int:
        """Return where to end a batch of rows: ``stop``, or the last row before it at which a new unit of storage starts."""
        return stop

    def rows_between(self, start: int, stop: int) -> Source | None:
        """Return a source of only these rows; None if the source does not support that."""
        return None

    def with_columns(self, positions: Sequence[int]) -> Source | None:
        """Return a source of only these columns; None if the source does not support that."""
        return None


@attrs.frozen
class TableSource(Source):
    """Base class of sources that are some columns and one range of rows of a table."""

    if TYPE_CHECKING:
        positions: tuple[int, ...]
        start: int
        stop: int

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.stop - self.start)

    @property
    def exposed(self) -> Sequence[int]:
        return self.positions

    def rows_between(self, start: int, stop: int) -> Self:
        return attrs.evolve(self, start=self.start + start, stop=self.start + stop)  # type: ignore[call-arg]

    def with_columns(self, positions: Sequence[int]) -> Self:
        return attrs.evolve(self, positions=tuple(self.positions[position] for position in positions))  # type: ignore[call-arg]


@register
@attrs.frozen(cache_hash=True)
class SegmentSource(TableSource):
    """Rows of a dataset of Parquet segments: some columns and one range of rows."""

    name: ClassVar[str] = "segment_source"
    manifest: Manifest = attrs.field(eq=lambda manifest: manifest.identity)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    @classmethod
    def of(cls, manifest: Manifest, handle: Any = None) -> SegmentSource:
        """Return a source of all rows and columns; ``handle`` keeps a temporary dataset from being deleted."""
        return cls(manifest, tuple(range(len(manifest.types))), 0, manifest.rows, handle)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(self.manifest.types[position] for position in self.positions)

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows; only the segments that hold them are opened."""
        from sframe_spark.storage.segments.reader import read_rows

        first, last = self.start + start, max(self.start + start, min(self.start + stop, self.stop))
        packed = self.packed(first, last)
        return self.chunk_of(read_rows(self.manifest, self.positions, first, last).columns, first, last) if packed is None else packed

    def packed(self, first: int, last: int) -> Chunk | None:
        """Return rows ``first`` to ``last`` from memory, if the dataset has many short segments, which are cached; None for other datasets."""
        result = packed_rows(self.manifest, self.positions, first, last) if self.positions and first < last else None
        return None if result is None else self.chunk_of(result, first, last)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """Return a reader that decodes each row group once in sequential scans."""
        return SegmentReader(self, threads, batch_bytes(), coded)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """Yield all rows as they are decoded, one row group at a time, or a part of a very large one."""
        return SegmentReader(self, threads, MAX_CHUNK_BYTES).read_batches()

    def chunk_of(self, columns: Sequence[pa.ChunkedArray], first: int, last: int) -> Chunk:
        """Return a chunk of columns that were read as rows ``first`` to ``last`` of the dataset.

        Raises
        ------
        PlanInvariantError
            If a column has a different number of rows.
        """
        for column in columns:
            if len(column) != last - first:
                raise PlanInvariantError(f"reading rows {first}..{last} of {self.manifest.directory} gave {len(column)}")
        return Chunk(tuple(map(combine, columns)), last - first)

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return the recorded statistics. If the range of rows cuts a segment, only what holds for any subset of its rows is kept."""
        manifest = self.manifest
        if manifest.stored is not None:
            # For a subset the summary of all segments is used, so that the statistics of many segments need not be loaded.
            recorded = [manifest.stored.summary[position] for position in self.positions]
            is_whole = (self.start, self.stop) == (0, manifest.rows)
        else:
            segments = segments_in_range(self)
            if not segments or any(len(entry.columns) != len(manifest.types) for _, entry in segments):
                return ()
            recorded = [merge([entry.columns[position] for _, entry in segments]) for position in self.positions]
            is_whole = segments[0][0] >= self.start and segments[-1][0] + segments[-1][1].rows <= self.stop
        return recorded if is_whole else [of_some_rows(column) for column in recorded]

    @property
    def recorded(self) -> RecordedOrder:
        """The order that the manifest records."""
        return self.manifest.order

    def batch_end(self, start: int, stop: int) -> int:
        """Return the last start of a row group, or of a pack of short segments, so that no row group has to be decoded twice."""
        first, last = self.start + start, self.start + stop
        result = last_pack_start(self.manifest, first, last)
        return (last_group_start(self.manifest, first, last) if result is None else result) - self.start

    def with_ordering(self, ordering: tuple[tuple[int, bool], ...]) -> SegmentSource:
        """Return a source of the same rows, which are known to be in one more order of the dataset's columns."""
        return attrs.evolve(self, manifest=self.manifest.with_order(self.manifest.order.and_ordering(ordering)))

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return sizes by type for fixed-width columns; for others from footers, and from a sample of rows if the encoding shortens values."""
        return self._with_measured(super().sizes_between(start, stop), start, stop)

    def planned_sizes_between(self, start: int, stop: int) -> Sizes:
        """Return sizes by type for fixed-width columns, for others from the manifest, and for those that it does not record from footers."""
        from sframe_spark.storage.segments.row_sizes import recorded_bytes

        sizes = super().sizes_between(start, stop)
        if None not in sizes:
            return sizes
        recorded = recorded_bytes(self.manifest, self.positions, self.start + start, min(self.start + stop, self.stop))
        return self._with_measured([known if size is None else size for size, known in zip(sizes, recorded, strict=True)], start, stop)

    def _with_measured(self, known: Sequence[float | None], start: int, stop: int) -> Sizes:
        """Return sizes of columns, with those that are unknown from footers and samples of rows."""
        from sframe_spark.storage.segments.row_sizes import column_bytes

        unknown = [position for position, size in zip(self.positions, known, strict=True) if size is None]
        if not unknown or not self.manifest.has_sizes:
            return tuple(known)
        measured = iter(column_bytes(self.manifest, unknown, self.start + start, min(self.start + stop, self.stop)))
        return tuple(next(measured) if size is None else size for size in known)

    def as_read(self) -> SegmentSource:
        """Check that the files are in the directory and have the recorded lengths, and drop what the plan claims about the order of rows."""
        from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import with_current_states, with_saved_checksums
        from sframe_spark.storage.datasets.numbered_versions_of_remote_frames import with_version_checksums
        from sframe_spark.storage.external.parquet_footers_to_manifest import with_remote_states
        from sframe_spark.storage.filesystem.local_files import states_below

        manifest = self.manifest
        if location_of(manifest.directory) != manifest.directory:
            raise StorageError(f"the plan reads from {manifest.directory!r:.200}, which is not an absolute path: write it out")
        if not all(0 <= position < len(manifest.types) for position in self.positions):
            raise InvalidArgumentError(f"the plan's text names columns that {manifest.directory} does not have: {list(self.positions)!r:.200}")
        check_range(self.start, self.stop, manifest.rows)
        unordered = manifest.with_order(NO_RECORDED_ORDER).with_second_orders(())
        if is_remote_location(manifest.directory):
            result = with_version_checksums(unordered) if manifest.has_key else with_remote_states(unordered)
            return attrs.evolve(self, manifest=result)
        states = states_below(manifest.directory)
        for entry in manifest.segments:
            if entry.size is None or entry.file not in states or states[entry.file].size != entry.size:
                raise StorageError(f"the plan reads {entry.file!r:.200} in {manifest.directory}, where no such file has {entry.size} bytes")
        return attrs.evolve(self, manifest=with_current_states(with_saved_checksums(unordered), states))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a Parquet scan of the segments in range, with order and row number from the stored key."""
        from sframe_spark.operators.sources.segments_read_in_spark import scan_segments

        return scan_segments(self, context)

    def describe(self) -> str:
        return f"{self.manifest.called}, columns {list(self.positions)}, rows {self.start}..{self.stop}"


def source_of(node: PlannerNode) -> Source:
    """Return the source of a leaf node.

    Raises
    ------
    PlanInvariantError
        If the node's operator is not a :class:`Source`.
    """
    if not isinstance(node.operator, Source):
        raise PlanInvariantError(f"{node.operator_type} is read as a source of rows, but it is none")
    return node.operator


def check_range(start: int, stop: int, rows: int) -> None:
    """Check a row range that a plan in JSON names.

    Raises
    ------
    InvalidArgumentError
        If the range does not lie within the ``rows`` rows of the source.
    """
    if not 0 <= start <= stop <= rows:
        raise InvalidArgumentError(f"the plan's text names the rows {start}..{stop} of a source of {rows}")


def segment_source(manifest: Manifest, handle: Any = None) -> PlannerNode:
    """Return a source node with all rows of a dataset."""
    return SegmentSource.of(manifest, handle).make_planner_node()


# Statistics and orders of columns.


def source_statistics(source: Source) -> Statistics:
    """Return the statistics of each column of a source; for a column about which nothing is known, statistics that say nothing."""
    return tuple(source.statistics()) or (UNKNOWN_STATISTICS,) * len(source.infer_type(()))


def recorded_order(node: PlannerNode) -> RecordedOrder:
    """Return the orderings and keys that are proved for a node's rows, to be recorded in a manifest; files that Spark writes record none."""
    if node.length.at_most is not None and node.length.at_most <= 1:
        # A single row is in every order, which the statistics of its columns record.
        return NO_RECORDED_ORDER
    return recordable_order(properties_of(node))


def recordable_order(rows: RelationProperties) -> RecordedOrder:
    """Return the orderings and keys of what is known about rows, as a manifest records them."""
    properties = rows.order
    orderings = [prefix for items in properties.orderings if (prefix := recordable_part(items))]
    keys = [tuple(column for column in key if isinstance(column, int)) for key in properties.keys if key]
    whole = [key for key, original in zip(keys, filter(None, properties.keys), strict=True) if len(key) == len(original)]
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
