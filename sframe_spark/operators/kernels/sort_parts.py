"""Values as numbers that sort as they do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.kernels.equal_keys import comparable
from sframe_spark.operators.kernels.order_check import VALUE, value_ranks
from sframe_spark.operators.kernels.runs import plain_numbers
from sframe_spark.types import ColumnType


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
    if pa.types.is_string(values.type):
        encoded = values.dictionary_encode()
        places = pc.rank(encoded.dictionary, "ascending").to_numpy().astype(np.int64)
        numbers = places[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(places) else np.zeros(len(values), dtype=np.int64)
    else:
        numbers = plain_numbers(values)
    ranks = value_ranks(values, numbers)
    numbers = np.where(ranks == VALUE, numbers, numbers.dtype.type(0))
    if ascending:
        return [ranks, numbers]
    # The complement of an int cannot overflow, as its negative can.
    return [-ranks, ~numbers if numbers.dtype.kind == "i" else -numbers]
