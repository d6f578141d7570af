"""What the families of aggregates share: type checks and the collected form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.operators.aggregates.base import AggregateFunction, Reduce, register_aggregate
from sframe_spark.types import ColumnType
from sframe_spark.values.encode import encode

if TYPE_CHECKING:
    from pyspark.sql import Column

Infer = Callable[[Sequence[ColumnType], tuple[Any, ...]], ColumnType]


def require(name: str, column_type: ColumnType, kinds: Sequence[str]) -> None:
    """Refuse a column type.

    Raises
    ------
    UnsupportedOperationError
        If the kind is not one of those named.
    """
    if column_type.kind not in kinds:
        raise UnsupportedOperationError(f"{name} takes a column of {', '.join(kinds)}, not of {column_type.kind}")


def define_collected(name: str, infer: Infer, reduce: Reduce) -> AggregateFunction:
    """An aggregate that Spark computes by collecting each group's rows in row order and reducing them with the Arrow implementation.

    One meaning for both lowerings; for results whose size grows with the group, or that have no built-in Spark form.
    """
    from_groups = _Finish(infer, reduce)
    return register_aggregate(AggregateFunction(name, infer, collect_rows, reduce, True, from_groups))


def collect_rows(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...], order: Column) -> Column:
    """The argument columns of a group as one array of structs in row order."""
    from pyspark.sql import functions as F

    values = [_orderable(column, kind).alias(f"v{i}") for i, (column, kind) in enumerate(zip(columns, types, strict=True))]
    rows = F.sort_array(F.collect_list(F.struct(order.alias("o"), *values)))
    return F.transform(rows, lambda row: F.struct(*[row[f"v{i}"].alias(f"v{i}") for i in range(len(values))]))


def _orderable(column: Column, column_type: ColumnType) -> Column:
    """Maps as arrays of entries: Spark does not sort structs that hold a map."""
    from pyspark.sql import functions as F

    return F.map_entries(column) if pa.types.is_map(column_type.physical) else column


class _Finish:
    """The step after a collected aggregation: the Arrow implementation over each group, in an Arrow UDF."""

    def __init__(self, infer: Infer, reduce: Reduce) -> None:
        self.infer = infer
        self.reduce = reduce

    def __call__(self, column: Column, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
        from pyspark.sql import functions as F

        from sframe_spark.operators.spark_columns import spark_type

        result = self.infer(types, parameters)
        reduce, kinds = self.reduce, list(types)

        def finish(groups: pa.Array) -> pa.Array:
            from sframe_spark.operators.worker import guarded

            return guarded(lambda: reduce_groups(groups, reduce, kinds, parameters, result))

        finish.__annotations__ = {}
        return F.arrow_udf(finish, spark_type(result))(column)


def reduce_groups(groups: pa.Array, reduce: Reduce, types: Sequence[ColumnType], parameters: tuple[Any, ...], result: ColumnType) -> pa.Array:
    """One result per list of structs."""
    if isinstance(groups, pa.ChunkedArray):
        groups = groups.combine_chunks()
    values = []
    for index in range(len(groups)):
        rows = groups[index].values
        columns = [restored(rows.field(i), kind) for i, kind in enumerate(types)]
        values.append(reduce(columns, types, parameters))
    return encode(values, result)


def restored(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """A collected column in its physical type again."""
    physical = column_type.physical
    if pa.types.is_map(physical) and not pa.types.is_map(column.type):
        items = [None if cell is None else [(entry["key"], entry["value"]) for entry in cell] for cell in column.to_pylist()]
        return pa.array(items, physical)
    return column if column.type.equals(physical) else column.cast(physical)
