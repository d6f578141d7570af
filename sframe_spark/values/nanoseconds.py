"""Date-times of nanoseconds: columns hold microseconds, and what is cut off is told."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import LostNanosecondsWarning, users_level


def tell_of_nanoseconds(values: Any, name: str | None = None) -> None:
    """Warn of date-times, in an Arrow or a numpy array, that are not whole microseconds.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     tell_of_nanoseconds(np.array([1], "datetime64[ns]"), "when")
    >>> str(told[0].message)
    "date-times are kept to the microsecond: the nanoseconds of 1 of column 'when' are cut off"
    """
    lost = _lost(values)
    if lost:
        place = "" if name is None else f" of column {name!r}"
        message = f"date-times are kept to the microsecond: the nanoseconds of {lost}{place} are cut off"
        warnings.warn(LostNanosecondsWarning(message), stacklevel=users_level())


def _lost(values: Any) -> int:
    """How many values are cut."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        if not pa.types.is_timestamp(values.type) or values.type.unit != "ns":
            return 0
        ticks = values.drop_null().cast(pa.int64()).to_numpy()
    elif values.dtype.kind == "M" and np.datetime_data(values.dtype) == ("ns", 1):
        ticks = values[~np.isnat(values)].astype(np.int64)
    else:
        return 0
    return int(np.count_nonzero(ticks % 1000))
