"""Column types: for each SFrame kind its Python class and its physical types in Arrow.

A column's logical type is its *kind* (``int``, ``float``, ``str``, ``list``, ``dict``, ``array``, ``ndarray``, ``image``,
``datetime``). A kind may have more than one physical encoding in Arrow and Spark; which one a column uses is part of its :class:`ColumnType`, is
inferred with the schema, and is never visible in the API. ``KINDS`` has a line for each kind: what the rest of the package asks of one.

=========  ==========================  ==================================================================
kind       Python class                physical encodings (Arrow)
=========  ==========================  ==================================================================
int        ``int``                     ``int64``
float      ``float``                   ``float64`` (NaN is a value, null is missing)
str        ``str``                     ``string``
array      ``array.array`` ('d')       ``list<float64>``
ndarray    ``numpy.ndarray``           ``struct<shape: list<int64>, values: list<float64>>`` (values in the order of C)
image      ``Image``                   ``struct<bytes: binary, format: string, height: int64, width: int64, channels: int64>``
datetime   ``datetime.datetime``       ``timestamp[us]`` (no offset), or *zoned*:
                                       ``struct<instant: timestamp[us], offset: int32>`` (minutes east of UTC;
                                       the instant is in UTC, the offset is null for a value without offset)
list       ``list``                    ``list<int64 | float64 | string>``, or *encoded*: ``string`` (tagged JSON)
dict       ``dict``                    ``map<int64 | string, int64 | float64 | string>``, or *encoded*: ``string``
=========  ==========================  ==================================================================
"""

from __future__ import annotations

import array
import datetime
import re
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import NoColumnTypeError, near_names
from sframe_spark.images import Image

INT_KIND = "int"
FLOAT_KIND = "float"
STR_KIND = "str"
LIST_KIND = "list"
DICT_KIND = "dict"
ARRAY_KIND = "array"
NDARRAY_KIND = "ndarray"
IMAGE_KIND = "image"
DATETIME_KIND = "datetime"


@attrs.frozen(cache_hash=True)
class ColumnType:
    """Logical kind of a column together with its physical Arrow encoding.

    Examples
    --------
    >>> INT.kind, str(INT.physical)
    ('int', 'int64')
    >>> ENCODED_LIST.is_encoded
    True
    """

    kind: str
    physical: pa.DataType
    # True for results of comparisons. Types that differ only in this are equal: it only affects exports to other libraries, and is not stored.
    is_logical: bool = attrs.field(default=False, eq=False, repr=False, kw_only=True)

    @property
    def of_values(self) -> ColumnType:
        """The type of results that are computed from values of this type: the type itself, but ``INT`` for results of comparisons."""
        return INT if self.is_logical else self

    @property
    def python_class(self) -> type:
        """The class of the values that a user sees."""
        return KINDS[self.kind].python_class

    @property
    def is_numeric(self) -> bool:
        """Whether the kind is int or float."""
        return self.kind in (INT_KIND, FLOAT_KIND)

    @property
    def is_number_or_datetime(self) -> bool:
        """Whether values have distances: ints, floats and date-times, with or without an offset."""
        return self.is_numeric or self.kind == DATETIME_KIND

    @property
    def is_encoded(self) -> bool:
        """Whether values are lists or dicts that are stored as tagged JSON strings."""
        return self.kind in (LIST_KIND, DICT_KIND) and pa.types.is_string(self.physical)

    @property
    def has_items(self) -> bool:
        """Whether values hold other values, and may be changed: lists, dicts and arrays."""
        return KINDS[self.kind].has_items

    @property
    def is_compared_as_text(self) -> bool:
        """Whether keys are compared by a text that is the same for equal values."""
        return self.has_items or self.kind == IMAGE_KIND

    @property
    def has_truth(self) -> bool:
        """Whether values are true or false, as in Turi Create."""
        return KINDS[self.kind].has_truth

    @property
    def is_list_or_dict(self) -> bool:
        """Whether the kind is list or dict."""
        return self.kind in (LIST_KIND, DICT_KIND)

    @property
    def is_zoned(self) -> bool:
        """Whether values are datetimes that are stored with an offset from UTC, which may be null."""
        return self.kind == DATETIME_KIND and pa.types.is_struct(self.physical)

    def __str__(self) -> str:
        native = STANDARD_TYPES.get(self.kind)
        return self.kind if native is not None and native.physical == self.physical else f"{self.kind}:{self.physical}"


NDARRAY_PHYSICAL = pa.struct([("shape", pa.list_(pa.int64())), ("values", pa.list_(pa.float64()))])
IMAGE_PHYSICAL = pa.struct(
    [("bytes", pa.binary()), ("format", pa.string()), ("height", pa.int64()), ("width", pa.int64()), ("channels", pa.int64())],
)
ZONED_PHYSICAL = pa.struct([("instant", pa.timestamp("us")), ("offset", pa.int32())])

INT = ColumnType(INT_KIND, pa.int64())
LOGICAL = ColumnType(INT_KIND, pa.int64(), is_logical=True)
"""Ints that are 1 for true and 0 for false: equal to ``INT``, but exported to numpy as truth values."""

FLOAT = ColumnType(FLOAT_KIND, pa.float64())
STR = ColumnType(STR_KIND, pa.string())
ARRAY = ColumnType(ARRAY_KIND, pa.list_(pa.float64()))
NDARRAY = ColumnType(NDARRAY_KIND, NDARRAY_PHYSICAL)
IMAGE = ColumnType(IMAGE_KIND, IMAGE_PHYSICAL)
DATETIME = ColumnType(DATETIME_KIND, pa.timestamp("us"))
ZONED_DATETIME = ColumnType(DATETIME_KIND, ZONED_PHYSICAL)
ENCODED_LIST = ColumnType(LIST_KIND, pa.string())
ENCODED_DICT = ColumnType(DICT_KIND, pa.string())


@attrs.frozen
class ColumnKind:
    """What the package asks of a kind of columns.

    Parameters
    ----------
    python_class
        The class of values that a user sees.
    standard
        The type of a column of the kind of which no more is known.
    names
        Names of types in Python, NumPy, pandas, Polars, Arrow and SQL whose values a column of the kind holds as they are.
    has_items
        Whether values hold other values, and may be changed.
    has_truth
        Whether values are true or false, as in Turi Create.
    """

    python_class: type
    standard: ColumnType
    names: str
    has_items: bool = False
    has_truth: bool = True


_INTS = "int integer long bigint smallint tinyint short byte bool boolean bool_ i1 i2 i4 i8 u1 u2 u4 u8 i16 i32 i64 u16 u32 u64"
_DATETIMES = "datetime datetime64 datetime.datetime datetimetz timestamp timestamp_ntz timestamp_ltz date date32 date64"
KINDS: dict[str, ColumnKind] = {
    INT_KIND: ColumnKind(int, INT, _INTS),
    FLOAT_KIND: ColumnKind(float, FLOAT, "float double real half number halffloat f2 f4 f8 f16 f32 f64"),
    STR_KIND: ColumnKind(str, STR, "str string text utf8 unicode varchar char large_string large_utf8 string_view u s"),
    LIST_KIND: ColumnKind(list, ENCODED_LIST, "list large_list tuple", has_items=True),
    DICT_KIND: ColumnKind(dict, ENCODED_DICT, "dict map struct", has_items=True),
    ARRAY_KIND: ColumnKind(array.array, ARRAY, "array array.array vector", has_items=True),
    NDARRAY_KIND: ColumnKind(np.ndarray, NDARRAY, "ndarray numpy.ndarray tensor", has_items=True, has_truth=False),
    IMAGE_KIND: ColumnKind(Image, IMAGE, "image"),
    DATETIME_KIND: ColumnKind(datetime.datetime, DATETIME, _DATETIMES, has_truth=False),
}
KIND_OF_CLASS: dict[type, str] = {kind.python_class: name for name, kind in KINDS.items()}
STANDARD_TYPES: dict[str, ColumnType] = {name: kind.standard for name, kind in KINDS.items()}


def list_of(element: ColumnType) -> ColumnType:
    """Return the type of a list column whose items all have one type (encoded if there is no native form).

    Examples
    --------
    >>> list_of(INT).physical.value_type, list_of(ENCODED_DICT) == ENCODED_LIST
    (DataType(int64), True)
    """
    if element in (INT, FLOAT, STR):
        return ColumnType(LIST_KIND, pa.list_(element.physical))
    return ENCODED_LIST


def dict_of(key: ColumnType, value: ColumnType) -> ColumnType:
    """Return the type of a dict column with one key and one value type (encoded if there is no native form).

    Examples
    --------
    >>> dict_of(STR, INT).physical, dict_of(STR, ENCODED_LIST) == ENCODED_DICT
    (MapType(map<string, int64>), True)
    """
    if key in (INT, STR) and value in (INT, FLOAT, STR):
        return ColumnType(DICT_KIND, pa.map_(key.physical, value.physical))
    return ENCODED_DICT


_NATIVE_TYPES = (*map(list_of, (INT, FLOAT, STR)), *(dict_of(key, value) for key in (INT, STR) for value in (INT, FLOAT, STR)))

TYPES_BY_NAME: dict[str, ColumnType] = {str(column_type): column_type for column_type in (*STANDARD_TYPES.values(), ZONED_DATETIME, *_NATIVE_TYPES)}
"""All column types by their ``str``."""


def common_encoding(left: ColumnType, right: ColumnType) -> ColumnType:
    """Return the column type that holds the values of two columns of the same kind without loss.

    Raises
    ------
    TypeError
        If the kinds differ.
    """
    if left.kind != right.kind:
        raise TypeError(f"no common encoding of {left.kind} and {right.kind}")
    if left == right:
        return left if right.is_logical else left.of_values
    return ZONED_DATETIME if left.kind == DATETIME_KIND else STANDARD_TYPES[left.kind]


def of_any_offset(column_type: ColumnType) -> ColumnType:
    """Return ``ZONED_DATETIME``, which holds datetimes with and without an offset, for a datetime type; other types unchanged.

    Examples
    --------
    >>> of_any_offset(DATETIME).is_zoned, of_any_offset(INT) == INT
    (True, True)
    """
    return ZONED_DATETIME if column_type.kind == DATETIME_KIND else column_type


_KINDS_BY_NAME = {name: kind_name for kind_name, kind in KINDS.items() for name in kind.names.split()}
# Names of types that columns do not have, and what to use instead.
_ABSENT_TYPES = {
    "object": "columns have one type each: use str, list or dict",
    "category": "use str",
    "categorical": "use str",
    "enum": "use str",
    "decimal": "use float, or str to keep all digits",
    "timedelta": "use float, in seconds",
    "timedelta64": "use float, in seconds",
    "duration": "use float, in seconds",
    "interval": "use float, in seconds",
    "time": "use float, the seconds of the day",
    "bytes": "use str",
    "binary": "use str",
    "complex": "use two columns of floats",
    "set": "use list",
}
_USE = "use int, float, str, list, dict, array.array, numpy.ndarray, Image or datetime.datetime"


def type_named(name: str) -> ColumnType:
    """Return the standard column type that has a name in Python, NumPy, pandas, Polars, Arrow or SQL, in any case, such as ``"Int64"``.

    Raises
    ------
    TypeError
        If there is no such type, or no column can hold its values.

    Examples
    --------
    >>> [str(type_named(name)) for name in ("float", "Int64", "datetime64[ns, UTC]", "Utf8", "<f8", "list<item: int64>")]
    ['float', 'int', 'datetime', 'str', 'float', 'list']
    """
    if re.fullmatch(r"[<>=|]?[US]\d+", name.strip()):
        # A dtype of NumPy for texts. In lower case, "u8" is one of ints.
        return STR
    plain = re.sub(r"[\[(<{].*", "", name.strip().casefold().lstrip("<>=|").removeprefix("torch.").removeprefix("numpy."))
    sized = re.sub(r"(?<=int|oat)(8|16|32|64|128)$", "", plain).removeprefix("u" if plain.startswith("uint") else "")
    kind = _KINDS_BY_NAME.get(plain) or _KINDS_BY_NAME.get(sized)
    if kind is not None:
        return STANDARD_TYPES[kind]
    if plain in _ABSENT_TYPES:
        raise NoColumnTypeError(f"no column has the type {name!r:.60}: {_ABSENT_TYPES[plain]}")
    near = near_names(plain, SUGGESTED_NAMES)
    raise NoColumnTypeError(f"{name!r:.60} is not a column type" + (f", did you mean {near[0]!r}? Or {_USE}" if near else f": {_USE}"))


# The names that errors suggest.
SUGGESTED_NAMES = ("int", "float", "str", "list", "dict", "array", "datetime", "int64", "float64", "string", "double", "boolean")


def type_of_class(python_class: Any) -> ColumnType:
    """Return the standard column type of a Python class; ``bool`` counts as ``int``, and ``tuple`` as ``list``.

    Raises
    ------
    TypeError
        If no column can hold values of the class.
    """
    if isinstance(python_class, type):
        if python_class in KIND_OF_CLASS:
            return STANDARD_TYPES[KIND_OF_CLASS[python_class]]
        for base, kind in ((bool, INT_KIND), (tuple, LIST_KIND)):
            if issubclass(python_class, base):
                return STANDARD_TYPES[kind]
    raise NoColumnTypeError(f"{python_class!r} is not a column type: {_USE}")
