"""Values as numbers that sort as they do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.order_check import VALUE, value_ranks
from sframe_spark.compute.text_order import text_ranks
from sframe_spark.types import ColumnType

# Of so many values it is seen whether most are different.
LOOKED_AT = 1 << 13


def sort_parts(column: pa.Array, column_type: ColumnType, ascending: bool) -> list[np.ndarray]:
    """Arrays whose ascending lexicographic order is the order of the values: missing smallest, NaN largest.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> column = pa.array([2.0, None, float("nan"), -1.0])
    >>> [np.lexsort(sort_parts(column, FLOAT, up)[::-1]).tolist() for up in (True, False)]
    [[1, 3, 0, 2], [2, 0, 3, 1]]
    """
    values = comparable(column, column_type)
    numbers = _places_of_texts(values) if pa.types.is_string(values.type) else plain_numbers(values)
    ranks = value_ranks(values, numbers)
    numbers = np.where(ranks == VALUE, numbers, numbers.dtype.type(0))
    if ascending:
        return [ranks, numbers]
    # The complement of an int cannot overflow, as its negative can.
    return [-ranks, ~numbers if numbers.dtype.kind == "i" else -numbers]


def _places_of_texts(values: pa.Array) -> np.ndarray:
    """For each text how many different ones come before it; of a missing one any number."""
    if mostly_differ(values):
        return text_ranks(values.fill_null(""))[0]
    encoded = values.dictionary_encode()
    places = text_ranks(encoded.dictionary)[0]
    return places[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(places) else np.zeros(len(values), dtype=np.int64)


def mostly_differ(values: pa.Array) -> bool:
    """True where so many of the first values are different that sorting all takes less than looking each up in a table of those before.

    Examples
    --------
    >>> mostly_differ(pa.array(range(10_000))), mostly_differ(pa.array([1, 2] * 5_000))
    (True, False)
    """
    first = values.slice(0, LOOKED_AT)
    return len(values) > LOOKED_AT and 2 * len(first.dictionary_encode("encode").dictionary) > len(first)
