"""Columns of numpy arrays of any shape: their numbers and shapes in Arrow, and arrays as plain values.

A cell is stored as its shape and its numbers in the order of C, as Arrow's own tensor types have it. All that is done to the numbers of a column is
done to the list column of its numbers, whatever the shapes are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import DamagedValueError, SchemaError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.types import ARRAY, NDARRAY_PHYSICAL
from sframe_spark.values.rounding_warnings import note_rounded

with lazy_imports(globals()):
    import pyarrow.compute as pc

SHAPES = NDARRAY_PHYSICAL.field("shape").type
# The kinds of dtypes that are numbers: truth values, ints, unsigned ints, floats.
NUMERIC = "biuf"
# As many as numpy itself allows since version 1.
MAX_DIMENSIONS = 32


def holds_numbers(value: np.ndarray) -> bool:
    """Return whether an array holds numbers: a cell of a column of arrays, while arrays of texts or objects are lists.

    Examples
    --------
    >>> holds_numbers(np.zeros((2, 2))), holds_numbers(np.array(["a"]))
    (True, False)
    """
    return value.dtype.kind in NUMERIC


def plain_ndarray(value: np.ndarray) -> np.ndarray:
    """Return a copy of an array of numbers as floats in the order of C; a masked item is NaN, and an array without dimensions has one.

    A number that loses digits is recorded for a warning.

    Examples
    --------
    >>> plain_ndarray(np.array([[1, 2]]).T), plain_ndarray(np.array(5))
    (array([[1.],
           [2.]]), array([5.]))
    """
    numbers = np.ma.getdata(value)
    floats = np.array(numbers, dtype=np.float64, order="C", ndmin=1)
    if numbers.dtype.kind in "iuf" and numbers.dtype.itemsize >= floats.itemsize and numbers.dtype != floats.dtype:
        _note_rounded(numbers, floats.reshape(numbers.shape))
    mask = np.ma.getmask(value)
    if mask is not np.ma.nomask:
        floats[np.reshape(mask, floats.shape)] = math.nan
    return floats


def _note_rounded(numbers: np.ndarray, floats: np.ndarray) -> None:
    if numbers.dtype.kind == "f":
        is_rounded = (floats != numbers) & (numbers == numbers)
    else:
        # Where the float is beyond the ints, it is not cast back, which would overflow.
        info = np.iinfo(numbers.dtype)
        is_inside = (floats >= float(info.min)) & (floats < float(info.max))
        is_rounded = ~is_inside | (np.where(is_inside, floats, 0.0).astype(numbers.dtype) != numbers)
    if is_rounded.any():
        note_rounded(numbers[is_rounded].ravel()[0])


def ndarray_of_sequence(value: Any) -> np.ndarray:
    """Return an array of a sequence of numbers, or of such sequences of equal lengths.

    Raises
    ------
    SchemaError
        If the lengths differ, or an item is no number.

    Examples
    --------
    >>> ndarray_of_sequence([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    try:
        made = np.asarray(list(value))
    except ValueError:
        raise SchemaError("lists of different lengths are not an array: use a list") from None
    if not holds_numbers(made):
        raise SchemaError("an array can hold numbers only: use a list for other items")
    return plain_ndarray(made)


# Cells in Arrow.


def ndarray_column(cells: Sequence[Any]) -> pa.StructArray:
    """Return a column of arrays of numbers; None for a missing one.

    Raises
    ------
    SchemaError
        If an array has too many dimensions.

    Examples
    --------
    >>> ndarray_column([np.array([[1.0, 2.0]]), None]).to_pylist()
    [{'shape': [1, 2], 'values': [1.0, 2.0]}, None]
    """
    if any(cell is not None and cell.ndim > MAX_DIMENSIONS for cell in cells):
        raise SchemaError(f"a column can hold arrays of at most {MAX_DIMENSIONS} dimensions")
    shapes = [() if cell is None else cell.shape for cell in cells]
    lengths = pa.array(_offsets([0 if cell is None else cell.size for cell in cells]), pa.int32())
    present = [cell.ravel() for cell in cells if cell is not None]
    numbers = pa.array(np.concatenate(present) if present else np.zeros(0), pa.float64(), from_pandas=False)
    values = pa.ListArray.from_arrays(lengths, numbers, type=ARRAY.physical)
    dimensions = pa.array([dimension for shape in shapes for dimension in shape], pa.int64())
    shape_lists = pa.ListArray.from_arrays(pa.array(_offsets(list(map(len, shapes))), pa.int32()), dimensions, type=SHAPES)
    return shaped(values, shape_lists, pa.array([cell is None for cell in cells], pa.bool_()))


def _offsets(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])


def shaped(values: pa.ListArray, shapes: pa.ListArray, missing: pa.Array) -> pa.StructArray:
    """Return a column of arrays of the numbers and the shape of each row; a row is missing where ``missing`` is true."""
    return pa.StructArray.from_arrays([shapes, values], fields=list(NDARRAY_PHYSICAL), mask=missing if missing.true_count else None)


def vectors_as_ndarrays(vectors: pa.ListArray) -> pa.StructArray:
    """Return a column of arrays of one dimension, of a column of vectors.

    Examples
    --------
    >>> ndarrays(vectors_as_ndarrays(pa.array([[1.0, 2.0], None])))
    [array([1., 2.]), None]
    """
    lengths = pc.list_value_length(vectors).fill_null(0).cast(pa.int64())
    one_each = pa.array(np.arange(len(vectors) + 1), pa.int32())
    return shaped(vectors, pa.ListArray.from_arrays(one_each, lengths, type=SHAPES), vectors.is_null())


def numbers_of(column: pa.StructArray) -> pa.ListArray:
    """Return the numbers of each array, as a column of vectors; missing where the array is."""
    return pc.struct_field(column, "values")


def shapes_of(column: pa.StructArray) -> pa.ListArray:
    """Return the shape of each array; missing where the array is."""
    return pc.struct_field(column, "shape")


def shape_texts(column: pa.StructArray) -> pa.Array:
    """Return the shape of each array as a text; missing where the array is.

    Examples
    --------
    >>> shape_texts(ndarray_column([np.zeros((2, 3)), None])).to_pylist()
    ['2,3', None]
    """
    return pc.binary_join(shapes_of(column).cast(pa.list_(pa.string())), ",")


def lists_of_shapes(texts: pa.Array) -> pa.ListArray:
    """Return shapes of their texts, see :func:`shape_texts`.

    Examples
    --------
    >>> lists_of_shapes(pa.array(["2,3"])).to_pylist()
    [[2, 3]]
    """
    return pc.split_pattern(texts, ",").cast(SHAPES)


def common_shape(column: pa.StructArray) -> tuple[int, ...] | None:
    """Return the shape that all arrays have; None if they differ, or there is none.

    Examples
    --------
    >>> common_shape(ndarray_column([np.zeros((2, 3)), None, np.ones((2, 3))]))
    (2, 3)
    """
    distinct = pc.unique(shape_texts(column).drop_null())
    return shape_of_text(distinct[0].as_py()) if len(distinct) == 1 else None


def shape_of_text(text: str) -> tuple[int, ...]:
    """Return the shape of its text, see :func:`shape_texts`."""
    return tuple(map(int, text.split(","))) if text else ()


def stacked(column: pa.StructArray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the arrays of a column, which have one shape, as one array with one dimension more; NaN where an array is missing."""
    rows = np.full((len(column), *shape), math.nan)
    is_present = column.is_valid().to_numpy(zero_copy_only=False)
    rows[is_present] = _flat_numbers(numbers_of(column).drop_null()).reshape(-1, *shape) if math.prod(shape) else 0.0
    return rows


def _flat_numbers(values: pa.ListArray) -> np.ndarray:
    return values.flatten().fill_null(math.nan).to_numpy(zero_copy_only=False)


def ndarrays(column: pa.StructArray) -> list[Any]:
    """Return each array as an array of its own; None for a missing one.

    Raises
    ------
    DamagedValueError
        If a shape does not fit the numbers.
    """
    shapes, lengths = shapes_of(column).to_pylist(), pc.list_value_length(numbers_of(column)).to_pylist()
    numbers, cells, start = _flat_numbers(numbers_of(column).drop_null()), list[Any](), 0
    for shape, length in zip(shapes, lengths, strict=True):
        if shape is None:
            cells.append(None)
            continue
        cells.append(ndarray_of_parts(numbers[start : start + (length or 0)].copy(), shape))
        start += length or 0
    return cells


def ndarray_of_parts(numbers: np.ndarray, shape: Sequence[Any]) -> np.ndarray:
    """Return numbers in a shape.

    Raises
    ------
    DamagedValueError
        If the shape does not fit the numbers.

    Examples
    --------
    >>> ndarray_of_parts(np.array([1.0, 2.0]), [3])
    Traceback (most recent call last):
    sframe_spark.errors.DamagedValueError: a stored array of the shape [3] has 2 numbers; restore it from a copy
    """
    fits = len(shape) <= MAX_DIMENSIONS and all(type(dimension) is int and dimension >= 0 for dimension in shape)
    if not fits or math.prod(shape) != len(numbers):
        raise DamagedValueError(f"a stored array of the shape {brief(list(shape), 60)} has {len(numbers)} numbers; restore it from a copy")
    return numbers.reshape(shape or (1,))


def rows_of_tensors(tensors: Any) -> pa.StructArray:
    """Return a column of arrays of Arrow's tensors of one shape; a missing number is NaN.

    Examples
    --------
    >>> tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(4).reshape(2, 1, 2))
    >>> ndarrays(rows_of_tensors(tensors))
    [array([[0., 1.]]), array([[2., 3.]])]
    """
    data_type, storage = tensors.type, tensors.storage
    axes = list(range(len(data_type.shape))) if data_type.permutation is None else list(data_type.permutation)
    numbers = storage.flatten()
    stored = (numbers.cast(pa.float64(), safe=False).fill_null(math.nan) if numbers.null_count else numbers).to_numpy(zero_copy_only=False)
    rows = plain_ndarray(stored).reshape(-1, *data_type.shape).transpose(0, *(axis + 1 for axis in axes))
    cells = iter(rows)
    return ndarray_column([next(cells) if is_present else None for is_present in storage.is_valid().to_pylist()])


def tensors_of_rows(column: pa.StructArray, shape: tuple[int, ...]) -> Any:
    """Return arrays that all have one shape, which has no zero, as Arrow's tensors."""
    numbers = pa.array(stacked(column, shape).ravel(), from_pandas=False)
    missing = column.is_null() if column.null_count else None
    lists = pa.FixedSizeListArray.from_arrays(numbers, math.prod(shape), mask=missing)
    return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float64(), shape), lists)


def sound_ndarrays(column: pa.StructArray) -> pa.StructArray:
    """Return a column that another program made, with NaN for missing numbers.

    Raises
    ------
    SchemaError
        If a shape does not fit the numbers.

    Examples
    --------
    >>> sound_ndarrays(pa.array([{"shape": [3], "values": [1.0]}], NDARRAY_PHYSICAL))
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: row 0 has an array of the shape (3) and 1 numbers
    """
    values, texts = numbers_of(column), shape_texts(column)
    coded = texts.dictionary_encode()
    sizes = np.array([size_of_text(text) for text in coded.dictionary.to_pylist()] + [-1], dtype=np.int64)
    wanted = sizes[coded.indices.fill_null(len(sizes) - 1).to_numpy(zero_copy_only=False)]
    lengths = pc.list_value_length(values).fill_null(-1).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False) & ((wanted != lengths) | (wanted < 0)))
    if len(wrong):
        row = int(wrong[0])
        raise SchemaError(f"row {row} has an array of the shape ({texts[row].as_py()}) and {max(int(lengths[row]), 0)} numbers")
    if not values.values.null_count:
        return column
    offsets = pa.array(_offsets(np.maximum(lengths, 0)), pa.int32())
    filled = pa.ListArray.from_arrays(offsets, values.flatten().fill_null(math.nan), type=ARRAY.physical)
    return shaped(filled, shapes_of(column), column.is_null())


def size_of_text(text: str) -> int:
    """Return the number of items that arrays of a shape have, see :func:`shape_texts`; -1 if no array of numpy has the shape."""
    try:
        shape = shape_of_text(text)
    except ValueError:
        return -1
    return math.prod(shape) if shape and len(shape) <= MAX_DIMENSIONS and min(shape) >= 0 else -1


def is_ndarray_storage(data_type: pa.DataType) -> bool:
    """Return whether an Arrow type is the struct of a shape and values in which arrays are stored, whatever their items are called.

    Examples
    --------
    >>> is_ndarray_storage(NDARRAY_PHYSICAL), is_ndarray_storage(pa.struct([("shape", pa.int64()), ("values", pa.int64())]))
    (True, False)
    """
    if not pa.types.is_struct(data_type) or [field.name for field in data_type] != [field.name for field in NDARRAY_PHYSICAL]:
        return False
    return all(_is_list_of(field.type, known.type.value_type) for field, known in zip(data_type, NDARRAY_PHYSICAL, strict=True))


def _is_list_of(data_type: pa.DataType, item: pa.DataType) -> bool:
    return (pa.types.is_list(data_type) or pa.types.is_large_list(data_type)) and data_type.value_type == item
