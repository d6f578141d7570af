"""Plans as text, in SSA form: one line per node, inputs before consumers."""

from __future__ import annotations

from collections.abc import Callable

from sframe_spark.message_text import visible
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace

# What a node's column is called, or None.
NameOfColumn = Callable[[PlannerNode, int], str | None]


def plan_text(root: PlannerNode, name: NameOfColumn | None = None) -> str:
    """The plan as lines ``r2 := filter_rows[](r1)  # (day int, str) x ?``, with names of columns as far as they are known.

    Examples
    --------
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> print(plan_text(range_source(0, 3)))
    r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3
    >>> print(plan_text(range_source(0, 3), lambda node, position: "id"))
    r0 := range_source[start=0, rows=3, step=1]()  # (id int) x 3
    """
    registers = registers_of(root)
    lines = []
    for node in postorder([root]):
        inputs = ", ".join(registers[id(child)] for child in node.inputs)
        what = f"{node.operator_type}[{visible(node.operator.describe())}]({inputs})"
        lines.append(f"{registers[id(node)]} := {what}  # ({columns_text(node, name)}) x {node.length}")
    return "\n".join(lines)


def registers_of(root: PlannerNode) -> dict[int, str]:
    """What the nodes of a plan are called in its text, by their ``id``."""
    return {id(node): f"r{number}" for number, node in enumerate(postorder([root]))}


def columns_text(node: PlannerNode, name: NameOfColumn | None = None) -> str:
    """Names, as far as they are known, and types of a node's columns."""
    if name is None:
        return ", ".join(map(str, node.schema))
    found = [name(node, position) for position in range(node.facts.width)]
    return ", ".join(str(kind) if known is None else f"{quoted(known)} {kind}" for known, kind in zip(found, node.schema, strict=True))


def quoted(name: str) -> str:
    """A name as it stands in a plan: in quotes where it is not one word.

    Examples
    --------
    >>> quoted("day"), quoted("a, b"), quoted("")
    ('day', "'a, b'", "''")
    >>> print(quoted("two\\nlines"))
    'two\\nlines'
    """
    # Python's own form has escapes for all that a terminal takes for commands.
    return name if name.isidentifier() else repr(name)


def trace_text(trace: Trace) -> str:
    """The laws that fired, with how often."""
    counts = trace.counts()
    return "\n".join(f"{count:4d} x {equation}" for equation, count in counts.items()) or "no law fired"
