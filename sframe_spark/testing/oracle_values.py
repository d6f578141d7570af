"""The oracle's values: order, identity for grouping, 64-bit ints, comparison, rows of sources, scalar functions."""

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
    """Sort key of a value in ascending order: missing first, NaN last.

    Examples
    --------
    >>> sorted([2.0, float("nan"), None, 1.0], key=rank)
    [None, 1.0, 2.0, nan]
    """
    if value is None:
        return (0,)
    return (2,) if is_nan(value) else (1, value)


def token(value: Any) -> Any:
    """A hashable value that is equal for equal values: NaN equals NaN, missing equals missing, the offset of a datetime counts."""
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
    """Reduce an int modulo 2**64 to 64 bits.

    Examples
    --------
    >>> wrap(2**63) == -(2**63)
    True
    """
    return (number + 2**63) % 2**64 - 2**63


def exact_sum(values: Iterable[Any]) -> Any:
    """Sum of floats with a single rounding, or of ints modulo 2**64; NaN and infinities follow IEEE."""
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
    """Return whether two values are of one class and equal; NaN equals NaN, floats within a relative tolerance.

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
    """Return whether two sequences of rows are equal, row by row, in order."""
    if len(found) != len(expected):
        return False
    return all(len(a) == len(b) and all(map(value_equal, a, b)) for a, b in zip(found, expected, strict=True))


# Rows of sources, read with nothing but pyarrow.


def cells(column: Any, column_type: Any) -> list[Any]:
    """Python values of an Arrow column as users see them."""
    values = column.to_pylist()
    if column_type.kind == "dict":
        return [None if value is None else _as_dict(value) for value in values]
    if column_type.kind == "list" and pa.types.is_string(column_type.physical):
        return [None if value is None else json.loads(value) for value in values]
    if column_type.is_zoned:
        return [None if value is None else _zoned(value["instant"], value["offset"]) for value in values]
    return values


def _zoned(instant: datetime.datetime, offset: int | None) -> datetime.datetime:
    """A stored pair of an instant and an offset in minutes as a datetime."""
    if offset is None:
        return instant
    return instant.replace(tzinfo=datetime.UTC).astimezone(datetime.timezone(datetime.timedelta(minutes=offset)))


def _as_dict(value: Any) -> dict[Any, Any]:
    """Convert a native map, a list of pairs, or an encoded one, JSON with its pairs under a tag."""
    if isinstance(value, str):
        value = json.loads(value)["$dict"]
    return dict(value)


def rows_of(columns: Sequence[Any], types: Sequence[Any]) -> list[Row]:
    """Rows of Arrow columns."""
    return list(zip(*[cells(column, column_type) for column, column_type in zip(columns, types, strict=True)], strict=True))


def _memory(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    if not operator.positions:
        return [()] * (operator.stop - operator.start)
    types = [operator.types[position] for position in operator.positions]
    return rows_of([operator.data.column(position, operator.start, operator.stop) for position in operator.positions], types)


def _segments(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """The rows of all segment files, in the order of the manifest."""
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
    """The rows of a test's archive, which are stored next to it as Parquet."""
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
    """Rows as Spark returns them; ordered only if the plan is."""
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
    """Make a function return missing if an argument is missing."""
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
    """IEEE division: a zero divisor gives an infinity, or NaN for zero and NaN."""
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
    """1 where values are equal; missing equals missing, NaN equals NaN."""
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
    """1 for a value that counts as true: NaN does, zero and empty values do not."""
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
    """The value as another kind: int to float, int to text, float to int towards zero, NaN to missing."""
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
    """The value moved into a range; missing and NaN stay."""
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
