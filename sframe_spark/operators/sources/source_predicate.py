"""The part of a filter that is passed to the source below it, so that it may leave out rows that do not pass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import SFrameError
from sframe_spark.expressions.scalar_function_program import Program
from sframe_spark.planner.chunk import Chunk, combine
from sframe_spark.planner.node_facts import Schema
from sframe_spark.storage.manifest.physical_types import convert_foreign
from sframe_spark.types import DATETIME, ColumnType
from sframe_spark.values.datetimes import from_microseconds, is_in_years_of_python

# By column, closed ranges of values; a limit is None if there is none.
ColumnLimits = Mapping[str, tuple[tuple[Any, Any], ...]]


@attrs.frozen
class Predicate:
    """A condition on rows, with which a source may read less. It may leave out rows that do not satisfy it, but no others.

    Parameters
    ----------
    ranges
        By column, ranges of values: a row meets the condition only if each of these columns has a value in one of its ranges. Each range is its
        lowest and its highest value, both included; None where it has no limit. Rows with a missing value or NaN in one of the columns do not meet
        the condition. At least one column has ranges; there may be more to the condition than ranges say.

    Examples
    --------
    >>> predicate = Predicate({"time": ((3, 5), (9, None))})
    >>> predicate.filter(pa.table({"time": [2, 3, 8, 20, None]})).to_pydict()
    {'time': [3, 20]}
    >>> predicate.may_hold("time", 6, 8), predicate.may_hold("time", 5, 8), predicate.may_hold("value", 0, 1)
    (False, True, True)
    """

    ranges: ColumnLimits
    # The whole condition as a program with one output over the named columns; None if it cannot be computed wherever rows are read.
    whole: Program | None = attrs.field(default=None, repr=False)
    names: tuple[str, ...] = attrs.field(default=(), repr=False)
    types: Schema = attrs.field(default=(), repr=False)

    def may_hold(self, column: str, lowest: Any, highest: Any) -> bool:
        """Return whether rows may meet the condition if their values in a column lie between two values; for blocks whose bounds are known."""
        return any((low is None or highest >= low) and (high is None or lowest <= high) for low, high in self.ranges.get(column, ((None, None),)))

    @property
    def expression(self) -> pc.Expression:
        """The ranges as an expression of Arrow, for libraries that filter by one."""
        columns = [reduce(or_, map(_within, [name] * len(ranges), ranges)) if ranges else pc.scalar(False) for name, ranges in self.ranges.items()]
        return reduce(and_, columns)

    def filter(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        """Return the rows that satisfy the condition; the given rows have at least the requested columns, with values of Arrow's types."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        if self.whole is not None:
            try:
                return table.filter(self._mask(table, self.whole))
            except (SFrameError, pa.ArrowException):
                # A value fails, or is not what the column has: whoever reads the rows finds it, and says where it is.
                return table
        return table.filter(self.expression)

    def _mask(self, table: pa.Table, whole: Program) -> pa.Array:
        columns = [convert_foreign(combine(table.column(name)), kind) for name, kind in zip(self.names, self.types, strict=True)]
        (mask,) = whole.run(Chunk(tuple(columns), table.num_rows), self.types).columns
        return pc.fill_null(pc.not_equal(mask, 0), False)

    def describe(self) -> str:
        """Return the condition in one short line."""
        ranges = [f"{name} in {', '.join(f'{_shown(low)}..{_shown(high)}' for low, high in limits[:3])}" for name, limits in self.ranges.items()]
        return " and ".join(ranges)


def _shown(limit: Any) -> str:
    return "" if limit is None else str(limit)


def _within(name: str, limits: tuple[Any, Any]) -> pc.Expression:
    """Return the expression that a column has a value in a range."""
    low, high = limits
    field = pc.field(name)
    return reduce(and_, [*([] if low is None else [field >= low]), *([] if high is None else [field <= high])], field.is_valid())


def python_limits(ranges: tuple[tuple[Any, Any], ...], column_type: ColumnType) -> tuple[tuple[Any, Any], ...]:
    """Return ranges of recorded values as ranges of Python values: date-times are recorded as microseconds, of their instants if they have offsets.

    Examples
    --------
    >>> python_limits(((0, None),), DATETIME)
    ((datetime.datetime(1970, 1, 1, 0, 0), None),)
    """
    if column_type.kind != DATETIME.kind:
        return ranges
    offset = 0 if column_type.is_zoned else None

    def limit(microseconds: int | None) -> Any:
        if microseconds is None or not is_in_years_of_python(microseconds, offset):
            return None
        return from_microseconds(microseconds, offset)

    return tuple((limit(low), limit(high)) for low, high in ranges)
