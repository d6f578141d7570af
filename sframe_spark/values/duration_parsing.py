"""Converts durations that users give, such as ``"1h30min"``, ``"1mo"`` or a ``timedelta``, to numbers in the unit of a key column or of months."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, ColumnType
from sframe_spark.values.datetimes import DAY, MICROSECOND, MINUTE, SECOND, numpy_microseconds
from sframe_spark.values.plain_values import is_number

UNITS: dict[str, int] = {
    name: length
    for length, names in (
        (1, "us microsecond microseconds"),
        (1_000, "ms millisecond milliseconds"),
        (SECOND, "s sec secs second seconds"),
        (MINUTE, "min mins minute minutes"),
        (60 * MINUTE, "h hr hrs hour hours"),
        (DAY, "d day days"),
        (7 * DAY, "w week weeks"),
    )
    for name in names.split()
}
CALENDAR_UNITS: dict[str, int] = {
    name: months for months, names in ((1, "mo mon month months"), (3, "q quarter quarters"), (12, "y yr yrs year years")) for name in names.split()
}
"""Units that have no fixed length, in months."""
LONGEST = 2**63 - 1
MAX_MONTHS = 120_000
"""All months that Python's date-times have: longer durations lead beyond them."""
SIGN = re.compile(r"\s*([+-]?)\s*")
PART = re.compile(r"([\d.]*)\s*([^\W\d]+)[\s,]*")
ACCEPTED = "a timedelta or a text such as '3d', '15min', '1h30min', '250ms'"


def parse_duration(value: Any, column_type: ColumnType, what: str = "duration") -> int | float:
    """Return a duration in the unit of a key column: microseconds for date-times, the number itself for int and float keys.

    Parameters
    ----------
    value
        For date-times a ``timedelta`` (or its numpy form), or a string of numbers with units: ``us``, ``ms``, ``s``, ``min``, ``h``,
        ``d``, ``w``, or their full names. A unit without a number counts once; a leading minus sign negates the sum of all parts. For int and
        float keys, a number.
    column_type
        Type of the key column.
    what
        The argument's name, for messages.

    Raises
    ------
    TypeError
        If the value has a type that does not fit the column, or the column is neither a datetime nor a number.
    ValueError
        If a string is not a duration or has a unit without a fixed length (months, quarters and years), or if a number is not finite or larger
        than any float.

    Examples
    --------
    >>> from sframe_spark.types import DATETIME, INT
    >>> parse_duration("1h30min", DATETIME)
    5400000000
    >>> parse_duration(datetime.timedelta(seconds=2), DATETIME), parse_duration(5, INT)
    (2000000, 5)
    """
    if column_type.kind == DATETIME_KIND:
        return datetime_duration(value, what)
    if not column_type.is_numeric:
        raise SchemaError(f"{what}: a key of type {column_type.kind} has no durations: only int, float and datetime have them")
    if isinstance(value, (bool, np.bool_)) or not is_number(value):
        raise SchemaError(f"{what}: a key of type {column_type.kind} takes a number, got {value!r} of type {type(value).__name__}")
    number = value.item() if isinstance(value, np.generic) else value
    try:
        as_float = float(number)
    except OverflowError:
        raise InvalidArgumentError(f"{what}: a number of {int(number).bit_length()} bits is longer than any float") from None
    if not math.isfinite(as_float):
        raise InvalidArgumentError(f"{what}: a finite number is needed, got {value!r}")
    return as_float if column_type.kind == FLOAT_KIND and abs(number) > LONGEST else number


def parse_positive_duration(value: Any, column_type: ColumnType, what: str = "duration") -> int | float:
    """Return a duration as :func:`parse_duration` does; raise if it is not above zero.

    Raises
    ------
    TypeError
        If the value has a type that does not fit the column.
    ValueError
        If it is not a duration, or not above zero.

    Examples
    --------
    >>> from sframe_spark.types import DATETIME
    >>> parse_positive_duration("day", DATETIME)
    86400000000
    """
    duration = parse_duration(value, column_type, what)
    if duration <= 0:
        raise InvalidArgumentError(f"{what}: the duration must be above zero, got {value!r}")
    return duration


def datetime_duration(value: Any, what: str) -> int:
    """Return a duration between datetimes in microseconds.

    Raises
    ------
    TypeError
        If the value is neither a ``timedelta`` (of Python or numpy) nor a string.
    ValueError
        If it is not a whole number of microseconds, or does not fit in 64 bits.

    Examples
    --------
    >>> datetime_duration("-2 weeks", "duration")
    -1209600000000
    """
    if isinstance(value, np.timedelta64):
        duration = numpy_duration(value, what)
    elif isinstance(value, str):
        duration = text_duration(value, what)
    elif isinstance(value, datetime.timedelta) and value == value:
        duration = value // MICROSECOND
    else:
        raise SchemaError(f"{what}: a key of type datetime takes {ACCEPTED}, got {value!r} of type {type(value).__name__}")
    if abs(duration) > LONGEST:
        raise InvalidArgumentError(f"{what}: {value!r} is longer than {LONGEST} microseconds")
    return duration


def numpy_duration(value: np.timedelta64, what: str) -> int:
    """Return a numpy duration in microseconds.

    Raises
    ------
    ValueError
        If it is "not a time", has no unit, counts months or years, or does not fit in 64 bits.
    """
    unit, _ = np.datetime_data(value.dtype)
    if np.isnat(value) or unit in ("Y", "M", "generic"):
        raise InvalidArgumentError(f"{what}: {value!r} has no fixed length: use weeks, days or smaller units")
    try:
        return int(numpy_microseconds(value).astype(np.int64))
    except DateTimeRangeError:
        raise InvalidArgumentError(f"{what}: {value!r} is longer than {LONGEST} microseconds") from None


def text_duration(text: str, what: str) -> int:
    """Return the duration that a string describes, in microseconds.

    Raises
    ------
    ValueError
        If the string is not a duration, or not a whole number of microseconds.
    """
    total = text_parts(text, what, UNITS)[0]
    if total.denominator != 1:
        raise InvalidArgumentError(f"{what}: {text!r} is not a whole number of microseconds")
    return int(total)


def text_parts(text: str, what: str, *tables: Mapping[str, int], accepted: str = ACCEPTED) -> list[Fraction]:
    """Return, for each table of units, the sum of the parts of a string that have its units.

    Raises
    ------
    ValueError
        If the string is not a duration, or has a unit of no table.

    Examples
    --------
    >>> text_parts("-1mo 2.5d", "duration", UNITS, CALENDAR_UNITS)
    [Fraction(-216000000000, 1), Fraction(-1, 1)]
    """
    sign = SIGN.match(text)
    position = sign.end() if sign else 0
    totals, parts = [Fraction(0)] * len(tables), 0
    while part := PART.match(text, position):
        number, unit = part.groups()
        try:
            count = Fraction(number or 1)
        except ValueError:
            raise InvalidArgumentError(f"{what}: {number!r} in {text!r} is not a number") from None
        index = next((index for index, table in enumerate(tables) if unit.lower() in table), None)
        if index is None:
            raise unknown_unit(unit, text, what, tables)
        totals[index] += count * tables[index][unit.lower()]
        position, parts = part.end(), parts + 1
    if position < len(text) or not parts:
        raise InvalidArgumentError(f"{what}: {text!r} is not a duration: use {accepted}")
    return [-total for total in totals] if sign and sign.group(1) == "-" else totals


def unknown_unit(unit: str, text: str, what: str, tables: Sequence[Mapping[str, int]]) -> InvalidArgumentError:
    """Return the error for a unit that is in no table of an argument's."""
    name, has_months = unit.lower(), CALENDAR_UNITS in tables
    if name == "m":
        problem = "may be minutes or months: write 'min' for minutes" + (", 'mo' for months" if has_months else "; months have no fixed length")
    elif name in ("b", "bd", "c") or name.startswith("business"):
        problem = "are business days, by which times are moved (shift_time), but of which no intervals are made: take '1d' without the other days"
    elif name in CALENDAR_UNITS:
        problem = "has no fixed length (months and years differ): use weeks, days or smaller units"
    else:
        problem = f"is not a unit: use us, ms, s, min, h, d{', w, mo, q or y' if has_months else ' or w'}, or their names"
    return InvalidArgumentError(f"{what}: {unit!r} in {text!r} {problem}")


@attrs.frozen
class IntervalLength:
    """The length of intervals.

    Parameters
    ----------
    length
        The number of months, or the length in the unit of the keys.
    in_months
        Whether it is in months.
    """

    length: int | float
    in_months: bool = False


def parse_step(value: Any, column_type: ColumnType, what: str) -> IntervalLength:
    """Return the length of intervals of a key column, which for date-times may be in months, quarters or years.

    Raises
    ------
    TypeError
        If the value has a type that does not fit the column.
    ValueError
        If it is not a duration, is not above zero, or is neither whole months nor of a fixed length.

    Examples
    --------
    >>> from sframe_spark.types import DATETIME
    >>> parse_step("1q", DATETIME, "every"), parse_step("90min", DATETIME, "every")
    (IntervalLength(length=3, in_months=True), IntervalLength(length=5400000000, in_months=False))
    """
    if column_type.kind != DATETIME_KIND or not isinstance(value, (str, np.timedelta64)):
        return IntervalLength(parse_positive_duration(value, column_type, what))
    if isinstance(value, str):
        fixed, months = text_parts(value, what, UNITS, CALENDAR_UNITS)
    else:
        unit, step = np.datetime_data(value.dtype)
        if unit not in ("Y", "M") or np.isnat(value):
            return IntervalLength(parse_positive_duration(value, column_type, what))
        fixed, months = Fraction(0), Fraction(int(value.astype(np.int64)) * step * (12 if unit == "Y" else 1))
    if not months:
        return IntervalLength(parse_positive_duration(value, column_type, what))
    if fixed or months.denominator != 1:
        raise InvalidArgumentError(f"{what}: {value!r} is neither a number of whole months nor a fixed length: use one of both")
    if not 0 < months <= MAX_MONTHS:
        raise InvalidArgumentError(f"{what}: a duration above zero and of at most 10,000 years is needed, got {value!r}")
    return IntervalLength(int(months), True)
