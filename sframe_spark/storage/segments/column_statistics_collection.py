"""Collects statistics of columns while rows are written (order, minimum and maximum, missing values and NaN), and merges those of several parts.

The order of a column follows from three facts: whether any value is smaller than the value before it (a descent), whether any is greater (an
ascent), and whether any is equal (a tie). When a descent and an ascent were found, the column has no order, and no more values are compared, so
that unordered columns take nearly no time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics, Scalar
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.types import ColumnType

# The first rows of a batch are compared first, since they nearly always show that a column is not ordered.
PREFIX_ROWS = 64
# Batches of at most this many numbers are compared at once, which takes no longer than slicing off the first rows.
FEW_NUMBERS = 4096
# Strings with more characters than this are not stored in manifests.
LONGEST_TEXT = 4096

_MISSING_RANK, _VALUE_RANK, _NAN_RANK = 0, 1, 2


def has_order_statistics(column_type: ColumnType) -> bool:
    """Return whether order, minimum and maximum are collected for a column type: for numbers, strings and datetimes (by their instants).

    Examples
    --------
    >>> from sframe_spark.types import ARRAY, INT
    >>> has_order_statistics(INT), has_order_statistics(ARRAY)
    (True, False)
    """
    return column_type.is_zoned or (
        not column_type.is_encoded and column_type.physical in (pa.int64(), pa.float64(), pa.string(), pa.timestamp("us"))
    )


def compare_scalars(left: Scalar, right: Scalar) -> int:
    """Return -1 if the left value is before the right one in the engine's order, 1 if it is after it, and 0 if they are equal.

    Examples
    --------
    >>> compare_scalars(None, -1.0), compare_scalars(float("inf"), float("nan")), compare_scalars(-0.0, 0.0)
    (-1, -1, 0)
    """
    ranks = _rank(left), _rank(right)
    if ranks != (_VALUE_RANK, _VALUE_RANK):
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
    return (left > right) - (left < right)  # type: ignore[operator]  # both are values of one column


def _rank(value: Scalar) -> int:
    if value is None:
        return _MISSING_RANK
    return _NAN_RANK if isinstance(value, float) and math.isnan(value) else _VALUE_RANK


class StatisticsCollector:
    """Collects the statistics of a column from its batches in row order.

    Parameters
    ----------
    column_type
        The type of the column.
    with_bounds
        Whether to find the minimum and the maximum; the writer of segments takes them from the footer of the file instead.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> collector = StatisticsCollector(INT)
    >>> collector.add(pa.array([1, 2]))
    >>> collector.add(pa.array([2, 5]))
    >>> facts = collector.result()
    >>> facts.ascending, facts.strictly_ascending, facts.first, facts.maximum
    (True, False, 1, 5)
    """

    def __init__(self, column_type: ColumnType, with_bounds: bool = True) -> None:
        self._tracked = has_order_statistics(column_type)
        self._is_float = column_type.physical == pa.float64()
        self._few_rows = PREFIX_ROWS if column_type.physical == pa.string() else FEW_NUMBERS
        self._with_bounds = with_bounds
        self._rows = 0
        self._descent = self._ascent = self._tie = False
        self._has_missing = self._has_nan = False
        self._first: Scalar = None
        self._last: Scalar = None
        self._minimum: Scalar = None
        self._maximum: Scalar = None

    def add(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Add the next values of the column."""
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else (array,):
            if len(chunk):
                self._add_chunk(chunk)

    def _add_chunk(self, chunk: pa.Array) -> None:
        self._has_missing = self._has_missing or chunk.null_count > 0
        if self._tracked:
            chunk = _as_compared(chunk)
            with_nan = self._is_float and _any_nan(chunk)
            self._has_nan = self._has_nan or with_nan
            self._add_order(chunk, with_nan)
            if self._with_bounds:
                self._add_bounds(chunk, with_nan)
        self._rows += len(chunk)

    def _add_order(self, chunk: pa.Array, with_nan: bool) -> None:
        first, last = chunk[0].as_py(), chunk[-1].as_py()
        if self._rows == 0:
            self._first = first
        else:
            self._note(compare_scalars(self._last, first))
        self._last = last
        for part in (chunk,) if len(chunk) <= self._few_rows else (chunk[:PREFIX_ROWS], chunk):
            if len(part) > 1 and not (self._descent and self._ascent):
                self._compare_neighbours(part, with_nan)

    def _note(self, comparison: int) -> None:
        self._ascent = self._ascent or comparison < 0
        self._tie = self._tie or comparison == 0
        self._descent = self._descent or comparison > 0

    def _compare_neighbours(self, chunk: pa.Array, with_nan: bool) -> None:
        neighbours = _Neighbours(chunk, with_nan)
        # If the column is strictly ordered so far, as long ordered columns usually are, one comparison suffices.
        if not self._tie and self._ascent != self._descent and neighbours.count("less" if self._ascent else "greater") == len(chunk) - 1:
            return
        self._descent = self._descent or neighbours.count("greater") > 0
        self._ascent = self._ascent or neighbours.count("less") > 0
        # Ties are of no interest in a column without an order.
        if not (self._tie or (self._descent and self._ascent)):
            self._tie = neighbours.count("equal") > 0

    def _add_bounds(self, chunk: pa.Array, with_nan: bool) -> None:
        if with_nan:
            chunk = chunk.filter(pc.invert(pc.is_nan(chunk)))
        bounds = pc.min_max(chunk).as_py()
        if bounds["min"] is not None:
            self._minimum = bounds["min"] if self._minimum is None else min(self._minimum, bounds["min"])
            self._maximum = bounds["max"] if self._maximum is None else max(self._maximum, bounds["max"])

    def result(self, bounds: tuple[Scalar, Scalar] | None = None) -> ColumnStatistics:
        """Return the statistics, without long strings; ``bounds`` are the minimum and the maximum, if they are known and were not collected."""
        if not self._tracked:
            return ColumnStatistics(has_missing=self._has_missing)
        if bounds is None and self._with_bounds:
            bounds = self._minimum, self._maximum
        if bounds is not None and (_too_long(bounds[0]) or _too_long(bounds[1])):
            bounds = None
        # Without the first and last values, the order of several segments is unknown, so the order of this one is of no use.
        return self._facts(not (_too_long(self._first) or _too_long(self._last)), bounds)

    def exact(self) -> ColumnStatistics:
        """Return the statistics, with strings of any length; the minimum and the maximum are included only if they were collected."""
        if not self._tracked:
            return ColumnStatistics(has_missing=self._has_missing)
        return self._facts(True, (self._minimum, self._maximum) if self._with_bounds else None)

    def _facts(self, with_order: bool, bounds: tuple[Scalar, Scalar] | None) -> ColumnStatistics:
        low, high = (None, None) if bounds is None else bounds
        if not with_order:
            return ColumnStatistics(has_missing=self._has_missing, has_nan=self._has_nan, bounds_known=bounds is not None, minimum=low, maximum=high)
        return ColumnStatistics(
            ascending=not self._descent,
            descending=not self._ascent,
            strictly_ascending=not (self._descent or self._tie),
            strictly_descending=not (self._ascent or self._tie),
            constant=not (self._descent or self._ascent),
            has_missing=self._has_missing,
            has_nan=self._has_nan,
            edges_known=True,
            first=self._first,
            last=self._last,
            bounds_known=bounds is not None,
            minimum=low,
            maximum=high,
        )


def _too_long(value: Scalar) -> bool:
    return isinstance(value, str) and len(value) > LONGEST_TEXT


def _any_nan(chunk: pa.Array) -> bool:
    """Return whether any value is NaN. Values are examined only if their sum is NaN, which may also be due to infinities of both signs."""
    total = pc.sum(chunk).as_py()
    return total is not None and math.isnan(total) and bool(pc.any(pc.is_nan(chunk)).as_py())


def _as_compared(chunk: pa.Array) -> pa.Array:
    """Return the values by which a column is ordered: for datetimes, their instants as integers."""
    chunk = pc.struct_field(chunk, "instant") if pa.types.is_struct(chunk.type) else chunk
    # The integers in which datetimes are stored have the same order, and are faster to compare.
    return chunk.view(pa.int64()) if pa.types.is_timestamp(chunk.type) else chunk


def steps(array: pa.Array, column_type: ColumnType) -> npt.NDArray[np.int8]:
    """Compare each value with the next one in the engine's order; return -1 if it is smaller, 0 if they are equal, and 1 if it is greater.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> steps(pa.array([None, 0.5, 0.5, float("nan"), 1.5]), FLOAT).tolist()
    [-1, 0, -1, 1]
    """
    values = _as_compared(array)
    neighbours = _Neighbours(values, column_type.physical == pa.float64() and _any_nan(values))
    return neighbours.holds("greater").astype(np.int8) - neighbours.holds("less").astype(np.int8)


class _Neighbours:
    """Compares each value of an array with the next one, in the engine's order.

    Comparisons have the names that they have in NumPy and pyarrow: ``less``, ``greater`` and ``equal``.
    """

    def __init__(self, chunk: pa.Array, with_nan: bool) -> None:
        self._ranks = _ranks(chunk, with_nan) if with_nan or chunk.null_count else None
        if self._ranks is not None:
            chunk = pc.fill_null(chunk, "" if pa.types.is_string(chunk.type) else 0)
        self._is_text = pa.types.is_string(chunk.type)
        values = chunk if self._is_text else chunk.to_numpy(zero_copy_only=False)
        self._before, self._after = values[:-1], values[1:]

    def count(self, comparison: str) -> int:
        """Return the number of pairs of neighbours for which a comparison is true."""
        if self._ranks is None and self._is_text:
            return int(getattr(pc, comparison)(self._before, self._after).true_count)
        return int(np.count_nonzero(self.holds(comparison)))

    def holds(self, comparison: str) -> npt.NDArray[np.bool_]:
        """Return for each pair of neighbours whether a comparison is true."""
        compare = getattr(np, comparison)
        if self._is_text:
            result = getattr(pc, comparison)(self._before, self._after).to_numpy(zero_copy_only=False)
        else:
            result = compare(self._before, self._after)
        if self._ranks is None:
            return np.asarray(result)
        # Pairs with missing values or NaN compare by rank.
        before, after = self._ranks[:-1], self._ranks[1:]
        are_values = (before == _VALUE_RANK) & (after == _VALUE_RANK)
        return np.where(are_values, result, compare(before, after))


def _ranks(chunk: pa.Array, with_nan: bool) -> npt.NDArray[np.int8]:
    valid = chunk.is_valid().to_numpy(zero_copy_only=False)
    ranks = np.where(valid, np.int8(_VALUE_RANK), np.int8(_MISSING_RANK))
    if with_nan:
        nan = pc.fill_null(pc.is_nan(chunk), False).to_numpy(zero_copy_only=False)
        ranks[nan] = _NAN_RANK
    return ranks


def column_statistics(array: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> ColumnStatistics:
    """Return the statistics of a column, given as an array.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> facts = column_statistics(pa.array([None, -0.0, 0.0, 2.5, float("nan")]), FLOAT)
    >>> facts.ascending, facts.strictly_ascending, facts.has_missing, facts.has_nan, facts.maximum
    (True, False, True, True, 2.5)
    """
    collector = StatisticsCollector(column_type)
    collector.add(array)
    return collector.result()


def merge(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Return the statistics of a column from those of its consecutive, non-empty parts.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> low, high = (column_statistics(pa.array(values), INT) for values in ([1, 2], [2, 3]))
    >>> merge([low, high]).ascending, merge([high, low]).ascending
    (True, False)
    """
    if not parts:
        return UNKNOWN_STATISTICS
    steps = [compare_scalars(left.last, right.first) if left.edges_known and right.edges_known else None for left, right in itertools.pairwise(parts)]
    edges_known = parts[0].edges_known and parts[-1].edges_known
    bounds_known = all(part.bounds_known for part in parts)
    minima = [part.minimum for part in parts if part.minimum is not None] if bounds_known else []
    maxima = [part.maximum for part in parts if part.maximum is not None] if bounds_known else []
    return ColumnStatistics(
        ascending=_all([part.ascending for part in parts], steps, (-1, 0)),
        descending=_all([part.descending for part in parts], steps, (0, 1)),
        strictly_ascending=_all([part.strictly_ascending for part in parts], steps, (-1,)),
        strictly_descending=_all([part.strictly_descending for part in parts], steps, (1,)),
        constant=_all([part.constant for part in parts], steps, (0,)),
        has_missing=_any([part.has_missing for part in parts]),
        has_nan=_any([part.has_nan for part in parts]),
        edges_known=edges_known,
        first=parts[0].first if edges_known else None,
        last=parts[-1].last if edges_known else None,
        bounds_known=bounds_known,
        minimum=min(minima, default=None),
        maximum=max(maxima, default=None),
    )


def of_some_rows(facts: ColumnStatistics) -> ColumnStatistics:
    """Return the statistics that are also true for any subset of the rows in the same order.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> some = of_some_rows(column_statistics(pa.array([1, 2, None]), INT))
    >>> some.ascending, some.has_nan, some.has_missing, some.bounds_known
    (None, False, None, False)
    """
    return ColumnStatistics(
        ascending=facts.ascending or None,
        descending=facts.descending or None,
        strictly_ascending=facts.strictly_ascending or None,
        strictly_descending=facts.strictly_descending or None,
        constant=facts.constant or None,
        has_missing=None if facts.has_missing else facts.has_missing,
        has_nan=None if facts.has_nan else facts.has_nan,
    )


def dataset_statistics(manifest: Manifest) -> tuple[ColumnStatistics, ...]:
    """Return the statistics of each column over all rows of a dataset."""
    if manifest.stored is not None:
        return manifest.stored.summary
    segments = [entry.columns for entry in manifest.segments if entry.rows]
    if not all(len(columns) == len(manifest.types) for columns in segments):
        return (UNKNOWN_STATISTICS,) * len(manifest.types)
    return tuple(merge([columns[position] for columns in segments]) for position in range(len(manifest.types)))


def _all(facts: Iterable[bool | None], steps: Iterable[int | None], allowed: tuple[int, ...]) -> bool | None:
    """Return whether a fact is true for all parts, and for the steps between them, which must be among ``allowed``; None if unknown."""
    all_facts = [*facts, *(None if step is None else step in allowed for step in steps)]
    return False if False in all_facts else None if None in all_facts else True


def _any(facts: Sequence[bool | None]) -> bool | None:
    return True if any(facts) else None if None in facts else False
