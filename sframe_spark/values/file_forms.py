"""Columns as other programs know them: Arrow arrays of types that files of any format have."""

from __future__ import annotations

import pyarrow as pa

from sframe_spark.types import ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.json_text import json_text

# A moment: the instant without the offset that it was written with.
INSTANT = pa.timestamp("us", "UTC")


def outgoing_type(column_type: ColumnType) -> pa.DataType:
    """Return the Arrow type in which a column goes out.

    Examples
    --------
    >>> from sframe_spark.types import ZONED_DATETIME
    >>> outgoing_type(ZONED_DATETIME)
    TimestampType(timestamp[us, tz=UTC])
    """
    return INSTANT if column_type.is_zoned else column_type.physical


def outgoing(array: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return the values of a column for other programs; missing ones are null.

    Date-times with an offset become the instants that they are, and lists and dicts of mixed values JSON texts.

    Raises
    ------
    DamagedValueError
        If a stored list or dict cannot be read.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> outgoing(pa.array(['[1,{"$float":"nan"}]', None]), ENCODED_LIST).to_pylist()
    ['[1, NaN]', None]
    """
    if column_type.is_zoned:
        # Arrow makes the instants of missing rows missing, too.
        return array.flatten()[0].cast(INSTANT)
    if column_type.is_encoded:
        return pa.array([None if value is None else json_text(value) for value in decode(array, column_type)], pa.string())
    return array
