"""Stored texts as Python's lists and dicts, all of a batch at once: one level of what they hold after the other."""

from __future__ import annotations

import array
import json
from collections.abc import Callable
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.values.datetimes import from_microseconds
from sframe_spark.values.nested.cuts import cut_arrays, cut_dicts, cut_lists
from sframe_spark.values.nested.moments import instants_and_offsets
from sframe_spark.values.nested.named_rows import named_rows
from sframe_spark.values.nested.patterns import BEFORE, BEFORE_MOMENT, EMPTY_ARRAY
from sframe_spark.values.nested.text_spans import BRACE, OPENING, QUOTE, bytes_of
from sframe_spark.values.nested.typed import as_floats, first_bytes

_PLAIN, _LIST, _DICT, _ARRAY, _MOMENT, _OTHER = range(6)


def python_values(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    """Values of some texts, none of which is missing and all of which are known to be JSON as we write it; what is rare is read one by one.

    Raises
    ------
    ValueError
        If a number has too many digits.

    Examples
    --------
    >>> python_values(pa.array(["[1,[]]", '{"$dict":[["a",{"$array":[1.5]}]]}', "null"]), read=json.loads)
    [[1, []], {'a': array('d', [1.5])}, None]
    """
    data, _ = bytes_of(texts)
    if not (data == BRACE).any():
        return _plain(texts, read)
    first = first_bytes(texts)
    codes = np.full(len(texts), _PLAIN)
    codes[pc.match_substring(texts, "{").to_numpy(zero_copy_only=False) & (first != QUOTE)] = _OTHER
    codes[(codes == _OTHER) & (first == OPENING)] = _LIST
    for code, start in ((_DICT, BEFORE), (_ARRAY, EMPTY_ARRAY[:-2]), (_MOMENT, BEFORE_MOMENT)):
        codes[pc.starts_with(texts, start).to_numpy(zero_copy_only=False)] = code
    found = np.unique(codes).tolist()
    if len(found) == 1:
        return _READERS[found[0]](texts, read)
    values = np.empty(len(texts), object)
    for code in found:
        chosen = codes == code
        values[chosen] = np.fromiter(_READERS[code](texts.filter(pa.array(chosen)), read), object, int(chosen.sum()))
    # The values themselves, which are no arrays.
    return values.tolist()


def _plain(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), ",")
    return json.loads(f"[{joined[0].as_py()}]")


def _lists(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    counts, items = cut_lists(texts)
    values = python_values(items, read)
    return [values[start:stop] for start, stop in _ranges(counts)]


def _dicts(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    counts, keys, items = cut_dicts(texts)
    values = python_values(items, read)
    names = keys.dictionary_encode()
    known, places = _plain(names.dictionary, read), names.indices.to_numpy()
    count = int(counts[0])
    if count and (counts == count).all() and (places.reshape(-1, count) == places[:count]).all():
        # The usual dicts: all have the same keys.
        same = [known[place] for place in places[:count].tolist()]
        return [*named_rows(same, zip(*[iter(values)] * count, strict=True))]
    entries = zip(map(known.__getitem__, places.tolist()), values, strict=True)
    return [dict(islice(entries, count)) for count in counts.tolist()]


def _arrays(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    counts, items = cut_arrays(texts)
    floats = as_floats(items)
    if floats is None:
        return _others(texts, read)
    numbers = array.array("d", floats.to_numpy(zero_copy_only=False).tobytes())
    return [numbers[start:stop] for start, stop in _ranges(counts)]


def _moments(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    found = instants_and_offsets(texts)
    return _others(texts, read) if found is None else [*map(from_microseconds, *(part.to_pylist() for part in found))]


def _others(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    return [*map(read, texts.to_pylist())]


def _ranges(counts: np.ndarray) -> Any:
    return pairwise([0, *np.cumsum(counts).tolist()])


_READERS: dict[int, Callable[[pa.Array, Callable[[str], Any]], list[Any]]] = {
    _PLAIN: _plain,
    _LIST: _lists,
    _DICT: _dicts,
    _ARRAY: _arrays,
    _MOMENT: _moments,
    _OTHER: _others,
}
