"""Decodes Spark's VARIANTs to Python values, and writes Python values as JSON from which Spark makes VARIANTs.

The binary format is Parquet's (VariantEncoding.md): the bytes of a value, and the names of its fields as metadata. (Spark's `to_json` is not used: it
loses the difference between `1.0` and `1`, `"NaN"` and NaN, a string and a time.) The bytes are not trusted: every length in them is checked, and
values that overlap, which would expand to more bytes than there are, are refused.
"""

from __future__ import annotations

import array
import datetime
import json
import math
import struct
import uuid
from collections.abc import Callable, Collection
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import DateTimeRangeError, SchemaError
from sframe_spark.message_text import brief
from sframe_spark.types import DATETIME_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND
from sframe_spark.values.datetimes import DAY, from_microseconds
from sframe_spark.values.tagged_json_display_and_canonical_text import MAX_LEVELS, too_deep

MISSING_KIND = "missing"
ZONED_KIND = "zoned"
"""Datetimes that are instants; datetimes without a time zone are of ``DATETIME_KIND``."""
DAMAGED_KIND = "damaged"
"""A VARIANT without bytes; :func:`refuse_damaged` raises the error, so that its message can name the column."""

# A VARIANT stores each field name once, but every decoded dict takes memory for its keys.
MAX_NAME_BYTES = 1 << 30

_PRIMITIVE, _SHORT_TEXT, _OBJECT = 0, 1, 2
_NULL, _TRUE, _FALSE, _DOUBLE, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ, _FLOAT, _BINARY, _TEXT, _UUID = 0, 1, 2, 7, 11, 12, 13, 14, 15, 16, 20
_INT_BYTES = {3: 1, 4: 2, 5: 4, 6: 8}
_DECIMAL_BYTES = {8: 4, 9: 8, 10: 16}
# Decimals of at most 18 digits. Decimals of 16 bytes are longer, and become floats as in a column of decimals.
_DECIMALS_OF_INTS = (8, 9)
_MAX_SCALE = 38
_KINDS = {
    _NULL: MISSING_KIND, _TRUE: INT_KIND, _FALSE: INT_KIND, **dict.fromkeys(_INT_BYTES, INT_KIND), _DOUBLE: FLOAT_KIND, _FLOAT: FLOAT_KIND,
    _DATE: DATETIME_KIND, _TIMESTAMP: ZONED_KIND, _TIMESTAMP_NTZ: DATETIME_KIND, _BINARY: STR_KIND, _TEXT: STR_KIND, _UUID: STR_KIND,
}  # fmt: skip


class VariantType(pa.ExtensionType):
    """The Arrow type of VARIANTs as Spark sends them. It is not registered with Arrow, so tables from other sources never have it."""

    def __init__(self) -> None:
        super().__init__(pa.struct([("value", pa.binary()), ("metadata", pa.binary())]), "sframe_spark.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        """Return no bytes, as the type has no parameters."""
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> VariantType:
        """Return the type."""
        return cls()


def is_stored_variant(data_type: pa.DataType) -> bool:
    """Return whether a struct type is the form in which Parquet and Arrow store VARIANTs, plain or shredded (with a ``typed_value``).

    Examples
    --------
    >>> names = pa.field("metadata", pa.binary(), nullable=False)
    >>> is_stored_variant(pa.struct([names, ("value", pa.binary())])), is_stored_variant(pa.struct([names]))
    (True, False)
    """
    fields = {field.name: field for field in data_type}
    names = fields.pop("metadata", None)
    if names is None or names.nullable or not fields or not fields.keys() <= {"value", "typed_value"}:
        return False
    parts = [names.type, *([fields["value"].type] if "value" in fields else [])]
    return all(pa.types.is_binary(part) or pa.types.is_large_binary(part) for part in parts)


def variant_kind(start: bytes) -> str:
    """Return the kind of a VARIANT from its first two bytes: a column kind, "zoned", "missing", "damaged" if there are no bytes, or "number N".

    "number N" stands for the type with number N, whose values no column can hold.

    Examples
    --------
    >>> variant_kind(b"\\x0c\\x01"), variant_kind(b"\\x00"), variant_kind(b"\\x02\\x00")
    ('int', 'missing', 'dict')
    """
    if not start:
        return DAMAGED_KIND
    form, code = _split(start[0])
    if form != _PRIMITIVE:
        return {_SHORT_TEXT: STR_KIND, _OBJECT: DICT_KIND}.get(form, LIST_KIND)
    if code in _DECIMAL_BYTES:
        return INT_KIND if code in _DECIMALS_OF_INTS and start[1:2] == b"\x00" else FLOAT_KIND
    return _KINDS.get(code, f"number {code}")


def variant_value(value: bytes, metadata: bytes) -> Any:
    """Decode a VARIANT to an int, float, string, datetime, list or dict, or to None for null.

    A decimal becomes the nearest float, or an int if it has no fraction and at most 18 digits. Keys of dicts are in the order of their values in the
    bytes, which is the order in the JSON from which the VARIANT was made.

    Raises
    ------
    SchemaError
        If the bytes are not a VARIANT, of a kind that no column holds, nested too deep, or contain a binary value that is not UTF-8.
    DateTimeRangeError
        If a datetime is outside the years 1 to 9999.

    Examples
    --------
    >>> variant_value(b"\\x02\\x01\\x00\\x00\\x02\\x0c\\x01", b"\\x01\\x01\\x00\\x01a")
    {'a': 1}
    """
    try:
        return _Reader(value, metadata, len(value)).at(0, MAX_LEVELS)
    except RecursionError:
        raise too_deep() from None


def refuse_damaged(kinds: Collection[str]) -> None:
    """Raise if kinds that :func:`variant_kind` returned include the kind of a damaged VARIANT.

    Raises
    ------
    SchemaError
        If a VARIANT has no bytes.
    """
    if DAMAGED_KIND in kinds:
        raise _damaged("it has no bytes")


def _split(header: int) -> tuple[int, int]:
    """Return the two low bits of a header, which tell scalars, short strings, dicts and lists apart, and the other bits of the header."""
    return header & 3, header >> 2


def _damaged(what: str) -> SchemaError:
    return SchemaError(f"a VARIANT is damaged: {what}; write it again, or leave its row out")


@attrs.define
class _Reader:
    """Reads the values of one VARIANT.

    Parameters
    ----------
    value, metadata
        The two byte strings of the VARIANT.
    left
        The number of bytes not read yet. As no byte belongs to two values, it becomes negative only if values overlap.
    names, name_bytes
        The field names read so far, by index, and how many bytes the keys of all dicts take.
    """

    value: bytes
    metadata: bytes
    left: int
    names: dict[int, str] = attrs.field(factory=dict)
    name_bytes: int = 0

    def at(self, position: int, levels: int) -> Any:
        """Read the value at a position; raise if it is nested deeper than ``levels``."""
        form, code = _split(self.read_bytes(position, 1)[0])
        if form == _PRIMITIVE:
            return self.primitive(code, position + 1)
        if form == _SHORT_TEXT:
            return self.text(position + 1, code)
        if not levels:
            raise too_deep()
        return self.fields(code, position + 1, levels - 1) if form == _OBJECT else self.items(code, position + 1, levels - 1)

    def read_bytes(self, position: int, count: int) -> bytes:
        """Read bytes; raise if the value ends before, or if more bytes have been read than there are, so that values overlap."""
        content = self.value[position : position + count]
        self.left -= count
        if len(content) < count:
            raise _damaged("it ends amid a value")
        if self.left < 0:
            raise _damaged("parts of it stand for several values")
        return content

    def number(self, position: int, count: int, signed: bool = False) -> int:
        """Read an int of ``count`` bytes."""
        return int.from_bytes(self.read_bytes(position, count), "little", signed=signed)

    def primitive(self, code: int, position: int) -> Any:
        """Read a value that is neither a list nor a dict nor a short string."""
        if code in (_TEXT, _BINARY):
            return self.text(position + 4, self.number(position, 4), binary=code == _BINARY)
        if code in _INT_BYTES:
            return self.number(position, _INT_BYTES[code], signed=True)
        if code in _DECIMAL_BYTES:
            return self.decimal(code, position)
        if code not in _SCALARS:
            raise SchemaError(f"no column holds values of VARIANT's kind number {code}: cast them to another type before they become VARIANTs")
        count, read = _SCALARS[code]
        try:
            return read(self.read_bytes(position, count))
        except OverflowError as error:
            raise DateTimeRangeError(f"in a VARIANT, a date-time lies outside the years 1 to 9999, which is all that Python shows: {error}") from None

    def decimal(self, code: int, position: int) -> int | float:
        """Read a decimal: an int if it has no fraction and at most 18 digits, otherwise the nearest float."""
        scale, unscaled = self.number(position, 1), self.number(position + 1, _DECIMAL_BYTES[code], signed=True)
        if scale > _MAX_SCALE:
            raise _damaged(f"a decimal of it has {scale} digits after the point")
        if not scale:
            return unscaled if code in _DECIMALS_OF_INTS else float(unscaled)
        return unscaled / 10**scale

    def text(self, position: int, count: int, binary: bool = False) -> str:
        try:
            return self.read_bytes(position, count).decode()
        except UnicodeDecodeError:
            if binary:
                raise SchemaError("in a VARIANT, texts are UTF-8: some binary values are not UTF-8") from None
            raise _damaged("a text of it is not UTF-8") from None

    def items(self, code: int, position: int, levels: int) -> list[Any]:
        """Read a list, which begins with the number of items, the start of each item, and the end of the last item."""
        width, wide = 1 + (code & 3), 4 if code & 4 else 1
        count = self.number(position, wide)
        starts = self.numbers(position + wide, count + 1, width)
        first = position + wide + (count + 1) * width
        return [self.at(first + start, levels) for start in starts[:count]]

    def fields(self, code: int, position: int, levels: int) -> dict[str, Any]:
        """Read a dict, which begins with the number of fields, the indices of their names, the start of each value, and an end."""
        width, name_width, wide = 1 + (code & 3), 1 + (code >> 2 & 3), 4 if code & 16 else 1
        count = self.number(position, wide)
        names = self.numbers(position + wide, count, name_width)
        starts = self.numbers(position + wide + count * name_width, count + 1, width)
        first = position + wide + count * name_width + (count + 1) * width
        pairs = sorted(zip(starts, names, strict=False))
        items = {self.name(name): self.at(first + start, levels) for start, name in pairs}
        if len(items) < count:
            raise _damaged("a dict of it has one key twice")
        return items

    def numbers(self, position: int, count: int, width: int) -> list[int]:
        """Read adjacent unsigned ints of ``width`` bytes each."""
        content = self.read_bytes(position, count * width)
        if width == 1:
            return list(content)
        return [int.from_bytes(content[start : start + width], "little") for start in range(0, count * width, width)]

    def name(self, index: int) -> str:
        """Return the field name with an index; raise if all names of the VARIANT together become too long."""
        name = self.names.get(index)
        if name is None:
            name = self.names[index] = self.name_read(index)
        # A character takes up to four bytes.
        self.name_bytes += len(name) if name.isascii() else 4 * len(name)
        if self.name_bytes > MAX_NAME_BYTES:
            raise SchemaError(f"the keys of a VARIANT take more than {MAX_NAME_BYTES >> 30} GB: take out of it what you need with variant_get()")
        return name

    def name_read(self, index: int) -> str:
        """Decode the field name with an index from the metadata."""
        header = self.metadata[:1]
        if not header or header[0] & 15 != 1:
            raise _damaged("its list of names is of no version that is known")
        width = 1 + (header[0] >> 6)
        count = int.from_bytes(self.metadata[1 : 1 + width], "little")
        first = 1 + (count + 2) * width
        if index >= count or first > len(self.metadata):
            raise _damaged("a name of its keys is not there")
        bounds = 1 + (index + 1) * width
        start, end = (int.from_bytes(self.metadata[bound : bound + width], "little") for bound in (bounds, bounds + width))
        if not start <= end <= len(self.metadata) - first:
            raise _damaged("a name of its keys is not there")
        try:
            return self.metadata[first + start : first + end].decode()
        except UnicodeDecodeError:
            raise _damaged("a name of its keys is not UTF-8") from None


def _signed_int(content: bytes) -> int:
    return int.from_bytes(content, "little", signed=True)


_SCALARS: dict[int, tuple[int, Callable[[bytes], Any]]] = {
    _NULL: (0, lambda content: None),
    _TRUE: (0, lambda content: 1),
    _FALSE: (0, lambda content: 0),
    _DOUBLE: (8, lambda content: struct.unpack("<d", content)[0]),
    _FLOAT: (4, lambda content: struct.unpack("<f", content)[0]),
    _DATE: (4, lambda content: from_microseconds(_signed_int(content) * DAY, None)),
    _TIMESTAMP: (8, lambda content: from_microseconds(_signed_int(content), 0)),
    _TIMESTAMP_NTZ: (8, lambda content: from_microseconds(_signed_int(content), None)),
    _UUID: (16, lambda content: str(uuid.UUID(bytes=content))),
}
"""By type number: the number of bytes of a value, and the function that decodes them."""


# JSON from which Spark's ``parse_json`` makes VARIANTs with the same values.

# NaN and infinities as strings, as Spark's own `to_json` writes them; JSON has no numbers for them.
_WORDS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def variant_text(value: Any) -> str:
    """Write a plain value as JSON from which Spark reads every float as a double, also if it has no fraction.

    Datetimes become ISO strings, keys of dicts become strings, and NaN and the infinities become the strings that Spark writes for them.

    Raises
    ------
    SchemaError
        If two keys of a dict become the same string.

    Examples
    --------
    >>> variant_text({"a": [1, 1.0, None, float("nan")], 2: datetime.datetime(2024, 1, 2)})
    '{"a":[1,1.0e0,null,"NaN"],"2":"2024-01-02T00:00:00"}'
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{variant_text(item)}" for key, item in _by_text(value).items()) + "}"
    if isinstance(value, (list, tuple, array.array)):
        return "[" + ",".join(map(variant_text, value)) + "]"
    return _quoted(value.isoformat())


def _float(value: float) -> str:
    """Write a float with an exponent, so that Spark reads a double: otherwise it reads a decimal, which loses the sign of zero."""
    text = repr(value)
    if not math.isfinite(value):
        return _WORDS[text]
    return text if "e" in text else f"{text}e0"


def _by_text(value: dict[Any, Any]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, item in value.items():
        text = _key(key)
        if text in members:
            other = next(other for other in value if _key(other) == text)
            raise SchemaError(
                f"the keys {brief(other)} and {brief(key)} of a dict are both {brief(text)} as texts, which all keys of a VARIANT are: "
                "change one of them first, or leave the column out"
            )
        members[text] = item
    return members


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, float):
        return repr(key)
    if isinstance(key, datetime.datetime):
        return key.isoformat()
    return variant_text(key)


_quoted = json.JSONEncoder(ensure_ascii=False).encode
