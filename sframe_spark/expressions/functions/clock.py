"""Times of a uniform clock: tick numbers as times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.scalar_function import array_of, define_function
from sframe_spark.types import DATETIME, FLOAT, INT, ZONED_DATETIME, ZONED_PHYSICAL, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

TIME_TYPES = {"int": INT, "float": FLOAT, "datetime": DATETIME, "zoned datetime": ZONED_DATETIME}


def _infer_tick(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Parameters: name of the time's type, time of tick zero, time between ticks (microseconds for date-times), offset in minutes."""
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
    offsets = pa.array(np.full(rows, offset, dtype=np.int32))
    return pa.StructArray.from_arrays([instants, offsets], fields=list(ZONED_PHYSICAL))


def _build_tick(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    from pyspark.sql import functions as F

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
