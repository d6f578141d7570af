"""Time zones as sorted arrays of their changes: offsets from UTC at instants, and instants of local times, for whole arrays at once.

pyarrow's own zone functions keep the last recorded offset after 2037, and Spark takes Java's rules, so neither is used: one table, read from the time
zone database of Python's ``zoneinfo``, gives the same values everywhere.
"""

from __future__ import annotations

import datetime
import functools
import os
import re
import struct
import zoneinfo
from collections.abc import Callable
from importlib import resources
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, SchemaError, near_names
from sframe_spark.message_text import brief
from sframe_spark.values.datetimes import DAY, EPOCH, MICROSECOND, MINUTE, SECOND

LAST_YEAR = 10_000
"""The rule of a zone is written out up to this year, one after the last that Python shows."""
END = (datetime.datetime(LAST_YEAR - 1, 1, 1) - EPOCH) // MICROSECOND
"""Later instants are looked up some whole periods earlier."""
PERIOD = 146_097 * DAY
"""The calendar and the rules of zones repeat after 400 years, which are whole weeks."""
REMEMBERED_ZONES = 128
FEW_ENDS = 16
"""Values among which ends are searched are at least so many times as many."""


@attrs.frozen(eq=False)
class LocalTimes:
    """What local times mean in a zone.

    Parameters
    ----------
    earlier, later
        The first and the last instant, in microseconds, at which the clock shows each local time. Where the clock skips it: the end of the gap.
    skipped
        Mask of the local times that the clock never shows.
    """

    earlier: np.ndarray
    later: np.ndarray
    skipped: np.ndarray

    @property
    def repeated(self) -> np.ndarray:
        """Mask of the local times that the clock shows more than once."""
        return self.earlier != self.later


@attrs.frozen(eq=False)
class TimeZone:
    """A time zone.

    Parameters
    ----------
    name
        Its name in the time zone database.
    starts
        Ascending instants, in microseconds since 1970, from which the offsets after the first one hold.
    offsets
        Offsets from UTC in microseconds; the first one holds before all ``starts``, so there is one more.
    """

    name: str
    starts: np.ndarray
    offsets: np.ndarray

    def offsets_at(self, instants: np.ndarray) -> np.ndarray:
        """Return the offset from UTC at each instant, in microseconds.

        Examples
        --------
        >>> (zone_named("Asia/Kolkata").offsets_at(np.array([0])) // SECOND).tolist()
        [19800]
        """
        return self._searched(instants, lambda offsets: offsets)

    def minutes_at(self, instants: np.ndarray) -> np.ndarray:
        """Return the offset from UTC at each instant in whole minutes, rounded down.

        Examples
        --------
        >>> zone_named("Asia/Kolkata").minutes_at(np.array([0])).tolist()
        [330]
        """
        return self._searched(instants, lambda offsets: (offsets // MINUTE).astype(np.int32))

    def _searched(self, instants: np.ndarray, convert: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the converted offset at each instant."""
        if not len(instants):
            return convert(self.offsets[:0])
        lowest, highest = instants.min(), instants.max()
        if highest >= END:
            instants = instants - periods_after_end(instants)
            lowest, highest = instants.min(), instants.max()
        first, last = np.searchsorted(self.starts, [lowest, highest], side="right")
        offsets = convert(self.offsets[first : last + 1])
        if first == last:
            return np.broadcast_to(offsets[0], instants.shape)
        # A batch seldom spans more than a few changes, and searching these alone is several times as fast.
        return offsets[places_among(self.starts[first:last], instants)]

    def instants_of(self, local: np.ndarray) -> LocalTimes:
        """Return the instants of local times, in microseconds since 1970 by the clock on the wall.

        Examples
        --------
        >>> local = np.array(["2024-11-03T01:30", "2024-03-10T02:30"], "datetime64[us]").astype(np.int64)
        >>> times = zone_named("America/New_York").instants_of(local)
        >>> times.repeated.tolist(), times.skipped.tolist(), ((times.later - times.earlier) // SECOND).tolist()
        ([True, False], [False, True], [3600, 0])
        """
        moved = periods_after_end(local)
        local = local - moved
        if not len(self.starts):
            same = local - self.offsets[0] + moved
            return LocalTimes(same, same, np.zeros(len(local), dtype=bool))
        ends, begins = self.starts + self.offsets[:-1], self.starts + self.offsets[1:]
        # The clock reaches a local time first in the first segment that ends after it, and shows it last in the last segment that begins by then.
        first = np.searchsorted(np.maximum.accumulate(ends), local, side="right")
        last = np.searchsorted(np.minimum.accumulate(begins[::-1])[::-1], local, side="right")
        earlier, later = local - self.offsets[first], local - self.offsets[last]
        change = self.starts[np.maximum(first, 1) - 1]
        skipped = (first > 0) & (earlier < change)
        return LocalTimes(np.where(skipped, change, earlier) + moved, np.where(skipped, change, later) + moved, skipped)


def places_among(ends: np.ndarray, values: np.ndarray, first: int = 0) -> np.ndarray:
    """Return how many of some ascending ends are not above each value, plus ``first``.

    Examples
    --------
    >>> places_among(np.array([3, 5]), np.array([2, 3, 9])).tolist(), places_among(np.array([3, 5]), np.array([9, 2])).tolist()
    ([0, 1, 2], [2, 0])
    """
    if len(ends) * FEW_ENDS <= len(values) and (values[1:] >= values[:-1]).all():
        # Where values ascend, the few ends are searched among them, not each value among the ends.
        return np.repeat(np.arange(first, first + len(ends) + 1), np.diff(np.searchsorted(values, ends), prepend=0, append=len(values)))
    return np.searchsorted(ends, values, side="right") + first


def whole_minutes(zone: TimeZone, instants: pa.Array) -> pa.Array:
    """Return the offset of a zone at each instant in whole minutes, rounded down, as columns keep offsets; missing instants have none.

    Examples
    --------
    >>> whole_minutes(zone_named("America/New_York"), pa.array([0, None, -(2**53)])).to_pylist()  # -4:56:02 in the year 1684
    [-300, None, -297]
    """
    mask = instants.is_null().to_numpy(zero_copy_only=False) if instants.null_count else None
    known = (instants.fill_null(0) if instants.null_count else instants).to_numpy(zero_copy_only=False)
    # pyarrow reads an array that repeats one value in memory value by value.
    return pa.array(np.ascontiguousarray(zone.minutes_at(known)), mask=mask)


def periods_after_end(times: np.ndarray) -> np.ndarray:
    """Return the whole periods, in microseconds, by which times lie beyond the table of a zone; zero for times within it."""
    return np.maximum(-((END - times) // PERIOD), 0) * PERIOD if len(times) and times.max() >= END else np.zeros(1, np.int64)


def zone_name(zone: Any, what: str = "zone") -> str:
    """Return the name of a zone that a user gives: by its name, or as a ``ZoneInfo``, a zone of pytz or ``datetime.UTC``.

    Raises
    ------
    SchemaError
        If it is neither.
    InvalidArgumentError
        If the time zone database has no such zone.

    Examples
    --------
    >>> zone_name(zoneinfo.ZoneInfo("Europe/Rome")), zone_name(datetime.UTC)
    ('Europe/Rome', 'UTC')
    """
    name = "UTC" if zone is datetime.UTC else getattr(zone, "key", None) or getattr(zone, "zone", None) or zone
    if not isinstance(name, str):
        raise SchemaError(f"{what} is the name of a time zone, such as 'America/New_York', got {brief(zone)} of type {type(zone).__name__}")
    return zone_named(name, what).name


@functools.lru_cache(maxsize=REMEMBERED_ZONES)
def zone_named(name: str, what: str = "zone") -> TimeZone:
    """Return the time zone with a name.

    Raises
    ------
    InvalidArgumentError
        If the time zone database has no such zone.
    """
    data = _file_of_zone(name)
    if data is None:
        known = zoneinfo.available_timezones()
        if not known:
            raise InvalidArgumentError(f"{what}: {brief(name)} is not found, as there is no time zone database: install the package tzdata")
        near = near_names(name, sorted(known))
        meant = f": did you mean {near[0]!r}?" if near else "; names are such as 'America/New_York', and fixed offsets such as 'Etc/GMT-2'"
        raise InvalidArgumentError(f"{what}: no time zone is named {brief(name)}{meant}")
    try:
        return _zone_of_file(name, data)
    except (struct.error, IndexError, ValueError):
        raise InvalidArgumentError(f"{what}: the file of the time zone {brief(name)} is damaged: update the package tzdata") from None


# Files of time zones, in the format TZif of RFC 9636.

_KEY = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")
_MAGIC = b"TZif"
_HEADER = struct.Struct(">4sc15x6l")


def _file_of_zone(name: str) -> bytes | None:
    """Return the content of a zone's file, from the directories of ``zoneinfo`` or the package ``tzdata``; None if there is none."""
    if not _KEY.fullmatch(name):
        return None
    for directory in zoneinfo.TZPATH:
        path = os.path.join(directory, *name.split("/"))
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            if data.startswith(_MAGIC):
                return data
    try:
        package = resources.files("tzdata.zoneinfo")
        data = package.joinpath(*name.split("/")).read_bytes()
    except (ImportError, OSError):
        return None
    return data if data.startswith(_MAGIC) else None


def _zone_of_file(name: str, data: bytes) -> TimeZone:
    starts, offsets, end = _block(data, 0, 4)
    rule = ""
    if data[4:5] >= b"2":
        starts, offsets, end = _block(data, end, 8)
        rule = data[end:].strip(b"\n").decode("ascii")
    if rule:
        # The rule holds from the last change that is written out.
        more, after = _changes_of_rule(rule, int(starts[-1]) if len(starts) else None)
        starts, offsets = np.concatenate([starts, more]), np.concatenate([offsets, after])
    changes = np.flatnonzero(np.diff(offsets))
    return TimeZone(name, starts[changes] * SECOND, offsets[np.concatenate([[0], changes + 1])] * SECOND)


def _block(data: bytes, begin: int, width: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the changes in one block of a file and the offsets before and after them, in seconds, and where the block ends."""
    _, _, indicators, standards, leaps, changes, kinds, letters = _HEADER.unpack_from(data, begin)
    position = begin + _HEADER.size
    starts = np.frombuffer(data, f">i{width}", changes, position).astype(np.int64)
    position += changes * width
    kind = np.frombuffer(data, np.uint8, changes, position)
    position += changes
    offset_of_kind = np.array([struct.unpack_from(">l", data, position + 6 * index)[0] for index in range(kinds)], np.int64)
    position += 6 * kinds + letters + leaps * (width + 4) + standards + indicators
    # Times before the first change are of the first kind.
    return starts, offset_of_kind[np.concatenate([[0], kind])], position


_RULE = re.compile(
    r"(?:<[^>]+>|[A-Za-z]{3,})(?P<standard>[+-]?[\d:]+)(?:(?:<[^>]+>|[A-Za-z]{3,})(?P<summer>[+-]?[\d:]+)?,(?P<on>[^,]+),(?P<off>[^,]+))?"
)
_DATE = re.compile(r"(?:M(?P<month>\d+)\.(?P<week>\d)\.(?P<weekday>\d)|(?P<julian>J)?(?P<day>\d+))(?:/(?P<time>[+-]?[\d:]+))?")


def _seconds(text: str) -> int:
    """Return the seconds of a signed time of day, such as ``-1:30``."""
    hours, minutes, seconds = [*map(int, text.lstrip("+-").split(":")), 0, 0][:3]
    return (hours * 3_600 + minutes * 60 + seconds) * (-1 if text[0] == "-" else 1)


def _changes_of_rule(rule: str, after: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the changes of a POSIX rule after an instant up to the last year, and the offsets from each on, in seconds."""
    parts = _RULE.fullmatch(rule)
    if parts is None:
        raise ValueError(rule)
    standard = -_seconds(parts["standard"])
    if parts["on"] is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    summer = -_seconds(parts["summer"]) if parts["summer"] else standard + 3_600
    first = 1 if after is None else (EPOCH + datetime.timedelta(seconds=after)).year
    years = np.arange(first, LAST_YEAR + 1)
    # Where summer time ends and begins at one instant, it goes on: ends come first.
    instants = np.concatenate([_local_seconds(parts["off"], years) - summer, _local_seconds(parts["on"], years) - standard])
    offsets = np.repeat([standard, summer], len(years))
    order = np.argsort(instants, kind="stable")
    instants, offsets = instants[order], offsets[order]
    kept = np.append(instants[1:] > instants[:-1], True)
    if after is not None:
        kept &= instants > after
    return instants[kept], offsets[kept]


def _local_seconds(date: str, years: np.ndarray) -> np.ndarray:
    """Return the seconds from 1970, by the clock, to a date of a POSIX rule in each year."""
    parts = _DATE.fullmatch(date)
    if parts is None:
        raise ValueError(date)
    first_of_year = (years - 1970).astype("datetime64[Y]")
    if parts["month"]:
        month = first_of_year.astype("datetime64[M]") + (int(parts["month"]) - 1)
        begin, end = (value.astype("datetime64[D]").astype(np.int64) for value in (month, month + 1))
        # Day 0, the first of January 1970, was a Thursday, which is 4 as Sunday is 0.
        days = begin + (int(parts["weekday"]) - begin - 4) % 7 + 7 * (int(parts["week"]) - 1)
        # Week 5 is the last one that has the day.
        days = np.where(days >= end, days - 7, days)
    else:
        begin = first_of_year.astype("datetime64[D]").astype(np.int64)
        number = int(parts["day"])
        if parts["julian"]:
            # Days from 1 that never count 29 February.
            length = (first_of_year + 1).astype("datetime64[D]").astype(np.int64) - begin
            days = begin + number - 1 + ((number >= 60) & (length == 366))
        else:
            days = begin + number
    return days * 86_400 + (_seconds(parts["time"]) if parts["time"] else 7_200)
