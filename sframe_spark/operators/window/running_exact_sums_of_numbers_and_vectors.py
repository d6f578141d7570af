"""Running aggregates by group that are computed from exact sums: sum, mean, variance and standard deviation of numbers, and sum and mean of vectors.

States are exact sums, so results do not depend on batch boundaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import Sums, joined_sums, running_sums
from sframe_spark.compute.key_runs import ranges
from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.operators.window.running_collecting_aggregates import batches_by_size, widened_with
from sframe_spark.operators.window.segmented_scan import RowGroups, numbers, valid
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY

# Special vector lengths: of groups without vectors, and of groups with vectors of different lengths.
UNKNOWN, RAGGED = -1, -2
# How many numbers are summed at a time.
NUMBERS_PER_STEP = 1 << 20


@attrs.frozen(eq=False)
class VectorSums:
    """Elementwise sums of the vectors of some groups.

    Parameters
    ----------
    widths
        Vector length of each group, or ``UNKNOWN`` or ``RAGGED``.
    sums
        The sum at each vector position, group by group; no entries for groups without a length.
    """

    widths: np.ndarray
    sums: Sums

    @property
    def lengths(self) -> np.ndarray:
        """Number of vector positions of each group."""
        return np.maximum(self.widths, 0)

    @property
    def starts(self) -> np.ndarray:
        """Position of the first sum of each group."""
        return np.cumsum(self.lengths) - self.lengths

    def with_widths(self, widths: np.ndarray) -> VectorSums:
        """Return the state with other vector lengths. Groups that gain a length get empty sums; groups that lose it lose their sums."""
        after = VectorSums(widths, self.sums)
        if np.array_equal(after.lengths, self.lengths):
            return after
        count = len(self.sums.counts)
        stays = np.repeat(self.lengths > 0, after.lengths)
        chosen = np.where(stays, ranges(self.starts, after.lengths), count)
        return VectorSums(widths, joined_sums([self.sums, Sums.nothing(1, False)]).taken(chosen))


@attrs.frozen(eq=False)
class VectorAggregate:
    """A running sum or mean of vectors.

    Parameters
    ----------
    kind
        ``sum`` or ``mean``. The result is an empty vector before the first vector, and missing from the first vector of another length on.
    """

    kind: str

    def empty(self, groups: int) -> VectorSums:
        return VectorSums(np.full(groups, UNKNOWN, dtype=np.int64), Sums.nothing(0, False))

    def widened(self, state: VectorSums, groups: int) -> VectorSums:
        return VectorSums(widened_with(state.widths, groups, UNKNOWN), state.sums)

    def advance(self, state: VectorSums, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, VectorSums]:
        """Return the running vector for each row of a batch, and the state after it."""
        run = VectorsOfRun.of(columns[0], groups, state.widths[slots])
        missing, begins = run.shape_of_result(groups)
        result, parts = new_array(int(begins[-1]), np.float64), list[Sums]()
        begins_in_order = begins[groups.order]
        widths = state.widths.copy()
        widths[slots] = run.widths
        laid = state.with_widths(widths)
        for segments in run.batches():
            numbers, present, rows, positions = run.numbers_of(segments)
            before = laid.sums.taken(run.positions_of(segments, laid, slots))
            values, _, after = running_sums(self.kind, numbers, present, run.starts_of(segments), before)
            result[begins_in_order[rows] + positions] = values
            parts.append(after)
        column = pa.ListArray.from_arrays(pa.array(begins, pa.int32()), pa.array(result, from_pandas=False), mask=pa.array(missing))
        if parts:
            laid = VectorSums(widths, laid.sums.replaced(joined_sums(parts), run.positions_of(slice(None), laid, slots)))
        widths = widths.copy()
        widths[slots[run.is_ragged]] = RAGGED
        return column, laid.with_widths(widths)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> VectorSums:
        run, parts = VectorsOfRun.of(columns[0], groups, np.full(len(groups.starts), UNKNOWN)), [Sums.nothing(0, False)]
        for segments in run.batches():
            numbers, present, _, _ = run.numbers_of(segments)
            sizes = run.sizes[run.groups[segments]]
            parts.append(Sums.of(numbers, present, np.repeat(np.arange(len(sizes)), sizes), len(sizes), False))
        return VectorSums(run.widths, joined_sums(parts)).with_widths(np.where(run.is_ragged, RAGGED, run.widths))

    def merged(self, first: VectorSums, second: VectorSums, slots: np.ndarray) -> VectorSums:
        before, widths = first.widths[slots], first.widths.copy()
        is_same = (second.widths == UNKNOWN) | (second.widths == before)
        widths[slots] = np.where(before == UNKNOWN, second.widths, np.where(is_same, before, RAGGED))
        laid = first.with_widths(widths)
        added = np.flatnonzero((second.widths > 0) & (widths[slots] >= 0))
        sizes = second.widths[added]
        more = second.sums.taken(ranges(second.starts[added], sizes))
        return VectorSums(widths, laid.sums.merged(more, ranges(laid.starts[slots[added]], sizes)))


@attrs.frozen(eq=False)
class VectorsOfRun:
    """The vectors of a batch in group order, as segments. A segment is the numbers at one vector position of one group.

    Parameters
    ----------
    values
        The numbers of all vectors.
    begins, present
        Position of the first number of each row's vector, and whether the row has a vector.
    widths
        Vector length of each group.
    firsts, stops
        The rows of each group from its first vector (in this batch or before) up to the first vector of another length.
    is_ragged
        Whether each group has vectors of different lengths after the batch.
    groups, positions
        Group and vector position of each segment.
    """

    values: np.ndarray
    begins: np.ndarray
    present: np.ndarray
    widths: np.ndarray
    firsts: np.ndarray
    stops: np.ndarray
    is_ragged: np.ndarray
    groups: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(cls, column: pa.ListArray, groups: RowGroups, before: np.ndarray) -> VectorsOfRun:
        """Return the vectors of a column, given the vector lengths of its groups before it."""
        offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        values = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])).fill_null(np.nan).to_numpy(zero_copy_only=False)
        present, lengths = valid(column)[groups.order], np.diff(offsets)[groups.order]
        stops, group = groups.stops, groups.group_of_rows()
        first_vectors = firsts_of(present, group, stops)
        is_new = np.flatnonzero((before == UNKNOWN) & (first_vectors < stops))
        widths = before.copy()
        widths[is_new] = lengths[first_vectors[is_new]]
        firsts = np.where(before == UNKNOWN, first_vectors, groups.starts)
        ends = np.minimum(firsts_of(present & (lengths != widths[group]), group, stops), np.where(before == RAGGED, groups.starts, stops))
        firsts = np.minimum(firsts, ends)
        counts = np.where(firsts < ends, np.maximum(widths, 0), 0)
        of_segments = np.repeat(np.arange(len(counts)), counts)
        positions = ranges(np.zeros(len(counts), dtype=np.int64), counts)
        is_ragged = (before == RAGGED) | (ends < stops)
        return cls(values, (offsets[:-1] - offsets[0])[groups.order], present, widths, firsts, ends, is_ragged, of_segments, positions)

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group from ``firsts`` to ``stops``."""
        return self.stops - self.firsts

    def batches(self) -> Iterator[slice]:
        """Yield slices of segments that are summed at a time."""
        return batches_by_size(self.sizes[self.groups], NUMBERS_PER_STEP)

    def starts_of(self, segments: slice) -> np.ndarray:
        """Return the start of the numbers of each segment in a slice."""
        sizes = self.sizes[self.groups[segments]]
        return np.cumsum(sizes) - sizes

    def positions_of(self, segments: slice, state: VectorSums, slots: np.ndarray) -> np.ndarray:
        """Return the positions of segments in the sums of a state."""
        return state.starts[slots[self.groups[segments]]] + self.positions[segments]

    def numbers_of(self, segments: slice) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
        """Return the numbers of segments (zero for a missing vector), a mask of those present (None: all), and their rows and vector positions."""
        groups = self.groups[segments]
        sizes = self.sizes[groups]
        rows, positions = ranges(self.firsts[groups], sizes), np.repeat(self.positions[segments], sizes)
        present, chosen = self.present[rows], self.begins[rows] + positions
        if present.all():
            return self.values[chosen], None, rows, positions
        numbers = np.zeros(len(rows))
        numbers[present] = self.values[chosen[present]]
        return numbers, present, rows, positions

    def shape_of_result(self, groups: RowGroups) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row whether the result is missing, and where it begins among all numbers. It is empty before the first vector.

        Raises
        ------
        ArrowCapacityError
            If the result is larger than an array can be.
        """
        row, group = np.arange(groups.rows), groups.group_of_rows()
        missing = self.is_ragged[group] & (row >= self.stops[group])
        lengths = np.where((row >= self.firsts[group]) & ~missing, np.maximum(self.widths, 0)[group], 0)
        begins = np.concatenate([[0], np.cumsum(groups.to_row_order(lengths))])
        if int(begins[-1]) > MAX_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("vectors are more than an array holds")
        return groups.to_row_order(missing), begins


def firsts_of(which: np.ndarray, groups: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the first position of each group where the mask is true; the end of the group if there is none.

    Examples
    --------
    >>> firsts_of(np.array([False, True, True, False]), np.array([0, 0, 0, 1]), np.array([3, 4])).tolist()
    [1, 4]
    """
    positions, result = np.flatnonzero(which), stops.copy()
    # If a group occurs several times, the last assignment remains, so positions are assigned in reverse.
    result[groups[positions[::-1]]] = positions[::-1]
    return result


@attrs.frozen(eq=False)
class ExactAggregate:
    """A running sum, mean, variance or standard deviation of numbers.

    Parameters
    ----------
    kind
        ``sum``, ``mean``, ``var`` or ``std``. For a group without a number the mean is missing, the others are zero.
    """

    kind: str

    @property
    def has_squares(self) -> bool:
        """Whether squares are summed as well."""
        return self.kind in ("var", "std")

    def empty(self, groups: int) -> Sums:
        return Sums.nothing(groups, self.has_squares)

    def widened(self, state: Sums, groups: int) -> Sums:
        return joined_sums([state, self.empty(groups - len(state.counts))])

    def advance(self, state: Sums, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, Sums]:
        floats, present = self._in_order(columns, groups)
        result, counts, after = running_sums(self.kind, floats, present, groups.starts, state.taken(slots))
        missing = groups.to_row_order(counts == 0) if self.kind == "mean" else None
        return pa.array(groups.to_row_order(result), mask=missing, from_pandas=False), state.replaced(after, slots)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> Sums:
        return Sums.of(*self._in_order(columns, groups), groups.group_of_rows(), len(groups.starts), self.has_squares)

    def merged(self, first: Sums, second: Sums, slots: np.ndarray) -> Sums:
        return first.merged(second, slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> tuple[np.ndarray, np.ndarray | None]:
        """Return numbers in group order (zero for missing values), and a mask of the rows that have one; None if all have."""
        column = columns[0]
        present = valid(column)[groups.order] if column.null_count else None
        return numbers(column, np.dtype(np.float64))[groups.order], present
