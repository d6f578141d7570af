"""MadeResults: results of a user's function are measured while they are made, so that a batch of rows ends where they are enough.

Nobody knows how long they are before. A batch that turns out too large is given up by an error and tried again with fewer rows; what was made
for it waits, and no row is given to the function again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import ResultsTooLongError
from sframe_spark.planner.chunk import Chunk, stacked
from sframe_spark.udf.call_memo import CallMemo, Part, gathered, located

# Rows that a function is called for before its results are measured: at first, and at most.
FIRST_STEP = 16
LARGEST_STEP = 16_384
STEP_GROWTH = 4
# The part of what a batch may take that one step may, by the look of the last one.
PARTS_OF_BATCH = 8
# Within a step longer texts are counted, and one of so many other results is looked at.
LONG_TEXT = 1_024
ROWS_PER_LOOK = 32

# Results of rows given by their places: of some of these places at a time.
Made = Callable[[np.ndarray], Iterator[tuple[np.ndarray, Chunk]]]


@attrs.define(eq=False)
class Steps:
    """How many rows a function is called for before its results are measured.

    Parameters
    ----------
    rows
        Rows of the next step.
    most_bytes
        What results should take at most before they are measured.

    Examples
    --------
    >>> steps = Steps.of(8_000)
    >>> steps.rows, steps.most_bytes
    (16, 1000.0)
    >>> steps.saw(16, pa.array(["a" * 100] * 16))
    >>> steps.rows
    9
    """

    rows: int
    most_bytes: float = math.inf

    @classmethod
    def of(cls, most_bytes: int) -> Steps:
        """Steps of which a few make a batch of so many bytes."""
        return cls(FIRST_STEP, max(1.0, most_bytes / PARTS_OF_BATCH))

    def saw(self, rows: int, found: pa.Array | Chunk) -> None:
        """Take note of the results for some rows."""
        size = found.size if isinstance(found, Chunk) else found.nbytes
        fitting = self.most_bytes * rows / max(size, 1)
        self.rows = max(1, int(min(fitting, STEP_GROWTH * self.rows, LARGEST_STEP)))


@attrs.define(eq=False)
class MadeResults:
    """What one application of a function gave for the rows of the batch that is being computed, and for rows that come next.

    Parameters
    ----------
    most_bytes
        What the results for a batch should take at most, about.
    alone
        No other function is called for the same batches.
    may_cut
        Whether the batch can be tried again with fewer rows.
    in_turn
        Rows without numbers come again in the same order.
    """

    most_bytes: int
    alone: bool = False
    may_cut: bool = False
    in_turn: bool = False
    _parts: tuple[Part, ...] = ()
    _used: np.ndarray | None = None
    _is_numbered: bool = False

    def begin(self, may_cut: bool, in_turn: bool) -> None:
        """A batch begins, or is tried again."""
        self.may_cut, self.in_turn, self._used = may_cut, in_turn, None

    def completed(self, numbers: np.ndarray | None, rows: int, call: Made, memo: CallMemo | None = None) -> Chunk:
        """Results for rows, in their order.

        Parameters
        ----------
        numbers
            The numbers of the rows, which all differ; None: they have none, and are those that come next.
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
        room = self.most_bytes - size_of(before, rows - missing.size) if waits and self.may_cut else math.inf
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
        """Places and results of the rows that the function was called for, until they fill the room there is."""
        places, found, size = list[np.ndarray](), list[Chunk](), 0
        for at, made in call(missing):
            places.append(at)
            found.append(made)
            size += made.size
            if size > room:
                break
        return np.concatenate(places), found[0] if len(found) == 1 else stacked(found)

    def release(self) -> None:
        """The batch is complete: what was made for its rows is let go."""
        if self._used is not None and sum(part.numbers.size for part in self._parts) > self._used.size:
            rest = [part.without(np.isin(part.numbers, self._used)) for part in self._parts]
            self._parts = tuple(part if self._is_numbered else part.moved(-self._used.size) for part in rest if part.numbers.size)
        elif self._used is not None:
            self._parts = ()
        self._used = None


def keeping(memo: CallMemo | None) -> CallMemo | None:
    """The memo if it remembers what is made."""
    return memo if memo is not None and memo.keeps else None


def weight(value: Any) -> int:
    """Bytes of a result, at least: of its texts and its numbers; those of one that no column can hold are not counted.

    Examples
    --------
    >>> weight("abc"), weight([1.5, "abc"]), weight({"a": [None, 2]})
    (3, 11, 17)
    """
    try:
        return _weight(value)
    except Exception:
        # Nested without end, or of a class that cannot tell: the column says so, and names the row.
        return 0


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_weight, value)) + sum(map(_weight, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_weight, value))
    return int(getattr(value, "nbytes", 8))


def size_of(parts: Sequence[Part], rows: int) -> float:
    """About how many bytes some of the rows of parts take."""
    known = sum(part.numbers.size for part in parts)
    return rows * sum(part.rows.size for part in parts) / known if known else 0.0


def part_of(numbers: np.ndarray, rows: Chunk) -> Part:
    """Results of rows given by number, one each, in any order."""
    if bool((np.diff(numbers) < 0).any()):
        order = np.argsort(numbers)
        numbers, rows = numbers[order], rows.rows_at(order)
    return Part(numbers, np.ones(numbers.size, dtype=np.int64), rows)
