"""Values by which operators declare what they call, what they cost in a Spark query, where their rows come from and which input rows they choose."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

if TYPE_CHECKING:
    from sframe_spark.planner.operator import Operator
    from sframe_spark.types import ColumnType


class FunctionCalls(NamedTuple):
    """The calls of users' functions that an operator makes.

    Parameters
    ----------
    functions
        The functions, in the order in which they are called.
    types
        The types of the columns that the functions compute.
    with_functions
        Returns the operator with other functions in the place of ``functions``.
    """

    functions: Sequence[Any]
    types: Sequence[ColumnType]
    with_functions: Callable[[Sequence[Any]], Operator]


class QueryWork(NamedTuple):
    """Upper bounds of the numbers of exchanges and sorts that an operation costs in a Spark query.

    Examples
    --------
    >>> QueryWork(1, 0) + QueryWork(2, 2)
    QueryWork(exchanges=3, sorts=2)
    """

    exchanges: int
    sorts: int

    def __add__(self, other: object) -> QueryWork:
        assert isinstance(other, QueryWork)
        return QueryWork(self.exchanges + other.exchanges, self.sorts + other.sorts)


NO_WORK = QueryWork(0, 0)


class SparkCost(NamedTuple):
    """The cost of an operator in a Spark query, without its inputs. Defaults assume the worst.

    Parameters
    ----------
    work
        Bounds of its exchanges and sorts; None if there are none.
    is_inlined
        Whether Spark computes the operator within a query as cheaply as it reads rows.
    steps
        The number of steps of the operator's expression.
    forgets_one_partition
        Whether Spark plans as if the output had several partitions, although all inputs are in one partition.
    """

    work: QueryWork | None = None
    is_inlined: bool = False
    steps: int = 0
    forgets_one_partition: bool = False


UNKNOWN_COST = SparkCost()
# The cost of an operator that changes neither the partitions of rows nor their order within them.
NO_EXCHANGE = SparkCost(NO_WORK)
INLINED = SparkCost(NO_WORK, is_inlined=True)


class SourceKind(enum.Enum):
    """Where the rows of an operator without inputs are.

    ``FILES``: in files, which other processes may change. ``ENCODED_FILES``: in files whose rows Python decodes on every read; materialising writes
    the rows in this package's format. ``MEMORY``: in the driver's memory, or they are generated. ``QUERY``: nowhere yet; each read may yield
    different rows, so the first action fixes what is computed from them.
    """

    FILES = "files"
    ENCODED_FILES = "encoded files"
    MEMORY = "memory"
    QUERY = "query"


class RowChoice(enum.Enum):
    """Which input rows are the output rows of an operator that changes no row.

    ``FILTER``: those that pass a test of their own values. ``REORDER``: all rows of the input, in another order. ``UNITE``: all rows of all inputs,
    one input after the other. ``OTHER``: some of them, in any order, from one or several inputs.
    """

    FILTER = "filter"
    REORDER = "reorder"
    UNITE = "unite"
    OTHER = "other"


@attrs.frozen
class RowSlice:
    """The input rows that an operator keeps by index: ``start``, ``start + step``, ... before ``stop`` (None: up to the end)."""

    start: int
    stop: int | None
    step: int

    def takes_at_most(self, rows: int) -> bool:
        """Return whether all kept rows are among the first ``rows`` rows."""
        return self.stop is not None and self.stop <= rows
