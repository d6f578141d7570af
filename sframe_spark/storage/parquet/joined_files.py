"""Short files of one dataset, joined: read one behind the other into memory, where their row groups become those of one file, decoded in one go.

Opening a file takes pyarrow longer than decoding 2,000 rows, under Python's lock; here it is opened once for many. Nobody is told of trouble here:
who finds anything but what was written reads file by file, which tells what it is.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Sequence
from typing import cast

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.storage.files.regular import CAN_OPEN_BELOW, open_below, opened_directory
from sframe_spark.storage.manifests.lazy_values import chunks_together
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.footers import FOOTER_END
from sframe_spark.storage.parquet.joined_footer import (
    CODEC,
    DATA,
    DICTIONARY,
    IS_CODEC,
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


def joined_columns(manifest: Manifest, entries: Sequence[SegmentEntry], names: Sequence[str]) -> pa.Table | None:
    """Return some columns of all rows of files on this machine (see :func:`may_join`), in their order.

    Every byte of each is compared with the check sum that its entry has. None where a file is not as it was written, or not of one form with the
    others.

    Parameters
    ----------
    manifest
        The dataset.
    entries
        The files, at least one.
    names
        The columns, each once.
    """
    sizes = [entry.size for entry in entries if entry.size is not None]
    if not CAN_OPEN_BELOW or len(sizes) < len(entries):
        return None
    try:
        starts = list(itertools.accumulate(sizes, initial=0))
        content = _content(manifest.directory, entries, starts)
        form = None if content is None else _form(manifest, frozenset(names), content, entries, starts)
        footer = None if content is None or form is None else _footer(form, content, entries, starts)
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
    with opened_directory(directory) as way:
        for entry, start, end in zip(entries, starts, starts[1:], strict=False):
            descriptor = open_below(way, entry.file)
            try:
                length = os.readv(descriptor, [view[start : end + 1]])
            finally:
                os.close(descriptor)
            # While it is near: each file is compared before the next one is read.
            if length != end - start or zlib.crc32(view[start:end]) != entry.whole:
                return None
    return content


def _form(
    manifest: Manifest, names: frozenset[str], content: pa.Buffer, entries: Sequence[SegmentEntry], starts: Sequence[int]
) -> _FormOfColumns | None:
    """What files one behind the other have in common, for who reads some columns; None where they are not of one form."""
    known = cast(_FormOfColumns | None, manifest.decoded.form)
    # All files of a dataset have one, mostly: to find it takes longer than to compare.
    if known is not None and known.form.is_of_all(content, entries, starts):
        found = known if known.names == names else known.form.of_columns(names)
    else:
        form = _Form.of(content.slice(0, starts[1]))
        if form is None or not form.is_of_all(content, entries, starts):
            return None
        found = form.of_columns(names)
    manifest.decoded.form = found
    return found


def _footer(form: _FormOfColumns, content: pa.Buffer, entries: Sequence[SegmentEntry], starts: Sequence[int]) -> pq.FileMetaData | None:
    """The footer of files one behind the other, of which each has a row group; None where these are not where they could be."""
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
    footer = joined_footer(form.form.shared, form.template, np.column_stack([values.reshape(len(entries), -1), rows]))
    return form.form.rebuild(pa.py_buffer(footer))


def _footer_in(content: pa.Buffer, start: int, end: int) -> pa.Buffer | None:
    """The footer of a file between two places; None where it has none."""
    last = end - FOOTER_END
    length = int.from_bytes(content.slice(last, 4).to_pybytes(), "little") if last > start else 0
    return content.slice(last - length, length) if start + len(MAGIC) <= last - length else None


@attrs.frozen
class _Leaf:
    """A leaf of a column: the name of the column, the path, the type that Parquet has for it, and whether it has a value for each row."""

    column: str
    path: str
    physical_type: str
    is_flat: bool


@attrs.frozen
class _Form:
    """What files have in common.

    Parameters
    ----------
    shared
        What surrounds what their footers say of rows.
    leaves
        The leaves of their columns.
    rebuild
        Makes a footer of its bytes.
    """

    shared: SharedFooter
    leaves: tuple[_Leaf, ...]
    rebuild: Callable[[pa.Buffer], pq.FileMetaData]

    @classmethod
    def of(cls, content: pa.Buffer) -> _Form | None:
        """The form of a file."""
        metadata, footer = pq.read_metadata(pa.BufferReader(content)), _footer_in(content, 0, content.size)
        shared = None if footer is None else SharedFooter.of(footer.to_pybytes())
        columns = [metadata.schema.column(place) for place in range(len(metadata.schema))]
        if shared is None or any(column.physical_type not in PHYSICAL_TYPES for column in columns):
            return None
        named = zip(column_names(metadata), columns, strict=True)
        leaves = tuple(_Leaf(name, column.path, column.physical_type, not column.max_repetition_level) for name, column in named)
        # What pickle makes a footer of again: a fourth of opening a file.
        return cls(shared, leaves, metadata.__reduce__()[0])

    def is_of_all(self, content: pa.Buffer, entries: Sequence[SegmentEntry], starts: Sequence[int]) -> bool:
        """Say whether files one behind the other are of this form, and have as many rows as their entries say, each in one row group."""
        before = {rows: self.shared.start(rows) for rows in {entry.rows for entry in entries}}
        view, after = memoryview(content).cast("B"), self.shared.after
        for entry, start, end in zip(entries, starts, starts[1:], strict=False):
            last = end - FOOTER_END
            first, start_of_footer = last - int.from_bytes(view[last : last + 4], "little"), before[entry.rows]
            if not start + len(MAGIC) <= first <= last - len(start_of_footer) - len(after):
                return False
            footer = view[first:last].tobytes()
            if not footer.startswith(start_of_footer) or not footer.endswith(after):
                return False
        return True

    def of_columns(self, names: frozenset[str]) -> _FormOfColumns:
        """The same for who reads some columns."""
        places = [place for place, leaf in enumerate(self.leaves) if leaf.column in names]
        template = Template.of([(leaf.path, leaf.physical_type) for leaf in self.leaves], frozenset(places))
        return _FormOfColumns(self, names, template, places, np.array([self.leaves[place].is_flat for place in places]))


@attrs.frozen(eq=False)
class _FormOfColumns:
    """What files have in common, for who reads some of their columns.

    Parameters
    ----------
    form
        The form of the files.
    names
        The columns.
    template
        What footers say of a row group.
    places
        The leaves of the columns.
    is_flat
        Whether each of these has a value for each row.
    """

    form: _Form
    names: frozenset[str]
    template: Template
    places: list[int]
    is_flat: npt.NDArray[np.bool_]

    def told(self, entries: Sequence[SegmentEntry]) -> npt.NDArray[np.int64] | None:
        """What entries tell of the chunks of the columns that are read, file by file and leaf by leaf; None where they do not."""
        known = chunks_together([() if entry.chunks is None else entry.chunks for entry in entries])
        if known is None or known.shape[1] != len(self.form.leaves) * NUMBERS_OF_CHUNK:
            return None
        return known.reshape(len(entries), len(self.form.leaves), NUMBERS_OF_CHUNK)[:, self.places]

    def parsed(self, content: pa.Buffer, starts: Sequence[int]) -> npt.NDArray[np.int64] | None:
        """The same from the footers of files one behind the other; None where these are none that writers of ours write."""
        footers = (_footer_in(content, start, end) for start, end in itertools.pairwise(starts))
        found = [numbers_of_chunks(self.form.rebuild(footer), self.places) for footer in footers if footer is not None]
        if None in found:
            return None
        return np.array(found, np.int64).reshape(len(found), len(self.places), NUMBERS_OF_CHUNK)

    def is_possible(self, values: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> bool:
        """Say whether chunks are within their files, and have a value for each row where they are flat."""
        if values.min() < 0 or values.max() >= LARGEST_NUMBER or values[:, :, CODEC].max() >= len(IS_CODEC):
            return False
        data, dictionary = values[:, :, DATA], values[:, :, DICTIONARY]
        start = np.where((dictionary > 0) & (dictionary < data), dictionary, data)
        end = start + values[:, :, SIZE]
        is_inside = (start > 0) & (data < end) & (end <= sizes[:, None]) & IS_CODEC[values[:, :, CODEC]]
        return bool((is_inside & ((values[:, :, VALUES] == rows[:, None]) | ~self.is_flat)).all())
