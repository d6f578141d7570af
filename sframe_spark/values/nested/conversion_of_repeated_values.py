"""Conversions of columns in which values are repeated, for example to strings: each distinct value is converted only once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# The size of the sample, the rows needed for each sampled one, and the share of distinct values in it below which values count as repeated.
_SAMPLED, _ROWS_FOR_EACH, _MAX_DIFFERENT = 4096, 8, 0.9
# A table of all ints from the smallest to the largest pays off if there are at least this many rows for each int in it.
_INTS_FOR_EACH = 4


def seem_repeated(values: pa.Array) -> bool:
    """Return whether most values seem to occur several times, judged by a sample.

    Examples
    --------
    >>> seem_repeated(pa.array(range(100_000))), seem_repeated(pa.array([1, 2] * 50_000)), seem_repeated(pa.array([1, 1]))
    (False, True, False)
    """
    if len(values) < _SAMPLED * _ROWS_FOR_EACH:
        return False
    sample = values.take(pa.array(np.arange(_SAMPLED) * (len(values) // _SAMPLED)))
    return len(sample.unique()) < _MAX_DIFFERENT * _SAMPLED


def map_distinct(values: pa.Array, make: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply a function to the distinct values, and return its result for each value; missing values stay missing.

    Examples
    --------
    >>> map_distinct(pa.array([2, 1, 2, None]), lambda values: values.cast(pa.string())).to_pylist()
    ['2', '1', '2', None]
    """
    encoded = values.dictionary_encode()
    return make(encoded.dictionary).take(encoded.indices)


def int_texts(values: pa.Array) -> pa.Array:
    """Return ints as strings; missing ints stay missing. If ints lie close together, each int of their range is converted only once.

    Examples
    --------
    >>> int_texts(pa.array([3, None, -1])).to_pylist()
    ['3', None, '-1']
    """
    limits = pc.min_max(values).as_py()
    minimum, count = limits["min"], 0 if limits["min"] is None else limits["max"] - limits["min"] + 1
    if not 0 < count * _INTS_FOR_EACH <= len(values):
        return values.cast(pa.string())
    texts = pa.array(np.arange(count) + minimum).cast(pa.string())
    return texts.take(pc.subtract(values, minimum) if minimum else values)
