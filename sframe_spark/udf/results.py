"""Results of users' functions: memoized by row id, measured while they are made, and stored as columns."""

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
from sframe_spark.values.encode import arrow_floats, encode
from sframe_spark.values.value_model import LARGEST_INT, MISSING, NUMBERS, SMALLEST_INT, family_of, int_equal_to, plain_number

# Calls a function for rows given by index; returns its results and the number of result rows of each row (None: one).
MemoCall = Callable[[np.ndarray], tuple[Chunk, np.ndarray | None]]
# Memoized results that stay in memory at most; beyond that all rows are computed and stored.
MAX_BYTES = 64 << 20


@attrs.frozen(eq=False)
class Part:
    """Results of some rows.

    Parameters
    ----------
    numbers
        The rows, ascending.
    counts
        How many result rows belong to each.
    rows
        The result rows.
    """

    numbers: np.ndarray
    counts: np.ndarray
    rows: Chunk

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.numbers.nbytes + self.rows.size

    def without(self, known: np.ndarray) -> Part:
        """Return the results of the rows that a mask does not mark as known."""
        places = np.flatnonzero(~known)
        return self if places.size == known.size else Part(self.numbers[places], self.counts[places], taken(self.rows, self.counts, places))

    def moved(self, by: int) -> Part:
        """Return the same results for rows whose numbers are larger by some amount."""
        return Part(self.numbers + by, self.counts, self.rows)


@attrs.define(eq=False)
class CallMemo:
    """Memoized results of one application of a function, by row id.

    The application's node keeps it while only some rows have been computed. Only the holder of the node's claim adds results.

    Parameters
    ----------
    keeps
        Whether new results are remembered; not if all results are stored in another place anyway.
    parts
        The known results, the largest part first, so that a few more cost no copy of all. One tuple, so that readers see no half-done change.
    callers
        Threads that are inside the function now.
    """

    keeps: bool = True
    parts: tuple[Part, ...] = ()
    callers: list[int] = attrs.Factory(list)

    @property
    def size(self) -> int:
        """Bytes of the results in memory."""
        return sum(part.rows.size for part in self.parts)

    @property
    def is_full(self) -> bool:
        """Whether these are more results than memory should hold."""
        return self.size > MAX_BYTES

    @property
    def known(self) -> int:
        """Number of rows that have results."""
        return sum(part.numbers.size for part in self.parts)

    @property
    def is_called(self) -> bool:
        """Whether this thread is inside the function: what it asks for cannot wait for its own result."""
        return threading.get_ident() in self.callers

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """A block in which the function is called."""
        own = threading.get_ident()
        self.callers.append(own)
        try:
            yield
        finally:
            self.callers.remove(own)

    def knows_none(self, numbers: np.ndarray) -> bool:
        """Return whether none of some rows, which all differ, has results."""
        return bool((np.diff(numbers) > 0).all()) and not bool((located(self.parts, numbers)[0] >= 0).any())

    def sent(self) -> CallMemo:
        """Return the memo for a Spark task or a materialization, which store their results otherwise."""
        return CallMemo(False, self.parts, self.callers)

    def completed(self, numbers: np.ndarray, call: MemoCall) -> Chunk:
        """Return the result rows for rows given by number, in that order; the function is called for those that are not known.

        Examples
        --------
        >>> import pyarrow as pa
        >>> memo = CallMemo()
        >>> twice = lambda places: (Chunk.of([pa.array(places * 2)]), None)
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
            found, counts = call(unknown[first])
            added = Part(fresh, np.ones(fresh.size, dtype=np.int64) if counts is None else counts, found)
            parts = self.record(added) if self.keeps else (*parts, added)
        return gathered(parts, numbers)

    def record(self, added: Part) -> tuple[Part, ...]:
        """Remember results, except for rows that have some already, and return all that is known then.

        Raises
        ------
        MemoFullError
            If the results are too large for memory.
        """
        # The function itself may have read these rows through another column.
        added = added.without(located(self.parts, added.numbers)[0] >= 0)
        parts = [*self.parts, added]
        # Parts of similar size are merged: each result is copied a few times only, however small the steps are.
        while len(parts) > 1 and 2 * parts[-1].size >= parts[-2].size:
            parts[-2:] = [merged(parts[-2], parts[-1])]
        self.parts = tuple(parts)
        if self.is_full:
            raise MemoFullError
        return self.parts

    def everything(self) -> Part | None:
        """Return all results, in the order of their rows; None if there are none."""
        if len(self.parts) > 1:
            self.parts = (reduce(lambda last, part: merged(part, last), reversed(self.parts)),)
        return self.parts[0] if self.parts else None


def located(parts: Sequence[Part], numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return in which part, and where in it, the results of rows are; -1 for rows that have none."""
    owners, places = np.full(numbers.size, -1, dtype=np.int64), np.full(numbers.size, -1, dtype=np.int64)
    for owner, part in enumerate(parts):
        if part.numbers.size:
            found = np.minimum(np.searchsorted(part.numbers, numbers), part.numbers.size - 1)
            here = part.numbers[found] == numbers
            owners[here], places[here] = owner, found[here]
    return owners, places


def gathered(parts: Sequence[Part], numbers: np.ndarray) -> Chunk:
    """Return the results of rows, all of which have some, in the order given."""
    owners, places = located(parts, numbers)
    used = np.unique(owners)
    if used.size < 2:
        part = parts[int(used[0])] if used.size else parts[0]
        return taken(part.rows, part.counts, places)
    chosen = [np.flatnonzero(owners == owner) for owner in used]
    runs = [(parts[int(owner)], places[rows]) for owner, rows in zip(used, chosen, strict=True)]
    rows = reduce(joined, (taken(part.rows, part.counts, found) for part, found in runs))
    counts = np.concatenate([part.counts[found] for part, found in runs])
    return taken(rows, counts, np.argsort(np.concatenate(chosen)))


def merged(first: Part, second: Part) -> Part:
    """Merge two parts."""
    numbers, counts = np.concatenate([first.numbers, second.numbers]), np.concatenate([first.counts, second.counts])
    rows = joined(first.rows, second.rows)
    if first.numbers.size and second.numbers.size and second.numbers[0] < first.numbers[-1]:
        order = np.argsort(numbers, kind="stable")
        numbers, counts, rows = numbers[order], counts[order], taken(rows, counts, order)
    return Part(numbers, counts, rows)


def taken(rows: Chunk, counts: np.ndarray, places: np.ndarray) -> Chunk:
    """Return the result rows of some entries, where entry *i* has ``counts[i]`` consecutive rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> taken(Chunk.of([pa.array(["a", "b", "c"])]), np.array([2, 0, 1]), np.array([2, 0])).columns[0].to_pylist()
    ['c', 'a', 'b']
    """
    if counts.size == rows.rows and bool((counts == 1).all()):
        chosen = places
    else:
        starts, sizes = (np.cumsum(counts) - counts)[places], counts[places]
        chosen = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    return rows.rows_at(chosen)


# Rows per step, after which results are measured: at first, and at most.
FIRST_STEP = 16
LARGEST_STEP = 16_384
STEP_GROWTH = 4
# A step may fill one such part of a batch, judging by the results of the step before.
PARTS_OF_BATCH = 8
# Within a step, strings longer than this are measured, and one of so many other results.
LONG_TEXT = 1_024
ROWS_PER_CHECK = 32

# Calls a function for rows given by their places, some of them at a time.
Made = Callable[[np.ndarray], Iterator[tuple[np.ndarray, Chunk]]]


@attrs.define(eq=False)
class Steps:
    """How many rows a function is called for before its results are measured.

    Parameters
    ----------
    rows
        Rows of the next step.
    max_bytes
        What results should take at most before they are measured.

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
        """Return steps of which a few make a batch of some number of bytes."""
        return cls(FIRST_STEP, max(1.0, max_bytes / PARTS_OF_BATCH))

    def saw(self, rows: int, found: pa.Array | Chunk) -> None:
        """Take note of the results for some rows."""
        size = found.size if isinstance(found, Chunk) else found.nbytes
        fitting = self.max_bytes * rows / max(size, 1)
        self.rows = max(1, int(min(fitting, STEP_GROWTH * self.rows, LARGEST_STEP)))


@attrs.define(eq=False)
class MadeResults:
    """Results of one application of a function for the rows of the current batch, and for rows that come next.

    Parameters
    ----------
    max_bytes
        About how many bytes the results of a batch may take.
    alone
        Whether no other function is called for the same batches.
    may_cut
        Whether the batch can be tried again with fewer rows.
    in_turn
        Rows without numbers come again in the same order.
    """

    max_bytes: int
    alone: bool = False
    may_cut: bool = False
    in_turn: bool = False
    _parts: tuple[Part, ...] = ()
    _used: np.ndarray | None = None
    _is_numbered: bool = False

    def begin(self, may_cut: bool, in_turn: bool) -> None:
        """Begin a batch, or try it again."""
        self.may_cut, self.in_turn, self._used = may_cut, in_turn, None

    def completed(self, numbers: np.ndarray | None, rows: int, call: Made, memo: CallMemo | None = None) -> Chunk:
        """Return the results of rows, in their order.

        Parameters
        ----------
        numbers
            The row ids, which all differ; None: rows have no ids, and are those that come next.
        rows
            How many there are.
        call
            Calls the function for rows by their places.
        memo
            Where results are remembered anyway.

        Raises
        ------
        ResultsTooLongError
            If they are too many bytes for one batch. Those that were made wait.

        Examples
        --------
        >>> def call(places):
        ...     for place in places:
        ...         yield places[place : place + 1], Chunk.of([pa.array(["abc"])])
        >>> made = MadeResults(3)
        >>> made.begin(may_cut=True, in_turn=True)
        >>> made.completed(None, 3, call)
        Traceback (most recent call last):
            ...
        sframe_spark.errors.ResultsTooLongError: 1 of 3 rows have results that are enough for a batch
        >>> made.completed(None, 1, None).columns[0].to_pylist()
        ['abc']
        """
        known = np.arange(rows) if numbers is None else numbers
        self._used, self._is_numbered = known, numbers is not None
        waits = self.in_turn or numbers is not None
        self._parts = before = self._parts if waits else ()
        missing = np.flatnonzero(located(before, known)[0] < 0) if before else np.arange(rows)
        if rows and not missing.size:
            return gathered(before, known)
        room = self.max_bytes - size_of(before, rows - missing.size) if waits and self.may_cut else math.inf
        if room < 0 and missing.size < rows:
            raise ResultsTooLongError(rows - missing.size, rows)
        places, found = self._made(missing, call, room)
        part = part_of(known[places], found)
        is_cut = places.size < missing.size
        if is_cut and memo is not None:
            memo.record(part)
        elif waits and memo is None and (is_cut or not self.alone):
            # Also where the batch is complete: another function's results may be too long for it.
            self._parts = (*before, part)
        if is_cut:
            raise ResultsTooLongError(rows - missing.size + places.size, rows)
        return found if not before and np.array_equal(places, missing) else gathered((*before, part), known)

    def _made(self, missing: np.ndarray, call: Made, room: float) -> tuple[np.ndarray, Chunk]:
        """Call the function until the results fill the room; return the places of these rows, and the results."""
        places, found, size = list[np.ndarray](), list[Chunk](), 0
        for at, made in call(missing):
            places.append(at)
            found.append(made)
            size += made.size
            if size > room:
                break
        return np.concatenate(places), found[0] if len(found) == 1 else stacked(found)

    def release(self) -> None:
        """Forget the results of the batch, which is complete."""
        if self._used is not None and sum(part.numbers.size for part in self._parts) > self._used.size:
            rest = [part.without(np.isin(part.numbers, self._used)) for part in self._parts]
            self._parts = tuple(part if self._is_numbered else part.moved(-self._used.size) for part in rest if part.numbers.size)
        elif self._used is not None:
            self._parts = ()
        self._used = None


def keeping(memo: CallMemo | None) -> CallMemo | None:
    """Return the memo if it remembers new results."""
    return memo if memo is not None and memo.keeps else None


def min_size(value: Any) -> int:
    """Return a lower bound for the bytes of a result, from its strings and numbers; 0 for one that no column can hold.

    Examples
    --------
    >>> min_size("abc"), min_size([1.5, "abc"]), min_size({"a": [None, 2]})
    (3, 11, 17)
    """
    try:
        return _min_size(value)
    except Exception:
        # Nested without end, or of a class that cannot tell: the column says so, and names the row.
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
    """Return about how many bytes a number of the rows of some parts take."""
    known = sum(part.numbers.size for part in parts)
    return rows * sum(part.rows.size for part in parts) / known if known else 0.0


def part_of(numbers: np.ndarray, rows: Chunk) -> Part:
    """Make a part of results of rows given by number, one each, in any order."""
    if bool((np.diff(numbers) < 0).any()):
        order = np.argsort(numbers)
        numbers, rows = numbers[order], rows.rows_at(order)
    return Part(numbers, np.ones(numbers.size, dtype=np.int64), rows)


LARGEST_FLOAT = int(sys.float_info.max)
_NO_NUMBERS = (pa.ArrowException, OverflowError, TypeError, ValueError)


@attrs.frozen
class Guess:
    """Marks that the types of a function's results were inferred from its results for the first rows.

    Parameters
    ----------
    rounded
        Columns that are floats because of ints beyond 64 bits: these are rounded, so later ints may be rounded too.
    """

    rounded: tuple[int, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[tuple[ColumnType, Sequence[Any]]]) -> Guess:
        """From the type and the first values of each column.

        Examples
        --------
        >>> Guess.of([(INT, [1]), (FLOAT, [1, 2**64]), (FLOAT, [1.5, None])])
        Guess(rounded=(1,))
        """
        return cls(tuple(place for place, (column_type, values) in enumerate(columns) if column_type == FLOAT and any(map(_is_wide_int, values))))


def stored_results(results: Sequence[Any], column_type: ColumnType, guess: Guess | None = None, place: int = 0) -> pa.Array:
    """Store what a function gave for rows, in their order, in one of its columns.

    A class that was asked for takes what becomes a value of it, as 2.5 becomes the int 2. Nobody asked for one that the first rows told, who may have
    given None only: later rows that gave another number would lose their fraction, or the last digits of large ints, dates would become numbers, and
    numbers dates. Ints that no column of ints holds are floats, as in the reference, if there are some in the first rows.

    Raises
    ------
    SchemaError
        If a result does not fit.

    Examples
    --------
    >>> stored_results([1, None, 2.5], INT).to_pylist()
    [1, None, 2]
    >>> stored_results([1, None, 2.5], INT, Guess())
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 2.5 (float) is no int, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, Guess())
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 9007199254740993 (int) is no float, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, Guess.of([(FLOAT, [2**70])])).to_pylist()
    [None, 9007199254740992.0]
    """
    if guess is None or (column_type not in (INT, FLOAT) and column_type.kind != DATETIME_KIND):
        return encode(results, column_type)
    found = _unchanged(results, column_type) if column_type.is_numeric else None
    if found is not None:
        return found
    for result in results:
        _require_unchanged(result, column_type, place in guess.rounded)
    return encode(results, column_type)


def _unchanged(results: Sequence[Any], column_type: ColumnType) -> pa.Array | None:
    """Return the column if Arrow finds that all results are numbers of its class; truth values are ints."""
    try:
        # Asked for ints, Arrow would cut floats.
        found = arrow_floats(results) if column_type == FLOAT else pa.array(results)
    except _NO_NUMBERS:
        return None
    return found.cast(column_type.physical) if found.type in (column_type.physical, pa.bool_()) else None


def _require_unchanged(result: Any, column_type: ColumnType, may_round: bool) -> None:
    family = family_of(type(result))
    # What is neither a date nor a number is told where it is stored.
    fits = family not in NUMBERS if column_type.kind == DATETIME_KIND else family == MISSING or family in NUMBERS
    if not fits or (family in NUMBERS and not may_round and _changes(result, column_type)):
        raise SchemaError(f"{brief(result, 80)} ({type(result).__name__}) is no {column_type.kind}, as the first results were")


def _changes(result: Any, column_type: ColumnType) -> bool:
    """Return whether a column of numbers would hold a number as another one; a float stands for its decimal."""
    number = plain_number(result)
    if column_type == INT:
        return int_equal_to(number) is None
    return family_of(type(result)) == INT_KIND and float(number) != int(result)


def advice_on(result: Any, column_type: ColumnType, guess: Guess | None, call: str, floats: str, ints: str) -> str:
    """Return what to do about a result that its column cannot hold.

    Parameters
    ----------
    call
        Which call to change.
    floats, ints
        What to give it, so that the column is one of floats, or of ints.
    """
    if column_type == DATETIME and getattr(result, "tzinfo", None) is not None:
        return "it has an offset from UTC, and those of the first rows have none: give all of them one, or none"
    if _is_wide_int(result) and abs(int(result)) > LARGEST_FLOAT:
        return "it is beyond the largest float: let the function return its text"
    is_number = isinstance(result, (int, float, np.integer, np.floating))
    if column_type == INT and is_number and guess is not None:
        return f"the first rows gave ints; give {call} {floats}"
    if column_type == INT and (_is_wide_int(result) or (is_number and not abs(result) < 2.0**63)):
        return f"an int has 64 bits; give {call} {floats}{', which loses digits' if _is_wide_int(result) else ''}"
    if column_type == FLOAT and guess is not None and isinstance(result, (int, np.integer)):
        message = "the first rows gave floats or None, and this int is none"
        if _is_wide_int(result):
            return f"{message}; give {call} {floats} to lose digits"
        return f"{message}; give {call} {ints} if all are ints, or {floats} to lose digits"
    return f"give {call} another {floats.partition('=')[0]}, or convert the value in the function"


def _is_wide_int(value: Any) -> bool:
    """Return whether a value is an int that needs more than 64 bits."""
    return isinstance(value, (int, np.integer)) and not SMALLEST_INT <= int(value) <= LARGEST_INT
