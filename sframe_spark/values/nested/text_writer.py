"""Writes lists, arrays and dicts of a whole batch as strings, in one of several forms: display, canonical, CSV or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.pyarrow_versions import if_else, replace_with_mask
from sframe_spark.types import ARRAY_KIND, DICT_KIND, ENCODED_DICT, ENCODED_LIST, FLOAT, NDARRAY_KIND, STR, ColumnType
from sframe_spark.values.ndarrays import numbers_of, shape_of_text, shape_texts
from sframe_spark.values.nested import float_and_datetime_text, json_item_splitting_and_joining as json_items
from sframe_spark.values.nested.tagged_json_patterns_and_splitting import (
    QUOTE,
    by_codes,
    cut_arrays,
    cut_dicts,
    cut_lists,
    has_duplicates,
    has_lists_of_numbers,
)

Brackets = tuple[str, str, str]
Writer = Callable[[pa.Array], pa.Array | None]
# Characters of a 64-bit int with a sign.
LONGEST_INT = 20


@attrs.frozen
class TextForm:
    """A form in which values are written.

    Parameters
    ----------
    floats, texts
        Write numbers and strings.
    datetimes
        Writes stored datetimes; returns None if one is outside the years of Python's ``datetime``.
    missing
        What is written for a missing item.
    array, list, dict
        The strings before, between and after items.
    array_within
        The strings before, between and after items of arrays inside lists and dicts; None if they are those of ``array``.
    rewritten
        Stored strings that contain this string are written again by ``texts``; all other strings stay as they are stored.
    is_sorted
        Whether entries of dicts are sorted as strings, in the form in which they are written.
    quotes_keys
        Whether keys that are numbers are quoted, too.
    floats_of_arrays
        Writes the numbers of arrays that are not inside lists or dicts; None if they are written like other numbers.
    writes_shapes
        Whether the shape of an array of numpy is written before its numbers; otherwise its rows are lists of numbers or of rows.
    """

    floats: Callable[[pa.Array], pa.Array]
    texts: Callable[[pa.Array], pa.Array]
    datetimes: Writer
    missing: str
    array: Brackets = ("[", ",", "]")
    array_within: Brackets | None = None
    list: Brackets = ("[", ",", "]")
    dict: Brackets = ("{", ",", "}")
    rewritten: str | None = None
    is_sorted: bool = False
    quotes_keys: bool = False
    floats_of_arrays: Callable[[pa.Array], pa.Array] | None = None
    writes_shapes: bool = False


def in_quotes(texts: pa.Array) -> pa.Array:
    """Return strings in quotes, without any escapes."""
    return pc.binary_join_element_wise('"', texts, '"', "")


def _instants(texts: pa.Array) -> pa.Array | None:
    parsed = float_and_datetime_text.instants_and_offsets(texts)
    return None if parsed is None else pc.binary_join_element_wise("@", parsed[0].cast(pa.string()), "")


def _json_datetimes(texts: pa.Array) -> pa.Array | None:
    iso = float_and_datetime_text.format_stored_datetimes(texts, "%Y-%m-%dT%H:%M:%S%F", "%Q")
    return None if iso is None else in_quotes(iso)


def csv_string(value: str) -> str:
    r"""Return a string inside a list or dict as CSV has it: JSON, but ``\u000c`` for a form feed, as readers of CSV do not know ``\f``.

    Examples
    --------
    >>> csv_string("a\f\\n\n")
    '"a\\u000c\\\\n\\n"'
    """
    return '"' + r"\u000c".join(json.encoder.encode_basestring(part)[1:-1] for part in value.split("\f")) + '"'


_COMPACT_DATETIME = "%Y%m%dT%H%M%S%F"
DISPLAY = TextForm(
    float_and_datetime_text.display_floats,
    in_quotes,
    lambda texts: float_and_datetime_text.format_stored_datetimes(texts, _COMPACT_DATETIME, ""),
    missing="",
    array=("[", " ", "]"),
    dict=("{", ", ", "}"),
    rewritten="\\",
)
CANONICAL = TextForm(
    float_and_datetime_text.compared_floats,
    json_items.json_strings,
    _instants,
    missing="null",
    array=("<", ",", ">"),
    is_sorted=True,
    writes_shapes=True,
)
IN_CSV = TextForm(
    float_and_datetime_text.signed_floats,
    lambda texts: json_items.json_strings(texts, csv_string),
    lambda texts: float_and_datetime_text.format_stored_datetimes(texts, _COMPACT_DATETIME, "%z"),
    missing="",
    array=("[", " ", "]"),
    array_within=("[", ",", "]"),
    rewritten=r"\f",
    floats_of_arrays=float_and_datetime_text.brief_floats,
)
IN_JSON = TextForm(
    float_and_datetime_text.json_floats,
    json_items.json_strings,
    _json_datetimes,
    missing="null",
    quotes_keys=True,
)


def written(values: pa.Array, column_type: ColumnType, form: TextForm) -> pa.Array | None:
    """Write each value in a form; None if some value has to be written on its own.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_DICT
    >>> written(pa.array(['{"$dict":[["b",1.5],["a",null]]}']), ENCODED_DICT, DISPLAY).to_pylist()
    ['{"b":1.5, "a":}']
    """
    if not column_type.is_encoded:
        return _natively_written(values, column_type.kind, form)
    if not json_items.is_known(values, column_type.kind):
        return None
    texts = _written(values.fill_null("null") if values.null_count else values, form)
    return texts if texts is None or not values.null_count else if_else(values.is_valid(), texts, pa.scalar(None, pa.string()))


def display_strings(texts: pa.Array) -> pa.Array | None:
    """Convert JSON values to strings, as the constructor of a column with ``dtype=str`` does; None if a value has to be converted on its own.

    No value may be missing.

    Examples
    --------
    >>> display_strings(pa.array(['"a"', "1", "2.50", "null", '["a"]'])).to_pylist()
    ['a', '1', '2.5', None, '["a"]']
    """

    def write(kind: int, chosen: np.ndarray) -> pa.Array | None:
        part = texts.filter(pa.array(chosen))
        if kind in _NESTED:
            # Nested lists of numbers would become arrays, which are displayed differently.
            return None if has_lists_of_numbers(part) else written(part, _NESTED[kind], DISPLAY)
        if kind == json_items.TEXTS:
            return json_items.without_quotes(part)
        return pa.nulls(len(part), pa.string()) if kind == json_items.MISSING else _WRITERS[kind](part, DISPLAY)

    return by_codes(json_items.kinds_of(texts), write) if len(texts) else texts


def _natively_written(values: pa.Array, kind: str, form: TextForm) -> pa.Array | None:
    if kind == NDARRAY_KIND:
        return _written_ndarrays(values, form)
    flat = json_items.items_of(values)
    if flat is None:
        return None
    if kind == ARRAY_KIND and form.floats_of_arrays is not None:
        form = attrs.evolve(form, floats=form.floats_of_arrays)
    items = _native_items(flat.items, form)
    if flat.keys is not None:
        keys = _native_items(flat.keys, form)
        keys = in_quotes(keys) if form.quotes_keys and pa.types.is_integer(flat.keys.type) else keys
        items = _entries(flat.counts, keys, items, form)
    brackets = form.array if kind == ARRAY_KIND else form.dict if kind == DICT_KIND else form.list
    return json_items.in_brackets(flat.counts, items, brackets, flat.missing)


def _written_ndarrays(values: pa.StructArray, form: TextForm) -> pa.Array | None:
    flat = json_items.items_of(numbers_of(values))
    if flat is None:
        return None
    if not len(values):
        return pa.array([], pa.string())
    texts, shapes = (form.floats_of_arrays or form.floats)(flat.items.fill_null(float("nan"))), shape_texts(values)
    if form.writes_shapes:
        before, between, after = form.array
        items = json_items.in_brackets(flat.counts, texts, ("", between, ""), flat.missing)
        return pc.binary_join_element_wise(before, shapes, ":", items, after, "")
    return _in_shapes(texts, flat.counts, shapes, form.list)


def _in_shapes(texts: pa.Array, counts: np.ndarray, shapes: pa.Array, brackets: Brackets) -> pa.Array:
    """Join the texts of the numbers of each row in the row's shape, one dimension after the other for all rows of one shape."""
    codes = shapes.dictionary_encode()
    code_of_row, starts = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.cumsum(counts) - counts
    parts, rows = list[pa.Array](), list[np.ndarray]()
    for code, text in enumerate(codes.dictionary.to_pylist()):
        chosen = np.flatnonzero(code_of_row == code)
        shape = shape_of_text(text)
        size = math.prod(shape)
        places = (starts[chosen][:, None] + np.arange(size)).ravel()
        part = texts if len(places) == len(texts) and len(chosen) == len(counts) else texts.take(pa.array(places))
        for axis in reversed(range(len(shape))):
            lists = len(chosen) * math.prod(shape[:axis])
            part = json_items.in_brackets(np.full(lists, shape[axis]), part, brackets)
        parts.append(part)
        rows.append(chosen)
    place_of_row = np.full(len(counts), -1)
    if rows:
        place_of_row[np.concatenate(rows)] = np.arange(sum(map(len, rows)))
    joined = pa.concat_arrays(parts) if parts else pa.array([], pa.string())
    return joined.take(pa.array(place_of_row, mask=place_of_row < 0))


def _native_items(items: pa.Array, form: TextForm) -> pa.Array:
    writers = {FLOAT.physical: form.floats, STR.physical: form.texts}
    texts = writers[items.type](items) if items.type in writers else items.cast(pa.string())
    return texts.fill_null(form.missing)


def _written(texts: pa.Array, form: TextForm) -> pa.Array | None:
    """Write stored JSON values of any kind, including nested values."""
    if not len(texts):
        return texts
    kinds = json_items.kinds_of(texts)
    return by_codes(kinds, lambda kind, chosen: _WRITERS[kind](texts if chosen.all() else texts.filter(pa.array(chosen)), form))


def _ints(texts: pa.Array, form: TextForm) -> pa.Array | None:
    """Return ints as they are stored; ``-0`` is written ``0``."""
    if pc.max(pc.binary_length(texts)).as_py() > LONGEST_INT:
        return None
    return if_else(pc.equal(texts, "-0"), "0", texts)


def _floats(texts: pa.Array, form: TextForm) -> pa.Array:
    numbers = json_items.as_floats(texts)
    # Python parses numbers of many digits.
    return form.floats(pa.array(map(float, texts.to_pylist()), pa.float64()) if numbers is None else numbers)


def _texts(texts: pa.Array, form: TextForm) -> pa.Array:
    if form.rewritten is None:
        return texts
    changes = pc.match_substring(texts, form.rewritten)
    return replace_with_mask(texts, changes, form.texts(json_items.without_quotes(texts.filter(changes)))) if changes.true_count else texts


def _lists(texts: pa.Array, form: TextForm) -> pa.Array | None:
    counts, items = cut_lists(texts)
    item_texts = _written(items, form)
    return None if item_texts is None else json_items.in_brackets(counts, item_texts, form.list)


def _arrays(texts: pa.Array, form: TextForm) -> pa.Array | None:
    counts, items = cut_arrays(texts)
    numbers = json_items.as_floats(items)
    return None if numbers is None else json_items.in_brackets(counts, form.floats(numbers), form.array_within or form.array)


def _dicts(texts: pa.Array, form: TextForm) -> pa.Array | None:
    counts, keys, items = cut_dicts(texts)
    item_texts, key_texts = _written(items, form), _keys(counts, keys, form)
    if item_texts is None or key_texts is None:
        return None
    return json_items.in_brackets(counts, _entries(counts, key_texts, item_texts, form), form.dict)


def _keys(counts: np.ndarray, keys: pa.Array, form: TextForm) -> pa.Array | None:
    """Write keys, which are strings or ints; None if two keys of a dict become one string."""
    are_texts = pa.array(json_items.first_bytes(keys) == QUOTE)
    if not form.quotes_keys or are_texts.true_count == len(keys):
        return _texts(keys, form)
    quoted = if_else(are_texts, keys, in_quotes(keys))
    return None if are_texts.true_count and has_duplicates(counts, quoted.dictionary_encode().indices.to_numpy()) else quoted


def _entries(counts: np.ndarray, keys: pa.Array, items: pa.Array, form: TextForm) -> pa.Array:
    entries = pc.binary_join_element_wise(keys, ":", items, "")
    return _sorted_within(entries, counts) if form.is_sorted else entries


def _sorted_within(entries: pa.Array, counts: np.ndarray) -> pa.Array:
    """Return the entries of all rows, sorted within each row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    in_order = pc.less_equal(entries[:-1], entries[1:]).to_numpy(zero_copy_only=False)
    if (in_order | (rows[:-1] != rows[1:])).all():
        return entries
    order = pc.sort_indices(pa.table({"row": rows, "entry": entries}), sort_keys=[("row", "ascending"), ("entry", "ascending")])
    return entries.take(order)


_NESTED = {json_items.LISTS: ENCODED_LIST, json_items.DICTS: ENCODED_DICT}
_WRITERS: dict[int, Callable[[pa.Array, TextForm], pa.Array | None]] = {
    json_items.MISSING: lambda texts, form: pa.repeat(form.missing, len(texts)),
    json_items.INTS: _ints,
    json_items.FLOATS: _floats,
    json_items.SPECIAL_FLOATS: _floats,
    json_items.TEXTS: _texts,
    json_items.LISTS: _lists,
    json_items.DICTS: _dicts,
    json_items.ARRAYS: _arrays,
    json_items.DATETIMES: lambda texts, form: form.datetimes(texts),
    # Rare within lists and dicts, so each is written on its own.
    json_items.NDARRAYS: lambda texts, form: None,
    json_items.IMAGES: lambda texts, form: None,
}
