"""Reads, skips and writes structs in Thrift's compact protocol, the encoding of Parquet's footers and page headers."""

from __future__ import annotations

from typing import Any, NamedTuple

from sframe_spark.errors import BrokenThrift

# Field types, by the lower half of the header byte.
BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
MAX_NESTED = 8
# Longer lists have an explicit length.
_FEW_ITEMS = 14


def number(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = shift = 0
    while (byte := content[at]) & 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise BrokenThrift("a number has no end")
    return value | byte << shift, at + 1


def signed(content: bytes, at: int) -> tuple[int, int]:
    """Return a number that may be negative, and where it ends."""
    value, at = number(content, at)
    return (value >> 1) ^ -(value & 1), at


def list_start(content: bytes, at: int) -> tuple[int, int, int]:
    """Return length, item type and start of a list."""
    head = content[at]
    count, at = (head >> 4, at + 1) if head >> 4 <= _FEW_ITEMS else number(content, at + 1)
    # Each item takes a byte at least.
    if count > len(content) - at:
        raise BrokenThrift("a list has no end")
    return count, head & 15, at


def written_number(value: int) -> bytes:
    """Return a number without a sign, in as few bytes as it takes.

    Examples
    --------
    >>> written_number(300), number(written_number(300), 0)
    (b'\\xac\\x02', (300, 2))
    """
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def written_list_start(count: int, kind: int) -> bytes:
    """Return what comes before the items of a list."""
    return bytes([count << 4 | kind]) if count <= _FEW_ITEMS else bytes([0xF0 | kind]) + written_number(count)


def field_start(content: bytes, at: int, field: int) -> tuple[int, int, int]:
    """Return the number, the type and the value's start of a field; type 0 ends a struct."""
    head = content[at]
    at += 1
    if not head:
        return field, 0, at
    if head >> 4:
        return field + (head >> 4), head & 15, at
    field, at = signed(content, at)
    return field, head & 15, at


def skipped(content: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Return where a field ends."""
    if depth > MAX_NESTED:
        raise BrokenThrift("it is too deep")
    if kind in INTEGERS:
        while content[at] & 128:
            at += 1
        return at + 1
    if kind == BINARY:
        length, at = number(content, at)
        return at + length
    if kind == STRUCT:
        return _skipped_struct(content, at, depth)
    if kind in LISTS:
        return _skipped_list(content, at, depth)
    if kind in BOOLEANS:
        return at
    if kind == BYTE:
        return at + 1
    if kind == DOUBLE:
        return at + 8
    # Parquet has no maps.
    raise BrokenThrift("it holds what Parquet has not")


def _skipped_struct(content: bytes, at: int, depth: int) -> int:
    while kind := content[at]:
        at += 1
        if not kind >> 4:
            _, at = signed(content, at)
        kind &= 15
        if kind in INTEGERS:
            # Most are, and a call for each would take most of the time.
            while content[at] & 128:
                at += 1
            at += 1
        else:
            at = skipped(content, at, kind, depth + 1)
    return at + 1


def _skipped_list(content: bytes, at: int, depth: int) -> int:
    count, kind, at = list_start(content, at)
    if kind in BOOLEANS:
        return at + count
    for _ in range(count):
        at = skipped(content, at, kind, depth + 1)
    return at


# Structs as Python values that can be changed and written again.


class Value(NamedTuple):
    """A field value: an int or bool as such, binary and float values as bytes, a list, or a struct.

    Examples
    --------
    >>> Value(5, 7).kind in INTEGERS
    True
    """

    kind: int
    content: Any


Struct = dict[int, Value]
# Twice what a footer has: its schema's logical types are the deepest.
_DEPTH = 2 * MAX_NESTED


def read_struct(content: bytes, at: int = 0, depth: int = 0) -> tuple[Struct, int]:
    """Return the struct that starts somewhere, and where it ends.

    Raises
    ------
    BrokenThrift
        If it is none.

    Examples
    --------
    >>> read_struct(write_struct({1: Value(5, -3), 4: Value(8, b"a")}))[0]
    {1: Value(kind=5, content=-3), 4: Value(kind=8, content=b'a')}
    """
    found: Struct = {}
    field = 0
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            return found, at
        value, at = _read_value(content, at, kind, depth)
        found[field] = Value(kind, value)


def _read_value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > _DEPTH:
        raise BrokenThrift("it is too deep")
    if kind in INTEGERS:
        return signed(content, at)
    if kind in BOOLEANS:
        return None, at
    if kind == STRUCT:
        return read_struct(content, at, depth + 1)
    if kind in LISTS:
        count, item, at = list_start(content, at)
        values = []
        for _ in range(count):
            value, at = (content[at], at + 1) if item in BOOLEANS else _read_value(content, at, item, depth + 1)
            values.append(value)
        return (item, values), at
    if kind == BINARY:
        size, at = number(content, at)
    elif kind in (BYTE, DOUBLE):
        size = 1 if kind == BYTE else 8
    else:
        raise BrokenThrift("it holds what Parquet has not")
    if at + size > len(content):
        raise BrokenThrift("a value has no end")
    return content[at : at + size], at + size


def write_struct(struct: Struct) -> bytes:
    """Return a struct as the bytes that :func:`read_struct` reads."""
    parts, before = [], 0
    for field in sorted(struct):
        kind, content = struct[field]
        near = 0 < field - before < 16
        parts.append(bytes([field - before << 4 | kind]) if near else bytes([kind]) + _signed(field))
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
        return written_list_start(len(values), item) + b"".join(bytes([value]) if item in BOOLEANS else _written(item, value) for value in values)
    return (written_number(len(content)) + content) if kind == BINARY else bytes(content)


def _signed(value: int) -> bytes:
    return written_number(value << 1 if value >= 0 else (-value << 1) - 1)
