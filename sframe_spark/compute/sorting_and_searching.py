"""Sorting and searching: finds rows out of order, searches sorted arrays, and computes sort orders and ranks of numbers and strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import ColumnType

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_equality_and_codes import comparable
    from sframe_spark.compute.key_runs import plain_numbers
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.values.nested.tagged_json_patterns_and_splitting import bytes_of

# Search for the first row that is out of order.

MISSING, VALUE, NAN = 0, 1, 2


def first_break(chunks: Iterable[Chunk], schema: Schema, by: Sequence[tuple[int, bool]]) -> tuple[int, Chunk] | None:
    """Return the position of the first row that sorts before its predecessor, with the predecessor and the row; None if rows are sorted.

    Parameters
    ----------
    chunks
        Batches of consecutive rows.
    schema
        Column types of the rows.
    by
        Pairs of a column position and whether it ascends.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> first_break([Chunk.of([pa.array([1, 3])]), Chunk.of([pa.array([2, 4])])], (INT,), [(0, True)])[0]
    2
    """
    before = Chunk.empty(schema)
    seen = 0
    for chunk in chunks:
        rows = concatenate([before, chunk], schema) if before.rows else chunk
        wrong = np.flatnonzero(steps(rows, schema, by) < 0)
        if len(wrong):
            position = int(wrong[0])
            return seen - before.rows + position + 1, rows.slice(position, position + 2)
        seen += chunk.rows
        before = rows.slice(rows.rows - 1, rows.rows) if rows.rows else before
    return None


def steps(rows: Chunk, schema: Schema, by: Sequence[tuple[int, bool]]) -> np.ndarray:
    """Return, for each row but the first, 1 if it sorts after the row before it, 0 if both are equal, and -1 if it sorts before it."""
    result = np.zeros(max(rows.rows - 1, 0), dtype=np.int8)
    for position, ascending in by:
        step = column_steps(rows.columns[position], schema[position])
        result = np.where(result == 0, step if ascending else -step, result)
    return result


def column_steps(column: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Return the same as :func:`steps` for one ascending column; missing values come first, NaN last."""
    values = comparable(column, column_type)
    if pa.types.is_string(values.type):
        ranks = value_ranks(values)
        later, earlier = values.slice(1), values.slice(0, max(len(values) - 1, 0))
        up, down = (pc.fill_null(compare(later, earlier), False).to_numpy(zero_copy_only=False) for compare in (pc.greater, pc.less))
    else:
        numbers = plain_numbers(values)
        ranks = value_ranks(values, numbers)
        up, down = numbers[1:] > numbers[:-1], numbers[1:] < numbers[:-1]
    plain = (ranks[1:] == VALUE) & (ranks[:-1] == VALUE)
    return np.where(plain, up.astype(np.int8) - down.astype(np.int8), np.sign(ranks[1:] - ranks[:-1])).astype(np.int8)


def value_ranks(values: pa.Array, numbers: np.ndarray | None = None) -> np.ndarray:
    """Return for each value ``MISSING``, ``VALUE``, or ``NAN`` if ``numbers`` has NaN there: values sort by this first."""
    if values.null_count:
        ranks = np.where(values.is_valid().to_numpy(zero_copy_only=False), VALUE, MISSING).astype(np.int8)
    else:
        ranks = np.full(len(values), VALUE, dtype=np.int8)
    if numbers is not None and numbers.dtype.kind == "f":
        ranks[np.isnan(numbers)] = NAN
    return ranks


# Search for sorted values in a sorted array, with counts of numbers per bucket instead of the first steps of a binary search.

Side = Literal["left", "right"]
# Targets per block: the intermediate arrays of a block fit the cache of a core.
SEARCH_BLOCK = 1 << 14
# Smaller arrays are searched by plain binary search.
SMALL_SAMPLE = 1 << 10
# There are at least this many buckets per number.
BUCKETS_FOR_EACH = 2
# Whether numbers are spread evenly is estimated from a sample of SAMPLED_NUMBERS: most neighbours in it must be more than 1 / MIN_EVEN of the
# average distance apart.
SAMPLED_NUMBERS, MIN_EVEN = 64, 8


class BucketScratch(NamedTuple):
    """Scratch arrays that are reused from block to block, which saves mapping fresh memory for each.

    Parameters
    ----------
    numbers, buckets, values
        ``numbers`` has one entry for each number of the array, ``buckets`` and ``values`` have one for each target.
    stops
        An array with one entry for each bucket.
    """

    numbers: np.ndarray
    buckets: np.ndarray
    values: np.ndarray
    stops: np.ndarray

    @classmethod
    def of(cls, targets: int, numbers: int) -> BucketScratch:
        """Allocate arrays for blocks of at most ``targets`` targets, with at most ``numbers`` numbers of the array between them."""
        lengths = (numbers, targets, targets, (1 << max_bits(numbers)) + 2)
        return cls(*(new_array(length, np.int64) for length in lengths))


def search_ascending(ascending: np.ndarray, targets: np.ndarray, side: Side) -> np.ndarray:
    """Return the positions at which ascending targets would be inserted in an ascending array, as :func:`numpy.searchsorted` does.

    A binary search has one badly predicted branch per bit of a position. This function processes blocks of targets together with the numbers
    that lie between them, and counts the numbers in each bucket instead.

    Examples
    --------
    >>> search_ascending(np.array([1, 3, 3]), np.array([0, 3, 4]), "right").tolist()
    [0, 3, 3]
    """
    if ascending.dtype != targets.dtype or targets.dtype not in (np.int64, np.float64):
        return np.searchsorted(ascending, targets, side)
    result = new_array(len(targets), np.int64)
    starts = np.arange(0, len(targets), SEARCH_BLOCK)
    firsts = np.searchsorted(ascending, targets[starts], side)
    lasts = np.searchsorted(ascending, targets[np.minimum(starts + SEARCH_BLOCK, len(targets)) - 1], side)
    scratch = BucketScratch.of(min(len(targets), SEARCH_BLOCK), int((lasts - firsts).max(initial=0)))
    for start, first, last in zip(starts.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
        block = slice(start, start + SEARCH_BLOCK)
        between, part, positions = ascending[first:last], targets[block], result[block]
        if len(between) < SMALL_SAMPLE or not search_by_buckets(between, part, side, positions, scratch):
            positions[:] = np.searchsorted(between, part, side)
        positions += first
    return result


def search_by_buckets(between: np.ndarray, targets: np.ndarray, side: Side, positions: np.ndarray, scratch: BucketScratch) -> bool:
    """Write the position of each target among the numbers ``between`` into ``positions``; return False instead if a plain search is faster."""
    numbers, buckets = scratch.numbers[: len(between)], scratch.buckets[: len(targets)]
    shift = assign_buckets(between, targets, numbers, buckets)
    if shift is None or (shift and not are_even(numbers)):
        return False
    # Cumulative counts: stops[b] is the number of numbers in buckets before b.
    stops = scratch.stops[: int(buckets[-1]) + 2]
    stops[0] = 0
    np.cumsum(np.bincount(numbers, minlength=len(stops) - 1), out=stops[1:])
    if not shift:
        np.take(stops[1:] if side == "right" else stops, buckets, out=positions, mode="clip")
        return True
    np.take(stops, buckets, out=positions, mode="clip")
    passes = np.less if side == "left" else np.less_equal
    # The first number of the target's bucket, or of a later bucket; clipping to the last number changes no result.
    neighbours = np.take(between, positions, out=scratch.values.view(between.dtype)[: len(targets)], mode="clip")
    inside = np.flatnonzero(passes(neighbours, targets))
    # Usually either all numbers of the bucket come before the target, or none of them.
    ends = stops.take(buckets[inside] + 1)
    positions[inside] = ends
    inside = inside[~passes(between.take(ends - 1), targets[inside])]
    if len(inside):
        positions[inside] = np.searchsorted(between, targets[inside], side)
    return True


def assign_buckets(between: np.ndarray, targets: np.ndarray, numbers: np.ndarray, buckets: np.ndarray) -> int | None:
    """Write the bucket number of each number into ``numbers`` and of each target into ``buckets``.

    Return 0 if all numbers in a bucket are equal, None (without a result) if floats cannot be divided into buckets, otherwise a positive number.

    Examples
    --------
    >>> between, targets, numbers, buckets = (np.array(each) for each in ([10, 11, 15], [10, 17], [0, 0, 0], [0, 0]))
    >>> assign_buckets(between, targets, numbers, buckets), numbers.tolist(), buckets.tolist()
    (0, [0, 1, 5], [0, 7])
    """
    bits = max_bits(len(between))
    pairs = ((between, numbers), (targets, buckets))
    if targets.dtype.kind != "f":
        # Differences of ints may need all 64 bits, so they are unsigned.
        for part, out in pairs:
            np.subtract(part.view(np.uint64), targets.view(np.uint64)[0], out=out.view(np.uint64))
        shift = max(0, int(buckets.view(np.uint64)[-1]).bit_length() - bits)
        for _, out in pairs:
            np.right_shift(out.view(np.uint64), np.uint64(shift), out=out.view(np.uint64))
        return shift
    with np.errstate(all="ignore"):
        scale = ((1 << bits) - 1) / (targets[-1] - targets[0])
        if not 0.0 < scale < np.inf:
            return None
        # Each step is monotone however it is rounded, so buckets are in the order of their numbers.
        for part, out in pairs:
            distances = np.subtract(part, targets[0], out=out.view(np.float64))
            distances *= scale
            np.copyto(out, distances, casting="unsafe")
    return 1


def are_even(numbers: np.ndarray) -> bool:
    """Return whether ascending bucket numbers are spread evenly.

    Examples
    --------
    >>> are_even(np.arange(9_000)), are_even(np.repeat([0, 9_000], 4_500))
    (True, False)
    """
    tried = numbers[:: max(1, len(numbers) // SAMPLED_NUMBERS)]
    is_spread = tried[1:] - tried[:-1] > len(numbers) // len(tried) // MIN_EVEN
    return bool(2 * np.count_nonzero(is_spread) >= len(is_spread))


def max_bits(count: int) -> int:
    """Return how many bits a bucket number can have if ``count`` numbers are divided into buckets."""
    return (BUCKETS_FOR_EACH * count).bit_length()


# Argsort by a plain sort of ints, which is many times faster in NumPy than argsort: the row id is packed into the low bits of each number.

BITS = 63
# Smaller inputs are not sorted faster this way.
SMALL_SORT = 1 << 12
SMALL_SORT_OF_SEVERAL = 1 << 17
# Numbers of more bits are replaced by those of their values, if these are few.
CODED_BITS = 20
# If more than one in MAX_SHARED rows has the same leading bits as a neighbour, sorting by leading bits does not pay.
MAX_SHARED = 8


def order_of(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the stable argsort of rows by several arrays, compared one after the other.

    Parameters
    ----------
    parts
        Arrays of ints, or of floats without NaN; at least one, and all of the same length.

    Examples
    --------
    >>> order_of([np.array([1, 0, 1]), np.array([2.5, 1.0, -1.0])]).tolist()
    [1, 2, 0]
    """
    rows = len(parts[0])
    varying = [part for part in parts if rows and (part != part[0]).any()]
    if not varying:
        return np.arange(rows)
    if rows < (SMALL_SORT if len(varying) == 1 else SMALL_SORT_OF_SEVERAL):
        return np.lexsort(varying[::-1])
    if len(varying) > 1:
        # Stable sorts by one array after the other, the last one first.
        packed = packed_together(varying, BITS - rows.bit_length())
        order = order_of(packed[-1:])
        for part in reversed(packed[:-1]):
            order = order[order_of([part[order]])]
        return order
    numbers = as_ordered_ints(varying[0])
    low, high = int(numbers.min()), int(numbers.max())
    row_bits, bits = rows.bit_length(), (high - low).bit_length()
    left_out = max(0, bits + row_bits - BITS)
    if high - low > np.iinfo(np.int64).max:
        # The range needs all 64 bits, so it would overflow a signed difference.
        return order_by_leading(numbers.view(np.uint64) ^ np.uint64(1 << 63), row_bits)
    if not left_out:
        return np.sort((numbers - low) << row_bits | np.arange(rows)) & ((1 << row_bits) - 1)
    return order_by_leading((numbers - low).view(np.uint64), row_bits, bits)


# If fewer than one in so many of some values tried are different, values are numbered.
TRIED, MIN_REPEATED = 1 << 14, 4


def packed_together(parts: Sequence[np.ndarray], max_bits: int) -> list[np.ndarray]:
    """Return arrays by which rows are in the same order, of which neighbours are put into one array of ints where these have at most ``max_bits``.

    Examples
    --------
    >>> [part.tolist() for part in packed_together([np.array([7, 9, 8]), np.array([5, 5, 6])], 8)]
    [[0, 4, 3]]
    """
    result: list[np.ndarray] = []
    used = 0
    for part in parts:
        numbers, bits = few_bits(part)
        if result and used + bits <= max_bits:
            result[-1] = (result[-1] << bits) | numbers
            used += bits
        else:
            result.append(numbers)
            used = bits
    return result


def few_bits(part: np.ndarray) -> tuple[np.ndarray, int]:
    """Return ints in the order of some numbers, and how many bits they have: distances from the smallest, or numbers of few distinct values."""
    numbers = as_ordered_ints(part)
    low, high = int(numbers.min()), int(numbers.max())
    tried = numbers[:: max(1, len(numbers) // TRIED)]
    if (high - low).bit_length() > CODED_BITS and MIN_REPEATED * len(np.unique(tried)) <= len(tried):
        coded = pa.array(numbers).dictionary_encode()
        values = coded.dictionary.to_numpy()
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[np.argsort(values)] = np.arange(len(values))
        return ranks[coded.indices.to_numpy()], len(values).bit_length()
    return (numbers - low, (high - low).bit_length()) if high - low <= np.iinfo(np.int64).max else (numbers, 64)


def search_sorted(ascending: np.ndarray, targets: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Return the positions at which targets would be inserted in an ascending array, as :func:`numpy.searchsorted` does.

    Many targets are searched for in sorted order, so that consecutive searches read memory that is in the processor's cache.

    Examples
    --------
    >>> search_sorted(np.array([1, 3, 3]), np.array([3, 0]), "right").tolist()
    [3, 0]
    """
    if len(targets) >= SMALL_SORT and bool((targets[1:] >= targets[:-1]).all()):
        return _search_ascending_targets(ascending, targets, side)
    if len(targets) < SMALL_SORT or len(ascending) < SMALL_SORT:
        return np.searchsorted(ascending, targets, side)
    order = order_of([targets])
    result = np.empty(len(targets), dtype=np.int64)
    result[order] = np.searchsorted(ascending, targets[order], side)
    return result


def _search_ascending_targets(ascending: np.ndarray, targets: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Return the same as :func:`search_sorted` for ascending targets; if there are far fewer numbers, they are searched for in the targets."""
    first, last = (int(position) for position in np.searchsorted(ascending, targets[[0, -1]], "left"))
    if np.array_equal(ascending[first : first + len(targets)], targets):
        # The targets are a slice of the array: positions follow from runs of equal numbers.
        stops = np.append(np.flatnonzero(targets[1:] != targets[:-1]) + 1, len(targets))
        starts = np.insert(stops[:-1], 0, 0)
        lengths = stops - starts
        stops[-1] = np.searchsorted(ascending, targets[-1], "right") - first
        return np.repeat(first + (starts if side == "left" else stops), lengths)
    if 2 * (last - first) > len(targets):
        return search_ascending(ascending, targets, side)
    # A number of the array comes before a target if the number's own position among the targets is not after the target.
    between = ascending[first : np.searchsorted(ascending, targets[-1], side)]
    edges = np.searchsorted(targets, between, "left" if side == "right" else "right")
    return np.repeat(np.arange(first, first + len(between) + 1), np.diff(edges, prepend=0, append=len(targets)))


def ranks_of(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Return the dense rank of each row by several arrays, compared one after the other, and the number of distinct ranks.

    Examples
    --------
    >>> [part if isinstance(part, int) else part.tolist() for part in ranks_of([np.array([7, 3, 7])])]
    [[1, 0, 1], 2]
    """
    rows = len(parts[0])
    if not rows:
        return np.zeros(0, dtype=np.int64), 0
    order = order_of(parts)
    begins = np.zeros(rows, dtype=bool)
    for part in parts:
        ordered = part[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(rows, dtype=np.int64)
    ranks[order] = np.cumsum(begins)
    return ranks, int(np.count_nonzero(begins)) + 1


def order_by_leading(numbers: np.ndarray, row_bits: int, bits: int = 64) -> np.ndarray:
    """Return the stable argsort of unsigned numbers of ``bits`` bits: sort by as many leading bits as fit next to the row id, then resolve ties."""
    left_out = np.uint64(bits + row_bits - BITS)
    leading = (numbers >> left_out).astype(np.int64) << row_bits
    order = np.sort(leading | np.arange(len(numbers))) & ((1 << row_bits) - 1)
    ordered = numbers[order]
    shared = (ordered[1:] >> left_out) == (ordered[:-1] >> left_out)
    if np.count_nonzero(shared) * MAX_SHARED > len(numbers):
        return np.argsort(numbers, kind="stable")
    # Rows with the same leading bits are sorted again, by the whole number.
    inside = np.append(shared, False) | np.insert(shared, 0, False)
    positions = np.flatnonzero(inside)
    runs = np.cumsum(np.insert(~shared, 0, True))[positions]
    order[positions] = order[positions[np.lexsort((ordered[positions], runs))]]
    return order


def as_ordered_ints(numbers: np.ndarray) -> np.ndarray:
    """Map numbers to 64-bit ints of the same order; equal numbers map to equal ints.

    Examples
    --------
    >>> as_ordered_ints(np.array([0.0, -0.0, -1.0])).tolist()[:2], bool(np.diff(as_ordered_ints(np.array([-2.0, -1.0, 3.5]))).min() > 0)
    ([0, 0], True)
    """
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64, copy=False)
    bits = (numbers.astype(np.float64, copy=False) + 0.0).view(np.int64)
    # The bit patterns of negative floats are in descending order.
    return np.where(bits < 0, bits ^ np.int64(np.iinfo(np.int64).max), bits)


# Ranks of strings in byte order, by sorting eight bytes at a time as one number, which is several times faster than comparing strings.

WORD = 8
# Strings that agree in this many words are compared as strings.
MAX_WORDS = 4
_SIGN = np.uint64(1 << 63)


def text_ranks(texts: pa.StringArray) -> tuple[np.ndarray, int]:
    """Return the dense rank of each string, and the number of distinct ranks; no string may be missing.

    Examples
    --------
    >>> [part if isinstance(part, int) else part.tolist() for part in text_ranks(pa.array(["b", "a", "b", "ab"]))]
    [[2, 0, 2, 1], 3]
    """
    words = Words.of(texts) if len(texts) >= SMALL_SORT else None
    if words is None:
        result = compared_ranks(texts)
        return result, int(result.max(initial=-1)) + 1
    numbers = words.at(0)
    order = order_of([numbers])
    begins = _changes(numbers[order])
    for number in range(1, MAX_WORDS + 1):
        # Rows that agree with a neighbour so far, and have further bytes.
        inside = (~begins | np.append(~begins[1:], False)) & words.are_full(number, order)
        positions = np.flatnonzero(inside)
        if not len(positions):
            break
        rows, runs = order[positions], np.cumsum(begins)[positions]
        further = words.at(number, rows) if number < MAX_WORDS else compared_ranks(texts.take(pa.array(rows)))
        within = order_of([further])
        within = within[order_of([runs[within]])]
        order[positions] = rows[within]
        begins[positions] = _changes(runs) | _changes(further[within])
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[order] = np.cumsum(begins) - 1
    return ranks, int(np.count_nonzero(begins))


def compared_ranks(texts: pa.StringArray) -> np.ndarray:
    """Return the dense rank of each string by comparing strings; no string may be missing."""
    return np.asarray(pc.rank(texts, "ascending", tiebreaker="dense").to_numpy().astype(np.int64) - 1)


def _changes(values: np.ndarray) -> np.ndarray:
    """Return whether each value differs from the value before it; true for the first value."""
    return np.append(True, values[1:] != values[:-1])


@attrs.frozen(eq=False)
class Words:
    """Strings as sequences of 8-byte words, without their common prefix.

    Parameters
    ----------
    view
        The big-endian word that begins at each byte.
    starts
        The byte at which each string begins, after the common prefix.
    lengths
        The number of bytes of each string, without the common prefix.
    """

    view: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: pa.StringArray) -> Words | None:
        """Return the words of strings, or None if some string has a zero byte, which could not be distinguished from padding after its end."""
        data, bounds = bytes_of(texts)
        if not data.all():
            return None
        ends = pc.min_max(texts)
        lowest, highest = (np.frombuffer(ends[end].as_buffer(), np.uint8) for end in ("min", "max"))
        alike = lowest == highest[: len(lowest)] if len(lowest) <= len(highest) else lowest[: len(highest)] == highest
        common = int(np.append(alike, False).argmin())
        padded = np.zeros(len(data) + WORD, dtype=np.uint8)
        padded[: len(data)] = data
        view = np.ndarray((len(data) + 1,), dtype=">u8", buffer=padded.data, strides=(1,))
        return cls(view, bounds[:-1] + common, np.diff(bounds) - common)

    def at(self, number: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Return word ``number`` of each string as an int, so that ints sort as the bytes do; strings that have ended have the smallest int.

        With ``rows``, only the words of these strings are returned.
        """
        starts, lengths = (self.starts, self.lengths) if rows is None else (self.starts[rows], self.lengths[rows])
        left = np.clip(lengths - WORD * number, 0, WORD)
        words = self.view[np.minimum(starts + WORD * number, len(self.view) - 1)].astype(np.uint64)
        # Shift in two halves: a single shift by all 64 bits is undefined.
        half = ((WORD - left) * (WORD // 2)).astype(np.uint64)
        words = ((words >> half) >> half) << half << half
        result: np.ndarray = (words ^ _SIGN).view(np.int64)
        return result

    def are_full(self, number: int, rows: np.ndarray) -> np.ndarray:
        """Return which rows have at least ``number`` full words; rows that agree and have fewer words are equal strings."""
        result: np.ndarray = self.lengths[rows] >= WORD * number
        return result


# Sort keys: numbers that sort as the values do.

# Size of the sample from which it is estimated whether most values are distinct.
DISTINCT_SAMPLE = 1 << 13


def sort_parts(column: pa.Array, column_type: ColumnType, ascending: bool) -> list[np.ndarray]:
    """Return arrays whose ascending lexicographic order is the order of the values; missing values are the smallest, NaN is the largest.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> column = pa.array([2.0, None, float("nan"), -1.0])
    >>> [np.lexsort(sort_parts(column, FLOAT, up)[::-1]).tolist() for up in (True, False)]
    [[1, 3, 0, 2], [2, 0, 3, 1]]
    """
    values = comparable(column, column_type)
    numbers = _text_positions(values) if pa.types.is_string(values.type) else plain_numbers(values)
    ranks = value_ranks(values, numbers)
    numbers = np.where(ranks == VALUE, numbers, numbers.dtype.type(0))
    if ascending:
        return [ranks, numbers]
    # Negating an int can overflow, complementing it cannot.
    return [-ranks, ~numbers if numbers.dtype.kind == "i" else -numbers]


def sort_parts_of(rows: Chunk, schema: Schema, by: Sequence[tuple[int, bool]]) -> list[np.ndarray]:
    """Return arrays whose ascending lexicographic order is the order of rows by some columns, given as pairs of position and whether it ascends."""
    return [part for position, ascending in by for part in sort_parts(rows.columns[position], schema[position], ascending)]


def _text_positions(values: pa.Array) -> np.ndarray:
    """Return the dense rank of each string; missing strings have an arbitrary rank."""
    if mostly_differ(values):
        return text_ranks(values.fill_null(""))[0]
    encoded = values.dictionary_encode()
    positions = text_ranks(encoded.dictionary)[0]
    return positions[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(positions) else np.zeros(len(values), dtype=np.int64)


def mostly_differ(values: pa.Array) -> bool:
    """Return whether so many of the first values are distinct that dictionary encoding does not pay.

    Examples
    --------
    >>> mostly_differ(pa.array(range(10_000))), mostly_differ(pa.array([1, 2] * 5_000))
    (True, False)
    """
    first = values.slice(0, DISTINCT_SAMPLE)
    return len(values) > DISTINCT_SAMPLE and 2 * len(first.dictionary_encode("encode").dictionary) > len(first)
