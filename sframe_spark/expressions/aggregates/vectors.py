"""Exact sums of vectors, element by element, as a state column, and the sums and means of vectors that are computed from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import Finish, define_aggregate, require
from sframe_spark.expressions.aggregates.counts import Count
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn, joined
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.types import ARRAY, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sums_of_groups import Digits, ExactSums
    from sframe_spark.compute.key_runs import members, ranges
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.session.spark_versions import arrow_function
    from sframe_spark.udf.error_transport import error_transport

# Special vector lengths: of groups without vectors, and of groups with vectors of different lengths.
UNKNOWN, RAGGED = -1, -2
# Numbers that are summed at a time.
NUMBERS_PER_STEP = 1 << 16
# The sums of the numbers at each vector position are those of a column of numbers.
OF_NUMBERS = FloatSum(0)


@attrs.frozen(eq=False)
class SumsInParts:
    """Exact sums in several parts, whose forms may differ: parts are rounded each in its own form, which is faster than to give all one form.

    Parameters
    ----------
    parts
        The sums, one part after the other.
    """

    parts: tuple[ExactSums, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.nbytes for part in self.parts)

    def whole(self) -> ExactSums:
        """Return the same sums in one form."""
        whole: ExactSums = joined(self.parts) if self.parts else OF_NUMBERS.empty(0)
        return whole

    def take(self, entries: np.ndarray) -> ExactSums:
        """Return some of the sums."""
        return self.whole().take(entries)

    def rounded(self, last: bool = False) -> np.ndarray:
        """Return the float nearest to each sum."""
        return np.concatenate([part.rounded(last) for part in self.parts]) if self.parts else np.zeros(0)

    def means(self, counts: np.ndarray, last: bool = False) -> np.ndarray:
        """Return each sum divided by a number, which is at least one."""
        result = np.empty(len(counts))
        start = 0
        for part in self.parts:
            stop = start + len(part)
            result[start:stop] = part.means(counts[start:stop], last)
            start = stop
        return result


@attrs.frozen(eq=False)
class VectorSums:
    """Elementwise exact sums of the vectors of some groups.

    Parameters
    ----------
    widths
        Vector length of each group, or ``UNKNOWN`` or ``RAGGED``.
    sums
        The sum at each vector position; none for groups without a length.
    places
        The index in ``sums`` of each element, group by group; None: the sums are in this order.
    are_by_position
        Whether all groups have one length, and ``sums`` has those at the first position of all groups, then those at the second, and so on.
    """

    widths: np.ndarray
    sums: ExactSums | SumsInParts
    places: np.ndarray | None = None
    are_by_position: bool = False

    def __len__(self) -> int:
        return len(self.widths)

    @property
    def nbytes(self) -> int:
        """Bytes of lengths and sums."""
        return self.widths.nbytes + self.sums.nbytes + (0 if self.places is None else self.places.nbytes)

    @property
    def lengths(self) -> np.ndarray:
        """Number of elements of each group."""
        return np.maximum(self.widths, 0)

    @property
    def starts(self) -> np.ndarray:
        """Position of the first element of each group."""
        return np.cumsum(self.lengths) - self.lengths

    def elements(self, entries: np.ndarray) -> np.ndarray:
        """Return the indices in ``sums`` of the elements of some of the groups."""
        positions = ranges(self.starts[entries], self.lengths[entries])
        if self.are_by_position:
            groups, width = len(self.widths), int(self.widths[0])
            return positions % width * groups + positions // width
        return positions if self.places is None else self.places[positions]

    def take(self, entries: np.ndarray) -> VectorSums:
        """Return the sums of some of the groups."""
        return VectorSums(self.widths[entries], self.sums.take(self.elements(entries)))

    def in_order(self) -> VectorSums:
        """Return the same state with its sums group by group."""
        return self if self.places is None and not self.are_by_position else self.take(np.arange(len(self)))

    @classmethod
    def joined(cls, states: Sequence[VectorSums]) -> VectorSums:
        """Return the sums of several states, one state after the other."""
        ordered = [state.in_order() for state in states]
        return cls(np.concatenate([state.widths for state in ordered]), joined([state.sums for state in ordered]))

    def values(self, counts: np.ndarray | None, last: bool) -> np.ndarray:
        """Return the rounded sum of each element or, given the number of vectors of each group, the mean."""
        if self.are_by_position:
            width = int(self.widths[0])
            sums = self.sums.rounded(last) if counts is None else self.sums.means(np.tile(np.maximum(counts, 1), width), last)
            return sums.reshape(width, len(self.widths)).T.ravel()
        if counts is None:
            result = self.sums.rounded(last)
            return result if self.places is None else result[self.places]
        if self.places is None:
            return self.sums.means(np.repeat(np.maximum(counts, 1), self.lengths), last)
        divisors = np.empty(len(self.places))
        divisors[self.places] = np.repeat(np.maximum(counts, 1), self.lengths)
        return self.sums.means(divisors, last)[self.places]


def common_widths(widths: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Return the vector length of each of ``count`` groups, from lengths of which ``codes`` says the group; ``UNKNOWN`` does not count.

    Examples
    --------
    >>> common_widths(np.array([2, UNKNOWN, 2, 3, 1]), np.array([0, 0, 0, 2, 2]), 4).tolist()
    [2, -1, -2, -1]
    """
    if count == 1 and len(widths) and widths[0] != UNKNOWN and (widths == widths[0]).all():
        return widths[:1].copy()
    known = np.flatnonzero(widths != UNKNOWN)
    widths, codes = widths[known], codes[known]
    result = np.full(count, UNKNOWN)
    result[codes] = widths
    result[codes[widths != result[codes]]] = RAGGED
    return result


@attrs.frozen(eq=False)
class VectorsOfRows:
    """The vectors of a column.

    Parameters
    ----------
    values
        The numbers of all vectors; missing ones are NaN.
    begins
        Position of the first number of each row's vector.
    widths
        Length of each row's vector; ``UNKNOWN`` if the row has none.
    """

    values: np.ndarray
    begins: np.ndarray
    widths: np.ndarray

    @classmethod
    def of(cls, column: pa.ListArray) -> VectorsOfRows:
        """Return the vectors of a column."""
        offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        values = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])) if len(column) else pa.array([], pa.float64())
        widths = np.diff(offsets) if len(column) else np.zeros(0, dtype=np.int64)
        if column.null_count:
            widths = np.where(column.is_valid().to_numpy(zero_copy_only=False), widths, UNKNOWN)
        numbers = (values.fill_null(np.nan) if values.null_count else values).to_numpy(zero_copy_only=False)
        return cls(numbers, offsets[:-1] - offsets[0], widths)

    def numbers_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the vectors of some rows, one vector after the other."""
        lengths = self.widths[rows]
        if int(lengths.sum()) == len(self.values) and len(rows) and bool((np.diff(rows) > 0).all()):
            return self.values
        return self.values[ranges(self.begins[rows], lengths)]


@attrs.frozen
class VectorSum(StateColumn):
    """The exact sum of a column of vectors, element by element; missing vectors do not count.

    Parameters
    ----------
    column
        Position of the column.
    """

    rows_per_block: ClassVar[int] = FloatSum.rows_per_block
    column: int

    def empty(self, groups: int) -> State:
        return VectorSums(np.full(groups, UNKNOWN), OF_NUMBERS.empty(0))

    def _vectors(self, rows: InputRows) -> VectorsOfRows:
        vectors: VectorsOfRows = rows.once(("vectors", self.column), lambda: VectorsOfRows.of(rows.column(self.column)))
        return vectors

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        vectors = self._vectors(rows)
        state = VectorSums(common_widths(vectors.widths, groups.codes, groups.count), OF_NUMBERS.empty(0))
        chosen = np.flatnonzero((vectors.widths > 0) & (state.widths[groups.codes] > 0))
        numbers, codes = vectors.numbers_of(chosen), groups.codes[chosen]
        if groups.count == 1:
            return VectorSums(state.widths, sums_of_matrix(numbers.reshape(len(chosen), int(state.lengths[0]))))
        elements = GroupsOfRows(ranges(state.starts[codes], state.lengths[codes]), int(state.lengths.sum()))
        return VectorSums(state.widths, OF_NUMBERS.lift(rows_of_numbers(numbers), elements))

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        result = VectorSums(common_widths(state.widths, groups.codes, groups.count), OF_NUMBERS.empty(0))
        chosen = np.flatnonzero((state.widths > 0) & (result.widths[groups.codes] > 0))
        codes = groups.codes[chosen]
        elements = GroupsOfRows(ranges(result.starts[codes], result.lengths[codes]), int(result.lengths.sum()))
        return VectorSums(result.widths, OF_NUMBERS.merge(state.sums.take(state.elements(chosen)), elements))

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        segments = Segments.of(self._vectors(rows), starts, before)
        every, after = list[State](), list[State]()
        earlier = segments.earlier(before)
        for part in segments.steps():
            numbers, firsts = segments.numbers_of(part)
            sums, ends = OF_NUMBERS.running(rows_of_numbers(numbers), firsts, earlier.take(np.arange(part.start, part.stop)))
            every.append(sums)
            after.append(ends)
        kept = np.flatnonzero(~segments.are_ragged[segments.groups])
        ends = SumsInParts(tuple(after)).whole()
        after_all = VectorSums(segments.widths_after, ends.take(kept) if len(kept) < len(segments.groups) else ends)
        return segments.of_rows(SumsInParts(tuple(every))), after_all

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        vectors = self._vectors(rows)
        present = vectors.widths != UNKNOWN
        totals = windows.differences(np.concatenate([[0], np.cumsum(present)]))
        result = VectorSums(np.where(totals > 0, RAGGED, UNKNOWN), OF_NUMBERS.empty(0))
        parts = list[tuple[np.ndarray, State]]()
        for width in np.unique(vectors.widths[present]).tolist():
            # Windows with only vectors of this length, among the rows that have such vectors.
            is_like = vectors.widths == width
            before = np.concatenate([[0], np.cumsum(is_like)])
            chosen = np.flatnonzero((totals > 0) & (windows.differences(before) == totals))
            result.widths[chosen] = width
            if not width:
                continue
            like = np.flatnonzero(is_like)
            # The numbers at the first position of all vectors, then those at the second, and so on.
            numbers = vectors.numbers_of(like).reshape(len(like), width).T.ravel()
            at = np.arange(width)[:, None] * len(like)
            bounds = ((at + before[edges[chosen]]).ravel() for edges in (windows.starts, windows.stops))
            parts.append((chosen, OF_NUMBERS.windows(rows_of_numbers(numbers), RowWindows(*bounds))))
        places, begins, start = np.empty(int(result.lengths.sum()), dtype=np.int64), result.starts, 0
        for chosen, part in parts:
            width = len(part) // max(len(chosen), 1)
            places[(begins[chosen] + np.arange(width)[:, None]).ravel()] = start + np.arange(len(part))
            start += len(part)
        return VectorSums(result.widths, SumsInParts(tuple(part for _, part in parts)), places)

    def to_arrow(self, state: State) -> list[pa.Array]:
        ordered = state.in_order()
        offsets = pa.array(np.append(ordered.starts, ordered.lengths.sum()))
        return [pa.array(ordered.widths), pa.LargeListArray.from_arrays(offsets, *OF_NUMBERS.to_arrow(ordered.sums))]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return VectorSums(columns[0].to_numpy(zero_copy_only=False), OF_NUMBERS.of_arrow([members(columns[1])[0]]))

    @property
    def arrow_width(self) -> int:
        return 2


def sums_of_matrix(numbers: np.ndarray) -> Digits:
    """Return the sum of each column of a matrix.

    Examples
    --------
    >>> sums_of_matrix(np.array([[0.1, 1.0], [0.2, 2.0]])).rounded().tolist()
    [0.30000000000000004, 3.0]
    """
    rows, width = numbers.shape
    sums, step = Digits(width), max(NUMBERS_PER_STEP // max(width, 1), 1)
    codes = np.tile(np.arange(width), min(step, rows))
    for start in range(0, rows, step):
        part = numbers[start : start + step].ravel()
        sums.add(part, codes[: len(part)])
    return sums


def rows_of_numbers(numbers: np.ndarray) -> InputRows:
    """Return rows of one column of numbers."""
    return InputRows([pa.array(numbers, from_pandas=False)], len(numbers))


@attrs.frozen(eq=False)
class Segments:
    """The vectors of rows, which are given group by group, as segments. A segment is the numbers at one vector position of one group.

    Parameters
    ----------
    vectors
        The vectors.
    group_of_rows
        Group of each row.
    before, widths
        Vector length of each group before its first row, and from its first vector on.
    firsts, stops
        The rows of each group from its first vector (in this batch or before) up to the first vector of another length.
    are_ragged
        Whether each group has vectors of different lengths after its last row.
    groups, positions
        Group and vector position of each segment.
    """

    vectors: VectorsOfRows
    group_of_rows: np.ndarray
    before: np.ndarray
    widths: np.ndarray
    firsts: np.ndarray
    stops: np.ndarray
    are_ragged: np.ndarray
    groups: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(cls, vectors: VectorsOfRows, starts: np.ndarray, state: VectorSums) -> Segments:
        """Return the segments of rows, given where groups begin and their state before the rows."""
        sizes, before = group_sizes(starts, len(vectors.widths)), state.widths
        group, stops = np.repeat(np.arange(len(starts)), sizes), starts + sizes
        present = vectors.widths != UNKNOWN
        first_vectors = firsts_of(present, group, stops)
        is_new = np.flatnonzero((before == UNKNOWN) & (first_vectors < stops))
        widths = before.copy()
        widths[is_new] = vectors.widths[first_vectors[is_new]]
        ends = np.minimum(firsts_of(present & (vectors.widths != widths[group]), group, stops), np.where(before == RAGGED, starts, stops))
        firsts = np.minimum(np.where(before == UNKNOWN, first_vectors, starts), ends)
        counts = np.where(firsts < ends, np.maximum(widths, 0), 0)
        are_ragged = (before == RAGGED) | (ends < stops)
        of_segments = np.repeat(np.arange(len(counts)), counts)
        return cls(vectors, group, before, widths, firsts, ends, are_ragged, of_segments, ranges(np.zeros_like(counts), counts))

    @property
    def is_one_matrix(self) -> bool:
        """Whether there is one group, in which all rows have vectors of one length."""
        if len(self.widths) != 1 or self.are_ragged[0] or self.widths[0] <= 0:
            return False
        return len(self.vectors.values) == len(self.vectors.widths) * int(self.widths[0]) and bool((self.vectors.widths != UNKNOWN).all())

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group from ``firsts`` to ``stops``."""
        return self.stops - self.firsts

    @property
    def widths_after(self) -> np.ndarray:
        """Vector length of each group after its last row."""
        return np.where(self.are_ragged, RAGGED, self.widths)

    def earlier(self, state: VectorSums) -> State:
        """Return the sums of earlier rows at each segment; zero for groups without vectors before."""
        known = self.before[self.groups] != UNKNOWN
        state = state.in_order()
        places = np.where(known, state.starts[self.groups] + self.positions, int(state.lengths.sum()))
        return (state.sums if known.all() else joined([state.sums, OF_NUMBERS.empty(1)])).take(places)

    def steps(self) -> list[slice]:
        """Return slices of the segments that are summed at a time."""
        ends, first, result = np.cumsum(self.sizes[self.groups]), 0, list[slice]()
        while first < len(ends):
            before = int(ends[first - 1]) if first else 0
            stop = max(int(np.searchsorted(ends, before + NUMBERS_PER_STEP, "right")), first + 1)
            result.append(slice(first, stop))
            first = stop
        return result

    def numbers_of(self, segments: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of segments, zero for a missing vector, and where each segment begins among them."""
        groups = self.groups[segments]
        sizes = self.sizes[groups]
        if self.is_one_matrix:
            matrix = self.vectors.values.reshape(len(self.vectors.widths), int(self.widths[0]))
            return matrix.T[segments].ravel(), np.cumsum(sizes) - sizes
        rows = ranges(self.firsts[groups], sizes)
        chosen = self.vectors.begins[rows] + np.repeat(self.positions[segments], sizes)
        present = self.vectors.widths[rows] != UNKNOWN
        if present.all():
            numbers = self.vectors.values[chosen]
        else:
            numbers = np.zeros(len(rows))
            numbers[present] = self.vectors.values[chosen[present]]
        return numbers, np.cumsum(sizes) - sizes

    def of_rows(self, sums: State) -> VectorSums:
        """Return the state of all rows up to each row, from the running sums of all segments."""
        rows = len(self.vectors.widths)
        if self.is_one_matrix:
            return VectorSums(self.vectors.widths, sums, are_by_position=True)
        row, group = np.arange(rows), self.group_of_rows
        widths = np.where(row < self.firsts[group], UNKNOWN, self.widths[group])
        widths[self.are_ragged[group] & (row >= self.stops[group])] = RAGGED
        lengths = np.maximum(widths, 0)
        sizes = self.sizes
        of_group = sizes * np.maximum(self.widths, 0)
        begins = (np.cumsum(of_group) - of_group)[group] + row - self.firsts[group]
        steps = ranges(np.zeros_like(lengths), lengths) * np.repeat(sizes[group], lengths)
        return VectorSums(widths, sums, np.repeat(begins, lengths) + steps)


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


def sum_of_vectors(
    column: int, is_mean: bool = False, is_missing_of_none: bool = False, ragged: Callable[[], Exception] | None = None
) -> ColumnAggregate:
    """Return the sum or mean of vectors, element by element, each rounded once.

    Parameters
    ----------
    column
        Position of the column.
    is_mean
        Whether the result is the mean.
    is_missing_of_none
        Whether the result is missing if there is no vector; otherwise it is the empty vector.
    ragged
        Makes the error for vectors of different lengths; None: the result is missing.
    """
    states: tuple[StateColumn, ...] = (VectorSum(column), Count((column,))) if is_mean else (VectorSum(column),)

    def finish(sums: VectorSums, counts: np.ndarray | None = None, *, last: bool) -> pa.Array:
        missing = sums.widths == RAGGED
        if ragged is not None and missing.any():
            raise ragged()
        if is_missing_of_none:
            missing |= sums.widths == UNKNOWN
        ends = np.cumsum(sums.lengths)
        if len(ends) and int(ends[-1]) > MAX_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("vectors do not fit one array")
        offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
        values = pa.array(sums.values(counts, last), from_pandas=False)
        return pa.ListArray.from_arrays(offsets, values, type=ARRAY.physical, mask=pa.array(missing) if missing.any() else None)

    return ColumnAggregate(states, finish)


def vectors_of_lists(lists: pa.ListArray | pa.LargeListArray, aggregate: ColumnAggregate) -> pa.ListArray:
    """Return an aggregate of column 0 of the vectors in each of several lists.

    Examples
    --------
    >>> lists = pa.array([[[1.0, 2.0], None, [3.0, 4.0]], [], [[1.0], [1.0, 2.0]]], pa.list_(pa.list_(pa.float64())))
    >>> vectors_of_lists(lists, sum_of_vectors(0, is_mean=True)).to_pylist()
    [[2.0, 3.0], [], None]
    """
    vectors, codes = members(lists)
    rows, groups = InputRows([vectors], len(vectors)), GroupsOfRows(codes, len(lists))
    return aggregate.finish(*[column.lift(rows, groups) for column in aggregate.states], last=True)


# The aggregates of vectors.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
DIFFERENT_LENGTHS = "vectors of different lengths have no sum and no mean: make the lengths equal"


def ragged_error() -> UnsupportedOperationError:
    """Return the error for vectors of different lengths."""
    return UnsupportedOperationError(DIFFERENT_LENGTHS)


def _infer_vector(types: Types, parameters: Parameters) -> ColumnType:
    require("the sum or mean of vectors", types[0], ("array",))
    return ARRAY


def collected_vectors(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    """Return a Spark column with the list of the vectors of a group, in any order."""
    return F.collect_list(columns[0])


def _add_vectors(rows: Column, is_mean: bool = False) -> Column:
    """Return a Spark column with the sum or mean of collected vectors, element by element, each rounded only once."""

    def exact_vectors(lists: pa.Array) -> pa.Array:
        return vectors_of_lists(lists, sum_of_vectors(0, is_mean))

    return arrow_function(exact_vectors, "array<double>")(rows)


def _if_equal_lengths(rows: Column, value: Column, empty: Column, ragged: Column) -> Column:
    """Return a Spark column with ``value``, or ``empty`` for no vectors, or ``ragged`` for vectors of different lengths."""
    differ = F.size(F.array_distinct(F.transform(rows, F.size))) > 1
    return F.when(F.size(rows) == 0, empty).when(differ, ragged).otherwise(value)


def _no_vector() -> Column:
    return F.lit(None).cast("array<double>")


def _empty_vector() -> Column:
    return F.array().cast("array<double>")


def _ragged_error() -> Column:
    return F.raise_error(F.lit(error_transport().packed(UnsupportedOperationError(DIFFERENT_LENGTHS)))).cast("array<double>")


def vectors_in_spark(rows: Column, is_mean: bool = False) -> Column:
    """Return a Spark column with the sum or mean of the vectors of a group; missing if their lengths differ, and empty if there are none."""
    return _if_equal_lengths(rows, _add_vectors(rows, is_mean), _empty_vector(), _no_vector())


def _finish_column_vector_sum(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column), _empty_vector(), _ragged_error())


def _finish_column_vector_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column, is_mean=True), _no_vector(), _ragged_error())


def _column_vectors(name: str, is_mean: bool, finish: Finish) -> None:
    """Define the sum or mean of all vectors of a column, for which different lengths are an error; the mean of none is missing."""

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return sum_of_vectors(positions[0], is_mean, is_missing_of_none=is_mean, ragged=ragged_error)

    define_aggregate(name, _infer_vector, column=collected_vectors, finish=finish, order_sensitive=False, of_columns=of_columns)


_column_vectors("column_vector_sum", False, _finish_column_vector_sum)
_column_vectors("column_vector_mean", True, _finish_column_vector_mean)
