"""Sources: operators without inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, PlanInvariantError, StorageError
from sframe_spark.locations import is_remote_location, location_of
from sframe_spark.operators.sources.statistics import segment_statistics, source_properties
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, combine
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import NO_WORK, Operator, QueryWork
from sframe_spark.planner.parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
from sframe_spark.process.memory import batch_bytes
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.statistics import NO_RECORDED_ORDER, ColumnStatistics, RecordedOrder
from sframe_spark.storage.segments.reader import last_group_start
from sframe_spark.storage.segments.row_group_decoder import Cursor, DecodedPart, last_pack_start, packed_rows

# Those who read sources for one plan: rows that follow those read last are not looked for anew.

# So many ranges, some way behind each other, are read in turn by plans that are not odd.
MAX_SCANS = 4


class Reader:
    """Reads a source by row numbers, for one plan.

    Parameters
    ----------
    source
        The source.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` (inclusive) to ``stop`` (exclusive) of the source."""
        return self.source.read(start, stop)

    def bytes_between(self, start: int, stop: int) -> float:
        """About how many bytes rows that are to be read next take in memory."""
        return self.source.bytes_between(start, stop)

    def close(self) -> None:
        """Nothing more is read soon."""


class SegmentReader(Reader):
    """Reads stored rows; from the second of ranges that follow or overlap each other on, each row group is decoded once.

    Several may go through the rows at once, some way behind each other: a column and the same one shifted.

    Parameters
    ----------
    source
        The source.
    threads
        How many decode rows that were not asked for yet.
    max_bytes
        Row groups that take more are decoded in steps.
    coded
        Places of columns of texts that may come as numbers in a dictionary.
    """

    def __init__(self, source: SegmentSource, threads: int, max_bytes: int, coded: Iterable[int] = ()) -> None:
        super().__init__(source)
        self._stored = source
        self._threads, self._max_bytes = threads, max_bytes
        self._coded = frozenset(source.positions[place] for place in coded)
        # The range that was read last by each who goes through the rows, and what it reads with; who was last asked for comes last.
        self._scans: list[tuple[int, int, Cursor]] = []

    def read(self, start: int, stop: int) -> Chunk:
        """Rows of the source, from what was decoded before where it is there."""
        first, last = self._stored.start + start, min(self._stored.start + stop, self._stored.stop)
        if not self._stored.positions or first >= last:
            return self._stored.read(start, stop)
        packed = self._stored.packed(first, last)
        if packed is not None:
            return packed
        found = [scan for scan in self._scans if follows(scan[:2], first, last) or scan[2].can_go_on(first)]
        if not found:
            # One range alone is not where somebody goes through the rows.
            cursor = self._cursor(len(self._scans)) if len(self._scans) < MAX_SCANS else self._scans.pop(0)[2]
            cursor.close()
            self._scans.append((first, last, cursor))
            return self._stored.read(start, stop)
        scan = min(found, key=lambda scan: abs(scan[1] - first))
        self._scans.remove(scan)
        self._scans.append((first, last, scan[2]))
        return self._stored.chunk_of(self._columns(scan[2].read(first, last)), first, last)

    def _cursor(self, number: int) -> Cursor:
        """All of them together decode about twice as much at a time as one may."""
        stored, threads = self._stored, 0 if number else self._threads
        return Cursor(
            stored.manifest, stored.positions, stored.stop, partial(size_between, stored), self._max_bytes / (number + 1), threads, self._coded
        )

    def read_batches(self) -> Iterator[Chunk]:
        """All rows, in pieces as they are decoded."""
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
        return [pa.chunked_array([part[place] for part in parts], kind) for place, kind in enumerate(kinds)]


def alike(parts: Sequence[pa.Array]) -> Sequence[pa.Array]:
    """Texts of a column, as numbers in dictionaries only if all parts are.

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
    """Say whether a range follows one, overlaps its end, or comes after a gap that has no more rows than it, which are decoded with it.

    Examples
    --------
    >>> follows((0, 10), 8, 18), follows((0, 10), 20, 30), follows((0, 10), 21, 30), follows((5, 10), 0, 5)
    (True, True, False, False)
    """
    return before[0] <= first <= before[1] + (last - first) and before[1] <= last


def size_between(source: SegmentSource, first: int, last: int) -> float | None:
    """About how many bytes the rows of a dataset between two take in memory, of the columns of a source; None where nobody knows."""
    sizes = source.sizes_between(first - source.start, last - source.start)
    return None if None in sizes else row_bytes(sizes, 0)


# What is decoded at once for who keeps all rows: an array holds 2 GiB of texts.
MAX_CHUNK_BYTES = 256 << 20
Saved = TypeVar("Saved")


class Watched(Protocol):
    """Files of others that rows are read from."""

    @property
    def identity(self) -> Hashable:
        """What tells them from others."""

    def require_unchanged(self) -> None:
        """Make sure that they are as they were."""


@attrs.frozen
class Source(Operator):
    """An operator that provides rows by number."""

    arity: ClassVar[int | None] = 0
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    is_source: ClassVar[bool] = True

    @property
    def query_work(self) -> QueryWork | None:
        """Rows are scanned where they are."""
        return NO_WORK

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` (inclusive) to ``stop`` (exclusive) of the source.

        Raises
        ------
        PlanInvariantError
            If the source does not define it.
        """
        raise PlanInvariantError(f"source {self.name!r} cannot be read by row range")

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """One that reads rows for one plan; ``threads``: how many decode rows that were not asked for yet.

        Texts of the columns at the places ``coded`` may come as numbers in a dictionary.
        """
        return Reader(self)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """All rows in order, for who keeps them, but not each column in one array."""
        yield self.read_all()

    @property
    def row_count(self) -> int:
        """Number of rows: every source knows it."""
        return self.infer_length(()).known_rows

    def read_all(self) -> Chunk:
        """All rows of the source."""
        return self.read(0, self.row_count)

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """What the rows themselves tell."""
        fixed = tuple(map(fixed_size, schema))
        rows = self.row_count
        if None not in fixed or not rows:
            return fixed if rows else (0.0,) * len(schema)
        return tuple(None if size is None else size / rows for size in self.sizes_between(0, rows))

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Bytes that some rows take in memory, column by column, about."""
        return tuple(None if size is None else size * (stop - start) for size in map(fixed_size, self.infer_type(())))

    def bytes_between(self, start: int, stop: int) -> float:
        """Those of all columns."""
        return row_bytes(self.sizes_between(start, stop), 0)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """What was recorded when the rows were written, or what a look at rows in memory tells."""
        return source_properties(self)

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Facts about each column, in row order; none where nothing is known of any."""
        return ()

    def saved_by(self, save: Callable[[Source], Saved]) -> Saved:
        """Let all rows be saved; a source that learns what its types are by decoding them has itself saved with these."""
        return save(self)

    @property
    def exposed(self) -> Sequence[int]:
        """Of which columns of what is stored or held its own are; none where that is not told."""
        return ()

    @property
    def stored_names(self) -> Sequence[str]:
        """Names of all columns of what is stored, where a format of others has them."""
        return ()

    @property
    def recorded(self) -> RecordedOrder:
        """The order recorded of what is stored or held, in terms of all its columns."""
        return NO_RECORDED_ORDER

    @property
    def watched(self) -> Watched | None:
        """What others may change while it is in use; None where nobody does, or the check sums of a manifest tell of it."""
        return None

    @property
    def shared_file(self) -> str | None:
        """A file that Spark's processes have to see, if the rows are in files that no manifest names."""
        return None

    def write_segments(self, directory: str) -> list[SegmentEntry]:
        """Of a source that ``decodes``: write all rows as segments into a directory, by threads of this process, and return their entries."""
        raise PlanInvariantError(f"source {self.name!r} does not write its rows")

    def batch_end(self, start: int, stop: int) -> int:
        """Where to end a batch of rows: at ``stop``, or at the last place before it from which reading begins afresh."""
        return stop

    def rows_between(self, start: int, stop: int) -> Source | None:
        """The source of only these rows, or None when the source has no such form."""
        return None

    def with_columns(self, positions: Sequence[int]) -> Source | None:
        """The source of only these columns, or None when the source has no such form."""
        return None


@register
@attrs.frozen(cache_hash=True)
class SegmentSource(Source):
    """Rows of a dataset of Parquet segments: some of its columns, a range of its rows."""

    name: ClassVar[str] = "segment_source"
    manifest: Manifest = attrs.field(eq=lambda manifest: manifest.identity)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    @classmethod
    def of(cls, manifest: Manifest, handle: Any = None) -> SegmentSource:
        """A source of all rows and columns; ``handle`` keeps a temporary dataset alive."""
        return cls(manifest, tuple(range(len(manifest.types))), 0, manifest.rows, handle)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(self.manifest.types[position] for position in self.positions)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.stop - self.start)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows from the segments that hold them; no others are opened."""
        from sframe_spark.storage.segments.reader import read_rows

        first, last = self.start + start, max(self.start + start, min(self.start + stop, self.stop))
        packed = self.packed(first, last)
        return self.chunk_of(read_rows(self.manifest, self.positions, first, last).columns, first, last) if packed is None else packed

    def packed(self, first: int, last: int) -> Chunk | None:
        """Rows ``first`` to ``last`` of the dataset, of many short segments, whose columns stay in memory; None of other datasets."""
        found = packed_rows(self.manifest, self.positions, first, last) if self.positions and first < last else None
        return None if found is None else self.chunk_of(found, first, last)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """One that decodes each row group once for who reads rows in order."""
        return SegmentReader(self, threads, batch_bytes(), coded)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """All rows as they are decoded: pieces are as long as row groups, of very long ones shorter."""
        return SegmentReader(self, threads, MAX_CHUNK_BYTES).read_batches()

    def chunk_of(self, columns: Sequence[pa.ChunkedArray], first: int, last: int) -> Chunk:
        """Columns that were read as rows ``first`` to ``last`` of the dataset, if they have as many.

        Raises
        ------
        PlanInvariantError
            If they have more or fewer.
        """
        for column in columns:
            if len(column) != last - first:
                raise PlanInvariantError(f"reading rows {first}..{last} of {self.manifest.directory} gave {len(column)}")
        return Chunk(tuple(map(combine, columns)), last - first)

    def statistics(self) -> Sequence[ColumnStatistics]:
        """What was recorded when the rows were written."""
        return segment_statistics(self)

    @property
    def exposed(self) -> Sequence[int]:
        return self.positions

    @property
    def recorded(self) -> RecordedOrder:
        """What the manifest tells."""
        return self.manifest.order

    def batch_end(self, start: int, stop: int) -> int:
        """At the end of a row group, as the rest of it would be decoded again, or of a pack of short segments."""
        first, last = self.start + start, self.start + stop
        found = last_pack_start(self.manifest, first, last)
        return (last_group_start(self.manifest, first, last) if found is None else found) - self.start

    def rows_between(self, start: int, stop: int) -> SegmentSource:
        return attrs.evolve(self, start=self.start + start, stop=self.start + stop)

    def with_columns(self, positions: Sequence[int]) -> SegmentSource:
        return attrs.evolve(self, positions=tuple(self.positions[position] for position in positions))

    def with_ordering(self, ordering: tuple[tuple[int, bool], ...]) -> SegmentSource:
        """The same rows, known to be in one more order of the dataset's columns."""
        return attrs.evolve(self, manifest=self.manifest.with_order(self.manifest.order.and_ordering(ordering)))

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """By type where it tells; otherwise what footers tell, and some rows where these are stored shorter than they are."""
        from sframe_spark.storage.segments.row_sizes import column_bytes

        known = list(super().sizes_between(start, stop))
        asked = [place for place, size in enumerate(known) if size is None]
        if asked and self.manifest.has_sizes:
            columns = [self.positions[place] for place in asked]
            found = column_bytes(self.manifest, columns, self.start + start, min(self.start + stop, self.stop))
            for place, size in zip(asked, found, strict=True):
                known[place] = size
        return tuple(known)

    def as_read(self) -> SegmentSource:
        """Only files inside the directory that are as long as they should be; what a text says about the order of their rows is not believed."""
        from sframe_spark.storage.datasets.load import with_saved_checksums, with_seen
        from sframe_spark.storage.datasets.versioned_datasets import with_version_checksums
        from sframe_spark.storage.external.parquet import with_remote_states
        from sframe_spark.storage.filesystem.local_files import states_below

        manifest = self.manifest
        if location_of(manifest.directory) != manifest.directory:
            raise StorageError(f"the plan reads from {manifest.directory!r:.200}, which is not an absolute path: write it out")
        if not all(0 <= position < len(manifest.types) for position in self.positions):
            raise InvalidArgumentError(f"the plan's text names columns that {manifest.directory} does not have: {list(self.positions)!r:.200}")
        check_range(self.start, self.stop, manifest.rows)
        unordered = manifest.with_order(NO_RECORDED_ORDER)
        if is_remote_location(manifest.directory):
            found = with_version_checksums(unordered) if manifest.has_key else with_remote_states(unordered)
            return attrs.evolve(self, manifest=found)
        states = states_below(manifest.directory)
        for entry in manifest.segments:
            if entry.size is None or entry.file not in states or states[entry.file].size != entry.size:
                raise StorageError(f"the plan reads {entry.file!r:.200} in {manifest.directory}, where no such file has {entry.size} bytes")
        return attrs.evolve(self, manifest=with_seen(with_saved_checksums(unordered), states))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A Parquet scan of the segments in range; the stored key gives order and row number."""
        from sframe_spark.operators.sources.spark_scan import scan_segments

        return scan_segments(self, context)

    def describe(self) -> str:
        return f"{self.manifest.directory}, columns {list(self.positions)}, rows {self.start}..{self.stop}"


def source_of(node: PlannerNode) -> Source:
    """The source that a node is.

    Raises
    ------
    PlanInvariantError
        If the node is an operator over inputs, or of a kind that is not read by row number.
    """
    if not isinstance(node.operator, Source):
        raise PlanInvariantError(f"{node.operator_type} is read as a source of rows, but it is none")
    return node.operator


def check_range(start: int, stop: int, rows: int) -> None:
    """Let rows pass that a plan's text names and a source has.

    Raises
    ------
    InvalidArgumentError
        If it has others.
    """
    if not 0 <= start <= stop <= rows:
        raise InvalidArgumentError(f"the plan's text names the rows {start}..{stop} of a source of {rows}")


def segment_source(manifest: Manifest, handle: Any = None) -> PlannerNode:
    """A node over all rows of a dataset."""
    return SegmentSource.of(manifest, handle).make_planner_node()
