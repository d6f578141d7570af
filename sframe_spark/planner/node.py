"""PlannerNode: an operator applied to inputs, which is one node of the lazy query graph; and the inference of the facts about its output."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.node_facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.planner.operator_parameters import operator_parameters
from sframe_spark.types import ColumnType

if TYPE_CHECKING:
    from sframe_spark.planner.operator import Operator

# A frame whose columns were assigned one by one has an input per column, and these functions are faster than functions in Python.
_READS_FILES, _IS_UNFIXED = attrgetter("reads_files"), attrgetter("is_unfixed")


class PlannerNode:
    """An operator applied to input nodes. Nodes are compared by identity. Only :meth:`splice` changes how a node is computed.

    Parameters
    ----------
    operator
        The operator, an immutable value.
    inputs
        Nodes whose rows the operator reads.
    facts
        Facts about the output; inferred if None. (A rewrite passes the facts of the node that it replaces, to keep ``Facts.domain``.)
    """

    __slots__ = ("__weakref__", "calls", "claim", "facts", "inputs", "is_unfixed", "known", "names", "operator", "ran", "reads_files")

    def __init__(self, operator: Operator, inputs: Sequence[PlannerNode] = (), facts: Facts | None = None) -> None:
        self.operator = operator
        self.inputs = tuple(inputs)
        if operator.arity is not None and len(self.inputs) != operator.arity:
            raise PlanInvariantError(f"{operator.name} takes {operator.arity} input(s), got {len(self.inputs)}")
        self.facts = infer_facts(operator, self.inputs) if facts is None else facts
        # Whether some rows came from files when the node was made. Other processes may change files, so every action checks them.
        self.reads_files: bool = any(map(_READS_FILES, self.inputs)) if self.inputs else operator.source_kind is not SourceKind.MEMORY
        # Whether a source below could yield different rows each time it is read, when the node was made.
        self.is_unfixed: bool = any(map(_IS_UNFIXED, self.inputs)) if self.inputs else operator.source_kind is SourceKind.QUERY
        # Set while an action computes the rows of the node with functions of users, so that other threads wait for it instead of calling the
        # functions again (see action_planning_and_function_call_claims); None if no action does.
        self.claim: Any = None
        # Memoised results of the user functions that the operator calls, for the rows computed so far.
        self.calls: Any = ()
        # Cache of `planner.length_and_order_inference.properties_of`, which follow from operator and inputs.
        self.known: Any = None
        # The first names that the user gave to the columns, used in messages only.
        self.names: Sequence[str] | None = None
        # Log of the latest action that computed these rows, used in messages only (engine.execution.run_log).
        self.ran: Any = None

    @property
    def operator_type(self) -> str:
        """Registered name of the operator."""
        return self.operator.name

    @property
    def operator_parameters(self) -> dict[str, Any]:
        """Parameters of the operator that can be written as JSON."""
        return operator_parameters(self.operator, portable=True)

    @property
    def any_operator_parameters(self) -> dict[str, Any]:
        """Parameters of the operator that cannot be written as JSON."""
        return operator_parameters(self.operator, portable=False)

    @property
    def schema(self) -> Schema:
        """Column types by position."""
        return self.facts.schema

    @property
    def length(self) -> Length:
        """The known facts about the number of rows."""
        return self.facts.length

    def with_inputs(self, inputs: Sequence[PlannerNode]) -> PlannerNode:
        """Return the same operator applied to other inputs; the node itself if the inputs are identical."""
        if len(inputs) == len(self.inputs) and all(map(is_, inputs, self.inputs)):
            return self
        if self.operator.arranges_columns and all(a.schema is b.schema or a.schema == b.schema for a, b in zip(inputs, self.inputs, strict=True)):
            # Type inference, which is costly for wide rows, is skipped: the types of the inputs are the same.
            return PlannerNode(self.operator, inputs, facts_of_types(self.operator, inputs, self.schema))
        return PlannerNode(self.operator, inputs)

    def record_column_names(self, names: Sequence[str]) -> None:
        """Record the user's names of the columns, for messages, unless names are recorded already."""
        if self.names is None and len(names) == self.facts.width:
            # Not copied: a frame never changes its list of names, and copying would take quadratic time when columns are added one at a time.
            self.names = names

    def splice(self, replacement: PlannerNode) -> None:
        """Replace this node's operator and inputs in place by those of ``replacement``, for every graph that contains the node.

        The replacement must have the same rows; schema and length are checked.

        Raises
        ------
        PlanInvariantError
            If the replacement has a different schema, or a length that is known to differ.
        """
        if not is_builtin(type(self.operator)) and replacement.operator.is_source and self.length.provably_equals(replacement.length) is False:
            found, remedy = rows_not_promised(self.operator, self.length, replacement.length)
            raise PlanInvariantError(f"the operator {self.operator_type!r} {found}: {remedy}")
        check_same_rows(self.facts, replacement.facts, f"splicing {replacement.operator_type} over {self.operator_type}")
        length = replacement.length if replacement.length.rows is not None else self.length
        self.operator = replacement.operator
        self.inputs = replacement.inputs
        self.reads_files = self.reads_files or replacement.reads_files
        self.is_unfixed = replacement.is_unfixed
        self.calls = ()
        self.facts = Facts(self.schema, length, self.facts.domain)

    def __repr__(self) -> str:
        return f"<PlannerNode {self.operator_type}({self.operator.describe()}) {self.length} rows>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.operator, self.inputs, self.facts.schema, self.facts.length.rows)


def _restore(operator: Operator, inputs: tuple[PlannerNode, ...], schema: Schema, rows: int | None) -> PlannerNode:
    return PlannerNode(operator, inputs, Facts(schema, Length.unknown() if rows is None else Length.exactly(rows)))


def infer_facts(operator: Operator, inputs: Sequence[PlannerNode]) -> Facts:
    """Return the facts about an operator's output, inferred from the facts of its inputs."""
    schema = operator.infer_type([node.facts for node in inputs])
    is_schema = isinstance(schema, (tuple, list)) and all(isinstance(column_type, ColumnType) for column_type in schema)
    if not is_builtin(type(operator)) and not is_schema:
        raise PlanInvariantError(
            f"infer_type() of the operator {operator.name!r} returned {schema!r:.80}: it must return a tuple of column types, such as (INT,)"
        )
    return facts_of_types(operator, inputs, tuple(schema))


def facts_of_types(operator: Operator, inputs: Sequence[PlannerNode], schema: Schema) -> Facts:
    """Return the facts about an operator's output, given its column types."""
    facts = [node.facts for node in inputs]
    return Facts(schema, operator.infer_length(facts), domain_of(operator, facts))


def domain_of(operator: Operator, inputs: Sequence[Facts]) -> RowDomain:
    """Return the row domain of an operator's output: that of the inputs if the operator is declared to keep it, otherwise a new one."""
    if operator.row_wise and inputs and all(facts.domain is inputs[0].domain for facts in inputs):
        return inputs[0].domain
    return inputs[0].domain if operator.keeps_domain else RowDomain()


def check_same_rows(before: Facts, after: Facts, change: str) -> None:
    """Check that a change of a plan keeps the schema and the known length.

    Raises
    ------
    PlanInvariantError
        If the schemas differ, or the lengths are known to differ.
    """
    if before.schema != after.schema:
        raise PlanInvariantError(f"{change} changes the types from ({', '.join(map(str, before.schema))}) to ({', '.join(map(str, after.schema))})")
    if before.length.provably_equals(after.length) is False:
        raise PlanInvariantError(f"{change} changes the number of rows from {before.length} to {after.length}")


def rows_not_promised(operator: Operator, promised: Length, given: Length) -> tuple[str, str]:
    """Return how an operator gave another number of rows than it promises, as a phrase without its name, and what to change."""
    by = next((flag for flag in ("row_wise", "keeps_domain") if getattr(operator, flag)), None)
    if by is None or not is_builtin(type(operator).infer_length):
        return (
            f"gave {_rows(given)}, and its infer_length() says {promised}",
            "Length.unknown(at_most=...) says that the number is not known beforehand",
        )
    owner = next(cls for cls in type(operator).__mro__ if by in vars(cls))
    default = f", the default of {owner.__name__}," if owner is not type(operator) else ""
    remedy = f"an operator that drops rows says {by} = False, and row_choice = RowChoice.OTHER if those that are left are unchanged"
    return f"gave {_rows(given)} for {promised}, and {by}{default} promises one for each", remedy


def _rows(length: Length) -> str:
    return f"{length} row{'' if length.rows == 1 else 's'}"


PACKAGE = __name__.partition(".")[0]


def is_builtin(code: Any) -> bool:
    """Return whether a class or function belongs to this package rather than to a plug-in or the user: every worker has this package.

    Examples
    --------
    >>> is_builtin(is_builtin), is_builtin(len)
    (True, False)
    """
    return str(getattr(code, "__module__", None)).partition(".")[0] == PACKAGE
