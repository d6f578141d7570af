"""Parts of the texts of a batch, found in their bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# How stored texts (tagged JSON, see :mod:`sframe_spark.values.tagged_json`) look: what is found by a pattern needs no reader of JSON.

# Escapes are those that are written, one for each character, so that equal texts are written equally.
TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\nrtbf]|\\u00(?:0[0-7bef]|1[0-9a-f]))*"'
WHOLE = "-?[0-9]{1,18}"
# None is beyond the largest float.
NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?(?:[eE][-+]?(?:[0-9]{1,2}|[12][0-8][0-9]))?"
ITEM = f"(?:{TEXT}|{NUMBER}|null)"
LIST_PATTERN = rf"^\[(?:{ITEM}(?:,{ITEM})*)?\]$"
# What a stored text of a dict has around its entries, and that of a float that JSON has no number for around its name.
BEFORE, AFTER = '{"$dict":[', "]}"
EMPTY_ARRAY, BEFORE_FLOAT, AFTER_FLOAT, BEFORE_DATETIME = '{"$array":[]}', '{"$float":"', '"}', '{"$datetime":'
SPECIAL_FLOAT = r'\{"\$float":"(?:nan|inf|-inf)"\}'
# A number of any size: what is nested is looked at more closely by who reads it.
_ANY_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_ELEMENT = f"(?:{_ANY_NUMBER}|{SPECIAL_FLOAT})"
ARRAY_ITEM = rf'\{{"\$array":\[(?:{_ELEMENT}(?:,{_ELEMENT})*)?\]\}}'
_DATETIME = r'\{"\$datetime":-?(?:0|[1-9][0-9]{0,17}),"offset":(?:-?(?:0|[1-9][0-9]{0,4})|null)\}'
_SCALAR = f"{TEXT}|{_ANY_NUMBER}|null|{SPECIAL_FLOAT}|{ARRAY_ITEM}|{_DATETIME}"
# Lists of numbers alone within others, but for those of an array; the entries of dicts whose keys and values are numbers look the same.
_LIST_OF_NUMBERS = rf"[^:]\[(?:{_ANY_NUMBER}|{SPECIAL_FLOAT})(?:,(?:{_ANY_NUMBER}|{SPECIAL_FLOAT}))*\]"
KEY = f"(?:{TEXT}|{WHOLE})"
# How many lists and dicts may be inside each other for a pattern to be of use, one more where values are many: each level makes it four times as
# long.
MAX_PATTERN_LEVELS = 3


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


QUOTE, COMMA, OPENING, CLOSING, BACKSLASH, BRACE, CLOSING_BRACE = b'",[]\\{}'
# What stays in the cache of a core while it is looked at.
BLOCK = 1 << 16


def bytes_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of texts, none of which is missing, and where each begins and the last one ends.

    Examples
    --------
    >>> data, bounds = bytes_of(pa.array(["a", "bc"]))
    >>> bytes(data), bounds.tolist()
    (b'abc', [0, 1, 3])
    """
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    values = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return values[bounds[0] : bounds[-1]], bounds - bounds[0]


def texts_between(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> pa.Array:
    """The texts of some bytes between places, which ascend.

    Examples
    --------
    >>> texts_between(np.frombuffer(b"abcde", np.uint8), np.array([0, 3]), np.array([2, 3])).to_pylist()
    ['ab', '']
    """
    if not len(starts):
        return pa.array([], pa.string())
    # Arrow copies every second one of texts that lie in the same bytes, which takes a tenth of the time of an index of each byte.
    bounds = np.empty(2 * len(starts), np.int32)
    bounds[0::2], bounds[1::2] = starts, stops
    texts = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(data))
    return texts.take(pa.array(np.arange(0, len(bounds), 2)))


def between_commas(data: np.ndarray, bounds: np.ndarray, commas: np.ndarray, before: int, after: int) -> tuple[np.ndarray, pa.Array]:
    """How many items each text has, and all items: what is between its commas, but for so many bytes before the first and after the last one.

    Examples
    --------
    >>> counts, items = between_commas(np.frombuffer(b"[1,2][][3]", np.uint8), np.array([0, 5, 7, 10]), np.array([2]), 1, 1)
    >>> counts.tolist(), items.to_pylist()
    ([2, 0, 1], ['1', '2', '3'])
    """
    rows = np.flatnonzero(np.diff(bounds) > before + after)
    counts = counts_within(commas, bounds)
    counts[rows] += 1
    total, ends = int(counts.sum()), np.cumsum(counts)
    are_first, are_last = np.zeros(total, bool), np.zeros(total, bool)
    are_first[ends[rows] - counts[rows]] = are_last[ends[rows] - 1] = True
    starts, stops = np.empty(total, np.int64), np.empty(total, np.int64)
    starts[are_first], stops[are_last] = bounds[rows] + before, bounds[rows + 1] - after
    starts[~are_first], stops[~are_last] = commas + 1, commas
    return counts, texts_between(data, starts, stops)


def outside_quotes(data: np.ndarray) -> np.ndarray:
    """Which bytes are in no quotes, where no quoted text has a quote or a backslash."""
    return ~np.bitwise_xor.accumulate((data == QUOTE).view(np.uint8)).view(bool)


def escaped(data: np.ndarray) -> np.ndarray:
    """Places of the bytes that a backslash stands for another one with.

    Examples
    --------
    >>> escaped(np.frombuffer(rb'"a\\"b\\\\"', np.uint8)).tolist()
    [3, 6]
    """
    places = np.flatnonzero(data == BACKSLASH)
    if not len(places):
        return places
    # Of several that follow each other each second one is escaped itself.
    begins = np.concatenate([[True], np.diff(places) != 1])
    within = np.arange(len(places)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return places[within % 2 == 0] + 1


def positions_at(data: np.ndarray, *wanted: tuple[int, int]) -> list[np.ndarray]:
    """Where bytes are, each inside so many brackets, its own among them; what is in quotes does not count.

    Examples
    --------
    >>> [places.tolist() for places in positions_at(np.frombuffer(b'[1,[2,3]][","]', np.uint8), (COMMA, 1), (COMMA, 2))]
    [[2], [5]]
    """
    found: list[list[np.ndarray]] = [[] for _ in wanted]
    literal = escaped(data)
    quoted, depth = np.zeros(1, np.uint8), np.zeros(1, np.int8)
    for start in range(0, len(data), BLOCK):
        part = data[start : start + BLOCK]
        quotes = (part == QUOTE).view(np.uint8)
        if len(literal):
            quotes[literal[slice(*np.searchsorted(literal, (start, start + len(part))))] - start] = 0
        quoted = np.bitwise_xor.accumulate(quotes) ^ quoted[-1]
        # Both kinds of brackets differ in one bit.
        brackets = part | (BRACE ^ OPENING)
        steps = (brackets == BRACE).view(np.int8) - (brackets == CLOSING_BRACE).view(np.int8)
        outside = quoted == 0
        # Sums of bytes without a sign take numpy four times as long.
        depth = np.cumsum(steps & -outside.view(np.int8), dtype=np.int8) + depth[-1]
        for places, (byte, level) in zip(found, wanted, strict=True):
            places.append(np.flatnonzero((part == byte) & (depth == level) & outside) + start)
    return [np.concatenate(places) if places else np.empty(0, np.int64) for places in found]


def has_duplicates(counts: np.ndarray, codes: np.ndarray) -> bool:
    """True if a row has a code twice; the rows have so many of them, one after the other.

    Examples
    --------
    >>> has_duplicates(np.array([2, 1]), np.array([0, 1, 1])), has_duplicates(np.array([1, 2]), np.array([0, 1, 1]))
    (False, True)
    """
    # Much faster than numpy's search for unique numbers, which hashes them.
    pairs = np.sort(np.repeat(np.arange(len(counts)), counts) * (int(codes.max(initial=0)) + 1) + codes)
    return bool((pairs[1:] == pairs[:-1]).any())


def counts_within(places: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How many of some places, which ascend, lie in each text."""
    return np.diff(np.searchsorted(places, bounds))


# Stored lists, dicts and arrays of a batch, none of which is missing, cut into the JSON of what they hold.


def cut_lists(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """How many items each list has, and all items.

    Examples
    --------
    >>> counts, items = cut_lists(pa.array(['[1,["a"]]', "[]"]))
    >>> counts.tolist(), items.to_pylist()
    ([2, 0], ['1', '["a"]'])
    """
    data, bounds = bytes_of(texts)
    (commas,) = positions_at(data, (COMMA, 1))
    return between_commas(data, bounds, commas, 1, 1)


def cut_dicts(texts: pa.Array) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """How many entries each dict has, and the keys and values of all.

    Examples
    --------
    >>> counts, keys, values = cut_dicts(pa.array(['{"$dict":[["a",[1]],["b",2]]}']))
    >>> counts.tolist(), keys.to_pylist(), values.to_pylist()
    ([2], ['"a"', '"b"'], ['[1]', '2'])
    """
    data, bounds = bytes_of(texts)
    # The brackets of a dict, of all its entries and of each.
    opened, middle, closed = positions_at(data, (OPENING, 3), (COMMA, 3), (CLOSING, 2))
    return counts_within(opened, bounds), texts_between(data, opened + 1, middle), texts_between(data, middle + 1, closed)


def cut_arrays(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """How many numbers each array has, and all numbers.

    Examples
    --------
    >>> counts, numbers = cut_arrays(pa.array(['{"$array":[1.5,2.0]}', '{"$array":[]}']))
    >>> counts.tolist(), numbers.to_pylist()
    ([2, 0], ['1.5', '2.0'])
    """
    data, bounds = bytes_of(texts)
    # Nothing else in them has commas.
    return between_commas(data, bounds, np.flatnonzero(data == COMMA), EMPTY_ARRAY.index("[") + 1, len("]}"))


# Values of a batch that are worked on by what they are.


def by_codes(codes: np.ndarray, write: Callable[[int, np.ndarray], pa.Array | None]) -> pa.Array | None:
    """One array of what becomes of the values of each code, in the order of the values; None where one of them takes a closer look.

    Parameters
    ----------
    codes
        What each value is, which are some.
    write
        Takes a code and which values have it.

    Examples
    --------
    >>> by_codes(np.array([1, 0, 1]), lambda code, chosen: pa.array([f"{code}, {place}" for place in np.flatnonzero(chosen)])).to_pylist()
    ['1, 0', '0, 1', '1, 2']
    """
    found, order, done = [], np.empty(len(codes), np.int64), 0
    for code in np.flatnonzero(np.bincount(codes)).tolist():
        chosen = codes == code
        part = write(code, chosen)
        if part is None:
            return None
        found.append(part)
        order[chosen] = np.arange(done, done + len(part))
        done += len(part)
    return found[0] if len(found) == 1 else pa.concat_arrays(found).take(pa.array(order))


# Values that repeat: what is made of each is made once.

# Of so many values, that many are looked at; where of ten one was there before, there are some thousand different ones of any number.
_SAMPLED, _ROWS_FOR_EACH, _MAX_DIFFERENT = 4096, 8, 0.9
# Of ints, that many for each between the least and the largest: of fewer, writing all of these would take as long.
_INTS_FOR_EACH = 4


def seem_repeated(values: pa.Array) -> bool:
    """True if it seems that most values are there several times, by a look at some of them.

    Examples
    --------
    >>> seem_repeated(pa.array(range(100_000))), seem_repeated(pa.array([1, 2] * 50_000)), seem_repeated(pa.array([1, 1]))
    (False, True, False)
    """
    if len(values) < _SAMPLED * _ROWS_FOR_EACH:
        return False
    sample = values.take(pa.array(np.arange(_SAMPLED) * (len(values) // _SAMPLED)))
    return len(sample.unique()) < _MAX_DIFFERENT * _SAMPLED


def map_distinct(values: pa.Array, make: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What is made of each of some values, of the different ones of which it is made; of missing ones, missing ones.

    Examples
    --------
    >>> map_distinct(pa.array([2, 1, 2, None]), lambda values: values.cast(pa.string())).to_pylist()
    ['2', '1', '2', None]
    """
    encoded = values.dictionary_encode()
    return make(encoded.dictionary).take(encoded.indices)


def int_texts(values: pa.Array) -> pa.Array:
    """Ints as texts; missing ones stay. Where few lie between the least and the largest, each of these is written once.

    Examples
    --------
    >>> int_texts(pa.array([3, None, -1])).to_pylist()
    ['3', None, '-1']
    """
    limits = pc.min_max(values).as_py()
    least, count = limits["min"], 0 if limits["min"] is None else limits["max"] - limits["min"] + 1
    if not 0 < count * _INTS_FOR_EACH <= len(values):
        return values.cast(pa.string())
    texts = pa.array(np.arange(count) + least).cast(pa.string())
    return texts.take(pc.subtract(values, least) if least else values)
