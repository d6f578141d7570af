"""What the engine and the laws ask about an operator beside its types, its rows and its lowerings: flags and questions, pessimistic by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import attrs

from sframe_spark.errors import PlanInvariantError

if TYPE_CHECKING:
    import numpy as np

    from sframe_spark.planner.chunk import Chunk
    from sframe_spark.planner.facts import Facts
    from sframe_spark.planner.node import PlannerNode
    from sframe_spark.planner.operator import Operator
    from sframe_spark.types import ColumnType

# Slot and position of an input's column.
Origin = tuple[int, int]


@attrs.frozen
class RowsTaken:
    """Which rows of its input an operator takes: ``start``, ``start + step``, ... before ``stop``; None: to the end."""

    start: int
    stop: int | None
    step: int

    def takes_at_most(self, rows: int) -> bool:
        """True when no row after the first so many is taken."""
        return self.stop is not None and self.stop <= rows


class QueryWork(NamedTuple):
    """The most exchanges and sorts that something takes in a Spark query.

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


class RowsOfPieces(Protocol):
    """Rows that are made of a piece of each input."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def size(self) -> float:
        """About how many bytes they take."""

    def sampled(self, count: int) -> np.ndarray:
        """The numbers of so many of them, from everywhere."""

    def are_alone(self) -> np.ndarray:
        """For each row of the one input whose rows have numbers whether nothing of the other goes with it."""

    def of_matches(self) -> RowsOfPieces:
        """Those of them that are made of a row of each input."""

    def chunks(self, most_bytes: int) -> Iterator[Chunk]:
        """All of them, with their numbers as the last column, as they are asked for, in chunks of no more than so many bytes, or of one row."""


@attrs.frozen
class Traits:
    """Base of operators: what is asked of them by whoever plans and runs them.

    Class attributes
    ----------------
    chooses_rows
        Output rows are rows of the inputs as they are: fewer of them, in another order, or those of one input after those of another.
    alike_inputs
        All inputs have the same columns, and each output column shows that of every input.
    unites_rows
        The rows of all inputs, those of one after those of another.
    numbers_rows
        What it gives of each row follows from the number of the row.
    filters
        Each row is kept or dropped by itself.
    arranges_columns
        Output columns are columns of the inputs, side by side; nothing is computed.
    streams
        Goes through its input once, in one pass, as its rows come.
    reorders
        All rows of the input as they are, in another order.
    is_program
        Row-wise, and :meth:`program` says what it computes as steps of scalar functions, so that it becomes one with its neighbours.
    gathers
        Reads all rows of its input once before it gives the first of its own, which are kept.
    makes_one_row
        The output is one row about all rows.
    spark_inlines
        Spark computes it inside of a query as cheaply as it reads rows.
    is_in_memory
        A source whose rows are in the driver's memory, or made of nothing.
    is_evaluated_anew
        A source that may have other rows each time it is read, so that what is made of it is fixed by the first action.
    decodes
        A source whose rows Python decodes anew for whoever reads them: who wants them kept has them written in our form.
    counts_matches
        How many rows there are is told by ``count_matches`` from its first input and look-ups in the second, and any of them is made alone by
        ``matches_between``.
    """

    chooses_rows: ClassVar[bool] = False
    alike_inputs: ClassVar[bool] = False
    unites_rows: ClassVar[bool] = False
    numbers_rows: ClassVar[bool] = False
    filters: ClassVar[bool] = False
    arranges_columns: ClassVar[bool] = False
    streams: ClassVar[bool] = False
    reorders: ClassVar[bool] = False
    is_program: ClassVar[bool] = False
    gathers: ClassVar[bool] = False
    makes_one_row: ClassVar[bool] = False
    spark_inlines: ClassVar[bool] = False
    is_in_memory: ClassVar[bool] = False
    is_evaluated_anew: ClassVar[bool] = False
    decodes: ClassVar[bool] = False
    counts_matches: ClassVar[bool] = False

    @property
    def has_whole_kernel(self) -> bool:
        """True when the kernel takes all rows of the input at once, however they are ordered."""
        return False

    @property
    def takes_all_rows(self) -> bool:
        """True when the kernel takes all rows of the input at once, and they are worth gathering where there is room, instead of a Spark query."""
        return self.has_whole_kernel

    @property
    def split_by(self) -> tuple[int, bool] | None:
        """A column of the input, and whether it ascends, by ranges of whose values the rows may be made; None where they are only made together.

        What the kernel makes of all rows is what it makes of those of each range, one range after the other.
        """
        return None

    @property
    def rows_of_ranges(self) -> int | None:
        """How many of the rows that the kernel makes of such ranges, from the first on, are the result; None: all of them."""
        return None

    @property
    def leaves_equal_rows(self) -> bool:
        """True when of rows whose values in the column of ``split_by`` are equal, or all missing, the kernel makes these rows in their order."""
        return False

    @property
    def numbered_slots(self) -> Sequence[int] | None:
        """Inputs whose rows' numbers put those that are made of pieces in order (:meth:`pairs_of_pieces`); None where nothing is made of them."""
        return None

    def pairs_of_pieces(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> RowsOfPieces:
        """What is made of a piece of each of two inputs, which have all rows with the same ``matched_keys``.

        Those of ``numbered_slots`` have the numbers of their rows as the last column. All that is made of all pieces, in the order of its numbers,
        where ties stay as they come, is what the operator makes of all rows. So is what is made of one part after the other of a piece of
        one of ``filtered_slots``, beside the whole piece of the other input; and, of parts of an input without numbers, the ``of_matches`` of each,
        with what is made of the rows that ``are_alone`` beside every part, and of no row of that input.
        """
        raise PlanInvariantError("this operator makes nothing of pieces")

    @property
    def is_counted(self) -> bool:
        """True when an operator that ``counts_rows`` has done so."""
        return False

    @property
    def forgets_one_partition(self) -> bool:
        """True when Spark does not know that the rows are in one partition though those of all inputs are."""
        return self.unites_rows

    @property
    def query_work(self) -> QueryWork | None:
        """What it takes inside a Spark query beside its inputs, where it only defines the order of its rows; None: nothing is claimed."""
        return NO_WORK if self.spark_inlines or self.is_program else None

    @property
    def row_range(self) -> RowsTaken | None:
        """The rows of its input that are the output; None of operators that do not take rows by number."""
        return None

    @property
    def group_keys(self) -> Sequence[int] | None:
        """Columns of the input by whose values there is one row for each group; None of operators that do not group."""
        return None

    @property
    def filtered_slots(self) -> Sequence[int]:
        """Inputs whose rows may be filtered instead of the output's, by columns that the output shows of them (see :meth:`column_origins`)."""
        return (0,) if self.reorders else ()

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """For each output column the input columns that it shows, none where it is computed; columns at the end may be left out."""
        if not self.chooses_rows:
            return []
        slots = range(len(inputs)) if self.alike_inputs else range(1)
        return [[(slot, position) for slot in slots] for position in range(inputs[0].width)]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        """Of an operator that ``arranges_columns``: the input columns that some of its columns show, one for each, without a step for the others."""
        origins = self.column_origins([child.facts for child in inputs])
        return [origins[column][0] for column in columns]

    def values_moved(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """The same for columns that may show values of other rows: nobody looks into them, so lists and dicts are not decoded."""
        return self.column_origins(inputs)

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Output columns of which kernels make no Python object of each value, though they, or what is read for them, are lists or dicts."""
        return []

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """Orders of inputs that spare it work: the slot and the columns, of which each matters where those before it have one value."""
        return []

    def matched_keys(self) -> Sequence[tuple[Origin, Origin]]:
        """Pairs of input columns whose values are compared with each other."""
        return []

    def spark_steps(self, width: int) -> int:
        """How many steps its expression has in a Spark query, given the number of the inputs' columns."""
        return 0

    def user_functions(self, width: int) -> Sequence[Any]:
        """The functions of users' that it calls, given the number of the inputs' columns."""
        return ()

    def with_user_functions(self, width: int, change: Callable[[Any], Any]) -> Operator:
        """The operator with other functions in place of the users' that it calls; the operator itself where it calls none."""
        return self  # type: ignore[return-value]

    def types_made(self, width: int) -> Sequence[ColumnType]:
        """Types of what functions of users' give."""
        return [function.result for function in self.user_functions(width)]

    def in_memory(self) -> Operator | None:
        """An operator of the same rows, for few of them, that needs no Spark; None where there is none."""
        return None

    def searching(self, known: Sequence[PlannerNode], inputs: Sequence[PlannerNode]) -> PlannerNode | None:
        """A node of the same rows over inputs, by a search in the second of them, which is put in order; None where nothing can be searched.

        ``known`` are nodes of the rows of these inputs of which more may be known.
        """
        return None

    def otherwise(self) -> Operator | None:
        """An operator of the same rows where this one meets a limit as it runs; None of operators without a limit."""
        return None
