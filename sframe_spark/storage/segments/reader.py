"""Reads ranges of rows of a dataset from the files and row groups that hold these rows, and divides short segments into groups."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, KEY_SHIFT, conform, convert_foreign, file_column
from sframe_spark.storage.parquet.checksums import FileChecksums, check_pages, checking, checksum_positions
from sframe_spark.storage.parquet.footer import Footer, segment_footer
from sframe_spark.storage.parquet.open_file import RequestedChunks, ShortFile, is_short, opened, read_short
from sframe_spark.storage.segments.dictionary_encoded_strings import decoded, is_dictionary_of_strings, mostly_dictionary_encoded
from sframe_spark.storage.segments.partition_columns import repeated
from sframe_spark.types import DATETIME_KIND
from sframe_spark.values.invalid_unicode_errors import column_named

# For batches with more rows, the columns are decoded in parallel.
FEW_ROWS = 16_384
DEFAULT_BATCH_ROWS = 131_072


def read_rows(manifest: Manifest, columns: Sequence[int], start: int = 0, stop: int | None = None, with_key: bool = False) -> pa.Table:
    """Return a range of rows as a table.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    columns
        The positions of the columns to read. The columns of the table are named c0, c1 ... by these positions.
    start, stop
        The row number of the first row, and of the row behind the last one; None for the end. Rows behind the end of the dataset are ignored.
    with_key
        Whether to add the hidden row key as a last column ``_key``.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark.storage.datasets.manifest_publication import publish
    >>> from sframe_spark.storage.segments.writer import SegmentWriter
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     writer = SegmentWriter(directory, 0, [INT])
    ...     writer.write([pa.array([10, 11, 12, 13])])
    ...     manifest = publish(directory, [INT], [writer.close()])
    ...     read_rows(manifest, [0], 1, 3).to_pydict()
    {'c0': [11, 12]}
    """
    requested = tuple(columns)
    parts: list[list[pa.Array]] = []
    for entry, low, high in intersecting(manifest, start, stop):
        parts.extend(segment_batches(manifest, entry, requested, low, high, None, with_key))
    names = [file_column(position) for position in requested] + [KEY_NAME] * with_key
    types = [manifest.types[position].physical for position in requested] + [pa.int64()] * with_key
    chunks = [pa.chunked_array([part[index] for part in parts], column_type) for index, column_type in enumerate(types)]
    return pa.table(chunks, names=names)


def iterate_rows(
    manifest: Manifest,
    columns: Sequence[int],
    start: int = 0,
    stop: int | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    with_key: bool = False,
) -> Iterator[list[pa.Array]]:
    """Yield a range of rows in order, in batches of at most ``batch_rows`` rows; each batch is a list with one array per column.

    At most one row group of the requested columns is in memory. With ``with_key``, the last array of each batch has the hidden row keys.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark.storage.datasets.manifest_publication import publish
    >>> from sframe_spark.storage.segments.writer import SegmentWriter
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     writer = SegmentWriter(directory, 0, [INT])
    ...     writer.write([pa.array([10, 11, 12])])
    ...     manifest = publish(directory, [INT], [writer.close()])
    ...     [arrays[0].to_pylist() for arrays in iterate_rows(manifest, [0], batch_rows=2)]
    [[10, 11], [12]]
    """
    for entry, low, high in intersecting(manifest, start, stop):
        yield from segment_batches(manifest, entry, tuple(columns), low, high, batch_rows, with_key)


def overlapping_batches(manifest: Manifest, columns: Sequence[int], start: int = 0, stop: int | None = None) -> Iterator[tuple[int, list[pa.Array]]]:
    """Yield a range of rows in batches such that each row and the next one are together in exactly one batch.

    Each batch is a list with one array per column, and comes with the row number of its first row. Batches with only one row are left out.
    """
    last: list[pa.Array] | None = None
    row = start
    for arrays in iterate_rows(manifest, columns, start, stop):
        if last is not None:
            yield row - 1, [pa.concat_arrays([before, array[:1]]) for before, array in zip(last, arrays, strict=True)]
        if len(arrays[0]) > 1:
            yield row, arrays
        last, row = [array[-1:] for array in arrays], row + len(arrays[0])


def intersecting(manifest: Manifest, start: int = 0, stop: int | None = None) -> Iterator[tuple[SegmentEntry, int, int]]:
    """Yield each segment that holds rows of a range, with the first and the end row within the segment.

    Raises
    ------
    StorageError
        If the range is negative, or contains rows whose segments were left out of the manifest, as in a manifest that is sent to a task.
    """
    if any(row is not None and row < 0 for row in (start, stop)):
        raise StorageError(f"row range {start}:{stop} counts from the end; storage takes row numbers from 0")
    offsets = manifest.offsets
    end = manifest.rows if stop is None else min(stop, manifest.rows)
    before, after = manifest.left_out
    if start < min(before, end):
        raise _unknown_rows(manifest, start, min(before, end))
    index = max(bisect.bisect_right(offsets, start) - 1, 0)
    while index < len(offsets) and offsets[index] < end:
        entry, offset = manifest.segments[index], offsets[index]
        low, high = max(start - offset, 0), min(end - offset, entry.rows)
        if low < high:
            yield entry, low, high
        index += 1
    # This is checked last, since a caller may need only the first segments.
    if end > manifest.rows - after:
        raise _unknown_rows(manifest, max(start, manifest.rows - after), end)


def _unknown_rows(manifest: Manifest, start: int, stop: int) -> StorageError:
    return StorageError(
        f"a task does not know where rows {start}:{stop} of {manifest.directory} are: this is a fault of the engine, please report it"
    )


def group_starts(manifest: Manifest, entry: SegmentEntry) -> Sequence[int]:
    """Return the first row of each row group of a segment, followed by the number of rows.

    The footer is read unless the manifest shows that the segment has only one row group.
    """
    return (0, entry.rows) if entry.group_bytes is not None else segment_footer(manifest.directory, entry).starts


def last_group_start(manifest: Manifest, start: int, stop: int) -> int:
    """Return the largest row number in ``(start, stop]`` at which a row group starts or ends; ``stop`` if there is none."""
    for entry, _, high in intersecting(manifest, max(start, stop - 1), stop):
        starts = group_starts(manifest, entry)
        last = stop - high + starts[bisect.bisect_right(starts, high) - 1]
        return last if last > start else stop
    return stop


def segment_batches(
    manifest: Manifest,
    entry: SegmentEntry,
    columns: tuple[int, ...],
    low: int,
    high: int,
    size: int | None,
    with_key: bool = False,
    threads: bool | None = None,
    passing: int = 0,
    coded: Container[int] = (),
) -> Iterator[list[pa.Array]]:
    """Yield a range of rows of one segment, in batches that are lists with one array per column.

    Parameters
    ----------
    manifest, entry
        The manifest of the dataset, and the entry of the segment.
    columns
        The positions of the columns to read.
    low, high
        The first row, and the row behind the last one, within the segment.
    size
        The largest number of rows in a batch; None for a number that suits the range.
    with_key
        Whether the last array of each batch has the hidden row keys.
    threads
        Whether columns are decoded in parallel; None to decide by the number of rows.
    passing
        Rows before ``low`` that are skipped are decoded in batches of at least this many rows.
    coded
        The positions of string columns that stay dictionary arrays if a segment file stores them dictionary-encoded.
    """
    location = join(manifest.directory, entry.file)
    constants = dict(entry.constants)
    stored = [column for column in columns if column not in constants] if constants else columns
    names = tuple(map(manifest.file_name, stored))
    short = read_short(manifest.directory, entry) if is_short(manifest.directory, entry, high - low) else None
    footer = segment_footer(manifest.directory, entry) if short is None else short.footer
    check = None if short is not None else checking(manifest, entry, footer, columns)
    if check is None and not (short is not None and short.is_verified):
        check_pages(footer, location, page_checksums(manifest, entry, columns), None if short is None else short.content)
    groups = range(bisect.bisect_right(footer.starts, low) - 1, bisect.bisect_left(footer.starts, high))
    requested = RequestedChunks(groups, names, check, mostly_dictionary_encoded(footer, names) if short is None else ())
    first_key = (entry.number << KEY_SHIFT) + entry.first_position
    position = low
    left = {manifest.file_name(column) for column in stored if column in coded} if manifest.column_names_in_files is None else set[str]()
    to_decode = [name for name in requested.coded if name not in left]
    for batch in _file_batches(location, footer, requested, low, high, size, threads, passing, short, to_decode):
        with translate_os_errors("read", location):
            arrays = _converted(manifest, footer, batch, stored)
        if constants:
            by_column = dict(zip(stored, arrays, strict=True))
            arrays = [
                repeated(constants[column], manifest.types[column], batch.num_rows) if column in constants else by_column[column]
                for column in columns
            ]
        if with_key:
            arrays.append(pa.array(np.arange(first_key + position, first_key + position + batch.num_rows)))
        position += batch.num_rows
        yield arrays


def _converted(manifest: Manifest, footer: Footer, batch: pa.RecordBatch, columns: Sequence[int]) -> list[pa.Array]:
    """Return the arrays of a batch in the physical types of their columns."""
    # Segment files without datetimes need no conversion. For datetimes, the footer is examined for the calendar and the time zone.
    if manifest.column_names_in_files is None and not any(manifest.types[column].kind == DATETIME_KIND for column in columns):
        pairs = zip(batch.columns, columns, strict=True)
        return [values if is_dictionary_of_strings(values) else conform(values, manifest.types[column]) for values, column in pairs]
    convert = conform if manifest.column_names_in_files is None else convert_foreign
    arrays = []
    for index, column in enumerate(columns):
        name = manifest.file_name(column)
        with column_named(name):
            arrays.append(convert(footer.as_meant(name, batch.column(index)), manifest.types[column]))
    return arrays


def page_checksums(manifest: Manifest, entry: SegmentEntry, columns: Iterable[int]) -> FileChecksums:
    """Return the recorded checksums of the page headers of some columns, by their names in the file; empty if none are recorded."""
    return FileChecksums(checksum_positions(manifest, columns), entry.pages)


def _file_batches(
    location: str,
    footer: Footer,
    requested: RequestedChunks,
    low: int,
    high: int,
    size: int | None,
    threads: bool | None,
    passing: int,
    short: ShortFile | None,
    to_decode: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """Yield a range of rows of one file as record batches; only the requested row groups are read."""
    first, last, names = requested.groups.start, requested.groups.stop, requested.names
    step = _rows_at_a_time(footer.starts[first], low, high, size, passing)
    threads = (size is None and step > FEW_ROWS and len(names) > 1) if threads is None else threads
    # A column that is requested several times is decoded once.
    distinct = list(dict.fromkeys(names))
    pages = {(group, name) for group in range(first, last) for name in distinct}
    opening = opened(location, footer, not pages <= footer.verified, requested) if short is None else short.file
    with translate_os_errors("read", location), opening as file:
        for start, stop in itertools.pairwise(_read_on(footer.starts, first, last, low, size)):
            position = footer.starts[start]
            for batch in _batches(file, list(range(start, stop)), distinct, step, threads):
                begin, end = max(low - position, 0), min(high - position, batch.num_rows)
                position += batch.num_rows
                if position > footer.starts[stop]:
                    break
                if position == footer.starts[last]:
                    footer.verified.update(pages)
                for row in range(begin, end, size or step):
                    part = decoded(batch.slice(row, min(end - row, size or step)), to_decode)
                    yield part if len(distinct) == len(names) else part.select(list(names))
                if position >= high:
                    return
            if position != footer.starts[stop]:
                raise other_rows(location, position - footer.starts[start], footer.starts[stop] - footer.starts[start])


def _read_on(starts: Sequence[int], first: int, last: int, low: int, size: int | None) -> Sequence[int]:
    """Return the row groups at which a new read starts, followed by the end of the last row group.

    If a column of a damaged row group ends too early, pyarrow continues with the next row group, and raises an error only at the end of all row
    groups, so that rows might be returned under wrong numbers. Therefore the last row group, which is perhaps read in part, is read by itself;
    and if batches end where row groups end anyway, every row group is read by itself.

    Examples
    --------
    >>> list(_read_on((0, 100, 200, 300), 0, 3, 0, 100)), _read_on((0, 100, 200, 300), 0, 3, 0, None)
    ([0, 1, 2, 3], [0, 2, 3])
    """
    # Empty row groups count as ending with the row group before.
    if all(stop - max(start, low) in (0, size) for start, stop in itertools.pairwise(starts[first:last])):
        return range(first, last + 1)
    return sorted({first, last - 1, last})


def _rows_at_a_time(start: int, low: int, high: int, size: int | None, passing: int) -> int:
    """Return the number of rows to decode at a time; decoding begins at the start of a row group."""
    step = size or min(high - start, DEFAULT_BATCH_ROWS)
    # Each step takes some time, so the rows before a small range are decoded in larger steps.
    return max(step, min(passing, high - start)) if low > start else step


def other_rows(location: str, rows: int, expected: int) -> StorageError:
    """Return an error that says that pages do not contain the number of rows that the footer says, which pyarrow does not notice."""
    return StorageError(f"{location} is damaged: pages of {expected} rows hold {rows}; restore it from a copy")


def _batches(file: pq.ParquetFile, groups: list[int], names: list[str], size: int, threads: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some row groups as record batches. All reads of data pages are made here."""
    return file.iter_batches(batch_size=size, row_groups=groups, columns=names, use_threads=threads)


# Coalescing short segments, for which opening the file takes most of the time.

# A segment, and the row number of its first row in the dataset.
Placed = tuple[SegmentEntry, int]


def coalesced_segments(
    segments: Iterable[Placed], size_of: Callable[[SegmentEntry], int | None], max_rows: int, max_bytes: int, max_segments: float = math.inf
) -> Iterator[list[Placed]]:
    """Yield groups of consecutive segments. Each group is within the limits, or is a single segment.

    Parameters
    ----------
    segments
        All segments in row order; empty ones are left out.
    size_of
        Returns the size of a segment in bytes; None for a segment that is a group by itself.
    max_rows, max_bytes, max_segments
        The largest number of rows, of bytes, and of segments in a group.

    Examples
    --------
    >>> sizes = [10, 10, 90, None, 10, 10, 10]
    >>> placed = [(SegmentEntry(str(place), place, 1, group_bytes=size), place) for place, size in enumerate(sizes)]
    >>> [[offset for _, offset in run] for run in coalesced_segments(placed, lambda entry: entry.group_bytes, 100, 100, 2)]
    [[0, 1], [2], [3], [4, 5], [6]]
    """
    run: list[Placed] = []
    rows = size = 0
    for entry, offset in segments:
        if not entry.rows:
            continue
        more = size_of(entry)
        if run and (more is None or rows + entry.rows > max_rows or size + more > max_bytes or len(run) >= max_segments):
            yield run
            run, rows, size = [], 0, 0
        if more is None:
            yield [(entry, offset)]
        else:
            run.append((entry, offset))
            rows, size = rows + entry.rows, size + more
    if run:
        yield run
