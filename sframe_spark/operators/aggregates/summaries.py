"""A summary of a column in one pass: moments, an estimate of how many values differ, and how often each occurs while they are few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.aggregates.decompositions import Decomposition, floats
from sframe_spark.operators.aggregates.support import define_aggregate, require
from sframe_spark.operators.functions.base import evaluate
from sframe_spark.operators.kernels.equal_keys import one_float
from sframe_spark.operators.kernels.moments import Moments
from sframe_spark.types import DATETIME, DATETIME_KIND, ENCODED_DICT, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType
from sframe_spark.values.decode import decode

# Values of which each is counted, and their bytes.
MOST_VALUES, MOST_BYTES = 1 << 16, 8 << 20
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
        Different values, NaN apart, and how often each occurs; None where they are too many.
    """

    rows: int
    missing: int
    moments: Moments
    least: float
    largest: float
    registers: np.ndarray
    values: pa.Array | None
    counts: pa.Array | None


def _part(arrays: Sequence[pa.Array], rows: int, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnSummary:
    values = arrays[0].drop_null()
    if types[0].kind == FLOAT_KIND:
        values = one_float(values.filter(pc.invert(pc.is_nan(values))))
    counted = pc.value_counts(values)
    found, counts = counted.field("values"), counted.field("counts")
    few = found.nbytes <= MOST_BYTES and len(found) <= MOST_VALUES
    return ColumnSummary(
        rows, arrays[0].null_count, *_numbers(values, types[0]), _registers(found, types[0]), *((found, counts) if few else (None, None))
    )


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
    values, counts = _merged_counts(first, second)
    registers = np.maximum(first.registers, second.registers)
    moments = first.moments.merged(second.moments)
    least, largest = min(first.least, second.least), max(first.largest, second.largest)
    return ColumnSummary(first.rows + second.rows, first.missing + second.missing, moments, least, largest, registers, values, counts)


def _merged_counts(first: ColumnSummary, second: ColumnSummary) -> tuple[pa.Array | None, pa.Array | None]:
    if first.values is None or second.values is None or first.counts is None or second.counts is None:
        return None, None
    # Arrow's own grouping takes ten times as long where floats have few digits, whose hashes are alike.
    encoded = pa.concat_arrays([first.values, second.values]).dictionary_encode()
    both = np.concatenate([first.counts.to_numpy(), second.counts.to_numpy()])
    values, counts = encoded.dictionary, pa.array(np.bincount(encoded.indices.to_numpy(), weights=both).astype(np.int64))
    return (values, counts) if values.nbytes <= MOST_BYTES and len(values) <= MOST_VALUES else (None, None)


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
    return {
        "rows": part.rows,
        "missing": part.missing,
        "numbers": part.moments.count,
        "min": part.least,
        "max": part.largest,
        "mean": part.moments.mean,
        "squares": part.moments.squares,
        "distinct": estimated(part.registers) if part.values is None or part.counts is None else len(part.values),
        "counted": None
        if part.values is None or part.counts is None
        else dict(zip(decode(part.values, types[0]), part.counts.to_pylist(), strict=True)),
    }


def _infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """A dict of all that is told; NaN takes no part in it, but as a row."""
    require("a summary", types[0], _KINDS)
    if types[0].kind == DATETIME_KIND and types[0] != DATETIME:
        require("a summary of date-times", types[0], ())
    return ENCODED_DICT


define_aggregate("summary", _infer, parts=Decomposition(_part, _merged, _as_dict), order_sensitive=False)
