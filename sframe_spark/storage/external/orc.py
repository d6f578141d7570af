"""Reads ORC files by stripe, with the footer fields that pyarrow does not expose."""

from __future__ import annotations

import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import attrs
import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.external.parquet import common_names, common_type
from sframe_spark.storage.filesystem.file_kind import ORC, refuse_other_kind
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, unchanged
from sframe_spark.storage.filesystem.path_resolution import DataFiles
from sframe_spark.storage.hybrid_calendar import HybridColumns
from sframe_spark.storage.manifest.physical_types import convert_foreign
from sframe_spark.storage.manifest.statistics import Scalar
from sframe_spark.storage.parquet.column_annotations import field_by_note
from sframe_spark.storage.segments.partition_columns import partition_columns, repeated
from sframe_spark.types import ColumnType
from sframe_spark.values.datetimes import lost_nanoseconds
from sframe_spark.values.from_arrow import warn_of_decimal_types
from sframe_spark.values.value_errors import column_named

# The footer: the writer's calendar, and types that pyarrow does not know.

# Field numbers of a postscript, of a footer, and of a type.
_FOOTER_LENGTH, _COMPRESSION = 1, 2
_TYPES, _WRITER, _CALENDAR = 4, 9, 11
_KIND, _SUBTYPES, _FIELD_NAMES = 1, 2, 3
# The last type kind that pyarrow reads (instant); it reads values of later kinds as booleans.
_LAST_KIND = 18
_LEAVE_OUT = "have it written as another type, or without this column"
_AS_TEXT = "which no column can have: have it written as text, as ST_AsText(...) gives it, or without this column"
_REFUSED = {19: f"it holds values of ORC's type GEOMETRY, {_AS_TEXT}", 20: f"it holds values of ORC's type GEOGRAPHY, {_AS_TEXT}"}
_ZLIB, _SNAPPY, _LZ4, _ZSTD = 1, 2, 4, 5
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_CHUNK_HEADER = 3
_UNKNOWN, _PROLEPTIC = 0, 2
_JAVA = 0
# A footer has a few hundred bytes per column and stripe.
MAX_FOOTER_BYTES = 256 << 20


@attrs.frozen
class OrcFooter:
    """What pyarrow does not expose of a file's footer.

    A file may name its writer's calendar. If it does not, files of Java programs (Hive, Spark) are in the hybrid calendar and
    those of other programs, such as Arrow, in the proleptic one. Only dates are affected; timestamps that pyarrow reads
    start in 1678.

    Parameters
    ----------
    hybrid
        Which columns are in the hybrid calendar; None where none is.
    refused
        Why columns cannot be read, by their names.
    """

    hybrid: HybridColumns | None
    refused: dict[str, str]


def orc_footer(path: str) -> OrcFooter:
    """Return the footer facts of a file; those of a typical Java writer if the footer cannot be decoded."""
    try:
        with open(path, "rb") as file:
            footer = _footer(file)
        found = dict(_numbers(footer))
        refused = _refused([content for field, content in _fields(footer) if field == _TYPES and isinstance(content, bytes)])
    except (ValueError, IndexError, OSError, zlib.error, pa.ArrowException):
        # Either pyarrow knows a compression that we do not, or it reports the damage.
        found, refused = {}, {}
    calendar, writer = found.get(_CALENDAR, _UNKNOWN), found.get(_WRITER, _JAVA)
    is_proleptic = calendar == _PROLEPTIC or (calendar == _UNKNOWN and writer != _JAVA)
    return OrcFooter(None if is_proleptic else HybridColumns(dates=True, instants=False, unzoned=False), refused)


def _refused(types: list[bytes]) -> dict[str, str]:
    """Return why columns cannot be read. Types are in depth-first order, beginning with the row."""
    if not types:
        return {}
    names = [content.decode("utf-8", "replace") for field, content in _fields(types[0]) if field == _FIELD_NAMES and isinstance(content, bytes)]
    starts = _subtypes(types[0])
    found = {}
    for name, start, stop in zip(names, starts, [*starts[1:], len(types)], strict=False):
        kinds = [dict(_numbers(content)).get(_KIND, 0) for content in types[start:stop]]
        unknown = [kind for kind in kinds if kind > _LAST_KIND]
        if unknown:
            found[name] = _REFUSED.get(unknown[0], f"it holds values of type {unknown[0]} of ORC, which is not known here: {_LEAVE_OUT}")
    return found


def _subtypes(content: bytes) -> list[int]:
    """The indices of a type's children, single or packed."""
    found: list[int] = []
    for field, value in _fields(content):
        if field == _SUBTYPES and isinstance(value, int):
            found.append(value)
        elif field == _SUBTYPES and isinstance(value, bytes):
            at = 0
            while at < len(value):
                number, at = _varint(value, at)
                found.append(number)
    return found


def _footer(file: BinaryIO) -> bytes:
    """The decompressed footer of a file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 256, 0))
    end = file.read(256)
    postscript = dict(_numbers(end[-1 - end[-1] : -1]))
    length = postscript.get(_FOOTER_LENGTH, 0)
    start = size - 1 - end[-1] - length
    if not 0 <= start <= size or length > MAX_FOOTER_BYTES:
        raise ValueError("no footer")
    file.seek(start)
    packed = file.read(length)
    compression = postscript.get(_COMPRESSION, 0)
    return packed if not compression else b"".join(_unpacked(packed, _CODECS.get(compression, _unknown)))


def _numbers(content: bytes) -> Iterator[tuple[int, int]]:
    """The numeric fields of a message."""
    return ((field, value) for field, value in _fields(content) if isinstance(value, int))


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numeric and binary fields of a protocol buffers message, with their field numbers."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(content, at)
            yield key >> 3, value
        elif kind == _BYTES:
            length, at = _varint(content, at)
            yield key >> 3, content[at : at + length]
            at += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("no message")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number has no end")


def _unpacked(packed: bytes, unpack: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """Yield the decompressed chunks of a stream; each has a header with its length and whether it is compressed."""
    at = 0
    while at + _CHUNK_HEADER <= len(packed):
        header = int.from_bytes(packed[at : at + _CHUNK_HEADER], "little")
        at += _CHUNK_HEADER
        chunk = packed[at : at + (header >> 1)]
        at += header >> 1
        yield chunk if header & 1 else unpack(chunk)


def _of_zlib(chunk: bytes) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, MAX_FOOTER_BYTES)


def _of_zstd(chunk: bytes) -> bytes:
    with pa.input_stream(io.BytesIO(chunk), compression="zstd") as stream:
        return bytes(stream.read(MAX_FOOTER_BYTES))


def _of_snappy(chunk: bytes) -> bytes:
    length, _ = _varint(chunk, 0)
    if length > MAX_FOOTER_BYTES:
        raise ValueError("too long")
    return pa.decompress(chunk, decompressed_size=length, codec="snappy", asbytes=True)


def _of_lz4(chunk: bytes) -> bytes:
    """Decompress an LZ4 block, which does not record its length, as pyarrow would need it."""
    found, at = bytearray(), 0
    while at < len(chunk):
        token = chunk[at]
        literals, at = _lz4_length(chunk, at + 1, token >> 4)
        found += chunk[at : at + literals]
        at += literals
        if at >= len(chunk):
            break
        distance = int.from_bytes(chunk[at : at + 2], "little")
        length, at = _lz4_length(chunk, at + 2, token & 15)
        if not 0 < distance <= len(found) or len(found) + length > MAX_FOOTER_BYTES:
            raise ValueError("no block of LZ4")
        for _ in range(length + 4):
            found.append(found[-distance])
    return bytes(found)


def _lz4_length(chunk: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            length += chunk[at]
            at += 1
            if chunk[at - 1] < 255:
                break
    return length, at


def _unknown(chunk: bytes) -> bytes:
    raise ValueError("an unknown compression")


_CODECS: dict[int, Callable[[bytes], bytes]] = {_ZLIB: _of_zlib, _SNAPPY: _of_snappy, _LZ4: _of_lz4, _ZSTD: _of_zstd}


@attrs.frozen
class OrcFile:
    """A file in the state in which it was opened.

    Parameters
    ----------
    path
        Where it is.
    state
        What the file system said of it.
    stripes, rows
        How many it has.
    constants
        Values of its partition columns.
    meant
        Annotated types, by column name, where pyarrow reads others.
    hybrid
        Which columns are in the hybrid calendar; None where none is.
    """

    path: str
    state: FileState
    stripes: int
    rows: int
    constants: tuple[Scalar, ...] = ()
    meant: Mapping[str, pa.DataType] = {}
    hybrid: HybridColumns | None = None

    def as_meant(self, name: str, values: pa.Array) -> pa.Array:
        """Return the values of a column as its writer meant them."""
        if self.hybrid is not None:
            values = self.hybrid.to_gregorian(values, values.type)
        return values.cast(self.meant[name]) if name in self.meant else values


@attrs.frozen
class OrcEnd:
    """The columns of a file, from its footer.

    Parameters
    ----------
    schema
        The columns, of the types that their writer means.
    refused
        Why a column cannot be read, by its name.
    """

    schema: pa.Schema
    refused: dict[str, str]


@attrs.frozen
class StripesSeen:
    """Counts gathered over stripes.

    Parameters
    ----------
    rows
        How many rows were found, by the number of the file.
    lost
        How many datetimes had nanoseconds that are cut off, by the name of the column.
    """

    rows: Counter[int] = attrs.field(factory=Counter)
    lost: Counter[str] = attrs.field(factory=Counter)

    def add(self, other: StripesSeen) -> None:
        """Add the counts of other stripes."""
        self.rows.update(other.rows)
        self.lost.update(other.lost)


@attrs.frozen
class OrcTable:
    """Files with the same columns.

    Parameters
    ----------
    files
        The files, in row order.
    names, types
        Their columns; those that directories name come last.
    stored
        Number of columns stored in the files.
    """

    files: tuple[OrcFile, ...]
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    stored: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(file.state.size for file in self.files)

    def arrays(self, stripes: Sequence[tuple[int, int]], seen: StripesSeen) -> Iterator[list[pa.Array]]:
        """Yield the rows of some stripes (pairs of file and stripe number), one array for each column.

        Parameters
        ----------
        stripes
            The stripes.
        seen
            Counts, added to as stripes are read.

        Raises
        ------
        StorageError
            If a file is damaged, or another one than before.
        """
        for number, stripe in stripes:
            raise_if_cancelled()
            file = self.files[number]
            unchanged(file.path, file.state)
            with _translate_errors(file.path):
                opened = _opened(file.path)
                batch = opened.read_stripe(stripe)
                seen.rows[number] += batch.num_rows
                places = {name: place for place, name in enumerate(opened.schema.names)}
                found = []
                for name, kind in zip(self.names[: self.stored], self.types[: self.stored], strict=True):
                    values = file.as_meant(name, batch.column(places[name]))
                    seen.lost[name] += lost_nanoseconds(values)
                    with column_named(name):
                        found.append(convert_foreign(values, kind))
            unchanged(file.path, file.state)
            kinds = self.types[self.stored :]
            yield [*found, *(repeated(value, kind, batch.num_rows) for value, kind in zip(file.constants, kinds, strict=True))]

    def require_rows(self, seen: StripesSeen) -> None:
        """Compare the counted rows with the footers: a truncated stripe is read without an error.

        Raises
        ------
        StorageError
            If a file has other rows.
        """
        for number, file in enumerate(self.files):
            if seen.rows[number] != file.rows:
                raise StorageError(
                    f"{visible(file.path)} is damaged: its stripes have {seen.rows[number]} rows, its end says {file.rows}; restore it from a copy"
                )


def orc_table(found: DataFiles) -> OrcTable:
    """Return the table of ORC files; only footers are read.

    Raises
    ------
    StorageError
        If the files do not fit together, or one is no ORC file.
    SchemaError
        If a column is of a type that no column can have.
    """
    paths, files, partitions = found.paths, [], partition_columns(found.files)
    # Only the columns are kept: thousands of files are not open at once.
    ends = []
    for number, path in enumerate(paths):
        state = unchanged(path, None)
        refuse_other_kind(path, ORC, "a readable ORC file")
        footer = orc_footer(path)
        for name, reason in footer.refused.items():
            raise SchemaError(f"column {visible(name)!r} of {visible(path)}: {reason}")
        with _translate_errors(path):
            file = _opened(path)
            end = _end(file.schema)
            meant = {field.name: field.type for field, stored in zip(end.schema, file.schema, strict=True) if field.type != stored.type}
            constants = tuple(column.values[number] for column in partitions)
            files.append(OrcFile(path, state, file.nstripes, file.nrows, constants, meant, footer.hybrid))
            ends.append(end)
    names = tuple(name for name in common_names(paths, ends) if name not in {column.name for column in partitions})
    types = tuple(common_type(name, paths, ends) for name in names)
    warn_of_decimal_types((name, ends[0].schema.field(name).type) for name in names)
    return OrcTable(tuple(files), (*names, *(column.name for column in partitions)), (*types, *(column.type for column in partitions)), len(names))


def _end(schema: pa.Schema) -> OrcEnd:
    fields, refused = [], {}
    for field in schema:
        try:
            fields.append(field_by_note(field))
        except SchemaError as error:
            refused[field.name] = str(error)
            fields.append(field)
    return OrcEnd(pa.schema(fields), refused)


def _opened(path: str) -> Any:
    from pyarrow import orc

    return orc.ORCFile(path)


class _translate_errors:
    """Translate pyarrow's errors of a file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, pa.ArrowInvalid) and "out of range for nanosecond" in str(error):
            raise StorageError(
                f"{visible(self._path)} has a date-time outside the years 1678 to 2261, which pyarrow does not read from ORC: "
                "let Spark read it, or write the table as Parquet"
            ) from error
        translate_os_errors("read", self._path).__exit__(kind, error, trace)
