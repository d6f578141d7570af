"""Regular expressions for tagged JSON, and functions that split lists, dicts and arrays in it at positions in its bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Patterns of tagged JSON (see :mod:`sframe_spark.values.tagged_json_display_and_canonical_text`): a string that matches needs no JSON parser.

# Allows only the escapes that this package writes, one for each character, so that equal strings have equal JSON.
TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\nrtbf]|\\u00(?:0[0-7bef]|1[0-9a-f]))*"'
WHOLE = "-?[0-9]{1,18}"
# No number that matches is beyond the largest float.
NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?(?:[eE][-+]?(?:[0-9]{1,2}|[12][0-8][0-9]))?"
ITEM = f"(?:{TEXT}|{NUMBER}|null)"
# What comes before and after the entries of a dict in tagged JSON, and the name of a float that JSON cannot represent.
BEFORE, AFTER = '{"$dict":[', "]}"
EMPTY_ARRAY, BEFORE_FLOAT, AFTER_FLOAT, BEFORE_DATETIME = '{"$array":[]}', '{"$float":"', '"}', '{"$datetime":'
SPECIAL_FLOAT = r'\{"\$float":"(?:nan|inf|-inf)"\}'
# A number of any size; whether it is in range is checked when the value is parsed.
_ANY_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_ELEMENT = f"(?:{_ANY_NUMBER}|{SPECIAL_FLOAT})"
ARRAY_ITEM = rf'\{{"\$array":\[(?:{_ELEMENT}(?:,{_ELEMENT})*)?\]\}}'
_DATETIME = r'\{"\$datetime":-?(?:0|[1-9][0-9]{0,17}),"offset":(?:-?(?:0|[1-9][0-9]{0,4})|null)\}'
_SCALAR = f"{TEXT}|{_ANY_NUMBER}|null|{SPECIAL_FLOAT}|{ARRAY_ITEM}|{_DATETIME}"
# Nested lists of only numbers, except the lists inside stored arrays; entries of dicts whose keys and values are numbers match, too.
_LIST_OF_NUMBERS = rf"[^:]\[(?:{_ANY_NUMBER}|{SPECIAL_FLOAT})(?:,(?:{_ANY_NUMBER}|{SPECIAL_FLOAT}))*\]"
KEY = f"(?:{TEXT}|{WHOLE})"
# The deepest nesting for which a pattern pays off (each level makes it four times as long); with many values one level more.
MAX_PATTERN_LEVELS = 3


def lists(item: str) -> str:
    """Return the pattern of lists, given the pattern of items."""
    return rf"\[(?:{item}(?:,{item})*)?\]"


def dicts(key: str, item: str) -> str:
    """Return the pattern of dicts in tagged JSON, given the patterns of keys and of values."""
    entries = lists(rf"\[{key},{item}\]")
    return rf'\{{"\$dict":{entries}\}}'


def nested(levels: int) -> str:
    """Return the pattern of values of any kind that are nested at most ``levels`` deep.

    Examples
    --------
    >>> import re
    >>> [re.fullmatch(nested(levels), '[[1],"a"]') is not None for levels in (1, 2)]
    [False, True]
    """
    if not levels:
        return f"(?:{_SCALAR})"
    item = nested(levels - 1)
    return f"(?:{_SCALAR}|{lists(item)}|{dicts(KEY, item)})"


def all_match(texts: pa.Array, pattern: str) -> bool:
    """Return whether all strings that are not missing match."""
    # The first strings are tried before all others: if a string does not match, it is often among them.
    return all(pc.all(pc.match_substring_regex(part, pattern)).as_py() is not False for part in (texts[:16], texts))


def has_lists_of_numbers(texts: pa.Array) -> bool:
    """Return whether lists or dicts may contain a list of numbers, which becomes an array when a column is made.

    Examples
    --------
    >>> [has_lists_of_numbers(pa.array([text])) for text in ("[1,2]", '[["a",1]]', '{"$dict":[["a",[1,2]]]}', '[{"$array":[1,2]}]')]
    [False, False, True, False]
    """
    return pc.any(pc.match_substring_regex(texts, _LIST_OF_NUMBERS)).as_py() is True


def is_flat(texts: pa.Array) -> bool:
    """Return whether all values that are not missing are JSON numbers, strings or null."""
    return all_match(texts, f"^{ITEM}$")


QUOTE, COMMA, OPENING, CLOSING, BACKSLASH, BRACE, CLOSING_BRACE = b'",[]\\{}'
# Bytes that fit a core's cache.
BLOCK = 1 << 16


def bytes_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of all strings together, and where each string begins and ends; no string may be missing.

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
    """Return the strings from each start to its stop in some bytes; the positions must ascend.

    Examples
    --------
    >>> texts_between(np.frombuffer(b"abcde", np.uint8), np.array([0, 3]), np.array([2, 3])).to_pylist()
    ['ab', '']
    """
    if not len(starts):
        return pa.array([], pa.string())
    # The strings and the gaps between them form one array, of which every second value is taken; ten times as fast as an index of each byte.
    bounds = np.empty(2 * len(starts), np.int32)
    bounds[0::2], bounds[1::2] = starts, stops
    texts = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(data))
    return texts.take(pa.array(np.arange(0, len(bounds), 2)))


def between_commas(data: np.ndarray, bounds: np.ndarray, commas: np.ndarray, before: int, after: int) -> tuple[np.ndarray, pa.Array]:
    """Split strings at the given commas; return the number of items of each string, and the items of all strings.

    The first ``before`` bytes and the last ``after`` bytes of each string are left out.

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
    """Return which bytes are outside quotes, for strings without escaped quotes or backslashes."""
    return ~np.bitwise_xor.accumulate((data == QUOTE).view(np.uint8)).view(bool)


def escaped(data: np.ndarray) -> np.ndarray:
    """Return the positions of the bytes that a backslash escapes.

    Examples
    --------
    >>> escaped(np.frombuffer(rb'"a\\"b\\\\"', np.uint8)).tolist()
    [3, 6]
    """
    positions = np.flatnonzero(data == BACKSLASH)
    if not len(positions):
        return positions
    # In a run of backslashes every second one is escaped itself.
    begins = np.concatenate([[True], np.diff(positions) != 1])
    within_run = np.arange(len(positions)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return positions[within_run % 2 == 0] + 1


def positions_at(data: np.ndarray, *targets: tuple[int, int]) -> list[np.ndarray]:
    """Return the positions of bytes at given depths of brackets; quoted bytes do not count.

    ``targets`` are pairs of a byte and a depth. A bracket has the depth of the bytes after it.

    Examples
    --------
    >>> [positions.tolist() for positions in positions_at(np.frombuffer(b'[1,[2,3]][","]', np.uint8), (COMMA, 1), (COMMA, 2))]
    [[2], [5]]
    """
    matches: list[list[np.ndarray]] = [[] for _ in targets]
    literal = escaped(data)
    quoted, depth = np.zeros(1, np.uint8), np.zeros(1, np.int8)
    for start in range(0, len(data), BLOCK):
        part = data[start : start + BLOCK]
        quotes = (part == QUOTE).view(np.uint8)
        if len(literal):
            quotes[literal[slice(*np.searchsorted(literal, (start, start + len(part))))] - start] = 0
        quoted = np.bitwise_xor.accumulate(quotes) ^ quoted[-1]
        # Square and curly brackets differ in one bit.
        brackets = part | (BRACE ^ OPENING)
        steps = (brackets == BRACE).view(np.int8) - (brackets == CLOSING_BRACE).view(np.int8)
        outside = quoted == 0
        # Sums of unsigned bytes take numpy four times as long.
        depth = np.cumsum(steps & -outside.view(np.int8), dtype=np.int8) + depth[-1]
        for positions, (byte, level) in zip(matches, targets, strict=True):
            positions.append(np.flatnonzero((part == byte) & (depth == level) & outside) + start)
    return [np.concatenate(positions) if positions else np.empty(0, np.int64) for positions in matches]


def has_duplicates(counts: np.ndarray, codes: np.ndarray) -> bool:
    """Return whether a row has the same code twice; ``codes`` are those of all rows together, and ``counts`` how many each row has.

    Examples
    --------
    >>> has_duplicates(np.array([2, 1]), np.array([0, 1, 1])), has_duplicates(np.array([1, 2]), np.array([0, 1, 1]))
    (False, True)
    """
    # Much faster than numpy.unique, which hashes.
    pairs = np.sort(np.repeat(np.arange(len(counts)), counts) * (int(codes.max(initial=0)) + 1) + codes)
    return bool((pairs[1:] == pairs[:-1]).any())


def counts_within(positions: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return how many of the ascending positions lie in each string."""
    return np.diff(np.searchsorted(positions, bounds))


# Functions that split lists, dicts and arrays in tagged JSON, none of which may be missing, into their items as JSON.


def cut_lists(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the number of items of each list, and the items of all lists.

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
    """Return the number of entries of each dict, and the keys and the values of all dicts.

    Examples
    --------
    >>> counts, keys, values = cut_dicts(pa.array(['{"$dict":[["a",[1]],["b",2]]}']))
    >>> counts.tolist(), keys.to_pylist(), values.to_pylist()
    ([2], ['"a"', '"b"'], ['[1]', '2'])
    """
    data, bounds = bytes_of(texts)
    # Depth 3 is inside an entry: within the braces of the dict and the brackets around all entries.
    opened, middle, closed = positions_at(data, (OPENING, 3), (COMMA, 3), (CLOSING, 2))
    return counts_within(opened, bounds), texts_between(data, opened + 1, middle), texts_between(data, middle + 1, closed)


def cut_arrays(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the number of items of each array, and the items of all arrays.

    Examples
    --------
    >>> counts, numbers = cut_arrays(pa.array(['{"$array":[1.5,2.0]}', '{"$array":[]}']))
    >>> counts.tolist(), numbers.to_pylist()
    ([2, 0], ['1.5', '2.0'])
    """
    data, bounds = bytes_of(texts)
    # All commas in an array separate its items.
    return between_commas(data, bounds, np.flatnonzero(data == COMMA), EMPTY_ARRAY.index("[") + 1, len("]}"))


def by_codes(codes: np.ndarray, write: Callable[[int, np.ndarray], pa.Array | None]) -> pa.Array | None:
    """Convert all values with the same code together; return the results in the order of the values, or None if ``write`` returns None.

    Parameters
    ----------
    codes
        The code of each value; there is at least one value.
    write
        Called with a code and a mask of the values with this code; returns their results, or None if they cannot be converted.

    Examples
    --------
    >>> by_codes(np.array([1, 0, 1]), lambda code, chosen: pa.array([f"{code}, {row}" for row in np.flatnonzero(chosen)])).to_pylist()
    ['1, 0', '0, 1', '1, 2']
    """
    parts, order, done = [], np.empty(len(codes), np.int64), 0
    for code in np.flatnonzero(np.bincount(codes)).tolist():
        chosen = codes == code
        part = write(code, chosen)
        if part is None:
            return None
        parts.append(part)
        order[chosen] = np.arange(done, done + len(part))
        done += len(part)
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts).take(pa.array(order))
