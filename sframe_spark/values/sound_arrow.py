"""Arrow data that others made, looked at before anything is computed of it: Arrow itself believes it."""

from __future__ import annotations

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.visible import visible


def require_sound(values: pa.Array | pa.ChunkedArray) -> None:
    """Refuse offsets outside the values and texts that are not UTF-8.

    Raises
    ------
    InvalidArgumentError
        If there are such.

    Examples
    --------
    >>> require_sound(pa.array(["a", None]))
    >>> require_sound(pa.array([b"\\xff"]).cast(pa.string(), safe=False).view(pa.string()))
    Traceback (most recent call last):
        ...
    sframe_spark.errors.InvalidArgumentError: its Arrow data is not sound: Invalid UTF8 sequence at string index 0
    """
    if pa.types.is_primitive(values.type):
        return
    try:
        values.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"its Arrow data is not sound: {visible(str(error))}") from None
