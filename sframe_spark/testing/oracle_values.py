"""Values in the oracle: how they are sorted, grouped and compared, how sources are read, and the scalar functions."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from sframe_spark.testing.oracle import Table


Row = tuple[Any, ...]
TOLERANCE = 1e-9


def is_nan(value: Any) -> bool:
    """Return whether a value is a float NaN."""
    return isinstance(value, float) and value != value


def rank(value: Any) -> tuple[Any, ...]:
    """Return a key that sorts values in ascending order, missing values first and NaN last.

    Examples
    --------
    >>> sorted([2.0, float("nan"), None, 1.0], key=rank)
    [None, 1.0, 2.0, nan]
    """
    if value is None:
        return (0,)
    return (2,) if is_nan(value) else (1, value)


def token(value: Any) -> Any:
    """Return a hashable key that is the same for equal values of one type.

    NaN equals NaN, missing equals missing, a list equals a tuple with the same items. Datetimes with different UTC offsets differ.
    """
    if is_nan(value):
        return ("nan",)
    if isinstance(value, (list, tuple)):
        return ("list", *map(token, value))
    if isinstance(value, dict):
        return ("dict", frozenset((token(key), token(item)) for key, item in value.items()))
    if isinstance(value, datetime.datetime):
        return ("datetime", value, value.utcoffset())
    return (type(value).__name__, value)


def wrap(number: int) -> int:
    """Return the signed 64-bit int that is congruent to an int modulo 2**64, as after overflow.

    Examples
    --------
    >>> wrap(2**63) == -(2**63)
    True
    """
    return (number + 2**63) % 2**64 - 2**63


def exact_sum(values: Iterable[Any]) -> Any:
    """Return the sum of ints as a 64-bit int that wraps around, or of floats with a single rounding.

    If a float is not finite, or the sum overflows, the floats are added in order with IEEE arithmetic.
    """
    numbers = list(values)
    if all(isinstance(number, int) for number in numbers):
        return wrap(sum(numbers))
    floats = [float(number) for number in numbers]
    if all(math.isfinite(number) for number in floats):
        try:
            return math.fsum(floats)
        except OverflowError:
            pass
    return sum(floats)


def value_equal(found: Any, expected: Any) -> bool:
    """Return whether two values have the same type and are equal.

    NaN equals NaN, floats may differ by a small relative or absolute tolerance, and a list may equal a tuple.

    Examples
    --------
    >>> value_equal(1, 1.0), value_equal(float("nan"), float("nan")), value_equal(0.1 + 0.2, 0.3)
    (False, True, True)
    """
    if isinstance(found, float) and isinstance(expected, float):
        if is_nan(found) or is_nan(expected):
            return is_nan(found) and is_nan(expected)
        return found == expected or math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(found, Sequence) and isinstance(expected, Sequence) and not isinstance(found, str):
        return len(found) == len(expected) and all(map(value_equal, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(value_equal(found[key], expected[key]) for key in found)
    return type(found) is type(expected) and bool(found == expected)


def rows_equal(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Return whether two sequences have equal rows in the same order."""
    if len(found) != len(expected):
        return False
    return all(len(a) == len(b) and all(map(value_equal, a, b)) for a, b in zip(found, expected, strict=True))


# Rows of sources, read with pyarrow instead of the engine.


def cells(column: Any, column_type: Any) -> list[Any]:
    """Return the Python values of an Arrow column, as users see them."""
    values = column.to_pylist()
    if column_type.kind == "dict":
        return [None if value is None else _as_dict(value) for value in values]
    if column_type.kind == "list" and pa.types.is_string(column_type.physical):
        return [None if value is None else json.loads(value) for value in values]
    if column_type.is_zoned:
        return [None if value is None else _zoned(value["instant"], value["offset"]) for value in values]
    return values


def _zoned(instant: datetime.datetime, offset: int | None) -> datetime.datetime:
    """Return the datetime of a stored instant (UTC) and its offset in minutes; without a time zone if there is no offset."""
    if offset is None:
        return instant
    return instant.replace(tzinfo=datetime.UTC).astimezone(datetime.timezone(datetime.timedelta(minutes=offset)))


def _as_dict(value: Any) -> dict[Any, Any]:
    """Convert a stored dict to a dict: either a list of pairs (an Arrow map), or JSON with the pairs under the key ``$dict``."""
    if isinstance(value, str):
        value = json.loads(value)["$dict"]
    return dict(value)


def rows_of(columns: Sequence[Any], types: Sequence[Any]) -> list[Row]:
    """Return the rows of Arrow columns, as tuples of Python values."""
    return list(zip(*[cells(column, column_type) for column, column_type in zip(columns, types, strict=True)], strict=True))


def _memory(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    if not operator.positions:
        return [()] * (operator.stop - operator.start)
    types = [operator.types[position] for position in operator.positions]
    return rows_of([operator.data.column(position, operator.start, operator.stop) for position in operator.positions], types)


def _segments(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Return the rows from ``start`` to ``stop`` of all segment files together, in the order of the manifest."""
    manifest = operator.manifest
    types = [manifest.types[position] for position in operator.positions]
    in_files = manifest.column_names_in_files
    names = [f"c{position}" if in_files is None else in_files[position] for position in operator.positions]
    rows: list[Row] = []
    for segment in manifest.segments:
        if segment.rows:
            table = pq.read_table(f"{manifest.directory}/{segment.file}", columns=sorted(set(names)), partitioning=None)
            rows += rows_of([table.column(name) for name in names], types) if names else [()] * segment.rows
    return rows[operator.start : operator.stop]


def _segment_parts(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    rows = _segments(attrs.evolve(operator.whole, start=0, stop=operator.manifest.rows), inputs)
    return [row for first, last in operator.ranges for row in rows[first:last]]


def _archive(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Return the rows of an archive that a test wrote, read from the Parquet copy that the test stored in the archive's directory."""
    if not operator.positions:
        return [()] * (operator.stop - operator.start)
    types = operator.infer_type(())
    table = pq.read_table(f"{operator.archive.location}/written.parquet", partitioning=None)
    return rows_of([table.column(f"c{position}") for position in operator.positions], types)[operator.start : operator.stop]


def _range(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [(operator.start + operator.step * place,) for place in range(operator.rows)]


def _constant(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    return [(operator.literal.value,)] * operator.rows


def _spark(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Return the rows that Spark collects; their order is only defined if the DataFrame is sorted."""
    return [tuple(_plain(value) for value in row) for row in operator.df.collect()]


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


SOURCES: dict[str, Callable[[Any, Sequence[Table]], list[Row]]] = {
    "memory_source": _memory,
    "segment_source": _segments,
    "segment_parts": _segment_parts,
    "archive_source": _archive,
    "range_source": _range,
    "constant_source": _constant,
    "spark_source": _spark,
}
"""Implementations of operators without inputs."""


# Scalar functions on plain Python values.

Scalar = Callable[..., Any]


def missing_if_any(function: Scalar) -> Scalar:
    """Return a function that returns None if an argument is None, and otherwise calls the given function."""
    return lambda *arguments: None if any(argument is None for argument in arguments) else function(*arguments)


def _int_or_float(left: Any, right: Any, of_ints: Scalar, of_floats: Scalar) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return of_ints(left, right)
    return of_floats(float(left), float(right))


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        return left + right
    return _int_or_float(left, right, lambda a, b: wrap(a + b), lambda a, b: a + b)


def _subtract(left: Any, right: Any) -> Any:
    return _int_or_float(left, right, lambda a, b: wrap(a - b), lambda a, b: a - b)


def _multiply(left: Any, right: Any) -> Any:
    return _int_or_float(left, right, lambda a, b: wrap(a * b), lambda a, b: a * b)


def _divide(left: Any, right: Any) -> float:
    """Divide like IEEE: a zero divisor gives an infinity, or NaN if the dividend is zero or NaN."""
    dividend, divisor = float(left), float(right)
    if divisor != 0.0:
        return dividend / divisor
    if dividend == 0.0 or is_nan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def _floor_divide(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return None if right == 0 else wrap(left // right)
    quotient = _divide(left, right)
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


def _modulo(left: int, right: int) -> int | None:
    return None if right == 0 else left % right


def _negate(value: Any) -> Any:
    return wrap(-value) if isinstance(value, int) else -value


def _absolute(value: Any) -> Any:
    return wrap(abs(value)) if isinstance(value, int) else abs(value)


def equal(left: Any, right: Any) -> int:
    """Return 1 if two values are equal, otherwise 0; missing equals missing, NaN equals NaN, and a string equals only strings."""
    if left is None or right is None:
        return int(left is None and right is None)
    if is_nan(left) or is_nan(right):
        return int(is_nan(left) and is_nan(right))
    if isinstance(left, str) is not isinstance(right, str):
        return 0
    return int(left == right)


def _or_equal(compare: Scalar) -> Scalar:
    return missing_if_any(lambda left, right: int(compare(left, right) or (is_nan(left) and is_nan(right))))


def truth(value: Any) -> int | None:
    """Return 0 for zero and for empty values, None for a missing value, and 1 for all others, including NaN."""
    return None if value is None else int(value != 0) if isinstance(value, (int, float)) else int(len(value) > 0)


def _known_truth(value: Any) -> int | None:
    return None if is_nan(value) else truth(value)


def _and(left: Any, right: Any) -> int | None:
    first, second = _known_truth(left), _known_truth(right)
    if first == 0 or second == 0:
        return 0
    return None if first is None or second is None else 1


def _or(left: Any, right: Any) -> int | None:
    first, second = _known_truth(left), _known_truth(right)
    if first == 1 or second == 1:
        return 1
    return None if first is None or second is None else 0


def _is_missing(value: Any) -> bool:
    return value is None or is_nan(value)


def cast(value: Any, source: str, target: str) -> Any:
    """Convert a value to another kind: int to float or string, or float to int; missing and NaN become missing.

    Floats are rounded towards zero; those outside of 64 bits become the smallest int.

    Raises
    ------
    KeyError
        For all other pairs of different kinds.
    """
    if value is None or is_nan(value):
        return None
    if source == target:
        return value
    if (source, target) == ("int", "float"):
        return float(value)
    if (source, target) == ("int", "str"):
        return str(value)
    if (source, target) == ("float", "int"):
        return int(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)
    raise KeyError(f"the oracle has no cast from {source} to {target}")


def clip(value: Any, lower: Any, upper: Any) -> Any:
    """Return the value, or the bound that it exceeds; missing and NaN stay. The result is a float if the value or a bound is."""
    if value is None or is_nan(value):
        return value
    as_float = any(isinstance(number, float) for number in (value, lower, upper))
    if lower is not None and value < lower:
        value = lower
    if upper is not None and value > upper:
        value = upper
    return float(value) if as_float else value


SCALARS: dict[str, Scalar] = {
    "add": missing_if_any(_add),
    "subtract": missing_if_any(_subtract),
    "multiply": missing_if_any(_multiply),
    "divide": missing_if_any(_divide),
    "floor_divide": missing_if_any(_floor_divide),
    "modulo": missing_if_any(_modulo),
    "negate": missing_if_any(_negate),
    "absolute": missing_if_any(_absolute),
    "positive": lambda value: value,
    "equal": equal,
    "not_equal": lambda left, right: 1 - equal(left, right),
    "less": missing_if_any(lambda left, right: int(left < right)),
    "less_equal": _or_equal(lambda left, right: left <= right),
    "greater": missing_if_any(lambda left, right: int(left > right)),
    "greater_equal": _or_equal(lambda left, right: left >= right),
    "truth": truth,
    "and_": _and,
    "or_": _or,
    "if_else": lambda condition, first, second: first if truth(condition) == 1 else second,
    "is_missing": lambda value: int(_is_missing(value)),
    "is_not_missing": lambda value: int(not _is_missing(value)),
    "coalesce": lambda first, second: second if _is_missing(first) else first,
}
"""Functions of values alone."""

PARAMETRIC: dict[str, Scalar] = {
    "fill_missing": lambda value, fill: fill if _is_missing(value) else value,
    "clip": clip,
    "is_in": lambda value, wanted: int(any(item is None if value is None else value == item for item in wanted)),
    "literal": lambda constant, column_type: constant,
    "recode": lambda value, column_type: value,
}
"""Functions of values and static parameters, in that order."""
