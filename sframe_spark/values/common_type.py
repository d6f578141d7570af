"""The one Arrow type that nested values share, if there is one that keeps each as it is.

Inside a list or dict a sequence of numbers is an array, so that is what an Arrow list of them comes back as.
"""

from __future__ import annotations

import array
import datetime
from typing import Any, Final

import attrs
import pyarrow as pa

from sframe_spark.errors import NotOneTypeError

MOST_LEVELS: Final = 8
MOST_FIELDS: Final = 100
"""A struct of more fields is a dict of data, not of names."""

_SCALARS: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string(), datetime.datetime: pa.timestamp("us")}


@attrs.define
class CommonType:
    """Collects values; lists may hold values of one type, dicts have the same names in the same order.

    Examples
    --------
    >>> found = CommonType()
    >>> for value in ({"a": 1, "b": ["x"]}, {"a": None, "b": []}):
    ...     found.add(value)
    >>> str(found.arrow_type())
    'struct<a: int64, b: list<item: string>>'
    >>> found.add({"a": 1.5, "b": []})
    >>> found.arrow_type() is None
    True
    """

    _type: pa.DataType = attrs.field(factory=pa.null, init=False)
    is_one: bool = attrs.field(default=True, init=False)

    def add(self, value: Any) -> None:
        """Take a value into account."""
        if not self.is_one:
            return
        try:
            self._type = joined(self._type, type_of(value, MOST_LEVELS))
        except NotOneTypeError:
            self.is_one = False

    def arrow_type(self) -> pa.DataType | None:
        """The type; None where there is no single one."""
        return self._type if self.is_one else None


def type_of(value: Any, levels: int) -> pa.DataType:
    """The type that holds a plain value and gives the same one back."""
    if value is None:
        return pa.null()
    kind = type(value)
    if kind is datetime.datetime and value.tzinfo is not None:
        raise NotOneTypeError
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind is array.array and len(value):
        return pa.list_(pa.float64())
    if not levels or (levels < MOST_LEVELS and is_numbers(value)):
        raise NotOneTypeError
    if kind is list:
        element: pa.DataType = pa.null()
        for item in value:
            element = joined(element, type_of(item, levels - 1))
        return pa.list_(element)
    if kind is dict and 0 < len(value) <= MOST_FIELDS and all(type(name) is str for name in value):
        return pa.struct([pa.field(name, type_of(item, levels - 1)) for name, item in value.items()])
    raise NotOneTypeError


def is_numbers(value: Any) -> bool:
    """True for a list of numbers that is no array.

    Examples
    --------
    >>> is_numbers([1, 2.5]), is_numbers([1, None]), is_numbers(array.array("d", [1]))
    (True, False, False)
    """
    return type(value) is list and len(value) > 0 and all(type(item) in (int, float) for item in value)


def joined(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of which both are parts; missing values are part of any."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(joined(left.value_type, right.value_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right) and [f.name for f in left] == [f.name for f in right]:
        return pa.struct([pa.field(a.name, joined(a.type, b.type)) for a, b in zip(left, right, strict=True)])
    raise NotOneTypeError
