"""Contract and table of aggregate functions: many rows in, one value out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.expressions.functions.table import FunctionTable, Parcels
from sframe_spark.planner.lowering import SummedNumbers
from sframe_spark.types import ARRAY, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

Infer = Callable[[Sequence[ColumnType], tuple[Any, ...]], ColumnType]
ColumnBuilder = Callable[[Sequence["Column"], Sequence[ColumnType], tuple[Any, ...], "Column"], "Column"]
Finish = Callable[["Column", Sequence[ColumnType], tuple[Any, ...]], "Column"]
ReduceColumns = Callable[[Sequence[pa.Array], Sequence[ColumnType], tuple[Any, ...]], Any]


@attrs.frozen
class Way:
    """How a query goes about its aggregates.

    Parameters
    ----------
    summed
        Which floats have a part in sums; others make the query fail, as it is then made anew.
    is_whole
        Aggregates are those of all rows, not of groups.
    """

    summed: SummedNumbers = SummedNumbers.EVERY
    is_whole: bool = False

    @property
    def has_every_number(self) -> bool:
        """True when no float makes the query fail."""
        return self.summed is SummedNumbers.EVERY


def the_only(made: Sequence[str]) -> Column:
    """The one column that Spark made."""
    from pyspark.sql import functions as F

    return F.col(made[0])


@attrs.frozen(eq=False)
class SeveralColumns:
    """An aggregate that is made of several aggregates of Spark.

    Parameters
    ----------
    columns
        The aggregates; those that are texts of SQL are made once for all that have the same.
    finish
        The value, of the names of the columns that the last step made.
    steps
        Texts of what is made of columns of some names, in one select after the other.
    beside
        What the aggregates read beside the columns of the rows: texts of columns by their names, in one select after the other.
    """

    columns: Sequence[Column | str]
    finish: Callable[[Sequence[str]], Column] = the_only
    steps: Sequence[Callable[[Sequence[str]], Sequence[str]]] = ()
    beside: Sequence[Mapping[str, str]] = ()

    @property
    def is_plain(self) -> bool:
        """True when the value is the one column that Spark made."""
        return self.finish is the_only and not self.steps


Exact = Callable[[Sequence[str], Sequence[ColumnType], tuple[Any, ...], Way], SeveralColumns | None]

# Aggregates of numbers and vectors, of which the partial results are those of numbers.
SINGLE = ("sum", "mean")


@attrs.frozen(eq=False)
class AggregateFunction:
    """A named function from the values of a group (in row order) to one value.

    Parameters
    ----------
    name
        Unique name; plans and JSON refer to the function by it.
    infer
        Result type from the types of the argument columns (there may be none, as for a count) and static parameters;
        raises the class the reference raises for types it refuses.
    column
        ``column(columns, types, parameters, order)``: a Spark aggregate expression (usable in ``groupBy().agg``) whose
        result, after ``finish``, has exactly the inferred physical type, under ANSI off, UTC, case-sensitive settings.
        ``order`` is one orderable column (a struct of the row key) that grows in row order; only order-sensitive
        aggregates may use it.
    reduce
        Arrow implementation over whole columns in row order: the result as one Python value as decoded by
        ``values.decode`` (None for missing). None: the aggregate is always computed on Spark.
    finish
        ``finish(column, types, parameters)``: applied to the aggregated column in a select after the aggregation;
        None: nothing to do.
    order_sensitive
        True when the result depends on the order of rows in the group.
    arguments
        Smallest and largest number of argument columns.
    exact
        ``exact(names, types, parameters, way)``: the aggregate of columns of these names as several of Spark, in place of
        ``column`` and ``finish``; None where columns of such types have no need of it.
    decomposition
        The same from partial results of runs of rows; None: all rows are needed at once.
    """

    name: str
    infer: Infer
    column: ColumnBuilder
    reduce: ReduceColumns | None = None
    order_sensitive: bool = False
    finish: Finish | None = None
    decomposition: Decomposition | None = None
    arguments: tuple[int, int] = (1, 1)
    exact: Exact | None = None

    def in_spark(self, names: Sequence[str], types: Sequence[ColumnType], parameters: tuple[Any, ...], order: Column, way: Way) -> SeveralColumns:
        """The aggregates of Spark that it is made of, over columns of these names, and what is done with these afterwards."""
        found = None if self.exact is None else self.exact(names, types, parameters, way)
        if found is not None:
            return found
        from pyspark.sql import functions as F

        made, finish = [self.column([F.col(name) for name in names], types, parameters, order)], self.finish
        return SeveralColumns(made) if finish is None else SeveralColumns(made, lambda made: finish(F.col(made[0]), types, parameters))

    def decomposes(self, types: Sequence[ColumnType]) -> bool:
        """True when the aggregate of columns of these types follows from partial results; sums of vectors have parts of their own."""
        return self.decomposition is not None and (ARRAY not in types or self.name not in SINGLE)


def _receive(parcels: Parcels) -> FunctionTable[AggregateFunction]:
    return AGGREGATES.received(parcels)


AGGREGATES: FunctionTable[AggregateFunction] = FunctionTable("aggregate", _receive)
