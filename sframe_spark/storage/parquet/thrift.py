"""Thrift's compact protocol, in which Parquet's page headers and footers are: walking through what is written, and how numbers and lists are."""

from __future__ import annotations

from sframe_spark.errors import BrokenThrift

# What a field holds, by the lower half of the byte before it.
BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
MOST_NESTED = 8
# Lists of more items say how many in a number of its own.
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
    """Return how many items a list has, what they are, and where the first one starts."""
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
    """Return the number and the kind of the field that starts somewhere, and where its value does; kind 0 ends a struct."""
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
    if depth > MOST_NESTED:
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
