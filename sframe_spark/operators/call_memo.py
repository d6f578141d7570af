"""CallMemo: what a user's function gave for some rows of one column, so that no row is given to it again."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from sframe_spark.planner.chunk import Chunk, joined

# Rows that a function is to be called for, by their places; what it gave, and how many rows of that belong to each (None: one).
Call = Callable[[np.ndarray], tuple[Chunk, np.ndarray | None]]
# Results of looks at some rows that stay in memory; beyond that all rows are computed and stored.
MOST_BYTES = 64 << 20
NO_ROWS = np.zeros(0, dtype=np.int64)


class MemoFullError(Exception):
    """A memo has more results than memory should hold: its node is to be materialised. What it has stays."""


@attrs.define(eq=False)
class CallMemo:
    """Results of one application of a function, by the number of the row that it was called with.

    The node of the application keeps it while only some rows have been looked at. It is read and filled by the one who holds the node's action.

    Parameters
    ----------
    keeps
        New results are remembered: not where all results are kept in another place.
    numbers
        Rows that have results, ascending.
    counts
        How many result rows belong to each.
    results
        The result rows.
    """

    keeps: bool = True
    numbers: np.ndarray = NO_ROWS
    counts: np.ndarray = NO_ROWS
    results: Chunk | None = None

    @property
    def bytes(self) -> int:
        """Size of the results in memory."""
        return sum(column.nbytes for column in self.results.columns) if self.results is not None else 0

    def knows_none(self, numbers: np.ndarray) -> bool:
        """True when none of some rows, which all differ, has results."""
        return bool((np.diff(numbers) > 0).all()) and not bool((self.places(numbers) >= 0).any())

    def sent(self) -> CallMemo:
        """The memo for those whose results are kept otherwise: a Spark task, or a materialisation."""
        return CallMemo(False, self.numbers, self.counts, self.results)

    def completed(self, numbers: np.ndarray, call: Call) -> Chunk:
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
        places = self.places(numbers)
        unknown = np.flatnonzero(places < 0)
        if not self.keeps and unknown.size == numbers.size and self.knows_none(numbers):
            return call(unknown)[0]
        if not unknown.size and self.results is not None:
            return taken(self.results, self.counts, places)
        fresh, first, again = np.unique(numbers[unknown], return_index=True, return_inverse=True)
        found, counts = call(unknown[first])
        counts = np.ones(fresh.size, dtype=np.int64) if counts is None else counts
        places[unknown] = self.numbers.size + again
        everything = found if self.results is None else joined(self.results, found)
        answer = taken(everything, np.concatenate([self.counts, counts]), places)
        if self.keeps:
            self.record(fresh, counts, found)
        return answer

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Where the results of rows are; -1 for rows that have none."""
        if not self.numbers.size:
            return np.full(numbers.size, -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.numbers, numbers), self.numbers.size - 1)
        return np.where(self.numbers[places] == numbers, places, -1)

    def record(self, numbers: np.ndarray, counts: np.ndarray, found: Chunk) -> None:
        """Remember the results of rows that had none; numbers ascend."""
        everything = found if self.results is None else joined(self.results, found)
        rows, sizes = np.concatenate([self.numbers, numbers]), np.concatenate([self.counts, counts])
        if self.numbers.size and numbers.size and numbers[0] < self.numbers[-1]:
            order = np.argsort(rows, kind="stable")
            rows, sizes, everything = rows[order], sizes[order], taken(everything, sizes, order)
        self.numbers, self.counts, self.results = rows, sizes, everything
        if self.bytes > MOST_BYTES:
            raise MemoFullError


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
