"""What aggregates read: rows of several columns, as arrays that are converted once for all aggregates, and windows of consecutive rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import SchemaError
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.key_runs import plain_numbers

# A range of rows, or their positions.
ChosenRows = slice | np.ndarray


@attrs.define(eq=False)
class InputRows:
    """Rows of some columns. State columns share the arrays that are made of a column.

    Parameters
    ----------
    columns
        The columns by position; None for a column that no aggregate reads.
    count
        Number of rows.
    scratch
        Arrays that a state column overwrites for each block of rows, by state column. All blocks of one computation share the dict.

    Examples
    --------
    >>> rows = InputRows([pa.array([1.5, None, 2.0])], 3)
    >>> rows.numbers(0).tolist(), rows.valid((0,)).tolist()
    ([1.5, 0.0, 2.0], [True, False, True])
    """

    columns: Sequence[pa.Array | None]
    count: int
    scratch: dict[Hashable, Any] = attrs.field(factory=dict)
    _converted: dict[Hashable, Any] = attrs.field(factory=dict, init=False)
    # The rows from which these were chosen, and which they are; columns are then made when somebody asks.
    _source: tuple[InputRows, ChosenRows] | None = attrs.field(default=None, init=False)

    @property
    def nbytes(self) -> int:
        """About the bytes of the columns that aggregates read."""
        if self._source is not None:
            rows, _ = self._source
            return rows.nbytes * self.count // max(rows.count, 1)
        return sum(column.nbytes for column in self.columns if column is not None)

    def column(self, position: int) -> pa.Array:
        """Return a column.

        Raises
        ------
        SchemaError
            If the aggregate that reads it was not given the column.
        """
        if self._source is not None:
            return self.once(("column", position), lambda: self.values(position, None))
        column = self.columns[position] if 0 <= position < len(self.columns) else None
        if column is None:
            given = [number for number, column in enumerate(self.columns) if column is not None]
            what = f"a state column of an aggregate reads column {position}, and aggregates are given the columns {given} of the rows"
            raise SchemaError(f"{what}: of_columns() takes positions from 'columns'")
        return column

    def values(self, position: int, rows: np.ndarray | None) -> pa.Array:
        """Return the values of a column in some rows, or in all; the other values are not read."""
        if self._source is None:
            column = self.column(position)
            return column if rows is None else column.take(pa.array(rows))
        source, chosen = self._source
        if rows is not None:
            return source.values(position, rows + chosen.start if isinstance(chosen, slice) else chosen[rows])
        return source.column(position).slice(chosen.start, self.count) if isinstance(chosen, slice) else source.values(position, chosen)

    def valid(self, positions: tuple[int, ...]) -> np.ndarray | None:
        """Return a mask of the rows with a value in each of some columns; None if all rows have."""
        return self.once(("valid", positions), lambda: self._valid(positions))

    def _valid(self, positions: tuple[int, ...]) -> np.ndarray | None:
        if self._source is not None:
            rows, chosen = self._source
            valid = rows.valid(positions)
            valid = None if valid is None else valid[chosen]
            return None if valid is None or valid.all() else valid
        masks = [self.column(p).is_valid().to_numpy(zero_copy_only=False) for p in positions if self.column(p).null_count]
        return np.logical_and.reduce(masks) if masks else None

    def numbers(self, position: int) -> np.ndarray:
        """Return the ints, floats or microseconds of a column, with zero for missing values."""
        return self.once(("numbers", position), lambda: self._numbers(position))

    def _numbers(self, position: int) -> np.ndarray:
        if self._source is None:
            return plain_numbers(self.column(position))
        rows, chosen = self._source
        return rows.numbers(position)[chosen]

    def known_floats(self, position: int) -> np.ndarray:
        """Return the values of a column of numbers as floats, without the missing ones."""
        if not self.column(position).null_count:
            return self.floats(position, (position,))
        # Dropping missing values takes half the time that replacing them by zero takes.
        known = self.once(("known", position), lambda: self.column(position).drop_null().cast(pa.float64(), safe=False))
        return known.to_numpy(zero_copy_only=False)

    def floats(self, position: int, where: tuple[int, ...]) -> np.ndarray:
        """Return the numbers of a column as floats, with zero in rows where one of the columns ``where`` has no value."""
        return self.once(("floats", position, where), lambda: self._floats(position, where))

    def _floats(self, position: int, where: tuple[int, ...]) -> np.ndarray:
        if self._source is not None:
            rows, chosen = self._source
            return rows.floats(position, where)[chosen]
        column = self.column(position)
        # Arrow's cast reuses memory that the process already has.
        floats = plain_numbers(column.cast(pa.float64(), safe=False)) if pa.types.is_integer(column.type) else self.numbers(position)
        valid = None if where == (position,) else self.valid(where)
        return floats if valid is None else np.where(valid, floats, 0.0)

    def once(self, key: Hashable, convert: Callable[[], Any]) -> Any:
        """Return the result of a conversion, which is computed for the first caller and kept for the others."""
        if key not in self._converted:
            self._converted[key] = convert()
        return self._converted[key]

    def converted(self, key: Hashable) -> Any:
        """Return the result of a conversion if somebody has asked for it before, otherwise None."""
        return self._converted.get(key)

    def take(self, rows: np.ndarray) -> InputRows:
        """Return some of the rows, with arrays that are taken from those that are converted for all rows."""
        return self._chosen(rows, len(rows))

    def slice(self, start: int, stop: int) -> InputRows:
        """Return a range of the rows. It reads parts of the arrays that are converted for all rows."""
        return self._chosen(slice(start, stop), stop - start)

    def _chosen(self, rows: ChosenRows, count: int) -> InputRows:
        result = InputRows((), count, self.scratch)
        result._source = self, rows
        return result


@attrs.frozen(eq=False, slots=False)
class RowWindows:
    """Windows of consecutive rows, each from a start to a stop (exclusive); they may overlap or be empty.

    Parameters
    ----------
    starts, stops
        The ends of each window.
    width
        The number of rows that each window has, if all have equally many, the first begins at row 0, and each other one row after the window
        before it; None otherwise.

    Examples
    --------
    >>> RowWindows.rolling(4, 2).differences(np.array([0, 1, 3, 6, 10])).tolist()
    [3, 5, 7]
    """

    starts: np.ndarray
    stops: np.ndarray
    width: int | None = None

    @classmethod
    def rolling(cls, rows: int, width: int) -> RowWindows:
        """Return the windows of every ``width`` consecutive rows."""
        starts = np.arange(max(rows - width + 1, 0))
        return cls(starts, starts + width, width)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of rows of each window."""
        return self.stops - self.starts

    def totals(self, ints: np.ndarray) -> np.ndarray:
        """Return the sum of the ints of each window, or the number of true bools; sums wrap around at 64 bits.

        Examples
        --------
        >>> RowWindows.rolling(4, 2).totals(np.array([True, False, False, True])).tolist()
        [1, 0, 1]
        """
        running = np.empty(len(ints) + 1, dtype=np.int64)
        running[0] = 0
        with np.errstate(over="ignore"):
            np.cumsum(ints, out=running[1:])
            return self.differences(running)

    def differences(self, totals: np.ndarray) -> np.ndarray:
        """Return the sum of each window from running totals, which begin with zero for no rows."""
        if self.width:
            return totals[self.width :] - totals[: -self.width]
        result = totals[self.stops]
        result -= totals[self.starts]
        return result


def last_rows(starts: np.ndarray, count: int) -> np.ndarray:
    """Return the last row of each group, given where groups begin among ``count`` rows."""
    return np.array([count - 1]) if len(starts) == 1 else np.append(starts[1:], count) - 1


def group_sizes(starts: np.ndarray, count: int) -> np.ndarray:
    """Return the number of rows of each group, given where groups begin among ``count`` rows."""
    return np.diff(np.append(starts, count))
