"""Date-times of an archive: seconds of 56 bits, a code for the zone, microseconds."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload
from sframe_spark.turicreate.payload import Payload
from sframe_spark.types import DATETIME, ZONED_PHYSICAL
from sframe_spark.values.temporal import FIRST_MICROSECOND, LAST_MICROSECOND, SECOND, from_microseconds

# Newer ones count quarters of an hour from here on, on both sides of 0, and tell microseconds; older ones, in between, count half hours.
NEWER, LARGEST_ZONE = 25, 48
NO_ZONE = 64 + NEWER
NEWER_BYTES, OLDER_BYTES = 12, 8
OUT_OF_YEARS = "a date-time lies outside the years 1 to 9999, which is all that Python has"


def minutes_of(code: int) -> int | None:
    """Return how many minutes east of UTC a zone's code means; None for a date-time without a zone.

    Raises
    ------
    BrokenPayload
        If it is none.

    Examples
    --------
    >>> minutes_of(25), minutes_of(47), minutes_of(-26), minutes_of(-3), minutes_of(89)
    (0, 330, -15, -90, None)
    """
    if code == NO_ZONE:
        return None
    if -NEWER < code < NEWER:
        return 30 * code
    quarters = code - NEWER if code > 0 else code + NEWER
    if abs(quarters) > LARGEST_ZONE:
        raise BrokenPayload(f"the zone of a date-time has the unknown code {code}")
    return 15 * quarters


def read_moment(payload: Payload) -> datetime.datetime:
    """Read a date-time.

    Raises
    ------
    BrokenPayload
        If it is none.
    OverflowError
        If Python has none such.
    """
    start = payload.skip(OLDER_BYTES, "a date-time")
    seconds = int.from_bytes(payload.content[start : start + 7], "little", signed=True)
    code = int.from_bytes(payload.content[start + 7 : start + 8], "little", signed=True)
    fraction = 0
    if not -NEWER < code < NEWER:
        fraction = int.from_bytes(payload.take(NEWER_BYTES - OLDER_BYTES, "a date-time"), "little", signed=True)
        if not 0 <= fraction < SECOND:
            raise payload.broken(f"a date-time has {fraction} microseconds")
    return from_microseconds(seconds * SECOND + fraction, minutes_of(code))


class MomentRun:
    """Date-times that follow each other in a payload, all of one length.

    Parameters
    ----------
    payload
        Read to the first of them; to the end of the last one afterwards.
    count
        How many there are.
    """

    __slots__ = ("_start", "_width", "count", "payload")

    def __init__(self, payload: Payload, count: int) -> None:
        self.payload, self.count = payload, count
        self._width = payload.left // count if count else NEWER_BYTES
        self._start = payload.skip(count * self._width, "date-times")

    def values(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the microseconds in UTC of some of them, their minutes east of UTC, and which have none.

        Raises
        ------
        BrokenPayload
            If one is none.
        OverflowError
            If Python has none such; its argument is its number.
        """
        start, width = self._start + first * self._width, self._width
        rows = self.payload.array[start : start + (last - first) * width].reshape(last - first, width)
        words = np.ascontiguousarray(rows[:, :8]).view("<i8")[:, 0]
        # The shift keeps the sign of the lower 56 bits.
        seconds, codes = (words << 8) >> 8, words >> 56
        older = np.abs(codes) < NEWER
        fractions = np.ascontiguousarray(rows[:, 8:]).view("<i4")[:, 0].astype(np.int64) if width == NEWER_BYTES else np.zeros(len(rows), np.int64)
        quarters = np.abs(codes) - NEWER
        naive = codes == NO_ZONE
        wrong = (older != (width == OLDER_BYTES)) | ((quarters > LARGEST_ZONE) & ~naive) | (fractions < 0) | (fractions >= SECOND)
        if wrong.any():
            raise BrokenPayload("a date-time has an unknown zone or too many microseconds", int(start + width * np.argmax(wrong)))
        minutes = np.where(older, 30 * codes, 15 * np.sign(codes) * quarters)
        minutes[naive] = 0
        _require_years(seconds, minutes, first)
        return seconds * SECOND + fractions, minutes, naive


def _require_years(seconds: np.ndarray, minutes: np.ndarray, first: int) -> None:
    walls = seconds + 60 * minutes
    outside = (walls < FIRST_MICROSECOND // SECOND) | (walls > LAST_MICROSECOND // SECOND)
    if outside.any():
        raise OverflowError(first + int(np.argmax(outside)))


def are_alike(payload: Payload, count: int) -> bool:
    """Say whether so many date-times fill the rest of a payload if all have one length, as those have that one engine wrote."""
    return payload.left in (count * NEWER_BYTES, count * OLDER_BYTES)


def moment_array(microseconds: np.ndarray, minutes: np.ndarray, naive: np.ndarray) -> pa.Array:
    """Return date-times in the form of a column."""
    instants = pa.array(microseconds).view(DATETIME.physical)
    return pa.StructArray.from_arrays([instants, pa.array(minutes.astype(np.int32), mask=naive)], fields=list(ZONED_PHYSICAL))
