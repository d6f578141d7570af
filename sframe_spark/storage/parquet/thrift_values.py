"""Structs of Thrift's compact protocol as Python values that can be changed and written again: Parquet's footers."""

from __future__ import annotations

from typing import Any, NamedTuple

from sframe_spark.errors import BrokenThrift
from sframe_spark.storage.parquet.thrift import (
    BINARY,
    BOOLEANS,
    BYTE,
    DOUBLE,
    INTEGERS,
    LISTS,
    MOST_NESTED,
    STRUCT,
    field_start,
    list_start,
    number,
    signed,
    written_list_start,
    written_number,
)


class Value(NamedTuple):
    """What a field holds: whole numbers and booleans as such, binary values and floats as bytes, lists of values, and structs.

    Examples
    --------
    >>> Value(5, 7).kind in INTEGERS
    True
    """

    kind: int
    content: Any


Struct = dict[int, Value]
# Twice what a footer has: its schema's logical types are the deepest.
_DEPTH = 2 * MOST_NESTED


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
