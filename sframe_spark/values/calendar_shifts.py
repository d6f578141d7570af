"""Durations of the calendar (months, month ends, business days, days of a zone), and local times moved by them, for whole arrays at once."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.message_text import brief
from sframe_spark.values.calendar_intervals import month_starts, months_later, months_of
from sframe_spark.values.datetimes import DAY, EPOCH
from sframe_spark.values.duration_parsing import ACCEPTED, CALENDAR_UNITS, LONGEST, MAX_MONTHS, UNITS, text_parts

BUSINESS_DAY_UNITS = dict.fromkeys(["bd", "bday", "bdays"], 1)
MONTH_END_UNITS = dict.fromkeys(["me", "monthend", "monthends"], 1)
DAY_UNITS = {name: length // DAY for name, length in UNITS.items() if length >= DAY}
ELAPSED_UNITS = {name: length for name, length in UNITS.items() if length < DAY}


@attrs.frozen
class CalendarShift:
    """How far date-times are moved: by months first, then by month ends, business days and days of the clock, and at last by time that passes.

    Parameters
    ----------
    months
        Months; a day that the month does not have becomes its last one.
    month_ends
        Number of ends of months; None: none of it. Zero: the end of the month.
    business_days
        Number of days from Monday to Friday that are no holidays; None: none of it. Zero: the next such day, if the day is none.
    days
        Days, at the same time of the clock.
    elapsed
        Microseconds.
    holidays
        Days, counted from 1970, that are no business days; ascending.
    """

    months: int = 0
    month_ends: int | None = None
    business_days: int | None = None
    days: int = 0
    elapsed: int = 0
    holidays: tuple[int, ...] = ()

    @property
    def is_elapsed(self) -> bool:
        """Whether days and less are all of it."""
        return not self.months and self.month_ends is None and self.business_days is None

    def moved(self, local: np.ndarray) -> np.ndarray:
        """Return local times moved by all parts but the time that passes.

        Examples
        --------
        >>> friday = np.array(["2024-05-31T09"], "datetime64[us]").astype(np.int64)
        >>> CalendarShift(business_days=1).moved(friday).astype("datetime64[us]").astype(str).tolist()
        ['2024-06-03T09:00:00.000000']
        >>> CalendarShift(month_ends=1).moved(friday).astype("datetime64[us]").astype(str).tolist()
        ['2024-06-30T09:00:00.000000']
        """
        if self.months:
            local = months_later(local, self.months)
        if self.month_ends is not None:
            local = month_ends_later(local, self.month_ends)
        if self.business_days is not None:
            local = self._business_days_later(local, self.business_days)
        return local + self.days * DAY

    def _business_days_later(self, local: np.ndarray, count: int) -> np.ndarray:
        days = np.floor_divide(local, DAY)
        # A day that is no business day counts as the one before it, or, backwards, as the one after it.
        roll: Any = "backward" if count > 0 else "forward"
        holidays = np.array(self.holidays, np.int64).astype("datetime64[D]")
        moved = np.busday_offset(days.astype("datetime64[D]"), count, roll=roll, holidays=holidays).astype(np.int64)
        return local + (moved - days) * DAY


def month_ends_later(local: np.ndarray, count: int) -> np.ndarray:
    """Return local times on the last day of a month: of the next one after each, of the second, and so on; at the same time of the day."""
    month = months_of(local)
    into = np.floor_divide(local - month_starts(month), DAY)
    is_last = into == np.floor_divide(month_starts(month + 1) - month_starts(month), DAY) - 1
    # The end of the month itself is the first one after a day that is not the last, and the zeroth one of all.
    after = month + count - (~is_last & (count > 0))
    return month_starts(after + 1) - DAY + local % DAY


def parse_shift(value: Any, holidays: Any, what: str) -> CalendarShift | None:
    """Return how far a text moves date-times; None if it is no text, or all of it is time that passes.

    Raises
    ------
    TypeError
        If holidays are not days.
    ValueError
        If a text is not a duration, or holidays come with a duration without business days.

    Examples
    --------
    >>> parse_shift("-1mo 2h", None, "duration")
    CalendarShift(months=-1, month_ends=None, business_days=None, days=0, elapsed=-7200000000, holidays=())
    """
    days_off = holiday_numbers(holidays)
    shift = _shift_of_text(value, what) if isinstance(value, str) else None
    if holidays is not None and (shift is None or shift.business_days is None):
        raise InvalidArgumentError(f"holidays need business days, but {what} {value!r} has none: write '1bd'")
    return None if shift is None else attrs.evolve(shift, holidays=days_off)


def _shift_of_text(text: str, what: str) -> CalendarShift:
    accepted = ACCEPTED + ", '1mo', '1me' (month end), '3bd' (business days)"
    tables = (CALENDAR_UNITS, MONTH_END_UNITS, BUSINESS_DAY_UNITS, DAY_UNITS, ELAPSED_UNITS)
    months, month_ends, business_days, days, elapsed = text_parts(text, what, *tables, accepted=accepted)
    # A part of a day is time that passes.
    whole_days = int(days)
    elapsed += (days - whole_days) * DAY
    for number in (months, month_ends, business_days, elapsed):
        if number.denominator != 1:
            raise InvalidArgumentError(f"{what}: {text!r} is not a whole number of months, of days or of microseconds")
    if max(abs(months), abs(month_ends)) > MAX_MONTHS or max(abs(business_days), abs(days)) > MAX_MONTHS * 31 or abs(elapsed) > LONGEST:
        raise InvalidArgumentError(f"{what}: {text!r} leads beyond the years 1 to 9999")
    has = [any(part.lower() in table for part in _units(text)) for table in (MONTH_END_UNITS, BUSINESS_DAY_UNITS)]
    return CalendarShift(int(months), int(month_ends) if has[0] else None, int(business_days) if has[1] else None, whole_days, int(elapsed))


def _units(text: str) -> list[str]:
    return "".join(letter if letter.isalpha() else " " for letter in text).split()


def holiday_numbers(holidays: Any) -> tuple[int, ...]:
    """Return days, which are dates or date-times, as ascending numbers since 1970.

    Raises
    ------
    SchemaError
        If a holiday is no day.

    Examples
    --------
    >>> holiday_numbers([datetime.date(1970, 1, 2)])
    (1,)
    """
    if holidays is None:
        return ()
    if isinstance(holidays, (str, bytes, datetime.date)) or not isinstance(holidays, Iterable):
        raise SchemaError(f"holidays must be a list or a column of dates, got {brief(holidays)} of type {type(holidays).__name__}")
    numbers = set()
    for day in holidays:
        if isinstance(day, np.datetime64):
            day = day.astype("datetime64[D]").item()
        if not isinstance(day, datetime.date) or day != day:
            raise SchemaError(f"holidays must be a list of dates, but it contains {brief(day)}")
        numbers.add((datetime.datetime(day.year, day.month, day.day) - EPOCH).days)
    return tuple(sorted(numbers))
