"""Partition numbers of rows: by ranges of a column's values, with about equally many rows in each range, or by a hash of the key columns."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.int_membership import SPREAD
from sframe_spark.compute.sorting_and_searching import MISSING
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_equality_and_codes import comparable, comparable_values
    from sframe_spark.compute.key_runs import plain_numbers
    from sframe_spark.compute.sorting_and_searching import value_ranks
    from sframe_spark.compute.string_hashing import text_hashes

KINDS = (INT_KIND, FLOAT_KIND, STR_KIND, DATETIME_KIND)


@attrs.frozen(eq=False)
class RangePartitioner:
    """A split of a column's values into ranges; equal values are in the same range.

    Parameters
    ----------
    column_type
        Type of the values, one of :data:`KINDS`.
    ascending
        Whether the first range has the smallest values; missing values count as the smallest.
    edges
        The smallest values of all ranges but the lowest one, ascending and distinct: numbers or strings.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> ranges = RangePartitioner.of(pa.array([5, 1, 9, 3]), INT, True, 2)
    >>> ranges.range_numbers(pa.array([9, None, 1, 5, 4])).tolist()
    [1, 0, 0, 1, 0]
    """

    column_type: ColumnType
    ascending: bool
    edges: pa.Array

    @classmethod
    def of(cls, sample: pa.Array, column_type: ColumnType, ascending: bool, count: int) -> RangePartitioner:
        """Choose at most ``count`` ranges that hold about equally many values of a sample.

        A value that occurs more often in the sample than a range should hold gets a range of its own.
        """
        values = comparable(sample, column_type)
        missing, values = values.null_count, values.drop_null()
        if pa.types.is_string(values.type):
            ordered = values.take(pc.array_sort_indices(values))
        else:
            numbers = np.sort(plain_numbers(values))
            # NaN cannot be an edge: it is larger than all numbers, in the highest range.
            ordered = pa.array(numbers[numbers == numbers])
        positions = np.arange(1, count) * (missing + len(ordered)) // count - missing
        result = ordered.take(pa.array(positions[(positions >= 0) & (positions < len(ordered))]))
        # A value that was chosen as an edge more than once gets its successor as a further edge, and if an edge fell among the missing values, the
        # smallest value becomes an edge. So that value, and missing values, have ranges of their own.
        often = result[1:].filter(pc.equal(result[1:], result[:-1]))
        edges = pa.concat_arrays([smallest_value(result.type)[: int((positions < 0).any())], result, followers(often)]).unique()
        return cls(column_type, ascending, edges.take(pc.array_sort_indices(edges)))

    @property
    def count(self) -> int:
        """The number of ranges."""
        return len(self.edges) + 1

    @property
    def have_one_value(self) -> np.ndarray:
        """For each range, whether all values that it can hold are equal, or are missing.

        Examples
        --------
        >>> from sframe_spark.types import INT
        >>> RangePartitioner.of(pa.array([1, 2, 7, 7, 7, 7, 7, 9]), INT, True, 4).have_one_value.tolist()
        [False, True, False]
        """
        if not len(self.edges):
            return np.zeros(1, dtype=bool)
        edges, after = self.edges, followers(self.edges)
        between = pc.equal(after[:-1], edges[1:]).to_numpy(zero_copy_only=False)
        # The highest range has one value only if its edge is the largest int; for floats it also has NaN, which is larger than infinity.
        last = pa.types.is_integer(edges.type) and after[-1] == edges[-1]
        result = np.concatenate([[edges[0] == smallest_value(edges.type)[0]], between, [last]]).astype(bool)
        return result if self.ascending else result[::-1]

    def range_numbers(self, column: pa.Array) -> np.ndarray:
        """Return for each value of a column the number of its range, counting from zero."""
        values = comparable(column, self.column_type)
        if pa.types.is_string(values.type):
            encoded = values.dictionary_encode()
            # The last entry is for missing strings.
            of_codes = np.append(text_ranges(self.edges, encoded.dictionary), 0)
            result = of_codes[encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)]
        else:
            result = np.searchsorted(self.edges.to_numpy(), plain_numbers(values), side="right")
            result = np.where(value_ranks(values) == MISSING, 0, result) if values.null_count else result
        return result if self.ascending else self.count - 1 - result


@attrs.frozen(eq=False)
class RowRangePartitioner:
    """A range partitioning of rows by one column.

    Parameters
    ----------
    position
        Position of the column.
    ranges
        The ranges of the column's values.
    """

    position: int
    ranges: RangePartitioner

    @property
    def count(self) -> int:
        """The number of ranges."""
        return self.ranges.count

    def partition_numbers(self, rows: Chunk) -> np.ndarray:
        """Return for each row the number of its range, counting from zero."""
        return self.ranges.range_numbers(rows.columns[self.position])


def smallest_value(kind: pa.DataType) -> pa.Array:
    """Return an array of one value, the smallest of its type."""
    return pa.array([""] if pa.types.is_string(kind) else [-np.inf] if pa.types.is_floating(kind) else [np.iinfo(np.int64).min], kind)


def followers(values: pa.Array) -> pa.Array:
    """Return for each value the next larger value of its type; the largest int and infinity are unchanged.

    Examples
    --------
    >>> followers(pa.array([1, 2**63 - 1])).to_pylist(), followers(pa.array(["a"])).to_pylist(), followers(pa.array([0.0])).to_pylist()
    ([2, 9223372036854775807], ['a\\x00'], [5e-324])
    """
    if pa.types.is_string(values.type):
        return pc.binary_join_element_wise(values, "\0", "")
    numbers = values.to_numpy(zero_copy_only=False)
    return pa.array(np.nextafter(numbers, np.inf) if numbers.dtype.kind == "f" else numbers + (numbers < np.iinfo(np.int64).max))


def text_ranges(edges: pa.StringArray, texts: pa.StringArray) -> np.ndarray:
    """Return for each string how many of the ascending edges are less than or equal to it, by binary search; no string may be missing.

    Examples
    --------
    >>> text_ranges(pa.array(["b", "d"]), pa.array(["a", "b", "c", "e"])).tolist()
    [0, 1, 1, 2]
    """
    low, high = np.zeros(len(texts), dtype=np.int64), np.full(len(texts), len(edges), dtype=np.int64)
    for _ in range(len(edges).bit_length()):
        middle = (low + high) // 2
        # Searches that have ended must not change any more.
        is_open = low < high
        edge = edges.take(pa.array(np.minimum(middle, len(edges) - 1)))
        beyond = pc.less_equal(edge, texts).to_numpy(zero_copy_only=False)
        low, high = np.where(is_open & beyond, middle + 1, low), np.where(is_open & ~beyond, middle, high)
    return low


HALF_WORD = np.uint64(32)
# Steps between the keys of a table are often multiples of the primes below this one.
FEWEST_REMAINDERS = 11


@attrs.frozen
class HashPartitioner:
    """Partitions rows by a hash of their keys; keys are equal by the rule of *values* in :mod:`~sframe_spark.compute.key_equality_and_codes`.

    Parameters
    ----------
    positions
        Positions of the key columns.
    types
        Types of the key columns.
    count
        Number of partitions.
    by_remainder
        Whether rows with one int key are partitioned by its remainder.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> positions = HashPartitioner((0,), (INT,), 16).partition_numbers(Chunk.of([pa.array([5, None, 7, None, 5])]))
    >>> bool(positions[0] == positions[4]), bool(positions[1] == positions[3]), bool(positions.max() < 16)
    (True, True, True)
    """

    positions: tuple[int, ...]
    types: Schema
    count: int
    by_remainder: bool = False

    @classmethod
    def for_matching(cls, positions: tuple[int, ...], types: Schema, count: int) -> HashPartitioner:
        """Return a partitioner into at least ``count`` partitions, in which consecutive int keys are at even steps, so that they need no hashing.

        The number of partitions is prime: keys are rarely multiples of it, which would all be in one partition.

        Examples
        --------
        >>> from sframe_spark.types import INT, STR
        >>> partitioner = HashPartitioner.for_matching((0,), (INT,), 12)
        >>> partitioner.count, partitioner.partition_numbers(Chunk.of([pa.array([13, -1, None, 40])])).tolist()
        (13, [0, 12, 0, 1])
        >>> HashPartitioner.for_matching((0,), (STR,), 12).count
        12
        """
        if [column_type.kind for column_type in types] != [INT_KIND]:
            return cls(positions, types, count)
        prime = max(count, FEWEST_REMAINDERS)
        while any(prime % divisor == 0 for divisor in range(2, math.isqrt(prime) + 1)):
            prime += 1
        return cls(positions, types, prime, by_remainder=True)

    def partition_numbers(self, rows: Chunk) -> np.ndarray:
        """Return the partition number of each row."""
        if self.by_remainder:
            (column,) = comparable_values(rows.columns[self.positions[0]], self.types[0])
            return (column.fill_null(0) if column.null_count else column).to_numpy() % self.count
        result = np.zeros(rows.rows, np.uint64)
        for position, column_type in zip(self.positions, self.types, strict=True):
            for values in comparable_values(rows.columns[position], column_type):
                result ^= words_of(values)
                # Only the upper half of a product depends on all bits, so it is XORed into the lower half.
                result *= SPREAD
                result ^= result >> HALF_WORD
                result *= SPREAD
        return ((result >> HALF_WORD) * np.uint64(self.count) >> HALF_WORD).view(np.int64)


def words_of(values: pa.Array) -> np.ndarray:
    """Return a 64-bit int for each value of an array of :func:`comparable_values`, the same for equal values.

    Missing values have the same int as zero or the empty string.
    """
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.uint64)
    if pa.types.is_string(kind):
        return text_hashes(values.fill_null("") if values.null_count else values)
    numbers = values.view(pa.int64()) if pa.types.is_timestamp(kind) else values if pa.types.is_floating(kind) else values.cast(pa.int64())
    return (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy(zero_copy_only=False).view(np.uint64)
