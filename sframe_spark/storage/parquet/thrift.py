"""Decodes and encodes Thrift's compact protocol, in which Parquet stores footers and page headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sframe_spark.errors import BrokenThrift

# The first and the last bytes of a Parquet file.
MAGIC = b"PAR1"
# The bytes behind the footer: four for its length, and the magic bytes.
FOOTER_END = 8

# Types of values: the lower half of the first byte of a field.
BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
MAX_NESTED = 8
# Longer lists have an explicit length.
_MAX_SHORT_LIST = 14

# Each reading function takes the content and an offset, and returns the value and the offset behind it.


def read_unsigned(content: bytes, offset: int) -> tuple[int, int]:
    """Read an unsigned integer of variable length."""
    value = shift = 0
    while (byte := content[offset]) & 128:
        value |= (byte & 127) << shift
        shift += 7
        offset += 1
        if shift > 63:
            raise BrokenThrift("a number has no end")
    return value | byte << shift, offset + 1


def read_signed(content: bytes, offset: int) -> tuple[int, int]:
    """Read an integer of variable length that may be negative."""
    value, offset = read_unsigned(content, offset)
    return (value >> 1) ^ -(value & 1), offset


def read_binary(content: bytes, offset: int) -> tuple[bytes, int]:
    """Read a binary value, which has its length before it."""
    length, offset = read_unsigned(content, offset)
    if offset + length > len(content):
        raise BrokenThrift("a value has no end")
    return content[offset : offset + length], offset + length


def read_list_start(content: bytes, offset: int) -> tuple[int, int, int]:
    """Return the length of a list, the type of its items, and the offset of the first item."""
    head = content[offset]
    count, offset = (head >> 4, offset + 1) if head >> 4 <= _MAX_SHORT_LIST else read_unsigned(content, offset + 1)
    # Each item takes at least one byte.
    if count > len(content) - offset:
        raise BrokenThrift("a list has no end")
    return count, head & 15, offset


def skip_value(content: bytes, offset: int, kind: int, depth: int = 0) -> int:
    """Return the offset behind a value of a type."""
    if depth > MAX_NESTED:
        raise BrokenThrift("it is too deep")
    if kind in INTEGERS:
        while content[offset] & 128:
            offset += 1
        return offset + 1
    if kind == BINARY:
        length, offset = read_unsigned(content, offset)
        return offset + length
    if kind == STRUCT:
        while kind := content[offset]:
            offset += 1
            if not kind >> 4:
                _, offset = read_signed(content, offset)
            offset = skip_value(content, offset, kind & 15, depth + 1)
        return offset + 1
    if kind in LISTS:
        count, item, offset = read_list_start(content, offset)
        if item in BOOLEANS:
            return offset + count
        for _ in range(count):
            if item in INTEGERS:
                while content[offset] & 128:
                    offset += 1
                offset += 1
            else:
                offset = skip_value(content, offset, item, depth + 1)
        return offset
    if kind in BOOLEANS:
        return offset
    if kind in (BYTE, DOUBLE):
        return offset + (1 if kind == BYTE else 8)
    # Parquet has no maps.
    raise BrokenThrift("it holds what Parquet has not")


FieldReader = Callable[[bytes, int], tuple[Any, int]]


def field_readers(readers: Mapping[int, tuple[tuple[int, ...], FieldReader]]) -> dict[int, FieldReader]:
    """Return functions that read values, given by field number with the types that they read, in the form that :func:`read_fields` takes."""
    return {field << 4 | kind: read for field, (kinds, read) in readers.items() for kind in kinds}


def read_fields(content: bytes, offset: int, readers: Mapping[int, FieldReader], last: int | None = None) -> tuple[dict[int, Any], int]:
    """Read some fields of a struct, and skip the others; the values are returned by field number.

    Parameters
    ----------
    content, offset
        The content, and the offset of the struct.
    readers
        The functions that read values, by field number and type (see :func:`field_readers`). Other fields are skipped.
    last
        The number of the field after which reading ends; None for the end of the struct.

    Examples
    --------
    >>> read_fields(write_struct({1: Value(5, -3), 4: Value(8, b"a")}), 0, field_readers({4: ((BINARY,), read_binary)}))
    ({4: b'a'}, 6)
    """
    values: dict[int, Any] = {}
    field = 0
    # The start of a field is parsed here, and integers are skipped here, since calls would take most of the time.
    while (kind := content[offset]) and field != last:
        offset += 1
        if kind >> 4:
            field += kind >> 4
        else:
            field, offset = read_signed(content, offset)
        kind &= 15
        if (read := readers.get(field << 4 | kind)) is not None:
            values[field], offset = read(content, offset)
        elif kind in INTEGERS:
            while content[offset] & 128:
                offset += 1
            offset += 1
        else:
            offset = skip_value(content, offset, kind)
    return values, offset + 1


# Structs as Python values that can be changed and written again.


class Value(NamedTuple):
    """The value of a field, with its type.

    Parameters
    ----------
    kind
        The type. Boolean values are types of their own.
    content
        An int, bytes (for bytes, binary and floating-point values), a struct, or a pair of the type of items and a list of items; None for Booleans.

    Examples
    --------
    >>> Value(5, 7).kind in INTEGERS
    True
    """

    kind: int
    content: Any


Struct = dict[int, Value]
# Twice the depth of a footer, whose deepest values are the logical types of its schema.
_MAX_DEPTH = 2 * MAX_NESTED


def read_struct(content: bytes, offset: int = 0, depth: int = 0) -> tuple[Struct, int]:
    """Read a struct with all of its fields.

    Raises
    ------
    BrokenThrift
        If the bytes are not a struct.
    IndexError
        If the content ends within the struct.

    Examples
    --------
    >>> read_struct(write_struct({1: Value(5, -3), 4: Value(8, b"a")}))[0]
    {1: Value(kind=5, content=-3), 4: Value(kind=8, content=b'a')}
    """
    struct: Struct = {}
    field = 0
    while kind := content[offset]:
        offset += 1
        if kind >> 4:
            field += kind >> 4
        else:
            field, offset = read_signed(content, offset)
        value, offset = _read_value(content, offset, kind & 15, depth)
        struct[field] = Value(kind & 15, value)
    return struct, offset + 1


def _read_value(content: bytes, offset: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > _MAX_DEPTH:
        raise BrokenThrift("it is too deep")
    if kind in INTEGERS:
        return read_signed(content, offset)
    if kind in BOOLEANS:
        return None, offset
    if kind == STRUCT:
        return read_struct(content, offset, depth + 1)
    if kind == BINARY:
        return read_binary(content, offset)
    if kind in LISTS:
        count, item, offset = read_list_start(content, offset)
        values = []
        for _ in range(count):
            value, offset = (content[offset], offset + 1) if item in BOOLEANS else _read_value(content, offset, item, depth + 1)
            values.append(value)
        return (item, values), offset
    end = skip_value(content, offset, kind)
    if end > len(content):
        raise BrokenThrift("a value has no end")
    return content[offset:end], end


def write_struct(struct: Struct) -> bytes:
    """Return a struct as the bytes that :func:`read_struct` reads."""
    parts, before = [], 0
    for field in sorted(struct):
        kind, content = struct[field]
        is_near = 0 < field - before < 16
        parts.append(bytes([field - before << 4 | kind]) if is_near else bytes([kind]) + _signed(field))
        parts.append(_written(kind, content))
        before = field
    return b"".join(parts) + b"\0"


def _written(kind: int, content: Any) -> bytes:
    if kind in INTEGERS:
        return _signed(content)
    if kind in BOOLEANS:
        return b""
    if kind == STRUCT:
        return write_struct(content)
    if kind in LISTS:
        item, values = content
        count = len(values)
        start = bytes([count << 4 | item]) if count <= _MAX_SHORT_LIST else bytes([0xF0 | item]) + write_unsigned(count)
        return start + b"".join(bytes([value]) if item in BOOLEANS else _written(item, value) for value in values)
    return (write_unsigned(len(content)) + content) if kind == BINARY else bytes(content)


def write_unsigned(value: int) -> bytes:
    """Return an unsigned integer in as few bytes as possible.

    Examples
    --------
    >>> write_unsigned(300), read_unsigned(write_unsigned(300), 0)
    (b'\\xac\\x02', (300, 2))
    """
    content = bytearray()
    while value > 127:
        content.append(value & 127 | 128)
        value >>= 7
    content.append(value)
    return bytes(content)


def _signed(value: int) -> bytes:
    return write_unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def footer_bytes(footer: Struct) -> bytes:
    """Return the end of a Parquet file: the footer, its length, and the magic bytes."""
    content = write_struct(footer)
    return content + len(content).to_bytes(4, "little") + MAGIC
