"""Measures the bytes that single values, rows and ranges of values of Arrow arrays take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    import pyarrow.compute as pc


def uneven_bytes(columns: Sequence[pa.Array], rows: int) -> npt.NDArray[np.int64]:
    """Estimate the bytes of each row in the columns whose values differ in length.

    Examples
    --------
    >>> uneven_bytes([pa.array(["abc", None]), pa.array([7, 8]), pa.array([[1.0], [2.0, 3.0]]), pa.array([["a"], ["", "bcd"]])], 2).tolist()
    [12, 19]
    """
    uneven = [value_bytes(column) for column in columns if not pa.types.is_primitive(column.type)]
    return sum(uneven[1:], uneven[0]) if uneven else np.zeros(rows, dtype=np.int64)


def value_bytes(column: pa.Array) -> npt.NDArray[np.int64]:
    """Estimate the bytes of each value of an array; for a list or dict, the bytes of all values in it."""
    data_type = column.type
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        lengths: npt.NDArray[np.int64] = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        return lengths
    if pa.types.is_map(data_type) or pa.types.is_list(data_type):
        inside = value_bytes(column.keys) + value_bytes(column.items) if pa.types.is_map(data_type) else value_bytes(column.values)
        return np.diff(np.concatenate([[0], np.cumsum(inside)])[column.offsets.to_numpy()])
    # Values of other types have a fixed length, or no better estimate is known.
    return np.full(len(column), -(-column.nbytes // max(len(column), 1)), dtype=np.int64)


def bytes_of_runs(column: pa.Array, edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bytes (or slightly more) that each range of values would take as a separate array.

    ``edges`` are the starts of the ranges, followed by the end of the last range.

    Examples
    --------
    >>> bytes_of_runs(pa.array(["abc", "d", None]), np.array([0, 0, 1, 3])).tolist()
    [0, 12, 14]
    """
    rows, data_type = np.diff(edges), column.type
    # Empty ranges have no validity or offset buffers.
    valid, offsets = -(-rows // 8) if column.null_count else np.zeros_like(rows), 4 * (rows + (rows > 0))
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        ends = np.frombuffer(column.buffers()[1] or b"", np.int32)[column.offset : column.offset + len(column) + 1]
        return valid + offsets + (np.diff(ends[edges].astype(np.int64)) if len(column) else 0)
    if pa.types.is_map(data_type) or pa.types.is_list(data_type):
        inside = [column.keys, column.items] if pa.types.is_map(data_type) else [column.values]
        starts = column.offsets.to_numpy()[edges].astype(np.int64)
        return sum((bytes_of_runs(values, starts) for values in inside), valid + offsets)
    if pa.types.is_struct(data_type):
        return sum((bytes_of_runs(column.field(index), edges) for index in range(data_type.num_fields)), valid)
    return valid if pa.types.is_null(data_type) else valid - (-rows * data_type.bit_width // 8)
