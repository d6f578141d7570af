"""Date-times of nanoseconds: columns hold microseconds, and what is cut off is told."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import MOST_NAMES_SHOWN, LostNanosecondsWarning, users_level


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
    tell_of_lost({name: lost_nanoseconds(values)})


def tell_of_lost(lost: Mapping[Any, int | None]) -> None:
    """Warn once of columns, by their names, of which so many date-times are cut; None: nobody has counted them, but there are some.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     tell_of_lost({"a": 2, "b": 0, "c": None})
    >>> str(told[0].message)
    "date-times are kept to the microsecond: the nanoseconds of 2 of column 'a', some of column 'c' are cut off"
    """
    found = [(name, count) for name, count in lost.items() if count != 0]
    if found:
        parts = [f"{'some' if count is None else count}" + ("" if name is None else f" of column {name!r}") for name, count in found]
        more = f" and {len(parts) - MOST_NAMES_SHOWN} more" if len(parts) > MOST_NAMES_SHOWN else ""
        message = f"date-times are kept to the microsecond: the nanoseconds of {', '.join(parts[:MOST_NAMES_SHOWN])}{more} are cut off"
        warnings.warn(LostNanosecondsWarning(message), stacklevel=users_level())


def has_nanoseconds(data_type: pa.DataType) -> bool:
    """Say whether there may be date-times of nanoseconds in an Arrow array of a type.

    Examples
    --------
    >>> has_nanoseconds(pa.list_(pa.timestamp("ns"))), has_nanoseconds(pa.timestamp("us"))
    (True, False)
    """
    if pa.types.is_timestamp(data_type):
        return bool(data_type.unit == "ns")
    if isinstance(data_type, pa.BaseExtensionType):
        return has_nanoseconds(data_type.storage_type)
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return has_nanoseconds(data_type.value_type)
    return any(has_nanoseconds(data_type.field(place).type) for place in range(data_type.num_fields))


def lost_nanoseconds(values: Any) -> int:
    """How many date-times of an Arrow or a numpy array are not whole microseconds, those in lists and structs too.

    Examples
    --------
    >>> lost_nanoseconds(pa.array([[1000, 1], None], pa.list_(pa.timestamp("ns"))))
    1
    """
    if isinstance(values, pa.ChunkedArray):
        return sum(map(lost_nanoseconds, values.chunks)) if has_nanoseconds(values.type) else 0
    if isinstance(values, pa.Array):
        return _lost_of_arrow(values) if has_nanoseconds(values.type) else 0
    if values.dtype.kind == "M" and np.datetime_data(values.dtype) == ("ns", 1):
        return _not_whole(values[~np.isnat(values)].astype(np.int64))
    return 0


def _lost_of_arrow(values: pa.Array) -> int:
    types = pa.types
    if isinstance(values, pa.ExtensionArray):
        return lost_nanoseconds(values.storage)
    if types.is_timestamp(values.type):
        return _not_whole(values.drop_null().cast(pa.int64()).to_numpy())
    if types.is_struct(values.type):
        return sum(map(lost_nanoseconds, values.flatten()))
    if types.is_map(values.type):
        # Not flattened by Arrow, and the parts of a slice are those of all.
        start, stop = values.offsets[0].as_py(), values.offsets[len(values)].as_py()
        return sum(lost_nanoseconds(part.slice(start, stop - start)) for part in (values.keys, values.items))
    if types.is_dictionary(values.type):
        return lost_nanoseconds(values.dictionary_decode())
    if types.is_run_end_encoded(values.type):
        return lost_nanoseconds(pc.run_end_decode(values))
    return lost_nanoseconds(values.flatten()) if hasattr(values, "flatten") else 0


def _not_whole(ticks: np.ndarray) -> int:
    return int(np.count_nonzero(ticks % 1000))
