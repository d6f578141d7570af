"""Values that are JSON each as a column of one type."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, LIST_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.nested.patterns import AFTER_FLOAT, BEFORE_FLOAT, NUMBER, SPECIAL_FLOAT, WHOLE, all_match
from sframe_spark.values.nested.text_spans import BACKSLASH, BRACE, OPENING, QUOTE, bytes_of, texts_between

NULL, POINT, EXPONENT, LOWER_CASE = b"n.e "
KINDS = [frozenset(), *(frozenset([kind]) for kind in (INT_KIND, FLOAT_KIND, STR_KIND, LIST_KIND, DICT_KIND, ARRAY_KIND, FLOAT_KIND, DATETIME_KIND))]
"""Kinds of values: of missing ones none."""
MISSING, INTS, FLOATS, TEXTS, LISTS, DICTS, ARRAYS, SPECIAL_FLOATS, MOMENTS = range(len(KINDS))
"""Places of the kinds."""
# The second letters of "dict", "array", "float" and "datetime" tell these tags, which are after a brace, a quote and their sign.
_PLACE_OF_TAG = len('{"$d')
_BY_TAG = np.array([{"i": DICTS, "r": ARRAYS, "l": SPECIAL_FLOATS, "a": MOMENTS}.get(chr(byte), MISSING) for byte in range(256)], np.int8)
_BY_FIRST = np.array([{NULL: MISSING, QUOTE: TEXTS, OPENING: LISTS}.get(byte, INTS) for byte in range(256)], np.int8)


def typed_items(texts: pa.Array) -> tuple[pa.Array, ColumnType] | None:
    """Items that are all ints, all floats or all texts, where they are not missing; None where they are of several types, or there are none.

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
    quoted = first == QUOTE
    if quoted.any():
        return (without_quotes(without(texts, absent)), STR) if (quoted | absent).all() else None
    if (first == OPENING).any():
        return None
    special = first == BRACE
    numbers = without(texts, absent | special)
    are_whole = pc.match_substring_regex(numbers, f"^{WHOLE}$")
    if not special.any() and pc.all(are_whole).as_py():
        return numbers.cast(pa.int64()), INT
    if pc.any(are_whole).as_py():
        return None
    floats = as_floats(texts)
    return None if floats is None else (floats, FLOAT)


def as_floats(texts: pa.Array) -> pa.Array | None:
    """Numbers, whole or not, as floats; None where there is anything else."""
    first = first_bytes(texts)
    special = first == BRACE
    numbers = without(texts, (first == NULL) | special)
    if special.any():
        chosen = pa.array(special)
        named = texts.filter(chosen)
        if not all_match(named, f"^{SPECIAL_FLOAT}$"):
            return None
        numbers = pc.replace_with_mask(numbers, chosen, pc.utf8_slice_codeunits(named, len(BEFORE_FLOAT), -len(AFTER_FLOAT)))
    known = pc.match_substring_regex(numbers, f"^(?:{NUMBER}|nan|-?inf)$")
    return None if pc.all(known).as_py() is False else numbers.cast(pa.float64())


def without_quotes(texts: pa.Array) -> pa.Array:
    """Texts of JSON texts; missing ones stay.

    Examples
    --------
    >>> without_quotes(pa.array(['"a"', r'"\\n"', None])).to_pylist()
    ['a', '\\n', None]
    """
    data, bounds = bytes_of(texts.fill_null('""') if texts.null_count else texts)
    inside = texts_between(data, bounds[:-1] + 1, bounds[1:] - 1)
    if (data == BACKSLASH).any():
        has_escapes = pc.match_substring(inside, "\\")
        inside = pc.replace_with_mask(inside, has_escapes, pa.array(json.loads(f"[{','.join(texts.filter(has_escapes).to_pylist())}]"), pa.string()))
    return pc.if_else(texts.is_valid(), inside, pa.scalar(None, pa.string())) if texts.null_count else inside


def kinds_of(texts: pa.Array) -> np.ndarray:
    """Which of :data:`KINDS` each value is of, none of which is missing.

    Examples
    --------
    >>> [sorted(KINDS[kind]) for kind in kinds_of(pa.array(["1", "2.5", "null", '{"$dict":[]}']))]
    [['int'], ['float'], [], ['dict']]
    """
    data, bounds = bytes_of(texts)
    first = data[bounds[:-1]]
    found = _BY_FIRST[first]
    numbers, tagged = found == INTS, first == BRACE
    numbers &= ~tagged
    found[numbers] += _have_points(texts.filter(pa.array(numbers)))
    if tagged.any():
        found[tagged] = _BY_TAG[data[bounds[:-1][tagged] + _PLACE_OF_TAG]]
    return found


def _have_points(numbers: pa.Array) -> np.ndarray:
    """Which numbers have a point or an exponent, by which a float is known."""
    data, bounds = bytes_of(numbers)
    # Letters of both cases differ in one bit. A pattern takes four times as long.
    found = (data == POINT) | (data | LOWER_CASE == EXPONENT)
    return np.logical_or.reduceat(found, bounds[:-1]) if len(numbers) else np.zeros(0, bool)


def first_bytes(texts: pa.Array) -> np.ndarray:
    """The first byte of each value, none of which is missing."""
    data, bounds = bytes_of(texts)
    return data[bounds[:-1]]


def without(texts: pa.Array, absent: np.ndarray) -> pa.Array:
    """Texts of which some are missing."""
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), texts) if absent.any() else texts
