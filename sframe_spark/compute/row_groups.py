"""Rows with a group code each, in any order: sums, extremes and first rows of groups need no sorting."""

from __future__ import annotations

import attrs
import numpy as np

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.key_runs import run_numbers
    from sframe_spark.compute.sorting_and_searching import order_of, ranks_of

# Codes below this are sorted in two passes, by their digits.
SHORT_CODES = 1 << 16
# Rows processed per step, so that temporary arrays stay small and reuse memory that the process already has.
ROWS_PER_STEP = 1 << 14
# Runs of this many rows on average are added up run by run sooner than row by row.
MIN_MEAN_LENGTH = 8


@attrs.frozen(eq=False, slots=False)
class GroupsOfRows:
    """The rows of a batch, divided into groups.

    Parameters
    ----------
    codes
        Code of the group of each row.
    count
        Number of groups; none is empty.
    are_runs
        Whether the rows of each group are consecutive, and the groups in order of their codes.

    Examples
    --------
    >>> groups = GroupsOfRows(np.array([1, 0, 1]), 2)
    >>> groups.firsts.tolist(), groups.order.tolist(), groups.starts.tolist(), groups.totals(np.array([5, 6, 7])).tolist()
    ([1, 0], [1, 0, 2], [0, 1], [6, 12])
    """

    codes: np.ndarray
    count: int
    are_runs: bool = False

    @classmethod
    def of_runs(cls, starts: np.ndarray, rows: int) -> GroupsOfRows:
        """Return groups of consecutive rows, given where each begins.

        Examples
        --------
        >>> groups = GroupsOfRows.of_runs(np.array([0, 2]), 3)
        >>> groups.codes.tolist(), groups.sizes.tolist(), groups.order.tolist()
        ([0, 0, 1], [2, 1], [0, 1, 2])
        """
        sizes = np.diff(np.append(starts, rows))
        result = cls(run_numbers(starts, rows), len(starts), are_runs=True)
        result.__dict__.update(firsts=starts, sizes=sizes, starts=starts)
        return result

    @classmethod
    def of_all(cls, rows: int) -> GroupsOfRows:
        """Return one group of all rows, of which there is at least one.

        Examples
        --------
        >>> groups = GroupsOfRows.of_all(3)
        >>> groups.codes.tolist(), groups.sizes.tolist(), groups.totals(np.array([True, False, True])).tolist()
        ([0, 0, 0], [3], [2])
        """
        start = np.zeros(1, dtype=np.int64)
        # The codes take no memory.
        result = cls(np.broadcast_to(start, rows), 1, are_runs=True)
        result.__dict__.update(firsts=start, sizes=np.array([rows]), starts=start)
        return result

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first row of each group."""
        return first_rows(self.codes, self.count)

    @cached_property
    def lasts(self) -> np.ndarray:
        """The last row of each group."""
        return self.starts + self.sizes - 1 if self.are_runs else self.rows - 1 - first_rows(self.codes[::-1], self.count)

    @cached_property
    def order(self) -> np.ndarray:
        """The rows, group by group, in row order within each group."""
        if self.are_runs:
            return np.arange(self.rows)
        return np.argsort(self.codes.astype(np.uint16), kind="stable") if self.count <= SHORT_CODES else order_of([self.codes])

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group."""
        return np.bincount(self.codes, minlength=self.count)

    @cached_property
    def starts(self) -> np.ndarray:
        """Start of each group in :attr:`order`."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def several(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The index of each group among the groups of several rows (-1 for a group of one row), the rows in these groups, and their indices.

        None if all groups have several rows.

        Examples
        --------
        >>> [found.tolist() for found in GroupsOfRows(np.array([1, 0, 1]), 2).several]
        [[-1, 0], [0, 2], [0, 0]]
        """
        is_several = self.sizes > 1
        if is_several.all():
            return None
        indices = np.where(is_several, np.cumsum(is_several) - 1, -1)
        of_rows = indices[self.codes]
        rows = np.flatnonzero(of_rows >= 0)
        return indices, rows, of_rows[rows]

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the ints of each group (which wraps around), or the number of true values."""
        if self.count == 1:
            return np.array([np.count_nonzero(values) if values.dtype == np.bool_ else values.sum(dtype=np.int64)])
        if values.dtype == np.bool_:
            if values.all():
                return self.sizes
            if self.count == 1:
                return np.array([np.count_nonzero(values)])
            # Adding up a float for each row is faster than selecting rows, unless the sums do not fit the cache.
            if self.count <= SHORT_CODES:
                return np.bincount(self.codes, values, self.count).astype(np.int64)
            return np.bincount(self.codes[values], minlength=self.count)
        if self.are_runs and 0 < MIN_MEAN_LENGTH * self.count <= self.rows:
            with np.errstate(over="ignore"):
                return np.add.reduceat(values, self.starts)
        result = np.zeros(self.count, dtype=np.int64)
        np.add.at(result, self.codes, values)
        return result

    def extremes(self, values: np.ndarray, choose: np.ufunc, start: float) -> np.ndarray:
        """Return the smallest or largest value of each group by a function such as ``np.minimum``, and ``start`` if there is none beyond it."""
        result = np.full(self.count, start, dtype=values.dtype)
        with np.errstate(invalid="ignore"):
            if self.count == 1:
                result[0] = choose.reduce(values, initial=start)
            elif self.are_runs and 0 < MIN_MEAN_LENGTH * self.count <= self.rows:
                result = choose.reduceat(values, self.starts)
            else:
                choose.at(result, self.codes, values)
        return result

    def first_where(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first chosen row of each group, or any row if it has none, and a mask of the groups that have one."""
        rows = np.flatnonzero(chosen)
        firsts = first_rows(self.codes[rows], self.count)
        return np.append(rows, 0)[firsts], firsts < len(rows)

    def last_where(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the last chosen row of each group, or any row if it has none, and a mask of the groups that have one."""
        rows = np.flatnonzero(chosen)[::-1]
        firsts = first_rows(self.codes[rows], self.count)
        return np.append(rows, 0)[firsts], firsts < len(rows)


def first_rows(codes: np.ndarray, count: int) -> np.ndarray:
    """Return the first row with each code; ``len(codes)`` for codes that no row has.

    Examples
    --------
    >>> first_rows(np.array([2, 0, 2]), 3).tolist()
    [1, 3, 0]
    """
    result = np.full(count, len(codes), dtype=np.int64)
    backwards = np.arange(min(len(codes), ROWS_PER_STEP))[::-1]
    # Rows are assigned in reverse order, so the first row of each code is assigned last and remains. Few codes all occur in the first step.
    result[codes[: len(backwards)][::-1]] = backwards
    if result.max(initial=-1) < len(codes):
        return result
    for start in range((len(codes) - 1) // ROWS_PER_STEP * ROWS_PER_STEP, -1, -ROWS_PER_STEP):
        part = codes[start : start + ROWS_PER_STEP][::-1]
        result[part] = backwards[len(backwards) - len(part) :] + start
    return result


def first_of_each(codes: np.ndarray, count: int) -> np.ndarray:
    """Return the first row of each code that occurs, in row order; ``count`` is the number of possible codes.

    Examples
    --------
    >>> first_of_each(np.array([7, 3, 7, 3]), 1 << 40).tolist(), first_of_each(np.array([7, 3, 7, 3]), 8).tolist()
    ([0, 1], [0, 1])
    """
    if count > 4 * len(codes):
        order = order_of([codes])
        ordered = codes[order]
        return np.sort(order[np.concatenate([np.ones(min(len(codes), 1), dtype=bool), ordered[1:] != ordered[:-1]])])
    result = first_rows(codes, count)
    return np.sort(result[result < len(codes)])


def first_and_total(codes: np.ndarray, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each code that occurs, in row order, and the sum of the ints of all rows with the code.

    Examples
    --------
    >>> codes, numbers = np.array([7, 3, 7, 3]), np.array([1, 2, 4, 8])
    >>> [[part.tolist() for part in first_and_total(codes, numbers, count)] for count in (8, 1 << 40)]
    [[[0, 1], [5, 10]], [[0, 1], [5, 10]]]
    """
    if count > 4 * len(codes):
        codes, count = ranks_of([codes])
    firsts, sums = first_rows(codes, count), np.zeros(count, dtype=np.int64)
    np.add.at(sums, codes, numbers)
    present = np.flatnonzero(firsts < len(codes))
    present = present[order_of([firsts[present]])]
    return firsts[present], sums[present]


def without_gaps(codes: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """Return codes in the same order such that every code occurs, and their number.

    Examples
    --------
    >>> [codes.tolist() if count else count for codes, count in [without_gaps(np.array([9, 2, 9]), 10)]]
    [[1, 0, 1]]
    """
    if count > 4 * len(codes) + SHORT_CODES:
        return ranks_of([codes])
    present = np.bincount(codes, minlength=count) > 0
    return (np.cumsum(present) - 1)[codes], int(np.count_nonzero(present))
