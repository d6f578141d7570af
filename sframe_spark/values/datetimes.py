"""Date-times as microseconds since 1970 and minutes east of UTC, and back.

Arithmetic goes through integers, never through floats or the platform's time functions, so every year from 1 to 9999
works and no time zone of the machine has a say.
"""

from __future__ import annotations

import datetime
import zoneinfo
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DateTimeRangeError

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
# Of the units of numpy that are no longer than a microsecond.
_PER_MICROSECOND = {"us": 1, "ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12, "generic": 1}

EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = EPOCH.replace(tzinfo=datetime.UTC)
# Monrovia was the last place with seconds in its offset, until January 1972.
_FIRST_YEAR_OF_WHOLE_MINUTES = 1973
MICROSECOND = datetime.timedelta(microseconds=1)
FIRST_MICROSECOND = (datetime.datetime.min - EPOCH) // MICROSECOND
LAST_MICROSECOND = (datetime.datetime.max - EPOCH) // MICROSECOND


def to_datetime(value: Any) -> datetime.datetime | None:
    """Make a plain datetime of any value that names a point in time (None for the numpy and pandas "not a time").

    A ``numpy.datetime64`` counts as UTC, a date as its midnight.

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
    moment = numpy_microseconds(value).item()
    if isinstance(moment, int):  # numpy's form of what Python has no datetime for
        raise DateTimeRangeError(f"the date-time {value} lies outside the years 1 to 9999, which is all that Python shows")
    return None if moment is None else moment.replace(tzinfo=datetime.UTC)


def numpy_microseconds(values: Any) -> Any:
    """Give a numpy ``datetime64`` or ``timedelta64``, or an array of such, in microseconds; numpy itself lets 64 bits wrap around.

    Raises
    ------
    DateTimeRangeError
        If 64 bits do not hold the microseconds of one.

    Examples
    --------
    >>> numpy_microseconds(np.datetime64("2024-01-01"))
    np.datetime64('2024-01-01T00:00:00.000000')
    """
    kind = "datetime64" if values.dtype.kind == "M" else "timedelta64"
    found = values.astype(f"{kind}[us]")
    unit, step = np.datetime_data(values.dtype)
    if unit in _PER_MICROSECOND:
        if step == 1:
            return found
        # What lies between two microseconds is cut off, so there is no way back; what wraps around is far from what it should be.
        wanted = values.astype(np.int64) * (step / _PER_MICROSECOND[unit])
        wrong = np.abs(found.astype(np.int64) - wanted) > 1 + 1e-9 * np.abs(wanted)
    else:
        wrong = found.astype(values.dtype) != values
    wrong &= ~np.isnat(values)
    if np.any(wrong):
        first = values.ravel()[np.argmax(wrong)]
        raise DateTimeRangeError(f"{first!r} is no time of a column: its microseconds need more than 64 bits")
    return found


def floored(ticks: pa.Array, step: int) -> pa.Array:
    """Ints divided by a step and rounded down; Arrow's own casts and divisions round towards zero, which is up before 1970.

    Examples
    --------
    >>> floored(pa.array([-1, None, 1999]), 1000).to_pylist()
    [-1, None, 1]
    """
    quotients = np.floor_divide(ticks.fill_null(0).to_numpy(zero_copy_only=False), step)
    return pa.array(quotients, ticks.type, mask=ticks.is_null().to_numpy(zero_copy_only=False) if ticks.null_count else None)


def arrow_microseconds(values: pa.Array) -> pa.Array:
    """The timestamps of an Arrow array in microseconds and in their zone, nanoseconds rounded down; all casts of other units are exact or refused.

    Raises
    ------
    pyarrow.ArrowInvalid
        If 64 bits do not hold the microseconds of one.

    Examples
    --------
    >>> arrow_microseconds(pa.array([-1, 1], pa.timestamp("ns"))).cast(pa.int64()).to_pylist()
    [-1, 0]
    """
    wanted = pa.timestamp("us", values.type.tz)
    return floored(values.cast(pa.int64()), 1_000).cast(wanted) if values.type.unit == "ns" else values.cast(wanted)


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


def _offset_of_zone(value: datetime.datetime, instant: int, known: datetime.timedelta) -> datetime.timedelta:
    """The offset of a zone of pytz at an instant: pytz, and pandas with it, rounds seconds to minutes, where Arrow and ``zoneinfo`` keep them.

    Whoever gives such a zone to ``datetime(..., tzinfo=...)`` gets the first offset that it ever had; the clock shows what such a value says.
    """
    zone: Any = value.tzinfo
    if zone.zone is None:
        return known
    try:
        if zone.normalize(value).utcoffset() != known:
            return known
        found = (_UTC_EPOCH + instant * MICROSECOND).astimezone(zoneinfo.ZoneInfo(zone.zone)).utcoffset()
    except (OSError, ValueError, OverflowError, zoneinfo.ZoneInfoNotFoundError):
        return known
    return known if found is None else found


def is_shown(microseconds: int, offset: int | None = None) -> bool:
    """Whether the wall clock of a date-time lies in the years 1 to 9999.

    Examples
    --------
    >>> is_shown(LAST_MICROSECOND), is_shown(LAST_MICROSECOND, 60), is_shown(LAST_MICROSECOND + 1, -60)
    (True, False, True)
    """
    return FIRST_MICROSECOND <= microseconds + (offset or 0) * MINUTE <= LAST_MICROSECOND


def moment_text(microseconds: int) -> str:
    """Write any number of microseconds since 1970 as a date and a time, whatever the year.

    Examples
    --------
    >>> moment_text(LAST_MICROSECOND + 1), moment_text(FIRST_MICROSECOND - 1)
    ('10000-01-01T00:00:00.000000', '0000-12-31T23:59:59.999999')
    """
    # Numpy keeps one number for "not a time", the least.
    return str(np.datetime64(max(microseconds, 1 - 2**63), "us"))


@cache
def fixed_zone(minutes: int) -> datetime.timezone:
    """Time zone that many minutes east of UTC (one object each: frames hold few distinct offsets)."""
    return datetime.timezone(datetime.timedelta(minutes=minutes))


def from_microseconds(microseconds: int, offset: int | None = None) -> datetime.datetime:
    """Rebuild the datetime that :func:`to_microseconds` took apart.

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
    """Write the wall clock time as compact ISO text, without an offset, with microseconds only if there are any.

    Examples
    --------
    >>> datetime_text(datetime.datetime(2012, 1, 1, 1, 2, 3, 500))
    '20120101T010203.000500'
    """
    text = f"{value.year:04d}{value.month:02d}{value.day:02d}T{value.hour:02d}{value.minute:02d}{value.second:02d}"
    return f"{text}.{value.microsecond:06d}" if value.microsecond else text


def all_in_years_of_python(wall: pa.Array) -> bool:
    """True where Python has a date-time for each value: of the years 1 to 9999.

    Examples
    --------
    >>> all_in_years_of_python(pa.array([0, None], pa.timestamp("us"))), all_in_years_of_python(pa.array([2**62], pa.timestamp("us")))
    (True, False)
    """
    limits = pc.min_max(wall.cast(pa.int64())).as_py()
    return limits["min"] is None or FIRST_MICROSECOND <= limits["min"] <= limits["max"] <= LAST_MICROSECOND
