"""Functions of texts, date-times and lists of narwhals' lazy frames, and the class of a column for narwhals' types.

They are functions of rows (``narwhals_terms``), with patterns and lengths that are one value for all rows.
"""

from __future__ import annotations

from typing import Any

from narwhals._compliant import LazyExprNamespace
from narwhals._compliant.any_namespace import ListNamespace
from narwhals._duration import Interval
from narwhals._sql.expr_dt import SQLExprDateTimeNamesSpace
from narwhals._sql.expr_str import SQLExprStringNamespace
from narwhals._utils import not_implemented

from sframe_spark.api.interchange.narwhals_terms import Term, ValueTerm, call
from sframe_spark.errors import UnsupportedOperationError

# Units of durations of narwhals, where ours have another name.
_UNITS = {"m": "min"}


def class_of(dtype: Any, version: Any) -> Any:
    """Return the class of a column for a type of narwhals: ints of all sizes are ints."""
    dtypes = version.dtypes
    base = dtype if isinstance(dtype, type) else type(dtype)
    if base is dtypes.Boolean:
        return "truth"
    for kind, found in ((int, ("Int64", "Int32", "Int16", "Int8")), (float, ("Float64",)), (str, ("String",))):
        if base.__name__ in found:
            return kind
    if base is dtypes.Datetime and (base is dtype or (dtype.time_zone is None and dtype.time_unit in ("us", "ns"))):
        return "datetime"
    if base is dtypes.List and not isinstance(dtype, type) and class_of(dtype.inner, version) is int:
        return "list of ints"
    raise UnsupportedOperationError(f"a lazy frame makes no columns of {dtype}, but of Int64, Float64, String and Boolean: collect() it before")


class TextsForNarwhals(SQLExprStringNamespace):
    """Functions of texts, with patterns that are values."""

    def _of(self, function: str, *options: Any) -> Any:
        return self.compliant._function_of_rows(function, *options)

    def _of_value(self, function: str, value: Any, *options: Any) -> Any:
        """Return a function with a text that is a value for all rows."""

        def made(expr: Term, value: Term) -> Term:
            return call(function, expr, options=(_value_of(value, function), *options))

        if isinstance(value, str):
            return self._of(function, value, *options)
        return self.compliant._with_elementwise(made, expression_args={"value": value})

    def contains(self, pattern: Any, *, literal: bool) -> Any:
        return self._of_value("contains", pattern, literal)

    def starts_with(self, prefix: Any) -> Any:
        return self._of_value("startswith", prefix)

    def ends_with(self, suffix: Any) -> Any:
        return self._of_value("endswith", suffix)

    def replace(self, value: Any, pattern: str, *, literal: bool, n: int) -> Any:
        return self._replaced(value, pattern, n, literal)

    def replace_all(self, value: Any, pattern: str, *, literal: bool) -> Any:
        return self._replaced(value, pattern, None, literal)

    def _replaced(self, value: Any, pattern: str, count: int | None, literal: bool) -> Any:
        def made(expr: Term, value: Term) -> Term:
            text = _value_of(value, "replace")
            replaces_all = count is None or (count == 1 and not literal and _matches_once(pattern, text))
            return call("replace", expr, options=(pattern, text, None if replaces_all else count, literal))

        return self.compliant._with_elementwise(made, expression_args={"value": value})

    def slice(self, offset: int, length: int | None) -> Any:
        end = None if length is None else offset + length
        return self._of("slice", offset, None if end is not None and offset < 0 <= end else end)

    def split(self, by: str) -> Any:
        return self._of("split", by)

    def strip_chars(self, characters: str | None) -> Any:
        return self._of("strip", characters)

    def strip_chars_start(self, characters: str | None) -> Any:
        return self._of("lstrip", characters)

    def strip_chars_end(self, characters: str | None) -> Any:
        return self._of("rstrip", characters)

    def to_lowercase(self) -> Any:
        return self._of("lower")

    def to_uppercase(self) -> Any:
        return self._of("upper")

    def zfill(self, width: int) -> Any:
        return self._of("zfill", width)

    def pad_start(self, length: int, fill_char: str = " ") -> Any:
        return self._of("pad", length, "left", fill_char)

    def pad_end(self, length: int, fill_char: str = " ") -> Any:
        return self._of("pad", length, "right", fill_char)

    def to_datetime(self, format: str | None) -> Any:
        if format is None:
            raise UnsupportedOperationError("a lazy frame does not guess the format of date-times: give one")
        return self._of("strptime", format)

    to_titlecase = not_implemented()
    to_date = not_implemented()
    to_time = not_implemented()


def _matches_once(pattern: str, text: str) -> bool:
    """Return whether all matches of a pattern are the first one: at the beginning of a text, or at its end, where an empty match may follow."""
    if "|" in pattern:
        return False
    return pattern.startswith("^") or (not text and pattern.endswith("$") and not pattern.endswith("\\$"))


def _value_of(term: Term, function: str) -> Any:
    if not isinstance(term, ValueTerm):
        raise UnsupportedOperationError(f"{function} takes a text for all rows from a lazy frame, not a column: collect() it before")
    return term.value


class TimesForNarwhals(SQLExprDateTimeNamesSpace):
    """Functions of date-times."""

    def weekday(self) -> Any:
        return self.compliant._function_of_rows("isoweekday")

    def microsecond(self) -> Any:
        return self.compliant._function_of_rows("microsecond")

    def millisecond(self) -> Any:
        return self.compliant._with_elementwise(lambda expr: call("floordiv", call("microsecond", expr), 1000))

    def nanosecond(self) -> Any:
        return self.compliant._with_elementwise(lambda expr: call("mul", call("microsecond", expr), 1000))

    def to_string(self, format: str) -> Any:
        # Polars writes the digits of a second with their point.
        return self.compliant._function_of_rows("strftime", format.replace("%.f", ".%f"))

    def offset_by(self, by: str) -> Any:
        interval = Interval.parse_no_constraints(by)
        if interval.unit == "ns" and interval.multiple % 1000:
            raise UnsupportedOperationError("date-times have microseconds")
        multiple, unit = (interval.multiple // 1000, "us") if interval.unit == "ns" else (interval.multiple, interval.unit)
        return self.compliant._function_of_rows("shift_time", f"{multiple}{_UNITS.get(unit, unit)}", unit in ("d", "w", "mo", "q", "y"))

    def timestamp(self, time_unit: str) -> Any:
        return self.compliant._function_of_rows("timestamp", {"ns": -1000, "us": 1, "ms": 1000}[time_unit])

    # A difference of date-times is a number of seconds.

    def _total(self, microseconds: int) -> Any:
        return self.compliant._function_of_rows("duration", microseconds)

    def total_minutes(self) -> Any:
        return self._total(60_000_000)

    def total_seconds(self) -> Any:
        return self._total(1_000_000)

    def total_milliseconds(self) -> Any:
        return self._total(1000)

    def total_microseconds(self) -> Any:
        return self._total(1)

    def total_nanoseconds(self) -> Any:
        return self._total(-1000)

    def truncate(self, every: str) -> Any:
        interval = Interval.parse(every)
        if interval.unit == "ns":
            raise UnsupportedOperationError("date-times have microseconds")
        return self.compliant._function_of_rows("floor_time", f"{interval.multiple}{_UNITS.get(interval.unit, interval.unit)}")

    date = not_implemented()
    convert_time_zone = not_implemented()
    replace_time_zone = not_implemented()


class ListsForNarwhals(LazyExprNamespace, ListNamespace):
    """Functions of lists."""

    def len(self) -> Any:
        return self.compliant._function_of_rows("list_length")

    unique = not_implemented()
    contains = not_implemented()
    get = not_implemented()
    min = not_implemented()
    max = not_implemented()
    mean = not_implemented()
    median = not_implemented()
    sum = not_implemented()
    sort = not_implemented()
