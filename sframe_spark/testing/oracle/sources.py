"""Rows of sources, read with nothing but pyarrow."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.testing.oracle.values import Row

if TYPE_CHECKING:
    from sframe_spark.testing.oracle.evaluate import Table


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
