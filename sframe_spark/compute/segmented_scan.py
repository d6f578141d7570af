"""Segmented scans: each row combined with the rows before it in its group, by any associative operation of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.key_equality_and_codes import codes_of, comparable, tokens_of
    from sframe_spark.compute.sorting_and_searching import order_of

Components = tuple[np.ndarray, ...]
Combine = Callable[[Components, Components], Components]
MIN_ROWS_PER_CALL = 2_000
"""If groups have at least this many rows on average, NumPy is called once for each group."""
STEPS = 16
"""Number of entries in a stretch: a scan takes this many steps, each of which processes one entry of every stretch at once."""


@attrs.frozen(eq=False)
class RowGroups:
    """The rows of a batch, sorted by group.

    Parameters
    ----------
    tokens
        One hashable value per group, which is the same in all batches for equal keys (date-times are compared by instant).
    order
        The rows, group by group, in row order within each group.
    starts
        Start of each group in ``order``.
    """

    tokens: list[Hashable]
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> RowGroups:
        """Return the groups of the rows, by some key columns; without key columns all rows are one group."""
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
        """End of each group in ``order``."""
        return np.concatenate([self.starts[1:], [self.rows]]) if len(self.starts) else self.starts

    def are_long(self) -> bool:
        """Return whether groups are so long that one call per group is faster than several passes over all rows."""
        return len(self.starts) <= 1 or len(self.starts) * MIN_ROWS_PER_CALL <= self.rows

    def group_of_rows(self) -> np.ndarray:
        """Return the group of each entry of ``order``."""
        return np.repeat(np.arange(len(self.starts)), self.stops - self.starts)

    def along(self, values: np.ndarray) -> np.ndarray:
        """Return values, which are given in row order, in group order."""
        # If there is one group, group order is row order.
        return values[self.order] if len(self.starts) > 1 else values

    def chosen(self, which: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        """Select entries of ``order`` by a mask. Return their positions, the start of each group among them, and which groups have any.

        Examples
        --------
        >>> groups = RowGroups(["a", "b"], np.array([0, 2, 1]), np.array([0, 2]))
        >>> [found.tolist() for found in groups.chosen(np.array([False, True, False]))]
        [[1], [0], [0]]
        """
        if which.all():
            return slice(None), self.starts, np.arange(len(self.starts))
        # np.count_nonzero is much faster than adding bools.
        is_one_group = len(self.starts) == 1
        counts = np.array([np.count_nonzero(which)]) if is_one_group else np.add.reduceat(which, self.starts, dtype=np.int64)
        present = np.flatnonzero(counts)
        return np.flatnonzero(which), (np.cumsum(counts) - counts)[present], present

    def to_row_order(self, values: np.ndarray) -> np.ndarray:
        """Return values, which are given in group order, in row order."""
        if len(self.starts) <= 1:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def segmented_scan(values: Components, groups: RowGroups, combine: Combine) -> Components:
    """Return each entry (in group order) combined with all earlier entries of its group."""
    goes_on = np.ones(groups.rows, dtype=bool)
    goes_on[groups.starts] = False
    return scan(values, goes_on, combine)


def scan(values: Components, goes_on: np.ndarray, combine: Combine) -> Components:
    """Return each entry combined with those before it, back to the last one for which ``goes_on`` is false.

    Stretches of ``STEPS`` entries are scanned in parallel, step by step. A recursive scan finds what each stretch carries over to the next.

    Examples
    --------
    >>> goes_on = np.array([False, True, False, True, True])
    >>> scan((np.array([1, 2, 3, 4, 5]),), goes_on, lambda a, b: (a[0] + b[0],))[0].tolist()
    [1, 3, 3, 7, 12]
    """
    count = len(goes_on)
    if count <= 1:
        return values
    steps = min(STEPS, count)
    stretches = -(-count // steps)
    # The entries that all stretches process in one step are contiguous.
    laid = tuple(in_steps(component, steps, stretches) for component in values)
    reaches = in_steps(goes_on, steps, stretches)
    for step in range(1, steps):
        update(laid, step, combine(at(laid, step - 1), at(laid, step)), reaches[step])
        reaches[step] &= reaches[step - 1]
    if stretches > 1:
        ends = scan(at(laid, steps - 1), reaches[-1], combine)
        carried = tuple(np.concatenate([end[:1], end[:-1]]) for end in ends)
        for step in range(steps):
            update(laid, step, combine(carried, at(laid, step)), reaches[step])
    return tuple(component.T.reshape(-1)[:count] for component in laid)


def in_steps(component: np.ndarray, steps: int, stretches: int) -> np.ndarray:
    """Return a copy in which the entries of one step are contiguous; the last stretch is padded with the last entry."""
    added = steps * stretches - len(component)
    filled = np.concatenate([component, np.repeat(component[-1:], added)]) if added else component
    return np.array(filled.reshape(stretches, steps).T, order="C")


def at(laid: Components, step: int) -> Components:
    """Return the entries of one step."""
    return tuple(component[step] for component in laid)


def update(laid: Components, step: int, combined: Components, where: np.ndarray) -> None:
    """Overwrite the entries of one step for which a mask is true."""
    for component, new in zip(laid, combined, strict=True):
        np.copyto(component[step], new, where=where)


def accumulated(values: Components, groups: RowGroups, functions: Sequence[np.ufunc]) -> Components:
    """Return the result of :func:`segmented_scan` with one NumPy function per component."""
    results = []
    for component, function in zip(values, functions, strict=True):
        if groups.are_long():
            result = np.empty_like(component)
            for start, stop in zip(groups.starts.tolist(), groups.stops.tolist(), strict=True):
                function.accumulate(component[start:stop], out=result[start:stop])
        elif function is np.add and component.dtype.kind == "i":
            result = totals_so_far(component, groups)
        else:
            (result,) = segmented_scan((component,), groups, combined_by(function))
        results.append(result)
    return tuple(results)


def combined_by(*functions: np.ufunc) -> Combine:
    """Return a function that combines each component with a NumPy function of its own."""
    return lambda first, second: tuple(function(a, b) for function, a, b in zip(functions, first, second, strict=True))


def totals_so_far(numbers: np.ndarray, groups: RowGroups) -> np.ndarray:
    """Return running sums of ints within groups, as differences of running sums of all rows; wrapping around does not change the differences."""
    with np.errstate(over="ignore"):
        sums = np.cumsum(numbers)
        return sums - np.repeat(sums[groups.starts] - numbers[groups.starts], groups.stops - groups.starts)
