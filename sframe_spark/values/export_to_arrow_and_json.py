"""Converts columns for other programs: to Arrow types from which the values can be read back unchanged, and to JSON; and parses such JSON.

Numbers, strings, datetimes without an offset, and native lists and dicts keep their physical type. The Arrow type of other columns depends on
their values:

===========================================  ==========================================================================
datetimes that all have one offset           ``timestamp[us, tz]``, if a zone has the offset (whole hours)
datetimes with other offsets                 ``arrow.timestamp_with_offset``
datetimes, some of which have no offset      the physical type, ``struct<instant, offset>``
arrays of numpy that all have one shape      in tables ``arrow.fixed_shape_tensor``
other arrays of numpy                        the physical type, ``struct<shape, values>``
lists and dicts whose values share one type  ``list`` and ``struct`` of it, at any depth
other lists and dicts that JSON represents   ``arrow.json``
other lists and dicts                        the physical type, tagged JSON as a string
===========================================  ==========================================================================

Source: https://arrow.apache.org/docs/format/CanonicalExtensions.html
"""

from __future__ import annotations

import array
import datetime
import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import InvalidArgumentError, NotOneTypeError
from sframe_spark.images import Image, text_of_image
from sframe_spark.message_text import brief, visible
from sframe_spark.pyarrow_versions import JSON_TYPE, if_else, with_json_type
from sframe_spark.types import DICT_KIND, LIST_KIND, NDARRAY, ColumnType
from sframe_spark.values.arrow_to_column_types import OFFSET_FIELDS, WITH_OFFSET
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.ndarrays import shape_of_text, shape_texts, tensors_of_rows
from sframe_spark.values.plain_values import plain_dict, plain_list
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, exact_float_text

# The most specific Arrow type of nested values: items of lists need one type, and dicts the same keys in the same order.

MAX_LEVELS: Final = 8
MAX_FIELDS: Final = 100
"""A dict with more keys is taken for a mapping, not for a record with named fields."""

_SCALARS: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string(), datetime.datetime: pa.timestamp("us")}


def type_of(value: Any, levels: int) -> pa.DataType:
    """Return the Arrow type from which a plain value can be read back unchanged.

    Raises
    ------
    NotOneTypeError
        If there is no such type, or the value is nested deeper than ``levels``.
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
        If there is no such type.
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


# Lists and dicts as JSON of other programs.


def is_plain_json(value: Any, inside: bool = False) -> bool:
    """Return whether a value written as JSON is read back unchanged. (A list of numbers inside a list or dict would become an array.)

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
        raise ValueError("a name occurs twice in one object")
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


@attrs.frozen
class Form:
    """How the values of a column are exported.

    Parameters
    ----------
    data_type
        The Arrow type.
    convert
        Converts values of the column's physical type to the Arrow type.
    metadata
        Metadata of the field, from which the column's type is known when the values are read back; None if the Arrow type determines it.
    """

    data_type: pa.DataType
    convert: Callable[[pa.Array], pa.Array]
    metadata: dict[str, str] | None = None

    def field(self, name: str) -> pa.Field:
        """Return the field: name, Arrow type and metadata."""
        return pa.field(name, self.data_type, metadata=self.metadata)


def _as_stored(column_type: ColumnType) -> Form:
    """Return the form for values in their physical type, unchanged."""
    return Form(column_type.physical, lambda values: values, _list_metadata(column_type.physical, column_type.kind == LIST_KIND))


def _list_metadata(data_type: pa.DataType, is_list: bool) -> dict[str, str] | None:
    """Return metadata with the kind for lists of floats, which would be read back as arrays; None for other types."""
    return {KIND: LIST_KIND} if is_list and pa.types.is_float64(data_type.value_type) else None


def _in_zone(zone: str) -> Form:
    """Return the form for datetimes that all have one offset from UTC: timestamps in a time zone."""
    data_type = pa.timestamp("us", zone)
    return Form(data_type, lambda values: if_else(values.is_valid(), values.field("instant").cast(pa.int64()).cast(data_type), None))


def _with_offsets() -> Form:
    """Return the form for datetimes with several offsets; only metadata names Arrow's canonical extension, as few libraries have a class for it."""

    def convert(values: pa.Array) -> pa.Array:
        instants = values.field("instant").cast(pa.int64()).fill_null(0).cast(pa.timestamp("us", "UTC"))
        offsets = values.field("offset").fill_null(0).cast(pa.int16())
        return pa.StructArray.from_arrays([instants, offsets], fields=OFFSET_FIELDS, mask=pc.invert(values.is_valid()))

    return Form(pa.struct(OFFSET_FIELDS), convert, {EXTENSION_NAME: WITH_OFFSET, EXTENSION_METADATA: ""})


def _tensors(shape: tuple[int, ...]) -> Form:
    """Return the form for arrays of numpy that all have one shape: Arrow's canonical tensors."""
    return Form(pa.fixed_shape_tensor(pa.float64(), shape), lambda values: tensors_of_rows(values, shape))


def _typed(column_type: ColumnType, data_type: pa.DataType) -> Form:
    """Return the form for lists or dicts whose values share one type."""
    metadata = _list_metadata(data_type, pa.types.is_list(data_type))
    return Form(data_type, lambda values: pa.array(decode(values, column_type), data_type), metadata)


def _json(column_type: ColumnType) -> Form:
    """Return the form for lists or dicts that can be read back from JSON unchanged: Arrow's canonical JSON extension."""

    def convert(values: pa.Array) -> pa.Array:
        return with_json_type(pa.array(json_texts(decode(values, column_type)), pa.string()))

    extension = {EXTENSION_NAME: "arrow.json", EXTENSION_METADATA: ""} if pa.types.is_string(JSON_TYPE) else {}
    return Form(JSON_TYPE, convert, {**extension, KIND: column_type.kind, TEXT: JSON})


def _tagged(column_type: ColumnType) -> Form:
    """Return the form for lists or dicts with values that JSON cannot represent, such as datetimes: tagged JSON as strings."""
    return Form(pa.string(), lambda values: values, {KIND: column_type.kind, TEXT: TAGGED})


@attrs.define
class FormFinder:
    """Finds the form in which a column is exported, from its values, which are added batch by batch; most types do not need the values.

    Parameters
    ----------
    column_type
        The type of the column.
    makes_tensors
        Whether arrays of numpy of one shape become tensors. Libraries that read streams drop their shape, as DuckDB does, or refuse them.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> finder = FormFinder(ENCODED_LIST)
    >>> finder.add(pa.array(['[["a"],[null]]', None]))
    >>> str(finder.form().field("a").type)
    'list<item: list<item: string>>'
    """

    column_type: ColumnType
    makes_tensors: bool = False
    _offsets: set[int | None] = attrs.field(factory=set, init=False)
    # The shapes of arrays of numpy, as texts.
    _shapes: set[str] = attrs.field(factory=set, init=False)
    # The Arrow type that all lists or dicts have in common; None if there is none.
    _common_type: pa.DataType | None = attrs.field(factory=pa.null, init=False)
    _is_plain_json: bool = attrs.field(default=True, init=False)

    @property
    def needs_values(self) -> bool:
        """Whether the form depends on the values."""
        return self.column_type.is_zoned or self.column_type.is_encoded or (self.makes_tensors and self.column_type == NDARRAY)

    def add(self, values: pa.Array) -> None:
        """Take more values, of the physical type, into account."""
        if self.column_type.is_zoned:
            self._offsets.update(pc.unique(values.field("offset").filter(values.is_valid())).to_pylist())
        elif self.column_type == NDARRAY and self.makes_tensors:
            self._shapes.update(pc.unique(shape_texts(values).drop_null()).to_pylist())
        elif self.column_type.is_encoded:
            for cell in decode(values, self.column_type):
                if cell is not None:
                    self._add_cell(cell)

    def _add_cell(self, cell: Any) -> None:
        if self._common_type is not None:
            try:
                self._common_type = joined(self._common_type, type_of(cell, MAX_LEVELS))
            except NotOneTypeError:
                self._common_type = None
        self._is_plain_json = self._is_plain_json and is_plain_json(cell)

    def form(self) -> Form:
        """Return the form for the values added so far."""
        column_type, common_type = self.column_type, self._common_type
        if column_type.is_zoned and None not in self._offsets:
            zone = zone_of(next(iter(self._offsets), 0) or 0)
            return _with_offsets() if len(self._offsets) > 1 or zone is None else _in_zone(zone)
        if len(self._shapes) == 1 and all(shape := shape_of_text(*self._shapes)):
            return _tensors(shape)
        if not column_type.is_encoded:
            return _as_stored(column_type)
        if common_type is not None and (pa.types.is_struct if column_type.kind == DICT_KIND else pa.types.is_list)(common_type):
            return _typed(column_type, common_type)
        return _json(column_type) if self._is_plain_json else _tagged(column_type)


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
    """Write a plain value as JSON without spaces and with the shortest numbers that read back the same, as SFrame does.

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
    """Return a value with all keys of dicts converted to strings, arrays and tuples to lists, datetimes to ISO strings, and images to their sizes."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple, array.array)):
        return [with_text_keys(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Image):
        return text_of_image(value)
    if not isinstance(value, dict):
        return value
    members: dict[str, Any] = {}
    for key, item in value.items():
        text = _text_of_key(key)
        if text in members:
            other = next(other for other in value if _text_of_key(other) == text)
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
