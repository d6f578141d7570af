"""Rows of a run by the values of key columns: which group each row is in, and scans within the groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.operators.kernels.equal_keys import codes_of, comparable, tokens_of
from sframe_spark.operators.kernels.row_order import order_of
from sframe_spark.types import ColumnType

Components = tuple[np.ndarray, ...]
Combine = Callable[[Components, Components], Components]
LEAST_ROWS_PER_CALL = 2_000
"""Rows that a group must have on average for a call of its own."""


@attrs.frozen(eq=False)
class RowGroups:
    """Rows of a run, brought together by group.

    Parameters
    ----------
    tokens
        One hashable value per group, equal in all runs for keys that are equal moments.
    order
        Rows by group, in row order within each.
    starts
        Where each group starts in ``order``.
    """

    tokens: list[Hashable]
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> RowGroups:
        """Groups of the rows of some key columns; without a key all rows are one group."""
        if not rows:
            return cls([], np.zeros(0, np.int64), np.zeros(0, np.int64))
        if not columns:
            return cls([()], np.arange(rows), np.zeros(1, np.int64))
        keys = [comparable(column, column_type) for column, column_type in zip(columns, types, strict=True)]
        codes = codes_of(keys)
        order = order_of([codes])
        sorted_codes = codes[order]
        starts = np.concatenate([[0], np.flatnonzero(sorted_codes[1:] != sorted_codes[:-1]) + 1])
        firsts = pa.array(order[starts])
        return cls(tokens_of([key.take(firsts) for key in keys]), order, starts)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def stops(self) -> np.ndarray:
        """Where each group ends in ``order``."""
        return np.concatenate([self.starts[1:], [self.rows]]) if len(self.starts) else self.starts

    def are_long(self) -> bool:
        """True when one call per group costs less than several passes over all rows."""
        return len(self.starts) <= 1 or len(self.starts) * LEAST_ROWS_PER_CALL <= self.rows

    def group_of_rows(self) -> np.ndarray:
        """Group of each entry of ``order``."""
        return np.repeat(np.arange(len(self.starts)), self.stops - self.starts)

    def along(self, values: np.ndarray) -> np.ndarray:
        """Values given row by row, along ``order``."""
        # The rows of one group are in order as they are.
        return values[self.order] if len(self.starts) > 1 else values

    def chosen(self, which: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        """Some entries of ``order``: which these are, where each group starts among them, and which groups have any.

        Examples
        --------
        >>> groups = RowGroups(["a", "b"], np.array([0, 2, 1]), np.array([0, 2]))
        >>> [found.tolist() for found in groups.chosen(np.array([False, True, False]))]
        [[1], [0], [0]]
        """
        if which.all():
            return slice(None), self.starts, np.arange(len(self.starts))
        counts = np.add.reduceat(which, self.starts, dtype=np.int64)
        there = np.flatnonzero(counts)
        return np.flatnonzero(which), (np.cumsum(counts) - counts)[there], there

    def to_row_order(self, values: np.ndarray) -> np.ndarray:
        """Values given along ``order``, row by row."""
        if len(self.starts) <= 1:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def segmented_scan(values: Components, groups: RowGroups, combine: Combine) -> Components:
    """Along ``groups.order``, each entry combined with all entries of its group before it."""
    if groups.are_long():
        return by_group(values, groups, lambda part: doubling_scan(part, combine))
    results = tuple(component.copy() for component in values)
    lengths = groups.stops - groups.starts
    place = np.arange(groups.rows) - np.repeat(groups.starts, lengths)
    distance, longest = 1, int(lengths.max(initial=0))
    while distance < longest:
        rows = np.flatnonzero(place >= distance)
        before = tuple(component[rows - distance] for component in results)
        combined = combine(before, tuple(component[rows] for component in results))
        for component, new in zip(results, combined, strict=True):
            component[rows] = new
        distance *= 2
    return results


def doubling_scan(values: Components, combine: Combine) -> Components:
    """Each entry combined with all entries before it.

    Source: Hillis, Steele, "Data parallel algorithms" (1986): as many passes over the entries as their number has binary digits.
    """
    results = tuple(component.copy() for component in values)
    distance, rows = 1, len(values[0])
    while distance < rows:
        before = tuple(component[:-distance] for component in results)
        combined = combine(before, tuple(component[distance:] for component in results))
        for component, new in zip(results, combined, strict=True):
            component[distance:] = new
        distance *= 2
    return results


def accumulated(values: Components, groups: RowGroups, functions: Sequence[np.ufunc]) -> Components:
    """What :func:`segmented_scan` gives for one numpy function per component."""
    if not groups.are_long():
        return segmented_scan(values, groups, lambda a, b: componentwise(functions, a, b))
    return by_group(values, groups, lambda part: tuple(f.accumulate(c) for f, c in zip(functions, part, strict=True)))


def by_group(values: Components, groups: RowGroups, scan: Callable[[Components], Components]) -> Components:
    """A scan called once per group."""
    results = tuple(np.empty_like(component) for component in values)
    for start, stop in zip(groups.starts.tolist(), groups.stops.tolist(), strict=True):
        scanned = scan(tuple(component[start:stop] for component in values))
        for result, new in zip(results, scanned, strict=True):
            result[start:stop] = new
    return results


def componentwise(functions: Sequence[np.ufunc], first: Components, second: Components) -> Components:
    """One numpy function per component."""
    return tuple(function(a, b) for function, a, b in zip(functions, first, second, strict=True))
