"""Reads, checks and caches footers of Parquet files, returns their schemas and statistics, and records which columns were verified."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import BrokenThrift, EncryptedColumnsError, SchemaError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.pyarrow_versions import has_bounds
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, Seen, state_of
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import changed, require_still
from sframe_spark.storage.filesystem.remote_operations import read_range, require_size
from sframe_spark.storage.hybrid_calendar import SPARK_VERSION, HybridColumns, hybrid_columns
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics, Scalar
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.physical_types import order_column
from sframe_spark.storage.parquet.footer_validation import check_footer
from sframe_spark.storage.parquet.thrift import FOOTER_END, MAGIC
from sframe_spark.storage.parquet.unsupported_types_and_spark_type_metadata import (
    column_not_read,
    geometries_by_note,
    refused_columns,
    types_by_notes,
)
from sframe_spark.types import ColumnType

# INT96 timestamps, which Spark writes by default. They are instants, but pyarrow reads them as nanoseconds without a time zone.

# The unit of INT96 timestamps when they are read: 64-bit nanoseconds would end in the year 2262.
INT96_UNIT = "us"


def int96_columns(metadata: pq.FileMetaData) -> dict[str, pa.DataType]:
    """Return, by column name, the types of INT96 columns as instants in UTC, for a file that Spark wrote; empty for files of other programs."""
    if SPARK_VERSION not in (metadata.metadata or {}):
        return {}
    types = ((field, in_utc(field.type)) for field in metadata.schema.to_arrow_schema())
    return {field.name: data_type for field, data_type in types if data_type != field.type}


def in_utc(data_type: pa.DataType) -> pa.DataType:
    """Return an Arrow type in which timestamps in nanoseconds, which are INT96 in files of Spark, are replaced by timestamps in UTC.

    Examples
    --------
    >>> str(in_utc(pa.list_(pa.timestamp("ns")))), in_utc(pa.timestamp("us")) == pa.timestamp("us")
    ('list<item: timestamp[us, tz=UTC]>', True)
    """
    if pa.types.is_timestamp(data_type):
        return pa.timestamp(INT96_UNIT, "UTC") if data_type.unit == "ns" and data_type.tz is None else data_type
    if pa.types.is_list(data_type):
        return pa.list_(_field_in_utc(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(_field_in_utc(data_type.key_field), _field_in_utc(data_type.item_field))
    return pa.struct([_field_in_utc(field) for field in data_type]) if pa.types.is_struct(data_type) else data_type


def _field_in_utc(field: pa.Field) -> pa.Field:
    return field.with_type(in_utc(field.type))


# A registry of verified columns. It has room for many more files than the cache of footers.

# The path and the state of a file, which identify its content.
Identity = tuple[str, FileState]

# The capacity of the registry, which then takes at most about 70 MB. Files with the same columns share one set of names, so that there is room
# for a hundred thousand files with many columns.
MAX_REMEMBERED = 1_000_000
COLUMNS_WORTH_A_FILE = 8


class VerifiedColumns:
    """A registry of the columns of files whose page headers were verified; the least recently used files are removed first.

    Parameters
    ----------
    capacity
        The largest sum of the number of columns in all distinct sets of columns, and of ``COLUMNS_WORTH_A_FILE`` for each file.

    Examples
    --------
    >>> sound, now, later = VerifiedColumns(capacity=20), FileState(10, 1, 7, 1), FileState(10, 2, 7, 2)
    >>> sound.add(("/a", now), ["c0", "c1"])
    >>> sound.unchecked(("/a", now), ["c1", "c2"]), sound.unchecked(("/a", later), ["c1"])
    ({'c2'}, {'c1'})
    >>> sound.add(("/b", now), ["c0", "c1", "c2"])
    >>> sound.unchecked(("/a", now), ["c0"]), sound.unchecked(("/b", now), ["c0"])
    ({'c0'}, set())
    """

    def __init__(self, capacity: int = MAX_REMEMBERED) -> None:
        self._lock = threading.RLock()
        self._capacity = capacity
        self._size = 0
        self._names: OrderedDict[Identity, frozenset[str]] = OrderedDict()
        # Each set of names, and the number of files that share it.
        self._sets: dict[frozenset[str], tuple[frozenset[str], int]] = {}

    def unchecked(self, file: Identity, names: Iterable[str]) -> set[str]:
        """Return the columns of a file that have not been verified."""
        with self._lock:
            verified = self._names.get(file, frozenset())
            if verified:
                self._names.move_to_end(file)
            return set(names) - verified

    def add(self, file: Identity, names: Iterable[str]) -> None:
        """Record that columns of a file are verified."""
        with self._lock:
            verified = frozenset(map(sys.intern, names))
            if (before := self._names.pop(file, None)) is not None:
                self._remove(before)
                verified |= before
            shared, files = self._sets.get(verified, (verified, 0))
            self._size += COLUMNS_WORTH_A_FILE + (0 if files else len(verified))
            self._sets[shared], self._names[file] = (shared, files + 1), shared
            while self._size > self._capacity and self._names:
                self._remove(self._names.popitem(last=False)[1])

    def _remove(self, names: frozenset[str]) -> None:
        """Remove one file from those that share a set of names."""
        shared, files = self._sets.pop(names)
        self._size -= COLUMNS_WORTH_A_FILE + (0 if files > 1 else len(names))
        if files > 1:
            self._sets[shared] = (shared, files - 1)


VERIFIED_COLUMNS = VerifiedColumns()
keep_whole_at_fork(VERIFIED_COLUMNS._lock, "verified columns")


# The footer, the length and checksum of the end of the file, and the unsupported columns with the reason.
_ForeignFooter = tuple[pq.FileMetaData, tuple[int, int], dict[str, str]]

REMEMBERED_FOOTERS = 1024
# For longer footers, the declared length is checked before the footer is copied.
LARGE_FOOTER = 64 << 20
# The size of the signature behind a footer that is not encrypted itself, but has encrypted columns.
SIGNATURE_BYTES = 28
TAIL_BLOCK = 4 << 20
# How many bytes are fetched from the end of an external remote file at first, which usually contain the footer.
REMOTE_TAIL = 64 << 10


@attrs.frozen(eq=False, slots=False)
class Footer:
    """The footer of one Parquet file.

    Parameters
    ----------
    metadata
        The footer as pyarrow reads it.
    size
        The size of the file in bytes.
    identity
        The path and the state of the file.
    tail
        For an external file, the number of bytes from the footer to the end, and their checksum; None for segment files.
    measured
        A cache of measurements, such as estimated bytes per row.
    verified
        The pairs of row group and column whose pages were compared with the checksums in their headers.
    unknown
        The unsupported columns of an external file, with the reason.
    """

    metadata: pq.FileMetaData
    size: int
    identity: Identity
    tail: tuple[int, int] | None = None
    measured: dict[Any, float] = attrs.field(factory=dict, repr=False)
    verified: set[tuple[int, str]] = attrs.field(factory=set, repr=False)
    unknown: dict[str, str] = attrs.field(factory=dict, repr=False)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first row of each row group, followed by the number of rows."""
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups))
        return tuple(itertools.accumulate((group.num_rows for group in groups), initial=0))

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the file, with the types that Spark has noted in the metadata, and INT96 columns as instants."""
        schema = self._stored_schema
        fields = [field.with_type(self.meant.get(field.name, field.type)) for field in schema]
        return pa.schema(fields, schema.metadata) if self.meant else schema

    @cached_property
    def _stored_schema(self) -> pa.Schema:
        """The Arrow schema of the file as pyarrow reads it."""
        return self.metadata.schema.to_arrow_schema()

    @cached_property
    def _by_notes(self) -> tuple[dict[str, pa.DataType], dict[str, str]]:
        """The types of columns that differ from those that pyarrow reads, and the columns that cannot have the type that Spark noted."""
        int96 = int96_columns(self.metadata)
        fields = [field.with_type(int96.get(field.name, field.type)) for field in self._stored_schema]
        types, refused = types_by_notes(self.metadata.metadata, pa.schema(fields))
        return {**int96, **types}, refused

    @property
    def meant(self) -> dict[str, pa.DataType]:
        """The types of the columns, by name, whose type is not the one that pyarrow reads."""
        return self._by_notes[0]

    @cached_property
    def refused(self) -> dict[str, str]:
        """The columns that cannot be read, by name, with the reason."""
        return {**self._by_notes[1], **geometries_by_note(self.metadata.metadata), **self.unknown}

    @cached_property
    def _hybrid(self) -> HybridColumns | None:
        return hybrid_columns(self.metadata.metadata)

    def as_meant(self, name: str, values: pa.Array) -> pa.Array:
        """Convert values of a column, as pyarrow read them, to the column's type, and datetimes to the proleptic Gregorian calendar.

        Raises
        ------
        DateTimeRangeError
            If a timestamp cannot be converted.
        """
        if self._hybrid is not None:
            values = self._hybrid.to_gregorian(values, self._stored_schema.field(name).type)
        return values.cast(self.meant[name]) if name in self.meant else values

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each Parquet leaf column, by its path."""
        return leaf_indices(self.metadata)

    @cached_property
    def leaves(self) -> dict[str, list[int]]:
        """The indices of the Parquet leaf columns of each column, by column name, which may contain dots."""
        leaves: dict[str, list[int]] = {name: [] for name in self.schema.names}
        for path, index in self.places.items():
            name = path if path in leaves else path.partition(".")[0]
            leaves.setdefault(name, []).append(index)
        return leaves

    def chunks(self, name: str) -> Iterator[pq.Statistics | None]:
        """Yield the statistics of a Parquet leaf column for each row group; None for row groups without statistics."""
        return column_chunks(self.metadata, self.places[name])

    @property
    def rows(self) -> int:
        """The number of rows in the file."""
        return self.starts[-1]


def segment_footer(directory: str, entry: SegmentEntry) -> Footer:
    """Return the footer of the file of a segment in the directory of a dataset, after comparing it with the segment's entry.

    Raises
    ------
    StorageError
        If the file is missing, is damaged, or was replaced.
    """
    location = join(directory, entry.file)
    footer = footer_of(location, entry.size, entry.tail, seen=entry.seen)
    require_rows(location, footer, entry)
    return footer


def require_rows(location: str, footer: Footer, entry: SegmentEntry) -> None:
    """Raise if the number of rows in a footer is not the one in the entry of the file."""
    if footer.rows != entry.rows:
        raise StorageError(f"{location} has {footer.rows} rows, its manifest says {entry.rows}; restore it from a copy or save the frame again")


def footer_of(
    location: str, size: int | None = None, tail: tuple[int, int] | None = None, just_written: bool = False, seen: Seen | None = None
) -> Footer:
    """Return the footer of a file, from memory if it was read before and the file has not changed.

    Parameters
    ----------
    location
        The path or URI of the file.
    size
        The size that the manifest has for the file; None if unknown.
    tail
        The number of bytes behind the last page, and their checksum; None if unknown.
    just_written
        Whether the file was just written by this package or by Spark, so that its footer is not checked as that of an external file.
    seen
        For an external file, its state when its statistics were computed.

    Raises
    ------
    StorageError
        If the file is missing, is damaged, is not a Parquet file, or was changed.
    SchemaError
        If the file has columns of types with which pyarrow cannot read its footer.
    """
    if seen is not None and is_remote_location(location):
        return _remote_seen_footer(location, seen)
    with translate_os_errors("read", location):
        try:
            state = state_of(location, size, may_be_link=tail is None)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
        if size is not None and state.size != size:
            raise changed(location) if seen is not None else other_length(location, state.size, size)
        footer = _load(location, state, tail, just_written)
        if seen is not None and seen.tail not in (None, footer.tail):
            raise changed(location)
        return footer


def _remote_seen_footer(location: str, seen: Seen) -> Footer:
    """Return the footer of an external remote file. If it cannot be read because the file was changed, the error says so."""
    with translate_os_errors("read", location):
        try:
            footer = _load(location, seen.state, None, False, is_foreign=True)
        except StorageError:
            require_still(location, seen.state)
            raise
        if seen.tail not in (None, footer.tail):
            forget_footers()
            raise changed(location)
        return footer


def forget_footers() -> None:
    """Clear the cache of footers, which may have a wrong one if a remote file was replaced while its footer was read."""
    _load.cache_clear()


def other_length(location: str, size: int, expected: int) -> StorageError:
    """Return an error that says that the size of a file is not the one in its manifest."""
    return StorageError(
        f"{location} is damaged or was replaced: it has {size} bytes, its manifest says {expected}; restore it from a copy or save the frame again"
    )


def damaged_footer(location: str) -> StorageError:
    """Return an error that says that the checksum of a footer is not the one in the manifest."""
    return StorageError(f"{location} is damaged or was replaced: the check sum of its footer is another one; restore it from a copy")


@functools.lru_cache(maxsize=REMEMBERED_FOOTERS)
def _load(location: str, state: FileState, tail: tuple[int, int] | None, just_written: bool, is_foreign: bool = False) -> Footer:
    """Read a footer, or return it from the cache; the cache key includes the state of the file."""
    actual_tail, unknown = None, dict[str, str]()
    try:
        if is_remote_location(location) and is_foreign:
            metadata, actual_tail, unknown = _remote_foreign_footer(location, state.size)
        elif is_remote_location(location):
            metadata = _remote_footer(location, state.size, tail)
        elif tail is None and not just_written:
            metadata, actual_tail, unknown = _foreign_footer(location, state.size)
        else:
            with pa.OSFile(location) as source:
                if tail is not None and tail_checksum(source, tail[0]) != tail[1]:
                    raise damaged_footer(location)
                _refuse_false_length(location, source)
                metadata = pq.read_metadata(source)
    except _UnknownTypesError as error:
        name, reason = next(iter(error.columns.items()))
        raise SchemaError(f"column {visible(name)!r} of {location}: {reason}") from None
    except EncryptedColumnsError:
        raise StorageError(f"{location} is not a readable Parquet file: it has encrypted columns; decrypt it first") from None
    except (BrokenThrift, UnicodeDecodeError) as error:
        raise StorageError(f"{location} is damaged: {error}; restore it from a copy") from None
    except pa.ArrowInvalid as error:
        raise StorageError(f"{location} is not a readable Parquet file ({error}); restore it from a copy") from error
    return Footer(metadata, state.size, (location, state), actual_tail, unknown=unknown)


def _remote_footer(location: str, size: int, tail: tuple[int, int] | None) -> pq.FileMetaData:
    """Read the footer of a remote segment file with one request, which asks for one more byte to find out whether the file is longer."""
    if tail is None:
        raise StorageError(f"{location} has no check sum: it was not saved by this package; save the frame again")
    content = read_range(location, size - tail[0], size + 1)
    require_size(location, len(content), tail[0])
    if zlib.crc32(content) != tail[1]:
        raise StorageError(f"{location} is damaged or was replaced: the check sum of its footer is another one; save the frame again")
    return pq.read_metadata(pa.BufferReader(MAGIC + content))


def _foreign_footer(location: str, size: int) -> _ForeignFooter:
    """Read and check the footer of an external file (see :func:`_checked_footer`)."""
    with pa.OSFile(location) as source:
        length = _refuse_false_length(location, source)
        content = source.read_at(length + FOOTER_END, max(size - FOOTER_END - length, 0))
    return _checked_footer(content, length)


def _remote_foreign_footer(location: str, size: int) -> _ForeignFooter:
    """Read the footer of an external remote file with one request, or two if it is long.

    The caller has to check that the file has not changed.
    """
    start = max(size - REMOTE_TAIL, 0)
    content = read_range(location, start, size)
    length = int.from_bytes(content[-FOOTER_END:-4], "little")
    if len(content) != size - start or content[-4:] != MAGIC or length + FOOTER_END > size:
        raise StorageError(f"{location} is not a readable Parquet file: it does not end as one; restore it from a copy")
    if length + FOOTER_END > len(content):
        content = read_range(location, size - FOOTER_END - length, start) + content
    return _checked_footer(content[-FOOTER_END - length :], length)


def _checked_footer(content: bytes, length: int) -> _ForeignFooter:
    """Return a footer as pyarrow reads it, the length and checksum of its bytes, and the unsupported columns; raise if it is invalid."""
    try:
        metadata = pq.read_metadata(pa.BufferReader(MAGIC + content))
        # A footer of encrypted columns has a signature behind it, which its serialized size does not count.
        if length != metadata.serialized_size + SIGNATURE_BYTES:
            _require_length(metadata, length)
        unknown = refused_columns(content[:-FOOTER_END])
        check_footer(content[:-FOOTER_END], metadata)
        _require_length(metadata, length)
        # Raises for names that are not valid UTF-8, or an invalid Arrow schema.
        metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError):
        # pyarrow fails on some types that it does not know.
        footer = content[:-FOOTER_END]
        with contextlib.suppress(BrokenThrift):
            if unknown := refused_columns(footer):
                raise _UnknownTypesError(unknown) from None
        if (column := column_not_read(footer)) is not None:
            raise _UnknownTypesError(dict([column])) from None
        raise
    return metadata, (len(content), zlib.crc32(content)), unknown


class _UnknownTypesError(Exception):
    """The error of a footer with columns of unknown types: ``columns`` has the reasons, by column name."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        super().__init__(*columns.values())
        self.columns = columns


def _refuse_false_length(location: str, source: pa.NativeFile) -> int:
    """Return the length of a footer that the file declares; if it is large, compare it with the actual length first, and raise if they differ."""
    length = int.from_bytes(source.read_at(FOOTER_END, max(source.size() - FOOTER_END, 0))[:4], "little")
    if length > LARGE_FOOTER:
        _require_length(pq.read_metadata(location, memory_map=True), length)
    return length


def _require_length(metadata: pq.FileMetaData, length: int) -> None:
    if metadata.serialized_size != length:
        raise BrokenThrift("its footer has another length than it says")


def tail_checksum(source: pa.NativeFile, length: int) -> int:
    """Return the checksum of the last ``length`` bytes of a file."""
    source.seek(max(source.size() - length, 0))
    value = 0
    while block := source.read(TAIL_BLOCK):
        value = zlib.crc32(block, value)
    return value


def bounds_of(chunks: Iterable[pq.Statistics | None]) -> tuple[Scalar, Scalar] | None:
    """Return the minimum and the maximum of a column over all row groups; None if a row group with values has no bounds, or has NaN as a bound.

    Both are None if there are no values. Datetimes are returned as integers in the unit of the file. Missing values and NaN are not considered.
    """
    minima, maxima = [], []
    for statistics in chunks:
        if statistics is None or not has_bounds(statistics):
            if statistics is None or not statistics.has_null_count or statistics.num_values:
                return None
            continue
        is_text = statistics.physical_type == "BYTE_ARRAY"
        minima.append(statistics.min if is_text else statistics.min_raw)
        maxima.append(statistics.max if is_text else statistics.max_raw)
    # Some old programs include NaN in bounds, which are of no use then.
    if any(bound != bound for bound in (*minima, *maxima)):
        return None
    return min(minima, default=None), max(maxima, default=None)


def shows_nanoseconds(footer: Footer, name: str) -> bool:
    """Return whether the bounds of row groups show that some datetimes are not whole microseconds; no values are read."""
    data_type = footer.schema.field(name).type
    if not pa.types.is_timestamp(data_type) or data_type.unit != "ns" or name in footer.meant:
        return False
    bounds = [bound for chunk in footer.chunks(name) if chunk is not None and has_bounds(chunk) for bound in (chunk.min_raw, chunk.max_raw)]
    return any(bound % 1000 for bound in bounds if isinstance(bound, int))


def statistics_in_footer(footer: Footer, name: str, column_type: ColumnType) -> ColumnStatistics:
    """Return the statistics of a column that follow from the footer of a file.

    They are unknown for columns that the file stores in another type. Bounds of strings are not used, since programs may truncate them.
    """
    field = footer.schema.field(name)
    nested = pa.types.is_nested(field.type) and not column_type.is_zoned
    if field.type != column_type.physical or nested or column_type.is_encoded:
        return UNKNOWN_STATISTICS
    name = order_column(name, column_type)
    chunks = list(footer.chunks(name))
    missing = [chunk.null_count if chunk is not None and chunk.has_null_count else None for chunk in chunks]
    has_missing = None if None in missing else any(missing)
    has_nan = None if pa.types.is_floating(field.type) else False
    bounds = None if pa.types.is_string(field.type) else bounds_of(chunks)
    if bounds is None:
        return ColumnStatistics(has_missing=has_missing, has_nan=has_nan)
    low, high = bounds
    facts = ColumnStatistics(has_missing=has_missing, has_nan=has_nan, bounds_known=True, minimum=low, maximum=high)
    if has_missing is not False or has_nan is not False:
        return facts
    return _of_single_values(facts, chunks, footer.rows)


def _of_single_values(facts: ColumnStatistics, chunks: Sequence[pq.Statistics | None], rows: int) -> ColumnStatistics:
    """Return statistics with the order of the column, if all rows of each row group have the same value; otherwise unchanged ones."""
    values: list[int] = []
    for chunk in chunks:
        if chunk is None or (has_bounds(chunk) and chunk.min_raw != chunk.max_raw):
            return facts
        values += [chunk.min_raw] if has_bounds(chunk) else []
    if not values:
        return facts
    ascending, descending = values == sorted(values), values == sorted(values, reverse=True)
    # The order is strict only if no row group has two rows.
    distinct = len(values) == rows == len(set(values))
    return attrs.evolve(
        facts, ascending=ascending, descending=descending, strictly_ascending=distinct and ascending, strictly_descending=distinct and descending,
        constant=ascending and descending, edges_known=True, first=values[0], last=values[-1],
    )  # fmt: skip


def leaf_indices(metadata: pq.FileMetaData) -> dict[str, int]:
    """Return the index of each Parquet leaf column by its path."""
    schema = metadata.schema
    return {schema.column(index).path: index for index in range(len(schema))}


def column_chunks(metadata: pq.FileMetaData, index: int) -> Iterator[pq.Statistics | None]:
    """Yield the statistics of the Parquet leaf column at an index for each row group; None for row groups without statistics."""
    for group in range(metadata.num_row_groups):
        yield metadata.row_group(group).column(index).statistics


def chunk_range(chunk: Any) -> tuple[int, int]:
    """Return the position of the first page of a column chunk, and the position behind the last one."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size


def column_names(metadata: pq.FileMetaData) -> list[str]:
    """Return the top-level column name of each Parquet leaf column."""
    schema = metadata.schema
    return [schema.column(index).path.partition(".")[0] for index in range(len(schema))]
