"""The operator contract: what an operator says about itself, and its two lowerings."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import attrs

from sframe_spark.errors import PlanInvariantError
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import Sizes, copied_sizes

if TYPE_CHECKING:
    import numpy as np

    from sframe_spark.planner.lowering import LoweringContext, Relation
    from sframe_spark.types import ColumnType


# What the engine and the laws ask about an operator beside its types, its rows and its lowerings: flags and questions, pessimistic by default.

# Slot and position of an input's column.
Origin = tuple[int, int]


@attrs.frozen
class RowSlice:
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


class PartitionPairRows(Protocol):
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

    def of_matches(self) -> PartitionPairRows:
        """Those of them that are made of a row of each input."""

    def chunks(self, max_bytes: int) -> Iterator[Chunk]:
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

    def pairs_of_pieces(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> PartitionPairRows:
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
    def row_range(self) -> RowSlice | None:
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


# More rows than there are.
ALL_ROWS = 2**62


class Need(enum.Enum):
    """What an operator asks of an input's rows.

    ``ANY``: nothing; order may be lost. ``INHERITED``: the row order, if anyone observes that of the output. ``ORDERED``: the row order.
    ``SEQUENTIAL``: one pass in row order with a running state. ``DENSE``: rows addressed by number. ``ALIGNED``: dense, and of the same
    length as the other inputs. ``LOOKUP``: a source (the input is materialised otherwise) that the kernel reads by row number and searches by
    key; the kernel gets a look-up in its place, and its output rows are those of the first input.
    """

    ANY = "any"
    INHERITED = "inherited"
    ORDERED = "ordered"
    SEQUENTIAL = "sequential"
    DENSE = "dense"
    ALIGNED = "aligned"
    LOOKUP = "lookup"


@attrs.frozen
class Operator(Traits):
    """Base of all operators: a frozen, hashable value. Every default is the pessimistic one.

    What an operator has to define for what its class attributes say, and does not, raises PlanInvariantError when it is called.

    Class attributes
    ----------------
    name
        Unique registry name.
    arity
        Number of inputs, or None for any number of at least one.
    row_wise
        Output row *i* is a function of the inputs' rows *i*; the row domain of the inputs is kept.
    deterministic
        Equal inputs give equal outputs, so equal nodes may be shared.
    has_kernel
        The operator implements :meth:`kernel` (or :meth:`read` for sources).
    keeps_dense
        When the inputs' rows can be addressed by number, so can the output's.
    keeps_domain
        Output rows are aligned with the first input's rows, though a row may depend on others.
    takes_wider
        An input may have more columns than are read of it, at no cost.
    expands
        A row of the first input may become any number of rows, which :meth:`pieces` gives a part at a time.
    counts_rows
        :meth:`counted` finds out the number of rows, which is not known before, in all inputs; rows are addressed by it then.
    is_source
        The operator has no inputs and provides rows by range through :meth:`read`.
    """

    name: ClassVar[str] = ""
    arity: ClassVar[int | None] = 1
    row_wise: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    has_kernel: ClassVar[bool] = False
    keeps_dense: ClassVar[bool] = False
    keeps_domain: ClassVar[bool] = False
    takes_wider: ClassVar[bool] = False
    is_source: ClassVar[bool] = False
    expands: ClassVar[bool] = False
    counts_rows: ClassVar[bool] = False

    def make_planner_node(self, *inputs: PlannerNode) -> PlannerNode:
        """A node of this operator over ``inputs``; types and length are inferred, ill-typed input is refused."""
        return PlannerNode(self, inputs)

    def called(self, outputs: Sequence[int] | None = None) -> str:
        """What messages call it, or what makes some of its columns: its name, unless its author or its user knows it by others."""
        return self.name

    def as_read(self) -> Operator:
        """The operator that a plan's text means: refuses what does not fit together, or is not there, and believes no claim about rows."""
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Types of the output columns. Raises the reference's error class for inputs it refuses."""
        raise PlanInvariantError(f"operator {self.name!r} does not infer its type")

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """What is known of the output's length; nothing by default."""
        if self.row_wise and inputs:
            return known_length(inputs)
        return inputs[0].length if self.keeps_domain else Length.unknown()

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """About how many bytes each column takes in a row, given those of the inputs' columns."""
        return copied_sizes(schema, inputs, [item.schema for item in facts])

    def infer_domain(self, inputs: Sequence[Facts]) -> RowDomain:
        """The output's row domain; a fresh one unless the operator is row-wise over inputs of one domain."""
        if self.row_wise and inputs and all(facts.domain is inputs[0].domain for facts in inputs):
            return inputs[0].domain
        return inputs[0].domain if self.keeps_domain else RowDomain()

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """What is known of the output's order, given what is known of the inputs'; nothing by default."""
        return RelationProperties()

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Columns of each input that are read for some output columns; all by default. An input of which none is read is left out."""
        return [range(facts.width) for facts in inputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]] | None:
        """The operator over inputs that have only some of their columns, and the output columns that it still yields, ascending.

        Parameters
        ----------
        outputs
            Output columns that somebody reads, ascending; more may be yielded.
        kept
            Columns that each input has, ascending: those of :meth:`input_columns`, or more if the operator ``takes_wider`` inputs.
        inputs
            Facts of the inputs with all their columns.
        """
        return None

    def beside_one_more(self, inputs: Sequence[Facts]) -> Operator | None:
        """The operator over an input that has one more column, the first one, which is the first one of the output too, in the rows that are kept.

        Only of operators whose rows are each made of one row of the only input; None of others.
        """
        return None

    def requires(self, slot: int) -> Need:
        """What the operator asks of the rows of input ``slot``; row order by default, since an unknown operator may observe it."""
        return Need.ORDERED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Lower to Spark DataFrame operations over the lowered inputs."""
        raise PlanInvariantError(f"operator {self.name!r} has no Spark lowering")

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Arrow implementation over aligned runs of rows: a chunk per input, a look-up for inputs that are looked up."""
        raise PlanInvariantError(f"operator {self.name!r} has no kernel")

    def pieces(self, inputs: Sequence[Any], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """The kernel's rows in order, one piece at least and each of at most so many rows; how many is asked before each piece."""
        yield self.kernel(inputs, facts)

    def counted(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Operator:
        """The operator that knows, from look-ups in its inputs, the number of its rows; none is made."""
        raise PlanInvariantError(f"operator {self.name!r} does not count its rows")

    def count_matches(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        """Of an operator that ``counts_matches``: how many rows come of some of its first input; none is made."""
        raise PlanInvariantError(f"operator {self.name!r} does not count its matches")

    def matches_between(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, max_bytes: int) -> Chunk | None:
        """Of these rows those numbered ``start`` to ``stop``, no other is made; None where they take more than so many bytes."""
        raise PlanInvariantError(f"operator {self.name!r} does not make matches by number")

    def bytes_between(self, start: int, stop: int) -> float:
        """About how many bytes the rows ``start`` (inclusive) to ``stop`` (exclusive) take, where that is known before they are made."""
        return 0.0

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Rows of input ``slot`` that output rows ``start..stop`` need; the runner clips them to the rows there are."""
        return (start, stop)

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Output rows ``start..stop`` from the input rows in ``intervals``; by default the kernel over them."""
        return self.kernel(inputs, facts)

    def describe(self) -> str:
        """Parameters in one short line, for plans."""
        values = [f"{f.name}={getattr(self, f.name)!r}" for f in attrs.fields(type(self))]
        return ", ".join(values)

    @property
    def operator_parameters(self) -> dict[str, Any]:
        """Portable parameters: those that survive a JSON round trip."""
        return {f.name: getattr(self, f.name) for f in attrs.fields(type(self)) if f.metadata.get("portable", True)}

    @property
    def any_operator_parameters(self) -> dict[str, Any]:
        """Parameters that cannot leave the process as JSON: functions, tables in memory, live DataFrames."""
        return {f.name: getattr(self, f.name) for f in attrs.fields(type(self)) if not f.metadata.get("portable", True)}


@attrs.frozen
class DecomposableOperator(Operator):
    """An operator of one input whose rows follow from small parts, one for each run of the input's rows, that combine (a monoid)."""

    gathers: ClassVar[bool] = True

    @property
    def rows_of_part(self) -> int:
        """How many rows of the input a part may hold; 0: a part is about rows, and holds none."""
        return 0

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        """True when the rows follow from parts, given facts of the input."""
        return False

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> Any:
        """What a run of rows contributes; must be picklable."""
        raise PlanInvariantError(f"operator {self.name!r} makes no parts")

    def combined(self, first: Any, second: Any, facts: Sequence[Facts]) -> Any:
        """The part of two consecutive runs of rows."""
        raise PlanInvariantError(f"operator {self.name!r} does not combine parts")

    def combined_all(self, parts: Sequence[Any], facts: Sequence[Facts]) -> Any:
        """The part of some consecutive runs of rows, one at least; two by two by default."""
        return reduce(lambda first, second: self.combined(first, second, facts), parts)

    def coded_columns(self, facts: Sequence[Facts]) -> Sequence[int]:
        """Columns of texts that :meth:`part_of` takes as numbers in a dictionary too; none by default."""
        return ()

    def bytes_of_part(self, part: Any) -> float:
        """How many bytes a part takes, of an operator whose parts may turn out to be many rows; it is not made in parts where these are too many."""
        return 0.0

    def rows_from(self, part: Any, facts: Sequence[Facts]) -> Chunk:
        """The output, from the part of all rows."""
        raise PlanInvariantError(f"operator {self.name!r} makes no rows of parts")


class TooLarge(enum.Enum):
    """A state that stays where it is; a state may well be None."""

    TOO_LARGE = 0


TOO_LARGE = TooLarge.TOO_LARGE


@attrs.frozen
class SequentialOperator(Operator):
    """An operator whose row *i* depends on rows up to *i* through a running state that can be combined (a monoid)."""

    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        """State before the first row; must be picklable."""
        raise PlanInvariantError(f"operator {self.name!r} has no initial state")

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        """State of a run of rows taken on its own."""
        raise PlanInvariantError(f"operator {self.name!r} has no summary")

    def ends_suffice(self, state: Any) -> bool:
        """True when the state of a run of rows is the same whatever rows are added in its middle, and the state after it whatever rows come before.

        Rows in the middle of a range are then not read for its state.
        """
        return False

    def carried(self, state: Any) -> Any:
        """What later rows need of the state of a run of rows; ``TOO_LARGE`` when that cannot be sent from task to task.

        Row ranges between which no state can be sent are run as one.
        """
        return state

    def combine(self, first: Any, second: Any) -> Any:
        """State of two consecutive runs of rows."""
        raise PlanInvariantError(f"operator {self.name!r} does not combine states")

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Output rows of a run and the state after it; the state given stays as it is, and the run may be tried again with fewer rows."""
        raise PlanInvariantError(f"operator {self.name!r} does not advance")

    def finish(self, facts: Sequence[Facts], state: Any) -> Chunk | None:
        """Output rows that were held back until the end of all rows; None when an operator holds nothing back."""
        return None

    def requires(self, slot: int) -> Need:
        """One pass in row order."""
        return Need.SEQUENTIAL

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """All rows at once, from the initial state."""
        chunk, state = self.advance(inputs, facts, self.initial_state(facts))
        return with_rows_held_back(chunk, self.finish(facts, state))


def with_rows_held_back(chunk: Chunk, rest: Chunk | None) -> Chunk:
    """Output rows, then those that were held back until the end of all rows."""
    return chunk if rest is None else joined(chunk, rest)


def known_length(inputs: Sequence[Facts]) -> Length:
    """The most informative of several equal lengths."""
    for facts in inputs:
        if facts.length.rows is not None:
            return facts.length
    return inputs[0].length


def any_parameter(**kwargs: Any) -> Any:
    """An attrs field for a parameter that is not portable, compared by identity.

    Examples
    --------
    >>> from typing import Any, ClassVar
    >>> @attrs.frozen
    ... class Calls(Operator):
    ...     name: ClassVar[str] = "example_calls"
    ...     function: Any = any_parameter()
    >>> Calls(len) == Calls(len), Calls([]) == Calls([])
    (True, False)
    """
    field: Any = attrs.field(metadata={"portable": False}, eq=id, **kwargs)
    return field
