"""Converts the values that users pass (numpy, pandas, Arrow, ranges ...) to a list, numpy or Arrow array, copies mutable values, finds the library
of an object, and validates Arrow data.
"""

from __future__ import annotations

import array
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, SchemaError, SFrameError
from sframe_spark.images import Image
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import visible
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT_KIND, IMAGE_KIND, LIST_KIND, NDARRAY_KIND, STR_KIND
from sframe_spark.values.ndarrays import holds_numbers
from sframe_spark.values.plain_values import NUMBERS, families_of, family_of, family_of_value
from sframe_spark.values.rounding_warnings import note_rounded

with lazy_imports(globals()):
    from sframe_spark.values.datetimes import numpy_microseconds, warn_of_nanoseconds
    from sframe_spark.values.single_value_conversion import construct_value

# Snapshots: a user's function may return the same mutable object several times, and change it between calls.

UNCHANGING = frozenset({type(None), bool, int, float, str, bytes, datetime.datetime, datetime.date, datetime.timedelta, Image})


def snapshot(value: Any) -> Any:
    """Return the value itself if it is immutable, otherwise a copy of which the same cell is made.

    Examples
    --------
    >>> cell = {"a": [1]}
    >>> copy = snapshot(cell)
    >>> cell["a"].append(2)
    >>> copy
    {'a': [1]}
    """
    if type(value) in UNCHANGING:
        return value
    try:
        return _copied(value)
    except (RecursionError, SFrameError):
        # No cell can hold the value; storing it will raise the right error.
        return value


def snapshots(values: Iterable[Any]) -> list[Any]:
    """Return a list of the values, each copied before the next is requested.

    Examples
    --------
    >>> cell = []
    >>> snapshots(cell.append(number) or cell for number in (1, 2))
    [[1], [1, 2]]
    """
    return [value if type(value) in UNCHANGING else snapshot(value) for value in values]


_TEXTUAL = (LIST_KIND, ARRAY_KIND, NDARRAY_KIND, DICT_KIND, IMAGE_KIND)


def container_text(value: Any) -> Any:
    """Convert a list, array, dict or image to the string that a column of strings stores for it; return other values unchanged.

    Examples
    --------
    >>> container_text([1, "a"]), container_text(2)
    ('[1,"a"]', 2)
    """
    try:
        return construct_value(value, STR_KIND) if family_of(type(value)) in _TEXTUAL else value
    except (RecursionError, SFrameError):
        return value


def _copied(value: Any) -> Any:
    cls = type(value)
    # Most lists are short, and a loop over their items is faster than a check of all at once.
    if cls is list:
        for item in value:
            if type(item) not in UNCHANGING:
                return _items(value)
        return value[:]
    if cls is dict:
        copy = value.copy()
        for key, item in value.items():
            if type(item) not in UNCHANGING:
                copy[key] = _copied(item)
        return copy
    if cls is tuple:
        return tuple(_items(value))
    if isinstance(value, np.ndarray) and (value.dtype.kind != "O" or not value.ndim):
        return value.copy()
    if isinstance(value, array.array):
        return value[:]
    family = family_of_value(value)
    if family == DICT_KIND:
        return {key: item if type(item) in UNCHANGING else _copied(item) for key, item in value.items()}
    # Sets, deques, rows of numpy arrays and other iterables, in the order of iteration.
    return _items(value) if family == LIST_KIND else value


def _items(values: Iterable[Any]) -> list[Any]:
    return [item if type(item) in UNCHANGING else _copied(item) for item in values]


# Which library an object comes from, found without importing it.


def library_of(value: Any) -> str:
    """Return the name of the package that defines an object's class.

    Examples
    --------
    >>> import pyarrow
    >>> library_of(pyarrow.table({"a": [1]})), library_of([1])
    ('pyarrow', 'builtins')
    """
    return type(value).__module__.split(".")[0]


def is_of_spark(value: Any) -> bool:
    """Return whether an object is of a class of PySpark, except ``Row``, which is a tuple of values.

    Examples
    --------
    >>> from pyspark.sql import Row, Window
    >>> is_of_spark(Row(a=1)), is_of_spark((1,)), is_of_spark(Window())
    (False, False, True)
    """
    return library_of(value) == "pyspark" and not isinstance(value, tuple)


# One of ``list[Any] | np.ndarray | pa.Array | pa.ChunkedArray``; as Arrow has no type annotations, a type checker learns nothing from the union.
SimpleValues = Any

# Advice for types of pandas columns that no column can hold.
_INSTEAD = {
    "PeriodDtype": "series.dt.to_timestamp() gives the start of each",
    "IntervalDtype": "make columns of .array.left and .array.right",
}

NO_VALUES = "a Spark {} holds no values: use the frame's own columns, sf['name'], or work on sf.to_spark()"


def simplify(values: Any) -> SimpleValues:
    """Return the values as a list, a one-dimensional numpy array or an Arrow array (possibly chunked), copying as little as possible.

    Numpy numbers in the result have 64 bits; ints are unsigned only if a value does not fit a signed int.

    Raises
    ------
    SchemaError
        If the values are not a sequence of cells.
    """
    if isinstance(values, list):
        return values
    if _is_array_like(values):
        values = np.asarray(values)
    if _is_arrow_column(values):
        return pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    if library_of(values) == "pandas":
        values = _from_pandas(values)
    if isinstance(values, array.array):
        if values.typecode in "uw":
            raise SchemaError("an array of characters is not a column of numbers: use a str")
        values = np.asarray(values)
    elif isinstance(values, range):
        values = _from_range(values)
    if isinstance(values, np.ndarray):
        return _from_numpy(values)
    if isinstance(values, (pa.Array, pa.ChunkedArray, list)):
        return values
    if is_of_spark(values):
        raise SchemaError(NO_VALUES.format(type(values).__name__))
    if isinstance(values, (str, bytes, set, frozenset, Mapping)) or not isinstance(values, Iterable):
        raise SchemaError(f"the values of a column must be a sequence, not {type(values).__name__}: write a list, as in [1, 2]")
    # An iterator may yield one mutable object repeatedly.
    return list(values) if isinstance(values, tuple) else snapshots(values)


def _is_array_like(values: Any) -> bool:
    """Return whether an object is another library's array that NumPy reads at once: of dask, xarray, jax or torch."""
    if isinstance(values, np.ndarray) or library_of(values) == "pandas" or not callable(getattr(type(values), "__array__", None)):
        return False
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, np.dtype) or str(dtype).startswith("torch.")


def _is_arrow_column(values: Any) -> bool:
    """Return whether an object is a column with Arrow's C interface, such as a polars series; not of pandas, whose missing values differ."""
    gives = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
    is_table = hasattr(values, "column_names") or hasattr(values, "columns") or isinstance(values, pa.RecordBatchReader)
    return gives and not is_table and library_of(values) != "pandas"


def _from_pandas(values: Any) -> Any:
    """Convert a pandas column to a numpy array or list, or to Arrow if it has an extension type, whose missing values Arrow knows."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return _from_objects(values.to_numpy())
        return values.to_numpy() if dtype.kind != "m" else pa.array(values.copy(), from_pandas=True)
    if dtype is None:
        raise SchemaError(f"the values of a column must be a sequence, not pandas {type(values).__name__}")
    if hasattr(values, "sparse"):
        return values.sparse.to_dense().to_numpy()
    if hasattr(values, "to_dense"):
        return values.to_dense()
    # Without a copy, Arrow would share memory that pandas changes in place (masked values, zoned datetimes).
    try:
        converted = pa.array(values.copy(), from_pandas=True)
    except pa.ArrowInvalid:
        if getattr(dtype, "tz", None) is None:
            raise
        # Arrow has no fixed-offset zones with seconds.
        return list(values)
    if type(dtype).__name__ in _INSTEAD:
        raise SchemaError(f"a column cannot hold pandas {dtype} values: {_INSTEAD[type(dtype).__name__]}")
    return converted


def _from_objects(values: np.ndarray) -> list[Any]:
    """Return the values of an object column of pandas; NaN is replaced by None, except in a column that has only numbers."""
    cells = list(values)
    families = families_of(cells)
    if FLOAT_KIND not in families or families <= NUMBERS:
        return cells
    return [None if isinstance(cell, (float, np.floating)) and np.isnan(cell) else cell for cell in cells]


def _from_range(values: range) -> Any:
    if not len(values):
        return []
    bounds = (values.start, values.stop, values.step)
    return np.arange(*bounds, dtype=np.int64) if all(abs(bound) < 2**62 for bound in bounds) else list(values)


def _floats(values: np.ndarray) -> np.ndarray:
    floats = values.astype(np.float64, copy=False)
    if values.dtype.itemsize > floats.dtype.itemsize:
        is_rounded = (floats != values) & (values == values)
        if is_rounded.any():
            note_rounded(values[is_rounded][0])
    return floats


def _from_numpy(values: np.ndarray) -> SimpleValues:
    if values.ndim == 0:
        raise SchemaError("a numpy scalar is not a column: pass a sequence of values")
    if values.ndim == 2 and holds_numbers(values):
        # As in Turi Create, rows of numbers are vectors; with more dimensions, they are arrays of numpy.
        return values.tolist()
    if values.dtype.kind == "O" or values.ndim > 1:
        return list(values)
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        return values
    if values.dtype.kind in "biu":
        return values.astype(np.int64, copy=False)
    if values.dtype.kind == "f":
        return _floats(values)
    if values.dtype.kind in "US":
        return values.tolist()
    if values.dtype.kind == "T":
        # Strings of variable length, since NumPy 2. What stands for a missing one is the choice of who made the array.
        return [cell if isinstance(cell, str) else None for cell in values.tolist()]
    if values.dtype.kind == "M":
        warn_of_nanoseconds(values)
        return numpy_microseconds(values)
    raise SchemaError(f"a column cannot hold numpy {values.dtype} values")


# Validation of Arrow data from outside, before anything is computed from it: Arrow itself does not check it.

EXTENSION_NAME = b"ARROW:extension:name"
# Extensions whose values are stored unchanged in the storage type, or that are recognised by the storage type.
STORED_AS_THEY_ARE = frozenset({"arrow.json", "arrow.bool8", "arrow.timestamp_with_offset", "arrow.parquet.variant"})


def require_valid_arrow(values: pa.Array | pa.ChunkedArray) -> None:
    """Raise if an Arrow array is invalid.

    Raises
    ------
    InvalidArgumentError
        If Arrow's full validation fails, for instance for offsets outside the values or strings that are not UTF-8.

    Examples
    --------
    >>> require_valid_arrow(pa.array(["a", None]))
    >>> require_valid_arrow(pa.array([b"\\xff"]).cast(pa.string(), safe=False).view(pa.string()))
    Traceback (most recent call last):
        ...
    sframe_spark.errors.InvalidArgumentError: its Arrow data is invalid: Invalid UTF8 sequence at string index 0
    """
    if pa.types.is_primitive(values.type):
        return
    try:
        values.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"its Arrow data is invalid: {visible(str(error))}") from None


def require_known_extensions(field: pa.Field) -> None:
    """Raise if the type of a column, or a type inside it, is an Arrow extension that is not registered in this process.

    pyarrow would return the storage values of such a column, for instance bytes for geometries; only the metadata of its field names the extension.

    Raises
    ------
    SchemaError
        If there is such an extension.

    Examples
    --------
    >>> require_known_extensions(pa.field("where", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"}))
    Traceback (most recent call last):
        ...
    sframe_spark.errors.SchemaError: a column cannot hold values of the Arrow extension 'geoarrow.wkb': pass its storage, binary
    """
    name = (field.metadata or {}).get(EXTENSION_NAME, b"").decode("utf-8", "replace")
    if EXTENSION_NAME in (field.metadata or {}) and name not in STORED_AS_THEY_ARE and not isinstance(field.type, pa.BaseExtensionType):
        raise SchemaError(f"a column cannot hold values of the Arrow extension {visible(name)!r}: pass its storage, {field.type}")
    for index in range(field.type.num_fields):
        require_known_extensions(field.type.field(index))
