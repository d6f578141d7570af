"""Columns of other libraries beside ours: numpy arrays, Series of pandas and polars, Arrow arrays, by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def is_column(value: Any) -> bool:
    """Return whether this holds one value for each of many rows; a numpy scalar is a single value.

    Examples
    --------
    >>> is_column(np.array([1, 2])), is_column(pa.array([1])), is_column(np.float64(1)), is_column([1, 2])
    (True, True, False, False)
    """
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return True
    # Of a column of ours this is a property, which would compute its values.
    if not callable(getattr(type(value), "__array__", None)) or not hasattr(value, "dtype"):
        return False
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) > 0


def is_mask(value: Any) -> bool:
    """Return whether this is a column of truth values, of any library.

    Examples
    --------
    >>> is_mask(np.array([True, False])), is_mask(pa.array([True, None])), is_mask(np.array([1, 0]))
    (True, True, False)
    """
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return pa.types.is_boolean(value.type)
    if not is_column(value) or len(value.shape) != 1:
        return False
    return str(value.dtype).lower() in ("bool", "boolean", "bool[pyarrow]", "boolean[pyarrow]", "torch.bool")


def interface_of(values: np.ndarray) -> dict[str, Any]:
    """What numpy asks for to make an array of ours without a copy; the memory lives as long as numpy needs it.

    Source: https://numpy.org/doc/stable/reference/arrays.interface.html
    """
    described = dict(values.__array_interface__)
    # Of an address alone numpy would keep the frame, not the memory. A table is kept column by column, so its memory is that of its transpose.
    described["data"] = values.T.data
    return described
