"""The stored texts of lists and dicts (tagged JSON, see :mod:`sframe_spark.values.text`) as items, and items as such texts.

Texts with a quote, a backslash or a control character, and items that hold others, are left to who goes value by value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import DICT_KIND, FLOAT, INT, LIST_KIND, STR, ColumnType, dict_of, list_of
from sframe_spark.values.flat.floats import exact_floats
from sframe_spark.values.flat.spans import CLOSING, COMMA, OPENING, QUOTE, bytes_of, counts_within, outside_quotes, texts_between

TEXT, WHOLE = r'"[^"\\]*"', "-?[0-9]{1,18}"
# None is beyond the largest float.
NUMBER = r"-?[0-9]{1,18}(\.[0-9]{1,20})?([eE][-+]?([0-9]{1,2}|[12][0-8][0-9]))?"
ITEM = f"({TEXT}|{NUMBER}|null)"
LISTS = rf"^\[({ITEM}(,{ITEM})*)?\]$"
# What a stored text of a dict has around its entries.
BEFORE, AFTER = '{"$dict":[', "]}"
NEEDS_ESCAPES = r'["\\\x00-\x1f]'
_WRITERS: dict[type, Any] = {
    int: int.__repr__,
    float: float.__repr__,
    str: json.encoder.encode_basestring,
    type(None): lambda value: "null",
}


@attrs.frozen(eq=False)
class FlatItems:
    """Lists or dicts of a batch.

    Parameters
    ----------
    counts
        How many items each row has.
    missing
        Which rows are missing.
    items
        The items of all rows, or the values of dicts: as JSON, or natively.
    keys
        The keys of dicts, numbers or texts; None of lists.
    """

    counts: np.ndarray
    missing: np.ndarray
    items: pa.Array
    keys: pa.Array | None = None

    @property
    def offsets(self) -> pa.Array:
        """Where the items of each row begin and end, missing for a row that is."""
        ends = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int32)
        return pa.array(ends, mask=np.append(self.missing, False)) if self.missing.any() else pa.array(ends)

    def natively(self) -> tuple[pa.Array, ColumnType] | None:
        """The same as an Arrow array of lists or maps; None where the items are of several types."""
        found = typed_items(self.items)
        if found is None:
            return None
        items, item_type = found
        if self.keys is None:
            column_type = list_of(item_type)
            return pa.ListArray.from_arrays(self.offsets, items, type=column_type.physical), column_type
        column_type = dict_of(INT if pa.types.is_int64(self.keys.type) else STR, item_type)
        return pa.MapArray.from_arrays(self.offsets, self.keys, items, type=column_type.physical), column_type

    def by_keys(self) -> tuple[pa.Array, ColumnType]:
        """Dicts as an Arrow array of maps from their keys to their values as JSON."""
        assert self.keys is not None
        column_type = dict_of(INT if pa.types.is_int64(self.keys.type) else STR, STR)
        return pa.MapArray.from_arrays(self.offsets, self.keys, self.items, type=column_type.physical), column_type

    def stored(self) -> pa.Array:
        """Their stored texts; the items are JSON."""
        entries = self.items
        if self.keys is not None:
            entries = pc.binary_join_element_wise("[", texts_of_items(self.keys), ",", self.items, "]", "")
        joined = pc.binary_join(pa.ListArray.from_arrays(self.offsets, entries), ",")
        before, after = ("[", "]") if self.keys is None else (BEFORE, AFTER)
        return pc.binary_join_element_wise(before, joined, after, "")


def stored_by_keys(values: pa.Array) -> pa.Array:
    """Stored texts of dicts, given as maps from their keys to their values as JSON."""
    found = items_of(values)
    assert found is not None
    return found.stored()


def flat_items(texts: pa.Array, kind: str) -> FlatItems | None:
    """The items of stored lists or dicts; None where these have others within.

    Examples
    --------
    >>> found = flat_items(pa.array(['[1,"a"]', None]), "list")
    >>> found.counts.tolist(), found.items.to_pylist()
    ([2, 0], ['1', '"a"'])
    """
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    filled = texts.fill_null("[]" if kind == LIST_KIND else BEFORE + AFTER)
    if kind == LIST_KIND:
        return _flat_lists(filled, missing) if all_match(filled, LISTS) else None
    for key in (TEXT, WHOLE):
        entry = rf"\[{key},{ITEM}\]"
        if all_match(filled, rf'^\{{"\$dict":\[({entry}(,{entry})*)?\]\}}$'):
            return _flat_dicts(filled, missing, key == WHOLE)
    return None


def all_match(texts: pa.Array, pattern: str) -> bool:
    """True if no text, but for missing ones, fails to match."""
    # Most texts that do not match are told by the first ones.
    return all(pc.all(pc.match_substring_regex(part, pattern)).as_py() is not False for part in (texts[:16], texts))


def _flat_lists(texts: pa.Array, missing: np.ndarray) -> FlatItems:
    data, bounds = bytes_of(texts)
    rows = np.flatnonzero(np.diff(bounds) > 2)
    before = (data == COMMA) & outside_quotes(data)
    after = before.copy()
    before[bounds[rows]] = True
    after[bounds[rows + 1] - 1] = True
    starts, stops = np.flatnonzero(before) + 1, np.flatnonzero(after)
    return FlatItems(counts_within(starts, bounds), missing, texts_between(data, starts, stops))


def _flat_dicts(texts: pa.Array, missing: np.ndarray, whole: bool) -> FlatItems:
    data, bounds = bytes_of(texts)
    marks = np.flatnonzero(((data == COMMA) | (data == OPENING) | (data == CLOSING)) & outside_quotes(data))
    kinds = data[marks]
    # The bracket around all entries is followed by another one.
    entries = np.flatnonzero((kinds[:-1] == OPENING) & (kinds[1:] == COMMA))
    opened, middle, closed = marks[entries], marks[entries + 1], marks[entries + 2]
    keys = texts_between(data, opened + 1, middle).cast(pa.int64()) if whole else texts_between(data, opened + 2, middle - 1)
    return FlatItems(counts_within(opened, bounds), missing, texts_between(data, middle + 1, closed), keys)


def is_flat(texts: pa.Array) -> bool:
    """True for numbers and texts as JSON, without escapes, and missing ones."""
    return all_match(texts, f"^{ITEM}$")


def typed_items(texts: pa.Array) -> tuple[pa.Array, ColumnType] | None:
    """Items that are all ints, all floats or all texts, where they are not missing; None where they are of several types, or there are none."""
    data, bounds = bytes_of(texts)
    if not len(texts):
        return None
    first = data[bounds[:-1]]
    absent = first == ord("n")
    if absent.all():
        return None
    quoted = first == QUOTE
    if (quoted | absent).all():
        inside = texts_between(data, bounds[:-1] + 1, np.maximum(bounds[1:] - 1, bounds[:-1] + 1))
        return _without(inside, absent), STR
    if quoted.any():
        return None
    numbers = _without(texts, absent)
    are_whole = pc.match_substring_regex(numbers, f"^{WHOLE}$")
    if pc.all(are_whole).as_py():
        return numbers.cast(pa.int64()), INT
    return None if pc.any(are_whole).as_py() else (numbers.cast(pa.float64()), FLOAT)


def _without(texts: pa.Array, absent: np.ndarray) -> pa.Array:
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), texts) if absent.any() else texts


def texts_of_items(items: pa.Array) -> pa.Array | None:
    """Items of one type as JSON; None where it has no number for one."""
    if pa.types.is_string(items.type):
        return json_of_texts(items).fill_null("null")
    if pa.types.is_floating(items.type):
        if pc.all(pc.is_finite(items)).as_py() is False:
            return None
        return exact_floats(items).fill_null("null")
    return items.cast(pa.string()).fill_null("null")


def json_of_texts(texts: pa.Array) -> pa.Array:
    """Texts as JSON; missing ones stay.

    Examples
    --------
    >>> json_of_texts(pa.array(["a", 'say "a"', None])).to_pylist()
    ['"a"', '"say \\\\"a\\\\""', None]
    """
    needs = pc.match_substring_regex(texts, NEEDS_ESCAPES).fill_null(False)
    quoted = pc.binary_join_element_wise('"', texts, '"', "")
    if not pc.any(needs).as_py():
        return quoted
    return pc.replace_with_mask(quoted, needs, pa.array(map(json.encoder.encode_basestring, texts.filter(needs).to_pylist()), pa.string()))


def items_of(values: pa.Array) -> FlatItems | None:
    """The items of an Arrow array of lists or maps; None where a missing row has some."""
    if not len(values):
        empty = pa.nulls(0, pa.string())
        return FlatItems(np.empty(0, np.int64), np.empty(0, bool), empty, empty if pa.types.is_map(values.type) else None)
    missing = values.is_null().to_numpy(zero_copy_only=False)
    offsets = values.offsets.to_numpy(zero_copy_only=False)
    counts = np.diff(offsets)
    if counts[missing].any():
        return None
    sides = (values.items, values.keys) if pa.types.is_map(values.type) else (values.values,)
    return FlatItems(counts, missing, *(side.slice(offsets[0], offsets[-1] - offsets[0]) for side in sides))


def stored_lists(values: pa.Array) -> pa.Array | None:
    """Stored texts of an Arrow array of lists or maps; None where they hold a float for which JSON has no number.

    Examples
    --------
    >>> stored_lists(pa.array([[1, None], None])).to_pylist()
    ['[1,null]', None]
    """
    found = items_of(values)
    texts = None if found is None else texts_of_items(found.items)
    return None if found is None or texts is None else attrs.evolve(found, items=texts).stored()


def stored_cells(cells: Sequence[Any], kind: str) -> pa.Array | None:
    """Stored texts of Python lists or dicts of ints, floats and texts; None where they hold anything else.

    Examples
    --------
    >>> stored_cells([[1, "a"], None, []], "list").to_pylist()
    ['[1,"a"]', None, '[]']
    """
    present = [cell for cell in cells if cell is not None]
    if not set(map(type, present)) <= {list if kind == LIST_KIND else dict}:
        return None
    items = json_of([*chain.from_iterable(present if kind == LIST_KIND else map(dict.values, present))])
    keys = [*chain.from_iterable(present)] if kind == DICT_KIND and items is not None else []
    classes = set(map(type, keys))
    if items is None or not (classes <= {int} or classes <= {str}):
        return None
    try:
        key_column = pa.array(keys, pa.int64() if classes == {int} else pa.string()) if kind == DICT_KIND else None
    except OverflowError:
        return None
    missing = np.array([cell is None for cell in cells], bool)
    counts = np.array([0 if cell is None else len(cell) for cell in cells], np.int64)
    return FlatItems(counts, missing, items, key_column).stored()


def json_of(values: list[Any]) -> pa.Array | None:
    """Each of some ints, floats, texts and None as JSON; None where there is anything else."""
    classes = set(map(type, values))
    if not classes <= {int, float, str, type(None)}:
        return None
    try:
        if classes <= {int, type(None)}:
            return pa.array(values, pa.int64()).cast(pa.string()).fill_null("null")
        if int in classes:
            # Ints have 64 bits.
            pa.array([value for value in values if type(value) is int], pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        return None
    if float in classes and not np.isfinite([value for value in values if type(value) is float]).all():
        return None
    return pa.array([_WRITERS[type(value)](value) for value in values], pa.string())
