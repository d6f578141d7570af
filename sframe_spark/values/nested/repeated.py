"""Values that repeat: what is made of each is made once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Of so many values, that many are looked at; where of ten one was there before, there are some thousand different ones of any number.
_SAMPLED, _ROWS_FOR_EACH, _MOST_DIFFERENT = 4096, 8, 0.9
# Of ints, that many for each between the least and the largest: of fewer, writing all of these would take as long.
_INTS_FOR_EACH = 4


def seem_repeated(values: pa.Array) -> bool:
    """True if it seems that most values are there several times, by a look at some of them.

    Examples
    --------
    >>> seem_repeated(pa.array(range(100_000))), seem_repeated(pa.array([1, 2] * 50_000)), seem_repeated(pa.array([1, 1]))
    (False, True, False)
    """
    if len(values) < _SAMPLED * _ROWS_FOR_EACH:
        return False
    sample = values.take(pa.array(np.arange(_SAMPLED) * (len(values) // _SAMPLED)))
    return len(sample.unique()) < _MOST_DIFFERENT * _SAMPLED


def of_different(values: pa.Array, make: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What is made of each of some values, of the different ones of which it is made; of missing ones, missing ones.

    Examples
    --------
    >>> of_different(pa.array([2, 1, 2, None]), lambda values: values.cast(pa.string())).to_pylist()
    ['2', '1', '2', None]
    """
    encoded = values.dictionary_encode()
    return make(encoded.dictionary).take(encoded.indices)


def int_texts(values: pa.Array) -> pa.Array:
    """Ints as texts; missing ones stay. Where few lie between the least and the largest, each of these is written once.

    Examples
    --------
    >>> int_texts(pa.array([3, None, -1])).to_pylist()
    ['3', None, '-1']
    """
    limits = pc.min_max(values).as_py()
    least, count = limits["min"], 0 if limits["min"] is None else limits["max"] - limits["min"] + 1
    if not 0 < count * _INTS_FOR_EACH <= len(values):
        return values.cast(pa.string())
    texts = pa.array(np.arange(count) + least).cast(pa.string())
    return texts.take(pc.subtract(values, least) if least else values)
