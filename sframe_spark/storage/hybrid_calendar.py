"""Converts datetimes between the hybrid calendar of old writers, which is Julian before 15 October 1582, and the proleptic Gregorian one.

The metadata of Parquet files shows which of their columns are in the hybrid calendar.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError

# Time zones: old Java programs and Spark have different offsets from UTC before 1900.

REMEMBERED_ZONES = 64
_FIXED = re.compile(r"GMT([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


@attrs.frozen
class HybridZone:
    """The rules of a time zone in programs that use the hybrid calendar.

    Parameters
    ----------
    offset
        The offset from UTC, in seconds, that these programs assume before 1900.
    differences
        Pairs of an instant (in seconds since 1970; None in the first pair) and the seconds to add to instants from there on. Empty if nothing is
        added.
    """

    offset: int
    differences: tuple[tuple[int | None, int], ...] = ()


UTC = HybridZone(0)


@functools.lru_cache(maxsize=REMEMBERED_ZONES)
def zone_of(name: str) -> HybridZone:
    """Return the time zone with a Java name; UTC, as in Java, if the name is unknown.

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
    """Return Spark's table: for each zone its offset, the first difference, and then instants, each followed by the difference from there on."""
    table: dict[str, list[int]] = json.loads(files(__package__).joinpath("hybrid_calendar_zones.json").read_text("utf-8"))
    return table


# Days and instants. The hybrid calendar is Julian up to 4 October 1582, and Gregorian from the next day on, 15 October.

# 15 October 1582 in days since 1970. From this day on both calendars agree.
FIRST_GREGORIAN_DAY = -141_427
# 1900-01-01 in seconds since 1970. From then on, old Java programs and Spark have the same offsets in every zone.
LAST_ZONE_CHANGE = -2_208_988_800
SECONDS_PER_DAY = 86_400
# 1 March of year 0 in the Julian calendar, in days before 1970. Years are counted from March, so that a leap day is the last day of its year.
_DAYS_FROM_YEAR_0 = 719_470
_DAYS_OF_4_YEARS = 1_461


def days_to_gregorian(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert days since 1970 from the hybrid to the proleptic Gregorian calendar: a day gets the number that has the same date there.

    Examples
    --------
    >>> days_to_gregorian(np.array([-171_655, FIRST_GREGORIAN_DAY - 1, FIRST_GREGORIAN_DAY, 0])).astype("datetime64[D]").astype(str).tolist()
    ['1500-01-01', '1582-10-04', '1582-10-15', '1970-01-01']
    """
    year = np.floor_divide(4 * (days.astype(np.int64) + _DAYS_FROM_YEAR_0) + 3, _DAYS_OF_4_YEARS)
    return days + np.where(days >= FIRST_GREGORIAN_DAY, 0, _difference_of_year(year))


def days_to_hybrid(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert days since 1970 from the proleptic Gregorian to the hybrid calendar, which has no 5 to 14 October 1582: they become the 15th.

    Examples
    --------
    >>> gregorian = np.array(["1500-01-01", "1582-10-04", "1582-10-10", "1582-10-15"], "datetime64[D]").astype(np.int64)
    >>> days_to_hybrid(gregorian).tolist()
    [-171655, -141428, -141427, -141427]
    """
    # The proleptic Gregorian year, which starts in March.
    shifted = days.astype(np.int64) + 719_468
    era = np.floor_divide(shifted, 146_097)
    day = shifted - era * 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365 + 400 * era
    return np.where(days >= FIRST_GREGORIAN_DAY, days, np.minimum(days - _difference_of_year(year), FIRST_GREGORIAN_DAY))


def ticks_to_gregorian(ticks: np.ndarray[Any, Any], per_second: int, zone: HybridZone = UTC) -> np.ndarray[Any, Any]:
    """Convert instants that an old Java program wrote, so that their local date and time stays the same.

    Before 1900 the offsets differ, too: old Java programs used the first known offset for all earlier years, instead of local mean time.

    Parameters
    ----------
    ticks
        The instants, as numbers of units since 1970.
    per_second
        The number of units in a second.
    zone
        The time zone of the local dates and times.

    Examples
    --------
    >>> year_1500 = np.array([-171_655 * SECONDS_PER_DAY])
    >>> ticks_to_gregorian(year_1500, 1).astype("datetime64[s]").astype(str).tolist()
    ['1500-01-01T00:00:00']
    """
    local_days = np.floor_divide(ticks + zone.offset * per_second, SECONDS_PER_DAY * per_second)
    seconds = (days_to_gregorian(local_days) - local_days) * SECONDS_PER_DAY
    if zone.differences:
        starts = np.array([start for start, _ in zone.differences[1:]], np.int64) * per_second
        seconds = seconds + np.array([difference for _, difference in zone.differences], np.int64)[np.searchsorted(starts, ticks, side="right")]
    return ticks + seconds * per_second


def _difference_of_year(year: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return how many days to add to a Julian day, in a year that starts in March, for the Gregorian day of the same date.

    The result is negative from the year 300 on.
    """
    return 2 - np.floor_divide(year, 100) + np.floor_divide(year, 400)


_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# More days than the calendars differ by, within the range of 64-bit microseconds.
_MAX_DAYS = 3_000
# The number of days from 5 to 14 October 1582.
_LACKING_DAYS = 10


@attrs.frozen
class HybridColumns:
    """Which columns of a file are in the hybrid calendar.

    Parameters
    ----------
    dates
        Whether columns of dates are in the hybrid calendar.
    instants
        Whether columns of timestamps in UTC are in the hybrid calendar.
    unzoned
        Whether columns of timestamps in nanoseconds without a time zone, which are INT96 in Parquet files, are in the hybrid calendar.
    zone
        The time zone in which the writer computed the days of timestamps.
    """

    dates: bool
    instants: bool
    unzoned: bool
    zone: HybridZone = UTC

    def concern(self, data_type: pa.DataType) -> bool:
        """Return whether values of a stored type may be in the hybrid calendar.

        Examples
        --------
        >>> HybridColumns(True, False, False).concern(pa.list_(pa.date32())), HybridColumns(True, False, False).concern(pa.timestamp("us", "UTC"))
        (True, False)
        """
        if pa.types.is_date(data_type):
            return self.dates
        if pa.types.is_timestamp(data_type):
            return self.instants if data_type.tz is not None else self.unzoned and data_type.unit == "ns"
        return any(self.concern(data_type.field(index).type) for index in range(data_type.num_fields))

    def to_gregorian(self, values: pa.Array, stored: pa.DataType) -> pa.Array:
        """Convert values to the proleptic Gregorian calendar; return the array itself if no value changes.

        Parameters
        ----------
        values
            The values, as pyarrow has read them.
        stored
            The type of the values in the file; units and time zones of ``values`` may differ.

        Raises
        ------
        DateTimeRangeError
            If the converted timestamp is out of the range of 64-bit integers.

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
        before = [values.field(index) for index in range(values.type.num_fields)]
        after = [self.to_gregorian(part, stored.field(index).type) for index, part in enumerate(before)]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return values
        return pa.StructArray.from_arrays(after, fields=list(values.type), mask=values.is_null() if values.null_count else None)

    def _list_to_gregorian(self, values: pa.Array, stored: pa.DataType) -> pa.Array:
        """Convert the flat array of all elements of lists, or of all entries of maps."""
        types = pa.types
        if types.is_map(stored):
            fields = [values.type.key_field, values.type.item_field]
            elements: pa.Array = pa.StructArray.from_arrays([values.keys, values.items], fields=fields)
            element_type = pa.struct([stored.key_field, stored.item_field])
        else:
            elements, element_type = values.values, stored.value_type
        converted = self.to_gregorian(elements, element_type)
        if converted is elements:
            return values
        # The buffers of the list array itself are the validity and, depending on the type, the offsets and the sizes.
        count = 1 if types.is_fixed_size_list(stored) else 3 if types.is_list_view(stored) or types.is_large_list_view(stored) else 2
        return pa.Array.from_buffers(values.type, len(values), values.buffers()[:count], offset=values.offset, children=[converted])


def instants_to_hybrid(values: pa.Array) -> pa.Array:
    """Convert timestamps in UTC to the hybrid calendar, in which they get the same dates; return the array itself if no value changes.

    Raises
    ------
    InvalidArgumentError
        If the day of a timestamp does not exist in the hybrid calendar: 5 to 14 October 1582.
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
    """Return integers as a NumPy array, with 0 for missing values."""
    numbers: np.ndarray[Any, Any] = (values.fill_null(0) if values.null_count else values).to_numpy().astype(np.int64, copy=False)
    return numbers


def _with_values(values: pa.Array, numbers: np.ndarray[Any, Any]) -> pa.Array:
    """Return an array with the type and the missing values of an array, and with other values."""
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    width = pa.int32() if values.type.bit_width == 32 else pa.int64()
    return pa.array(numbers, pa.int64(), mask=mask).cast(width).cast(values.type)


# Which columns of a Parquet file are in the hybrid calendar, according to its metadata.

SPARK_VERSION, SPARK_ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
SPARK_HYBRID, SPARK_HYBRID_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
# From these Spark versions on, files are hybrid only if they say so.
FIRST_PROLEPTIC, FIRST_PROLEPTIC_INT96 = (3, 0), (3, 1)
HIVE_PROLEPTIC_DATES = b"writer.date.proleptic"
_VERSION = re.compile(rb"([0-9]{1,9})\.([0-9]{1,9})")


def hybrid_columns(metadata: Mapping[bytes, bytes] | None) -> HybridColumns | None:
    """Return which columns of a Parquet file are in the hybrid calendar; None if no column is.

    Parameters
    ----------
    metadata
        The keys and values in the footer of the file.

    Examples
    --------
    >>> hybrid_columns({b"org.apache.spark.version": b"2.4.5"})
    HybridColumns(dates=True, instants=True, unzoned=True, zone=HybridZone(offset=0, differences=()))
    >>> hybrid_columns({b"org.apache.spark.version": b"4.1.0"}) is None
    True
    """
    metadata = metadata or {}
    if SPARK_VERSION not in metadata:
        says_hybrid = metadata.get(HIVE_PROLEPTIC_DATES, b"").strip().lower() == b"false"
        return HybridColumns(dates=True, instants=False, unzoned=False) if says_hybrid else None
    match = _VERSION.match(metadata[SPARK_VERSION])
    version = None if match is None else (int(match[1]), int(match[2]))
    common = SPARK_HYBRID in metadata or (version is not None and version < FIRST_PROLEPTIC)
    int96 = SPARK_HYBRID_INT96 in metadata or (version is not None and version < FIRST_PROLEPTIC_INT96)
    if not common and not int96:
        return None
    # For files without a time zone, Spark assumes that of the reading machine. We take UTC.
    zone = zone_of(metadata[SPARK_ZONE].decode("utf-8", "replace")) if SPARK_ZONE in metadata else UTC
    return HybridColumns(dates=common, instants=common, unzoned=int96, zone=zone)
