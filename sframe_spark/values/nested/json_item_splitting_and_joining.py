"""Splits stored lists and dicts (tagged JSON) into items, and joins items to lists and dicts.

Items that are nested, or of several types, stay JSON. Values that are nested too deep for the patterns of this file are parsed one by one by the
callers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark import types
from sframe_spark.pyarrow_versions import if_else, replace_with_mask
from sframe_spark.types import ColumnType
from sframe_spark.values.nested import tagged_json_patterns_and_splitting as json_patterns
from sframe_spark.values.nested.float_and_datetime_text import exact_floats

NULL, POINT, EXPONENT, LOWER_CASE = b"n.e "
_ALL = (
    *(types.INT_KIND, types.FLOAT_KIND, types.STR_KIND, types.LIST_KIND, types.DICT_KIND),
    *(types.ARRAY_KIND, types.FLOAT_KIND, types.DATETIME_KIND, types.NDARRAY_KIND, types.IMAGE_KIND),
)
KINDS = [frozenset(), *(frozenset([kind]) for kind in _ALL)]
"""For each position below a set with the kind of column type that such a JSON value represents; empty for null."""
MISSING, INTS, FLOATS, TEXTS, LISTS, DICTS, ARRAYS, SPECIAL_FLOATS, DATETIMES, NDARRAYS, IMAGES = range(len(KINDS))
"""Positions in ``KINDS``: null, ints, floats, and so on."""
# The tags "dict", "array", "float", "datetime", "ndarray" and "image" differ in their second letter, which follows a brace, a quote, a dollar sign
# and the first letter.
_POSITION_IN_TAG = len('{"$d')
_CODES_BY_LETTER = {"i": DICTS, "r": ARRAYS, "l": SPECIAL_FLOATS, "a": DATETIMES, "d": NDARRAYS, "m": IMAGES}
_BY_TAG = np.array([_CODES_BY_LETTER.get(chr(byte), MISSING) for byte in range(256)], np.int8)
_BY_FIRST = np.array(
    [{NULL: MISSING, json_patterns.QUOTE: TEXTS, json_patterns.OPENING: LISTS}.get(byte, INTS) for byte in range(256)],
    np.int8,
)


def typed_items(texts: pa.Array) -> tuple[pa.Array, ColumnType] | None:
    """Return JSON items as a column if all items that are not null are ints, or all floats, or all strings; otherwise None.

    Examples
    --------
    >>> typed_items(pa.array(["1.5", "null", '{"$float":"inf"}']))[0].to_pylist()
    [1.5, None, inf]
    """
    if not len(texts):
        return None
    first = first_bytes(texts)
    absent = first == NULL
    if absent.all():
        return None
    quoted = first == json_patterns.QUOTE
    if quoted.any():
        return (without_quotes(without(texts, absent)), types.STR) if (quoted | absent).all() else None
    if (first == json_patterns.OPENING).any():
        return None
    special = first == json_patterns.BRACE
    numbers = without(texts, absent | special)
    are_whole = pc.match_substring_regex(numbers, f"^{json_patterns.WHOLE}$")
    if not special.any() and pc.all(are_whole).as_py():
        return numbers.cast(pa.int64()), types.INT
    if pc.any(are_whole).as_py():
        return None
    floats = as_floats(texts)
    return None if floats is None else (floats, types.FLOAT)


def as_floats(texts: pa.Array) -> pa.Array | None:
    """Return JSON numbers as floats; None if an item is neither a number nor null."""
    first = first_bytes(texts)
    special = first == json_patterns.BRACE
    numbers = without(texts, (first == NULL) | special)
    if special.any():
        chosen = pa.array(special)
        named = texts.filter(chosen)
        if not json_patterns.all_match(named, f"^{json_patterns.SPECIAL_FLOAT}$"):
            return None
        numbers = replace_with_mask(
            numbers,
            chosen,
            pc.utf8_slice_codeunits(named, len(json_patterns.BEFORE_FLOAT), -len(json_patterns.AFTER_FLOAT)),
        )
    are_floats = pc.match_substring_regex(numbers, f"^(?:{json_patterns.NUMBER}|nan|-?inf)$")
    return None if pc.all(are_floats).as_py() is False else numbers.cast(pa.float64())


def without_quotes(texts: pa.Array) -> pa.Array:
    """Return the strings that JSON strings represent; missing strings stay missing.

    Examples
    --------
    >>> without_quotes(pa.array(['"a"', r'"\\n"', None])).to_pylist()
    ['a', '\\n', None]
    """
    data, bounds = json_patterns.bytes_of(texts.fill_null('""') if texts.null_count else texts)
    inside = json_patterns.texts_between(data, bounds[:-1] + 1, bounds[1:] - 1)
    if (data == json_patterns.BACKSLASH).any():
        has_escapes = pc.match_substring(inside, "\\")
        inside = replace_with_mask(inside, has_escapes, pa.array(json.loads(f"[{','.join(texts.filter(has_escapes).to_pylist())}]"), pa.string()))
    return if_else(texts.is_valid(), inside, pa.scalar(None, pa.string())) if texts.null_count else inside


def kinds_of(texts: pa.Array) -> np.ndarray:
    """Return the index in :data:`KINDS` of the kind of each JSON value, which may be ``null``; no entry of the array may be missing.

    Examples
    --------
    >>> [sorted(KINDS[kind]) for kind in kinds_of(pa.array(["1", "2.5", "null", '{"$dict":[]}']))]
    [['int'], ['float'], [], ['dict']]
    """
    data, bounds = json_patterns.bytes_of(texts)
    first = data[bounds[:-1]]
    kinds = _BY_FIRST[first]
    numbers, tagged = kinds == INTS, first == json_patterns.BRACE
    numbers &= ~tagged
    kinds[numbers] += _are_floats(texts.filter(pa.array(numbers)))
    if tagged.any():
        kinds[tagged] = _BY_TAG[data[bounds[:-1][tagged] + _POSITION_IN_TAG]]
    return kinds


def _are_floats(numbers: pa.Array) -> np.ndarray:
    """Return which numbers have a point or an exponent."""
    data, bounds = json_patterns.bytes_of(numbers)
    # Upper and lower case differ in one bit. A pattern takes four times as long.
    is_mark = (data == POINT) | (data | LOWER_CASE == EXPONENT)
    return np.logical_or.reduceat(is_mark, bounds[:-1]) if len(numbers) else np.zeros(0, bool)


def first_bytes(texts: pa.Array) -> np.ndarray:
    """Return the first byte of each value; no value may be missing."""
    data, bounds = json_patterns.bytes_of(texts)
    return data[bounds[:-1]]


def without(texts: pa.Array, absent: np.ndarray) -> pa.Array:
    """Return the strings, but missing values in the rows of the mask ``absent``."""
    return if_else(pa.array(absent), pa.scalar(None, pa.string()), texts) if absent.any() else texts


# Nested values are recognised by patterns of thousands of letters. Compiling a pattern takes as long as matching a thousand values, and compiling
# the patterns of the deepest values as long as matching some thousands.
FEW_ROWS, MANY_ROWS = 1000, 8000
KEY_PATTERNS = (json_patterns.TEXT, json_patterns.WHOLE)
STORED_LIST, STORED_DICT = ("[", ",", "]"), (json_patterns.BEFORE, ",", json_patterns.AFTER)


@attrs.frozen(eq=False)
class FlatItems:
    """Lists or dicts of a batch as flat arrays of all their items.

    Parameters
    ----------
    counts
        How many items each row has.
    missing
        Which rows are missing.
    items
        The items of all rows, or the values of dicts: as JSON, or natively.
    keys
        The keys of dicts, numbers or strings; None for lists.
    """

    counts: np.ndarray
    missing: np.ndarray
    items: pa.Array
    keys: pa.Array | None = None

    @property
    def offsets(self) -> pa.Array:
        """The offsets of a list array, missing for a missing row."""
        return _offsets(self.counts, self.missing)

    def natively(self) -> tuple[pa.Array, ColumnType] | None:
        """Return an Arrow array of lists or maps; None if the items are of several types."""
        typed = typed_items(self.items)
        return None if typed is None else self._with_items(*typed)

    def by_keys(self) -> tuple[pa.Array, ColumnType]:
        """Return dicts as an Arrow array of maps from their keys to their values as JSON."""
        return self._with_items(self.items, types.STR)

    def _with_items(self, items: pa.Array, item_type: ColumnType) -> tuple[pa.Array, ColumnType]:
        if self.keys is None:
            column_type = types.list_of(item_type)
            return pa.ListArray.from_arrays(self.offsets, items, type=column_type.physical), column_type
        column_type = types.dict_of(types.INT if pa.types.is_int64(self.keys.type) else types.STR, item_type)
        return pa.MapArray.from_arrays(self.offsets, self.keys, items, type=column_type.physical), column_type

    def stored(self) -> pa.Array:
        """Return the lists or dicts as tagged JSON; the items must be JSON."""
        entries = self.items
        if self.keys is not None:
            entries = pc.binary_join_element_wise("[", texts_of_items(self.keys), ",", self.items, "]", "")
        return in_brackets(self.counts, entries, STORED_LIST if self.keys is None else STORED_DICT, self.missing)


def in_brackets(counts: np.ndarray, items: pa.Array, brackets: tuple[str, str, str], missing: np.ndarray | None = None) -> pa.Array:
    """Join the items of each row, given their counts; ``brackets`` are the strings before, between and after items. Missing rows stay missing.

    Examples
    --------
    >>> in_brackets(np.array([2, 0]), pa.array(["1", "2"]), ("[", ",", "]")).to_pylist()
    ['[1,2]', '[]']
    """
    before, between, after = brackets
    return pc.binary_join_element_wise(before, pc.binary_join(pa.ListArray.from_arrays(_offsets(counts, missing), items), between), after, "")


def _offsets(counts: np.ndarray, missing: np.ndarray | None) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.array(ends) if missing is None or not missing.any() else pa.array(ends, mask=np.append(missing, False))


def joined_items(values: pa.Array) -> pa.Array:
    """Return lists of JSON items, or maps from keys to JSON values, as tagged JSON; missing rows must have no items."""
    flat = items_of(values)
    assert flat is not None
    return flat.stored()


def flat_items(texts: pa.Array, kind: str) -> FlatItems | None:
    """Return the items of stored lists or dicts; None if some items are nested.

    Examples
    --------
    >>> flat = flat_items(pa.array(['[1,"a"]', None]), "list")
    >>> flat.counts.tolist(), flat.items.to_pylist()
    ([2, 0], ['1', '"a"'])
    """
    return _items(texts, kind, _patterns_of(kind, json_patterns.ITEM))


def any_items(texts: pa.Array, kind: str) -> FlatItems | None:
    """Return the items of stored lists or dicts, which may be nested.

    Return None if items are nested too deep, or nested in so few rows that compiling a pattern would take longer than parsing them one by one.

    Examples
    --------
    >>> flat = any_items(pa.array(['[[1],{"$dict":[]}]'] * 1000), "list")
    >>> flat.counts[:3].tolist(), flat.items[:2].to_pylist()
    ([2, 2, 2], ['[1]', '{"$dict":[]}'])
    """
    return _items(texts, kind, _patterns(texts, kind))


def is_known(texts: pa.Array, kind: str, many_rows: int = MANY_ROWS) -> bool:
    """Return whether all values are lists or dicts as this package writes them and not nested deep; a dict may have both string and int keys.

    Parameters
    ----------
    texts, kind
        Stored lists or dicts.
    many_rows
        If there are at least this many rows, values may be nested one level deeper.

    Examples
    --------
    >>> [is_known(pa.array([text]), "dict") for text in ('{"$dict":[["a",1],[2,null]]}', '{"a":1}')]
    [True, False]
    """
    filled = _filled(texts, kind)
    return any(json_patterns.all_match(filled, pattern) for pattern, _ in _patterns(texts, kind, (json_patterns.KEY,), many_rows))


def item_counts(texts: pa.Array, kind: str) -> pa.Array | None:
    """Return the number of items of each list or dict that :func:`any_items` handles; missing for missing values.

    Examples
    --------
    >>> item_counts(pa.array(['[1,"a"]', None]), "list").to_pylist()
    [2, None]
    """
    if not is_known(texts, kind):
        return None
    data, bounds = json_patterns.bytes_of(_filled(texts, kind))
    (positions,) = json_patterns.positions_at(data, (json_patterns.COMMA, 1) if kind == types.LIST_KIND else (json_patterns.OPENING, 3))
    counts = json_patterns.counts_within(positions, bounds) + (np.diff(bounds) > len("[]") if kind == types.LIST_KIND else 0)
    return pa.array(counts, pa.int64(), mask=texts.is_null().to_numpy(zero_copy_only=False))


def _patterns(texts: pa.Array, kind: str, keys: Sequence[str] = KEY_PATTERNS, many_rows: int = MANY_ROWS) -> Iterator[tuple[str, bool]]:
    """Yield patterns of lists or dicts, and for each pattern whether the keys of dicts are ints.

    The first patterns are of flat values, later ones of values that are nested deeper, as far as compiling them pays off for the number of rows.
    """
    yield from _patterns_of(kind, json_patterns.ITEM, keys)
    if len(texts) >= FEW_ROWS:
        for levels in range(json_patterns.MAX_PATTERN_LEVELS):
            yield from _patterns_of(kind, json_patterns.nested(levels), keys)
    if len(texts) >= many_rows:
        yield from _patterns_of(kind, json_patterns.nested(json_patterns.MAX_PATTERN_LEVELS), keys)


def _patterns_of(kind: str, item: str, keys: Sequence[str] = KEY_PATTERNS) -> Iterator[tuple[str, bool]]:
    if kind == types.LIST_KIND:
        yield f"^{json_patterns.lists(item)}$", False
    else:
        yield from ((f"^{json_patterns.dicts(key, item)}$", key == json_patterns.WHOLE) for key in keys)


def _items(texts: pa.Array, kind: str, patterns: Iterator[tuple[str, bool]]) -> FlatItems | None:
    filled = _filled(texts, kind)
    are_ints = next((are_ints for pattern, are_ints in patterns if json_patterns.all_match(filled, pattern)), None)
    if are_ints is None:
        return None
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    if kind == types.LIST_KIND:
        counts, items = json_patterns.cut_lists(filled)
        return FlatItems(counts, missing, items)
    counts, keys, items = json_patterns.cut_dicts(filled)
    return FlatItems(counts, missing, items, keys.cast(pa.int64()) if are_ints else without_quotes(keys))


def _filled(texts: pa.Array, kind: str) -> pa.Array:
    return texts.fill_null("[]" if kind == types.LIST_KIND else json_patterns.BEFORE + json_patterns.AFTER)


def texts_of_items(items: pa.Array) -> pa.Array:
    """Return items of one type as JSON."""
    if pa.types.is_string(items.type):
        return json_strings(items).fill_null("null")
    return (stored_floats(items) if pa.types.is_floating(items.type) else items.cast(pa.string())).fill_null("null")


def stored_floats(numbers: pa.Array) -> pa.Array:
    """Return floats as tagged JSON; missing floats stay missing.

    Examples
    --------
    >>> stored_floats(pa.array([0.5, float("nan"), None])).to_pylist()
    ['0.5', '{"$float":"nan"}', None]
    """
    texts = exact_floats(numbers)
    special = pc.invert(pc.is_finite(numbers)).fill_null(False)
    if not special.true_count:
        return texts
    return replace_with_mask(
        texts,
        special,
        pc.binary_join_element_wise(json_patterns.BEFORE_FLOAT, texts.filter(special), json_patterns.AFTER_FLOAT, ""),
    )


def json_strings(texts: pa.Array, write: Callable[[str], str] = json.encoder.encode_basestring) -> pa.Array:
    """Return strings as JSON; missing strings stay missing.

    Parameters
    ----------
    texts
        Any strings.
    write
        Writes a string that needs escapes.

    Examples
    --------
    >>> json_strings(pa.array(["a", 'say "a"', None])).to_pylist()
    ['"a"', '"say \\\\"a\\\\""', None]
    """
    needs_escapes = pc.match_substring_regex(texts, r'["\\\x00-\x1f]').fill_null(False)
    quoted = pc.binary_join_element_wise('"', texts, '"', "")
    if not pc.any(needs_escapes).as_py():
        return quoted
    return replace_with_mask(quoted, needs_escapes, pa.array(map(write, texts.filter(needs_escapes).to_pylist()), pa.string()))


def items_of(values: pa.Array) -> FlatItems | None:
    """Return the items of an Arrow array of lists or maps; None if a missing row has items."""
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
    """Return an Arrow array of lists or maps as tagged JSON; None if a missing row has items.

    Examples
    --------
    >>> stored_lists(pa.array([[1, None], None])).to_pylist()
    ['[1,null]', None]
    """
    flat = items_of(values)
    return None if flat is None else attrs.evolve(flat, items=texts_of_items(flat.items)).stored()
