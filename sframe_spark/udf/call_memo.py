"""CallMemo: what a user's function gave for some rows of one column, so that no row is given to it again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import attrs
import numpy as np

from sframe_spark.errors import MemoFullError
from sframe_spark.planner.chunk import Chunk, joined

# Rows that a function is to be called for, by their places; what it gave, and how many rows of that belong to each (None: one).
MemoCall = Callable[[np.ndarray], tuple[Chunk, np.ndarray | None]]
# Results of looks at some rows that stay in memory; beyond that all rows are computed and stored.
MOST_BYTES = 64 << 20


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
        """The results of those rows that are not known, by a mask."""
        places = np.flatnonzero(~known)
        return self if places.size == known.size else Part(self.numbers[places], self.counts[places], taken(self.rows, self.counts, places))

    def moved(self, by: int) -> Part:
        """The same results for rows that are so many further on."""
        return Part(self.numbers + by, self.counts, self.rows)


@attrs.define(eq=False)
class CallMemo:
    """Results of one application of a function, by the number of the row that it was called with.

    The node of the application keeps it while only some rows have been looked at. It is filled by the one who holds the node's action.

    Parameters
    ----------
    keeps
        New results are remembered: not where all results are kept in another place.
    parts
        What is known, the largest part first, so that a few more results cost no copy of all. One value: who reads it sees nothing half done.
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
        """True when these are more results than memory should hold."""
        return self.size > MOST_BYTES

    @property
    def known(self) -> int:
        """How many rows have results."""
        return sum(part.numbers.size for part in self.parts)

    @property
    def is_called(self) -> bool:
        """True inside the function: what it asks for cannot wait for its own result."""
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
        """True when none of some rows, which all differ, has results."""
        return bool((np.diff(numbers) > 0).all()) and not bool((located(self.parts, numbers)[0] >= 0).any())

    def sent(self) -> CallMemo:
        """The memo for those whose results are kept otherwise: a Spark task, or a materialisation."""
        return CallMemo(False, self.parts, self.callers)

    def completed(self, numbers: np.ndarray, call: MemoCall) -> Chunk:
        """Result rows for rows given by number, in that order; the function is called for those that are not known.

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
        """Remember results, but for rows that have some already; all that is known then.

        Raises
        ------
        MemoFullError
            If it is too much now.
        """
        # The function itself may have looked at these rows through another column.
        added = added.without(located(self.parts, added.numbers)[0] >= 0)
        parts = [*self.parts, added]
        # Like with like: each result is copied a few times only, however small the steps are.
        while len(parts) > 1 and 2 * parts[-1].size >= parts[-2].size:
            parts[-2:] = [merged(parts[-2], parts[-1])]
        self.parts = tuple(parts)
        if self.is_full:
            raise MemoFullError
        return self.parts

    def everything(self) -> Part | None:
        """All results, in the order of their rows; None if there are none."""
        if len(self.parts) > 1:
            self.parts = (reduce(lambda last, part: merged(part, last), reversed(self.parts)),)
        return self.parts[0] if self.parts else None


def located(parts: Sequence[Part], numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In which part, and where in it, the results of rows are; -1 for rows that have none."""
    owners, places = np.full(numbers.size, -1, dtype=np.int64), np.full(numbers.size, -1, dtype=np.int64)
    for owner, part in enumerate(parts):
        if part.numbers.size:
            found = np.minimum(np.searchsorted(part.numbers, numbers), part.numbers.size - 1)
            here = part.numbers[found] == numbers
            owners[here], places[here] = owner, found[here]
    return owners, places


def gathered(parts: Sequence[Part], numbers: np.ndarray) -> Chunk:
    """The results of rows, all of which have some, in the order given."""
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
    """Both parts as one."""
    numbers, counts = np.concatenate([first.numbers, second.numbers]), np.concatenate([first.counts, second.counts])
    rows = joined(first.rows, second.rows)
    if first.numbers.size and second.numbers.size and second.numbers[0] < first.numbers[-1]:
        order = np.argsort(numbers, kind="stable")
        numbers, counts, rows = numbers[order], counts[order], taken(rows, counts, order)
    return Part(numbers, counts, rows)


def taken(rows: Chunk, counts: np.ndarray, places: np.ndarray) -> Chunk:
    """The runs of rows at some places, where runs of ``counts`` rows follow each other.

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
