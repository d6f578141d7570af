"""How stored texts (tagged JSON, see :mod:`sframe_spark.values.tagged_json`) look: what is found by a pattern needs no reader of JSON."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# Escapes are those that are written, one for each character, so that equal texts are written equally.
TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\nrtbf]|\\u00(?:0[0-7bef]|1[0-9a-f]))*"'
WHOLE = "-?[0-9]{1,18}"
# None is beyond the largest float.
NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?(?:[eE][-+]?(?:[0-9]{1,2}|[12][0-8][0-9]))?"
ITEM = f"(?:{TEXT}|{NUMBER}|null)"
LISTS = rf"^\[(?:{ITEM}(?:,{ITEM})*)?\]$"
# What a stored text of a dict has around its entries, and that of a float that JSON has no number for around its name.
BEFORE, AFTER = '{"$dict":[', "]}"
EMPTY_ARRAY, BEFORE_FLOAT, AFTER_FLOAT, BEFORE_MOMENT = '{"$array":[]}', '{"$float":"', '"}', '{"$datetime":'
SPECIAL_FLOAT = r'\{"\$float":"(?:nan|inf|-inf)"\}'
# A number of any size: what is nested is looked at more closely by who reads it.
_ANY_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_ELEMENT = f"(?:{_ANY_NUMBER}|{SPECIAL_FLOAT})"
ARRAY_ITEM = rf'\{{"\$array":\[(?:{_ELEMENT}(?:,{_ELEMENT})*)?\]\}}'
_MOMENT = r'\{"\$datetime":-?(?:0|[1-9][0-9]{0,17}),"offset":(?:-?(?:0|[1-9][0-9]{0,4})|null)\}'
_SCALAR = f"{TEXT}|{_ANY_NUMBER}|null|{SPECIAL_FLOAT}|{ARRAY_ITEM}|{_MOMENT}"
# Lists of numbers alone within others, but for those of an array; the entries of dicts whose keys and values are numbers look the same.
_LIST_OF_NUMBERS = rf"[^:]\[(?:{_ANY_NUMBER}|{SPECIAL_FLOAT})(?:,(?:{_ANY_NUMBER}|{SPECIAL_FLOAT}))*\]"
KEY = f"(?:{TEXT}|{WHOLE})"
# How many lists and dicts may be inside each other for a pattern to be of use, one more where values are many: each level makes it four times as
# long.
MOST_LEVELS_HERE = 3


def dicts(key: str, item: str) -> str:
    """Stored dicts with keys and values that look so."""
    entry = rf"\[{key},{item}\]"
    return rf'\{{"\$dict":\[(?:{entry}(?:,{entry})*)?\]\}}'


def nested(levels: int) -> str:
    """Values of any kind, with at most so many lists and dicts inside each other.

    Examples
    --------
    >>> import re
    >>> [re.fullmatch(nested(levels), '[[1],"a"]') is not None for levels in (1, 2)]
    [False, True]
    """
    if not levels:
        return f"(?:{_SCALAR})"
    item = nested(levels - 1)
    return rf"(?:{_SCALAR}|\[(?:{item}(?:,{item})*)?\]|{dicts(KEY, item)})"


def all_match(texts: pa.Array, pattern: str) -> bool:
    """True if no text, but for missing ones, fails to match."""
    # Most texts that do not match are told by the first ones.
    return all(pc.all(pc.match_substring_regex(part, pattern)).as_py() is not False for part in (texts[:16], texts))


def has_lists_of_numbers(texts: pa.Array) -> bool:
    """True where lists or dicts may hold a list of numbers, which becomes an array where columns are made.

    Examples
    --------
    >>> [has_lists_of_numbers(pa.array([text])) for text in ("[1,2]", '[["a",1]]', '{"$dict":[["a",[1,2]]]}', '[{"$array":[1,2]}]')]
    [False, False, True, False]
    """
    return pc.any(pc.match_substring_regex(texts, _LIST_OF_NUMBERS)).as_py() is True


def is_flat(texts: pa.Array) -> bool:
    """True for numbers and texts as JSON, and missing ones."""
    return all_match(texts, f"^{ITEM}$")
