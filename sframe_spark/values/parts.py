"""Arrays in parts: Arrow's offsets have 32 bits in the types of columns, so one array holds 2 GiB of texts, or as many items of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import TooLargeError
from sframe_spark.message_text import in_words
from sframe_spark.values.arrow_layouts import MOST_BYTES

Make = Callable[[Sequence[Any]], "pa.Array | pa.ChunkedArray"]


def in_one_array(arrays: Sequence[pa.Array]) -> pa.Array:
    """The values of arrays of one type, one after the other.

    Raises
    ------
    TooLargeError
        If they are texts or lists of more than an array holds.
    """
    if len(arrays) == 1:
        return arrays[0]
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid:
        size = sum(array.nbytes for array in arrays)
        if size <= MOST_BYTES:
            raise
        advice = "take fewer rows at a time (head, a slice, a filter), go through them (for row in ...), or save() them"
        raise TooLargeError(f"{in_words(size)} of a column were asked for in one piece, which holds 2 GiB of texts or lists: {advice}") from None


def parts_of(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """The arrays that a column is in, at least one.

    Examples
    --------
    >>> len(parts_of(pa.array([1]))), len(parts_of(pa.chunked_array([], pa.int64())))
    (1, 1)
    """
    if isinstance(values, pa.Array):
        return [values]
    return values.chunks or [pa.array([], values.type)]


def maps_of_dicts(cells: Sequence[Any], data_type: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Dicts, or None, as an array of maps, or several where one does not hold them; Arrow's own builder aborts the process there.

    Raises
    ------
    pyarrow.ArrowException, OverflowError, TypeError
        If a key or an item is not of its type.
    TooLargeError
        If one dict alone has more than an array holds.

    Examples
    --------
    >>> maps_of_dicts([{"a": 1}, None], pa.map_(pa.string(), pa.int64())).to_pylist()
    [[('a', 1)], None]
    """
    present = [cell for cell in cells if cell is not None]
    keys = pa.array(list(chain.from_iterable(present)), data_type.key_type)
    items = pa.array(list(chain.from_iterable(cell.values() for cell in present)), data_type.item_type)
    if isinstance(keys, pa.ChunkedArray) or isinstance(items, pa.ChunkedArray):
        return _by_halves(cells, lambda half: maps_of_dicts(half, data_type))
    if keys.null_count:
        raise pa.ArrowInvalid("a key of a map is missing")
    missing = np.fromiter((cell is None for cell in cells), bool, len(cells))
    counts = np.zeros(len(cells), np.int64)
    counts[~missing] = np.fromiter(map(len, present), np.int64, len(present))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    entries = pa.StructArray.from_arrays([keys, items], fields=[data_type.key_field, data_type.item_field])
    return pa.Array.from_buffers(data_type, len(cells), [validity, pa.py_buffer(offsets)], children=[entries])


def _by_halves(cells: Sequence[Any], make: Make) -> pa.ChunkedArray:
    """What is made of both halves of some cells."""
    if len(cells) < 2:
        raise TooLargeError("one value alone has more than 2 GiB of texts, which no array holds: give it in several values")
    middle = len(cells) // 2
    halves: Iterable[Any] = (make(cells[:middle]), make(cells[middle:]))
    return pa.chunked_array([part for half in halves for part in parts_of(half)])
