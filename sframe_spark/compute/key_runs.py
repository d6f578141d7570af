"""Runs of consecutive rows with equal keys: where they begin, groups within a run, and the base class of operators that reduce each run.

A run may extend over several batches and row ranges. Such an operator therefore converts ("lifts") rows to partial results, which can be merged
however rows are divided, and computes the output rows of a run only after its end. The module also has helpers for NumPy arrays of keys and lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk, from_stream, joined, to_stream
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import TOO_LARGE, SequentialOperator
from sframe_spark.types import ColumnType

# Adding this turns -0.0 into 0.0 and changes no other number.
POSITIVE_ZERO = 0.0

MAX_CARRIED_BYTES = 2**22
"""Partial results of a run larger than this are not sent to other tasks: aggregates such as concat hold all rows of the run."""


def run_starts(columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> np.ndarray:
    """Return the positions at which runs begin: the first row, and rows that differ from the row before in some column.

    Missing equals missing, and NaN equals NaN.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> run_starts([pa.array([1, 1, None, None, 2])], [INT], 5).tolist()
    [0, 2, 4]
    """
    if not rows:
        return np.zeros(0, dtype=np.int64)
    starts = np.zeros(rows, dtype=bool)
    starts[0] = True
    for column, column_type in zip(columns, types, strict=True):
        starts[1:] |= differs(comparable(column, column_type))
    return np.flatnonzero(starts)


def run_numbers(starts: np.ndarray, rows: int) -> np.ndarray:
    """Return for each row the number of its run, counting from zero.

    Examples
    --------
    >>> run_numbers(np.array([0, 2]), 3).tolist()
    [0, 0, 1]
    """
    begins = np.zeros(rows, dtype=np.int64)
    begins[starts[1:]] = 1
    return np.cumsum(begins)


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the concatenation of ranges ``start, start + 1, ...``, given the start and the length of each.

    Examples
    --------
    >>> ranges(np.array([5, 0, 9]), np.array([2, 3, 0])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)


def members(lists: pa.ListArray | pa.LargeListArray) -> tuple[pa.Array, np.ndarray]:
    """Return the items of all lists, and for each item the index of its list; no list may be missing.

    Examples
    --------
    >>> values, numbers = members(pa.array([[1, 2], [], [3]]))
    >>> values.to_pylist(), numbers.tolist()
    ([1, 2, 3], [0, 0, 2])
    """
    offsets = lists.offsets.to_numpy(zero_copy_only=False)
    values = lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return values, np.repeat(np.arange(len(lists)), np.diff(offsets))


def differs(values: pa.Array) -> np.ndarray:
    """Return, for each row but the first, whether its value differs from the value of the row before.

    Examples
    --------
    >>> differs(pa.array(["a", "a", None])).tolist(), differs(pa.array([], pa.string())).tolist()
    ([False, True], [])
    """
    if pa.types.is_string(values.type):
        unequal = pc.fill_null(pc.not_equal(values.slice(1), values.slice(0, max(0, len(values) - 1))), False).to_numpy(zero_copy_only=False)
    else:
        numbers = plain_numbers(values)
        later, earlier = numbers[1:], numbers[:-1]
        unequal = later != earlier
        if numbers.dtype.kind == "f":
            unequal &= ~(np.isnan(later) & np.isnan(earlier))
    if not values.null_count:
        return unequal
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return (unequal & valid[1:] & valid[:-1]) | (valid[1:] != valid[:-1])


def plain_numbers(values: pa.Array) -> np.ndarray:
    """Convert a column of numbers or datetimes to a NumPy array of ints, floats or microseconds; missing values become zero."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    filled = pc.fill_null(values, pa.scalar(0, values.type)) if values.null_count else values
    return filled.to_numpy(zero_copy_only=False)


def unsigned_zero(extreme: Any) -> Any:
    """Return a minimum or maximum with -0.0 replaced by 0.0: both zeros tie, and which one is found depends on how rows are divided.

    Examples
    --------
    >>> unsigned_zero(-0.0), unsigned_zero("a")
    (0.0, 'a')
    """
    return extreme + POSITIVE_ZERO if isinstance(extreme, float) else extreme


def unsigned_zeros(extremes: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return an array with -0.0 replaced by 0.0; the result is written to ``out`` if given, which may be the input.

    Examples
    --------
    >>> unsigned_zeros(np.array([-0.0, -1.5])).tolist()
    [0.0, -1.5]
    """
    return np.add(extremes, POSITIVE_ZERO, out=out) if extremes.dtype.kind == "f" else extremes


@attrs.frozen(eq=False)
class Grouping:
    """An assignment of rows to groups.

    Parameters
    ----------
    order
        Row positions, group by group, and within a group in row order; None if the rows are in this order already.
    starts
        The index in ``order`` at which each group begins.
    runs
        For each group the number of the run to which it belongs, counting from zero.
    """

    order: np.ndarray | None
    starts: np.ndarray
    runs: np.ndarray


def group_runs(table: Chunk, types: Sequence[ColumnType], key_count: int, within_count: int) -> Grouping:
    """Return the groups of rows that are in the same run and equal in the columns that divide a run.

    A run is a sequence of consecutive rows that are equal in the first ``key_count`` columns; the next ``within_count`` columns divide its rows into
    groups, which are in order of first appearance.
    """
    starts = run_starts(table.columns[:key_count], types[:key_count], table.rows)
    if not within_count:
        return Grouping(None, starts, np.arange(len(starts)))
    dividing = slice(key_count, key_count + within_count)
    return group_within(run_numbers(starts, table.rows), table.columns[dividing], types[dividing])


def group_within(run: np.ndarray, columns: Sequence[pa.Array], types: Sequence[ColumnType]) -> Grouping:
    """Group the rows of each run (given as the run number of each row) by columns, groups in order of first appearance.

    Examples
    --------
    >>> from sframe_spark.types import STR
    >>> grouping = group_within(np.array([0, 0, 0, 1]), [pa.array(["b", "a", "b", "b"])], [STR])
    >>> grouping.order.tolist(), grouping.starts.tolist(), grouping.runs.tolist()
    ([0, 2, 1, 3], [0, 2, 3], [0, 0, 1])
    """
    group, first = run, np.flatnonzero(np.diff(run, prepend=-1))
    for column, column_type in zip(columns, types, strict=True):
        encoded = comparable(column, column_type).dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        group, first = by_appearance(group * (len(encoded.dictionary) + 1) + codes)
    counts = np.bincount(group, minlength=len(first))
    is_ordered = bool(np.all(group[1:] >= group[:-1]))
    # NumPy sorts 16-bit ints in linear time.
    narrow = group.astype(np.uint16) if len(first) <= 2**16 else group
    order = None if is_ordered else np.argsort(narrow, kind="stable")
    return Grouping(order, np.cumsum(counts) - counts, run[first])


def by_appearance(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber codes in order of first appearance; return the new codes, and the position at which each code appears first.

    Examples
    --------
    >>> [part.tolist() for part in by_appearance(np.array([7, 3, 7, 5]))]
    [[0, 1, 0, 2], [0, 1, 3]]
    """
    size = int(codes.max()) + 1 if len(codes) else 0
    if size > 8 * len(codes):
        codes = np.unique(codes, return_inverse=True)[1]
        size = int(codes.max()) + 1
    first = np.full(size, len(codes))
    # Of several assignments to one index the last one wins.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    result = np.flatnonzero(first < len(codes))
    result = result[np.argsort(first[result])]
    numbers = np.empty(size, dtype=np.int64)
    numbers[result] = np.arange(len(result))
    return numbers[codes], first[result]


@attrs.frozen(eq=False)
class Stretch:
    """Partial results of the first and the last run of some consecutive rows, as the rows before and after them may continue these runs.

    Parameters
    ----------
    first
        Partial results of the first run; without rows if there is no run.
    last
        Partial results of the last run; None if the last run is also the first.
    schema
        Types of the operator's input, which decide how partial results compare and merge.
    is_prefix
        Whether the rows begin at the first row of all. Then only the last run can continue, and ``first`` is that run.
    """

    first: Chunk
    last: Chunk | None
    schema: Schema
    is_prefix: bool = False

    @property
    def open(self) -> Chunk:
        """Partial results of the run that the next rows may continue."""
        return self.first if self.last is None else self.last

    def __reduce__(self) -> tuple[Any, ...]:
        last = None if self.last is None else bytes(to_stream([self.last]))
        return restored_stretch, (bytes(to_stream([self.first])), last, self.schema, self.is_prefix)


def restored_stretch(first: bytes, last: bytes | None, schema: Schema, is_prefix: bool) -> Stretch:
    """Rebuild a stretch from its pickled form."""
    return Stretch(from_stream(first), None if last is None else from_stream(last), schema, is_prefix)


@attrs.frozen
class RunOperator(SequentialOperator):
    """An operator whose result for a run of consecutive rows with equal keys is a function of that run."""

    keeps_domain: ClassVar[bool] = False

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        """Convert each row to partial results, as :meth:`collapse` takes them; the key columns of runs come first."""
        raise PlanInvariantError(f"operator {self.name!r} does not lift rows")

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """Merge the partial results of the same run (and group); return them, and the run number of each, counting from zero."""
        raise PlanInvariantError(f"operator {self.name!r} does not collapse runs")

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        """Return the output rows of complete, collapsed runs; ``runs`` has the run number of each row of the table."""
        raise PlanInvariantError(f"operator {self.name!r} gives no results")

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return an unknown length that is at most the length of the input."""
        return Length.unknown(at_most=inputs[0].length.at_most)

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        """Return the state before the first row: no run is open."""
        schema = facts[0].schema
        return Stretch(self.lift(Chunk.empty(schema), schema), None, schema, is_prefix=True)

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        """Return the :class:`Stretch` of some rows: partial results of their first and last run."""
        schema = facts[0].schema
        first, last = self._first_and_last(self.lift(inputs[0], schema), schema)
        return Stretch(first, last, schema)

    def ends_suffice(self, state: Any) -> bool:
        """Return whether the first and the last run of a stretch are different runs."""
        return state.last is not None

    def carried(self, state: Any) -> Any:
        """Return the stretch with only the last run, or ``TOO_LARGE`` if its partial results are too large to be sent to other tasks."""
        if state.open.to_table().nbytes > MAX_CARRIED_BYTES:
            return TOO_LARGE
        return state if state.last is None else attrs.evolve(state, first=state.first.slice(0, 0))

    def combine(self, first: Any, second: Any) -> Any:
        """Return two adjacent stretches as one: partial results of the first and the last run of their rows together."""
        head, tail = self._first_and_last(joined(first.open, second.first), first.schema)
        if first.last is not None:
            # The first run is complete; the run where the stretches meet may be the last one.
            head, tail = first.first, head if tail is None else tail
        tail = tail if second.last is None else second.last
        if first.is_prefix:
            return Stretch(head if tail is None else tail, None, first.schema, is_prefix=True)
        return Stretch(head, tail, first.schema)

    def _first_and_last(self, table: Chunk, schema: Schema) -> tuple[Chunk, Chunk | None]:
        collapsed, runs = self.collapse(table, schema)
        if not collapsed.rows:
            return collapsed, None
        second, last = (int(np.searchsorted(runs, number)) for number in (runs[0] + 1, runs[-1]))
        return collapsed.slice(0, second), collapsed.slice(last, collapsed.rows) if last else None

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Return the output rows of the runs that end in these rows, and the state with the run that the next rows may continue."""
        schema = facts[0].schema
        collapsed, runs = self.collapse(joined(state.first, self.lift(inputs[0], schema)), schema)
        last = int(np.searchsorted(runs, runs[-1])) if collapsed.rows else 0
        still_open = Stretch(collapsed.slice(last, collapsed.rows), None, schema, is_prefix=True)
        return self.results(collapsed.slice(0, last), runs[:last], schema), still_open

    def finish(self, facts: Sequence[Facts], state: Any) -> Chunk | None:
        """Return the output rows of the last run, or None if there were no rows."""
        rows = state.first.rows
        return self.results(state.first, np.zeros(rows, dtype=np.int64), facts[0].schema) if rows else None
