"""Converts Arrow columns between the hybrid Julian-Gregorian calendar of old writers and the proleptic Gregorian one."""

from __future__ import annotations

import functools
import json
import re
from importlib.resources import files
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError

# Zone differences: old Java and Spark disagree about offsets before 1900.

REMEMBERED_ZONES = 64
_FIXED = re.compile(r"GMT([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


@attrs.frozen
class HybridZone:
    """A time zone as a program with the hybrid calendar has it.

    Parameters
    ----------
    offset
        Offset from UTC in seconds that the program assumes before 1900.
    differences
        Seconds to add to instants, each from a start on (seconds since 1970; None for the first). Empty where nothing is added.
    """

    offset: int
    differences: tuple[tuple[int | None, int], ...] = ()


UTC = HybridZone(0)


@functools.lru_cache(maxsize=REMEMBERED_ZONES)
def zone_of(name: str) -> HybridZone:
    """Return the zone for a Java zone name; like Java, UTC for unknown names.

    Examples
    --------
    >>> zone_of("America/Los_Angeles")
    HybridZone(offset=-28800, differences=((None, -422), (-2717640000, 0)))
    >>> zone_of("GMT+05:30").offset, zone_of("Atlantis") == UTC
    (19800, True)
    """
    fixed = _FIXED.fullmatch(name)
    if fixed:
        minutes = int(fixed[2]) * 60 + int(fixed[3] or 0)
        # Java has no offsets of a day and more.
        return UTC if int(fixed[2]) > 23 or int(fixed[3] or 0) > 59 else HybridZone(minutes * (-60 if fixed[1] == "-" else 60))
    known = _table().get(name)
    if known is None:
        return UTC
    offset, first, *later = known
    differences = ((None, first), *zip(later[::2], later[1::2], strict=True))
    return HybridZone(offset, differences if any(difference for _, difference in differences) else ())


@functools.cache
def _table() -> dict[str, list[int]]:
    """Spark's table: for each zone its offset, the first difference, and pairs of instant and difference."""
    found: dict[str, list[int]] = json.loads(files(__package__).joinpath("hybrid_calendar_zones.json").read_text("utf-8"))
    return found


# Days and instants: Julian up to 4 October 1582, Gregorian from 15 October on.

# 15 October 1582 in days since 1970; from here on both calendars agree.
FIRST_GREGORIAN_DAY = -141_427
# Since 1900-01-01 (in seconds since 1970) both agree on the offset of every zone.
LAST_ZONE_CHANGE = -2_208_988_800
SECONDS_PER_DAY = 86_400
# 1 March of year 0 in the Julian calendar, in days before 1970; years start in March, so the leap day is last.
_DAYS_FROM_YEAR_0 = 719_470
_DAYS_OF_4_YEARS = 1_461


def days_to_gregorian(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert days since 1970 so that they keep their date when read in the proleptic Gregorian calendar.

    Examples
    --------
    >>> days_to_gregorian(np.array([-171_655, FIRST_GREGORIAN_DAY - 1, FIRST_GREGORIAN_DAY, 0])).astype("datetime64[D]").astype(str).tolist()
    ['1500-01-01', '1582-10-04', '1582-10-15', '1970-01-01']
    """
    return days + _difference(days)


def days_to_hybrid(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Undo :func:`days_to_gregorian`; the days that the hybrid calendar lacks, 5 to 14 October 1582, become the 15th.

    Examples
    --------
    >>> gregorian = np.array(["1500-01-01", "1582-10-04", "1582-10-10", "1582-10-15"], "datetime64[D]").astype(np.int64)
    >>> days_to_hybrid(gregorian).tolist()
    [-171655, -141428, -141427, -141427]
    """
    # The difference changes only on 1 March, at most ten days later: one correction suffices.
    found = days - _difference_of_year(_gregorian_year(days))
    return np.where(days >= FIRST_GREGORIAN_DAY, days, np.minimum(found, FIRST_GREGORIAN_DAY))


def ticks_to_gregorian(ticks: np.ndarray[Any, Any], per_second: int, zone: HybridZone = UTC) -> np.ndarray[Any, Any]:
    """Convert instants so that they keep their local date and time, as an old Java program in a zone had them.

    Before 1900 offsets differ too: old Java used today's offset for all earlier years instead of local mean time.

    Parameters
    ----------
    ticks
        The instants.
    per_second
        How many ticks a second has.
    zone
        The zone in which the names are taken.

    Examples
    --------
    >>> year_1500 = np.array([-171_655 * SECONDS_PER_DAY])
    >>> ticks_to_gregorian(year_1500, 1).astype("datetime64[s]").astype(str).tolist()
    ['1500-01-01T00:00:00']
    """
    local_days = np.floor_divide(ticks + zone.offset * per_second, SECONDS_PER_DAY * per_second)
    seconds = _difference(local_days) * SECONDS_PER_DAY
    if zone.differences:
        # Each difference holds from its start on, the first one always.
        starts = np.array([start for start, _ in zone.differences[1:]], np.int64) * per_second
        seconds = seconds + np.array([difference for _, difference in zone.differences], np.int64)[np.searchsorted(starts, ticks, side="right")]
    return ticks + seconds * per_second


def _difference(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The days to add to hybrid days."""
    year = np.floor_divide(4 * (days.astype(np.int64) + _DAYS_FROM_YEAR_0) + 3, _DAYS_OF_4_YEARS)
    return np.where(days >= FIRST_GREGORIAN_DAY, 0, _difference_of_year(year))


def _difference_of_year(year: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The days by which the Julian calendar is behind in a year that starts in March."""
    return 2 - np.floor_divide(year, 100) + np.floor_divide(year, 400)


def _gregorian_year(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The proleptic Gregorian year (starting in March) of days."""
    shifted = days.astype(np.int64) + 719_468
    era = np.floor_divide(shifted, 146_097)
    day = shifted - era * 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    return year + 400 * era


_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# The calendars differ by fewer days within the range of 64-bit microseconds.
_MAX_DAYS = 3_000
# 4 October 1582 was followed by the 15th.
_LACKING_DAYS = 10


@attrs.frozen
class HybridColumns:
    """Which columns of a file are in the hybrid calendar.

    Parameters
    ----------
    dates
        Whether dates are.
    instants
        Whether time stamps in UTC are.
    unzoned
        Whether zoneless nanosecond timestamps are, which are INT96 in Parquet.
    zone
        The zone in which the writer took days of instants.
    """

    dates: bool
    instants: bool
    unzoned: bool
    zone: HybridZone = UTC

    def concern(self, data_type: pa.DataType) -> bool:
        """Return whether values of a stored type may need conversion.

        Examples
        --------
        >>> HybridColumns(True, False, False).concern(pa.list_(pa.date32())), HybridColumns(True, False, False).concern(pa.timestamp("us", "UTC"))
        (True, False)
        """
        if pa.types.is_date(data_type):
            return self.dates
        if pa.types.is_timestamp(data_type):
            return self.instants if data_type.tz is not None else self.unzoned and data_type.unit == "ns"
        return any(self.concern(data_type.field(place).type) for place in range(data_type.num_fields))

    def to_gregorian(self, values: pa.Array, stored: pa.DataType) -> pa.Array:
        """Convert values to the proleptic Gregorian calendar; the same array is returned where nothing changes.

        Parameters
        ----------
        values
            The values.
        stored
            Their type in the file's schema; units and zones may differ in ``values``.

        Raises
        ------
        DateTimeRangeError
            If a time stamp has no such counterpart in 64 bits.

        Examples
        --------
        >>> days = pa.array([[-171_655, None], None], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
        >>> HybridColumns(True, False, False).to_gregorian(days, days.type).to_pylist()
        [[datetime.date(1500, 1, 1), None], None]
        """
        if not self.concern(stored):
            return values
        types = pa.types
        if types.is_date(stored):
            return _dates_to_gregorian(values)
        if types.is_timestamp(stored):
            return self._instants_to_gregorian(values)
        if types.is_struct(stored):
            return self._struct_to_gregorian(values, stored)
        return self._list_to_gregorian(values, stored)

    def _instants_to_gregorian(self, values: pa.Array) -> pa.Array:
        per_second = _PER_SECOND[values.type.unit]
        ticks = values.cast(pa.int64())
        lowest = pc.min(ticks).as_py()
        if lowest is None or lowest >= LAST_ZONE_CHANGE * per_second:
            return values
        if abs(lowest) > 2**63 - _MAX_DAYS * SECONDS_PER_DAY * per_second:
            raise DateTimeRangeError(f"a time stamp of {lowest} {values.type.unit} since 1970 is none of the calendar that columns use")
        return _with_values(values, ticks_to_gregorian(_numbers(ticks), per_second, self.zone))

    def _struct_to_gregorian(self, values: pa.StructArray, stored: pa.DataType) -> pa.Array:
        before = [values.field(place) for place in range(values.type.num_fields)]
        after = [self.to_gregorian(part, stored.field(place).type) for place, part in enumerate(before)]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return values
        return pa.StructArray.from_arrays(after, fields=list(values.type), mask=values.is_null() if values.null_count else None)

    def _list_to_gregorian(self, values: pa.Array, stored: pa.DataType) -> pa.Array:
        """Convert lists and maps by their flat element arrays."""
        if pa.types.is_map(stored):
            entries: pa.Array = self._entries(values)
            element = pa.struct([stored.key_field, stored.item_field])
        else:
            entries, element = values.values, stored.value_type
        found = self.to_gregorian(entries, element)
        if found is entries:
            return values
        buffers = values.buffers()[: _buffers_of_lists(stored)]
        return pa.Array.from_buffers(values.type, len(values), buffers, offset=values.offset, children=[found])

    @staticmethod
    def _entries(values: pa.MapArray) -> pa.StructArray:
        return pa.StructArray.from_arrays([values.keys, values.items], fields=[values.type.key_field, values.type.item_field])


def _buffers_of_lists(data_type: pa.DataType) -> int:
    """The number of own buffers of a list array: validity, offsets, sizes."""
    types = pa.types
    if types.is_fixed_size_list(data_type):
        return 1
    return 3 if types.is_list_view(data_type) or types.is_large_list_view(data_type) else 2


def instants_to_hybrid(values: pa.Array) -> pa.Array:
    """Convert UTC timestamps to the hybrid calendar, keeping their dates; the same array where nothing changes.

    Raises
    ------
    InvalidArgumentError
        If one is of a day that the hybrid calendar lacks: 5 to 14 October 1582.
    """
    ticks = values.cast(pa.int64())
    per_day = SECONDS_PER_DAY * _PER_SECOND[values.type.unit]
    lowest = pc.min(ticks).as_py()
    if lowest is None or lowest >= FIRST_GREGORIAN_DAY * per_day:
        return values
    numbers = _numbers(ticks)
    days = np.floor_divide(numbers, per_day)
    if ((days >= FIRST_GREGORIAN_DAY - _LACKING_DAYS) & (days < FIRST_GREGORIAN_DAY)).any():
        raise InvalidArgumentError(
            "some date-times are of 5 to 14 October 1582, days that the calendar of ORC files lacks: write Parquet, or leave such rows out"
        )
    return _with_values(values, numbers + (days_to_hybrid(days) - days) * per_day)


def _dates_to_gregorian(values: pa.Array) -> pa.Array:
    lowest = pc.min(values.cast(pa.int32()) if pa.types.is_date32(values.type) else values.cast(pa.date32()).cast(pa.int32())).as_py()
    if lowest is None or lowest >= FIRST_GREGORIAN_DAY:
        return values
    days = values.cast(pa.date32())
    return _with_values(days, days_to_gregorian(_numbers(days.cast(pa.int32())))).cast(values.type)


def _numbers(values: pa.Array) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = (values.fill_null(0) if values.null_count else values).to_numpy().astype(np.int64, copy=False)
    return found


def _with_values(values: pa.Array, numbers: np.ndarray[Any, Any]) -> pa.Array:
    """An array of the same type and validity with other values."""
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    width = pa.int32() if values.type.bit_width == 32 else pa.int64()
    return pa.array(numbers, pa.int64(), mask=mask).cast(width).cast(values.type)
