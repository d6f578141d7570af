"""Bring whatever holds a column's values (list, numpy, pandas, range ...) into one of three forms."""

from __future__ import annotations

import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.types import FLOAT_KIND
from sframe_spark.values.datetimes import numpy_microseconds
from sframe_spark.values.inexact_numbers import note_rounded
from sframe_spark.values.libraries import is_of_spark, library_of
from sframe_spark.values.nanoseconds import tell_of_nanoseconds
from sframe_spark.values.taken import taken_each
from sframe_spark.values.value_model import NUMBERS, families_of

# One of ``list[Any] | np.ndarray | pa.Array | pa.ChunkedArray``; Arrow comes without types, so a checker learns nothing from the union.
ValuesGiven = Any

_INTEGER_DTYPES = "biu"

# What to do about columns of pandas that have no counterpart.
_INSTEAD = {
    "PeriodDtype": "series.dt.to_timestamp() gives the start of each",
    "IntervalDtype": "make columns of .array.left and .array.right",
}


# Of what Spark has for a column.
NO_VALUES = "a {} of Spark's holds no values: use the frame's own columns, sf['name'], or work on sf.to_spark()"


def simplify(values: Any) -> ValuesGiven:
    """Return the values as a list, a one-dimensional numpy array or an Arrow array, which may be chunked, copying as little as possible.

    Arrays of numpy are of 64 bits then: unsigned ones where a signed int does not hold all of them.

    Raises
    ------
    SchemaError
        If the values are not a sequence of cells.
    """
    if isinstance(values, list):
        return values
    if _is_arrow_column(values):
        values = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if library_of(values) == "pandas":
        values = _from_pandas(values)
    if isinstance(values, array.array):
        values = _from_array(values)
    elif isinstance(values, range):
        values = _from_range(values)
    if isinstance(values, np.ndarray):
        return _from_numpy(values)
    if isinstance(values, (pa.Array, pa.ChunkedArray, list)):
        return values
    if is_of_spark(values):
        raise SchemaError(NO_VALUES.format(type(values).__name__))
    if isinstance(values, (str, bytes, set, frozenset, Mapping)) or not isinstance(values, Iterable):
        raise SchemaError(f"the values of a column come as a sequence, not as {type(values).__name__}")
    # What gives its values one by one may change the one it gave and give it again.
    return list(values) if isinstance(values, tuple) else taken_each(values)


def _is_arrow_column(values: Any) -> bool:
    """True for a column of another library that gives it to Arrow, of polars for one; what is missing in one of pandas, pandas knows best."""
    gives = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
    is_table = hasattr(values, "column_names") or hasattr(values, "columns") or isinstance(values, pa.RecordBatchReader)
    return gives and not is_table and library_of(values) != "pandas"


def _from_pandas(values: Any) -> Any:
    """Use pandas' numpy values; extension types go through Arrow, which knows their missing values."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return _from_objects(values.to_numpy())
        return values.to_numpy() if dtype.kind != "m" else pa.array(values.copy(), from_pandas=True)
    if dtype is None:
        raise SchemaError(f"the values of a column come as a sequence, not as pandas {type(values).__name__}")
    if hasattr(values, "sparse"):
        return values.sparse.to_dense().to_numpy()
    if hasattr(values, "to_dense"):
        return values.to_dense()
    # Arrow shares the memory of masked values and of date-times with a zone, which pandas changes in place.
    try:
        converted = pa.array(values.copy(), from_pandas=True)
    except pa.ArrowInvalid:
        if getattr(dtype, "tz", None) is None:
            raise
        # Arrow has no zones of a fixed offset with seconds.
        return list(values)
    if type(dtype).__name__ in _INSTEAD:
        raise SchemaError(f"a column cannot hold pandas {dtype} values: {_INSTEAD[type(dtype).__name__]}")
    return converted


def _from_objects(values: np.ndarray) -> list[Any]:
    """The values of a column of Python's objects, where NaN is pandas' missing text, list or date; among numbers it is a number."""
    cells = list(values)
    families = families_of(cells)
    if FLOAT_KIND not in families or families <= NUMBERS:
        return cells
    return [None if isinstance(cell, (float, np.floating)) and np.isnan(cell) else cell for cell in cells]


def _from_array(values: array.array) -> np.ndarray:
    if values.typecode in "uw":
        raise SchemaError("an array of characters is not a column of numbers: use a str")
    return np.frombuffer(values, dtype=values.typecode) if len(values) else np.empty(0, dtype=values.typecode)


def _from_range(values: range) -> Any:
    if not len(values):
        return []
    bounds = (values.start, values.stop, values.step)
    return np.arange(*bounds, dtype=np.int64) if all(-(2**62) < bound < 2**62 for bound in bounds) else list(values)


def _floats(values: np.ndarray) -> np.ndarray:
    found = values.astype(np.float64, copy=False)
    if values.dtype.itemsize > found.dtype.itemsize:
        rounded = (found != values) & (values == values)
        if rounded.any():
            note_rounded(values[rounded][0])
    return found


def _from_numpy(values: np.ndarray) -> ValuesGiven:
    if values.ndim == 0:
        raise SchemaError("a numpy scalar is not a column: pass a sequence of values")
    if values.ndim > 2:
        raise SchemaError("a column takes numpy arrays of one or two dimensions")
    if values.dtype.kind == "O" or values.ndim == 2:
        return list(values)
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        return values
    if values.dtype.kind in _INTEGER_DTYPES:
        return values.astype(np.int64, copy=False)
    if values.dtype.kind == "f":
        return _floats(values)
    if values.dtype.kind in "US":
        return values.tolist()
    if values.dtype.kind == "M":
        tell_of_nanoseconds(values)
        return numpy_microseconds(values)
    raise SchemaError(f"a column cannot hold numpy {values.dtype} values")
