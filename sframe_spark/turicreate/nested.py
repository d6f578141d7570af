"""Lists, dicts, images and arrays of a block, as the texts in which columns of lists and dicts hold them."""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, MisfitError, SchemaError
from sframe_spark.turicreate.cells import Cells, FloatRun, floats_between, offsets_of
from sframe_spark.turicreate.numbers import GROUP, NumberRun
from sframe_spark.turicreate.payload import Payload
from sframe_spark.turicreate.tagged import MOST_DIMENSIONS, tensor_of, vectors_of
from sframe_spark.types import LIST_KIND, ColumnType
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.text import encode_value

# What a float of an array takes while it becomes text, and in the text.
BYTES_WHILE_WRITTEN, BYTES_WRITTEN = 80, 24
# Of arrays that are decoded at a time.
ELEMENTS_AT_ONCE = 131_072
# Classes of the values that a column of a kind holds as they are.
_CLASSES = {"int": int, "float": float, "str": str, "array": array.array, "list": list, "dict": dict, "datetime": datetime.datetime}


class WrittenCells:
    """Values that are read one after the other, all of them when the block is.

    Parameters
    ----------
    values
        Reads the values.
    column_type
        The column that they are of.
    """

    def __init__(self, values: Iterator[Any], column_type: ColumnType) -> None:
        found: list[Any] = []
        self._failure: Exception | None = None
        try:
            found.extend(values)
        except (UnicodeDecodeError, OverflowError) as error:
            # What comes before it can be read.
            self._failure = error
        self._values = held([fitting(value, column_type) for value in found], column_type)
        self._each = self._values.nbytes / max(len(found), 1)

    @property
    def kept(self) -> int:
        """How many bytes they take."""
        return int(self._values.nbytes)

    @property
    def is_cut(self) -> bool:
        """Whether reading ended with a value that no column holds."""
        return self._failure is not None

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some of them."""
        if self._failure is not None and last > len(self._values):
            raise self._failure
        return self._values.slice(first, last - first)

    def size(self, first: int, last: int) -> float:
        """As many bytes as they have on average."""
        return self._each * (last - first)


def held(values: list[Any], column_type: ColumnType) -> pa.Array:
    """Return values of a column's kind in the form that it has.

    Raises
    ------
    MisfitError
        If that form does not hold one of them.
    """
    try:
        return encode_plain(values, column_type)
    except SchemaError as error:
        raise MisfitError(str(error)) from None


def fitting(value: Any, column_type: ColumnType) -> Any:
    """Return a value as a column of a type holds it: an int may become a float, a vector a list.

    Raises
    ------
    BrokenPayload
        If it is of another type.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> fitting(array.array("d", [1.0]), ENCODED_LIST), fitting({}, ENCODED_LIST)
    Traceback (most recent call last):
        ...
    sframe_spark.errors.BrokenPayload: ('it holds a value of type dict, and its column is of type list', None)
    """
    kind = column_type.kind
    if value is None or type(value) is _CLASSES[kind]:
        return value
    if kind == "float" and type(value) is int:
        return float(value)
    if kind == LIST_KIND and isinstance(value, array.array):
        return value.tolist()
    name = {held: kind for kind, held in _CLASSES.items()}[type(value)]
    raise BrokenPayload(f"it holds a value of type {name}, and its column is of type {kind}")


class WidenedCells:
    """Values of another type than their column's, which holds them without loss.

    Parameters
    ----------
    cells
        The values.
    widen
        Makes the column's values of them.
    """

    def __init__(self, cells: Cells, widen: Callable[[pa.Array], pa.Array], times: float) -> None:
        self._cells, self._widen, self._times = cells, widen, times

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some as the column has them."""
        return self._widen(self._cells.rows(first, last))

    def size(self, first: int, last: int) -> float:
        """What the column's take, about."""
        return self._cells.size(first, last) * self._times


def floats_of_ints(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return ints as floats."""
    return values.cast(column_type.physical, safe=False)


def lists_of_vectors(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return vectors as lists of floats."""
    return held(values.to_pylist(), column_type)


class Tensors:
    """Arrays of any number of dimensions: ranks, numbers of elements, shapes, strides, then all elements.

    Parameters
    ----------
    payload
        Read to the first of these.
    count
        How many arrays there are.
    column_type
        What holds them.
    """

    def __init__(self, payload: Payload, count: int, column_type: ColumnType) -> None:
        if not column_type.is_encoded:
            raise MisfitError("arrays are lists in lists")
        payload.byte("how arrays are stored")
        self._places = offsets_of(payload, count, MOST_DIMENSIONS)
        self._offsets = offsets_of(payload, count, payload.size * GROUP)
        dimensions = int(self._places[-1])
        self._shapes = _numbers(payload, dimensions)
        self._strides = _numbers(payload, dimensions)
        self._floats = FloatRun(payload, int(self._offsets[-1]), has_mode=True)
        self._allowance = payload.allowance

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some as lists in lists."""
        return pa.array(map(encode_value, self._between(first, last)), pa.string())

    def _between(self, first: int, last: int) -> Iterator[list[Any]]:
        while first < last:
            # As many as have so many elements, one at least.
            fitting = int(np.searchsorted(self._offsets, self._offsets[first] + ELEMENTS_AT_ONCE, "right")) - 1
            stop = min(last, max(fitting, first + 1))
            if BYTES_WHILE_WRITTEN * int(self._offsets[first + 1] - self._offsets[first]) > self._allowance.left:
                raise BrokenPayload("an array would take more memory than a block of its length is given")
            elements, offsets = floats_between(self._floats, self._allowance, self._offsets, first, stop)
            for number, (begin, end) in enumerate(pairwise(offsets.tolist()), first):
                yield self._nested(number, elements[begin:end])
            first = stop

    def _nested(self, number: int, elements: np.ndarray) -> list[Any]:
        low, high = (int(place) for place in self._places[number : number + 2])
        found = tensor_of(elements, self._shapes[low:high].tolist(), self._strides[low:high].tolist())
        # A column of them is one of lists, whatever the dimensions of each.
        return found.tolist() if found.ndim == 1 else vectors_of(found)

    def size(self, first: int, last: int) -> float:
        """Some digits for each element."""
        return float(BYTES_WRITTEN * int(self._offsets[last] - self._offsets[first])) + 8.0 * (last - first)


def _numbers(payload: Payload, count: int) -> np.ndarray:
    payload.allowance.take(8 * count, payload.place)
    return NumberRun(payload, count).values(0, count)
