"""Parsing and formatting of date-times by a strftime-like format.

A format becomes one regular expression; the fields that it extracts are then combined for all rows at once.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import ExecutionError, SchemaError, TimeFormatError
from sframe_spark.expressions.functions.datetimes import offsets_of, wall_clock
from sframe_spark.expressions.functions.scalar_function import Argument, array_of, define_function
from sframe_spark.message_text import brief
from sframe_spark.types import DATETIME, DATETIME_KIND, STR, STR_KIND, ZONED_DATETIME, ColumnType
from sframe_spark.values.datetimes import MINUTE, MONTHS, SECOND, WEEKDAYS, directives, format_datetimes
from sframe_spark.values.from_arrow import zoned_array

ISO = "%Y%m%dT%H%M%S%F%q"
# The year of a string without a year; the reference implementation parses no earlier years.
FIRST_YEAR = 1400
_FIRST = np.datetime64("1400-01-01", "us")
_AFTER_LAST = np.datetime64("10000-01-01", "us")


def _one_of(names: Sequence[str], letters: int | None) -> str:
    return "(?i:" + "|".join(name[:letters] for name in names) + ")"


# What each directive matches, and whether spaces before it are skipped.
_READS: dict[str, tuple[str, bool]] = {
    "Y": (r"\d{4}", True),
    "y": (r"\d{2}", True),
    "m": (r"\d{1,2}", True),
    "d": (r"\d{2}", True),
    "e": (r"\d{1,2}", True),
    "j": (r"\d{3}", False),
    "b": (_one_of(MONTHS, 3), True),
    "h": (_one_of(MONTHS, 3), True),
    "B": (_one_of(MONTHS, None), True),
    "a": (_one_of(WEEKDAYS, 3), True),
    "A": (_one_of(WEEKDAYS, None), True),
    "H": (r"\d{1,2}", False),
    "k": (r"\d{1,2}", True),
    "I": (r"\d{1,2}", False),
    "l": (r"\d{1,2}", True),
    "M": (r"\d{2}", False),
    "S": (r"\d{2}", False),
    "s": (r"\d{2}(?:\.\d*)?", False),
    "f": (r"\.\d*", False),
    "F": (r"(?:\.\d*)?", False),
    "p": (r"(?i:[AP]M)", True),
    "P": (r"(?i:[AP]M)", True),
    "ZP": (r"\S*", True),
}
# Directives for offsets, which the reference implementation ignores.
_READ_AS_NOTHING = ("%q", "%Q", "%z", "%Z")
_NUMBERS = frozenset("YymdejHkIlMSs")
_ZONE = re.compile(r"(?P<name>[A-Za-z]*)(?P<sign>[+-]?)(?:(?P<hours>\d{1,2})(?::-?(?P<minutes>\d{1,2}))?)?")
_NAMES_OF_UTC = ("", "Z", "UTC", "GMT")
# The regular expression is nested one level deeper for each part of the format.
MAX_PARTS = 200
_EARLIEST, _LATEST = -12 * 60, 14 * 60


@attrs.frozen
class TimeFormat:
    """A parsed format.

    Parameters
    ----------
    pattern
        Regular expression (RE2) with a group for each directive that captures something; a string may end before any directive.
    groups
        The directive of each group, in the order of the format.
    """

    pattern: str
    groups: tuple[str, ...]

    @classmethod
    def of(cls, form: str) -> TimeFormat:
        """Parse a format.

        Raises
        ------
        TimeFormatError
            If the format has an unsupported directive, or no directive.
        """
        parts = [part for part in directives(ISO if form == "ISO" else form) if part not in _READ_AS_NOTHING]
        groups: list[str] = []
        pieces: list[tuple[str, str]] = []
        # A number of one or two digits is matched greedily: what follows it is not a digit.
        first = "."
        for part, after in zip_longest(parts, parts[1:], fillvalue=""):
            if part[0] != "%" or part in ("%%", "%n", "%t"):
                more = 0 if part[0] == "%" else len(part) - 1
                pieces.append((f"$|{first}(?:.{{0,{more - 1}}}$|.{{{more}}})" if more else f"$|{first}", ""))
                first = "."
                continue
            name = part[1:]
            if name not in _READS:
                raise TimeFormatError(f"{part!r} in the format {form!r} cannot be read: str_to_datetime() reads %{' %'.join(_READS)}")
            reads, skips = _READS[name]
            if after[1:] in _NUMBERS and after[0] == "%":
                reads = reads.replace("{1,2}", "{2}")
            # A number at the end must not be followed by another digit.
            ends = r"(?:\D|$)" if not after and name in _NUMBERS else ""
            pieces.append(("$|" + r"\s*" * skips, f"(?P<g{len(groups)}>{reads}){ends}"))
            groups.append(name)
            first = r"\D" if "{1,2}" in reads and not after[:1].isdigit() else "."
        if len(parts) > MAX_PARTS:
            raise TimeFormatError(f"the format has {len(parts)} parts, and {MAX_PARTS} are the most: {form[:60]!r}...")
        if not groups:
            raise TimeFormatError(f"the format {form!r} has no directive such as %Y: nothing would be read")
        return cls(rf"(?s)^\s*{_nested(pieces)}", tuple(groups))


def _nested(pieces: Sequence[tuple[str, str]]) -> str:
    """Return the nested pattern, in which each part is followed by the next part or by the end of the string."""
    pattern = ""
    for before, group in reversed(pieces):
        pattern = f"(?:{before}{group}{pattern})"
    return pattern


@attrs.define
class _Fields:
    """The fields parsed from each string, such as the year, with defaults for fields that a string lacks."""

    year: Any = FIRST_YEAR
    month: Any = 1
    day: Any = 1
    day_of_year: Any = -1
    hour: Any = 0
    clock_hour: Any = -1
    is_afternoon: Any = False
    minute: Any = 0
    second: Any = 0
    microsecond: Any = 0
    zone: Any = None

    def take(self, name: str, texts: pa.Array) -> None:
        """Set the field of a directive from the strings that it captured; an empty string leaves the field unchanged."""
        if name == "ZP":
            self.zone = texts
        elif name in "bhB":
            self.month = _chosen(_place(texts, 3, [month[:3] for month in MONTHS]) + 1, texts, self.month)
        elif name in "pP":
            self.is_afternoon = pc.equal(pc.utf8_upper(texts), "PM").to_numpy(zero_copy_only=False)
        elif name == "s":
            self._take_number("S", pc.utf8_slice_codeunits(texts, 0, 2))
            self.microsecond = _chosen(_fractions(pc.utf8_slice_codeunits(texts, 2)), texts, self.microsecond)
        elif name in "fF":
            self.microsecond = _chosen(_fractions(texts), texts, self.microsecond)
        elif name not in "aA":
            self._take_number(name, texts)

    def _take_number(self, name: str, texts: pa.Array) -> None:
        numbers = _numbers(texts) + (2000 if name == "y" else 0)
        field = {
            "Y": "year",
            "y": "year",
            "m": "month",
            "d": "day",
            "e": "day",
            "j": "day_of_year",
            "H": "hour",
            "k": "hour",
            "I": "clock_hour",
            "l": "clock_hour",
            "M": "minute",
            "S": "second",
        }[name]
        setattr(self, field, _chosen(numbers, texts, getattr(self, field)))

    def hours(self) -> Any:
        """Return hours since midnight; if an hour of the 12-hour clock was parsed, from that."""
        of_clock = np.where(self.clock_hour == 12, 0, self.clock_hour) + 12 * np.asarray(self.is_afternoon, dtype=np.int64)
        return np.where(self.clock_hour >= 0, of_clock, self.hour)

    def instants(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the local times, and which rows have a valid date and time."""
        year, month, day = (np.broadcast_to(np.asarray(part, dtype=np.int64), (rows,)) for part in (self.year, self.month, self.day))
        sound = (year >= FIRST_YEAR) & (month >= 1) & (month <= 12) & (np.asarray(self.clock_hour) <= 12) & (np.asarray(self.clock_hour) != 0)
        months = ((year - 1970) * 12 + np.where(sound, month, 1) - 1).astype("datetime64[M]")
        first = months.astype("datetime64[D]")
        last = (months + np.timedelta64(1, "M")).astype("datetime64[D]") - first
        sound &= (day >= 1) & (day <= last.astype(np.int64))
        counted = np.broadcast_to(np.asarray(self.day_of_year, dtype=np.int64), (rows,))
        from_year = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]") + (counted - 1).astype("timedelta64[D]")
        sound &= (counted != 0) & (counted <= 366)
        days = np.where(counted > 0, from_year, first + (day - 1).astype("timedelta64[D]")).astype("datetime64[us]")
        # As in the reference implementation, an hour of 24 or more is only valid with zero minutes.
        sound &= (np.asarray(self.hours()) < 24) | (np.asarray(self.minute) == 0)
        time = (self.hours() * 60 + self.minute) * MINUTE + self.second * SECOND + self.microsecond
        wall = days + np.broadcast_to(np.asarray(time, dtype=np.int64), (rows,)).astype("timedelta64[us]")
        return wall, sound & (wall >= _FIRST) & (wall < _AFTER_LAST)


def _chosen(numbers: np.ndarray, texts: pa.Array, otherwise: Any) -> Any:
    return np.where(pc.not_equal(texts, "").to_numpy(zero_copy_only=False), numbers, otherwise)


def _numbers(texts: pa.Array) -> np.ndarray:
    return pc.if_else(pc.equal(texts, ""), "0", texts).cast(pa.int64()).to_numpy(zero_copy_only=False)


def _place(texts: pa.Array, letters: int, names: Sequence[str]) -> np.ndarray:
    short = pc.utf8_capitalize(pc.utf8_slice_codeunits(texts, 0, letters))
    return pc.index_in(short, pa.array(names)).fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)


def _fractions(texts: pa.Array) -> np.ndarray:
    """Return the microseconds of strings of a dot and digits; digits after the sixth are dropped."""
    return _numbers(pc.utf8_rpad(pc.utf8_slice_codeunits(texts, 1, 7), 6, "0"))


def zone_minutes(text: str) -> int | None:
    """Return the minutes east of UTC of an offset such as ``GMT+05:30``, ``-3`` or ``Z``; None for an empty string.

    Raises
    ------
    ValueError
        If the string is not an offset. The name of a zone without a number is an offset only for UTC.

    Examples
    --------
    >>> zone_minutes("GMT-05:30"), zone_minutes("+2"), zone_minutes("Z"), zone_minutes("")
    (-330, 120, 0, None)
    """
    if not text:
        return None
    match = _ZONE.fullmatch(text)
    if match is None or (match["hours"] is None and (match["sign"] or match["name"].upper() not in _NAMES_OF_UTC)):
        raise ValueError(text)
    minutes = int(match["hours"] or 0) * 60 + int(match["minutes"] or 0)
    offset = -minutes if match["sign"] == "-" else minutes
    if int(match["minutes"] or 0) >= 60 or not _EARLIEST <= offset <= _LATEST:
        raise ValueError(text)
    return offset


def _offsets(zones: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return minutes east of UTC, missing for an empty string, and which strings are valid; each distinct string is parsed once."""
    coded = zones.dictionary_encode()
    minutes: list[int | None] = []
    sound = []
    for text in coded.dictionary.to_pylist():
        try:
            minutes.append(zone_minutes(text))
            sound.append(True)
        except ValueError:
            minutes.append(None)
            sound.append(False)
    places = coded.indices
    return pa.array(minutes, pa.int32()).take(places), pa.array(sound, pa.bool_()).take(places).to_numpy(zero_copy_only=False)


# Formats to suggest in errors, unambiguous in every country; the last one is what this package writes to CSV files.
_COMMON_FORMATS = ("%Y-%m-%dT%H:%M:%S%F", "%Y-%m-%d %H:%M:%S%F", "%Y%m%dT%H%M%S%F")


def _infer_parsed(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result; parameter: the format."""
    if types[0].kind != STR_KIND:
        raise SchemaError(f"str_to_datetime() takes texts, and these are values of {types[0].kind}")
    return ZONED_DATETIME if "ZP" in TimeFormat.of(parameters[0]).groups else DATETIME


def _compute_parsed(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    texts = array_of(arguments[0], rows)
    has_text = pc.not_equal(texts, "").fill_null(False)
    numbers = np.flatnonzero(has_text.to_numpy(zero_copy_only=False))
    read = _read(texts.filter(has_text), parameters[0])
    places = np.full(rows, -1)
    places[numbers] = np.arange(len(numbers))
    return read.take(pa.array(places, mask=places < 0))


def _read(texts: pa.Array, form: str, advises: bool = True) -> pa.Array:
    """Parse strings, none of which may be missing or empty; with ``advises`` an error suggests a format that fits the string, if one is known."""
    time_format, rows = TimeFormat.of(form), len(texts)
    result = pc.extract_regex(texts, time_format.pattern)
    _require(result.is_valid().to_numpy(zero_copy_only=False), texts, form, advises)
    groups = [result.field(f"g{place}") for place in range(len(time_format.groups))]
    _require(np.any([pc.not_equal(group, "").to_numpy(zero_copy_only=False) for group in groups], axis=0), texts, form, advises)
    fields = _Fields()
    for name, group in zip(time_format.groups, groups, strict=True):
        fields.take(name, group)
    wall_times, sound = fields.instants(rows)
    _require(sound, texts, form, advises)
    wall = pa.array(wall_times.astype(np.int64))
    if fields.zone is None:
        return wall.cast(DATETIME.physical)
    offsets, known = _offsets(fields.zone)
    _require(known, texts, form, advises)
    utc = pc.subtract(wall, pc.multiply(offsets.fill_null(0).cast(pa.int64()), MINUTE))
    return zoned_array(utc.cast(DATETIME.physical), offsets, utc.is_valid())


def _require(sound: np.ndarray, texts: pa.Array, form: str, advises: bool) -> None:
    if not sound.all():
        text = texts[int(np.argmin(sound))].as_py()
        other = _format_of(text, form) if advises else None
        advice = "give another format, or clean the texts with apply() first" if other is None else f"the format {other!r} reads it"
        raise ExecutionError(f"{brief(text)} is no date-time of the format {form!r}: {advice}")


def _format_of(text: str, form: str) -> str | None:
    """Return a format that parses a string that ``form`` does not parse: ``form`` with ``%F`` instead of ``.%f``, or a common format; else None."""
    for other in (form.replace(".%f", "%F"), *_COMMON_FORMATS):
        with contextlib.suppress(ExecutionError):
            _read(pa.array([text]), other, advises=False)
            return other
    return None


define_function("moment_of_text", _infer_parsed, _compute_parsed, may_fail=True)


# Formatting.


def _infer_formatted(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result; parameter: the format."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"datetime_to_str() takes date-times, and these are values of {types[0].kind}: astype(str) makes texts of them")
    return STR


def _compute_formatted(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return format_datetimes(wall_clock(arguments[0], types[0], rows), offsets_of(arguments[0], types[0], rows), parameters[0])


define_function("moment_text", _infer_formatted, _compute_formatted)
