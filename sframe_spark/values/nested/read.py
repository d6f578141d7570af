"""Lists, dicts and arrays in users' texts that are written as most are, all of a batch at once.

That is, items are numbers and texts in quotes, without escapes, and nothing is between them but a comma and a space. What is written otherwise is
left to :mod:`sframe_spark.values.parse`, which knows the whole grammar.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import ARRAY, DICT_KIND, LIST_KIND
from sframe_spark.values.nested.json_items import FlatItems, flat_items
from sframe_spark.values.nested.patterns import AFTER, BEFORE
from sframe_spark.values.nested.text_spans import bytes_of, counts_within, have_twice, texts_between

TEXT = r'"[^"\\\x00-\x1f]*"'
# As JSON writes numbers, and not so large that they are others than ours. What is replaced is the first alternative that fits, so floats come first.
_WHOLE, _EXPONENT = "(?:0|[1-9][0-9]{0,17})", "[eE][-+]?[0-9]{1,2}"
NUMBER = rf"(?:-?{_WHOLE}\.[0-9]{{1,20}}(?:{_EXPONENT})?|-?{_WHOLE}{_EXPONENT}|0|-?[1-9][0-9]{{0,17}})"
ITEM = f"(?:{TEXT}|{NUMBER})"
LISTS = rf"^\[(?:{ITEM}(?:, ?{ITEM})*)?\]$"
DICTS = rf"^\{{(?:{TEXT}: ?{ITEM}(?:, ?{TEXT}: ?{ITEM})*)?\}}$"
_DECIMAL = r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
ARRAYS = rf"^\[(?:{_DECIMAL}(?:(?: |[,;] ?){_DECIMAL})*)?\]$"


def read_stored(texts: pa.Array, kind: str) -> tuple[pa.Array, pa.Array]:
    """Stored texts of the lists or dicts in some texts, and which of them were read; the others are missing, and not read is not wrong.

    Examples
    --------
    >>> stored, known = read_stored(pa.array(["{'a': 1}", "{a: 1}"]), "dict")
    >>> stored.to_pylist(), known.to_pylist()
    (['{"$dict":[["a",1]]}', None], [True, False])
    """
    # As Python shows them; a text that has both kinds of quotes is left alone.
    single = pc.and_not(pc.match_substring(texts, "'"), pc.match_substring(texts, '"')).fill_null(False)
    if pc.any(single).as_py():
        texts = pc.if_else(single, pc.replace_substring(texts, "'", '"'), texts)
    known = pc.match_substring_regex(texts, LISTS if kind == LIST_KIND else DICTS).fill_null(False)
    if not pc.all(known).as_py():
        texts = pc.if_else(known, texts, pa.scalar(None, pa.string()))
    if kind == LIST_KIND:
        return pc.replace_substring_regex(texts, f"({ITEM})(,?) ?", r"\1\2"), known
    entries = pc.replace_substring_regex(texts, f"({TEXT}): ?({ITEM})(,?) ?", r"[\1,\2]\3")
    stored = pc.binary_join_element_wise(BEFORE, pc.utf8_slice_codeunits(entries, 1, -1), AFTER, "")
    found = flat_items(stored, DICT_KIND)
    return (stored, known) if found is not None and are_distinct(found) else (pa.nulls(len(texts), pa.string()), pa.array(np.zeros(len(texts), bool)))


def are_distinct(found: FlatItems) -> bool:
    """True when no dict has a key twice."""
    assert found.keys is not None
    return not have_twice(found.counts, found.keys.dictionary_encode().indices.to_numpy())


def read_arrays(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The arrays in some texts, and which of them were read.

    Examples
    --------
    >>> arrays, known = read_arrays(pa.array(["[1 2.5]", "[]", "[1, x]"]))
    >>> arrays.to_pylist(), known.to_pylist()
    ([[1.0, 2.5], [], None], [True, True, False])
    """
    known = pc.match_substring_regex(texts, ARRAYS).fill_null(False)
    data, bounds = bytes_of(pc.if_else(known, texts, "[]"))
    is_digit = (data != ord("[")) & (data != ord("]")) & (data != ord(" ")) & (data != ord(",")) & (data != ord(";"))
    edges = np.diff(np.concatenate([[False], is_digit, [False]]).astype(np.int8))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    numbers = texts_between(data, starts, stops).cast(pa.float64())
    missing = ~known.to_numpy(zero_copy_only=False)
    found = FlatItems(counts_within(starts, bounds), missing, numbers)
    return pa.ListArray.from_arrays(found.offsets, numbers, type=ARRAY.physical), known
