"""Running sums and means of vectors by group, place by place: states are exact sums, so they do not depend on how rows are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.exact_window_sum import Sums, joined_sums, running_sums
from sframe_spark.compute.key_runs import ranges
from sframe_spark.operators.window.running_collections import batches_by_size, widened_with
from sframe_spark.operators.window.segmented_scan import RowGroups, valid
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY

# Widths of groups that have no vector yet, and of those with vectors of different lengths.
UNKNOWN, RAGGED = -1, -2
# So many numbers are added up at a time.
NUMBERS_PER_STEP = 1 << 20


@attrs.frozen(eq=False)
class VectorSums:
    """What is known of the vectors of some groups.

    Parameters
    ----------
    widths
        How many numbers the vectors of each group have, or ``UNKNOWN``, or ``RAGGED``.
    sums
        What is known of the numbers at each place of the vectors, group by group; of no place where there is no width.
    """

    widths: np.ndarray
    sums: Sums

    @property
    def places(self) -> np.ndarray:
        """How many places each group has."""
        return np.maximum(self.widths, 0)

    @property
    def starts(self) -> np.ndarray:
        """Where the places of each group start."""
        return np.cumsum(self.places) - self.places

    def with_widths(self, widths: np.ndarray) -> VectorSums:
        """The same with other widths: groups that had none get places without numbers, and others lose theirs."""
        after = VectorSums(widths, self.sums)
        if np.array_equal(after.places, self.places):
            return after
        count = len(self.sums.counts)
        stays = np.repeat(self.places > 0, after.places)
        chosen = np.where(stays, ranges(self.starts, after.places), count)
        return VectorSums(widths, joined_sums([self.sums, Sums.nothing(1, False)]).taken(chosen))


@attrs.frozen(eq=False)
class VectorAggregate:
    """A running sum or mean of vectors.

    Parameters
    ----------
    kind
        ``sum`` or ``mean``: of no number before the first vector, missing from the first one on that has another length.
    """

    kind: str

    def empty(self, groups: int) -> VectorSums:
        return VectorSums(np.full(groups, UNKNOWN, dtype=np.int64), Sums.nothing(0, False))

    def widened(self, state: VectorSums, groups: int) -> VectorSums:
        return VectorSums(widened_with(state.widths, groups, UNKNOWN), state.sums)

    def advance(self, state: VectorSums, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, VectorSums]:
        """Running vectors of a run, row by row, and the state after it."""
        run = VectorsOfRun.of(columns[0], groups, state.widths[slots])
        missing, begins = run.shape_of_result(groups)
        found, parts = new_array(int(begins[-1]), np.float64), list[Sums]()
        begins_in_order = begins[groups.order]
        laid = run.laid_out(state, slots)
        for segments in run.pieces():
            numbers, there, rows, places = run.numbers_of(segments)
            before = laid.sums.taken(run.places_of(segments, laid, slots))
            values, _, after = running_sums(self.kind, numbers, there, run.starts_of(segments), before)
            found[begins_in_order[rows] + places] = values
            parts.append(after)
        column = pa.ListArray.from_arrays(pa.array(begins, pa.int32()), pa.array(found, from_pandas=False), mask=pa.array(missing))
        return column, run.state_after(laid, parts, slots, is_whole=True)

    def summarized(self, state: VectorSums, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> VectorSums:
        run = VectorsOfRun.of(columns[0], groups, state.widths[slots])
        parts = []
        for segments in run.pieces():
            numbers, there, _, _ = run.numbers_of(segments)
            sizes = run.sizes[run.groups[segments]]
            parts.append(Sums.of(numbers, there, np.repeat(np.arange(len(sizes)), sizes), len(sizes), False))
        return run.state_after(run.laid_out(state, slots), parts, slots, is_whole=False)

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
    """Vectors of a run along the order of its groups, as segments: the numbers at one place of the vectors of one group.

    Parameters
    ----------
    values
        All numbers.
    begins, there
        Where the vector of each row begins among them, and whether there is one.
    widths
        How many numbers the vectors of each group have.
    firsts, stops
        The rows of each group from its first vector, or that of an earlier run, up to the first one of another length.
    is_ragged
        Which groups have vectors of different lengths after the run.
    groups, places
        Of each segment: the group, and the place in the vectors.
    """

    values: np.ndarray
    begins: np.ndarray
    there: np.ndarray
    widths: np.ndarray
    firsts: np.ndarray
    stops: np.ndarray
    is_ragged: np.ndarray
    groups: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, column: pa.ListArray, groups: RowGroups, before: np.ndarray) -> VectorsOfRun:
        """Of a column, given the widths of the groups before it."""
        offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        values = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])).fill_null(np.nan).to_numpy(zero_copy_only=False)
        there, lengths = valid(column)[groups.order], np.diff(offsets)[groups.order]
        stops, group = groups.stops, groups.group_of_rows()
        first_vectors = firsts_of(there, group, stops)
        known = np.flatnonzero((before == UNKNOWN) & (first_vectors < stops))
        widths = before.copy()
        widths[known] = lengths[first_vectors[known]]
        firsts = np.where(before == UNKNOWN, first_vectors, groups.starts)
        ends = np.minimum(firsts_of(there & (lengths != widths[group]), group, stops), np.where(before == RAGGED, groups.starts, stops))
        firsts = np.minimum(firsts, ends)
        counts = np.where(firsts < ends, np.maximum(widths, 0), 0)
        of_segments = np.repeat(np.arange(len(counts)), counts)
        places = ranges(np.zeros(len(counts), dtype=np.int64), counts)
        is_ragged = (before == RAGGED) | (ends < stops)
        return cls(values, (offsets[:-1] - offsets[0])[groups.order], there, widths, firsts, ends, is_ragged, of_segments, places)

    @property
    def sizes(self) -> np.ndarray:
        """How many rows of each group have a result with numbers."""
        return self.stops - self.firsts

    def pieces(self) -> Iterator[slice]:
        """Segments, as many at a time as are added up together."""
        return batches_by_size(self.sizes[self.groups], NUMBERS_PER_STEP)

    def starts_of(self, segments: slice) -> np.ndarray:
        """Where the numbers of each of some segments start."""
        sizes = self.sizes[self.groups[segments]]
        return np.cumsum(sizes) - sizes

    def places_of(self, segments: slice, state: VectorSums, slots: np.ndarray) -> np.ndarray:
        """Where a state has what is known of some segments."""
        return state.starts[slots[self.groups[segments]]] + self.places[segments]

    def numbers_of(self, segments: slice) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
        """Numbers of segments, zero where there is no vector, and where there is one (None: everywhere); their rows, and their places in these."""
        groups = self.groups[segments]
        sizes = self.sizes[groups]
        rows, places = ranges(self.firsts[groups], sizes), np.repeat(self.places[segments], sizes)
        there, chosen = self.there[rows], self.begins[rows] + places
        if there.all():
            return self.values[chosen], None, rows, places
        numbers = np.zeros(len(rows))
        numbers[there] = self.values[chosen[there]]
        return numbers, there, rows, places

    def shape_of_result(self, groups: RowGroups) -> tuple[np.ndarray, np.ndarray]:
        """Row by row whether the result is missing, and where it begins among the numbers of all; of rows before the first vector it has none.

        Raises
        ------
        ArrowCapacityError
            If it is more than an array holds.
        """
        row, group = np.arange(groups.rows), groups.group_of_rows()
        missing = self.is_ragged[group] & (row >= self.stops[group])
        lengths = np.where((row >= self.firsts[group]) & ~missing, np.maximum(self.widths, 0)[group], 0)
        begins = np.concatenate([[0], np.cumsum(groups.to_row_order(lengths))])
        if int(begins[-1]) > MAX_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("vectors are more than an array holds")
        return groups.to_row_order(missing), begins

    def laid_out(self, state: VectorSums, slots: np.ndarray) -> VectorSums:
        """The state with places for the vectors of the groups."""
        widths = state.widths.copy()
        widths[slots] = self.widths
        return state.with_widths(widths)

    def state_after(self, laid: VectorSums, parts: list[Sums], slots: np.ndarray, is_whole: bool) -> VectorSums:
        """The state after the run, from what is known of segments with (``is_whole``) or without what was before."""
        if parts:
            chosen = self.places_of(slice(None), laid, slots)
            sums = laid.sums.replaced(joined_sums(parts), chosen) if is_whole else laid.sums.merged(joined_sums(parts), chosen)
            laid = VectorSums(laid.widths, sums)
        widths = laid.widths.copy()
        widths[slots[self.is_ragged]] = RAGGED
        return laid.with_widths(widths)


def firsts_of(which: np.ndarray, groups: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """The first place of each group where that is true, or where it stops.

    Examples
    --------
    >>> firsts_of(np.array([False, True, True, False]), np.array([0, 0, 0, 1]), np.array([3, 4])).tolist()
    [1, 4]
    """
    places, found = np.flatnonzero(which), stops.copy()
    # Of assignments to one place the last one stays.
    found[groups[places[::-1]]] = places[::-1]
    return found
