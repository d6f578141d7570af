"""PlannerNode: a place in the query graph."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.types import ColumnType

if TYPE_CHECKING:
    from sframe_spark.planner.operator import Operator


# Whose code something is: this package's own, or that of a plug-in.

PACKAGE = __name__.partition(".")[0]


def is_builtin(code: Any) -> bool:
    """True for a class or a function of this package, which every worker has.

    Examples
    --------
    >>> is_builtin(is_builtin), is_builtin(len)
    (True, False)
    """
    return str(getattr(code, "__module__", None)).partition(".")[0] == PACKAGE


_READS_FILES = attrgetter("reads_files")
_IS_UNFIXED = attrgetter("is_unfixed")


class PlannerNode:
    """An operator over inputs. Compared by identity; everything but :meth:`splice` leaves it unchanged.

    Parameters
    ----------
    operator
        The operator value.
    inputs
        Nodes whose rows the operator reads.
    facts
        Known facts, when they should not be inferred anew (a rewrite keeps the domain of what it replaces).
    """

    __slots__ = ("__weakref__", "action", "calls", "facts", "inputs", "is_unfixed", "known", "names", "operator", "ran", "reads_files")

    def __init__(self, operator: Operator, inputs: Sequence[PlannerNode] = (), facts: Facts | None = None) -> None:
        self.operator = operator
        self.inputs = tuple(inputs)
        if operator.arity is not None and len(self.inputs) != operator.arity:
            raise PlanInvariantError(f"{operator.name} takes {operator.arity} input(s), got {len(self.inputs)}")
        self.facts = infer_facts(operator, self.inputs) if facts is None else facts
        # Whether some rows are not in memory, or were not when the node was made: others may change files, which is asked about at every look.
        self.reads_files: bool = any(map(_READS_FILES, self.inputs)) if self.inputs else not operator.is_in_memory
        # Whether its rows were made of a source that may have others each time it is read, when the node was made.
        self.is_unfixed: bool = any(map(_IS_UNFIXED, self.inputs)) if self.inputs else operator.is_evaluated_anew
        self.action: Any = None
        # What users' functions that the operator calls gave for rows looked at so far (operators.udf_calls).
        self.calls: Any = ()
        # What `planner.inference` found lately; it follows from operator and inputs.
        self.known: Any = None
        # What users called the columns first, for messages only: no plan and no result depends on it.
        self.names: Sequence[str] | None = None
        # What ran when somebody last looked at the rows, for messages only (engine.execution.run_log).
        self.ran: Any = None

    @property
    def operator_type(self) -> str:
        """Registered name of the operator."""
        return self.operator.name

    @property
    def operator_parameters(self) -> dict[str, Any]:
        """Portable parameters of the operator."""
        return self.operator.operator_parameters

    @property
    def any_operator_parameters(self) -> dict[str, Any]:
        """Parameters of the operator that cannot be serialised."""
        return self.operator.any_operator_parameters

    @property
    def schema(self) -> Schema:
        """Column types by position."""
        return self.facts.schema

    @property
    def length(self) -> Length:
        """What is known of the row count."""
        return self.facts.length

    def with_inputs(self, inputs: Sequence[PlannerNode]) -> PlannerNode:
        """The same operator over other inputs; this very node when they are the same."""
        if len(inputs) == len(self.inputs) and all(map(is_, inputs, self.inputs)):
            return self
        if self.operator.arranges_columns and all(a.schema is b.schema or a.schema == b.schema for a, b in zip(inputs, self.inputs, strict=True)):
            # The types of wide rows are not put together anew where a column of them is computed in another form.
            return PlannerNode(self.operator, inputs, facts_of_types(self.operator, inputs, self.schema))
        return PlannerNode(self.operator, inputs)

    def call_columns(self, names: Sequence[str]) -> None:
        """Remember what users call the columns, for messages; what they were called first stays."""
        if self.names is None and len(names) == self.facts.width:
            # A frame's names never change in place; a frame to which columns are added one by one would be copied for each of them.
            self.names = names

    def splice(self, replacement: PlannerNode) -> None:
        """Become ``replacement`` in place; every graph that holds this node sees the change, no result does.

        Raises
        ------
        PlanInvariantError
            If the replacement has another schema or another known length.
        """
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
    length = Length.unknown() if rows is None else Length.exactly(rows)
    return PlannerNode(operator, inputs, Facts(schema, length))


def infer_facts(operator: Operator, inputs: Sequence[PlannerNode]) -> Facts:
    """Facts of an operator over inputs whose facts are known."""
    facts = [node.facts for node in inputs]
    schema = operator.infer_type(facts)
    if not is_builtin(type(operator)) and not is_schema(schema):
        raise PlanInvariantError(
            f"infer_type() of the operator {operator.name!r} gave {schema!r:.80}: it gives a tuple of column types, such as (INT,)"
        )
    return facts_of_types(operator, inputs, tuple(schema))


def facts_of_types(operator: Operator, inputs: Sequence[PlannerNode], schema: Schema) -> Facts:
    """Facts of an operator over inputs whose facts are known, where its types are."""
    facts = [node.facts for node in inputs]
    return Facts(schema, operator.infer_length(facts), operator.infer_domain(facts))


def is_schema(value: Any) -> bool:
    """True for column types one after the other."""
    return isinstance(value, (tuple, list)) and all(isinstance(kind, ColumnType) for kind in value)


def check_same_rows(before: Facts, after: Facts, what: str) -> None:
    """Refuse a change of schema or known length.

    Raises
    ------
    PlanInvariantError
        If the schemas differ, or both lengths are known and differ.
    """
    if before.schema != after.schema:
        raise PlanInvariantError(f"{what} changes the types from ({', '.join(map(str, before.schema))}) to ({', '.join(map(str, after.schema))})")
    if before.length.provably_equals(after.length) is False:
        raise PlanInvariantError(f"{what} changes the number of rows from {before.length} to {after.length}")
