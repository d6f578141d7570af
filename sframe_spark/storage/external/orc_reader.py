"""Reads external ORC files stripe by stripe, and the parts of their footers that pyarrow does not expose."""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import attrs
import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.pyarrow_versions import ORC_TIMESTAMPS_ARE_CHECKED
from sframe_spark.storage.external.parquet_footers_to_manifest import common_names, common_type
from sframe_spark.storage.filesystem.format_recognition import ORC, refuse_other_format
from sframe_spark.storage.filesystem.input_files import DataFiles
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, unchanged
from sframe_spark.storage.hybrid_calendar import HybridColumns
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.manifest.physical_types import convert_foreign
from sframe_spark.storage.parquet.thrift import read_unsigned
from sframe_spark.storage.parquet.unsupported_types_and_spark_type_metadata import field_by_note
from sframe_spark.storage.segments.partition_columns import partition_columns, repeated
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_to_column_types import warn_of_decimal_types
from sframe_spark.values.datetimes import lost_nanoseconds
from sframe_spark.values.invalid_unicode_errors import column_named

# The footer says which calendar the writer used, and which types the columns have, also types that pyarrow does not know.

# Field numbers of a postscript, of a footer, and of a type.
_FOOTER_LENGTH, _COMPRESSION = 1, 2
_TYPES, _STATISTICS, _WRITER, _CALENDAR = 4, 7, 9, 11
_KIND, _SUBTYPES, _FIELD_NAMES = 1, 2, 3
# The number of the last type that pyarrow knows (timestamps in UTC). It reads values of types with larger numbers as Boolean values.
_LAST_KIND = 18
_TIMESTAMP_KINDS = (9, 18)
# Field numbers of the statistics of a column, and of those of timestamps: the limits in milliseconds, in the writer's time zone and in UTC.
_VALUES, _OF_TIMESTAMPS = 1, 9
_LIMITS = (1, 2, 3, 4)
# What 64 bits of nanoseconds hold, less a day, as the time zone of the writer is unknown.
_MAX_MILLISECONDS = 2**63 // 10**6 - 86_400_000
_LEAVE_OUT = "have it written as another type, or without this column"
_AS_TEXT = "which no column can have: have it written as text, as ST_AsText(...) gives it, or without this column"
_REFUSED = {19: f"it holds values of ORC's type GEOMETRY, {_AS_TEXT}", 20: f"it holds values of ORC's type GEOGRAPHY, {_AS_TEXT}"}
_ZLIB, _SNAPPY, _LZ4, _ZSTD = 1, 2, 4, 5
# The wire types of protocol buffers.
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_CHUNK_HEADER = 3
_UNKNOWN, _PROLEPTIC = 0, 2
_JAVA = 0
# A footer has a few hundred bytes per column and stripe.
MAX_FOOTER_BYTES = 256 << 20
# The start of a file in LZ4's frame format, with blocks of up to 4 MB that do not depend on each other.
_LZ4_FRAME = b"\x04\x22\x4d\x18\x60\x70\x73"


@attrs.frozen
class OrcFooter:
    """The parts of the footer of a file that pyarrow does not expose.

    A file may say which calendar its writer used. If it does not, files of Java programs (Hive, Spark) are in the hybrid calendar, and files of
    other programs, such as Arrow, in the proleptic Gregorian one. Only dates are affected, since the timestamps that pyarrow reads begin in 1678.

    Parameters
    ----------
    hybrid
        Which columns are in the hybrid calendar; None if no column is.
    refused
        The columns that cannot be read, by name, with the reason.
    has_far_timestamps
        Whether there may be timestamps that 64-bit nanoseconds do not hold.
    """

    hybrid: HybridColumns | None
    refused: dict[str, str]
    has_far_timestamps: bool


def orc_footer(path: str) -> OrcFooter:
    """Return the footer of a file. If it cannot be decoded, the file is taken for one of a Java program without unknown types."""
    try:
        with open(path, "rb") as file:
            footer = _footer(file)
        numbers = dict(_numbers(footer))
        types, statistics = _messages(footer, _TYPES), _messages(footer, _STATISTICS)
        refused, has_far_timestamps = _refused(types), _has_far_timestamps(types, statistics)
    except (ValueError, IndexError, OSError, zlib.error, pa.ArrowException):
        # Either pyarrow supports a compression that is not supported here, or it reports the damage.
        numbers, refused, has_far_timestamps = {}, {}, False
    calendar, writer = numbers.get(_CALENDAR, _UNKNOWN), numbers.get(_WRITER, _JAVA)
    is_proleptic = calendar == _PROLEPTIC or (calendar == _UNKNOWN and writer != _JAVA)
    return OrcFooter(None if is_proleptic else HybridColumns(dates=True, instants=False, unzoned=False), refused, has_far_timestamps)


def _has_far_timestamps(types: list[bytes], statistics: list[bytes]) -> bool:
    """Return whether the statistics of a column of timestamps, nested ones too, do not show that 64-bit nanoseconds hold all of them."""
    for number, content in enumerate(types):
        if dict(_numbers(content)).get(_KIND, 0) not in _TIMESTAMP_KINDS:
            continue
        column = statistics[number] if number < len(statistics) else b""
        limits = [limit for message in _messages(column, _OF_TIMESTAMPS) for field, limit in _numbers(message) if field in _LIMITS]
        # Signed numbers are stored in zigzag order.
        if any(abs((limit >> 1) ^ -(limit & 1)) > _MAX_MILLISECONDS for limit in limits):
            return True
        if not limits and dict(_numbers(column)).get(_VALUES, 1):
            return True
    return False


def _refused(types: list[bytes]) -> dict[str, str]:
    """Return, by column name, why columns cannot be read, from the types in a footer, depth first; the first type is that of a row."""
    if not types:
        return {}
    names = [content.decode("utf-8", "replace") for content in _messages(types[0], _FIELD_NAMES)]
    starts = _subtypes(types[0])
    refused = {}
    for name, start, stop in zip(names, starts, [*starts[1:], len(types)], strict=False):
        kinds = (dict(_numbers(content)).get(_KIND, 0) for content in types[start:stop])
        if (unknown := next((kind for kind in kinds if kind > _LAST_KIND), None)) is not None:
            refused[name] = _REFUSED.get(unknown, f"it holds values of type {unknown} of ORC, which is not known here: {_LEAVE_OUT}")
    return refused


def _subtypes(content: bytes) -> list[int]:
    """Return the indices of the types within a type. They are stored as one field each, or all in one field."""
    indices: list[int] = []
    for field, value in _fields(content):
        if field == _SUBTYPES and isinstance(value, int):
            indices.append(value)
        elif field == _SUBTYPES and isinstance(value, bytes):
            offset = 0
            while offset < len(value):
                index, offset = read_unsigned(value, offset)
                indices.append(index)
    return indices


def _footer(file: BinaryIO) -> bytes:
    """Return the decompressed footer of a file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 256, 0))
    end = file.read(256)
    postscript = dict(_numbers(end[-1 - end[-1] : -1]))
    length = postscript.get(_FOOTER_LENGTH, 0)
    start = size - 1 - end[-1] - length
    if not 0 <= start <= size or length > MAX_FOOTER_BYTES:
        raise ValueError("no footer")
    file.seek(start)
    content = file.read(length)
    compression = postscript.get(_COMPRESSION, 0)
    return b"".join(_unpacked(content, compression)) if compression else content


def _numbers(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the numeric fields of a message of protocol buffers, each with its field number."""
    return ((field, value) for field, value in _fields(content) if isinstance(value, int))


def _messages(content: bytes, number: int) -> list[bytes]:
    """Return the binary fields with a number of a message of protocol buffers."""
    return [value for field, value in _fields(content) if field == number and isinstance(value, bytes)]


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numeric and binary fields of a message of protocol buffers, each with its field number."""
    offset = 0
    while offset < len(content):
        key, offset = read_unsigned(content, offset)
        kind = key & 7
        if kind == _VARINT:
            value, offset = read_unsigned(content, offset)
            yield key >> 3, value
        elif kind == _BYTES:
            length, offset = read_unsigned(content, offset)
            yield key >> 3, content[offset : offset + length]
            offset += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            offset += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("no message")


def _unpacked(content: bytes, compression: int) -> Iterator[bytes]:
    """Yield the decompressed chunks of a stream. Before each chunk is its length, and whether it is compressed."""
    offset = 0
    while offset + _CHUNK_HEADER <= len(content):
        header = int.from_bytes(content[offset : offset + _CHUNK_HEADER], "little")
        offset += _CHUNK_HEADER
        chunk = content[offset : offset + (header >> 1)]
        offset += header >> 1
        yield chunk if header & 1 else _decompressed(chunk, compression)


def _decompressed(chunk: bytes, compression: int) -> bytes:
    if compression == _ZLIB:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, MAX_FOOTER_BYTES)
    if compression == _SNAPPY:
        length, _ = read_unsigned(chunk, 0)
        if length > MAX_FOOTER_BYTES:
            raise ValueError("too long")
        return pa.decompress(chunk, decompressed_size=length, codec="snappy", asbytes=True)
    if compression == _LZ4:
        # ORC stores a plain block without the length of its content. pyarrow reads it in a frame, with its length before it, and 0 at the end.
        codec, chunk = "lz4", _LZ4_FRAME + len(chunk).to_bytes(4, "little") + chunk + bytes(4)
    elif compression == _ZSTD:
        codec = "zstd"
    else:
        raise ValueError("an unknown compression")
    with pa.input_stream(io.BytesIO(chunk), compression=codec) as stream:
        return bytes(stream.read(MAX_FOOTER_BYTES))


@attrs.frozen
class OrcFile:
    """An ORC file in the state in which it was opened.

    Parameters
    ----------
    path
        The path of the file.
    state
        The state of the file.
    stripes, rows
        The numbers of its stripes and rows.
    constants
        The values of its partition columns.
    meant
        The types of columns, by name, for which Spark has noted another type in the metadata than pyarrow reads.
    hybrid
        Which columns are in the hybrid calendar; None if no column is.
    """

    path: str
    state: FileState
    stripes: int
    rows: int
    constants: tuple[Scalar, ...] = ()
    meant: Mapping[str, pa.DataType] = {}
    hybrid: HybridColumns | None = None

    def as_meant(self, name: str, values: pa.Array) -> pa.Array:
        """Convert values of a column, as pyarrow read them, to the column's type, and dates to the proleptic Gregorian calendar."""
        if self.hybrid is not None:
            values = self.hybrid.to_gregorian(values, values.type)
        return values.cast(self.meant[name]) if name in self.meant else values


@attrs.frozen
class OrcEnd:
    """The columns of a file, from its footer.

    Parameters
    ----------
    schema
        The Arrow schema, with the types that Spark has noted in the metadata.
    refused
        The columns that cannot be read, by name, with the reason.
    """

    schema: pa.Schema
    refused: dict[str, str]


@attrs.frozen
class StripesSeen:
    """Counts of what was read from stripes.

    Parameters
    ----------
    rows
        The number of rows that were read, by the index of the file.
    lost
        The number of datetimes whose nanoseconds were cut off, by column name.
    """

    rows: Counter[int] = attrs.field(factory=Counter)
    lost: Counter[str] = attrs.field(factory=Counter)

    def add(self, other: StripesSeen) -> None:
        """Add the counts of other stripes."""
        self.rows.update(other.rows)
        self.lost.update(other.lost)


@attrs.frozen
class OrcTable:
    """ORC files with the same columns.

    Parameters
    ----------
    files
        The files, in row order.
    names, types
        The names and types of the columns; partition columns come last.
    stored
        The number of columns in the files, without partition columns.
    """

    files: tuple[OrcFile, ...]
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    stored: int

    @property
    def rows(self) -> int:
        """The number of rows in all files."""
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.state.size for file in self.files)

    def arrays(self, stripes: Sequence[tuple[int, int]], seen: StripesSeen) -> Iterator[list[pa.Array]]:
        """Yield for each of some stripes an array for each column.

        Parameters
        ----------
        stripes
            The index of the file and the index of the stripe in it, for each stripe.
        seen
            The counts, to which those of the stripes are added.

        Raises
        ------
        StorageError
            If a file is damaged, or was changed.
        """
        for number, stripe in stripes:
            raise_if_cancelled()
            file = self.files[number]
            unchanged(file.path, file.state)
            with _translate_errors(file.path):
                opened = _opened(file.path)
                batch = opened.read_stripe(stripe)
                seen.rows[number] += batch.num_rows
                indices = {name: index for index, name in enumerate(opened.schema.names)}
                columns = []
                for name, column_type in zip(self.names[: self.stored], self.types[: self.stored], strict=True):
                    values = file.as_meant(name, batch.column(indices[name]))
                    seen.lost[name] += lost_nanoseconds(values)
                    with column_named(name):
                        columns.append(convert_foreign(values, column_type))
            unchanged(file.path, file.state)
            partitions = zip(file.constants, self.types[self.stored :], strict=True)
            yield [*columns, *(repeated(value, column_type, batch.num_rows) for value, column_type in partitions)]

    def require_rows(self, seen: StripesSeen) -> None:
        """Compare the numbers of rows that were read with the footers, since pyarrow reads a truncated stripe without an error.

        Raises
        ------
        StorageError
            If they differ.
        """
        for number, file in enumerate(self.files):
            if seen.rows[number] != file.rows:
                raise StorageError(
                    f"{visible(file.path)} is damaged: its stripes have {seen.rows[number]} rows, but its footer says {file.rows}; restore it "
                    f"from a copy"
                )


def orc_table(resolved: DataFiles) -> OrcTable:
    """Return the table of ORC files; only footers are read.

    Raises
    ------
    StorageError
        If the files have different columns, or a file is not an ORC file.
    SchemaError
        If the type of a column is not supported.
    """
    paths, files, partitions = resolved.paths, [], partition_columns(resolved.files)
    # The files are closed, since there may be thousands of them; only their columns are kept.
    ends = []
    for number, path in enumerate(paths):
        state = unchanged(path, None)
        refuse_other_format(path, ORC, "a readable ORC file")
        footer = orc_footer(path)
        for name, reason in footer.refused.items():
            raise SchemaError(f"column {visible(name)!r} of {visible(path)}: {reason}")
        if footer.has_far_timestamps and not ORC_TIMESTAMPS_ARE_CHECKED:
            raise _far_timestamps(path)
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


@contextlib.contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    with translate_os_errors("read", path):
        try:
            yield
        except pa.ArrowInvalid as error:
            if "out of range for nanosecond" not in str(error):
                raise
            raise _far_timestamps(path) from error


def _far_timestamps(path: str) -> StorageError:
    return StorageError(
        f"{visible(path)} has a date-time outside the years 1678 to 2261, which pyarrow does not read from ORC: "
        "let Spark read it, or write the table as Parquet"
    )
