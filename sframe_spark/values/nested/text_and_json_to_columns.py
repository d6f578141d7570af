"""Parses Arrow arrays of strings: JSON values to a column of a given type, and users' strings to lists, dicts and arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, ARRAY_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND, ColumnType
from sframe_spark.values.nested import tagged_json_patterns_and_splitting as json_patterns
from sframe_spark.values.nested.json_item_splitting_and_joining import NULL, FlatItems, as_floats, first_bytes, flat_items, typed_items, without
from sframe_spark.values.nested.text_writer import display_strings


def column_of(texts: pa.Array, column_type: ColumnType) -> pa.Array | None:
    """Return JSON texts as a column of a type; None if Python would have to convert values one by one. JSON null is a missing value.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT
    >>> column_of(pa.array(["1", "null"]), INT).to_pylist(), column_of(pa.array(['["a",[]]']), ENCODED_LIST).to_pylist()
    ([1, None], ['["a",[]]'])
    """
    if (first_bytes(texts) == NULL).all():
        return pa.nulls(len(texts), column_type.physical)
    reader = _READERS.get(column_type.kind)
    return None if reader is None else reader(texts, column_type)


def _scalars(texts: pa.Array, column_type: ColumnType) -> pa.Array | None:
    typed = typed_items(texts)
    return typed[0] if typed is not None and typed[1] == column_type else None


def _texts(texts: pa.Array, column_type: ColumnType) -> pa.Array | None:
    strings = _scalars(texts, column_type)
    return display_strings(texts) if strings is None else strings


def _arrays(texts: pa.Array, column_type: ColumnType) -> pa.Array | None:
    if not json_patterns.all_match(texts, f"^(?:{json_patterns.ARRAY_ITEM}|null)$"):
        return None
    absent = first_bytes(texts) == NULL
    counts, items = json_patterns.cut_arrays(without(texts, absent).fill_null(json_patterns.EMPTY_ARRAY))
    numbers = as_floats(items)
    return None if numbers is None else pa.ListArray.from_arrays(FlatItems(counts, absent, items).offsets, numbers, type=column_type.physical)


def _nested(texts: pa.Array, column_type: ColumnType) -> pa.Array | None:
    absent = first_bytes(texts) == NULL
    opening = "[" if column_type.kind == LIST_KIND else json_patterns.BEFORE
    values = without(texts, absent)
    if pc.all(pc.starts_with(values, opening)).as_py() is False:
        return None
    if not column_type.is_encoded:
        flat = flat_items(values, column_type.kind)
        native = None if flat is None else flat.natively()
        return native[0] if native is not None and native[1] == column_type else None
    is_same = column_type.kind == LIST_KIND and json_patterns.all_match(values, f"^{json_patterns.lists(json_patterns.ITEM)}$")
    return values if is_same or not json_patterns.has_lists_of_numbers(values) else None


_READERS: dict[str, Callable[[pa.Array, ColumnType], pa.Array | None]] = {
    INT_KIND: _scalars,
    STR_KIND: _texts,
    FLOAT_KIND: lambda texts, column_type: None if (first_bytes(texts) == json_patterns.OPENING).any() else as_floats(texts),
    ARRAY_KIND: _arrays,
    LIST_KIND: _nested,
    DICT_KIND: _nested,
}


# Lists, dicts and arrays in users' strings, in their common forms.

TEXT = r'"[^"\\\x00-\x1f]*"'
# Numbers of JSON that are in range. The first alternative that matches is replaced, so floats come before ints.
_WHOLE, _EXPONENT = "(?:0|[1-9][0-9]{0,17})", "[eE][-+]?[0-9]{1,2}"
NUMBER = rf"(?:-?{_WHOLE}\.[0-9]{{1,20}}(?:{_EXPONENT})?|-?{_WHOLE}{_EXPONENT}|0|-?[1-9][0-9]{{0,17}})"
ITEM = f"(?:{TEXT}|{NUMBER})"
SPACED_LIST_PATTERN = rf"^\[(?:{ITEM}(?:, ?{ITEM})*)?\]$"
SPACED_DICT_PATTERN = rf"^\{{(?:{TEXT}: ?{ITEM}(?:, ?{TEXT}: ?{ITEM})*)?\}}$"
_DECIMAL = r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
ARRAYS = rf"^\[(?:{_DECIMAL}(?:(?: |[,;] ?){_DECIMAL})*)?\]$"


def read_stored(texts: pa.Array, kind: str) -> tuple[pa.Array, pa.Array]:
    """Parse lists or dicts in users' strings to tagged JSON; also return which strings were parsed.

    All other strings are missing in the result; some of them may be valid, but their form is not parsed here.

    Examples
    --------
    >>> stored, is_parsed = read_stored(pa.array(["{'a': 1}", "{a: 1}"]), "dict")
    >>> stored.to_pylist(), is_parsed.to_pylist()
    (['{"$dict":[["a",1]]}', None], [True, False])
    """
    # Python's single quotes become double quotes; a string with both kinds of quotes is not parsed here.
    single = pc.and_not(pc.match_substring(texts, "'"), pc.match_substring(texts, '"')).fill_null(False)
    if pc.any(single).as_py():
        texts = if_else(single, pc.replace_substring(texts, "'", '"'), texts)
    is_parsed = pc.match_substring_regex(texts, SPACED_LIST_PATTERN if kind == LIST_KIND else SPACED_DICT_PATTERN).fill_null(False)
    if not pc.all(is_parsed).as_py():
        texts = if_else(is_parsed, texts, pa.scalar(None, pa.string()))
    if kind == LIST_KIND:
        return pc.replace_substring_regex(texts, f"({ITEM})(,?) ?", r"\1\2"), is_parsed
    entries = pc.replace_substring_regex(texts, f"({TEXT}): ?({ITEM})(,?) ?", r"[\1,\2]\3")
    stored = pc.binary_join_element_wise(json_patterns.BEFORE, pc.utf8_slice_codeunits(entries, 1, -1), json_patterns.AFTER, "")
    flat = flat_items(stored, DICT_KIND)
    if flat is None or flat.keys is None or json_patterns.has_duplicates(flat.counts, flat.keys.dictionary_encode().indices.to_numpy()):
        return pa.nulls(len(texts), pa.string()), pa.array(np.zeros(len(texts), bool))
    return stored, is_parsed


def read_arrays(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Parse arrays in users' strings; also return which strings were parsed. All other strings are missing in the result.

    Examples
    --------
    >>> arrays, is_parsed = read_arrays(pa.array(["[1 2.5]", "[]", "[1, x]"]))
    >>> arrays.to_pylist(), is_parsed.to_pylist()
    ([[1.0, 2.5], [], None], [True, True, False])
    """
    is_parsed = pc.match_substring_regex(texts, ARRAYS).fill_null(False)
    data, bounds = json_patterns.bytes_of(if_else(is_parsed, texts, "[]"))
    is_digit = (data != ord("[")) & (data != ord("]")) & (data != ord(" ")) & (data != ord(",")) & (data != ord(";"))
    edges = np.diff(np.concatenate([[False], is_digit, [False]]).astype(np.int8))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    numbers = json_patterns.texts_between(data, starts, stops).cast(pa.float64())
    flat = FlatItems(json_patterns.counts_within(starts, bounds), ~is_parsed.to_numpy(zero_copy_only=False), numbers)
    return pa.ListArray.from_arrays(flat.offsets, numbers, type=ARRAY.physical), is_parsed
