"""The operator contract: what an operator says about itself, and its two lowerings."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from sframe_spark.errors import PlanInvariantError
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import Sizes, copied_sizes
from sframe_spark.planner.traits import Traits

if TYPE_CHECKING:
    from sframe_spark.planner.lowering import LoweringContext, Relation

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

    def pieces(self, inputs: Sequence[Any], facts: Sequence[Facts], most_rows: Callable[[], int]) -> Iterator[Chunk]:
        """The kernel's rows in order, one piece at least and each of at most so many rows; how many is asked before each piece."""
        yield self.kernel(inputs, facts)

    def counted(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Operator:
        """The operator that knows, from look-ups in its inputs, the number of its rows; none is made."""
        raise PlanInvariantError(f"operator {self.name!r} does not count its rows")

    def count_matches(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        """Of an operator that ``counts_matches``: how many rows come of some of its first input; none is made."""
        raise PlanInvariantError(f"operator {self.name!r} does not count its matches")

    def matches_between(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, most_bytes: int) -> Chunk | None:
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
