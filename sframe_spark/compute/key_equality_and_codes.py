"""Defines when keys are equal, for every operation that matches rows by their values, and encodes keys as ints.

Missing equals missing, NaN equals NaN whatever its bits, -0.0 equals 0.0, strings are equal character by character, lists and dicts are equal if
their contents are. Date-times with an offset from UTC follow one of two rules:

* *instants* (``==``, sort, and all ordered operations): date-times at the same instant are equal, whatever their offsets;
* *values* (group-by, unique, join, ``filter_by`` and the aggregates of distinct values, as in SFrame): the offset
  counts too.

``docs/decisions/001-equal-keys.md`` lists the operations.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import FLOAT_KIND, STR, ColumnType

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.values.column_cast import canonical_text

if TYPE_CHECKING:
    from pyspark.sql import Column


NAN_TOKEN = ("nan",)
# Ints are encoded with a lookup table instead of hashing if largest - smallest is at most MAX_SPAN + MAX_SPREAD * rows.
MAX_SPAN, MAX_SPREAD = 1 << 12, 4


def comparable(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return an array in which two entries have the same bits exactly if their keys are equal by the rule of *instants*.

    Lists, dicts, arrays and images become strings that are the same for equal values; -0.0 becomes 0.0, and all NaN become the same NaN.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> comparable(pa.array([-0.0, None]), FLOAT)[0].as_py()
    0.0
    """
    if column_type.is_zoned:
        return pc.struct_field(column, "instant")
    if column_type.is_compared_as_text:
        return canonical_text(column, column_type)
    return one_float(column) if column_type.kind == FLOAT_KIND else column


def comparable_values(column: pa.Array, column_type: ColumnType) -> list[pa.Array]:
    """Return arrays in which two rows have the same entries exactly if their keys are equal by the rule of *values*.

    For datetimes with an offset these are the instant and the offset; otherwise one array, see :func:`comparable`.
    """
    first = comparable(column, column_type)
    return [first, pc.struct_field(column, "offset")] if column_type.is_zoned else [first]


def one_float(column: pa.Array) -> pa.Array:
    """Return the floats with -0.0 replaced by 0.0, and every NaN replaced by the same NaN."""
    column = pc.add(column, 0.0)
    strange = pc.is_nan(column)
    return if_else(strange, np.nan, column) if pc.any(strange).as_py() else column


def comparable_column(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column that does the same as :func:`comparable`, except for floats, which Spark itself compares by the same rule."""
    from sframe_spark.compute.spark_columns import fit, spark_type
    from sframe_spark.session.spark_versions import arrow_function

    if column_type.is_zoned:
        return column["instant"]
    if not column_type.is_compared_as_text:
        return column

    def text(values: pa.Array) -> pa.Array:
        return comparable(fit(values, column_type.physical), column_type)

    return arrow_function(text, spark_type(STR))(column)


def codes_of(arrays: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """Return an int code for each row; two rows have the same code exactly if they are equal in all arrays. Codes are consecutive from zero.

    Examples
    --------
    >>> codes_of([pa.array(["a", None, "a"]), pa.array([1, 2, 1])]).tolist()
    [0, 1, 0]
    """
    codes = [encoded(array)[0] for array in arrays]
    result = codes[0]
    for other in codes[1:]:
        # Codes are made consecutive again after each column, so that the product cannot overflow.
        result = np.unique(result * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1]
    return result


def key_codes(columns: Sequence[pa.Array], types: Sequence[ColumnType]) -> npt.NDArray[np.int64]:
    """Return an int code for each row of key columns; two rows have the same code exactly if their keys are equal by the rule of *values*.

    Codes are consecutive from zero. They hold for these rows only: for the keys of two inputs, give one column of the keys of both.

    Parameters
    ----------
    columns, types
        One or more key columns of equal length, and their types.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> key_codes([pa.array([0.0, float("nan"), None, -0.0, float("nan")])], [FLOAT]).tolist()
    [0, 1, 2, 0, 1]
    """
    return codes_of([array for column, column_type in zip(columns, types, strict=True) for array in comparable_values(column, column_type)])


def encoded(array: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Dictionary-encode an array: the index of each row's value among the distinct values (a missing value counts as one), and the distinct values.

    Examples
    --------
    >>> [part.tolist() for part in encoded(pa.array([7, None, 5, 7]))]
    [[1, 2, 0, 1], [5, 7, None]]
    """
    if pa.types.is_int64(array.type) and array.null_count < len(array):
        limits = pc.min_max(array).as_py()
        if limits["max"] - limits["min"] <= MAX_SPAN + MAX_SPREAD * len(array):
            return _encoded_near(array, limits["min"], limits["max"] - limits["min"] + 1)
    result = array.dictionary_encode("encode")
    return result.indices.to_numpy(zero_copy_only=False).astype(np.int64), result.dictionary


def _encoded_near(array: pa.Array, smallest: int, count: int) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Dictionary-encode ints between ``smallest`` and ``smallest + count - 1`` by a lookup table, without hashing."""
    numbers = (array.fill_null(smallest) if array.null_count else array).to_numpy(zero_copy_only=False) - smallest
    if array.null_count:
        # Missing values get the last entry of the table.
        numbers[array.is_null().to_numpy(zero_copy_only=False)] = count
    present = np.zeros(count + 1, dtype=bool)
    present[numbers] = True
    values = np.flatnonzero(present)
    codes = (np.cumsum(present) - 1)[numbers]
    if array.null_count:
        return codes, pa.array(np.append(values[:-1] + smallest, 0), mask=values == count)
    return codes, pa.array(values + smallest)


def tokens_of(arrays: Sequence[pa.Array]) -> list[Hashable]:
    """Return a hashable for each row, which is equal for rows that are equal in all arrays.

    Unlike codes, these can be compared between batches.

    Examples
    --------
    >>> tokens_of([pa.array([float("nan"), None])]) == tokens_of([pa.array([-float("nan"), None])])
    True
    """
    columns = [_tokens(array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array) for array in arrays]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _tokens(array: pa.Array) -> list[Hashable]:
    if pa.types.is_int64(array.type) and not array.null_count:
        # NumPy converts to Python ints many times faster than Arrow.
        numbers: list[Hashable] = array.to_numpy().tolist()
        return numbers
    return list(map(token, array.to_pylist()))


def token(value: Any) -> Hashable:
    """Return the value itself, or :data:`NAN_TOKEN` for NaN, which does not equal itself."""
    return NAN_TOKEN if value != value else value


# Codes for the keys of both sides of a join: the shorter side is hashed (build side), the longer one is probed.


def matched_codes(left: Sequence[pa.Array], right: Sequence[pa.Array]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a code for the key of each left row and of each right row, and a number that all codes are less than; equal keys have equal codes.

    Codes are made for the keys of the shorter side; rows of the longer side whose key the shorter side does not have get -1, or a code that
    no row of the shorter side has.

    Parameters
    ----------
    left, right
        One array per key column, as given by :func:`~sframe_spark.compute.key_equality_and_codes.comparable_values`.

    Examples
    --------
    >>> of_left, of_right, count = matched_codes([pa.array(["a", "b"]), pa.array([1, 2])], [pa.array(["b", "b", None]), pa.array([2, 1, 2])])
    >>> of_left.tolist(), of_right.tolist(), count
    ([0, 3], [3, 2, -1], 4)
    """
    if len(right[0]) < len(left[0]):
        of_right, of_left, count = matched_codes(right, left)
        return of_left, of_right, count
    shorter, longer, count = _matched_columns(left[0], right[0])
    for first, second in zip(left[1:], right[1:], strict=True):
        shorter_codes, longer_codes, more = _matched_columns(first, second)
        # Codes are made few again after each column, so that the product cannot overflow.
        pairs = np.where((longer < 0) | (longer_codes < 0), -1, longer.astype(np.int64) * more + longer_codes)
        shorter, longer, count = _matched_columns(pa.array(shorter.astype(np.int64) * more + shorter_codes), pa.array(pairs))
    return shorter, longer, count


def _matched_columns(shorter: pa.Array, longer: pa.Array) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the codes of one key column, as :func:`matched_codes` does."""
    if shorter.type != longer.type:
        # One side has more bytes of strings than 32-bit offsets can address.
        shorter, longer = shorter.cast(pa.large_string()), longer.cast(pa.large_string())
    if pa.types.is_int64(shorter.type) and not shorter.null_count:
        steps = EvenSteps.among(shorter.to_numpy())
        if steps is not None:
            return steps.numbers(shorter), steps.numbers(longer), steps.count
    codes, keys = encoded(shorter)
    result = pc.index_in(longer, value_set=keys)
    # These stay 32-bit ints: 64-bit codes of many rows would need newly mapped memory.
    return codes, (result.fill_null(-1) if result.null_count else result).to_numpy(), len(keys)


# Numbers computed at a time, so that intermediate arrays stay in a core's cache.
NUMBERS_PER_STEP = 1 << 14
# Differences that tell what step ints may have.
DIFFERENCES_SAMPLED = 64


@attrs.frozen
class EvenSteps:
    """The ints ``low``, ``low + step``, ``low + 2 * step``, ..., of which there are ``count``: the position of an int among them needs no hashing.

    Keys of a hash partition are often such ints, as those of many tables are consecutive numbers.
    """

    low: int
    step: int
    count: int

    @classmethod
    def among(cls, numbers: np.ndarray) -> EvenSteps | None:
        """Return steps that have all of some ints; None if they would be too many for a table.

        Examples
        --------
        >>> EvenSteps.among(np.array([-5, 86395, 172795, -5])), EvenSteps.among(np.array([0, 2**62]))
        (EvenSteps(low=-5, step=86400, count=3), EvenSteps(low=0, step=4611686018427387904, count=2))
        """
        if not len(numbers):
            return None
        low, high, most = int(numbers.min()), int(numbers.max()), MAX_SPAN + MAX_SPREAD * len(numbers)
        if high - low < most:
            return cls(low, 1, high - low + 1)
        sample = numbers[:: max(1, len(numbers) // DIFFERENCES_SAMPLED)].tolist()
        step = math.gcd(*(number - low for number in sample), high - low)
        result = cls(low, step, (high - low) // step + 1)
        return result if result.count <= most and (result.numbers(pa.array(numbers)) >= 0).all() else None

    def numbers(self, column: pa.Array) -> np.ndarray:
        """Return the position of each int among the steps, counting from zero; -1 for other ints, and where there is none.

        Examples
        --------
        >>> EvenSteps(10, 5, 3).numbers(pa.array([20, 11, None, 5, 25, -(2**63), 10])).tolist()
        [2, -1, -1, -1, -1, -1, 0]
        """
        ints = (column.fill_null(self.low) if column.null_count else column).to_numpy().view(np.uint64)
        result, low = new_array(len(ints), np.int32), np.uint64(self.low % (1 << 64))
        for start in range(0, len(ints), NUMBERS_PER_STEP):
            # Differences of 64-bit ints may wrap around, and are still different ints.
            distances = ints[start : start + NUMBERS_PER_STEP] - low
            steps = distances // np.uint64(self.step) if self.step > 1 else distances
            is_step = steps < self.count
            if self.step > 1:
                is_step &= steps * np.uint64(self.step) == distances
            result[start : start + NUMBERS_PER_STEP] = np.where(is_step, steps.astype(np.int32), -1)
        if column.null_count:
            result[column.is_null().to_numpy(zero_copy_only=False)] = -1
        return result
