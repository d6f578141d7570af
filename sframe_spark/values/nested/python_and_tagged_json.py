"""Converts the Python lists and dicts of a batch to tagged JSON and back, all values of one level of nesting at once; and makes dicts of rows."""

from __future__ import annotations

import array
import datetime
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress, islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import TooLargeError
from sframe_spark.types import LIST_KIND
from sframe_spark.values.arrow_layouts import in_one_array, parts_of
from sframe_spark.values.datetimes import from_microseconds
from sframe_spark.values.ndarrays import holds_numbers, plain_ndarray
from sframe_spark.values.nested import tagged_json_patterns_and_splitting as json_patterns
from sframe_spark.values.nested.float_and_datetime_text import instants_and_offsets, stored_datetimes
from sframe_spark.values.nested.json_item_splitting_and_joining import (
    STORED_DICT,
    STORED_LIST,
    as_floats,
    first_bytes,
    in_brackets,
    json_strings,
    stored_floats,
)
from sframe_spark.values.rounding_warnings import note_rounded

# A list that contains itself is detected only where values are converted one by one; these limits keep it from filling the memory here.
MAX_LEVELS_AT_ONCE, MAX_ITEMS_AT_ONCE = 8, 1 << 24
# Codes of classes; numbers come first.
_INT, _LIKE_INT, _FLOAT, _TEXT, _MISSING, _DATETIME, _LIST, _DICT, _ARRAY, _NUMPY = range(10)
_PLAIN_CODES: dict[type, int] = {
    int: _INT,
    float: _FLOAT,
    str: _TEXT,
    type(None): _MISSING,
    datetime.datetime: _DATETIME,
    list: _LIST,
    dict: _DICT,
    array.array: _ARRAY,
}
# More classes of users' values, which are stored as values of the classes above.
_CODES = {**_PLAIN_CODES, bool: _LIKE_INT, np.int64: _LIKE_INT, np.float64: _FLOAT, tuple: _LIST, np.ndarray: _NUMPY}
# Ints of at least this size may be rounded as floats.
_FIRST_ROUNDED = 2.0**53
STORED_ARRAY = (json_patterns.EMPTY_ARRAY[:-2], ",", json_patterns.EMPTY_ARRAY[-2:])
Writer = Callable[[list[Any]], pa.Array | None]


def stored_cells(cells: Sequence[Any], kind: str, are_plain: bool = True) -> pa.Array | None:
    """Return Python lists or dicts as tagged JSON; None if they hold a value that has to be converted on its own.

    Parameters
    ----------
    cells
        All lists or all dicts, or None.
    kind
        ``"list"`` or ``"dict"``.
    are_plain
        Whether items are plain values; otherwise nested lists of numbers become arrays, and values of other classes become plain values.

    Examples
    --------
    >>> stored_cells([[1, "a"], None, []], "list").to_pylist()
    ['[1,"a"]', None, '[]']
    >>> stored_cells([{"a": [[1], ("b", True)]}], "dict", are_plain=False).to_pylist()
    ['{"$dict":[["a",[{"$array":[1.0]},["b",1]]]]}']
    """
    present = [cell for cell in cells if cell is not None]
    if not set(map(type, present)) <= {list if kind == LIST_KIND else dict}:
        return None
    try:
        texts = _lists(present, MAX_LEVELS_AT_ONCE, True, are_plain) if kind == LIST_KIND else _dicts(present, MAX_LEVELS_AT_ONCE, are_plain)
    except (OverflowError, UnicodeError, pa.ArrowInvalid, pa.ArrowCapacityError, TooLargeError):
        # An int beyond 64 bits, invalid UTF-8, or more than 2 GiB of strings.
        return None
    if texts is None or len(present) == len(cells):
        return texts
    missing = np.array([cell is None for cell in cells], bool)
    return texts.take(pa.array(np.cumsum(~missing) - 1, mask=missing))


def _codes_of(values: list[Any], are_plain: bool) -> np.ndarray | None:
    """Return the code of the class of each value; None if there is a value whose class has no code."""
    try:
        return np.fromiter(map((_PLAIN_CODES if are_plain else _CODES).__getitem__, map(type, values)), np.int8, len(values))
    except KeyError:
        return None


def _json(values: list[Any], codes: np.ndarray, levels: int, are_plain: bool) -> pa.Array | None:
    """Return each value as JSON; None if values are nested deeper than ``levels``, or cannot be written here."""
    if not len(values):
        return pa.array([], pa.string())
    if not levels and (codes >= _LIST).any():
        return None
    writers: dict[int, Writer] = {
        **_SCALARS,
        _LIST: lambda lists: _lists(lists, levels - 1, are_plain, are_plain),
        _DICT: lambda dicts: _dicts(dicts, levels - 1, are_plain),
    }
    return _by_codes(values, codes, writers)


def _by_codes(values: list[Any], codes: np.ndarray, writers: dict[int, Writer]) -> pa.Array | None:
    """Write the values of each code with the writer for it."""
    return json_patterns.by_codes(codes, lambda code, chosen: writers[code](values if chosen.all() else [*compress(values, chosen.tolist())]))


def _ints(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.string())


def _floats(numbers: np.ndarray) -> pa.Array:
    return stored_floats(pa.array(numbers, pa.float64()))


def _lists(lists: list[Any], levels: int, stay_lists: bool, are_plain: bool) -> pa.Array | None:
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    if counts.sum() > MAX_ITEMS_AT_ONCE:
        return None
    items = [*chain.from_iterable(lists)]
    codes = _codes_of(items, are_plain)
    if codes is None:
        return None
    if not stay_lists:
        before = np.concatenate([[0], np.cumsum(codes <= _FLOAT)])
        ends = np.cumsum(counts)
        are_arrays = (before[ends] - before[ends - counts] == counts) & (counts > 0)
        if are_arrays.any():
            return _by_codes(lists, are_arrays.astype(np.int8), {0: lambda part: _lists(part, levels, True, are_plain), 1: _arrays})
    texts = _json(items, codes, levels, are_plain)
    return None if texts is None else in_brackets(counts, texts, STORED_LIST)


def _arrays(arrays: list[Any]) -> pa.Array | None:
    counts = np.fromiter(map(len, arrays), np.int64, len(arrays))
    if any(type(values) is array.array and values.typecode != "d" for values in arrays):
        return None
    items = [*chain.from_iterable(arrays)]
    numbers = np.fromiter(map(float, items), np.float64, len(items))
    for index in np.flatnonzero(np.abs(numbers) >= _FIRST_ROUNDED).tolist():
        if isinstance(items[index], (int, np.integer)) and int(numbers[index]) != int(items[index]):
            note_rounded(items[index])
    return in_brackets(counts, _floats(numbers), STORED_ARRAY)


def _numpy_arrays(arrays: list[np.ndarray]) -> pa.Array | None:
    """Write numpy arrays of numbers; None if one holds other items, longer numbers, or has no dimension, or a mask."""
    if not all(type(values) is np.ndarray and values.ndim and holds_numbers(values) and values.dtype.itemsize <= 8 for values in arrays):
        return None
    counts = np.fromiter((values.size for values in arrays), np.int64, len(arrays))
    numbers = np.concatenate([plain_ndarray(values).ravel() for values in arrays])
    shapes = pa.array([",".join(map(str, values.shape)) for values in arrays])
    return stored_ndarrays(counts, pa.array(numbers, from_pandas=False), shapes)


def stored_ndarrays(counts: np.ndarray, numbers: pa.Array, shapes: pa.Array, missing: np.ndarray | None = None) -> pa.Array:
    """Return arrays of numpy as JSON, given the count of each one's numbers, and its shape as a text; missing rows stay missing.

    Examples
    --------
    >>> stored_ndarrays(np.array([2]), pa.array([1.0, 2.0]), pa.array(["1,2"])).to_pylist()
    ['{"$ndarray":[1.0,2.0],"shape":[1,2]}']
    """
    texts = in_brackets(counts, stored_floats(numbers), ('{"$ndarray":[', ",", "]"), missing)
    return pc.binary_join_element_wise(texts, ',"shape":[', shapes, "]}", "")


def _dicts(dicts: list[dict[Any, Any]], levels: int, are_plain: bool) -> pa.Array | None:
    counts = np.fromiter(map(len, dicts), np.int64, len(dicts))
    if counts.sum() > MAX_ITEMS_AT_ONCE:
        return None
    values = [*chain.from_iterable(map(dict.values, dicts))]
    codes, keys = _codes_of(values, are_plain), _before_values([*chain.from_iterable(dicts)])
    items = None if codes is None or keys is None else _json(values, codes, levels, are_plain)
    return None if items is None else in_brackets(counts, pc.binary_join_element_wise(keys, items, "]", ""), STORED_DICT)


def _before_values(keys: list[Any]) -> pa.Array | None:
    """Return the JSON before the value of each entry, for keys that are strings or ints, most of which repeat; None for other keys."""
    codes = _codes_of(keys, are_plain=True)
    if codes is None or not np.isin(codes, (_INT, _TEXT)).all():
        return None
    if (codes == _TEXT).all():
        names = in_one_array(parts_of(pa.array(keys, pa.string()))).dictionary_encode()
        return pc.binary_join_element_wise("[", json_strings(names.dictionary), ",", "").take(names.indices)
    return pc.binary_join_element_wise("[", _by_codes(keys, codes, _SCALARS), ",", "")


_SCALARS: dict[int, Writer] = {
    _INT: _ints,
    _LIKE_INT: lambda values: _ints([*map(int, values)]),
    _FLOAT: lambda values: _floats(np.array(values, np.float64)),
    _TEXT: lambda values: json_strings(in_one_array(parts_of(pa.array(values, pa.string())))),
    _MISSING: lambda values: pa.repeat("null", len(values)),
    _DATETIME: stored_datetimes,
    _ARRAY: _arrays,
    _NUMPY: _numpy_arrays,
}


def named_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows as new dicts; a row has as many values as there are names.

    Examples
    --------
    >>> list(named_rows(["a", "b"], [(1, 2), (3, 4)]))
    [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]
    """
    written = _WRITTEN.get(len(names))
    return map(dict, map(zip, itertools.repeat(names), rows)) if written is None else written(rows, *names)


# A dict display takes a fifth of the time of dict(pairs), which would be most of the time of a short user function.
_WRITTEN: dict[int, Callable[..., Iterator[dict[str, Any]]]] = {
    1: lambda rows, a: ({a: v} for (v,) in rows),
    2: lambda rows, a, b: ({a: v, b: w} for v, w in rows),
    3: lambda rows, a, b, c: ({a: v, b: w, c: x} for v, w, x in rows),
    4: lambda rows, a, b, c, d: ({a: v, b: w, c: x, d: y} for v, w, x, y in rows),
    5: lambda rows, a, b, c, d, e: ({a: v, b: w, c: x, d: y, e: z} for v, w, x, y, z in rows),
}


# Decoding.

_PLAIN, _LIST_TEXT, _DICT_TEXT, _ARRAY_TEXT, _DATETIME_TEXT, _OTHER = range(6)


def python_values(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    """Return the Python values of tagged JSON strings, which must have the form in which this package writes them, and not be missing.

    Rare forms are parsed one by one with ``read``.

    Raises
    ------
    ValueError
        If a number has too many digits.

    Examples
    --------
    >>> python_values(pa.array(["[1,[]]", '{"$dict":[["a",{"$array":[1.5]}]]}', "null"]), read=json.loads)
    [[1, []], {'a': array('d', [1.5])}, None]
    """
    data, _ = json_patterns.bytes_of(texts)
    if not (data == json_patterns.BRACE).any():
        return _plain(texts, read)
    first = first_bytes(texts)
    codes = np.full(len(texts), _PLAIN)
    codes[pc.match_substring(texts, "{").to_numpy(zero_copy_only=False) & (first != json_patterns.QUOTE)] = _OTHER
    codes[(codes == _OTHER) & (first == json_patterns.OPENING)] = _LIST_TEXT
    for code, start in (
        (_DICT_TEXT, json_patterns.BEFORE),
        (_ARRAY_TEXT, json_patterns.EMPTY_ARRAY[:-2]),
        (_DATETIME_TEXT, json_patterns.BEFORE_DATETIME),
    ):
        codes[pc.starts_with(texts, start).to_numpy(zero_copy_only=False)] = code
    present = np.unique(codes).tolist()
    if len(present) == 1:
        return _READERS[present[0]](texts, read)
    values = np.empty(len(texts), object)
    for code in present:
        chosen = codes == code
        values[chosen] = np.fromiter(_READERS[code](texts.filter(pa.array(chosen)), read), object, int(chosen.sum()))
    # ``tolist`` returns the values themselves, not numpy scalars.
    return values.tolist()


def _plain(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), ",")
    return json.loads(f"[{joined[0].as_py()}]")


def _python_lists(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    counts, items = json_patterns.cut_lists(texts)
    values = python_values(items, read)
    return [values[start:stop] for start, stop in _ranges(counts)]


def _python_dicts(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    counts, keys, items = json_patterns.cut_dicts(texts)
    values = python_values(items, read)
    names = keys.dictionary_encode()
    distinct, indices = _plain(names.dictionary, read), names.indices.to_numpy()
    count = int(counts[0])
    if count and (counts == count).all() and (indices.reshape(-1, count) == indices[:count]).all():
        # The common case: all dicts have the same keys.
        same = [distinct[index] for index in indices[:count].tolist()]
        return [*named_rows(same, zip(*[iter(values)] * count, strict=True))]
    entries = zip(map(distinct.__getitem__, indices.tolist()), values, strict=True)
    return [dict(islice(entries, count)) for count in counts.tolist()]


def _python_arrays(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    counts, items = json_patterns.cut_arrays(texts)
    floats = as_floats(items)
    if floats is None:
        return _read_each(texts, read)
    numbers = array.array("d", floats.to_numpy(zero_copy_only=False).tobytes())
    return [numbers[start:stop] for start, stop in _ranges(counts)]


def _datetimes(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    parsed = instants_and_offsets(texts)
    return _read_each(texts, read) if parsed is None else [*map(from_microseconds, *(part.to_pylist() for part in parsed))]


def _read_each(texts: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    return [*map(read, texts.to_pylist())]


def _ranges(counts: np.ndarray) -> Any:
    return pairwise([0, *np.cumsum(counts).tolist()])


_READERS: dict[int, Callable[[pa.Array, Callable[[str], Any]], list[Any]]] = {
    _PLAIN: _plain,
    _LIST_TEXT: _python_lists,
    _DICT_TEXT: _python_dicts,
    _ARRAY_TEXT: _python_arrays,
    _DATETIME_TEXT: _datetimes,
    _OTHER: _read_each,
}
