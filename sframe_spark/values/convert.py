"""Convert one value to another kind: the rules behind both construction with a dtype and ``astype``."""

from __future__ import annotations

import array
import datetime
import decimal
import math
from collections.abc import Callable
from typing import Any

from sframe_spark.errors import SchemaError
from sframe_spark.message_text import brief
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND
from sframe_spark.values.datetimes import FIRST_MICROSECOND, LAST_MICROSECOND, SECOND, from_microseconds, to_datetime, to_microseconds
from sframe_spark.values.inexact_numbers import RoundedNumbers, may_be_rounded
from sframe_spark.values.tagged_json import display_text
from sframe_spark.values.value_model import (
    LARGEST_INT,
    MISSING,
    NUMBERS,
    SMALLEST_INT,
    family_of,
    float_of_number,
    plain_array,
    plain_dict,
    plain_list,
    plain_number,
    plain_text,
)


def construct_value(value: Any, kind: str) -> Any:
    """Convert a value of any supported class to a plain value of a kind, as construction with a dtype does.

    Raises
    ------
    SchemaError
        If there is no such conversion; text in particular is never parsed here.

    Examples
    --------
    >>> construct_value(2.7, "int"), construct_value([1, "a"], "str")
    (2, '[1,"a"]')
    """
    family = family_of(type(value))
    if family == MISSING:
        return None
    convert = _CONSTRUCTORS.get((family, kind))
    if convert is None:
        raise SchemaError(f"{brief(value)} ({family}) cannot become {kind}")
    return convert(value)


def becomes(kind: str, other: str) -> bool:
    """Whether values of a kind become values of another one in construction.

    Examples
    --------
    >>> becomes("int", "str"), becomes("str", "int")
    (True, False)
    """
    return (kind, other) in _CONSTRUCTORS


def float_to_int(value: float) -> int | None:
    """Cut the fraction off; NaN is missing.

    Raises
    ------
    SchemaError
        If what is left has no 64 bits. Only casts of whole columns of floats make the smallest int of it, as the reference does everywhere.

    Examples
    --------
    >>> float_to_int(-2.9), float_to_int(float("nan"))
    (-2, None)
    """
    if math.isnan(value):
        return None
    if not SMALLEST_INT <= value < float(LARGEST_INT):
        raise SchemaError(f"{brief(value)} (float) is no int of 64 bits: ask for floats")
    return int(value)


def seconds_to_datetime(seconds: float) -> datetime.datetime:
    """Count seconds from 1970; the fraction is cut off at microseconds.

    Raises
    ------
    SchemaError
        If the point in time is not in the years 1 to 9999.
    """
    microseconds = LARGEST_INT
    if math.isfinite(seconds):
        whole = math.floor(seconds)
        microseconds = whole * SECOND + int((seconds - whole) * SECOND)
    if not FIRST_MICROSECOND <= microseconds <= LAST_MICROSECOND:
        raise SchemaError(f"{seconds!r} seconds from 1970 is not in the years 1 to 9999")
    return from_microseconds(microseconds)


def timestamp(value: datetime.datetime) -> float:
    """Seconds from 1970 in UTC."""
    return to_microseconds(value)[0] / SECOND


def list_to_array(values: list[Any]) -> array.array:
    """Make an array of a list of numbers and date-times; missing elements become NaN.

    Raises
    ------
    SchemaError
        If an element is neither.
    """
    return plain_array([timestamp(item) if isinstance(item, datetime.datetime) else item for item in values])


def _integer(value: Any) -> int | None:
    number, is_rounded = _number_told(value)
    if isinstance(value, decimal.Decimal) and is_rounded and SMALLEST_INT <= value <= LARGEST_INT:
        return int(value)
    if not isinstance(number, float):
        return number
    if family_of(type(value)) == INT_KIND:
        # A float already, of fewer digits.
        raise SchemaError(f"{brief(value)} (int) is no int of 64 bits: ask for floats, or for texts to keep all digits")
    return float_to_int(number)


def _number_text(value: Any) -> str:
    """As a column of numbers would show it, but for numbers that such a column does not hold: these keep all digits."""
    number, is_rounded = _number_told(value)
    return str(value) if is_rounded else display_text(number)


def _number_told(value: Any) -> tuple[int | float, bool]:
    """The plain number, and whether it has less digits than the value."""
    if not may_be_rounded(value):
        return plain_number(value), False
    rounded = RoundedNumbers()
    with rounded.of(None):
        return plain_number(value), rounded.found


def _sequence_text(value: Any) -> str:
    return display_text(plain_array(value) if isinstance(value, array.array) else plain_list(value))


def _when_known(convert: Callable[[datetime.datetime], Any]) -> Callable[[Any], Any]:
    """Wrap a conversion of datetimes for values that may turn out to be "not a time"."""

    def converted(value: Any) -> Any:
        moment = to_datetime(value)
        return None if moment is None else convert(moment)

    return converted


def _constructors() -> dict[tuple[str, str], Callable[[Any], Any]]:
    table: dict[tuple[str, str], Callable[[Any], Any]] = {
        (STR_KIND, STR_KIND): plain_text,
        (DICT_KIND, DICT_KIND): plain_dict,
        (DICT_KIND, STR_KIND): lambda value: display_text(plain_dict(value)),
        (DATETIME_KIND, DATETIME_KIND): to_datetime,
        (DATETIME_KIND, INT_KIND): _when_known(lambda value: to_microseconds(value)[0] // SECOND),
        (DATETIME_KIND, FLOAT_KIND): _when_known(timestamp),
        (DATETIME_KIND, STR_KIND): _when_known(display_text),
    }
    for family in NUMBERS:
        table[family, INT_KIND] = _integer
        table[family, FLOAT_KIND] = float_of_number
        table[family, STR_KIND] = _number_text
        table[family, DATETIME_KIND] = lambda value: seconds_to_datetime(plain_number(value))
    for family in (LIST_KIND, ARRAY_KIND):
        table[family, STR_KIND] = _sequence_text
        table[family, LIST_KIND] = lambda value: plain_list(plain_array(value) if isinstance(value, array.array) else value)
        table[family, ARRAY_KIND] = lambda value: list_to_array(plain_list(value))
    return table


_CONSTRUCTORS = _constructors()
