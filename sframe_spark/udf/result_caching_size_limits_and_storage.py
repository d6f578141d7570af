"""Results of users' functions: cached by row id, limited in size while they are computed, and stored as columns."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import MemoFullError, ResultsTooLongError, SchemaError
from sframe_spark.message_text import brief
from sframe_spark.planner.chunk import Chunk, joined, stacked
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, INT_KIND, ColumnType
from sframe_spark.values.plain_values import LARGEST_INT, MISSING, NUMBERS, SMALLEST_INT, family_of, int_equal_to, plain_number
from sframe_spark.values.python_to_arrow import arrow_floats, encode

# Calls a function for rows given by position; returns the results, and how many result rows each row has (None: one).
MemoCall = Callable[[np.ndarray], tuple[Chunk, np.ndarray | None]]
# Limit of the cached results in memory; beyond it all rows are computed and stored.
MAX_BYTES = 64 << 20


@attrs.frozen(eq=False)
class Part:
    """The cached results of some rows.

    Parameters
    ----------
    numbers
        The row ids, ascending.
    counts
        How many result rows belong to each row id.
    rows
        The result rows, in the order of ``numbers``.
    """

    numbers: np.ndarray
    counts: np.ndarray
    rows: Chunk

    @property
    def size(self) -> int:
        """Bytes of row ids and results in memory."""
        return self.numbers.nbytes + self.rows.size

    def without(self, mask: np.ndarray) -> Part:
        """Return the results of the rows that are not set in ``mask``."""
        positions = np.flatnonzero(~mask)
        if positions.size == mask.size:
            return self
        return Part(self.numbers[positions], self.counts[positions], taken(self.rows, self.counts, positions))


@attrs.define(eq=False)
class CallMemo:
    """Cached results of one use of a function, by row id.

    It belongs to the node that calls the function, as long as only some rows have been computed. Only the thread that
    has claimed the node adds results.

    Parameters
    ----------
    keeps
        Whether new results are cached; False if a materialization or a Spark task stores all results anyway.
    parts
        The cached results, largest part first, so that adding a few results does not copy all. A tuple: readers never see an unfinished change.
    callers
        Identifiers of the threads that are currently inside the function.
    """

    keeps: bool = True
    parts: tuple[Part, ...] = ()
    callers: list[int] = attrs.Factory(list)

    @property
    def size(self) -> int:
        """Bytes of the cached results."""
        return sum(part.rows.size for part in self.parts)

    @property
    def is_full(self) -> bool:
        """Whether the cached results take more than MAX_BYTES."""
        return self.size > MAX_BYTES

    @property
    def known(self) -> int:
        """Number of rows with cached results."""
        return sum(part.numbers.size for part in self.parts)

    @property
    def is_called(self) -> bool:
        """Whether this thread is inside the function, so that it must not wait for the function's result."""
        return threading.get_ident() in self.callers

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """Return a context manager for a block in which this thread calls the function."""
        own = threading.get_ident()
        self.callers.append(own)
        try:
            yield
        finally:
            self.callers.remove(own)

    def knows_none(self, numbers: np.ndarray) -> bool:
        """Return whether row ids are strictly ascending, and none of them has a cached result."""
        return bool((np.diff(numbers) > 0).all()) and not bool((located(self.parts, numbers)[0] >= 0).any())

    def sent(self) -> CallMemo:
        """Return a memo with the same results that caches no new ones, for a Spark task or a materialization, which stores its results itself."""
        return CallMemo(False, self.parts, self.callers)

    def completed(self, numbers: np.ndarray, call: MemoCall) -> Chunk:
        """Return the result rows for some row ids, in that order; the function is called for rows without a cached result.

        Examples
        --------
        >>> import pyarrow as pa
        >>> memo = CallMemo()
        >>> twice = lambda positions: (Chunk.of([pa.array(positions * 2)]), None)
        >>> memo.completed(np.array([0, 1]), twice).columns[0].to_pylist()
        [0, 2]
        >>> memo.completed(np.array([1, 0, 0]), None).columns[0].to_pylist()
        [2, 0, 0]
        """
        parts = self.parts
        unknown = np.flatnonzero(located(parts, numbers)[0] < 0)
        if not self.keeps and unknown.size == numbers.size and self.knows_none(numbers):
            return call(unknown)[0]
        if unknown.size or not parts:
            fresh, first = np.unique(numbers[unknown], return_index=True)
            results, counts = call(unknown[first])
            added = Part(fresh, np.ones(fresh.size, dtype=np.int64) if counts is None else counts, results)
            parts = self.record(added) if self.keeps else (*parts, added)
        return gathered(parts, numbers)

    def record(self, added: Part) -> tuple[Part, ...]:
        """Cache results, except for rows that have results already, and return all cached parts.

        Raises
        ------
        MemoFullError
            If the cached results exceed MAX_BYTES.
        """
        # The function itself may have computed some of these rows, by reading its own column.
        added = added.without(located(self.parts, added.numbers)[0] >= 0)
        parts = [*self.parts, added]
        # Parts of similar size are merged, so that each result is copied only a few times even if results come in small steps.
        while len(parts) > 1 and 2 * parts[-1].size >= parts[-2].size:
            parts[-2:] = [merged(parts[-2], parts[-1])]
        self.parts = tuple(parts)
        if self.is_full:
            raise MemoFullError
        return self.parts

    def everything(self) -> Part | None:
        """Return all cached results in the order of their row ids; None if there are none."""
        if len(self.parts) > 1:
            self.parts = (reduce(lambda last, part: merged(part, last), reversed(self.parts)),)
        return self.parts[0] if self.parts else None


def located(parts: Sequence[Part], numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row id the index of the part with its results, and the position within that part; -1 and -1 if it has none."""
    owners, positions = np.full(numbers.size, -1, dtype=np.int64), np.full(numbers.size, -1, dtype=np.int64)
    for owner, part in enumerate(parts):
        if part.numbers.size:
            candidates = np.minimum(np.searchsorted(part.numbers, numbers), part.numbers.size - 1)
            matches = part.numbers[candidates] == numbers
            owners[matches], positions[matches] = owner, candidates[matches]
    return owners, positions


def gathered(parts: Sequence[Part], numbers: np.ndarray) -> Chunk:
    """Return the results of row ids in the given order; all of them must have results."""
    owners, positions = located(parts, numbers)
    used = np.unique(owners)
    if used.size < 2:
        part = parts[int(used[0])] if used.size else parts[0]
        return taken(part.rows, part.counts, positions)
    # For each part, the indices of its row ids in ``numbers``, and their positions within the part.
    indices = [np.flatnonzero(owners == owner) for owner in used]
    runs = [(parts[int(owner)], positions[of_part]) for owner, of_part in zip(used, indices, strict=True)]
    rows = reduce(joined, (taken(part.rows, part.counts, chosen) for part, chosen in runs))
    counts = np.concatenate([part.counts[chosen] for part, chosen in runs])
    return taken(rows, counts, np.argsort(np.concatenate(indices)))


def merged(first: Part, second: Part) -> Part:
    """Return one part with the results of two."""
    numbers, counts = np.concatenate([first.numbers, second.numbers]), np.concatenate([first.counts, second.counts])
    rows = joined(first.rows, second.rows)
    if first.numbers.size and second.numbers.size and second.numbers[0] < first.numbers[-1]:
        order = np.argsort(numbers, kind="stable")
        numbers, counts, rows = numbers[order], counts[order], taken(rows, counts, order)
    return Part(numbers, counts, rows)


def taken(rows: Chunk, counts: np.ndarray, positions: np.ndarray) -> Chunk:
    """Return the result rows of some positions, where position *i* has ``counts[i]`` consecutive rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> taken(Chunk.of([pa.array(["a", "b", "c"])]), np.array([2, 0, 1]), np.array([2, 0])).columns[0].to_pylist()
    ['c', 'a', 'b']
    """
    if counts.size == rows.rows and bool((counts == 1).all()):
        chosen = positions
    else:
        starts, sizes = (np.cumsum(counts) - counts)[positions], counts[positions]
        chosen = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    return rows.rows_at(chosen)


# Results are measured after each step. The number of rows in the first step, the largest number in a step, and the factor by which a step may have
# more rows than the step before it.
FIRST_STEP = 16
LARGEST_STEP = 16_384
STEP_GROWTH = 4
# The results of a step, estimated from the previous step, should fill at most one part in this many of a batch.
PARTS_OF_BATCH = 8
# Within a step, each string longer than LONG_TEXT is measured, and one in ROWS_PER_CHECK of the other results.
LONG_TEXT = 1_024
ROWS_PER_CHECK = 32

# Calls a function for rows given by position, and yields the positions and results in steps.
CallInSteps = Callable[[np.ndarray], Iterator[tuple[np.ndarray, Chunk]]]


@attrs.define(eq=False)
class Steps:
    """The number of rows for which a function is called before its results are measured.

    Parameters
    ----------
    rows
        Number of rows in the next step.
    max_bytes
        The most bytes that the results of a step should take.

    Examples
    --------
    >>> steps = Steps.of(8_000)
    >>> steps.rows, steps.max_bytes
    (16, 1000.0)
    >>> steps.saw(16, pa.array(["a" * 100] * 16))
    >>> steps.rows
    9
    """

    rows: int
    max_bytes: float = math.inf

    @classmethod
    def of(cls, max_bytes: int) -> Steps:
        """Return steps for batches of at most ``max_bytes``; a batch takes several steps."""
        return cls(FIRST_STEP, max(1.0, max_bytes / PARTS_OF_BATCH))

    def saw(self, rows: int, results: pa.Array | Chunk) -> None:
        """Adapt the number of rows of the next step to the size of the results for some rows."""
        size = results.size if isinstance(results, Chunk) else results.nbytes
        fitting = self.max_bytes * rows / max(size, 1)
        self.rows = max(1, int(min(fitting, STEP_GROWTH * self.rows, LARGEST_STEP)))


@attrs.define(eq=False)
class MadeResults:
    """Results of one use of a function for the rows of the current batch and for later rows that have been computed already.

    Parameters
    ----------
    max_bytes
        Approximate limit of the bytes that the results of a batch may take.
    alone
        Whether no other function is called for the same batches.
    may_cut
        Whether the batch can be tried again with fewer rows.
    in_turn
        Whether rows without row ids come again in the same order when a batch is tried again.
    """

    max_bytes: int
    alone: bool = False
    may_cut: bool = False
    in_turn: bool = False
    _parts: tuple[Part, ...] = ()
    _used: np.ndarray | None = None
    _is_numbered: bool = False

    def begin(self, may_cut: bool, in_turn: bool) -> None:
        """Begin a batch, or begin it again."""
        self.may_cut, self.in_turn, self._used = may_cut, in_turn, None

    def completed(self, numbers: np.ndarray | None, rows: int, call: CallInSteps, memo: CallMemo | None = None) -> Chunk:
        """Return the results of the rows of the batch, in order.

        Parameters
        ----------
        numbers
            The row ids, without duplicates; None: rows have no ids, and are the next rows in order.
        rows
            Number of rows.
        call
            Calls the function for rows given by position.
        memo
            A memo that caches results, if there is one.

        Raises
        ------
        ResultsTooLongError
            If the results are too large for one batch. The results computed so far are kept for the next attempt.

        Examples
        --------
        >>> def call(positions):
        ...     for position in positions:
        ...         yield positions[position : position + 1], Chunk.of([pa.array(["abc"])])
        >>> made = MadeResults(3)
        >>> made.begin(may_cut=True, in_turn=True)
        >>> made.completed(None, 3, call)
        Traceback (most recent call last):
            ...
        sframe_spark.errors.ResultsTooLongError: the results of 1 of 3 rows fill a batch
        >>> made.completed(None, 1, None).columns[0].to_pylist()
        ['abc']
        """
        ids = np.arange(rows) if numbers is None else numbers
        self._used, self._is_numbered = ids, numbers is not None
        keeps = self.in_turn or numbers is not None
        self._parts = before = self._parts if keeps else ()
        missing = np.flatnonzero(located(before, ids)[0] < 0) if before else np.arange(rows)
        if rows and not missing.size:
            return gathered(before, ids)
        room = self.max_bytes - size_of(before, rows - missing.size) if keeps and self.may_cut else math.inf
        if room < 0 and missing.size < rows:
            raise ResultsTooLongError(rows - missing.size, rows)
        positions, results = self._computed(missing, call, room)
        part = part_of(ids[positions], results)
        is_cut = positions.size < missing.size
        if is_cut and memo is not None:
            memo.record(part)
        elif keeps and memo is None and (is_cut or not self.alone):
            # Kept even if the batch is complete, because the results of another function may be too large for it.
            self._parts = (*before, part)
        if is_cut:
            raise ResultsTooLongError(rows - missing.size + positions.size, rows)
        return results if not before and np.array_equal(positions, missing) else gathered((*before, part), ids)

    def _computed(self, missing: np.ndarray, call: CallInSteps, room: float) -> tuple[np.ndarray, Chunk]:
        """Call the function until its results exceed ``room`` bytes; return the positions of the rows that were computed, and the results."""
        positions, results, size = list[np.ndarray](), list[Chunk](), 0
        for step_positions, step_results in call(missing):
            positions.append(step_positions)
            results.append(step_results)
            size += step_results.size
            if size > room:
                break
        return np.concatenate(positions), results[0] if len(results) == 1 else stacked(results)

    def release(self) -> None:
        """Forget the results of the current batch after it has been completed."""
        used = self._used
        if used is not None and sum(part.numbers.size for part in self._parts) > used.size:
            rest = [part.without(np.isin(part.numbers, used)) for part in self._parts]
            # Rows without row ids are numbered from zero in each batch.
            first = 0 if self._is_numbered else used.size
            self._parts = tuple(attrs.evolve(part, numbers=part.numbers - first) for part in rest if part.numbers.size)
        elif used is not None:
            self._parts = ()
        self._used = None


def keeping(memo: CallMemo | None) -> CallMemo | None:
    """Return the memo if it caches new results, otherwise None."""
    return memo if memo is not None and memo.keeps else None


def min_size(value: Any) -> int:
    """Return a lower bound of the bytes of a result, from its strings and numbers; 0 if it cannot be measured.

    Examples
    --------
    >>> min_size("abc"), min_size([1.5, "abc"]), min_size({"a": [None, 2]})
    (3, 11, 17)
    """
    try:
        return _min_size(value)
    except Exception:
        # The value contains itself, or its class fails. Storing it in a column raises an error that names the row.
        return 0


def _min_size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_min_size, value)) + sum(map(_min_size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_min_size, value))
    return int(getattr(value, "nbytes", 8))


def size_of(parts: Sequence[Part], rows: int) -> float:
    """Estimate the bytes that ``rows`` rows take, from the average of some parts; 0 if the parts have no rows."""
    cached = sum(part.numbers.size for part in parts)
    return rows * sum(part.rows.size for part in parts) / cached if cached else 0.0


def part_of(numbers: np.ndarray, rows: Chunk) -> Part:
    """Return a part with results of row ids in any order, one result row each."""
    if bool((np.diff(numbers) < 0).any()):
        order = np.argsort(numbers)
        numbers, rows = numbers[order], rows.rows_at(order)
    return Part(numbers, np.ones(numbers.size, dtype=np.int64), rows)


LARGEST_FLOAT = int(sys.float_info.max)
_NO_NUMBERS = (pa.ArrowException, OverflowError, TypeError, ValueError)


@attrs.frozen
class Guess:
    """Marks a result type that was inferred from the function's results for the first rows.

    Parameters
    ----------
    rounded
        Columns that are float because the first rows have ints beyond 64 bits. These ints are rounded, so later ints may be rounded, too.
    """

    rounded: tuple[int, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[tuple[ColumnType, Sequence[Any]]]) -> Guess:
        """Return the guess for columns, from the type and the first values of each.

        Examples
        --------
        >>> Guess.of([(INT, [1]), (FLOAT, [1, 2**64]), (FLOAT, [1.5, None])])
        Guess(rounded=(1,))
        """
        return cls(tuple(index for index, (column_type, values) in enumerate(columns) if column_type == FLOAT and any(map(_is_wide_int, values))))


def stored_results(results: Sequence[Any], column_type: ColumnType, guess: Guess | None = None, place: int = 0) -> pa.Array:
    """Return the results of a function for consecutive rows as one of its columns; ``place`` is the index of the column.

    Results are converted to a type that the user requested, for example 2.5 to the int 2. If the type was inferred from the first rows (``guess``),
    results must not change: fractions and digits of large ints would be lost, dates would become numbers, and numbers dates. Ints beyond 64 bits
    among the first rows are an exception: the column is then float, as in Turi Create.

    Raises
    ------
    SchemaError
        If a result cannot be stored.

    Examples
    --------
    >>> stored_results([1, None, 2.5], INT).to_pylist()
    [1, None, 2]
    >>> stored_results([1, None, 2.5], INT, Guess())
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 2.5 (float) is not int, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, Guess())
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 9007199254740993 (int) is not float, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, Guess.of([(FLOAT, [2**70])])).to_pylist()
    [None, 9007199254740992.0]
    """
    if guess is None or (column_type not in (INT, FLOAT) and column_type.kind != DATETIME_KIND):
        return encode(results, column_type)
    column = _unchanged(results, column_type) if column_type.is_numeric else None
    if column is not None:
        return column
    for result in results:
        _require_unchanged(result, column_type, place in guess.rounded)
    return encode(results, column_type)


def _unchanged(results: Sequence[Any], column_type: ColumnType) -> pa.Array | None:
    """Return the column if Arrow can tell that the type holds all results unchanged; None if not. A bool counts as an int."""
    try:
        # If Arrow knew the type, it would truncate floats to ints.
        column = arrow_floats(results) if column_type == FLOAT else pa.array(results)
    except _NO_NUMBERS:
        return None
    return column.cast(column_type.physical) if column.type in (column_type.physical, pa.bool_()) else None


def _require_unchanged(result: Any, column_type: ColumnType, may_round: bool) -> None:
    family = family_of(type(result))
    # A value that is neither a date nor a number causes an error when it is stored.
    fits = family not in NUMBERS if column_type.kind == DATETIME_KIND else family == MISSING or family in NUMBERS
    if not fits or (family in NUMBERS and not may_round and _changes(result, column_type)):
        raise SchemaError(f"{brief(result, 80)} ({type(result).__name__}) is not {column_type.kind}, as the first results were")


def _changes(result: Any, column_type: ColumnType) -> bool:
    """Return whether storing a number in a column would change it. A decimal stored as a float counts as unchanged."""
    number = plain_number(result)
    if column_type == INT:
        return int_equal_to(number) is None
    return family_of(type(result)) == INT_KIND and float(number) != int(result)


def advice_on(result: Any, column_type: ColumnType, guess: Guess | None, call: str, floats: str, ints: str) -> str:
    """Return advice on a result that its column cannot hold.

    Parameters
    ----------
    result, column_type, guess
        The result, the type of the column, and how it was inferred; None: the user has requested it.
    call
        The call that the user should change.
    floats, ints
        The arguments for the call that make the column float, or int.
    """
    if column_type == DATETIME and getattr(result, "tzinfo", None) is not None:
        return "it has an offset from UTC, but those of the first rows have none: give all of them one, or none"
    if _is_wide_int(result) and abs(int(result)) > LARGEST_FLOAT:
        return "it is beyond the largest float: let the function return its text"
    is_number = isinstance(result, (int, float, np.integer, np.floating))
    if column_type == INT and is_number and guess is not None:
        return f"the first rows gave ints; pass {floats} to {call}"
    if column_type == INT and (_is_wide_int(result) or (is_number and not abs(result) < 2.0**63)):
        return f"an int has 64 bits; pass {floats} to {call}{', which loses digits' if _is_wide_int(result) else ''}"
    if column_type == FLOAT and guess is not None and isinstance(result, (int, np.integer)):
        message = "the first rows gave floats or None, but this is an int"
        if _is_wide_int(result):
            return f"{message}; pass {floats} to {call}, which loses digits"
        return f"{message}; pass {ints} to {call} if all are ints, or {floats}, which loses digits"
    return f"pass another {floats.partition('=')[0]} to {call}, or convert the value in the function"


def _is_wide_int(value: Any) -> bool:
    """Return whether a value is an int that needs more than 64 bits."""
    return isinstance(value, (int, np.integer)) and not SMALLEST_INT <= int(value) <= LARGEST_INT
