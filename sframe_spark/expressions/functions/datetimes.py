"""The scalar functions on date-times: arithmetic, times of a uniform clock, parts such as the year, parsing and formatting."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import DateFormatError, ExecutionError, SchemaError, SFrameError, TimeFormatError
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    STRICTLY_INCREASING,
    Argument,
    are_numbers,
    array_of,
    define_function,
    float_of,
    is_finite,
    unsupported,
)
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, STR, STR_KIND, ZONED_DATETIME, ColumnType
from sframe_spark.values.datetimes import (
    FIRST_MICROSECOND,
    LAST_MICROSECOND,
    MINUTE,
    MONTHS,
    SECOND,
    WEEKDAYS,
    all_in_years_of_python,
    directives,
    format_datetimes,
)

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.udf.error_transport import error_transport
    from sframe_spark.values.arrow_to_column_types import zoned_array
    from sframe_spark.values.column_cast import microseconds_of, seconds_to_microseconds, wall_microseconds

# Arithmetic, which changes the instant and keeps the offset from UTC.

# More seconds than these (286,000 years), as microseconds, do not fit 64 bits. As in SFrame, adding more seconds, infinity or NaN leaves a date-time
# unchanged (recorded in `tests/data`), since ported programs may rely on it.
_MAX_SECONDS = 9.0e12
BEYOND_BITS = "seconds move a date-time beyond the 292,000 years before and after 1970 that 64 bits of microseconds count: add fewer"


def shift(datetimes: Argument, seconds: Argument, column_type: ColumnType, sign: int, rows: int) -> pa.Array:
    """Add seconds, truncated to microseconds, to datetimes; subtract them if ``sign`` is negative."""
    datetimes, seconds = array_of(datetimes, rows), array_of(seconds, rows)
    floats = seconds.cast(pa.float64(), safe=False)
    within = pc.less(pc.abs(floats), _MAX_SECONDS)
    moved = seconds_to_microseconds(if_else(within, floats, 0.0))
    microseconds = _added(microseconds_of(datetimes, column_type), pc.multiply(moved, sign), BEYOND_BITS)
    return with_offsets_of(datetimes, microseconds.cast(DATETIME.physical), column_type)


def _added(numbers: pa.Array, others: pa.Array | pa.Scalar, message: str) -> pa.Array:
    """Return the sums of ints; raise with a message if a sum does not fit in 64 bits."""
    try:
        return pc.add_checked(numbers, others)
    except pa.ArrowInvalid:
        raise ExecutionError(message) from None


def with_offsets_of(datetimes: pa.Array, instants: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return datetimes at the given instants, with the offsets from UTC of ``datetimes`` if their type has offsets."""
    if not column_type.is_zoned:
        return instants
    return zoned_array(instants, pc.struct_field(datetimes, "offset"), instants.is_valid())


def difference(left: Argument, right: Argument, types: Sequence[ColumnType]) -> Argument:
    """Return the seconds from the right date-times to the left ones."""
    microseconds = pc.subtract(microseconds_of(left, types[0]), microseconds_of(right, types[1]))
    return pc.divide(microseconds.cast(pa.float64(), safe=False), float(SECOND))


def raised(error: SFrameError) -> Column:
    """Return a Spark column of ints that raises an error."""
    return F.raise_error(F.lit(error_transport().packed(error))).cast("bigint")


def _added_column(numbers: Column, others: Column, message: str) -> Column:
    """Return a Spark column that does the same as :func:`_added`."""
    total = numbers + others
    # If the sum wraps around in 64 bits, it lies on the wrong side of the first number.
    return F.when((total < numbers) != (others < 0), raised(ExecutionError(message))).otherwise(total)


def _wall_column(microseconds: Column, datetimes: Column, column_type: ColumnType) -> Column:
    """Return a Spark column of microseconds in local time at the offsets of ``datetimes``."""
    return microseconds + F.coalesce(datetimes["offset"], F.lit(0)).cast("bigint") * MINUTE if column_type.is_zoned else microseconds


def microseconds_column(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column of microseconds since 1970 in UTC (the session's time zone is UTC)."""
    instant = column["instant"] if column_type.is_zoned else column
    return F.unix_micros(instant.cast("timestamp"))


def datetime_column(microseconds: Column, column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column of datetimes from microseconds in UTC, with the offsets of ``column`` if its type has offsets."""
    instant = F.timestamp_micros(microseconds).cast("timestamp_ntz")
    if not column_type.is_zoned:
        return instant
    zoned = F.struct(instant.alias("instant"), column["offset"].alias("offset"))
    return F.when(microseconds.isNotNull(), zoned)


def shift_column(datetimes: Column, seconds: Column, column_type: ColumnType, sign: int) -> Column:
    """Return a Spark column that does the same as :func:`shift`."""
    floats = seconds.cast("double")
    whole = F.floor(floats)
    fraction = ((floats - whole.cast("double")) * float(SECOND)).cast("bigint")
    moved = F.when(F.abs(floats) < _MAX_SECONDS, whole * SECOND + fraction).when(floats.isNotNull(), F.lit(0))
    return datetime_column(_added_column(microseconds_column(datetimes, column_type), moved * sign, BEYOND_BITS), datetimes, column_type)


def difference_column(left: Column, right: Column, types: Sequence[ColumnType]) -> Column:
    """Return a Spark column that does the same as :func:`difference`."""
    microseconds = microseconds_column(left, types[0]) - microseconds_column(right, types[1])
    return microseconds.cast("double") / float(SECOND)


# A duration added to window keys: numbers, or date-times exact to the microsecond.

BEYOND_YEARS = "a duration moves a date-time beyond the years 1 to 9999: choose a shorter one"
BEYOND_INTS = "a duration moves an int beyond 64 bits: choose a shorter one, or convert the keys to float"


def _infer_duration(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result: the type of the key, except that an int key plus a float duration is a float."""
    key, duration = types
    if key.kind == DATETIME_KIND and duration == INT:
        return key
    if are_numbers(types):
        return INT if (key, duration) == (INT, INT) else FLOAT
    raise unsupported("shift_time", types)


def _compute_duration(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    keys, duration = array_of(arguments[0], rows), arguments[1]
    if types[0].kind == DATETIME_KIND:
        return _moved(keys, duration, types[0])
    if _infer_duration(types, parameters) == FLOAT:
        return pc.add(float_of(keys), float_of(duration))
    return _added(keys, duration, BEYOND_INTS)


def _moved(datetimes: pa.Array, duration: pa.Scalar, column_type: ColumnType) -> pa.Array:
    microseconds = _added(microseconds_of(datetimes, column_type), duration, BEYOND_YEARS)
    # Python limits the wall-clock time, not the instant, which may lie some hours outside.
    if not all_in_years_of_python(wall_microseconds(microseconds, datetimes, column_type)):
        raise ExecutionError(BEYOND_YEARS)
    return with_offsets_of(datetimes, microseconds.cast(DATETIME.physical), column_type)


def _build_duration(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    key, duration = columns
    if types[0].kind == DATETIME_KIND:
        total = microseconds_column(key, types[0]) + duration
        wall = _wall_column(total, key, types[0])
        beyond = (wall < FIRST_MICROSECOND) | (wall > LAST_MICROSECOND)
        return datetime_column(F.when(beyond, raised(ExecutionError(BEYOND_YEARS))).otherwise(total), key, types[0])
    if _infer_duration(types, parameters) == FLOAT:
        return key.cast("double") + duration.cast("double")
    return _added_column(key, duration, BEYOND_INTS)


def _monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    """Return how the sum rises with the key: strictly, as overflow raises an error, unless floats are rounded; None if the duration is not finite."""
    if not is_finite(literals[1]):
        return None
    return INCREASING if FLOAT in types else STRICTLY_INCREASING


define_function("add_duration", _infer_duration, _compute_duration, _build_duration, _monotone, may_fail=True)


# Times of a uniform clock, from tick numbers.

TIME_TYPES = {"int": INT, "float": FLOAT, "datetime": DATETIME, "zoned datetime": ZONED_DATETIME}


def _infer_tick(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the time.

    Parameters: name of that type, time of tick zero, time between ticks (microseconds for date-times), offset in minutes.
    """
    return TIME_TYPES[parameters[0]]


def _compute_tick(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    _, start, every, offset = parameters
    result = _infer_tick(types, parameters)
    ticks = array_of(arguments[0], rows).to_numpy(zero_copy_only=False)
    times = pa.array(start + every * (ticks.astype(np.float64) if result == FLOAT else ticks))
    if result in (INT, FLOAT):
        return times
    instants = times.cast(DATETIME.physical)
    if result == DATETIME:
        return instants
    return zoned_array(instants, pa.array(np.full(rows, offset, dtype=np.int32)), instants.is_valid())


def _build_tick(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    _, start, every, offset = parameters
    result = _infer_tick(types, parameters)
    if result == FLOAT:
        return columns[0].cast("double") * float(every) + float(start)
    times = columns[0] * every + start
    if result == INT:
        return times
    instants = F.timestamp_micros(times).cast("timestamp_ntz")
    if result == DATETIME:
        return instants
    return F.struct(instants.alias("instant"), F.lit(offset).cast("int").alias("offset"))


define_function("tick_time", _infer_tick, _compute_tick, _build_tick)


# Local times.


def wall_clock(datetimes: Argument, column_type: ColumnType, rows: int) -> pa.Array:
    """Return the local times, without the offset from UTC."""
    values = array_of(datetimes, rows)
    return wall_microseconds(microseconds_of(values, column_type), values, column_type).cast(DATETIME.physical)


def wall_column(datetimes: Column, column_type: ColumnType) -> Column:
    """Return a Spark column of microseconds in local time."""
    return _wall_column(microseconds_column(datetimes, column_type), datetimes, column_type)


def offsets_of(datetimes: Argument, column_type: ColumnType, rows: int) -> pa.Array:
    """Return the offsets of datetimes in minutes east of UTC; missing for a datetime without an offset."""
    values = array_of(datetimes, rows)
    if not column_type.is_zoned:
        return pa.nulls(rows, pa.int32())
    return if_else(values.is_valid(), pc.struct_field(values, "offset"), pa.scalar(None, pa.int32()))


# Parsing and formatting of date-times by a strftime-like format.

ISO = "%Y%m%dT%H%M%S%F%q"
# The year of a string without a year; SFrame parses no earlier years.
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
# Directives for offsets, which SFrame ignores.
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
        patterns: list[tuple[str, str]] = []
        # A number of one or two digits is matched greedily: what follows it is not a digit.
        first = "."
        for part, after in zip_longest(parts, parts[1:], fillvalue=""):
            if part[0] != "%" or part in ("%%", "%n", "%t"):
                more = 0 if part[0] == "%" else len(part) - 1
                patterns.append((f"$|{first}(?:.{{0,{more - 1}}}$|.{{{more}}})" if more else f"$|{first}", ""))
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
            patterns.append(("$|" + r"\s*" * skips, f"(?P<g{len(groups)}>{reads}){ends}"))
            groups.append(name)
            first = r"\D" if "{1,2}" in reads and not after[:1].isdigit() else "."
        if len(parts) > MAX_PARTS:
            raise TimeFormatError(f"the format has {len(parts)} parts, but at most {MAX_PARTS} are allowed: {form[:60]!r}...")
        if not groups:
            raise TimeFormatError(f"the format {form!r} has no directive such as %Y")
        # Each part is followed by the next part or by the end of the string.
        pattern = ""
        for before, group in reversed(patterns):
            pattern = f"(?:{before}{group}{pattern})"
        return cls(rf"(?s)^\s*{pattern}", tuple(groups))


# The fields of directives that are numbers.
_FIELDS = {
    **dict.fromkeys("Yy", "year"),
    "m": "month",
    **dict.fromkeys("de", "day"),
    "j": "day_of_year",
    **dict.fromkeys("Hk", "hour"),
    **dict.fromkeys("Il", "clock_hour"),
    "M": "minute",
    "S": "second",
}


@attrs.define
class _Fields:
    """The fields parsed from some strings, such as the year: one value for each string, or a default for fields that the format lacks."""

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
            indices = pc.index_in(pc.utf8_capitalize(pc.utf8_slice_codeunits(texts, 0, 3)), pa.array([month[:3] for month in MONTHS]))
            self.month = _chosen(indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) + 1, texts, self.month)
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
        field = _FIELDS[name]
        setattr(self, field, _chosen(_numbers(texts) + (2000 if name == "y" else 0), texts, getattr(self, field)))

    def hours(self) -> Any:
        """Return hours since midnight; if an hour of the 12-hour clock was parsed, from that."""
        of_clock = np.where(self.clock_hour == 12, 0, self.clock_hour) + 12 * np.asarray(self.is_afternoon, dtype=np.int64)
        return np.where(self.clock_hour >= 0, of_clock, self.hour)

    def wall_times(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the local times, and which rows have a valid date and time."""
        year, month, day = (np.broadcast_to(np.asarray(part, dtype=np.int64), (rows,)) for part in (self.year, self.month, self.day))
        is_valid = (year >= FIRST_YEAR) & (month >= 1) & (month <= 12) & (np.asarray(self.clock_hour) <= 12) & (np.asarray(self.clock_hour) != 0)
        months = ((year - 1970) * 12 + np.where(is_valid, month, 1) - 1).astype("datetime64[M]")
        first = months.astype("datetime64[D]")
        last = (months + np.timedelta64(1, "M")).astype("datetime64[D]") - first
        is_valid &= (day >= 1) & (day <= last.astype(np.int64))
        counted = np.broadcast_to(np.asarray(self.day_of_year, dtype=np.int64), (rows,))
        from_year = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]") + (counted - 1).astype("timedelta64[D]")
        is_valid &= (counted != 0) & (counted <= 366)
        days = np.where(counted > 0, from_year, first + (day - 1).astype("timedelta64[D]")).astype("datetime64[us]")
        # As in SFrame, an hour of 24 or more is only valid with zero minutes.
        is_valid &= (np.asarray(self.hours()) < 24) | (np.asarray(self.minute) == 0)
        time = (self.hours() * 60 + self.minute) * MINUTE + self.second * SECOND + self.microsecond
        wall = days + np.broadcast_to(np.asarray(time, dtype=np.int64), (rows,)).astype("timedelta64[us]")
        return wall, is_valid & (wall >= _FIRST) & (wall < _AFTER_LAST)


def _chosen(numbers: np.ndarray, texts: pa.Array, otherwise: Any) -> Any:
    return np.where(pc.not_equal(texts, "").to_numpy(zero_copy_only=False), numbers, otherwise)


def _numbers(texts: pa.Array) -> np.ndarray:
    return if_else(pc.equal(texts, ""), "0", texts).cast(pa.int64()).to_numpy(zero_copy_only=False)


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
    is_valid = []
    for text in coded.dictionary.to_pylist():
        try:
            minutes.append(zone_minutes(text))
            is_valid.append(True)
        except ValueError:
            minutes.append(None)
            is_valid.append(False)
    return pa.array(minutes, pa.int32()).take(coded.indices), np.array(is_valid, bool)[coded.indices.to_numpy()]


# Formats to suggest in errors, unambiguous in every country; the last one is what this package writes to CSV files.
_OFFSET = re.compile(r"\d(Z|[+-]\d\d:?\d\d)$")
_COMMON_FORMATS = ("%Y-%m-%dT%H:%M:%S%F", "%Y-%m-%d %H:%M:%S%F", "%Y%m%dT%H%M%S%F")


def _infer_parsed(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result; parameter: the format."""
    if types[0].kind != STR_KIND:
        raise SchemaError(f"str_to_datetime() takes texts, not values of {types[0].kind}")
    return ZONED_DATETIME if "ZP" in TimeFormat.of(parameters[0]).groups else DATETIME


def _compute_parsed(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    texts = array_of(arguments[0], rows)
    has_text = pc.not_equal(texts, "").fill_null(False)
    rows_with_text = np.flatnonzero(has_text.to_numpy(zero_copy_only=False))
    try:
        parsed = _read(texts.filter(has_text), parameters[0])
    except DateFormatError as error:
        raise DateFormatError(error.value, error.kind, int(rows_with_text[error.row])) from None
    indices = np.full(rows, -1)
    indices[rows_with_text] = np.arange(len(parsed))
    return parsed.take(pa.array(indices, mask=indices < 0))


def _read(texts: pa.Array, form: str, advises: bool = True) -> pa.Array:
    """Parse strings, none of which may be missing or empty; with ``advises`` an error suggests a format that fits the string, if one is known."""
    time_format, rows = TimeFormat.of(form), len(texts)
    matches = pc.extract_regex(texts, time_format.pattern)
    _require(matches.is_valid().to_numpy(zero_copy_only=False), texts, form, advises)
    groups = [matches.field(f"g{number}") for number in range(len(time_format.groups))]
    _require(np.any([pc.not_equal(group, "").to_numpy(zero_copy_only=False) for group in groups], axis=0), texts, form, advises)
    fields = _Fields()
    for name, group in zip(time_format.groups, groups, strict=True):
        fields.take(name, group)
    wall_times, is_valid = fields.wall_times(rows)
    _require(is_valid, texts, form, advises)
    wall = pa.array(wall_times.astype(np.int64))
    if fields.zone is None:
        return wall.cast(DATETIME.physical)
    offsets, is_valid = _offsets(fields.zone)
    _require(is_valid, texts, form, advises)
    utc = pc.subtract(wall, pc.multiply(offsets.fill_null(0).cast(pa.int64()), MINUTE))
    return zoned_array(utc.cast(DATETIME.physical), offsets, utc.is_valid())


def _require(is_valid: np.ndarray, texts: pa.Array, form: str, advises: bool) -> None:
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        text = texts[row].as_py()
        other = _format_of(text, form) if advises else None
        advice = "use another format, or clean the texts with apply() first" if other is None else f"the format {other!r} reads it"
        raise DateFormatError(brief(text), f"{form!r}: {advice}", row)


def _format_of(text: str, form: str) -> str | None:
    """Return a format that parses a string that ``form`` does not parse: ``form`` with ``%F`` instead of ``.%f``, or a common format; else None.

    What stands after the format's last directive is not read, so a string that ends in an offset needs a format that does.
    """
    offset = "%ZP" if _OFFSET.search(text) else ""
    for other in (form.replace(".%f", "%F"), *(common + offset for common in _COMMON_FORMATS)):
        with contextlib.suppress(ExecutionError):
            _read(pa.array([text]), other, advises=False)
            return other
    return None


define_function("moment_of_text", _infer_parsed, _compute_parsed, may_fail=True)


# Formatting.


def _infer_formatted(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result; parameter: the format."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"datetime_to_str() takes date-times, not values of {types[0].kind}: use astype(str)")
    return STR


def _compute_formatted(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return format_datetimes(wall_clock(arguments[0], types[0], rows), offsets_of(arguments[0], types[0], rows), parameters[0])


define_function("moment_text", _infer_formatted, _compute_formatted)
