"""The Python classes that a cell may hold, the conversion of their values to *plain* values, and comparison of plain values.

Plain values are None, ``int`` (64 bit), ``float``, ``str``, ``datetime``, ``array.array('d')``, ``numpy.ndarray`` of floats, ``Image``,
``list`` and ``dict``.
A *family* is the set of Python classes whose values are stored as the same plain class; it is named like a column kind, or ``"missing"``.
"""

from __future__ import annotations

import array
import collections.abc
import datetime
import decimal
import enum
import logging
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.errors import BeyondRangeError, SchemaError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, NDARRAY_KIND, STR_KIND
from sframe_spark.values.ndarrays import holds_numbers
from sframe_spark.values.rounding_warnings import is_rounded, note_rounded
from sframe_spark.values.struct_kinds import STRUCT_KINDS
from sframe_spark.values.tagged_json_display_and_canonical_text import MAX_LEVELS, hashable_key, too_deep

with lazy_imports(globals()):
    from sframe_spark.values.datetimes import to_datetime

MISSING = "missing"
NUMBERS = frozenset({INT_KIND, FLOAT_KIND})
SMALLEST_INT = -(2**63)
LARGEST_INT = 2**63 - 1

_SCALAR_FAMILIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((type(None),), MISSING),
    ((bool, int, np.integer, np.bool_), INT_KIND),
    ((float, np.floating, decimal.Decimal, datetime.timedelta, datetime.time), FLOAT_KIND),
    ((str, bytes, np.str_, np.bytes_), STR_KIND),
    ((datetime.date, np.datetime64), DATETIME_KIND),
    ((collections.abc.Mapping,), DICT_KIND),
    ((array.array,), ARRAY_KIND),
    *(((kind.python_class,), name) for name, kind in STRUCT_KINDS.items()),
)

# Classes whose values are kept as texts, by module and name, as few programs import them: what the text is.
_KEPT_AS_TEXTS = {
    ("enum", "Enum"): "the name of each member; .value gives what it stands for",
    ("uuid", "UUID"): "as str() writes them",
    ("pathlib", "PurePath"): "as str() writes them",
    ("pathlib._local", "PurePath"): "as str() writes them",
    **dict.fromkeys((("ipaddress", "_IPAddressBase"), ("ipaddress", "_BaseNetwork")), "as str() writes them"),
}
LOG = logging.getLogger("sframe_spark")

_FAMILY_OF_CLASS: dict[type, str] = {}


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float of Python or numpy, or a Python bool.

    Examples
    --------
    >>> is_number(np.float32(1)), is_number("1")
    (True, False)
    """
    return isinstance(value, (int, float, np.integer, np.floating))


def family_of(python_class: Any) -> str:
    """Return the family of a class: a kind, or ``"missing"``; sequences and sets are of the list family, and UUIDs, paths and the like are
    kept as texts, which is logged once for each class.

    Raises
    ------
    SchemaError
        If no cell can hold values of the class.

    Examples
    --------
    >>> family_of(bool), family_of(tuple)
    ('int', 'list')
    """
    family = _FAMILY_OF_CLASS.get(python_class)
    if family is None:
        family = _FAMILY_OF_CLASS[python_class] = _find_family(python_class)
    return family


def _find_family(python_class: type) -> str:
    if python_class.__name__ in ("NaTType", "NAType"):  # pandas' missing values; pandas itself is not imported
        return MISSING
    if issubclass(python_class, np.timedelta64):
        raise SchemaError("a column cannot hold numpy.timedelta64 values: convert them to a number of seconds first")
    for classes, family in _SCALAR_FAMILIES:
        if issubclass(python_class, classes):
            return family
    for above in python_class.__mro__:
        text = _KEPT_AS_TEXTS.get((above.__module__, above.__name__))
        if text is not None:
            # Once for each class, as its family is kept.
            LOG.warning("values of class %s are kept as texts, %s", python_class.__name__, text)
            return STR_KIND
    if issubclass(python_class, (collections.abc.Sequence, collections.abc.Set, collections.deque)):
        return LIST_KIND
    # Pandas series, dict views, SArrays. Only methods of the class and its bases count: an Enum class is iterable by a method of
    # its metaclass, and its members are not iterable.
    if all(any(name in vars(above) for above in python_class.__mro__) for name in ("__len__", "__iter__")):
        return LIST_KIND
    instead = "use int, float, str, list, dict, array.array, numpy.ndarray, Image, datetime.datetime or None"
    raise SchemaError(f"a column cannot hold values of class {python_class.__name__}: {instead}")


def family_of_value(value: Any) -> str:
    """Return the family of a value: that of its class, but arrays of numpy that hold no numbers are lists.

    Examples
    --------
    >>> family_of_value(np.zeros(2)), family_of_value(np.array(["a"]))
    ('ndarray', 'list')
    """
    family = family_of(type(value))
    return LIST_KIND if family == NDARRAY_KIND and not holds_numbers(value) else family


def families_of(values: Any) -> set[str]:
    """Return the families of some values, without the family of missing values.

    Of an iterator, as of the items of all lists, which is read once, arrays of numpy count as those of numbers.
    """
    families = {family_of(python_class) for python_class in set(map(type, values))} - {MISSING}
    if NDARRAY_KIND in families and not isinstance(values, collections.abc.Iterator):
        families = families - {NDARRAY_KIND} | {family_of_value(value) for value in values if isinstance(value, np.ndarray)}
    return families


def one_value(value: Any) -> Any:
    """Return the value of a zero-dimensional numpy array; any other value is returned unchanged.

    Examples
    --------
    >>> print(one_value(np.array(5)), one_value([5]))
    5 [5]
    """
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def require_items(value: Any) -> None:
    """Raise if a value that should have items is a zero-dimensional numpy array, which has none.

    Raises
    ------
    SchemaError
        If the value is a zero-dimensional numpy array.
    """
    if isinstance(value, np.ndarray) and not value.ndim:
        raise SchemaError(f"{value!r:.60} has no dimension: pass its value, item()")


def int_equal_to(number: int | float) -> int | None:
    """Return the 64-bit int that equals a number, or None if there is none.

    Examples
    --------
    >>> int_equal_to(2.0), int_equal_to(2.5), int_equal_to(2.0**63), int_equal_to(float("nan"))
    (2, None, None, None)
    """
    return int(number) if SMALLEST_INT <= number <= LARGEST_INT and number == int(number) else None


def plain_number(value: Any) -> int | float:
    """Return an int or float for a value of a number family (ints beyond 64 bits become floats).

    A number that loses digits is recorded for a warning.

    Raises
    ------
    BeyondRangeError
        If an int is beyond the largest float.
    SchemaError
        If a time of day has an offset, which seconds since midnight would not tell.
    """
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.time):
        return _seconds_of_day(value)
    if family_of(type(value)) == FLOAT_KIND:
        return _plain_float(value)
    number = int(value)
    if SMALLEST_INT <= number <= LARGEST_INT:
        return number
    try:
        return _nearest_float(number)
    except OverflowError:
        # Python does not convert ints with thousands of digits to strings.
        raise BeyondRangeError(f"an int of {number.bit_length()} bits is beyond the largest float: pass its text, or a float") from None


def _seconds_of_day(value: datetime.time) -> float:
    """Return the seconds since midnight, which Arrow's times of day are in a column too."""
    if value.tzinfo is not None:
        raise SchemaError(f"the time {value} has an offset, which a column of seconds cannot keep: pass its text, str(value)")
    return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6


def _plain_float(value: Any) -> float:
    if isinstance(value, decimal.Decimal):
        if value.is_snan():
            return float("nan")
        if is_rounded(value):
            note_rounded(value)
    nearest = float(value)
    if isinstance(value, np.longdouble) and nearest != value and value == value:
        note_rounded(value)
    return nearest


def _nearest_float(number: int) -> float:
    nearest = float(number)
    if nearest != number:
        note_rounded(number)
    return nearest


def float_of_number(value: Any) -> float:
    """Return the nearest float of a value of a number family; a number that loses digits is recorded for a warning.

    Examples
    --------
    >>> float_of_number(2**53 + 1)
    9007199254740992.0
    """
    number = plain_number(value)
    return _nearest_float(number) if isinstance(number, int) else number


def have_long_doubles(values: Iterable[Any]) -> bool:
    """Return whether a value is a ``numpy.longdouble``, which Arrow would truncate; fast in programs that have none."""
    return np.longdouble in _FAMILY_OF_CLASS and np.longdouble in set(map(type, values))


def plain_text(value: Any) -> str:
    """Return a str for a value of the str family; bytes are decoded as UTF-8, and a member of an enum that is no text itself gives its name."""
    if isinstance(value, enum.Enum) and not isinstance(value, str):
        return str(value.name)
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def plain_array(values: Any) -> array.array:
    """Return an array of doubles for a sequence of numbers; missing elements become NaN.

    Raises
    ------
    SchemaError
        If an element is not a number.
    """
    if (isinstance(values, array.array) and values.typecode in "uw") or not families_of(values) <= NUMBERS:
        raise SchemaError("an array cell can hold numbers only: use a list for mixed elements")
    missing = float("nan")
    return array.array("d", [missing if value is None else float_of_number(value) for value in values])


def plain_list(values: Any, levels: int = MAX_LEVELS) -> list[Any]:
    """Return a list of plain values for any sequence or set.

    Raises
    ------
    SchemaError
        If it is nested deeper than ``levels``, such as a list that contains itself.
    """
    if not levels:
        raise too_deep()
    require_items(values)
    try:
        return [plain(value, levels - 1) for value in values]
    except RecursionError:
        raise too_deep() from None


def plain_key(value: Any, levels: int = MAX_LEVELS) -> Any:
    """Return the plain value of a dict key; arrays and lists become tuples, which are hashable."""
    return hashable_key(plain(value, levels))


def plain_dict(value: Any, levels: int = MAX_LEVELS) -> dict[Any, Any]:
    """Return a dict with plain keys and values for any mapping; the order of the keys is kept.

    Raises
    ------
    SchemaError
        If it is nested deeper than ``levels``.
    """
    if not levels:
        raise too_deep()
    try:
        return {plain_key(key, levels - 1): plain(item, levels - 1) for key, item in value.items()}
    except RecursionError:
        raise too_deep() from None


def plain(value: Any, levels: int = MAX_LEVELS) -> Any:
    """Return the plain value of any value that a cell may hold; a non-empty sequence of numbers becomes an array.

    Examples
    --------
    >>> plain((1, "a")), plain([1, 2.5]), plain(np.array([[1]]))
    ([1, 'a'], array('d', [1.0, 2.5]), array([[1.]]))
    """
    family = family_of_value(value)
    if family == MISSING:
        return None
    if family in NUMBERS:
        return plain_number(value)
    if family == STR_KIND:
        return plain_text(value)
    if family == DATETIME_KIND:
        return to_datetime(value)
    if family == DICT_KIND:
        return plain_dict(value, levels)
    single = one_value(value)
    if single is not value:
        return plain(single, levels)
    if family in STRUCT_KINDS:
        return STRUCT_KINDS[family].plain(value)
    is_array = family == ARRAY_KIND or (len(value) > 0 and {family_of(python_class) for python_class in set(map(type, value))} <= NUMBERS)
    return plain_array(value) if is_array else plain_list(value, levels)


# Comparison of results. Spark adds floats in any order, which changes the last digits of a sum; if terms cancel out, only these digits are left.
TOLERANCE = 1e-9


def agree(actual: Any, expected: Any) -> bool:
    """Return whether two values have the same class and are equal.

    Floats may differ by a small tolerance, NaN equals NaN, and datetimes must have the same offset.

    Examples
    --------
    >>> agree(0.1 + 0.2, 0.3), agree(float("nan"), float("nan")), agree(-0.0, 0.0), agree(None, None)
    (True, True, True, True)
    >>> agree(1, 1.0), agree(None, float("nan")), agree([1.0, 2.0], [1.0]), agree(2**60, 2**60 + 1)
    (False, False, False, False)
    """
    if type(actual) is not type(expected):
        return False
    if isinstance(actual, float):
        if math.isnan(actual) or math.isnan(expected):
            return math.isnan(actual) and math.isnan(expected)
        return math.isclose(actual, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(actual, datetime.datetime):
        return actual.utcoffset() == expected.utcoffset() and actual == expected
    if isinstance(actual, (list, tuple, array.array)):
        return len(actual) == len(expected) and all(map(agree, actual, expected))
    if isinstance(actual, np.ndarray):
        return actual.shape == expected.shape and all(map(agree, actual.ravel().tolist(), expected.ravel().tolist()))
    if isinstance(actual, dict):
        return actual.keys() == expected.keys() and all(agree(value, expected[key]) for key, value in actual.items())
    return bool(actual == expected)
