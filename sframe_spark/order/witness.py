"""Two rows that show why an ordering is not promised."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from sframe_spark.order.closure import PairState
from sframe_spark.order.facts import Column, Hidden, column_sort_key
from sframe_spark.order.outcomes import OUTCOMES, TIES, WITNESS_VALUES, negate, one_of


class Witness(NamedTuple):
    """Two rows, the earlier one first, that have every known property and break a requirement.

    Parameters
    ----------
    columns
        The columns shown; other columns can hold anything.
    earlier, later
        The values; only how they compare is meant.
    requirement
        The entry of the requirement that they break, the first that does not tie.

    Examples
    --------
    >>> print(Witness(("a", "b"), (0, 1), (0, 0), ("b", "asc")))
    these two rows have every known property, but b is not asc:
      a  b
      0  1
      0  0
    """

    columns: tuple[Column, ...]
    earlier: tuple[int | None, ...]
    later: tuple[int | None, ...]
    requirement: tuple[Column, str]

    def named(self, names: Mapping[Hashable, str]) -> Witness:
        """The same rows under the names that users know."""
        column, direction = self.requirement
        return self._replace(columns=tuple(names.get(c, c) for c in self.columns), requirement=(names.get(column, column), direction))

    def __str__(self) -> str:
        column, direction = self.requirement
        table = [[str(name) for name in self.columns]]
        table += [["missing" if value is None else str(value) for value in row] for row in (self.earlier, self.later)]
        widths = [max(len(row[index]) for row in table) for index in range(len(self.columns))]
        lines = ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([f"these two rows have every known property, but {column} is not {direction}:", *lines])


def rows_of(state: PairState, extra: Iterable[tuple[Column, int]], requirement: tuple[Column, str]) -> Witness:
    """Rows with one possible outcome chosen in every column, differing wherever they can.

    Parameters
    ----------
    state
        Knowledge in which every choice that matters is made.
    extra
        Outcomes of columns that no property speaks of.
    requirement
        What the rows break.
    """
    values: dict[Column, tuple[int | None, int | None]] = {}
    for column in state.problem.classes.index:
        column_class, sign = state.problem.classes.find(column)
        chosen = one_of(state.outcomes[column_class])
        values[column] = WITNESS_VALUES[chosen if sign > 0 else negate(chosen)]
    for column, outcome in extra:
        values.setdefault(column, WITNESS_VALUES[one_of(outcome)])
    columns = tuple(sorted((column for column in values if not isinstance(column, Hidden)), key=column_sort_key))
    return Witness(columns, tuple(values[c][0] for c in columns), tuple(values[c][1] for c in columns), requirement)


def violations(allowed: int) -> int:
    """Outcomes that break an entry of an ordering.

    Examples
    --------
    >>> from sframe_spark.order.outcomes import ALL
    >>> violations(ALL)
    0
    """
    return sum(OUTCOMES) & ~allowed & ~TIES
