"""Arithmetic on date-times: seconds are added to the instant, an offset from UTC stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import ExecutionError, SFrameError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.scalar_function import array_of
from sframe_spark.types import DATETIME, ZONED_PHYSICAL, ColumnType
from sframe_spark.udf.errors import error_transport
from sframe_spark.values.cast import microseconds_of, seconds_to_microseconds
from sframe_spark.values.datetimes import SECOND

if TYPE_CHECKING:
    from pyspark.sql import Column

# Beyond this many seconds (286,000 years) microseconds do not fit 64 bits. Such seconds, infinity and NaN move nothing: the reference was recorded to
# do so (`tests/data`), and programs that are ported may count on it.
_MOST_SECONDS = 9.0e12
BEYOND_BITS = "seconds move a date-time beyond the 292,000 years before and after 1970 that 64 bits of microseconds count: add fewer"


def shift(moments: Argument, seconds: Argument, column_type: ColumnType, sign: int, rows: int) -> pa.Array:
    """Move date-times by seconds; the fraction is cut off at microseconds."""
    moments, seconds = array_of(moments, rows), array_of(seconds, rows)
    floats = seconds.cast(pa.float64(), safe=False)
    within = pc.less(pc.abs(floats), _MOST_SECONDS)
    moved = seconds_to_microseconds(pc.if_else(within, floats, 0.0))
    try:
        instants = pc.add_checked(microseconds_of(moments, column_type), pc.multiply(moved, sign)).cast(DATETIME.physical)
    except pa.ArrowInvalid:
        raise ExecutionError(BEYOND_BITS) from None
    return with_offsets_of(moments, instants, column_type)


def with_offsets_of(moments: pa.Array, instants: pa.Array, column_type: ColumnType) -> pa.Array:
    """Date-times at other instants that stay in the offsets from UTC that they had, where they have any."""
    if not column_type.is_zoned:
        return instants
    offsets = pc.struct_field(moments, "offset")
    return pa.StructArray.from_arrays([instants, offsets], fields=list(ZONED_PHYSICAL), mask=pc.is_null(instants))


def difference(left: Argument, right: Argument, types: tuple[ColumnType, ColumnType]) -> Argument:
    """Seconds from the right date-times to the left ones."""
    microseconds = pc.subtract(microseconds_of(left, types[0]), microseconds_of(right, types[1]))
    return pc.divide(microseconds.cast(pa.float64(), safe=False), float(SECOND))


def raised(error: SFrameError, spark_type: str = "bigint") -> Column:
    """Spark column that raises an error."""
    from pyspark.sql import functions as F

    return F.raise_error(F.lit(error_transport().packed(error))).cast(spark_type)


def microseconds_column(column: Column, column_type: ColumnType) -> Column:
    """Spark column of microseconds since 1970 in UTC (the session's time zone is UTC)."""
    from pyspark.sql import functions as F

    instant = column["instant"] if column_type.is_zoned else column
    return F.unix_micros(instant.cast("timestamp"))


def moment_column(microseconds: Column, column: Column, column_type: ColumnType) -> Column:
    """Spark column of date-times at these microseconds, with the offsets of ``column`` if its type has any."""
    from pyspark.sql import functions as F

    instant = F.timestamp_micros(microseconds).cast("timestamp_ntz")
    if not column_type.is_zoned:
        return instant
    zoned = F.struct(instant.alias("instant"), column["offset"].alias("offset"))
    return F.when(microseconds.isNotNull(), zoned)


def shift_column(moments: Column, seconds: Column, column_type: ColumnType, sign: int) -> Column:
    """Spark column of :func:`shift`."""
    from pyspark.sql import functions as F

    floats = seconds.cast("double")
    whole = F.floor(floats)
    fraction = ((floats - whole.cast("double")) * float(SECOND)).cast("bigint")
    moved = F.when(F.abs(floats) < _MOST_SECONDS, whole * SECOND + fraction).when(floats.isNotNull(), F.lit(0))
    start = microseconds_column(moments, column_type)
    total = start + moved * sign
    # 64 bits wrap around: then the sum lies on the wrong side of the date-time.
    wrapped = (total < start) != (moved * sign < 0)
    return moment_column(F.when(wrapped, raised(ExecutionError(BEYOND_BITS))).otherwise(total), moments, column_type)


def difference_column(left: Column, right: Column, types: tuple[ColumnType, ColumnType]) -> Column:
    """Spark column of :func:`difference`."""
    microseconds = microseconds_column(left, types[0]) - microseconds_column(right, types[1])
    return microseconds.cast("double") / float(SECOND)
