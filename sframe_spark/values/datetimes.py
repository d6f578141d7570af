"""Conversion between datetimes and microseconds since 1970 with an offset in minutes east of UTC, and formatting of datetimes.

Values are converted by arithmetic on integers, never on floats or with the platform's time functions, so conversions work for every year from 1 to
9999 and do not depend on the machine's time zone. Nanoseconds, which columns do not hold, are cut off, and a warning says so.
"""

from __future__ import annotations

import datetime
import re
import warnings
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DateTimeRangeError, LostNanosecondsWarning, listed, users_level
from sframe_spark.pyarrow_versions import if_else

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
MAX_OFFSET = 24 * 60 - 1
"""The largest offset from UTC of Python's ``datetime``, in minutes."""
# How many of each short numpy unit make up a microsecond.
_PER_MICROSECOND = {"us": 1, "ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12, "generic": 1}

EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = EPOCH.replace(tzinfo=datetime.UTC)
# Monrovia was the last time zone with seconds in its offset, until January 1972.
_FIRST_YEAR_OF_WHOLE_MINUTES = 1973
MICROSECOND = datetime.timedelta(microseconds=1)
FIRST_MICROSECOND = (datetime.datetime.min - EPOCH) // MICROSECOND
LAST_MICROSECOND = (datetime.datetime.max - EPOCH) // MICROSECOND


def to_datetime(value: Any) -> datetime.datetime | None:
    """Convert a datetime, date, ``numpy.datetime64`` or pandas timestamp to a plain datetime; "not a time" of numpy and pandas becomes None.

    A ``numpy.datetime64`` counts as UTC; a date becomes its midnight.

    Examples
    --------
    >>> to_datetime(datetime.date(2012, 1, 1))
    datetime.datetime(2012, 1, 1, 0, 0)
    """
    if isinstance(value, datetime.datetime):
        if value != value:
            return None
        convert = getattr(value, "to_pydatetime", None)  # pandas.Timestamp keeps nanoseconds that no column holds
        return convert(warn=False) if convert is not None else value
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    time = numpy_microseconds(value).item()
    if isinstance(time, int):  # numpy's form of what Python has no datetime for
        raise DateTimeRangeError(f"the date-time {value} lies outside the years 1 to 9999, which Python cannot represent")
    return None if time is None else time.replace(tzinfo=datetime.UTC)


def _farthest(values: Any) -> str:
    """Return the value that is farthest from zero as text, or its number if NumPy does not show it."""
    known = np.atleast_1d(values)
    known = known[~np.isnat(known)]
    value = known[np.argmax(np.abs(known.astype(np.int64).astype(np.float64)))]
    try:
        return repr(value)
    except OverflowError:
        return f"{value.astype(np.int64)} in a column of {value.dtype}"


def numpy_microseconds(values: Any) -> Any:
    """Convert numpy ``datetime64`` or ``timedelta64`` values to microseconds; in numpy's own cast ints of 64 bits wrap around silently.

    Raises
    ------
    DateTimeRangeError
        If the microseconds of a value do not fit in 64 bits.

    Examples
    --------
    >>> print(numpy_microseconds(np.datetime64("2024-01-01")))
    2024-01-01T00:00:00.000000
    """
    try:
        microseconds = values.astype("datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]")
    except OverflowError:
        # NumPy 2.5 and later refuse what wrapped around before.
        raise DateTimeRangeError(f"a column cannot hold the time {_farthest(values)}: its microseconds need more than 64 bits") from None
    unit, step = np.datetime_data(values.dtype)
    if unit in _PER_MICROSECOND:
        if step == 1:
            return microseconds
        # The cast truncates, so it cannot be checked by casting back; a value that wrapped around is far from the right one.
        expected = values.astype(np.int64) * (step / _PER_MICROSECOND[unit])
        wrong = np.abs(microseconds.astype(np.int64) - expected) > 1 + 1e-9 * np.abs(expected)
    else:
        wrong = microseconds.astype(values.dtype) != values
    wrong &= ~np.isnat(values)
    if np.any(wrong):
        first = values.ravel()[np.argmax(wrong)]
        raise DateTimeRangeError(f"a column cannot hold the time {first!r}: its microseconds need more than 64 bits")
    return microseconds


def floored(ticks: pa.Array, step: int) -> pa.Array:
    """Divide ints by a step, rounding down. (Arrow's own casts and divisions round towards zero, which is up for times before 1970.)

    Examples
    --------
    >>> floored(pa.array([-1, None, 1999]), 1000).to_pylist()
    [-1, None, 1]
    """
    quotients = np.floor_divide(ticks.fill_null(0).to_numpy(zero_copy_only=False), step)
    return pa.array(quotients, ticks.type, mask=ticks.is_null().to_numpy(zero_copy_only=False) if ticks.null_count else None)


def arrow_microseconds(values: pa.Array) -> pa.Array:
    """Return timestamps in microseconds, in their own zone; nanoseconds are rounded down.

    Raises
    ------
    pyarrow.ArrowInvalid
        If the microseconds of a value do not fit in 64 bits.

    Examples
    --------
    >>> arrow_microseconds(pa.array([-1, 1], pa.timestamp("ns"))).cast(pa.int64()).to_pylist()
    [-1, 0]
    """
    microseconds = pa.timestamp("us", values.type.tz)
    return floored(values.cast(pa.int64()), 1_000).cast(microseconds) if values.type.unit == "ns" else values.cast(microseconds)


def to_microseconds(value: datetime.datetime) -> tuple[int, int | None]:
    """Split a datetime into microseconds (in UTC if it has an offset) and its offset in whole minutes, rounded down.

    Examples
    --------
    >>> to_microseconds(datetime.datetime(1970, 1, 1, 0, 0, 1))
    (1000000, None)
    """
    offset = value.utcoffset()
    wall = value.replace(tzinfo=None, fold=0) - EPOCH
    microseconds = (wall.days * 86_400 + wall.seconds) * SECOND + wall.microseconds
    if offset is None:
        return microseconds, None
    instant = microseconds - offset // MICROSECOND
    if value.year < _FIRST_YEAR_OF_WHOLE_MINUTES and type(value.tzinfo).__module__.partition(".")[0] == "pytz":
        offset = _offset_of_zone(value, instant, offset)
    return instant, offset // datetime.timedelta(minutes=1)


def _offset_of_zone(value: datetime.datetime, instant: int, rounded: datetime.timedelta) -> datetime.timedelta:
    """Return the offset of a pytz zone at an instant, including seconds, as pytz (which pandas uses) rounds offsets to minutes.

    The datetime's own offset ``rounded`` is returned if it is not the zone's offset at that time. This happens in ``datetime(..., tzinfo=zone)``,
    where a pytz zone has the first offset in its history.
    """
    zone: Any = value.tzinfo
    try:
        if zone.zone is None or zone.normalize(value).utcoffset() != rounded:
            return rounded
        exact = (_UTC_EPOCH + instant * MICROSECOND).astimezone(zoneinfo.ZoneInfo(zone.zone)).utcoffset()
    except (OSError, ValueError, OverflowError, zoneinfo.ZoneInfoNotFoundError):
        return rounded
    return rounded if exact is None else exact


def is_in_years_of_python(microseconds: int, offset: int | None = None) -> bool:
    """Return whether the local time of a datetime lies in the years 1 to 9999, which Python's ``datetime`` can represent.

    Examples
    --------
    >>> is_in_years_of_python(LAST_MICROSECOND), is_in_years_of_python(LAST_MICROSECOND, 60), is_in_years_of_python(LAST_MICROSECOND + 1, -60)
    (True, False, True)
    """
    return FIRST_MICROSECOND <= microseconds + (offset or 0) * MINUTE <= LAST_MICROSECOND


def timestamp_text(microseconds: int) -> str:
    """Format microseconds since 1970 as a date and a time, in any year.

    Examples
    --------
    >>> timestamp_text(LAST_MICROSECOND + 1), timestamp_text(FIRST_MICROSECOND - 1)
    ('10000-01-01T00:00:00.000000', '0000-12-31T23:59:59.999999')
    """
    # The smallest number is numpy's "not a time".
    return str(np.datetime64(max(microseconds, 1 - 2**63), "us"))


@cache
def fixed_zone(minutes: int) -> datetime.timezone:
    """Return the time zone a number of minutes east of UTC; cached, as frames have few distinct offsets."""
    return datetime.timezone(datetime.timedelta(minutes=minutes))


def from_microseconds(microseconds: int, offset: int | None = None) -> datetime.datetime:
    """Return the datetime of microseconds since 1970 (in UTC if there is an offset) and an offset in minutes; inverse of :func:`to_microseconds`.

    Examples
    --------
    >>> from_microseconds(0, 60)
    datetime.datetime(1970, 1, 1, 1, 0, tzinfo=datetime.timezone(datetime.timedelta(seconds=3600)))
    """
    if offset is None:
        return EPOCH + datetime.timedelta(microseconds=microseconds)
    wall = EPOCH + datetime.timedelta(microseconds=microseconds + offset * MINUTE)
    return wall.replace(tzinfo=fixed_zone(offset))


def datetime_text(value: datetime.datetime) -> str:
    """Format the local time of a datetime as a compact ISO string, without its offset, and with microseconds only if they are not zero.

    Examples
    --------
    >>> datetime_text(datetime.datetime(2012, 1, 1, 1, 2, 3, 500))
    '20120101T010203.000500'
    """
    text = f"{value.year:04d}{value.month:02d}{value.day:02d}T{value.hour:02d}{value.minute:02d}{value.second:02d}"
    return f"{text}.{value.microsecond:06d}" if value.microsecond else text


def all_in_years_of_python(wall: pa.Array) -> bool:
    """Return whether all timestamps (in microseconds) lie in the years 1 to 9999, which Python's ``datetime`` can represent.

    Examples
    --------
    >>> all_in_years_of_python(pa.array([0, None], pa.timestamp("us"))), all_in_years_of_python(pa.array([2**62], pa.timestamp("us")))
    (True, False)
    """
    limits = pc.min_max(wall.cast(pa.int64())).as_py()
    return limits["min"] is None or FIRST_MICROSECOND <= limits["min"] <= limits["max"] <= LAST_MICROSECOND


# Warnings about nanoseconds, which columns do not hold.


def warn_of_nanoseconds(values: Any, name: str | None = None) -> None:
    """Warn if datetimes of an Arrow or numpy array are not whole microseconds; ``name`` is the name of the column.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_nanoseconds(np.array([1], "datetime64[ns]"), "when")
    >>> str(caught[0].message)
    "date-times are kept to the microsecond: the nanoseconds of 1 of column 'when' are cut off"
    """
    warn_of_lost_nanoseconds({name: lost_nanoseconds(values)})


def warn_of_lost_nanoseconds(lost: Mapping[Any, int | None]) -> None:
    """Warn once of truncated datetimes, if there are any, given how many there are in each column; None if their number is unknown.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_lost_nanoseconds({"a": 2, "b": 0, "c": None})
    >>> str(caught[0].message)
    "date-times are kept to the microsecond: the nanoseconds of 2 of column 'a', some of column 'c' are cut off"
    """
    counts = [
        f"{'some' if count is None else count}" + ("" if name is None else f" of column {name!r}") for name, count in lost.items() if count != 0
    ]
    if counts:
        message = f"date-times are kept to the microsecond: the nanoseconds of {listed(counts, str)} are cut off"
        warnings.warn(LostNanosecondsWarning(message), stacklevel=users_level())


def has_nanoseconds(data_type: pa.DataType) -> bool:
    """Return whether an Arrow type is, or contains, timestamps in nanoseconds.

    Examples
    --------
    >>> has_nanoseconds(pa.list_(pa.timestamp("ns"))), has_nanoseconds(pa.timestamp("us"))
    (True, False)
    """
    if pa.types.is_timestamp(data_type):
        return bool(data_type.unit == "ns")
    if isinstance(data_type, pa.BaseExtensionType):
        return has_nanoseconds(data_type.storage_type)
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return has_nanoseconds(data_type.value_type)
    return any(has_nanoseconds(data_type.field(index).type) for index in range(data_type.num_fields))


def lost_nanoseconds(values: Any) -> int:
    """Count the datetimes of an Arrow or numpy array that are not whole microseconds, including datetimes inside lists, structs and maps.

    Examples
    --------
    >>> lost_nanoseconds(pa.array([[1000, 1], None], pa.list_(pa.timestamp("ns"))))
    1
    """
    if isinstance(values, pa.ChunkedArray):
        return sum(map(lost_nanoseconds, values.chunks)) if has_nanoseconds(values.type) else 0
    if isinstance(values, pa.Array):
        return _lost_of_arrow(values) if has_nanoseconds(values.type) else 0
    if values.dtype.kind == "M" and np.datetime_data(values.dtype) == ("ns", 1):
        return _not_whole(values[~np.isnat(values)].astype(np.int64))
    return 0


def _lost_of_arrow(values: pa.Array) -> int:
    types = pa.types
    if isinstance(values, pa.ExtensionArray):
        return lost_nanoseconds(values.storage)
    if types.is_timestamp(values.type):
        return _not_whole(values.drop_null().cast(pa.int64()).to_numpy())
    if types.is_struct(values.type):
        return sum(map(lost_nanoseconds, values.flatten()))
    if types.is_map(values.type):
        # Arrow does not flatten maps, and the children of a slice are not sliced.
        start, stop = values.offsets[0].as_py(), values.offsets[len(values)].as_py()
        return sum(lost_nanoseconds(part.slice(start, stop - start)) for part in (values.keys, values.items))
    if types.is_dictionary(values.type):
        return lost_nanoseconds(values.dictionary_decode())
    if types.is_run_end_encoded(values.type):
        return lost_nanoseconds(pc.run_end_decode(values))
    return lost_nanoseconds(values.flatten()) if hasattr(values, "flatten") else 0


def _not_whole(ticks: np.ndarray) -> int:
    return int(np.count_nonzero(ticks % 1000))


# Formatting of datetimes with the directives of C's ``strftime``, and more directives for fractions of seconds and offsets from UTC.

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ZONE = "ZP"
# Directives that are abbreviations of several directives.
_SHORT_FOR = {"T": "%H:%M:%S", "X": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "x": "%m/%d/%y", "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y"}
_DIRECTIVE = re.compile(r"%(ZP|.)", re.DOTALL)


def directives(form: str) -> list[str]:
    """Split a format into literal text and directives, which begin with ``%``; abbreviations of several directives are expanded.

    Examples
    --------
    >>> directives("on %D %ZP")
    ['on ', '%m', '/', '%d', '/', '%y', ' ', '%ZP']
    """
    parts, position = [], 0
    for match in _DIRECTIVE.finditer(form):
        parts.append(form[position : match.start()])
        position = match.end()
        parts += directives(_SHORT_FOR[match[1]]) if match[1] in _SHORT_FOR else [match[0]]
    # A % at the end is dropped.
    parts.append(form[position:].removesuffix("%"))
    return [part for part in parts if part]


def _names(names: Sequence[str], letters: int | None, index: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    texts = [name[:letters] for name in names]
    return lambda wall: pa.array(texts, pa.string()).take(index(wall))


def _number(part: Callable[[pa.Array], pa.Array], width: int, padding: str = "0") -> Callable[[pa.Array], pa.Array]:
    return lambda wall: pc.utf8_lpad(part(wall).cast(pa.int64()).cast(pa.string()), width, padding)


def _remainder(numbers: pa.Array, divisor: int) -> pa.Array:
    return pc.subtract(numbers, pc.multiply(pc.divide(numbers, divisor), divisor))


def _clock_hour(wall: pa.Array) -> pa.Array:
    return pc.add(_remainder(pc.add(pc.hour(wall), 11), 12), 1)


def _week_from(first_day: int) -> Callable[[pa.Array], pa.Array]:
    """Return a function for the week of the year, where week 1 begins at the first day of the year with the given weekday."""

    def week(wall: pa.Array) -> pa.Array:
        return pc.divide(pc.subtract(pc.add(pc.day_of_year(wall), 6), pc.day_of_week(wall, week_start=first_day)), 7)

    return week


def _microseconds(wall: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(pc.millisecond(wall), 1000), pc.microsecond(wall))


def _fraction(wall: pa.Array) -> pa.Array:
    """Return a dot and six digits of the microseconds, or an empty string for whole seconds."""
    parts = _microseconds(wall)
    digits = pc.binary_join_element_wise(".", pc.utf8_lpad(parts.cast(pa.string()), 6, "0"), "")
    return if_else(pc.equal(parts, 0), "", digits)


def _seconds(wall: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(_TEXTS["S"](wall), ".", _TEXTS["f"](wall), "")


def _half_of_day(names: tuple[str, str]) -> Callable[[pa.Array], pa.Array]:
    return lambda wall: if_else(pc.less(pc.hour(wall), 12), *names)


_TEXTS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "Y": _number(pc.year, 4),
    "y": _number(lambda wall: _remainder(pc.year(wall), 100), 2),
    "C": _number(lambda wall: pc.divide(pc.year(wall), 100), 2),
    "G": _number(pc.iso_year, 4),
    "g": _number(lambda wall: _remainder(pc.iso_year(wall), 100), 2),
    "m": _number(pc.month, 2),
    "d": _number(pc.day, 2),
    "e": _number(pc.day, 2, " "),
    "j": _number(pc.day_of_year, 3),
    "H": _number(pc.hour, 2),
    "k": _number(pc.hour, 2, " "),
    "I": _number(_clock_hour, 2),
    "l": _number(_clock_hour, 2, " "),
    "M": _number(pc.minute, 2),
    "S": _number(pc.second, 2),
    "s": _seconds,
    "f": _number(_microseconds, 6),
    "F": _fraction,
    "p": _half_of_day(("AM", "PM")),
    "P": _half_of_day(("am", "pm")),
    "u": _number(lambda wall: pc.day_of_week(wall, count_from_zero=False), 1),
    "w": _number(lambda wall: pc.day_of_week(wall, week_start=7), 1),
    "U": _number(_week_from(7), 2),
    "W": _number(_week_from(1), 2),
    "V": _number(pc.iso_week, 2),
    "b": _names(MONTHS, 3, lambda wall: pc.subtract(pc.month(wall), 1)),
    "h": _names(MONTHS, 3, lambda wall: pc.subtract(pc.month(wall), 1)),
    "B": _names(MONTHS, None, lambda wall: pc.subtract(pc.month(wall), 1)),
    "a": _names(WEEKDAYS, 3, pc.day_of_week),
    "A": _names(WEEKDAYS, None, pc.day_of_week),
}
_CHARACTERS = {"%%": "%", "%n": "\n", "%t": "\t"}


def _offset_texts(name: str, offsets: pa.Array) -> pa.Array:
    """Format UTC offsets for a directive: ``+0530``, ``+05:30``, ``GMT`` (or ``UTC`` if there is no offset) or ``GMT+05:30``.

    The last form leaves out ``:00``, and is empty if there is no offset.
    """
    filled = offsets.fill_null(0).cast(pa.int64())
    sign, size = if_else(pc.less(filled, 0), "-", "+"), pc.abs(filled)
    hours, minutes = (pc.utf8_lpad(part.cast(pa.string()), 2, "0") for part in (pc.divide(size, 60), _remainder(size, 60)))
    if name in ("%z", "%q"):
        return pc.binary_join_element_wise(sign, hours, minutes, "")
    if name == "%Q":
        return pc.binary_join_element_wise(sign, hours, ":", minutes, "")
    if name == "%Z":
        return if_else(offsets.is_valid(), "GMT", "UTC")
    rest = if_else(pc.equal(minutes, "00"), "", pc.binary_join_element_wise(":", minutes, ""))
    return if_else(offsets.is_valid(), pc.binary_join_element_wise("GMT", sign, hours, rest, ""), "")


def format_datetimes(wall: pa.Array, offsets: pa.Array, form: str) -> pa.Array:
    """Format local times with a format; ``offsets`` are their minutes east of UTC, null for a time without an offset.

    Examples
    --------
    >>> wall = pa.array([0, None], pa.timestamp("us"))
    >>> format_datetimes(wall, pa.array([90, None], pa.int32()), "%d %b %Y %ZP").to_pylist()
    ['01 Jan 1970 GMT+01:30', None]
    """
    parts = [_text(directive, wall, offsets) for directive in directives(form)]
    joined = pc.binary_join_element_wise(*parts, "") if parts else pa.scalar("", pa.string())
    return if_else(wall.is_valid(), joined, pa.scalar(None, pa.string()))


def _text(directive: str, wall: pa.Array, offsets: pa.Array) -> Any:
    name = directive[1:]
    if directive[0] == "%" and name in _TEXTS:
        return _TEXTS[name](wall)
    if directive in ("%q", "%Q", "%z", "%Z", "%ZP"):
        return _offset_texts(directive, offsets)
    return pa.scalar(_CHARACTERS.get(directive, directive), pa.string())
