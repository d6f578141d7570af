"""Plain Python values: order, identity for grouping, 64 bit ints, comparison of results."""

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
    from sframe_spark.testing.oracle.interpreter import Table


Row = tuple[Any, ...]
TOLERANCE = 1e-9


def is_nan(value: Any) -> bool:
    """True for a float NaN."""
    return isinstance(value, float) and value != value


def rank(value: Any) -> tuple[Any, ...]:
    """Place of a value in ascending order: missing first, NaN last.

    Examples
    --------
    >>> sorted([2.0, float("nan"), None, 1.0], key=rank)
    [None, 1.0, 2.0, nan]
    """
    if value is None:
        return (0,)
    return (2,) if is_nan(value) else (1, value)


def token(value: Any) -> Any:
    """A hashable that is equal for equal values: NaN equals NaN, missing equals missing, the offset of a date-time counts."""
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
    """The int modulo 2**64 that 64 bits hold.

    Examples
    --------
    >>> wrap(2**63) == -(2**63)
    True
    """
    return (number + 2**63) % 2**64 - 2**63


def exact_sum(values: Iterable[Any]) -> Any:
    """Sum of floats with one rounding, or of ints modulo 2**64; NaN and infinities act as IEEE has it."""
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
    """True if two values are of one class and equal; NaN equals NaN, floats within a relative tolerance.

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
    """True if two sequences of rows are equal, row by row, in order."""
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
    """A stored pair of an instant and minutes east of UTC as a date-time."""
    if offset is None:
        return instant
    return instant.replace(tzinfo=datetime.UTC).astimezone(datetime.timezone(datetime.timedelta(minutes=offset)))


def _as_dict(value: Any) -> dict[Any, Any]:
    """A native map is a list of pairs; an encoded one is JSON text with its pairs under a tag."""
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
    """Segment files one after the other, in the order of the manifest."""
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
    """What was written into an archive for a test, which stands beside it."""
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
    """Rows as Spark gives them now: an order only if the plan makes one."""
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
"""Meanings of the operators without inputs."""
