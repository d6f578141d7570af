"""The hybrid calendar of old Java programs: Julian up to 4 October 1582, Gregorian from 15 October on.

Columns, Arrow and Python use the proleptic Gregorian calendar, which has no such break. A conversion keeps what a calendar on the wall says: the
day that the hybrid calendar calls 1500-01-01 becomes the one that the proleptic Gregorian calendar calls 1500-01-01, nine days earlier. The Julian
29 February of a year that is no Gregorian leap year becomes 1 March. This is what Spark and Hive do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sframe_spark.storage.zones import UTC, HybridZone

# 15 October 1582, in days since 1970: from here on both calendars agree.
FIRST_GREGORIAN_DAY = -141_427
# No zone of a program that uses the hybrid calendar has had another offset than its zone of today since 1900-01-01, in seconds since 1970.
LAST_ZONE_CHANGE = -2_208_988_800
SECONDS_PER_DAY = 86_400
# 1 March of the year 0 in the Julian calendar, with which years begin here, so that the leap day is the last of a year; in days before 1970.
_DAYS_FROM_YEAR_0 = 719_470
_DAYS_OF_4_YEARS = 1_461


def days_to_gregorian(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return days since 1970 of the proleptic Gregorian calendar that have the names which the hybrid calendar has for some days.

    Examples
    --------
    >>> days_to_gregorian(np.array([-171_655, FIRST_GREGORIAN_DAY - 1, FIRST_GREGORIAN_DAY, 0])).astype("datetime64[D]").astype(str).tolist()
    ['1500-01-01', '1582-10-04', '1582-10-15', '1970-01-01']
    """
    return days + _difference(days)


def days_to_hybrid(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the opposite of :func:`days_to_gregorian`; days between 5 and 14 October 1582, which the hybrid calendar lacks, become the 15th.

    Examples
    --------
    >>> gregorian = np.array(["1500-01-01", "1582-10-04", "1582-10-10", "1582-10-15"], "datetime64[D]").astype(np.int64)
    >>> days_to_hybrid(gregorian).tolist()
    [-171655, -141428, -141427, -141427]
    """
    # The difference changes with a year's 1 March only, and no later than ten days after it: one correction suffices.
    found = days - _difference_of_year(_gregorian_year(days))
    return np.where(days >= FIRST_GREGORIAN_DAY, days, np.minimum(found, FIRST_GREGORIAN_DAY))


def ticks_to_gregorian(ticks: np.ndarray[Any, Any], per_second: int, zone: HybridZone = UTC) -> np.ndarray[Any, Any]:
    """Return instants, in ticks since 1970, that have the names in a zone which an old Java program in that zone had for some instants.

    Before 1900 the two differ by the zone, too: old Java used today's offset of a zone for all earlier years, and not the local mean time.

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
        # Each difference holds from its instant on, the first one from ever.
        starts = np.array([start for start, _ in zone.differences[1:]], np.int64) * per_second
        seconds = seconds + np.array([difference for _, difference in zone.differences], np.int64)[np.searchsorted(starts, ticks, side="right")]
    return ticks + seconds * per_second


def _difference(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many days to add to days of the hybrid calendar."""
    year = np.floor_divide(4 * (days.astype(np.int64) + _DAYS_FROM_YEAR_0) + 3, _DAYS_OF_4_YEARS)
    return np.where(days >= FIRST_GREGORIAN_DAY, 0, _difference_of_year(year))


def _difference_of_year(year: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many days the Julian calendar is behind in a year that starts in March: it has a leap day in each hundredth year."""
    return 2 - np.floor_divide(year, 100) + np.floor_divide(year, 400)


def _gregorian_year(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The proleptic Gregorian year, which starts in March, of some days."""
    shifted = days.astype(np.int64) + 719_468
    era = np.floor_divide(shifted, 146_097)
    day = shifted - era * 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    return year + 400 * era
