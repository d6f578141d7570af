"""Converts columns for other programs: to the most specific Arrow type from which the values can be read back unchanged, and to JSON.

Numbers, strings, datetimes without an offset, and native lists and dicts keep their physical type. The Arrow type of other columns depends on
their values:

===========================================  ==========================================================================
datetimes, all with one offset               ``timestamp[us, tz]``, where the offset has a zone (whole hours)
datetimes, with several                      ``arrow.timestamp_with_offset``
datetimes, some without an offset            the physical type, ``struct<instant, offset>``
lists and dicts whose values share one type  ``list`` and ``struct`` of it, at any depth
others that JSON can represent               ``arrow.json``
others                                       the physical type, tagged JSON as a string
===========================================  ==========================================================================

Source: https://arrow.apache.org/docs/format/CanonicalExtensions.html
"""

from __future__ import annotations

import array
import datetime
import json
import math
from collections.abc import Iterable
from typing import Any, Final, Protocol

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import InvalidArgumentError, NotOneTypeError
from sframe_spark.message_text import brief, visible
from sframe_spark.types import DICT_KIND, LIST_KIND, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.from_arrow import OFFSET_FIELDS, WITH_OFFSET
from sframe_spark.values.tagged_json import decode_value, exact_float_text
from sframe_spark.values.value_model import plain_dict, plain_list

# The Arrow type that holds all of some nested values exactly, if there is one.

MAX_LEVELS: Final = 8
MAX_FIELDS: Final = 100
"""A dict with more keys is taken for a mapping, not for a record with named fields."""

_SCALARS: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string(), datetime.datetime: pa.timestamp("us")}


@attrs.define
class CommonType:
    """Finds the Arrow type that all added values have in common; items of lists need one type, dicts the same keys in the same order.

    Examples
    --------
    >>> common = CommonType()
    >>> for value in ({"a": 1, "b": ["x"]}, {"a": None, "b": []}):
    ...     common.add(value)
    >>> str(common.arrow_type())
    'struct<a: int64, b: list<item: string>>'
    >>> common.add({"a": 1.5, "b": []})
    >>> common.arrow_type() is None
    True
    """

    _type: pa.DataType = attrs.field(factory=pa.null, init=False)
    is_one: bool = attrs.field(default=True, init=False)

    def add(self, value: Any) -> None:
        """Take another value into account."""
        if not self.is_one:
            return
        try:
            self._type = joined(self._type, type_of(value, MAX_LEVELS))
        except NotOneTypeError:
            self.is_one = False

    def arrow_type(self) -> pa.DataType | None:
        """Return the type that all values have in common, or None if there is none."""
        return self._type if self.is_one else None


def type_of(value: Any, levels: int) -> pa.DataType:
    """Return the Arrow type from which a plain value can be read back unchanged.

    Raises
    ------
    NotOneTypeError
        If there is none, or the value is nested deeper than ``levels``.
    """
    if value is None:
        return pa.null()
    kind = type(value)
    if kind is datetime.datetime and value.tzinfo is not None:
        raise NotOneTypeError
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind is array.array and len(value):
        return pa.list_(pa.float64())
    if not levels or (levels < MAX_LEVELS and is_numbers(value)):
        raise NotOneTypeError
    if kind is list:
        element: pa.DataType = pa.null()
        for item in value:
            element = joined(element, type_of(item, levels - 1))
        return pa.list_(element)
    if kind is dict and 0 < len(value) <= MAX_FIELDS and all(type(name) is str for name in value):
        return pa.struct([pa.field(name, type_of(item, levels - 1)) for name, item in value.items()])
    raise NotOneTypeError


def is_numbers(value: Any) -> bool:
    """Return whether a value is a non-empty list of numbers; an array is not a list.

    Examples
    --------
    >>> is_numbers([1, 2.5]), is_numbers([1, None]), is_numbers(array.array("d", [1]))
    (True, False, False)
    """
    return type(value) is list and len(value) > 0 and all(type(item) in (int, float) for item in value)


def joined(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type that holds values of both types; the null type fits any type.

    Raises
    ------
    NotOneTypeError
        If there is none.
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(joined(left.value_type, right.value_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right) and [f.name for f in left] == [f.name for f in right]:
        return pa.struct([pa.field(a.name, joined(a.type, b.type)) for a, b in zip(left, right, strict=True)])
    raise NotOneTypeError


# Lists and dicts as JSON for other programs, and back.


def is_plain_json(value: Any, inside: bool = False) -> bool:
    """Return whether a value written as JSON is read back unchanged. (A list of numbers inside another value would become an array.)

    Examples
    --------
    >>> is_plain_json({"a": [1, None, 2.5]}), is_plain_json([math.nan]), is_plain_json({1: "a"}), is_plain_json([[1]])
    (True, False, False, False)
    """
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(type(name) is str and is_plain_json(item, True) for name, item in value.items())
    if isinstance(value, array.array):
        return inside and len(value) > 0 and all(map(math.isfinite, value))
    if isinstance(value, list):
        return not (inside and is_numbers(value)) and all(is_plain_json(item, True) for item in value)
    return value is None or type(value) in (int, str)


def json_texts(cells: Iterable[Any]) -> list[str | None]:
    """Write each value as JSON; None stays None.

    Examples
    --------
    >>> json_texts([{"a": [1, "ü"]}, None])
    ['{"a":[1,"ü"]}', None]
    """
    return [None if cell is None else json.dumps(cell, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=list) for cell in cells]


def values_of_texts(texts: Iterable[str | None], kind: str, tagged: bool) -> list[Any]:
    """Parse JSON strings that hold lists, or dicts if ``kind`` is "dict"; None stays None. With ``tagged`` they are tagged JSON.

    Raises
    ------
    InvalidArgumentError
        If a string holds something else.

    Examples
    --------
    >>> values_of_texts(["[1,null]", None], "list", tagged=False)
    [[1, None], None]
    """
    return [None if text is None else _value(text, dict if kind == DICT_KIND else list, tagged) for text in texts]


def kind_of_json(texts: Iterable[str | None]) -> str | None:
    """Return "list" or "dict" if all JSON strings begin like a list or all like a dict, otherwise None.

    Examples
    --------
    >>> kind_of_json(["[1]", None]), kind_of_json([" {}"]), kind_of_json(["[1]", "{}"]), kind_of_json([])
    ('list', 'dict', None, None)
    """
    starts = {text.lstrip()[:1] for text in texts if text is not None}
    return {"[": LIST_KIND, "{": DICT_KIND}.get(*starts) if len(starts) == 1 else None


def _dict_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is there twice in one object")
    return members


def _value(text: str, expected: type, tagged: bool) -> Any:
    try:
        value = decode_value(text) if tagged else json.loads(text, object_pairs_hook=_dict_of)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the text {visible(brief(text))} is no value: {visible(str(error))}") from None
    if type(value) is not expected:
        raise InvalidArgumentError(f"the text {visible(brief(text))} is no {expected.__name__}")
    return value if tagged else plain_dict(value) if expected is dict else plain_list(value)


EXTENSION_NAME = "ARROW:extension:name"
EXTENSION_METADATA = "ARROW:extension:metadata"
# Field metadata with the kind of a column, where its Arrow type does not determine it.
KIND = "sframe_spark.kind"
TEXT = "sframe_spark.text"
JSON, TAGGED = "json", "tagged"

# The range of the fixed-offset zones, in hours west and east.
FURTHEST_WEST, FURTHEST_EAST = -12, 14


class Form(Protocol):
    """How the values of a column are exported."""

    def field(self, name: str) -> pa.Field:
        """Return the field: name, Arrow type and metadata."""
        ...

    def convert(self, values: pa.Array) -> pa.Array:
        """Convert values of the column's physical type to the type of the field."""
        ...


@attrs.frozen
class AsInside:
    """Values exported in their physical type, unchanged."""

    column_type: ColumnType

    def field(self, name: str) -> pa.Field:
        """Return the field; for lists of floats its metadata has the kind, as they would be read back as arrays."""
        is_list = self.column_type.kind == LIST_KIND and pa.types.is_float64(self.column_type.physical.value_type)
        return pa.field(name, self.column_type.physical, metadata={KIND: LIST_KIND} if is_list else None)

    def convert(self, values: pa.Array) -> pa.Array:
        return values


@attrs.frozen
class InZone:
    """Datetimes that all have one offset from UTC."""

    zone: str

    def field(self, name: str) -> pa.Field:
        """Return a field of timestamps in microseconds, in the zone."""
        return pa.field(name, pa.timestamp("us", self.zone))

    def convert(self, values: pa.Array) -> pa.Array:
        """Return the instants as timestamps in the zone."""
        instants = values.field("instant").cast(pa.int64()).cast(pa.timestamp("us", self.zone))
        return pc.if_else(values.is_valid(), instants, None)


@attrs.frozen
class WithOffsets:
    """Datetimes with several offsets."""

    def field(self, name: str) -> pa.Field:
        """Return a field whose metadata names Arrow's canonical extension, as few libraries have a class for it."""
        return pa.field(name, pa.struct(OFFSET_FIELDS), metadata={EXTENSION_NAME: WITH_OFFSET, EXTENSION_METADATA: ""})

    def convert(self, values: pa.Array) -> pa.Array:
        """Return structs of the instant in UTC and the offset in minutes."""
        instants = values.field("instant").cast(pa.int64()).fill_null(0).cast(pa.timestamp("us", "UTC"))
        offsets = values.field("offset").fill_null(0).cast(pa.int16())
        return pa.StructArray.from_arrays([instants, offsets], fields=OFFSET_FIELDS, mask=pc.invert(values.is_valid()))


@attrs.frozen
class Typed:
    """Lists or dicts whose values share one type."""

    column_type: ColumnType
    physical: pa.DataType

    def field(self, name: str) -> pa.Field:
        """Return the field; for lists of floats its metadata has the kind, as they would be read back as arrays."""
        is_floats = pa.types.is_list(self.physical) and pa.types.is_float64(self.physical.value_type)
        return pa.field(name, self.physical, metadata={KIND: LIST_KIND} if is_floats else None)

    def convert(self, values: pa.Array) -> pa.Array:
        return pa.array(decode(values, self.column_type), self.physical)


@attrs.frozen
class Json:
    """Lists or dicts that can be read back from JSON unchanged."""

    column_type: ColumnType

    def field(self, name: str) -> pa.Field:
        """Return a field of Arrow's canonical JSON extension; its metadata says whether the values are lists or dicts."""
        return pa.field(name, pa.json_(), metadata={KIND: self.column_type.kind, TEXT: JSON})

    def convert(self, values: pa.Array) -> pa.Array:
        return pa.ExtensionArray.from_storage(pa.json_(), pa.array(json_texts(decode(values, self.column_type)), pa.string()))


@attrs.frozen
class Tagged:
    """Lists or dicts with values that JSON cannot represent, such as datetimes: tagged JSON, which other programs read as strings."""

    column_type: ColumnType

    def field(self, name: str) -> pa.Field:
        """Return a string field whose metadata tells this package to decode it."""
        return pa.field(name, pa.string(), metadata={KIND: self.column_type.kind, TEXT: TAGGED})

    def convert(self, values: pa.Array) -> pa.Array:
        return values


@attrs.define
class FormFinder:
    """Finds the form in which a column is exported, from its values, which are added batch by batch; most types do not need the values.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> finder = FormFinder(ENCODED_LIST)
    >>> finder.add(pa.array(['[["a"],[null]]', None]))
    >>> str(finder.form().field("a").type)
    'list<item: list<item: string>>'
    """

    column_type: ColumnType
    _offsets: set[int | None] = attrs.field(factory=set, init=False)
    _common: CommonType = attrs.field(factory=CommonType, init=False)
    _plain: bool = attrs.field(default=True, init=False)

    @property
    def needs_values(self) -> bool:
        """Whether the form depends on the values."""
        return self.column_type.is_zoned or self.column_type.is_encoded

    def add(self, values: pa.Array) -> None:
        """Take more values, of the physical type, into account."""
        if self.column_type.is_zoned:
            self._offsets.update(pc.unique(values.field("offset").filter(values.is_valid())).to_pylist())
        elif self.column_type.is_encoded:
            for cell in decode(values, self.column_type):
                if cell is not None:
                    self._common.add(cell)
                    self._plain = self._plain and is_plain_json(cell)

    def form(self) -> Form:
        """Return the form for the values added so far."""
        if self.column_type.is_zoned:
            return self._zoned_form()
        if not self.column_type.is_encoded:
            return AsInside(self.column_type)
        physical = self._common.arrow_type()
        if physical is not None and (pa.types.is_struct(physical) if self.column_type.kind == DICT_KIND else pa.types.is_list(physical)):
            return Typed(self.column_type, physical)
        return Json(self.column_type) if self._plain else Tagged(self.column_type)

    def _zoned_form(self) -> Form:
        if None in self._offsets:
            return AsInside(self.column_type)
        if len(self._offsets) > 1:
            return WithOffsets()
        zone = zone_of(next(iter(self._offsets), 0) or 0)
        return WithOffsets() if zone is None else InZone(zone)


def zone_of(minutes: int) -> str | None:
    """Return the name of the time zone with a fixed offset, or None if there is none. (Names such as ``+05:30`` are not used: polars rejects them.)

    Examples
    --------
    >>> zone_of(0), zone_of(120), zone_of(330)
    ('UTC', 'Etc/GMT-2', None)
    """
    hours, rest = divmod(minutes, 60)
    if rest or not FURTHEST_WEST <= hours <= FURTHEST_EAST:
        return None
    # These names have POSIX signs: east of Greenwich is negative.
    return "UTC" if not hours else f"Etc/GMT{-hours:+d}"


# Values as JSON that other programs read.


def json_text(value: Any) -> str:
    """Write a plain value as JSON.

    Datetimes become ISO strings, arrays become lists, and keys of dicts become strings. JSON has no numbers for NaN and the infinities; they are
    written as the words ``NaN``, ``Infinity`` and ``-Infinity``, as Python, Spark and DuckDB do.

    Raises
    ------
    InvalidArgumentError
        If two keys of a dict become the same string.

    Examples
    --------
    >>> json_text({"a": [1, None, float("inf")], 2: datetime.datetime(2024, 1, 2)})
    '{"a": [1, null, Infinity], "2": "2024-01-02T00:00:00"}'
    """
    return _ENCODER.encode(with_text_keys(value))


def compact_json_text(value: Any) -> str:
    """Write a plain value as JSON without spaces and with the shortest numbers that read back the same, as the reference implementation does.

    Examples
    --------
    >>> compact_json_text({"a": [1, None], "b": array.array("d", [2, 0.5, -0.0])})
    '{"a":[1,null],"b":[2,0.5,-0.0]}'
    """
    return _brief_text(with_text_keys(value), ",", "-0.0")


def cell_json_text(value: Any) -> str:
    """Write a value that was parsed from JSON as a string for a column of strings: with the shortest numbers, and true as 1.

    Parameters
    ----------
    value
        A value as Python's JSON parser returns it, but not a string.

    Examples
    --------
    >>> cell_json_text({"a": [1.0, True, None], "b": "x"}), cell_json_text(0.123456789)
    ('{"a":[1,1,null], "b":"x"}', '0.123456789')
    """
    return _brief_text(value, ", ", "-0")


def _brief_text(value: Any, between: str, minus_zero: str) -> str:
    """Write a value as JSON with the shortest numbers, a given separator between the members of dicts, and a given form of negative zero."""
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        text = exact_float_text(value) if math.isfinite(value) else _ENCODER.encode(value)
        return minus_zero if text == "-0" else text
    if isinstance(value, list):
        return f"[{','.join([_brief_text(item, between, minus_zero) for item in value])}]"
    if isinstance(value, dict):
        members = [f"{_ENCODER.encode(key)}:{_brief_text(item, between, minus_zero)}" for key, item in value.items()]
        return f"{{{between.join(members)}}}"
    return _ENCODER.encode(value)


def with_text_keys(value: Any) -> Any:
    """Return a value with all keys of dicts converted to strings, arrays and tuples to lists, and datetimes to ISO strings."""
    if isinstance(value, dict):
        return _with_text_keys(value)
    if isinstance(value, (list, tuple, array.array)):
        return [with_text_keys(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value


def _with_text_keys(mapping: dict[Any, Any]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, item in mapping.items():
        text = _text_of_key(key)
        if text in members:
            other = next(other for other in mapping if _text_of_key(other) == text)
            raise InvalidArgumentError(
                f"a dict has the keys {visible(brief(other))} and {visible(brief(key))}, which are both {visible(brief(text))} in JSON, "
                "so that one value would be lost: rename one of them first"
            )
        members[text] = with_text_keys(item)
    return members


def _text_of_key(key: Any) -> str:
    plain = with_text_keys(key)
    return plain if isinstance(plain, str) else _ENCODER.encode(plain)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


# Columns as Arrow arrays of the types that all file formats have.

# The type of datetimes with an offset, of which only the instant is exported.
INSTANT = pa.timestamp("us", "UTC")


def outgoing_type(column_type: ColumnType) -> pa.DataType:
    """Return the Arrow type in which a column is exported.

    Examples
    --------
    >>> from sframe_spark.types import ZONED_DATETIME
    >>> outgoing_type(ZONED_DATETIME)
    TimestampType(timestamp[us, tz=UTC])
    """
    return INSTANT if column_type.is_zoned else column_type.physical


def outgoing(array: pa.Array, column_type: ColumnType) -> pa.Array:
    """Convert the values of a column for other programs; missing values are null.

    Datetimes with an offset become instants in UTC, and encoded lists and dicts become JSON strings.

    Raises
    ------
    DamagedValueError
        If a stored list or dict cannot be read.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> outgoing(pa.array(['[1,{"$float":"nan"}]', None]), ENCODED_LIST).to_pylist()
    ['[1, NaN]', None]
    """
    if column_type.is_zoned:
        # ``flatten`` makes the instants of missing rows missing, too.
        return array.flatten()[0].cast(INSTANT)
    if column_type.is_encoded:
        return pa.array([None if value is None else json_text(value) for value in decode(array, column_type)], pa.string())
    return array
