"""Rows that know the number of their group, wherever they stand: what is added up or chosen within groups needs no sorting."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np

from sframe_spark.compute.sorting import order_of, ranks_of

# Codes below this are sorted by their digits, in two passes.
SHORT_CODES = 1 << 16
# So many rows are looked at together: numbers of all rows would be memory that is new to the process.
ROWS_TOGETHER = 1 << 14


@attrs.frozen(eq=False, slots=False)
class GroupsOfRows:
    """Groups of rows.

    Parameters
    ----------
    codes
        For each row the number of its group.
    count
        How many groups there are; none is empty.

    Examples
    --------
    >>> groups = GroupsOfRows(np.array([1, 0, 1]), 2)
    >>> groups.firsts.tolist(), groups.order.tolist(), groups.starts.tolist(), groups.totals(np.array([5, 6, 7])).tolist()
    ([1, 0], [1, 0, 2], [0, 1], [6, 12])
    """

    codes: np.ndarray
    count: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first row of each group."""
        return first_rows(self.codes, self.count)

    @cached_property
    def order(self) -> np.ndarray:
        """The rows, group by group, in row order within each."""
        return np.argsort(self.codes.astype(np.uint16), kind="stable") if self.count <= SHORT_CODES else order_of([self.codes])

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each group has."""
        return np.bincount(self.codes, minlength=self.count)

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each group begins in that order."""
        return np.cumsum(self.sizes) - self.sizes

    def totals(self, values: np.ndarray) -> np.ndarray:
        """The sum of each group's ints, which wraps around, or how many of its values are true."""
        if values.dtype == np.bool_:
            return self.sizes if values.all() else np.bincount(self.codes[values], minlength=self.count)
        found = np.zeros(self.count, dtype=np.int64)
        np.add.at(found, self.codes, values)
        return found

    def extremes(self, values: np.ndarray, largest: bool, start: float) -> np.ndarray:
        """The largest or smallest value of each group, of those beyond a start; NaN where there is one."""
        found = np.full(self.count, start, dtype=values.dtype)
        with np.errstate(invalid="ignore"):
            (np.maximum if largest else np.minimum).at(found, self.codes, values)
        return found

    def first_where(self, chosen: np.ndarray) -> np.ndarray:
        """The first of the chosen rows in each group, each of which has one."""
        rows = np.flatnonzero(chosen)
        return rows[first_rows(self.codes[rows], self.count)]


def first_rows(codes: np.ndarray, count: int) -> np.ndarray:
    """The first row with each code; ``len(codes)`` for codes that no row has.

    Examples
    --------
    >>> first_rows(np.array([2, 0, 2]), 3).tolist()
    [1, 3, 0]
    """
    found = np.full(count, len(codes), dtype=np.int64)
    backwards = np.arange(min(len(codes), ROWS_TOGETHER))[::-1]
    # Of several rows with one code the last one that is assigned stays. Few codes are all among the first rows.
    found[codes[: len(backwards)][::-1]] = backwards
    if found.max(initial=-1) < len(codes):
        return found
    for start in range((len(codes) - 1) // ROWS_TOGETHER * ROWS_TOGETHER, -1, -ROWS_TOGETHER):
        part = codes[start : start + ROWS_TOGETHER][::-1]
        found[part] = backwards[len(backwards) - len(part) :] + start
    return found


def first_of_each(codes: np.ndarray, count: int) -> np.ndarray:
    """The first row with each of the codes that there are, of so many possible ones, in row order.

    Examples
    --------
    >>> first_of_each(np.array([7, 3, 7, 3]), 1 << 40).tolist(), first_of_each(np.array([7, 3, 7, 3]), 8).tolist()
    ([0, 1], [0, 1])
    """
    if count > 4 * len(codes):
        order = order_of([codes])
        ordered = codes[order]
        return np.sort(order[np.concatenate([np.ones(min(len(codes), 1), dtype=bool), ordered[1:] != ordered[:-1]])])
    found = first_rows(codes, count)
    return np.sort(found[found < len(codes)])


def first_and_total(codes: np.ndarray, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first row with each of the codes that there are, of so many possible ones, in row order, and the sum of the ints in all of them.

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
    there = np.flatnonzero(firsts < len(codes))
    there = there[order_of([firsts[there]])]
    return firsts[there], sums[there]


def without_gaps(codes: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """Codes in the same order, of which each has a row.

    Examples
    --------
    >>> [codes.tolist() if count else count for codes, count in [without_gaps(np.array([9, 2, 9]), 10)]]
    [[1, 0, 1]]
    """
    if count > 4 * len(codes) + SHORT_CODES:
        return ranks_of([codes])
    present = np.bincount(codes, minlength=count) > 0
    return (np.cumsum(present) - 1)[codes], int(np.count_nonzero(present))
