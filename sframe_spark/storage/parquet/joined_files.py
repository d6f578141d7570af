"""Short files of one dataset, joined: their column chunks become row groups of one file in memory, which is decoded as any longer one.

Opening a file takes pyarrow longer than decoding 2,000 rows, under Python's lock; here it is opened once for many. Nobody is told of trouble here:
who finds anything but what was written reads file by file, which tells what it is.
"""

from __future__ import annotations

import bisect
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.session.memory import lasting_pool
from sframe_spark.storage.files.paths import join
from sframe_spark.storage.files.regular import OPENING, refuse_link
from sframe_spark.storage.manifests.manifest import SegmentEntry
from sframe_spark.storage.parquet.footers import FOOTER_END
from sframe_spark.storage.parquet.joined_footer import CODECS, LARGEST_NUMBER, NUMBERS_OF_CHUNK, PHYSICAL_TYPES, SharedFooter, Template, joined_footer
from sframe_spark.storage.parquet.pages import MAGIC, column_names
from sframe_spark.storage.parquet.short_files import SHORT_BYTES

# Footers tell of columns that nobody reads, too: of so many at most.
MOST_UNREAD = 64


@attrs.frozen(eq=False)
class JoinedFile:
    """Columns of neighbouring short files in one file in memory, as they are stored.

    Parameters
    ----------
    content
        The file.
    starts
        The first row of each of the files it was made of, and the number of all rows.
    """

    content: pa.Buffer
    starts: tuple[int, ...]

    def read(self, names: Sequence[str], low: int, high: int) -> pa.Table | None:
        """Return some of its columns, of the rows ``low`` to ``high``; None where they hold other rows than their footers say."""
        first, last = bisect.bisect_right(self.starts, low) - 1, bisect.bisect_left(self.starts, high)
        try:
            with pq.ParquetFile(pa.BufferReader(self.content), pre_buffer=False) as file:
                table = file.read_row_groups(list(range(first, last)), columns=list(names), use_threads=False)
        except (OSError, pa.ArrowException):
            return None
        if table.num_rows != self.starts[last] - self.starts[first] or table.column_names != list(names):
            return None
        return table.slice(low - self.starts[first], high - low)


def may_join(entry: SegmentEntry) -> bool:
    """Say whether a file may be one of those that are joined: a short one of ours, of one row group, of which one check sum covers all bytes."""
    is_short = entry.size is not None and entry.size <= SHORT_BYTES
    return is_short and None not in (entry.tail, entry.whole, entry.group_bytes) and not entry.constants


def joined_file(directory: str, entries: Sequence[SegmentEntry], names: Sequence[str]) -> JoinedFile | None:
    """Return columns of all rows of some files (see :func:`may_join`), in their order.

    Every byte of each is compared with the check sum that its entry has. None where a file is not as it was written, or not of one form with the
    others.

    Parameters
    ----------
    directory
        The directory of the dataset.
    entries
        The files, at least one.
    names
        The columns.
    """
    try:
        gathered = _Gathered.of(directory, entries, frozenset(names))
    except (OSError, ValueError, IndexError, pa.ArrowException):
        return None
    if gathered is None:
        return None
    return JoinedFile(gathered.file(), tuple(itertools.accumulate(gathered.rows, initial=0)))


@attrs.frozen
class _Gathered:
    """Chunks of some columns of files of one form, file by file.

    Parameters
    ----------
    form
        The form.
    rows
        How many rows each file has.
    parts
        The bytes of each chunk, behind the letters that a file starts with.
    chunks
        What is told of each (see :data:`NUMBERS_OF_CHUNK`).
    """

    form: _Form
    rows: list[int]
    parts: list[bytes | memoryview]
    chunks: list[tuple[int, ...]]

    @classmethod
    def of(cls, directory: str, entries: Sequence[SegmentEntry], names: frozenset[str]) -> _Gathered | None:
        form: _Form | None = None
        rows, chunks, end = list[int](), list[tuple[int, ...]](), len(MAGIC)
        parts: list[bytes | memoryview] = [MAGIC]
        for entry, content in zip(entries, _contents(directory, entries), strict=False):
            form = form or (None if content is None else _Form.of(content, names))
            group = None if form is None or content is None else form.only_group(content, entry.rows)
            if form is None or content is None or group is None:
                return None
            rows.append(entry.rows)
            view = memoryview(content)
            for place in form.places:
                chunk = group.column(place)
                data, size, codec = chunk.data_page_offset, chunk.total_compressed_size, CODECS.get(chunk.compression)
                dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
                start = dictionary if dictionary and dictionary < data else data
                if place in form.flat and chunk.num_values != entry.rows:
                    return None
                if codec is None or not 0 < start <= data < start + size <= len(content):
                    return None
                parts.append(view[start : start + size])
                chunks.append((codec, chunk.num_values, chunk.total_uncompressed_size, size, end + data - start, end if start < data else 0))
                end += size
        return None if form is None or end >= LARGEST_NUMBER else cls(form, rows, parts, chunks)

    def file(self) -> pa.Buffer:
        chunks = np.array(self.chunks, np.int64).reshape(len(self.rows), len(self.form.places) * NUMBERS_OF_CHUNK)
        footer = joined_footer(self.form.shared, self.form.template, np.column_stack([chunks, self.rows]))
        parts = [*self.parts, footer, len(footer).to_bytes(4, "little"), MAGIC]
        found = pa.allocate_buffer(sum(map(len, parts)), memory_pool=lasting_pool())
        view, at = memoryview(found).cast("B"), 0
        for part in parts:
            view[at : at + len(part)] = part
            at += len(part)
        return found


def _contents(directory: str, entries: Sequence[SegmentEntry]) -> Iterator[bytes | None]:
    """The bytes of files; None of one that is not the one that was written."""
    for entry in entries:
        assert entry.size is not None
        location = join(directory, entry.file)
        refuse_link(location)
        descriptor = os.open(location, OPENING)
        try:
            content = os.read(descriptor, entry.size + 1)
        finally:
            os.close(descriptor)
        yield content if len(content) == entry.size and zlib.crc32(content) == entry.whole else None


@attrs.frozen
class _Form:
    """What files have in common.

    Parameters
    ----------
    shared
        What surrounds what their footers say of rows.
    template
        What they say of a row group.
    places
        The leaves of the columns that are read.
    flat
        Those of them that have a value for each row.
    rebuild
        Makes a footer of its bytes.
    """

    shared: SharedFooter
    template: Template
    places: tuple[int, ...]
    flat: frozenset[int]
    rebuild: Callable[[pa.Buffer], pq.FileMetaData]

    @classmethod
    def of(cls, content: bytes, names: frozenset[str]) -> _Form | None:
        metadata = pq.read_metadata(pa.BufferReader(content))
        shared = SharedFooter.of(content[-FOOTER_END - metadata.serialized_size : -FOOTER_END])
        leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
        places = tuple(place for place, name in enumerate(column_names(metadata)) if name in names)
        unread = len(leaves) - len(places)
        if shared is None or unread > MOST_UNREAD or any(leaf.physical_type not in PHYSICAL_TYPES for leaf in leaves):
            return None
        flat = frozenset(place for place in places if not leaves[place].max_repetition_level)
        # What pickle makes a footer of again: a fourth of opening a file.
        template = Template.of([(leaf.path, leaf.physical_type) for leaf in leaves], frozenset(places))
        return cls(shared, template, places, flat, metadata.__reduce__()[0])

    def only_group(self, content: bytes, rows: int) -> Any:
        """The row group of a file of this form that has so many rows; None where it is not one."""
        length = int.from_bytes(content[-FOOTER_END:-4], "little")
        start = len(content) - FOOTER_END - length
        if start < len(MAGIC) or not content.startswith(self.shared.before, start) or not content.endswith(self.shared.after, start, -FOOTER_END):
            return None
        metadata = self.rebuild(pa.py_buffer(content).slice(start, length))
        return metadata.row_group(0) if metadata.num_rows == rows and metadata.num_row_groups == 1 else None
