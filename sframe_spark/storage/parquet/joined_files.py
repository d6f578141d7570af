"""Short files of one dataset, joined: read one behind the other into memory, where their row groups become those of one file, decoded in one go.

Opening a file takes pyarrow longer than decoding 2,000 rows, under Python's lock; here it is opened once for many. Nobody is told of trouble here:
who finds anything but what was written reads file by file, which tells what it is.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Sequence

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.storage.files.paths import join
from sframe_spark.storage.files.regular import open_regular
from sframe_spark.storage.manifests.lazy_values import chunks_together
from sframe_spark.storage.manifests.manifest import SegmentEntry
from sframe_spark.storage.parquet.footers import FOOTER_END
from sframe_spark.storage.parquet.joined_footer import (
    CODEC,
    CODECS,
    DATA,
    DICTIONARY,
    LARGEST_NUMBER,
    NUMBERS_OF_CHUNK,
    PHYSICAL_TYPES,
    SIZE,
    VALUES,
    SharedFooter,
    Template,
    joined_footer,
    numbers_of_chunks,
)
from sframe_spark.storage.parquet.pages import MAGIC, column_names
from sframe_spark.storage.parquet.short_files import SHORT_BYTES


def may_join(entry: SegmentEntry) -> bool:
    """Say whether a file may be one of those that are joined: a short one of ours, of one row group, of which one check sum covers all bytes."""
    is_short = entry.size is not None and entry.size <= SHORT_BYTES
    return is_short and None not in (entry.tail, entry.whole, entry.group_bytes) and not entry.constants


def joined_columns(directory: str, entries: Sequence[SegmentEntry], names: Sequence[str]) -> pa.Table | None:
    """Return some columns of all rows of files on this machine (see :func:`may_join`), in their order.

    Every byte of each is compared with the check sum that its entry has. None where a file is not as it was written, or not of one form with the
    others.

    Parameters
    ----------
    directory
        The directory of the dataset.
    entries
        The files, at least one.
    names
        The columns, each once.
    """
    sizes = [entry.size for entry in entries if entry.size is not None]
    if not hasattr(os, "readv") or len(sizes) < len(entries):
        return None
    try:
        starts = list(itertools.accumulate(sizes, initial=0))
        content = _content(directory, entries, starts)
        footer = None if content is None else _footer(content, entries, starts, frozenset(names))
        if content is None or footer is None:
            return None
        with pq.ParquetFile(pa.BufferReader(content), metadata=footer, pre_buffer=False) as file:
            table = file.read_row_groups(list(range(len(entries))), columns=list(names), use_threads=False)
    except (OSError, StorageError, BrokenThrift, ValueError, IndexError, pa.ArrowException):
        return None
    return table if table.num_rows == sum(entry.rows for entry in entries) and table.column_names == list(names) else None


def _content(directory: str, entries: Sequence[SegmentEntry], starts: Sequence[int]) -> pa.Buffer | None:
    """The bytes of files, one behind the other; None if one of them is not the one that was written."""
    # One byte more, as a file that is too long would have; that of all but the last one is where the next one goes.
    content = pa.allocate_buffer(starts[-1] + 1)
    view = memoryview(content).cast("B")
    for entry, start, end in zip(entries, starts, starts[1:], strict=False):
        descriptor, _ = open_regular(join(directory, entry.file))
        try:
            length = os.readv(descriptor, [view[start : end + 1]])
        finally:
            os.close(descriptor)
        if length != end - start or zlib.crc32(view[start:end]) != entry.whole:
            return None
    return content


def _footer(content: pa.Buffer, entries: Sequence[SegmentEntry], starts: Sequence[int], names: frozenset[str]) -> pq.FileMetaData | None:
    """The footer of files one behind the other, of which each has a row group; None where they are not of one form."""
    form = _Form.of(content.slice(0, starts[1]), names)
    if form is None or not form.is_of_all(content, entries, starts):
        return None
    sizes, rows = np.diff(starts), np.array([entry.rows for entry in entries])
    values = form.told(entries)
    if values is None or not form.is_possible(values, sizes, rows):
        values = form.parsed(content, starts)
    if values is None or not form.is_possible(values, sizes, rows):
        return None
    before, dictionary = np.array(starts[:-1])[:, None], values[:, :, DICTIONARY]
    # As pyarrow does, nobody looks for a dictionary behind the data.
    values[:, :, DICTIONARY] = np.where((dictionary > 0) & (dictionary < values[:, :, DATA]), dictionary + before, 0)
    values[:, :, DATA] += before
    footer = joined_footer(form.shared, form.template, np.column_stack([values.reshape(len(entries), -1), rows]))
    return pq.read_metadata(pa.BufferReader(b"".join((MAGIC, footer, len(footer).to_bytes(4, "little"), MAGIC))))


def _footer_in(content: pa.Buffer, start: int, end: int) -> pa.Buffer | None:
    """The footer of a file between two places; None where it has none."""
    last = end - FOOTER_END
    length = int.from_bytes(content.slice(last, 4).to_pybytes(), "little") if last > start else 0
    return content.slice(last - length, length) if start + len(MAGIC) <= last - length else None


@attrs.frozen
class _Form:
    """What files have in common.

    Parameters
    ----------
    shared
        What surrounds what their footers say of rows.
    template
        What they say of a row group.
    width
        How many leaves of columns they have.
    places
        The leaves of the columns that are read.
    flat
        Whether each of these has a value for each row.
    rebuild
        Makes a footer of its bytes.
    """

    shared: SharedFooter
    template: Template
    width: int
    places: list[int]
    flat: list[bool]
    rebuild: Callable[[pa.Buffer], pq.FileMetaData]

    @classmethod
    def of(cls, content: pa.Buffer, names: frozenset[str]) -> _Form | None:
        metadata, footer = pq.read_metadata(pa.BufferReader(content)), _footer_in(content, 0, content.size)
        shared = None if footer is None else SharedFooter.of(footer.to_pybytes())
        leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
        places = [place for place, name in enumerate(column_names(metadata)) if name in names]
        if shared is None or any(leaf.physical_type not in PHYSICAL_TYPES for leaf in leaves):
            return None
        template = Template.of([(leaf.path, leaf.physical_type) for leaf in leaves], frozenset(places))
        # What pickle makes a footer of again: a fourth of opening a file.
        return cls(shared, template, len(leaves), places, [not leaves[place].max_repetition_level for place in places], metadata.__reduce__()[0])

    def is_of_all(self, content: pa.Buffer, entries: Sequence[SegmentEntry], starts: Sequence[int]) -> bool:
        """Say whether files one behind the other are of this form, and have as many rows as their entries say, each in one row group."""
        before = {rows: self.shared.start(rows) for rows in {entry.rows for entry in entries}}
        for entry, start, end in zip(entries, starts, starts[1:], strict=False):
            footer = _footer_in(content, start, end)
            if footer is None:
                return False
            written = footer.to_pybytes()
            if not written.startswith(before[entry.rows]) or not written.endswith(self.shared.after):
                return False
        return True

    def told(self, entries: Sequence[SegmentEntry]) -> npt.NDArray[np.int64] | None:
        """What entries tell of the chunks of the columns that are read, file by file and leaf by leaf; None where they do not."""
        known = chunks_together([() if entry.chunks is None else entry.chunks for entry in entries])
        if known is None or known.shape[1] != self.width * NUMBERS_OF_CHUNK:
            return None
        return known.reshape(len(entries), self.width, NUMBERS_OF_CHUNK)[:, self.places]

    def parsed(self, content: pa.Buffer, starts: Sequence[int]) -> npt.NDArray[np.int64] | None:
        """The same from the footers of files one behind the other; None where these are none that writers of ours write."""
        footers = (_footer_in(content, start, end) for start, end in itertools.pairwise(starts))
        found = [numbers_of_chunks(self.rebuild(footer), self.places) for footer in footers if footer is not None]
        if None in found:
            return None
        return np.array(found, np.int64).reshape(len(found), len(self.places), NUMBERS_OF_CHUNK)

    def is_possible(self, values: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> bool:
        """Say whether chunks are within their files, and have a value for each row where they are flat."""
        data, dictionary = values[:, :, DATA], values[:, :, DICTIONARY]
        start = np.where((dictionary > 0) & (dictionary < data), dictionary, data)
        end = start + values[:, :, SIZE]
        is_inside = (start > 0) & (data < end) & (end <= sizes[:, None])
        is_told = np.isin(values[:, :, CODEC], list(CODECS.values())) & ((values >= 0) & (values < LARGEST_NUMBER)).all(axis=2)
        return bool((is_inside & is_told).all() and ((values[:, :, VALUES] == rows[:, None]) | ~np.array(self.flat)).all())
