"""Python's lists and dicts as stored texts, all of a batch at once: one level of what they hold after the other."""

from __future__ import annotations

import array
import json
import math
from collections.abc import Callable, Sequence
from itertools import chain, compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import LIST_KIND
from sframe_spark.values.flat.floats import exact_floats
from sframe_spark.values.flat.parts import by_codes
from sframe_spark.values.flat.patterns import AFTER_FLOAT, BEFORE_FLOAT
from sframe_spark.values.flat.stored import FlatItems, json_of_texts

# Lists that hold themselves are told by who goes value by value; before that they would become as many items as nothing has room for.
MOST_LEVELS_AT_ONCE, MOST_ITEMS_AT_ONCE = 8, 1 << 24
_NUMBER, _OTHER, _LIST, _DICT, _ARRAY = range(5)
_CODES: dict[type, int] = {
    int: _NUMBER,
    float: _NUMBER,
    str: _OTHER,
    type(None): _OTHER,
    list: _LIST,
    dict: _DICT,
    array.array: _ARRAY,
}
_WRITERS: dict[type, Callable[[Any], str]] = {
    int: int.__repr__,
    float: lambda value: float.__repr__(value) if math.isfinite(value) else f"{BEFORE_FLOAT}{value!r}{AFTER_FLOAT}",
    str: json.encoder.encode_basestring,
    type(None): lambda value: "null",
}


def stored_cells(cells: Sequence[Any], kind: str, are_plain: bool = True) -> pa.Array | None:
    """Stored texts of Python lists or dicts; None where they hold what takes a closer look.

    Parameters
    ----------
    cells
        All lists or all dicts, or None.
    kind
        Which of both.
    are_plain
        What is in them is stored as it is; otherwise lists of numbers within become arrays.

    Examples
    --------
    >>> stored_cells([[1, "a"], None, []], "list").to_pylist()
    ['[1,"a"]', None, '[]']
    >>> stored_cells([{"a": [[1], ["b"]]}], "dict", are_plain=False).to_pylist()
    ['{"$dict":[["a",[{"$array":[1.0]},["b"]]]]}']
    """
    present = [cell for cell in cells if cell is not None]
    if not set(map(type, present)) <= {list if kind == LIST_KIND else dict}:
        return None
    try:
        found = _lists(present, MOST_LEVELS_AT_ONCE, True, are_plain) if kind == LIST_KIND else _dicts(present, MOST_LEVELS_AT_ONCE, are_plain)
    except (OverflowError, UnicodeError, pa.ArrowInvalid):
        # Ints have 64 bits, and texts are UTF-8.
        return None
    if found is None or len(present) == len(cells):
        return found
    places = np.cumsum([cell is not None for cell in cells]) - 1
    return found.take(pa.array(places, mask=np.array([cell is None for cell in cells], bool)))


def json_of(values: list[Any], levels: int, are_plain: bool) -> pa.Array | None:
    """Each value as JSON, with at most so many lists and dicts inside each other; None where there is anything else."""
    try:
        codes = np.fromiter(map(_CODES.__getitem__, map(type, values)), np.int8, len(values))
    except KeyError:
        return None
    codes[codes == _NUMBER] = _OTHER
    if (codes == _OTHER).all():
        return _scalars(values)
    if not levels:
        return None
    writers: dict[int, Callable[[list[Any]], pa.Array | None]] = {
        _OTHER: _scalars,
        _LIST: lambda lists: _lists(lists, levels - 1, are_plain, are_plain),
        _DICT: lambda dicts: _dicts(dicts, levels - 1, are_plain),
        _ARRAY: _arrays,
    }
    return _by_parts(values, codes, writers)


def _by_parts(values: list[Any], codes: np.ndarray, writers: dict[int, Callable[[list[Any]], pa.Array | None]]) -> pa.Array | None:
    """Values of different codes, each written with others of its own."""
    return by_codes(codes, lambda code, chosen: writers[code]([*compress(values, chosen.tolist())]))


def _scalars(values: list[Any]) -> pa.Array:
    classes = set(map(type, values))
    if classes <= {int, type(None)}:
        return pa.array(values, pa.int64()).cast(pa.string()).fill_null("null")
    if classes <= {float}:
        return _floats(np.array(values))
    if classes <= {str}:
        return json_of_texts(pa.array(values, pa.string()))
    if int in classes:
        pa.array([value for value in values if type(value) is int], pa.int64())
    return pa.array([_WRITERS[type(value)](value) for value in values], pa.string())


def _floats(numbers: np.ndarray) -> pa.Array:
    texts = exact_floats(pa.array(numbers, pa.float64()))
    special = ~np.isfinite(numbers)
    if not special.any():
        return texts
    chosen = pa.array(special)
    return pc.replace_with_mask(texts, chosen, pc.binary_join_element_wise(BEFORE_FLOAT, texts.filter(chosen), AFTER_FLOAT, ""))


def _lists(lists: list[list[Any]], levels: int, stay_lists: bool, are_plain: bool) -> pa.Array | None:
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    if counts.sum() > MOST_ITEMS_AT_ONCE:
        return None
    items = [*chain.from_iterable(lists)]
    are_arrays = np.zeros(len(lists), bool)
    if not stay_lists and items:
        are_numbers = np.fromiter((_CODES.get(kind) == _NUMBER for kind in map(type, items)), np.int64, len(items))
        before = np.concatenate([[0], np.cumsum(are_numbers)])
        ends = np.cumsum(counts)
        are_arrays = (before[ends] - before[ends - counts] == counts) & (counts > 0)
    if are_arrays.any():
        return _by_parts(lists, are_arrays.astype(np.int8), {0: lambda part: _lists(part, levels, True, are_plain), 1: _arrays})
    texts = json_of(items, levels, are_plain)
    return None if texts is None else _in_brackets(counts, texts)


def _arrays(arrays: Sequence[Sequence[float]]) -> pa.Array | None:
    counts = np.fromiter(map(len, arrays), np.int64, len(arrays))
    if not all(type(one) is list or one.typecode == "d" for one in arrays):  # type: ignore[attr-defined]
        return None
    numbers = np.fromiter(map(float, chain.from_iterable(arrays)), np.float64, int(counts.sum()))
    return pc.binary_join_element_wise('{"$array":', _in_brackets(counts, _floats(numbers)), "}", "")


def _dicts(dicts: list[dict[Any, Any]], levels: int, are_plain: bool) -> pa.Array | None:
    counts = np.fromiter(map(len, dicts), np.int64, len(dicts))
    if counts.sum() > MOST_ITEMS_AT_ONCE:
        return None
    keys = [*chain.from_iterable(dicts)]
    if not set(map(type, keys)) <= {int, str}:
        return None
    items = json_of([*chain.from_iterable(map(dict.values, dicts))], levels, are_plain)
    if items is None:
        return None
    entries = pc.binary_join_element_wise("[", _scalars(keys), ",", items, "]", "")
    return pc.binary_join_element_wise('{"$dict":', _in_brackets(counts, entries), "}", "")


def _in_brackets(counts: np.ndarray, items: pa.Array) -> pa.Array:
    return FlatItems(counts, np.zeros(len(counts), bool), items).stored()
