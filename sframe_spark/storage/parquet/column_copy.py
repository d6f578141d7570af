"""Writes a segment file with some columns of another one: their pages are copied without decoding, and the footer is new."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import local_file
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.checksums import FileBytes, checksummed, page_headers
from sframe_spark.storage.parquet.footer import Footer, column_names, segment_footer
from sframe_spark.storage.parquet.thrift import BINARY, FOOTER_END, INTEGERS, LISTS, MAGIC, STRUCT, Struct, Value, footer_bytes, read_struct

I64 = INTEGERS[2]
LIST = LISTS[0]
# Field numbers of Parquet's structs (parquet.thrift).
ROWS, ROW_GROUPS, CREATED_BY = 3, 4, 6
CHUNKS, GROUP_BYTES, GROUP_ROWS, GROUP_START, GROUP_COMPRESSED, GROUP_NUMBER = 1, 2, 3, 5, 6, 7
CHUNK_OFFSET, CHUNK_METADATA = 2, 3
PATH, UNCOMPRESSED, COMPRESSED, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, BLOOM_FILTER, BLOOM_LENGTH = 3, 6, 7, 9, 10, 11, 14, 15
BLOCK_BYTES = 8 << 20


def may_copy(manifest: Manifest, entry: SegmentEntry, positions: Sequence[int], schema: pa.Schema) -> bool:
    """Return whether pages of a segment file can be copied into a new file with a schema.

    This package must have written the file, with checksums of every byte, and the columns must be stored as its writer stores the schema.
    """
    has_checksums = None not in (entry.tail, entry.pages) and entry.checksum is None
    if not has_checksums or entry.constants or not manifest.has_key or manifest.column_names_in_files is not None:
        return False
    return is_alike(segment_footer(manifest.directory, entry).metadata, names_in_file(positions), schema)


def names_in_file(positions: Sequence[int]) -> list[str]:
    """Return the names of some columns, and of the key, in segment files."""
    return [*map(file_column, positions), KEY_NAME]


def copy_columns(manifest: Manifest, entry: SegmentEntry, positions: Sequence[int], directory: str, file: str, schema: pa.Schema) -> SegmentEntry:
    """Write some columns of a file, for which :func:`may_copy` returns True, to a new file, and return its entry.

    Raises
    ------
    StorageError
        If the file is damaged.
    """
    target = join(directory, file)
    with local_file(join(manifest.directory, entry.file)) as origin:
        _require_sound(segment_footer(manifest.directory, entry), origin, entry, positions)
        try:
            with (
                translate_os_errors("read", origin),
                pa.OSFile(origin) as source,
                translate_os_errors("write", target),
                open(target, "xb") as stream,
            ):
                template = footer_of_file(pa.BufferReader(_empty_file(schema)))
                footer, ranges = new_footer(template, footer_of_file(source), names_in_file(positions), schema.names)
                stream.write(MAGIC)
                for start, stop in ranges:
                    _copy(source, stream, start, stop)
                stream.write(footer_bytes(footer))
            columns = tuple(entry.columns[position] for position in positions) if entry.columns else ()
            sizes = None if entry.column_bytes is None else tuple(entry.column_bytes[position] for position in positions)
            copied = attrs.evolve(entry, file=file, columns=columns, tail=None, pages=None, size=None, column_bytes=sizes)
            return checksummed(copied, target, len(positions))
        except BaseException as error:
            if os.path.exists(target):
                os.remove(target)
            if isinstance(error, (BrokenThrift, IndexError, KeyError)):
                raise StorageError(f"{origin} is damaged: {error}; restore it from a copy") from None
            raise


def _require_sound(footer: Footer, origin: str, entry: SegmentEntry, positions: Sequence[int]) -> None:
    """Compare page headers and data with their checksums, since the copies of damaged pages would get checksums that agree."""
    assert entry.pages is not None
    sums = {**{file_column(position): entry.pages[position] for position in positions}, KEY_NAME: entry.pages[-1]}
    with translate_os_errors("read", origin), pa.OSFile(origin) as source:
        headers = page_headers(FileBytes(source), footer.metadata, sums.keys(), with_pages=True)
    if headers.sums != sums or not headers.complete:
        raise StorageError(f"{origin} is damaged: the check sums of its page headers are others; restore it from a copy")


def is_alike(metadata: pq.FileMetaData, requested: Sequence[str], schema: pa.Schema) -> bool:
    """Return whether columns are stored as this package's writer stores a schema, because pages contain neither types nor maximum levels."""
    reference = pq.read_metadata(pa.BufferReader(_empty_file(schema))).schema
    leaves: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for index, name in enumerate(column_names(metadata)):
        leaves[name].append(_leaf(metadata.schema.column(index)))
    return [leaf for name in requested for leaf in leaves[name]] == [_leaf(reference.column(index)) for index in range(len(reference))]


def _leaf(column: Any) -> tuple[Any, ...]:
    below = column.path.partition(".")[2]
    return below, column.physical_type, str(column.logical_type), column.max_definition_level, column.max_repetition_level


def _empty_file(schema: pa.Schema) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema, version="2.6").close()
    return sink.getvalue()


def footer_of_file(source: pa.NativeFile) -> Struct:
    """Return the parsed footer of a file whose checksum was compared before."""
    size = source.size()
    length = int.from_bytes(source.read_at(FOOTER_END, size - FOOTER_END)[:4], "little")
    return read_struct(source.read_at(length, size - FOOTER_END - length))[0]


def new_footer(template: Struct, old: Struct, requested: Sequence[str], names: Sequence[str]) -> tuple[Struct, list[tuple[int, int]]]:
    """Return a footer for some columns under new names, and the ranges of bytes of their pages, in the order in which they are copied.

    Parameters
    ----------
    template
        The footer of a file without rows, with the schema of the new file.
    old
        The footer of the old file.
    requested
        The names of the columns in the old file.
    names
        Their names in the new file.
    """
    groups, ranges, end = [], list[tuple[int, int]](), len(MAGIC)
    for group in old[ROW_GROUPS].content[1]:
        by_name: dict[bytes, list[Struct]] = {}
        for chunk in group[CHUNKS].content[1]:
            metadata = chunk[CHUNK_METADATA].content
            by_name.setdefault(metadata[PATH].content[1][0], []).append(metadata)
        chunks = []
        for old_name, name in zip(requested, names, strict=True):
            for metadata in by_name[old_name.encode()]:
                start, stop = range_of(metadata)
                chunks.append(_moved(metadata, name.encode(), end - start))
                ranges.append((start, stop))
                end += stop - start
        groups.append(_row_group(chunks, group))
    footer = {**template, ROWS: old[ROWS], ROW_GROUPS: Value(LIST, (STRUCT, groups))}
    # By this name, readers recognise writers whose pages have known bugs.
    return {**footer, CREATED_BY: old[CREATED_BY]} if CREATED_BY in old else footer, ranges


def range_of(metadata: Struct) -> tuple[int, int]:
    """Return the positions where the pages of a column chunk start and end."""
    start = min(metadata[field].content for field in (DATA_PAGE, DICTIONARY_PAGE) if field in metadata and metadata[field].content > 0)
    return start, start + metadata[COMPRESSED].content


def _moved(metadata: Struct, name: bytes, distance: int) -> Struct:
    """Return the metadata of a column chunk under a new name, whose pages are at other positions, without positions of Bloom filters."""
    moved = {field: value for field, value in metadata.items() if field not in (BLOOM_FILTER, BLOOM_LENGTH)}
    for field in (DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE):
        if field in moved:
            moved[field] = Value(I64, moved[field].content + distance)
    moved[PATH] = Value(LIST, (BINARY, [name, *moved[PATH].content[1][1:]]))
    return moved


def _row_group(chunks: Sequence[Struct], old: Struct) -> Struct:
    """Return a row group whose column chunks have the given metadata; its rows are those of an old row group."""
    group = {
        CHUNKS: Value(LIST, (STRUCT, [{CHUNK_OFFSET: Value(I64, 0), CHUNK_METADATA: Value(STRUCT, metadata)} for metadata in chunks])),
        GROUP_BYTES: Value(I64, sum(metadata[UNCOMPRESSED].content for metadata in chunks)),
        GROUP_ROWS: old[GROUP_ROWS],
        GROUP_START: Value(I64, range_of(chunks[0])[0]),
        GROUP_COMPRESSED: Value(I64, sum(metadata[COMPRESSED].content for metadata in chunks)),
    }
    return {**group, GROUP_NUMBER: old[GROUP_NUMBER]} if GROUP_NUMBER in old else group


def _copy(source: pa.NativeFile, target: Any, start: int, stop: int) -> None:
    while start < stop:
        raise_if_cancelled()
        block = source.read_at(min(BLOCK_BYTES, stop - start), start)
        if not block:
            raise BrokenThrift("its pages have no end")
        target.write(block)
        start += len(block)
