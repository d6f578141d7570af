"""The operator contract: what an operator declares about itself, and its two implementations, an Arrow kernel and Spark columns."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from sframe_spark.errors import PlanInvariantError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator_declarations import UNKNOWN_COST, FunctionCalls, RowChoice, RowSlice, SourceKind, SparkCost

with lazy_imports(globals()):
    from sframe_spark.order.properties import RelationProperties
    from sframe_spark.planner.row_sizes import Sizes, copied_sizes

if TYPE_CHECKING:
    from sframe_spark.planner.operator_capabilities import Joining, RowCounting, WholeKernel
    from sframe_spark.planner.spark_relation import LoweringContext, Relation


# An input slot and the position of a column in that input.
Origin = tuple[int, int]


@attrs.frozen
class Traits:
    """What an operator declares to laws, planner and engine, apart from types, rows and implementations. Defaults assume the worst.

    Class attributes
    ----------------
    row_choice
        Which input rows the output rows are; None if the operator computes rows.
    numbers_rows
        What the operator computes for a row depends on the row's index.
    arranges_columns
        Output columns are columns of the inputs, in any order; nothing is computed.
    streams
        The operator reads its input once, in row order.
    is_program
        The operator is row-wise, and :meth:`program` returns its computation as steps of scalar functions, so that it can be fused with its
        neighbours.
    gathers
        The operator reads all rows of its input, once, before it yields its first row. The engine stores its output rather than compute it again.
    makes_one_row
        The output is one row that summarises all input rows.
    runs_python
        The kernel holds Python's interpreter, so that threads would wait for each other.
    source_kind
        Where the rows are if the operator has no inputs.
    threads
        Threads of the user's process may call the methods of a plug-in's operator side by side, as they call those of built-in ones: they leave the
        work to Arrow or NumPy, and keep nothing between calls.
    spark_cost
        The cost of the operator in a Spark query, without its inputs.
    joining, counting, whole_kernel
        Capabilities that most operators lack (None): matching the rows of two inputs, counting rows before they are computed, and a kernel that
        needs all rows of the input. See :mod:`sframe_spark.planner.operator_capabilities`.
    """

    row_choice: ClassVar[RowChoice | None] = None
    numbers_rows: ClassVar[bool] = False
    arranges_columns: ClassVar[bool] = False
    streams: ClassVar[bool] = False
    is_program: ClassVar[bool] = False
    gathers: ClassVar[bool] = False
    makes_one_row: ClassVar[bool] = False
    source_kind: ClassVar[SourceKind] = SourceKind.FILES
    threads: ClassVar[bool] = False

    if TYPE_CHECKING:
        # For type checkers these are properties, because classes define them as properties; a plain attribute is quicker to ask for.
        @property
        def spark_cost(self) -> SparkCost:
            """The cost of the operator in a Spark query, without its inputs."""

        @property
        def runs_python(self) -> bool:
            """Whether the kernel holds Python's interpreter, so that threads would wait for each other."""

        @property
        def joining(self) -> Joining | None:
            """How the operator matches the rows of two inputs; None if it does not."""

        @property
        def counting(self) -> RowCounting | None:
            """How the operator finds its number of rows before it computes them; None if it does not."""

        @property
        def whole_kernel(self) -> WholeKernel | None:
            """The kernel that needs all rows of the input at once; None if there is no kernel, or one for any run of rows."""
    else:
        spark_cost = UNKNOWN_COST
        joining = counting = whole_kernel = None
        runs_python = False

    @property
    def row_range(self) -> RowSlice | None:
        """The range of input rows that are the output; None if the operator does not select rows by index."""
        return None

    @property
    def group_keys(self) -> Sequence[int] | None:
        """Input columns that define groups, with one output row per group; None if the operator does not group."""
        return None

    @property
    def filtered_slots(self) -> Sequence[int]:
        """Inputs that may be filtered instead of the output, by predicates on columns that come from them (see :meth:`column_origins`)."""
        return (0,) if self.row_choice is RowChoice.REORDER else ()

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """For each output column return the input columns that it copies (none if it is computed). The list may end before the last column."""
        if self.row_choice is None:
            return []
        slots = range(len(inputs)) if self.row_choice is RowChoice.UNITE else range(1)
        return [[(slot, position) for slot in slots] for position in range(inputs[0].width)]

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the list and dict columns of the output that are computed without a Python object for each value."""
        return []

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """Return orders of inputs that save work, as slot and columns; each column matters for rows that are equal in the columns before it."""
        return []

    def function_calls(self, width: int) -> FunctionCalls | None:
        """Return the calls of users' functions, given the number of input columns; None if the operator calls none."""
        return None


# A number larger than the number of rows of any frame.
ALL_ROWS = 2**62


class Need(enum.Enum):
    """What an operator requires of the rows of an input.

    ``ANY``: nothing; the order may be lost. ``INHERITED``: the row order, if the output's row order is observed. ``ORDERED``: the row order.
    ``SEQUENTIAL``: one pass in row order with a running state. ``DENSE``: rows that can be addressed by index. ``ALIGNED``: as ``DENSE``, and the
    input must have as many rows as the other inputs. ``LOOKUP``: a source whose rows the kernel reads by index and searches by key (an input that is
    not a source is materialised first); the kernel gets a lookup instead of rows, and its output rows are those of the first input.
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
    """Base class of all operators: a frozen, hashable value. Defaults assume the worst.

    A method that the class attributes promise but the class does not define raises PlanInvariantError when it is called.

    Class attributes
    ----------------
    name
        Unique name in the registry.
    arity
        Number of inputs; None for any number from one up.
    row_wise
        Output row *i* is a function of row *i* of each input; the inputs' row domain is kept.
    deterministic
        Equal inputs give equal outputs, so that equal nodes may be merged into one.
    has_kernel
        The operator implements :meth:`kernel` (or :meth:`read` if it is a source).
    keeps_dense
        If the rows of all inputs can be addressed by index, the rows of the output can be, too.
    keeps_domain
        Each output row is aligned with a row of the first input, though it may depend on other rows.
    takes_wider
        Inputs may have more columns than the operator reads, at no cost.
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

    def make_planner_node(self, *inputs: PlannerNode) -> PlannerNode:
        """Return a node of this operator applied to ``inputs``; types and length are inferred. Inputs of wrong types cause an error."""
        return PlannerNode(self, inputs)

    def called(self, outputs: Sequence[int] | None = None) -> str:
        """Return the name that messages use for the operator, or for some of its output columns; by default the registered name."""
        return self.name

    def as_read(self) -> Operator:
        """Return the operator after reading it from JSON: inconsistent or missing parts raise an error, and recorded facts about rows are dropped."""
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the output columns. Inputs that it refuses raise an error of the class that Turi Create raises."""
        raise PlanInvariantError(f"operator {self.name!r} does not infer its type")

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return what is known about the number of output rows; nothing by default, unless rows are aligned with those of an input."""
        if self.row_wise and inputs:
            return known_length(inputs)
        return inputs[0].length if self.keeps_domain else Length.unknown()

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the estimated bytes per row of each output column, given the estimates for the inputs' columns."""
        return copied_sizes(schema, inputs, [item.schema for item in facts])

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return what is known about the order of the output, given what is known about the inputs; nothing by default."""
        return RelationProperties()

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the columns of each input that some output columns need; by default all. An input without needed columns is dropped."""
        return [range(facts.width) for facts in inputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]] | None:
        """Return the operator over inputs that lack some columns, and the output columns that it still yields, ascending; None if impossible.

        Parameters
        ----------
        outputs
            The required output columns, ascending; more may be yielded.
        kept
            The columns that each input keeps, ascending: those that :meth:`input_columns` returns, or more if the operator ``takes_wider``.
        inputs
            Facts about the inputs with all their columns.
        """
        return None

    def requires(self, slot: int) -> Need:
        """Return what the operator requires of the rows of input ``slot``; by default their order, because the operator may depend on it."""
        return Need.ORDERED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the operator lowered to Spark DataFrame operations over its lowered inputs.

        Without it the kernel computes all rows: row ranges in threads, processes or Spark's tasks; a kernel of all rows in the user's process, within
        ``config.work_memory``.
        """
        raise PlanInvariantError(f"operator {self.name!r} has no Spark lowering")

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Return the output rows for aligned ranges of input rows. Inputs are chunks, or lookups for inputs with ``Need.LOOKUP``."""
        raise PlanInvariantError(f"operator {self.name!r} has no kernel")

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Return the range of rows of input ``slot`` that output rows ``start`` to ``stop`` need; the caller clips it to existing rows."""
        return (start, stop)

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Return output rows ``start`` to ``stop``, computed from the input rows in ``intervals``; by default with the kernel."""
        return self.kernel(inputs, facts)

    def describe(self) -> str:
        """Return the parameters in one short line, for printed plans."""
        return ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in attrs.fields(type(self)))


def has_lowering(operator: Operator) -> bool:
    """Return whether Spark can compute an operator with its own operations, since its class defines :meth:`Operator.plan_to_operator`."""
    return type(operator).plan_to_operator is not Operator.plan_to_operator


@attrs.frozen
class ExpandingOperator(Operator):
    """An operator that makes any number of output rows from a row of the first input, chunk by chunk."""

    has_kernel: ClassVar[bool] = True

    def chunks(self, inputs: Sequence[Any], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Yield the output rows in order, in one or more chunks of at most ``max_rows()`` rows; the limit may change between chunks."""
        raise PlanInvariantError(f"operator {self.name!r} does not yield its rows")

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Return the output rows as one chunk."""
        return next(self.chunks(inputs, facts, lambda: ALL_ROWS))


@attrs.frozen
class DecomposableOperator(Operator):
    """An operator of one input that is computed from states of ranges of rows. States of adjacent ranges combine (as a monoid)."""

    gathers: ClassVar[bool] = True

    @property
    def rows_of_part(self) -> int:
        """The number of input rows that a state may contain; 0 if a state summarises rows."""
        return 0

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        """Return whether the output can be computed from states of row ranges, given facts about the input."""
        return False

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> Any:
        """Return the state of a range of rows, which must be picklable."""
        raise PlanInvariantError(f"operator {self.name!r} makes no parts")

    def makes_large_part(self, rows: Chunk) -> bool:
        """Return whether the first rows of a range show, in less time than a state takes, that :meth:`bytes_of_part` will be infinite."""
        return False

    def combined(self, first: Any, second: Any, facts: Sequence[Facts]) -> Any:
        """Return the state of two adjacent ranges of rows, combined from their states."""
        raise PlanInvariantError(f"operator {self.name!r} does not combine parts")

    def combined_all(self, parts: Sequence[Any], facts: Sequence[Facts]) -> Any:
        """Return the state of one or more adjacent ranges of rows; by default the states are combined pairwise."""
        return reduce(lambda first, second: self.combined(first, second, facts), parts)

    def coded_columns(self, facts: Sequence[Facts]) -> Sequence[int]:
        """Return the string columns that :meth:`part_of` also accepts dictionary-encoded; none by default."""
        return ()

    def bytes_of_part(self, part: Any) -> float:
        """Return the estimated bytes of a state if it can contain many rows, else 0. If states are too large, the operator is not decomposed."""
        return 0.0

    def rows_from(self, part: Any, facts: Sequence[Facts]) -> Chunk:
        """Return the output rows, computed from the state of all input rows."""
        raise PlanInvariantError(f"operator {self.name!r} makes no rows of parts")


class TooLarge(enum.Enum):
    """Marks a state that is too large to be sent to another task. (None may be a valid state.)"""

    TOO_LARGE = 0


TOO_LARGE = TooLarge.TOO_LARGE


@attrs.frozen
class SequentialOperator(Operator):
    """An operator whose output row *i* depends on input rows 0 to *i*, through a running state. States of adjacent ranges combine (as a monoid)."""

    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        """Return the state before the first row, which must be picklable."""
        raise PlanInvariantError(f"the operator {self.name!r} has no initial state: define initial_state()")

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        """Return the state of a range of rows by itself."""
        raise PlanInvariantError(f"the operator {self.name!r} does not say what the state of a range of rows is: define summarize()")

    def ends_suffice(self, state: Any) -> bool:
        """Return whether the state of a range follows from the states of its first and its last rows alone.

        The engine asks this of the state of the first rows, where it means that later rows change only what the state holds of the last rows, and of
        the state of the last rows, where it means that earlier rows change only what it holds of the first rows. If the answers are yes, the rows
        between them are not read.
        """
        return False

    def carried(self, state: Any) -> Any:
        """Return the part of a range's state that later rows need; ``TOO_LARGE`` if it cannot be sent to another task.

        Row ranges between which the state cannot be sent are processed as one range.
        """
        return state

    def combine(self, first: Any, second: Any) -> Any:
        """Return the state of two adjacent ranges of rows, combined from their states."""
        raise PlanInvariantError(f"the operator {self.name!r} does not combine states: define combine(), which gives the state of two ranges")

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Return the output rows of a range and the state after it.

        The given state must not be changed: the range may be tried again with fewer rows.
        """
        raise PlanInvariantError(f"the operator {self.name!r} gives no rows: define advance(), which gives a Chunk and the state after it")

    def finish(self, facts: Sequence[Facts], state: Any) -> Chunk | None:
        """Return output rows that are known only after the last input row; None if there are none."""
        return None

    def requires(self, slot: int) -> Need:
        """Return ``SEQUENTIAL``: one pass in row order."""
        return Need.SEQUENTIAL

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the output for all rows at once, starting with the initial state."""
        chunk, state = self.advance(inputs, facts, self.initial_state(facts))
        return with_final_rows(chunk, self.finish(facts, state))


def with_final_rows(chunk: Chunk, rest: Chunk | None) -> Chunk:
    """Return output rows followed by the rows of :meth:`SequentialOperator.finish`, if there are any."""
    return chunk if rest is None else joined(chunk, rest)


def known_length(inputs: Sequence[Facts]) -> Length:
    """Return the length of aligned inputs, from an input of known length if possible."""
    return next((facts.length for facts in inputs if facts.length.rows is not None), inputs[0].length)


def any_parameter(**kwargs: Any) -> Any:
    """Return an attrs field for a parameter that cannot be written as JSON and is compared by identity.

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
