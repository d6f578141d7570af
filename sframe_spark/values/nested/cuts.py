"""Stored lists, dicts and arrays of a batch, none of which is missing, cut into the JSON of what they hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sframe_spark.values.nested.patterns import EMPTY_ARRAY
from sframe_spark.values.nested.text_spans import CLOSING, COMMA, OPENING, between_commas, bytes_of, counts_within, places_at, texts_between


def cut_lists(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """How many items each list has, and all items.

    Examples
    --------
    >>> counts, items = cut_lists(pa.array(['[1,["a"]]', "[]"]))
    >>> counts.tolist(), items.to_pylist()
    ([2, 0], ['1', '["a"]'])
    """
    data, bounds = bytes_of(texts)
    (commas,) = places_at(data, (COMMA, 1))
    return between_commas(data, bounds, commas, 1, 1)


def cut_dicts(texts: pa.Array) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """How many entries each dict has, and the keys and values of all.

    Examples
    --------
    >>> counts, keys, values = cut_dicts(pa.array(['{"$dict":[["a",[1]],["b",2]]}']))
    >>> counts.tolist(), keys.to_pylist(), values.to_pylist()
    ([2], ['"a"', '"b"'], ['[1]', '2'])
    """
    data, bounds = bytes_of(texts)
    # The brackets of a dict, of all its entries and of each.
    opened, middle, closed = places_at(data, (OPENING, 3), (COMMA, 3), (CLOSING, 2))
    return counts_within(opened, bounds), texts_between(data, opened + 1, middle), texts_between(data, middle + 1, closed)


def cut_arrays(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """How many numbers each array has, and all numbers.

    Examples
    --------
    >>> counts, numbers = cut_arrays(pa.array(['{"$array":[1.5,2.0]}', '{"$array":[]}']))
    >>> counts.tolist(), numbers.to_pylist()
    ([2, 0], ['1.5', '2.0'])
    """
    data, bounds = bytes_of(texts)
    # Nothing else in them has commas.
    return between_commas(data, bounds, np.flatnonzero(data == COMMA), EMPTY_ARRAY.index("[") + 1, len("]}"))
