"""What the footer of an ORC file says of its writer's calendar, which pyarrow does not tell."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pyarrow as pa

from sframe_spark.storage.calendars.arrow_columns import HybridColumns

# Fields of a postscript, and of a footer.
_FOOTER_LENGTH, _COMPRESSION = 1, 2
_WRITER, _CALENDAR = 9, 11
_ZLIB, _SNAPPY, _LZ4, _ZSTD = 1, 2, 4, 5
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_CHUNK_HEADER = 3
_UNKNOWN, _PROLEPTIC = 0, 2
_JAVA = 0
# A footer has some hundred bytes for each column and stripe.
MOST_FOOTER_BYTES = 256 << 20


def hybrid_columns_of_orc(path: str) -> HybridColumns | None:
    """Return which columns of an ORC file are in the hybrid calendar; None where none is.

    A file says in which calendar its writer counts. Older files of Java programs, Hive's and Spark's among them, do not, and are in the hybrid one;
    those of other programs that do not, such as Arrow's, are in the proleptic one. Time stamps are concerned as dates are; those that pyarrow reads
    are from 1678 on.

    Parameters
    ----------
    path
        A file that pyarrow has opened as ORC.
    """
    try:
        with open(path, "rb") as file:
            found = dict(_fields(_footer(file)))
    except (ValueError, IndexError, OSError, zlib.error, pa.ArrowException):
        # What pyarrow reads and we do not, as it knows more ways to pack a footer.
        found = {}
    calendar, writer = found.get(_CALENDAR, _UNKNOWN), found.get(_WRITER, _JAVA)
    is_proleptic = calendar == _PROLEPTIC or (calendar == _UNKNOWN and writer != _JAVA)
    return None if is_proleptic else HybridColumns(dates=True, instants=False, unzoned=False)


def _footer(file: BinaryIO) -> bytes:
    """The footer of a file, unpacked."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 256, 0))
    end = file.read(256)
    postscript = dict(_fields(end[-1 - end[-1] : -1]))
    length = postscript.get(_FOOTER_LENGTH, 0)
    start = size - 1 - end[-1] - length
    if not 0 <= start <= size or length > MOST_FOOTER_BYTES:
        raise ValueError("no footer")
    file.seek(start)
    packed = file.read(length)
    compression = postscript.get(_COMPRESSION, 0)
    return packed if not compression else b"".join(_unpacked(packed, _CODECS.get(compression, _unknown)))


def _fields(content: bytes) -> Iterator[tuple[int, int]]:
    """Numbers of a message in the encoding of protocol buffers, each with the number of its field; all else is passed over."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(content, at)
            yield key >> 3, value
        elif kind == _BYTES:
            length, at = _varint(content, at)
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
    """The chunks that a compressed part of a file consists of; each says how long it is, and whether it is compressed."""
    at = 0
    while at + _CHUNK_HEADER <= len(packed):
        header = int.from_bytes(packed[at : at + _CHUNK_HEADER], "little")
        at += _CHUNK_HEADER
        chunk = packed[at : at + (header >> 1)]
        at += header >> 1
        yield chunk if header & 1 else unpack(chunk)


def _of_zlib(chunk: bytes) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, MOST_FOOTER_BYTES)


def _of_zstd(chunk: bytes) -> bytes:
    with pa.input_stream(io.BytesIO(chunk), compression="zstd") as stream:
        return bytes(stream.read(MOST_FOOTER_BYTES))


def _of_snappy(chunk: bytes) -> bytes:
    length, _ = _varint(chunk, 0)
    if length > MOST_FOOTER_BYTES:
        raise ValueError("too long")
    return pa.decompress(chunk, decompressed_size=length, codec="snappy", asbytes=True)


def _of_lz4(chunk: bytes) -> bytes:
    """A block of LZ4 does not tell how long it is unpacked, which pyarrow has to be told."""
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
        if not 0 < distance <= len(found) or len(found) + length > MOST_FOOTER_BYTES:
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
