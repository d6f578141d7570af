"""Partition columns, whose values are in the names of the directories of files; their types are inferred by Spark's rules."""

from __future__ import annotations

import datetime
import itertools
import math
import re
import urllib.parse
from collections.abc import Callable, Sequence

import attrs
import pyarrow as pa

from sframe_spark.storage.filesystem.input_files import DataFile, values_of_partitions
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics, Scalar
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.datetimes import to_microseconds
from sframe_spark.values.plain_values import LARGEST_INT, SMALLEST_INT

# As in Java, integers may have decimal digits of any script, and floats only 0 to 9.
_INT = re.compile(r"[+-]?\d{1,1000}")
_DECIMAL = re.compile(r"[+-]?(?P<digits>\d{1,400})(?:\.(?P<fraction>\d{0,400}))?(?:[eE](?P<exponent>[+-]?\d{1,4}))?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]{1,9}[fFdD]?")
_DOUBLE = re.compile(rf"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{{1,9}})?[fFdD]?)|{_HEXADECIMAL.pattern}")
# The characters that Java removes from the ends of numbers.
_JAVA_BLANKS = "".join(map(chr, range(33)))
_MAX_DIGITS = 38
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Spark accepts at most one fractional digit.
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9])?")
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?")


@attrs.frozen
class PartitionColumn:
    """A column that has the same value in all rows of a file.

    Parameters
    ----------
    name
        The name of the column.
    type
        The type of the column.
    values
        The value in each file, in the form that :class:`ColumnStatistics` has; None if it is missing.
    """

    name: str
    type: ColumnType
    values: tuple[Scalar, ...]


def partition_columns(files: Sequence[DataFile]) -> list[PartitionColumn]:
    """Return the partition columns in the directory names of some files.

    The type of a column is the common type of the types that Spark infers for its values. Columns without a value are strings; so are columns
    with integers that do not fit 64 bits, and columns of floats and integers if an integer does not fit 32 bits.
    """
    columns = []
    for name, texts in values_of_partitions(files):
        column_type, read = _COMMON.get(frozenset(kind_of_value(text) for text in texts if text is not None), _TEXT)
        # Each distinct value is converted once, since many files have the same value.
        values = {text: None if text is None else read(text) for text in dict.fromkeys(texts)}
        columns.append(PartitionColumn(name, column_type, tuple(values[text] for text in texts)))
    return columns


def kind_of_value(text: str) -> str:
    """Return a name for the type that Spark infers for a value in a directory name.

    Examples
    --------
    >>> [kind_of_value(text) for text in ("01", "2147483648", "1e3", "1d", "2020-01-01", "2020-01-01 10%3A00%3A00", "true")]
    ['int', 'long', 'whole', 'double', 'date', 'timestamp', 'text']
    """
    if _INT.fullmatch(text):
        value = int(text)
        if -(2**31) <= value < 2**31:
            return "int"
        return "long" if SMALLEST_INT <= value <= LARGEST_INT else "huge"
    whole = _whole(text)
    if whole is not None:
        return "whole" if SMALLEST_INT <= whole <= LARGEST_INT else "huge"
    if _DOUBLE.fullmatch(text.strip(_JAVA_BLANKS)):
        return "double"
    if _DATE.fullmatch(text) and _microseconds(text) is not None:
        return "date"
    unquoted = urllib.parse.unquote(text)
    if _TIMESTAMP.fullmatch(unquoted) and _microseconds(unquoted) is not None:
        return "timestamp"
    return "time" if _TIME.fullmatch(unquoted) else "text"


def _whole(text: str) -> int | None:
    """Return the value of a decimal number without fraction digits, such as ``1e3`` or ``1.5e1``; None for other strings, or beyond 38 digits."""
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return None
    exponent = int(match["exponent"] or 0) - len(match["fraction"] or "")
    digits = int(match["digits"] + (match["fraction"] or ""))
    if exponent < 0 or len(str(digits)) + exponent > _MAX_DIGITS:
        return None
    return (-digits if text.startswith("-") else digits) * 10**exponent


def _as_int(text: str) -> int:
    whole = _whole(text)
    return int(text) if whole is None else whole


def _as_float(text: str) -> float:
    number = text.strip(_JAVA_BLANKS)
    if _HEXADECIMAL.fullmatch(number):
        try:
            return float.fromhex(number.rstrip("dDfF") if number[-1] in "dDfF" else number)
        except OverflowError:
            return math.inf if not number.startswith("-") else -math.inf
    return float(number.rstrip("dDfF"))


def _microseconds(text: str) -> int | None:
    try:
        return to_microseconds(datetime.datetime.fromisoformat(text))[0]
    except ValueError:
        return None


def _as_seconds(text: str) -> float:
    hours, minutes, seconds = urllib.parse.unquote(text).split(":")
    return int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds)


_Reader = Callable[[str], Scalar]
_TEXT: tuple[ColumnType, _Reader] = (STR, urllib.parse.unquote)
_INTS: tuple[ColumnType, _Reader] = (INT, _as_int)
_FLOATS: tuple[ColumnType, _Reader] = (FLOAT, _as_float)
_DATETIMES: tuple[ColumnType, _Reader] = (DATETIME, lambda text: _microseconds(urllib.parse.unquote(text)))
_WHOLE_KINDS = ("int", "long", "whole")
# For combinations of inferred types, the column type and the function that converts values. Any other combination is a string column.
_COMMON: dict[frozenset[str], tuple[ColumnType, _Reader]] = {
    **{frozenset(kinds): _INTS for count in (1, 2, 3) for kinds in itertools.combinations(_WHOLE_KINDS, count)},
    frozenset({"double"}): _FLOATS,
    # Integers of 32 bits are exact as floats.
    frozenset({"int", "double"}): _FLOATS,
    frozenset({"date"}): _DATETIMES,
    frozenset({"timestamp"}): _DATETIMES,
    frozenset({"date", "timestamp"}): _DATETIMES,
    frozenset({"time"}): (FLOAT, _as_seconds),
}


def facts_of(value: Scalar, rows: int) -> ColumnStatistics:
    """Return the statistics of a column that has the same value in all rows; unknown statistics for NaN."""
    if isinstance(value, float) and math.isnan(value):
        return UNKNOWN_STATISTICS
    single = rows == 1
    return ColumnStatistics(
        ascending=True, descending=True, strictly_ascending=single, strictly_descending=single, constant=True, has_missing=value is None,
        has_nan=False, edges_known=True, first=value, last=value, bounds_known=True, minimum=value, maximum=value,
    )  # fmt: skip


def repeated(value: Scalar, column_type: ColumnType, rows: int) -> pa.Array:
    """Return a column with one value in all rows.

    Examples
    --------
    >>> repeated(0, DATETIME, 1).to_pylist()
    [datetime.datetime(1970, 1, 1, 0, 0)]
    """
    return pa.nulls(rows, column_type.physical) if value is None else pa.repeat(pa.scalar(value, column_type.physical), rows)
