"""Copies some columns of a segment file by copying their pages; only the footer is rewritten."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary_datasets import local_file
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.checksums import checksummed
from sframe_spark.storage.parquet.footer import FOOTER_END, Footer, segment_footer
from sframe_spark.storage.parquet.page_headers import MAGIC, FileBytes, column_names, page_headers
from sframe_spark.storage.parquet.thrift import BINARY, INTEGERS, LISTS, STRUCT, Struct, Value, read_struct, write_struct

I64 = INTEGERS[2]
LIST = LISTS[0]
# Fields of Parquet's structs, by their numbers in its definition (parquet.thrift).
ROWS, ROW_GROUPS, CREATED_BY = 3, 4, 6
CHUNKS, GROUP_BYTES, GROUP_ROWS, GROUP_START, GROUP_COMPRESSED, GROUP_NUMBER = 1, 2, 3, 5, 6, 7
CHUNK_OFFSET, CHUNK_METADATA = 2, 3
PATH, UNCOMPRESSED, COMPRESSED, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, BLOOM_FILTER, BLOOM_LENGTH = 3, 6, 7, 9, 10, 11, 14, 15
COPIED_AT_ONCE = 8 << 20


def may_copy(manifest: Manifest, entry: SegmentEntry, positions: Sequence[int], schema: pa.Schema) -> bool:
    """Return whether pages can be copied into a new file: our file, with checksums of every byte, stored with the same encoding of types."""
    known = None not in (entry.tail, entry.pages) and entry.checksum is None and not entry.constants
    if not known or not manifest.has_key or manifest.column_names_in_files is not None:
        return False
    return is_alike(segment_footer(manifest, entry).metadata, names_in_file(positions), schema)


def names_in_file(positions: Sequence[int]) -> list[str]:
    """Return the column names in our files, and that of the key."""
    return [*map(file_column, positions), KEY_NAME]


def copy_columns(manifest: Manifest, entry: SegmentEntry, positions: Sequence[int], directory: str, file: str, schema: pa.Schema) -> SegmentEntry:
    """Write some columns of a file, which :func:`may_copy` allows, to a new one, and return its entry.

    Raises
    ------
    StorageError
        If the file is damaged.
    """
    with local_file(join(manifest.directory, entry.file)) as origin:
        return _copied_columns(manifest, entry, positions, origin, join(directory, file), schema)


def _copied_columns(manifest: Manifest, entry: SegmentEntry, positions: Sequence[int], origin: str, place: str, schema: pa.Schema) -> SegmentEntry:
    _require_sound(segment_footer(manifest, entry), origin, entry, positions)
    try:
        with translate_os_errors("read", origin), pa.OSFile(origin) as source, translate_os_errors("write", place), open(place, "xb") as target:
            footer, ranges = new_footer(
                footer_of_file(pa.BufferReader(_empty_file(schema))), footer_of_file(source), names_in_file(positions), schema.names
            )
            target.write(MAGIC)
            for start, stop in ranges:
                _copy(source, target, start, stop)
            content = write_struct(footer)
            target.write(content + len(content).to_bytes(4, "little") + MAGIC)
        columns = tuple(entry.columns[position] for position in positions) if entry.columns else ()
        return checksummed(
            attrs.evolve(entry, file=os.path.basename(place), columns=columns, tail=None, pages=None, size=None), place, len(positions)
        )
    except BaseException as error:
        if os.path.exists(place):
            os.remove(place)
        if isinstance(error, (BrokenThrift, IndexError, KeyError)):
            raise StorageError(f"{origin} is damaged: {error}; restore it from a copy") from None
        raise


def _require_sound(footer: Footer, origin: str, entry: SegmentEntry, positions: Sequence[int]) -> None:
    """Compare page headers and data with their checksums: a copy would get checksums of damaged pages."""
    assert entry.pages is not None
    sums = {**{file_column(position): entry.pages[position] for position in positions}, KEY_NAME: entry.pages[-1]}
    with translate_os_errors("read", origin), pa.OSFile(origin) as source:
        try:
            found = page_headers(FileBytes(source), footer.metadata, sums.keys(), with_pages=True)
        except BrokenThrift as error:
            raise StorageError(f"{origin} is damaged: {error}; restore it from a copy") from None
    if found.sums != sums or not found.complete:
        raise StorageError(f"{origin} is damaged: the check sums of its page headers are others; restore it from a copy")


def is_alike(metadata: pq.FileMetaData, requested: Sequence[str], schema: pa.Schema) -> bool:
    """Return whether columns are stored as our writer stores a schema: pages say neither types nor levels."""
    reference = pq.read_metadata(pa.BufferReader(_empty_file(schema))).schema
    leaves: dict[str, list[tuple[Any, ...]]] = {}
    for place, name in enumerate(column_names(metadata)):
        leaves.setdefault(name, []).append(_leaf(metadata.schema.column(place)))
    return [leaf for name in requested for leaf in leaves.get(name, ())] == [_leaf(reference.column(place)) for place in range(len(reference))]


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
    """Return a footer for some columns under new names, and the page ranges to copy, in order."""
    groups, ranges, end = [], list[tuple[int, int]](), len(MAGIC)
    for group in old[ROW_GROUPS].content[1]:
        chunks = []
        for chunk, name in chunks_of(group, requested, names):
            start, stop = range_of(chunk[CHUNK_METADATA].content)
            chunks.append(moved(chunk, name, end - start))
            ranges.append((start, stop))
            end += stop - start
        groups.append(group_of(chunks, group))
    footer = {**template, ROWS: old[ROWS], ROW_GROUPS: Value(LIST, (STRUCT, groups))}
    # Readers work around bugs of some page writers by this name.
    return {**footer, CREATED_BY: old[CREATED_BY]} if CREATED_BY in old else footer, ranges


def chunks_of(group: Struct, requested: Sequence[str], names: Sequence[str]) -> Iterator[tuple[Struct, bytes]]:
    """Yield the requested column chunks of a row group, with their new names."""
    found: dict[bytes, list[Struct]] = {}
    for chunk in group[CHUNKS].content[1]:
        found.setdefault(chunk[CHUNK_METADATA].content[PATH].content[1][0], []).append(chunk)
    for old, new in zip(requested, names, strict=True):
        for chunk in found[old.encode()]:
            yield chunk, new.encode()


def range_of(metadata: Struct) -> tuple[int, int]:
    """Return where the pages of a column chunk start and end."""
    places = [metadata[field].content for field in (DATA_PAGE, DICTIONARY_PAGE) if field in metadata]
    start = min(place for place in places if place > 0)
    return start, start + metadata[COMPRESSED].content


def moved(chunk: Struct, name: bytes, distance: int) -> Struct:
    """Return a column chunk moved to another position and name, without pointers to other parts of the file."""
    metadata = dict(chunk[CHUNK_METADATA].content)
    for field in (DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE):
        if field in metadata:
            metadata[field] = Value(I64, metadata[field].content + distance)
    path = metadata[PATH].content[1]
    metadata[PATH] = Value(LIST, (BINARY, [name, *path[1:]]))
    for field in (BLOOM_FILTER, BLOOM_LENGTH):
        metadata.pop(field, None)
    return {CHUNK_OFFSET: Value(I64, 0), CHUNK_METADATA: Value(STRUCT, metadata)}


def group_of(chunks: Sequence[Struct], old: Struct) -> Struct:
    """Return a row group of some column chunks."""
    parts = [chunk[CHUNK_METADATA].content for chunk in chunks]
    group = {
        CHUNKS: Value(LIST, (STRUCT, list(chunks))),
        GROUP_BYTES: Value(I64, sum(part[UNCOMPRESSED].content for part in parts)),
        GROUP_ROWS: old[GROUP_ROWS],
        GROUP_START: Value(I64, range_of(parts[0])[0]),
        GROUP_COMPRESSED: Value(I64, sum(part[COMPRESSED].content for part in parts)),
    }
    return {**group, GROUP_NUMBER: old[GROUP_NUMBER]} if GROUP_NUMBER in old else group


def _copy(source: pa.NativeFile, target: Any, start: int, stop: int) -> None:
    while start < stop:
        raise_if_cancelled()
        part = source.read_at(min(COPIED_AT_ONCE, stop - start), start)
        if not part:
            raise BrokenThrift("its pages have no end")
        target.write(part)
        start += len(part)
