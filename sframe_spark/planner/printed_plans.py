"""Plans printed as text, one line for each node, and the laws that were applied, one line for each law."""

from __future__ import annotations

from collections.abc import Callable

from sframe_spark.message_text import visible
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace

# Returns the name of a node's column, or None if it is unknown.
NameOfColumn = Callable[[PlannerNode, int], str | None]


def plan_text(root: PlannerNode, name: NameOfColumn | None = None, parameters: Callable[[PlannerNode, str], str] | None = None) -> str:
    """Return the plan as text, one line like ``r2 := filter_rows[](r1)  # (day int, str) x ?`` per node, with column names if known.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> print(plan_text(range_source(0, 3)))
    r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3
    >>> print(plan_text(range_source(0, 3), lambda node, position: "id"))
    r0 := range_source[start=0, rows=3, step=1]()  # (id int) x 3
    """
    registers = registers_of(root)
    lines = []
    for node in postorder([root]):
        inputs = ", ".join(registers[id(child)] for child in node.inputs)
        described = node.operator.describe()
        described = described if parameters is None else parameters(node, described)
        call = f"{node.operator_type}[{visible(described)}]({inputs})"
        lines.append(f"{registers[id(node)]} := {call}  # ({columns_text(node, name)}) x {node.length}")
    return "\n".join(lines)


def registers_of(root: PlannerNode) -> dict[int, str]:
    """Return, by ``id`` of each node, its name (``r0``, ``r1``, ...) in the text of a plan."""
    return {id(node): f"r{number}" for number, node in enumerate(postorder([root]))}


def columns_text(node: PlannerNode, name: NameOfColumn | None = None) -> str:
    """Return the types of a node's columns as text, with their names if known."""
    if name is None:
        return ", ".join(map(str, node.schema))
    names = [name(node, position) for position in range(node.facts.width)]
    pairs = zip(names, node.schema, strict=True)
    return ", ".join(str(type_) if column_name is None else f"{quoted(column_name)} {type_}" for column_name, type_ in pairs)


def quoted(name: str) -> str:
    """Return a name as it is printed in a plan: quoted unless it is an identifier.

    Examples
    --------
    >>> quoted("day"), quoted("a, b"), quoted("")
    ('day', "'a, b'", "''")
    >>> print(quoted("two\\nlines"))
    'two\\nlines'
    """
    # ``repr`` escapes all characters that a terminal would interpret as commands.
    return name if name.isidentifier() else repr(name)


def trace_text(trace: Trace) -> str:
    """Return the laws that were applied, and how often, one law per line."""
    return "\n".join(f"{count:4d} x {equation}" for equation, count in trace.counts().items()) or "no law fired"
