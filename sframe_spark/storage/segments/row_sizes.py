"""Estimates how many bytes stored rows take in memory: from manifests, or from footers and samples of dictionary-encoded strings."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sframe_spark.storage.filesystem.dataset_file_reads import Check
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.checksums import check_pages, checking
from sframe_spark.storage.parquet.footer import Footer, segment_footer
from sframe_spark.storage.parquet.open_file import RequestedChunks, opened
from sframe_spark.storage.segments.reader import intersecting, other_rows, page_checksums

# The largest number of row groups that are examined in a range.
MAX_GROUPS = 8
# The number of rows that are read from a row group as a sample of dictionary-encoded strings.
SAMPLE_ROWS = 512
# Row groups that cannot take more bytes in memory than this are not sampled.
WORTH_SAMPLING = 16 << 20
# Estimated bytes of the offset and the validity bit of a string or list item.
BYTES_OF_PLACE = 5.0


def column_bytes(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> tuple[float, ...]:
    """Return an estimate of the bytes that a range of rows takes in memory, for each of the given columns.

    In long ranges, only some row groups, evenly spread, are examined. Only footers and samples of dictionary-encoded strings are read.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from sframe_spark.storage.datasets.manifest_publication import publish
    >>> from sframe_spark.storage.segments.writer import write_segment
    >>> from sframe_spark.types import INT, STR
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     rows = [pa.array([1, 2, 3]), pa.array(["x" * 100] * 3)]
    ...     manifest = publish(directory, [INT, STR], [write_segment(directory, 0, [INT, STR], [rows])])
    ...     [size // 100 for size in column_bytes(manifest, [0, 1], 0, 2)]
    [0.0, 2.0]
    """
    segments = list(intersecting(manifest, start, stop))
    chosen = spread(segments, MAX_GROUPS)
    totals, seen = [0.0] * len(columns), 0
    for entry, low, high in chosen:
        location = join(manifest.directory, entry.file)
        footer = segment_footer(manifest.directory, entry)
        sums, check = page_checksums(manifest, entry, columns), partial(checking, manifest, entry, footer)
        first, last = bisect.bisect_right(footer.starts, low) - 1, bisect.bisect_left(footer.starts, high)
        for group in spread(range(first, last), max(1, MAX_GROUPS // len(chosen))):
            rows = min(high, footer.starts[group + 1]) - max(low, footer.starts[group])
            seen += rows
            for index, column in enumerate(columns):
                totals[index] += rows * bytes_in_group(location, footer, manifest.file_name(column), group, sums, check([column]))
    rows = sum(high - low for _, low, high in segments)
    return tuple(total * rows / seen for total in totals) if seen else tuple(0.0 for _ in columns)


def recorded_bytes(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> list[float | None]:
    """Return an estimate of the bytes that a range of rows takes in memory, for each of the given columns, without opening a file.

    It is None for a column of which the manifest does not record it, as those of older versions do not. All values of a segment count as equally
    long, or all values of the dataset if a sidecar file has its segments. In long ranges, only some segments, evenly spread, are examined.
    """
    if manifest.stored is not None or stop - start == manifest.rows:
        share = (stop - start) / max(manifest.rows, 1)
        return [None if (size := manifest.column_bytes[column]) is None else size * share for column in columns]
    segments = list(intersecting(manifest, start, stop))
    chosen = spread(segments, MAX_GROUPS)
    rows, seen = (sum(high - low for _, low, high in part) for part in (segments, chosen))
    sizes: list[float | None] = []
    for column in columns:
        known = [mean * (high - low) for entry, low, high in chosen if (mean := recorded_mean(entry, column)) is not None]
        sizes.append(sum(known) * rows / max(seen, 1) if len(known) == len(chosen) else None)
    return sizes


def recorded_mean(entry: SegmentEntry, column: int) -> float | None:
    """Return the mean bytes of the values of a column of a segment, as the manifest records it; None if it does not."""
    size = None if entry.column_bytes is None else entry.column_bytes[column]
    return None if size is None else size / entry.rows


def spread(items: Sequence[Any], limit: int) -> list[Any]:
    """Return at most ``limit`` items, evenly spread, including the first and the last.

    Examples
    --------
    >>> spread(range(10), 3), spread("ab", 3)
    ([0, 4, 9], ['a', 'b'])
    """
    if len(items) <= limit:
        return list(items)
    return [items[index * (len(items) - 1) // max(limit - 1, 1)] for index in range(limit)]


def bytes_in_group(location: str, footer: Footer, name: str, group: int, sums: Mapping[str, int], check: Check | None = None) -> float:
    """Return an estimate of the average bytes per row of a column in a row group; the result is cached in the footer.

    If rows are read as a sample, the page headers are checked first: with ``check``, or against ``sums``.
    """
    if (name, group) not in footer.measured:
        footer.measured[name, group] = _bytes_in_group(location, footer, name, group, sums, check)
    return footer.measured[name, group]


def _bytes_in_group(location: str, footer: Footer, name: str, group: int, sums: Mapping[str, int], check: Check | None) -> float:
    rows = footer.metadata.row_group(group).num_rows
    total, longest = bytes_and_bound(footer, name, group)
    if longest <= WORTH_SAMPLING:
        return total / max(rows, 1)
    if check is None:
        check_pages(footer, location, {name: sums[name]} if name in sums else {})
    return max(total / rows, _sampled(location, footer, name, group, check))


def bytes_in_footer(footer: Footer, name: str) -> int | None:
    """Return an estimate of the bytes that the values of a column of a file take in memory; None if rows would have to be sampled for it."""
    groups = [bytes_and_bound(footer, name, group) for group in range(footer.metadata.num_row_groups)]
    return int(sum(total for total, _ in groups)) if all(longest <= WORTH_SAMPLING for _, longest in groups) else None


def bytes_and_bound(footer: Footer, name: str, group: int) -> tuple[float, float]:
    """Return an estimate of the bytes of a column in a row group, and a bound of the bytes of its dictionary-encoded strings; 0 if there are none."""
    metadata = footer.metadata.row_group(group)
    leaves = [metadata.column(index) for index in footer.leaves.get(name, ())]
    total, longest = 0.0, 0.0
    for leaf in leaves:
        if leaf.path_in_schema != name:
            total += leaf.num_values * BYTES_OF_PLACE
        if leaf.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
            total += leaf.total_uncompressed_size
            total += leaf.num_values * BYTES_OF_PLACE
            if any("DICTIONARY" in encoding for encoding in leaf.encodings):
                # An upper bound: every row may hold the longest value.
                longest = max(longest, float(leaf.num_values) * leaf.total_uncompressed_size)
        else:
            total += leaf.num_values * 8
    return total, longest


def _sampled(location: str, footer: Footer, name: str, group: int, check: Check | None) -> float:
    """Return the average number of bytes of the first rows of a row group."""
    with translate_os_errors("read", location), opened(location, footer, requested=RequestedChunks(range(group, group + 1), (name,), check)) as file:
        batch = next(file.iter_batches(batch_size=SAMPLE_ROWS, row_groups=[group], columns=[name]), None)
    if batch is None:
        raise other_rows(location, 0, footer.metadata.row_group(group).num_rows)
    return batch.nbytes / max(batch.num_rows, 1)
