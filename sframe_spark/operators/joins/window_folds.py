"""Aggregates of many windows of consecutive rows at once, without a difference of rounded running totals, which would lose digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.exact_window_sum import deviations_of_windows, means_of_windows, pieces_of_windows
from sframe_spark.compute.key_runs import plain_zeros, ranges
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.lookup.numeric_keys import Numbers, Positions
from sframe_spark.planner.chunk import MOST_BYTES_OF_ARRAY, Chunk, concatenate
from sframe_spark.planner.facts import Schema
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.encode import encode_plain

# Python makes objects of so many windows before they become a column: they take several times its bytes.
WINDOWS_AT_ONCE = 4_096

Parts = tuple[Numbers, ...]
Combine = Callable[[Parts, Parts], Parts]


def fold_by_two(parts: Parts, combine: Combine, neutral: Sequence[Any], starts: Positions, stops: Positions) -> Parts:
    """Combine the values of each window ``starts..stops``; windows may overlap, have any length, or none.

    Values are combined in runs of 1, 2, 4 ... rows, and a window is put together of the two longest runs that cover it: a row may count twice, as it
    may in extremes.

    Parameters
    ----------
    parts
        What is known of each single row, as arrays of one length.
    combine
        What is known of two runs from what is known of each; of a run with itself, the same.
    neutral
        What is known of no row.

    Examples
    --------
    >>> (most,) = fold_by_two((np.array([1, 3, 2]),), lambda a, b: (np.maximum(a[0], b[0]),), (0,), np.array([0, 1, 2]), np.array([3, 3, 2]))
    >>> most.tolist()
    [3, 3, 0]
    """
    found = []
    for some, first, last in pieces_of_windows(len(parts[0]), starts, stops):
        found.append(two_runs(tuple(part[first:last] for part in parts), combine, neutral, starts[some] - first, stops[some] - first))
    return found[0] if len(found) == 1 else tuple(np.concatenate(pieces) for pieces in zip(*found, strict=True))


def two_runs(parts: Parts, combine: Combine, neutral: Sequence[Any], starts: Positions, stops: Positions) -> Parts:
    """What :func:`fold_by_two` gives, of all windows at once."""
    lengths = stops - starts
    result = tuple(np.full(len(starts), value, dtype=part.dtype) for value, part in zip(neutral, parts, strict=True))
    longest, width = int(lengths.max(initial=0)), 1
    while width <= longest:
        rows = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        if len(rows):
            first, last = starts[rows], stops[rows] - width
            for total, value in zip(result, combine(tuple(part[first] for part in parts), tuple(part[last] for part in parts)), strict=True):
                total[rows] = value
        if 2 * width <= longest:
            parts = combine(tuple(part[:-width] for part in parts), tuple(part[width:] for part in parts))
        width *= 2
    return result


def window_counts(starts: Positions, stops: Positions, valid: Numbers) -> Positions:
    """How many valid values are in each window."""
    if valid.all():
        return stops - starts
    totals = np.concatenate([[0], np.cumsum(valid)])
    counts: Positions = totals[stops] - totals[starts]
    return counts


def aggregate_windows(aggregation: Aggregation, columns: Sequence[pa.Array], schema: Schema, starts: Positions, stops: Positions) -> pa.Array:
    """The aggregate of the rows of each window."""
    types = [schema[position] for position in aggregation.positions]
    if aggregation.function == "count":
        return pa.array(stops - starts)
    arguments = [columns[position] for position in aggregation.positions]
    if aggregation.function == "select_one":
        return arguments[0].take(pa.array(starts, mask=stops == starts))
    if types[0] in (INT, FLOAT, DATETIME) and aggregation.function in ("argmin", "argmax"):
        places = extreme_places(*numbers_of(arguments[0]), aggregation.function == "argmax", starts, stops)
        return arguments[1].take(pa.array(places, mask=places < 0))
    if (types[0] in (INT, FLOAT) and aggregation.function in FAST) or (types[0] == DATETIME and aggregation.function in ("min", "max")):
        values, valid = numbers_of(arguments[0])
        found = FAST[aggregation.function](values, valid, window_counts(starts, stops, valid), starts, stops)
        return found.cast(types[0].physical) if types[0] == DATETIME else found
    if are_lists_by_arrow(aggregation, schema):
        return lists_of_windows(arguments[0], starts, stops, aggregation.infer(schema))
    return reduce_windows(aggregation, columns, schema, starts, stops)


def are_lists_by_arrow(aggregation: Aggregation, schema: Schema) -> bool:
    """True for lists of the values of windows that Python need not look at."""
    types = [schema[position] for position in aggregation.positions]
    return aggregation.function == "concat" and len(types) == 1 and types[0] in (INT, FLOAT, STR)


def lists_of_windows(column: pa.Array, starts: Positions, stops: Positions, result: ColumnType) -> pa.Array:
    """The values of each window that are not missing, as lists.

    Raises
    ------
    ArrowCapacityError
        If they are more than an array holds, before any is made.

    Examples
    --------
    >>> from sframe_spark.types import list_of
    >>> lists_of_windows(pa.array([5, None, 7]), np.array([0, 1, 3]), np.array([3, 3, 3]), list_of(INT)).to_pylist()
    [[5, 7], [7], []]
    """
    there = column.is_valid().to_numpy(zero_copy_only=False)
    places, before = np.flatnonzero(there), np.concatenate([[0], np.cumsum(there)])
    firsts = before[starts]
    ends = np.cumsum(before[stops] - firsts)
    begins = np.concatenate([[0], ends])
    if max(begins[-1], bytes_of_windows(column, starts, stops)) > MOST_BYTES_OF_ARRAY:
        raise pa.ArrowCapacityError("windows hold more values than an array")
    chosen = places[ranges(firsts, np.diff(begins))]
    return pa.ListArray.from_arrays(pa.array(begins, pa.int32()), column.take(pa.array(chosen)), type=result.physical)


def bytes_of_windows(column: pa.Array, starts: Positions, stops: Positions) -> int:
    """What the values of all windows take together."""
    if not pa.types.is_string(column.type):
        return int((stops - starts).sum()) * (column.type.bit_width // 8)
    ends = np.concatenate([[0], np.cumsum(pc.binary_length(column).fill_null(0).to_numpy(), dtype=np.int64)])
    return int((ends[stops] - ends[starts]).sum())


def numbers_of(column: pa.Array) -> tuple[Numbers, Numbers]:
    """The values as numbers, and which are not missing."""
    column = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False), np.ones(len(column), dtype=bool)
    return column.fill_null(0).to_numpy(zero_copy_only=False), column.is_valid().to_numpy(zero_copy_only=False)


def extreme_places(values: Numbers, valid: Numbers, largest: bool, starts: Positions, stops: Positions) -> Positions:
    """The row with the smallest or largest value in each window, the first of several; -1 where none has a value.

    NaN counts only where there is nothing else.
    """
    # Flipping the bits of an int reverses the order without overflow.
    keys = values if not largest else -values if values.dtype.kind == "f" else ~values
    nan = np.isnan(keys)

    def choose(first: Parts, second: Parts) -> Parts:
        (key, is_nan, place), (other, other_nan, there) = first, second
        better = (there >= 0) & ((place < 0) | (is_nan & ~other_nan) | (~is_nan & ~other_nan & (other < key)))
        return tuple(np.where(better, b, a) for a, b in zip(first, second, strict=True))

    parts = (np.where(nan, 0, keys), nan, np.where(valid, np.arange(len(values)), -1))
    return fold_by_two(parts, choose, (0, False, -1), starts, stops)[2]


def reduce_windows(aggregation: Aggregation, columns: Sequence[pa.Array], schema: Schema, starts: Positions, stops: Positions) -> pa.Array:
    """Any aggregate, window by window; what Python makes of some windows is a column before it makes more."""
    reduce, result = aggregation.reduction(), aggregation.infer(schema)
    types = [schema[position] for position in aggregation.positions]
    arguments = [columns[position] for position in aggregation.positions]

    def answer(start: int, stop: int) -> Any:
        return reduce([argument.slice(start, stop - start) for argument in arguments], types, aggregation.parameters)

    made = [Chunk.empty((result,))]
    for first in range(0, len(starts), WINDOWS_AT_ONCE):
        some = slice(first, first + WINDOWS_AT_ONCE)
        made.append(Chunk.of([encode_plain(answers(answer, starts[some].tolist(), stops[some].tolist()), result)]))
    return concatenate(made, (result,)).columns[0]


def answers(answer: Callable[[int, int], Any], starts: Sequence[int], stops: Sequence[int]) -> list[Any]:
    """What is found of each window; neighbours with the same rows share it.

    Examples
    --------
    >>> answers(lambda start, stop: print(start, stop) or stop - start, [0, 0, 1], [2, 2, 2])
    0 2
    1 2
    [2, 2, 1]
    """
    found: list[Any] = []
    last: tuple[int, int] | None = None
    for window in zip(starts, stops, strict=True):
        found.append(found[-1] if window == last else answer(*window))
        last = window
    return found


def _sums(values: Numbers, valid: Numbers, counts: Positions, starts: Positions, stops: Positions) -> pa.Array:
    if values.dtype.kind == "f":
        return pa.array(means_of_windows(values, np.ones(len(starts)), starts, stops))
    # What wraps around in both totals is not in their difference.
    totals = np.concatenate([[0], np.cumsum(values)])
    return pa.array(totals[stops] - totals[starts])


def _means(values: Numbers, valid: Numbers, counts: Positions, starts: Positions, stops: Positions) -> pa.Array:
    return known(means_of_windows(values.astype(np.float64, copy=False), np.maximum(counts, 1), starts, stops), counts)


def _extremes(largest: bool) -> Callable[..., pa.Array]:
    def compute(values: Numbers, valid: Numbers, counts: Positions, starts: Positions, stops: Positions) -> pa.Array:
        limits = (-np.inf, np.inf) if values.dtype.kind == "f" else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
        neutral = limits[0] if largest else limits[1]
        # Both spread NaN, as the aggregates do.
        choose = np.maximum if largest else np.minimum
        (found,) = fold_by_two((np.where(valid, values, neutral),), lambda a, b: (choose(a[0], b[0]),), (neutral,), starts, stops)
        return known(plain_zeros(found), counts)

    return compute


def known(found: Numbers, counts: Positions) -> pa.Array:
    """What is found of windows, missing where they have no value."""
    return pa.array(found, from_pandas=False) if counts.all() else pa.array(found, mask=counts == 0)


def _variances(values: Numbers, valid: Numbers, counts: Positions, starts: Positions, stops: Positions) -> Numbers:
    squares = deviations_of_windows(values.astype(np.float64, copy=False), counts, starts, stops)
    return np.where(counts > 1, squares / np.maximum(counts, 1), 0.0)


FAST: dict[str, Callable[..., pa.Array]] = {
    "sum": _sums,
    "mean": _means,
    "min": _extremes(largest=False),
    "max": _extremes(largest=True),
    "var": lambda *arguments: pa.array(_variances(*arguments)),
    "std": lambda *arguments: pa.array(np.sqrt(_variances(*arguments))),
}
