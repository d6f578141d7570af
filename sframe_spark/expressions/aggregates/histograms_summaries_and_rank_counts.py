"""One-pass aggregates for profiling and charts: histograms, label counts, key types of dicts, column summaries and rank counts."""

from __future__ import annotations

import array
import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.compute.key_runs import POSITIVE_ZERO
from sframe_spark.errors import TooLargeError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.python_aggregates import Decomposition
from sframe_spark.expressions.functions.dicts import key_set, native_keys, require_like_keys
from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY, DATETIME, DATETIME_KIND, DICT_KIND, ENCODED_DICT, FLOAT_KIND, INT, INT_KIND, STR_KIND, ColumnType, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.nested.json_item_splitting_and_joining import KINDS
from sframe_spark.values.plain_values import family_of
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_equality_and_codes import one_float
    from sframe_spark.values.nested.json_item_splitting_and_joining import any_items, kinds_of

# Histograms of one column and of pairs of columns, for all rows or for rows with a label. The range of the numbers, from which bins follow, is an
# aggregate of its own.

_NUMBERS = (INT_KIND, FLOAT_KIND)
Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
# The numbers of missing, NaN and infinite values; the smallest and the largest finite value, and the variance state of the finite values.
RangePart = tuple[int, int, int, float, float, VarianceState]


def _infer_histogram(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("a histogram", column_type, _NUMBERS)
    return ARRAY


def _range_part(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> RangePart:
    numbers = with_nan(arrays[0])
    finite = numbers[np.isfinite(numbers)]
    missing, infinite = arrays[0].null_count, int(np.isinf(numbers).sum())
    # Both zeros tie, and which of them is found depends on how rows are divided: adding zero makes -0.0 to 0.0.
    smallest, largest = (float(finite.min()) + POSITIVE_ZERO, float(finite.max()) + POSITIVE_ZERO) if len(finite) else (math.inf, -math.inf)
    return missing, rows - missing - len(finite) - infinite, infinite, smallest, largest, VarianceState.of(finite)


def _merged_ranges(first: RangePart, second: RangePart, types: Types) -> RangePart:
    missing, nan, infinite = (one + other for one, other in zip(first[:3], second[:3], strict=True))
    return missing, nan, infinite, min(first[3], second[3]), max(first[4], second[4]), first[5].merged(second[5])


def _range_as_array(part: RangePart, types: Types, parameters: Parameters) -> array.array:
    variance = part[5]
    return array.array("d", [variance.count, *part[:5], variance.mean, variance.squares])


def with_nan(column: pa.Array) -> np.ndarray:
    """Return numbers as floats; missing numbers become NaN."""
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def bin_numbers(numbers: np.ndarray, first: float, step: float, bins: int) -> np.ndarray:
    """Return the bin of each finite number: bin ``i`` is ``[(first + i) * step, (first + i + 1) * step)``.

    Numbers outside of all bins are counted in the first or the last bin. Edges count as decimal numbers: 0.3 begins a bin of width 0.1.

    Examples
    --------
    >>> bin_numbers(np.array([0.3, 0.1, 9.0]), 1, 0.1, 5).tolist()
    [2, 0, 4]
    >>> bin_numbers(np.array([1.005]), 0, 0.005, 300).tolist()
    [201]
    """
    bins_in_one = round(1 / step)
    if step < 1 and abs(1 / step - bins_in_one) < 1e-9 / step and 1 / step < 2**53:
        indices = np.floor(numbers * bins_in_one)
        # Neither quotients nor products find all edges, because of rounding: 0.3 / 0.1 is less than 3, and 1.005 * 200 is less than 201.
        # The edges themselves, 201 / 200, are the floats nearest to the decimal numbers.
        indices += (indices + 1) / bins_in_one <= numbers
        indices -= indices / bins_in_one > numbers
    else:
        indices = np.floor(numbers / step)
    return np.clip(indices - first, 0, bins - 1).astype(np.int64)


def _bin_counts(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return the number of rows in each bin; rows with a number that is not finite are not counted.

    Parameters are ``first, step, bins`` of each column; with several columns there is a bin for each combination.
    """
    columns = [with_nan(column) for column in arrays]
    is_finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    indices, size = np.zeros(int(is_finite.sum()), dtype=np.int64), 1
    for position, column in enumerate(columns):
        first, step, bins = parameters[3 * position : 3 * position + 3]
        indices = indices * bins + bin_numbers(column[is_finite], first, step, bins)
        size *= bins
    return np.bincount(indices, minlength=size)


def added_counts(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    """Return the sums of the counts of both parts."""
    return first + second


def as_floats(part: np.ndarray, types: Types, parameters: Parameters) -> array.array:
    """Return a table of numbers as one array of floats, row by row."""
    return array.array("d", part.astype(np.float64).ravel())


define_aggregate("finite_range", _infer_histogram, parts=Decomposition(_range_part, _merged_ranges, _range_as_array), order_sensitive=False)
define_aggregate("histogram", _infer_histogram, parts=Decomposition(_bin_counts, added_counts, as_floats), order_sensitive=False, arguments=(1, 2))


# Counts, ranges and histograms of the rows with each of a few labels, or in each of some bins, in one pass, for charts of groups.


def _infer_counts(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("a count of labels", column_type, (STR_KIND,))
    return ARRAY


def _infer_labelled(types: Types, parameters: Parameters) -> ColumnType:
    require("a label", types[0], (STR_KIND,))
    require("a number of a label", types[1], _NUMBERS)
    return ARRAY


def _infer_binned(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("a number of a bin", column_type, _NUMBERS)
    return ARRAY


def _label_indices(column: pa.Array, labels: Sequence[str | None]) -> np.ndarray:
    """Return the index of each value in a list of labels, which may include None; -1 for values that are not in the list."""
    result = pc.index_in(column, value_set=pa.array(labels, column.type), skip_nulls=False)
    return result.fill_null(-1).to_numpy(zero_copy_only=False)


def _label_counts(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return the number of rows with each combination of labels; rows with other values are not counted.

    Parameters are the labels of each column.
    """
    indices, size, inside = np.zeros(rows, dtype=np.int64), 1, np.ones(rows, dtype=bool)
    for column, labels in zip(arrays, parameters, strict=True):
        result = _label_indices(column, labels)
        inside &= result >= 0
        indices = indices * len(labels) + result
        size *= len(labels)
    return np.bincount(indices[inside], minlength=size)


def _label_histograms(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return a histogram of the second column for each label of the first column, one after the other; see :func:`bin_numbers`.

    Parameters are the labels, and ``(first, step, bins)`` for each label.
    """
    labels, bins = parameters
    indices, numbers = _label_indices(arrays[0], labels), with_nan(arrays[1])
    is_finite = np.isfinite(numbers)
    return np.concatenate(
        [np.bincount(bin_numbers(numbers[is_finite & (indices == index)], *of_label), minlength=of_label[2]) for index, of_label in enumerate(bins)]
    )


def _ranges(indices: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """Return for each index the count, the smallest, the largest and the mean of its finite numbers; the mean is zero if there are none."""
    inside = np.isfinite(numbers) & (indices >= 0)
    indices, numbers = indices[inside], numbers[inside]
    counts = np.bincount(indices, minlength=size)
    smallest, largest = np.full(size, math.inf), np.full(size, -math.inf)
    np.minimum.at(smallest, indices, numbers)
    np.maximum.at(largest, indices, numbers)
    # Each number is divided by the count before the sum, as the sum of the numbers might overflow.
    means = np.bincount(indices, numbers / counts[indices], size)
    return np.stack([counts.astype(np.float64), smallest, largest, means], axis=1)


def _label_ranges(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return count, smallest, largest and mean of the second column for each label of the first column; parameters are the labels."""
    return _ranges(_label_indices(arrays[0], parameters), with_nan(arrays[1]), len(parameters))


def _bin_ranges(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return count, smallest, largest and mean of the second column for each bin of the first; parameters are its ``first, step, bins``."""
    across, numbers = with_nan(arrays[0]), with_nan(arrays[1])
    inside = np.isfinite(across)
    return _ranges(bin_numbers(across[inside], *parameters), numbers[inside], parameters[2])


def _merged_labelled_ranges(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    counts = first[:, 0] + second[:, 0]
    some = np.maximum(counts, 1.0)
    means = first[:, 3] * (first[:, 0] / some) + second[:, 3] * (second[:, 0] / some)
    return np.stack([counts, np.minimum(first[:, 1], second[:, 1]), np.maximum(first[:, 2], second[:, 2]), means], axis=1)


_OF_COUNTS, _OF_RANGES = (added_counts, as_floats), (_merged_labelled_ranges, as_floats)
define_aggregate("label_counts", _infer_counts, parts=Decomposition(_label_counts, *_OF_COUNTS), order_sensitive=False, arguments=(1, 2))
define_aggregate("label_histograms", _infer_labelled, parts=Decomposition(_label_histograms, *_OF_COUNTS), order_sensitive=False, arguments=2)
define_aggregate("label_ranges", _infer_labelled, parts=Decomposition(_label_ranges, *_OF_RANGES), order_sensitive=False, arguments=2)
define_aggregate("bin_ranges", _infer_binned, parts=Decomposition(_bin_ranges, *_OF_RANGES), order_sensitive=False, arguments=2)


# The kinds of the values of dicts for each key, from which the types of unpacked columns follow.

Kinds = dict[Any, frozenset[str]]
_KIND_OF_ITEMS = {pa.int64(): INT_KIND, pa.float64(): FLOAT_KIND, pa.string(): STR_KIND}
# No frame should have more columns than this.
MAX_KEYS = 10_000


def _kinds(arrays: Sequence[pa.Array], rows: int, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Kinds:
    requested = parameters[0] if parameters else None
    stored = any_items(arrays[0], DICT_KIND) if types[0].is_encoded else None
    if stored is not None and stored.keys is not None:
        keys, items = stored.keys, stored.items
        if requested is not None and len(keys):
            keys, items = _entries_of_keys(keys, items, stored.by_keys()[1], requested)
        return _few(_kinds_of_json(keys, items))
    if types[0].is_encoded:
        return _few(_kinds_of_cells(decode(arrays[0], types[0]), requested))
    entries = pc.list_flatten(pc.cast(arrays[0], pa.list_(pa.struct([("key", arrays[0].type.key_type), ("value", arrays[0].type.item_type)]))))
    keys, items = entries.field("key"), entries.field("value")
    if requested is not None:
        keys, items = _entries_of_keys(keys, items, types[0], requested)
    known = frozenset([_KIND_OF_ITEMS[types[0].physical.item_type]])
    result: Kinds = dict.fromkeys(pc.unique(keys).to_pylist(), frozenset())
    return _few({**result, **dict.fromkeys(pc.unique(keys.filter(items.is_valid())).to_pylist(), known)})


def _entries_of_keys(keys: pa.Array, items: pa.Array, column_type: ColumnType, requested: Sequence[Any]) -> tuple[pa.Array, pa.Array]:
    """Return the keys and items of entries with a requested key; raise if a requested key has another class than the keys."""
    native_keys(column_type, requested)
    chosen = pc.is_in(keys, key_set(column_type, requested)[0])
    return keys.filter(chosen), items.filter(chosen)


def _kinds_of_cells(cells: Sequence[dict[Any, Any] | None], requested: Sequence[Any] | None) -> Kinds:
    """Return the kinds of the values of each key, for Python dicts; only for requested keys unless these are None."""
    texts = None if requested is None else {canonical_value(key) for key in requested}
    if requested is not None:
        require_like_keys(cells, requested)
    result: Kinds = {}
    for cell in cells:
        for key, value in (cell or {}).items():
            if texts is None or canonical_value(key) in texts:
                kind = frozenset() if value is None else frozenset([family_of(type(value))])
                result[key] = result.get(key, frozenset()) | kind
    return result


def _kinds_of_json(keys: pa.Array, items: pa.Array) -> Kinds:
    """Return the kinds of the values of each key, given as JSON, from their first bytes."""
    encoded = keys.dictionary_encode()
    kinds = kinds_of(items)
    pairs = np.flatnonzero(np.bincount(encoded.indices.to_numpy() * len(KINDS) + kinds))
    names = encoded.dictionary.to_pylist()
    result: Kinds = dict.fromkeys(names, frozenset())
    for name, kind in zip(pairs // len(KINDS), pairs % len(KINDS), strict=True):
        result[names[name]] |= KINDS[kind]
    return result


def _merged_items(first: Kinds, second: Kinds, types: Sequence[ColumnType]) -> Kinds:
    return _few({**first, **{key: first.get(key, frozenset()) | kinds for key, kinds in second.items()}})


def _few(result: Kinds) -> Kinds:
    if len(result) > MAX_KEYS:
        raise TooLargeError(f"the dicts have more than {MAX_KEYS:,} keys, each of which would be a column: name some with limit=, or use stack()")
    return result


def _as_texts(part: Mapping[Any, frozenset[str]], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> dict[Any, str]:
    return {key: " ".join(sorted(kinds)) for key, kinds in part.items()}


def _infer_items(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result: a dict from each key to the kinds of its values, as a string.

    Parameter: the keys to examine; without it, all keys.
    """
    require("the kinds of values", types[0], (DICT_KIND,))
    if parameters and not types[0].is_encoded:
        native_keys(types[0], parameters[0])
    return ENCODED_DICT


define_aggregate("item_kinds", _infer_items, parts=Decomposition(_kinds, _merged_items, _as_texts), order_sensitive=False)


# All distinct values are counted while there are at most this many, and they have at most this many bytes.
MAX_VALUES, MAX_BYTES = 1 << 16, 8 << 20
# If there are more, only frequent values are kept. Every value that occurs in more than one in FREQUENT_SHARE rows is kept, unless the values are
# so long that they exceed MAX_BYTES.
FREQUENT_SHARE = 1 << 12
# The estimate of the number of distinct values has 2 ** REGISTER_BITS registers: its standard error is 1.04 / sqrt(2 ** 14), or 0.8%.
REGISTER_BITS = 14
_SUMMARIZED_TYPES = (INT_KIND, FLOAT_KIND, STR_KIND, DATETIME_KIND)


@attrs.frozen(eq=False)
class ColumnSummary:
    """The partial result of a summary.

    Parameters
    ----------
    rows, missing
        The number of rows, and of rows whose value is missing.
    variance
        The variance state of the numbers that are not NaN.
    smallest, largest
        The smallest and the largest of these numbers; infinite if there are none.
    registers
        The registers from which the number of distinct values, without NaN, is estimated: the largest number of leading zeros of a hash, plus one.
    values, counts
        Distinct values, without NaN, and a lower bound of how often each occurs.
    error
        How much more often than counted a value may occur, also a value that is not in ``values``. Zero while there are few distinct values.
    """

    rows: int
    missing: int
    variance: VarianceState
    smallest: float
    largest: float
    registers: np.ndarray
    values: pa.Array
    counts: pa.Array
    error: int


def _part(arrays: Sequence[pa.Array], rows: int, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnSummary:
    values = arrays[0].drop_null()
    if types[0].kind == FLOAT_KIND:
        values = one_float(values.filter(pc.invert(pc.is_nan(values))))
    counted = pc.value_counts(values)
    result = counted.field("values")
    counted_values = _few_or_frequent(result, counted.field("counts"), 0)
    return ColumnSummary(rows, arrays[0].null_count, *_numbers(values, types[0]), _registers(result, types[0]), *counted_values)


def _numbers(values: pa.Array, column_type: ColumnType) -> tuple[VarianceState, float, float]:
    numbers = with_nan(values) if column_type.is_numeric else np.empty(0)
    return VarianceState.of(numbers), float(numbers.min(initial=math.inf)), float(numbers.max(initial=-math.inf))


def _registers(values: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Return the HyperLogLog registers of distinct values.

    Source: Flajolet, Fusy, Gandouet and Meunier (2007), "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm".
    """
    registers = np.zeros(1 << REGISTER_BITS, dtype=np.uint8)
    if len(values):
        words = evaluate("hash", [values], [column_type], (), len(values))[0].to_numpy(zero_copy_only=False).view(np.uint64)
        rest = (words << np.uint64(REGISTER_BITS)) | np.uint64((1 << REGISTER_BITS) - 1)
        # The exponent of a float is the position of its highest bit; rounding up may add one where all bits are set, once in 2 ** 53.
        highest = np.frexp(rest.astype(np.float64))[1]
        np.maximum.at(registers, (words >> np.uint64(64 - REGISTER_BITS)).astype(np.int64), np.minimum(65 - highest, 64).astype(np.uint8))
    return registers


def _merged_summaries(first: ColumnSummary, second: ColumnSummary, types: Sequence[ColumnType]) -> ColumnSummary:
    registers = np.maximum(first.registers, second.registers)
    variance = first.variance.merged(second.variance)
    smallest, largest = min(first.smallest, second.smallest), max(first.largest, second.largest)
    rows, missing = first.rows + second.rows, first.missing + second.missing
    return ColumnSummary(rows, missing, variance, smallest, largest, registers, *_merged_counts(first, second))


def _merged_counts(first: ColumnSummary, second: ColumnSummary) -> tuple[pa.Array, pa.Array, int]:
    # Values are in the order of their first occurrence. Arrow's own grouping takes ten times as long for floats of few digits (similar hashes).
    encoded = pa.concat_arrays([first.values, second.values]).dictionary_encode()
    both = np.concatenate([first.counts.to_numpy(), second.counts.to_numpy()])
    counts = np.bincount(encoded.indices.to_numpy(), weights=both, minlength=len(encoded.dictionary)).astype(np.int64)
    return _few_or_frequent(encoded.dictionary, pa.array(counts), first.error + second.error)


def _few_or_frequent(values: pa.Array, counts: pa.Array, error: int) -> tuple[pa.Array, pa.Array, int]:
    """Return all values with their counts if they are few; otherwise only frequent values.

    Every value that occurs in more than one in ``FREQUENT_SHARE`` rows is kept, unless the values are so long that they exceed ``MAX_BYTES``. The
    number that is subtracted from all counts is subtracted from more than ``FREQUENT_SHARE`` of them, so it is less than the rows
    divided by ``FREQUENT_SHARE``.

    Source: Agarwal, Cormode, Huang, Phillips, Wei, Yi, "Mergeable summaries" (2012).
    """
    if not error and len(values) <= MAX_VALUES and values.nbytes <= MAX_BYTES:
        return values, counts, 0
    numbers = counts.to_numpy(zero_copy_only=False)
    subtracted = 0
    if len(numbers) > FREQUENT_SHARE:
        subtracted = int(np.partition(numbers, len(numbers) - FREQUENT_SHARE - 1)[len(numbers) - FREQUENT_SHARE - 1])
    values, numbers = values.filter(pa.array(numbers > subtracted)), numbers[numbers > subtracted] - subtracted
    while values.nbytes > MAX_BYTES:
        # Long strings: keep fewer values, and increase the error accordingly.
        less = int(np.median(numbers))
        values, numbers, subtracted = values.filter(pa.array(numbers > less)), numbers[numbers > less] - less, subtracted + less
    return values, pa.array(numbers), error + subtracted


def estimated(registers: np.ndarray) -> int:
    """Return an estimate of the number of distinct values from the registers of their hashes.

    Examples
    --------
    >>> estimated(np.zeros(1 << REGISTER_BITS, dtype=np.uint8))
    0
    """
    size = len(registers)
    empty = int((registers == 0).sum())
    raw = 0.7213 / (1 + 1.079 / size) * size * size / float(np.ldexp(1.0, -registers.astype(np.int64)).sum())
    return round(size * math.log(size / empty)) if raw <= 2.5 * size and empty else round(raw)


def _as_dict(part: ColumnSummary, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> dict[str, Any]:
    counted = dict(zip(decode(part.values, types[0]), part.counts.to_pylist(), strict=True))
    return {
        "rows": part.rows,
        "missing": part.missing,
        "numbers": part.variance.count,
        "min": part.smallest,
        "max": part.largest,
        "sum": part.variance.total.value,
        "mean": part.variance.mean,
        "squares": part.variance.squares,
        "distinct": estimated(part.registers) if part.error else len(part.values),
        "counted": None if part.error else counted,
        "frequent": counted if part.error else None,
        "error": part.error,
    }


def _infer_summary(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result, a dict; raise for types that have no summary. In a summary, NaN values count as rows, and in nothing else."""
    require("a summary", types[0], _SUMMARIZED_TYPES)
    if types[0].kind == DATETIME_KIND and types[0] != DATETIME:
        require("a summary of date-times", types[0], ())
    return ENCODED_DICT


define_aggregate("summary", _infer_summary, parts=Decomposition(_part, _merged_summaries, _as_dict), order_sensitive=False)


# Aggregates that find the number with some rank without sorting: counts of the numbers in each of many ranges, and the numbers in one range.

RANGES = 1 << 14
LARGEST_KEY = (1 << 64) - 1
_SIGN = np.uint64(1 << 63)


def keys_of(column: pa.Array) -> np.ndarray:
    """Return unsigned ints ("keys") that sort as the numbers do, for the numbers that are not missing.

    Examples
    --------
    >>> keys_of(pa.array([2, None, -1])).tolist() == [2**63 + 2, 2**63 - 1]
    True
    """
    numbers = column.drop_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        return numbers.view(np.uint64) ^ _SIGN
    numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    bits = numbers.view(np.uint64)
    return np.where(numbers < 0, ~bits, bits | _SIGN)


def key_of(number: int | float, column_type: ColumnType) -> int:
    """Return the key of a number in a column of some type; see :func:`keys_of`.

    Examples
    --------
    >>> key_of(1, INT) < key_of(2, INT)
    True
    """
    return int(keys_of(pa.array([number], column_type.physical))[0])


def number_of(key: int, column_type: ColumnType) -> int | float:
    """Return the number with some key; inverse of :func:`key_of`.

    Examples
    --------
    >>> number_of(key_of(-7, INT), INT)
    -7
    """
    if column_type.kind == INT_KIND:
        return key - (1 << 63)
    bits = key ^ (1 << 63) if key >> 63 else LARGEST_KEY - key
    return float(np.array([bits], np.uint64).view(np.float64)[0])


def shift_between(low: int, high: int) -> int:
    """Return by how many bits differences of keys must be shifted right, so that keys from ``low`` to ``high`` form at most ``RANGES`` ranges.

    Examples
    --------
    >>> shift_between(0, RANGES - 1), shift_between(0, RANGES)
    (0, 1)
    """
    return max(0, (high - low).bit_length() - (RANGES.bit_length() - 1))


def _chosen(column: pa.Array, parameters: Parameters) -> np.ndarray:
    """Return the keys from ``low`` to ``high``, both included, minus ``low``; parameters are ``low`` and ``high``."""
    low, high = map(np.uint64, parameters)
    keys = keys_of(column)
    return keys[(keys >= low) & (keys <= high)] - low


def _rank_counts(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return how many keys are in each range; parameters are the lowest and the highest key that are counted."""
    ranges = _chosen(arrays[0], parameters) >> np.uint64(shift_between(*parameters))
    return np.bincount(ranges.astype(np.int64), minlength=RANGES)


def _keys(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Return the keys in a range, minus the lowest key; parameters are the lowest and the highest key."""
    return _chosen(arrays[0], parameters)


def _joined(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    return np.concatenate([first, second])


def _keys_in_order(part: np.ndarray, types: Types, parameters: Parameters) -> list[int]:
    result: list[int] = np.sort(part).view(np.int64).tolist()
    return result


def _require_keys(types: Types, parameters: Parameters) -> None:
    require("a rank", types[0], (INT_KIND, FLOAT_KIND))
    if len(parameters) != 2 or not all(type(key) is int and 0 <= key <= LARGEST_KEY for key in parameters):
        raise UnsupportedOperationError(f"keys are two ints of 64 bits, not {parameters!r:.80}")


def _infer_rank_counts(types: Types, parameters: Parameters) -> ColumnType:
    _require_keys(types, parameters)
    return ARRAY


def _infer_keys(types: Types, parameters: Parameters) -> ColumnType:
    """Return the type of the result, a list of keys minus the lowest key; raise if these could exceed an int."""
    _require_keys(types, parameters)
    if parameters[1] - parameters[0] >= 1 << 63:
        raise UnsupportedOperationError("keys that are told lie within half of all")
    return list_of(INT)


define_aggregate("key_counts", _infer_rank_counts, parts=Decomposition(_rank_counts, added_counts, as_floats), order_sensitive=False)
define_aggregate("keys_between", _infer_keys, parts=Decomposition(_keys, _joined, _keys_in_order), order_sensitive=False)
