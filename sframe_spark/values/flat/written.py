"""Lists, arrays and dicts of a batch as texts: those that a cast shows, and those that are equal where values are."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT, STR, ColumnType
from sframe_spark.values.flat.floats import brief_floats, compared_floats, json_floats, shown_floats, signed_floats
from sframe_spark.values.flat.stored import flat_items, items_of, json_of_texts
from sframe_spark.values.flat.typed import without_quotes


@attrs.frozen
class TextForm:
    """How values are written.

    Parameters
    ----------
    floats, texts
        Write numbers and texts.
    missing
        What a missing item is.
    array, list, dict
        What is before, between and after items.
    is_sorted
        Entries of dicts are in the order of their texts.
    quotes_keys
        Keys that are numbers are in quotes, too.
    floats_of_arrays
        Writes numbers in arrays; None: as others.
    """

    floats: Callable[[pa.Array], pa.Array]
    texts: Callable[[pa.Array], pa.Array]
    missing: str
    array: tuple[str, str, str]
    list: tuple[str, str, str]
    dict: tuple[str, str, str]
    is_sorted: bool = False
    quotes_keys: bool = False
    floats_of_arrays: Callable[[pa.Array], pa.Array] | None = None


def in_quotes(texts: pa.Array) -> pa.Array:
    """Texts in quotes, whatever they hold."""
    return pc.binary_join_element_wise('"', texts, '"', "")


SHOWN = TextForm(shown_floats, in_quotes, "", ("[", " ", "]"), ("[", ",", "]"), ("{", ", ", "}"))
COMPARED = TextForm(compared_floats, json_of_texts, "null", ("<", ",", ">"), ("[", ",", "]"), ("{", ",", "}"), is_sorted=True)
IN_CSV = TextForm(signed_floats, json_of_texts, "", ("[", " ", "]"), ("[", ",", "]"), ("{", ",", "}"), floats_of_arrays=brief_floats)
IN_JSON = TextForm(json_floats, json_of_texts, "null", ("[", ",", "]"), ("[", ",", "]"), ("{", ",", "}"), quotes_keys=True)


def written(values: pa.Array, column_type: ColumnType, form: TextForm) -> pa.Array | None:
    """Each value as a text; None where values hold lists and dicts.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_DICT
    >>> written(pa.array(['{"$dict":[["b",1.5],["a",null]]}']), ENCODED_DICT, SHOWN).to_pylist()
    ['{"b":1.5, "a":}']
    """
    found = flat_items(values, column_type.kind) if column_type.is_encoded else items_of(values)
    if found is None:
        return None
    if column_type.kind == ARRAY_KIND and form.floats_of_arrays is not None:
        form = attrs.evolve(form, floats=form.floats_of_arrays)
    items = _items(found.items, form) if column_type.is_encoded else _native_items(found.items, form)
    if found.keys is not None:
        keys = _native_items(found.keys, form)
        keys = in_quotes(keys) if form.quotes_keys and pa.types.is_integer(found.keys.type) else keys
        items = pc.binary_join_element_wise(keys, ":", items, "")
        items = _sorted_within(items, found.counts) if form.is_sorted else items
    before, between, after = form.array if column_type.kind == ARRAY_KIND else form.dict if column_type.kind == DICT_KIND else form.list
    joined = pc.binary_join(pa.ListArray.from_arrays(found.offsets, items), between)
    return pc.binary_join_element_wise(before, joined, after, "")


def _native_items(items: pa.Array, form: TextForm) -> pa.Array:
    writers = {FLOAT.physical: form.floats, STR.physical: form.texts}
    texts = writers[items.type](items) if items.type in writers else items.cast(pa.string())
    return texts.fill_null(form.missing)


def _items(items: pa.Array, form: TextForm) -> pa.Array:
    """Items that are JSON: ints are as they are, and texts where their form is JSON or they have no escapes."""
    absent = pc.equal(items, "null")
    texts = pc.if_else(absent, form.missing, items)
    has_escapes = pc.match_substring(items, "\\")
    if form.texts is not json_of_texts and pc.any(has_escapes).as_py():
        texts = pc.replace_with_mask(texts, has_escapes, form.texts(without_quotes(items.filter(has_escapes))))
    floats = pc.and_not(pc.match_substring_regex(items, "^-?[0-9]+[.eE]"), absent)
    if pc.any(floats).as_py():
        texts = pc.replace_with_mask(texts, floats, form.floats(items.filter(floats).cast(pa.float64())))
    return texts


def _sorted_within(entries: pa.Array, counts: np.ndarray) -> pa.Array:
    """The entries of each row in the order of their texts."""
    rows = np.repeat(np.arange(len(counts)), counts)
    if len(entries) < 2:
        return entries
    in_order = pc.less_equal(entries[:-1], entries[1:]).to_numpy(zero_copy_only=False)
    if (in_order | (rows[:-1] != rows[1:])).all():
        return entries
    order = pc.sort_indices(pa.table({"row": rows, "entry": entries}), sort_keys=[("row", "ascending"), ("entry", "ascending")])
    return entries.take(order)
