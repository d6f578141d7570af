"""A summary of a column in one pass: moments, an estimate of how many values differ, how often each occurs while they are few, and frequent ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.exact_sum import Moments
from sframe_spark.compute.key_encoding import one_float
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition, floats
from sframe_spark.expressions.functions.base import evaluate
from sframe_spark.types import DATETIME, DATETIME_KIND, ENCODED_DICT, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType
from sframe_spark.values.decode import decode

# Values of which each is counted, and their bytes.
MOST_VALUES, MOST_BYTES = 1 << 16, 8 << 20
# Of more values the frequent ones are kept: each that is in more than one of so many rows is among them.
FREQUENT_SHARE = 1 << 12
# Registers of the estimate: its standard error is 1.04 / sqrt(2 ** 14), 0.8%.
REGISTER_BITS = 14
_KINDS = (INT_KIND, FLOAT_KIND, STR_KIND, DATETIME_KIND)


@attrs.frozen(eq=False)
class ColumnSummary:
    """What a run of rows tells.

    Parameters
    ----------
    rows, missing
        Numbers of rows, and of those without a value.
    moments
        Of numbers that are not NaN.
    least, largest
        Of these numbers; infinite where there are none.
    registers
        Of the estimate of how many values differ, NaN apart: for each, the most leading zeros of a hash, and one.
    values, counts
        Different values, NaN apart, and how often each occurs at least.
    error
        How much more often a value may occur than is counted, where it is not among them at all too: zero while they are few.
    """

    rows: int
    missing: int
    moments: Moments
    least: float
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
    found = counted.field("values")
    kept = _few_or_frequent(found, counted.field("counts"), 0)
    return ColumnSummary(rows, arrays[0].null_count, *_numbers(values, types[0]), _registers(found, types[0]), *kept)


def _numbers(values: pa.Array, column_type: ColumnType) -> tuple[Moments, float, float]:
    numbers = floats(values) if column_type.is_numeric else np.empty(0)
    return Moments.of(numbers), float(numbers.min(initial=math.inf)), float(numbers.max(initial=-math.inf))


def _registers(values: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Source: Flajolet, Fusy, Gandouet and Meunier (2007), "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm"."""
    registers = np.zeros(1 << REGISTER_BITS, dtype=np.uint8)
    if len(values):
        words = evaluate("hash", [values], [column_type], (), len(values))[0].to_numpy(zero_copy_only=False).view(np.uint64)
        rest = (words << np.uint64(REGISTER_BITS)) | np.uint64((1 << REGISTER_BITS) - 1)
        # The exponent of a float is the place of its highest bit; rounding up may add one where all bits are set, once in 2 ** 53.
        highest = np.frexp(rest.astype(np.float64))[1]
        np.maximum.at(registers, (words >> np.uint64(64 - REGISTER_BITS)).astype(np.int64), np.minimum(65 - highest, 64).astype(np.uint8))
    return registers


def _merged(first: ColumnSummary, second: ColumnSummary, types: Sequence[ColumnType]) -> ColumnSummary:
    registers = np.maximum(first.registers, second.registers)
    moments = first.moments.merged(second.moments)
    least, largest = min(first.least, second.least), max(first.largest, second.largest)
    rows, missing = first.rows + second.rows, first.missing + second.missing
    return ColumnSummary(rows, missing, moments, least, largest, registers, *_merged_counts(first, second))


def _merged_counts(first: ColumnSummary, second: ColumnSummary) -> tuple[pa.Array, pa.Array, int]:
    # In the order in which values come first. Arrow's own grouping takes ten times as long where floats have few digits, whose hashes are alike.
    encoded = pa.concat_arrays([first.values, second.values]).dictionary_encode()
    both = np.concatenate([first.counts.to_numpy(), second.counts.to_numpy()])
    counts = np.bincount(encoded.indices.to_numpy(), weights=both, minlength=len(encoded.dictionary)).astype(np.int64)
    return _few_or_frequent(encoded.dictionary, pa.array(counts), first.error + second.error)


def _few_or_frequent(values: pa.Array, counts: pa.Array, error: int) -> tuple[pa.Array, pa.Array, int]:
    """All values while they are few; of more, as many as make sure that none in more than one of ``FREQUENT_SHARE`` rows is lost.

    What is taken off one count is taken off more than ``FREQUENT_SHARE`` others too: in the end it is less than that share of the rows.

    Source: Agarwal, Cormode, Huang, Phillips, Wei, Yi, "Mergeable summaries" (2012).
    """
    if not error and len(values) <= MOST_VALUES and values.nbytes <= MOST_BYTES:
        return values, counts, 0
    numbers = counts.to_numpy(zero_copy_only=False)
    taken_off = 0
    if len(numbers) > FREQUENT_SHARE:
        taken_off = int(np.partition(numbers, len(numbers) - FREQUENT_SHARE - 1)[len(numbers) - FREQUENT_SHARE - 1])
    values, numbers = values.filter(pa.array(numbers > taken_off)), numbers[numbers > taken_off] - taken_off
    while values.nbytes > MOST_BYTES:
        # Long texts: fewer are kept, and the error tells it.
        less = int(np.median(numbers))
        values, numbers, taken_off = values.filter(pa.array(numbers > less)), numbers[numbers > less] - less, taken_off + less
    return values, pa.array(numbers), error + taken_off


def estimated(registers: np.ndarray) -> int:
    """How many values differ, from the registers of their hashes.

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
        "numbers": part.moments.count,
        "min": part.least,
        "max": part.largest,
        "sum": part.moments.total.value,
        "mean": part.moments.mean,
        "squares": part.moments.squares,
        "distinct": estimated(part.registers) if part.error else len(part.values),
        "counted": None if part.error else counted,
        "frequent": counted if part.error else None,
        "error": part.error,
    }


def _infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """A dict of all that is told; NaN takes no part in it, but as a row."""
    require("a summary", types[0], _KINDS)
    if types[0].kind == DATETIME_KIND and types[0] != DATETIME:
        require("a summary of date-times", types[0], ())
    return ENCODED_DICT


define_aggregate("summary", _infer, parts=Decomposition(_part, _merged, _as_dict), order_sensitive=False)
