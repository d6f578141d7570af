"""Evaluation of a graph of planner nodes, one node after the other, every node whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.testing.oracle.interpreter import MEANINGS
from sframe_spark.testing.oracle.values import Row

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode

Rows = list[Row]


@attrs.frozen(eq=False)
class Table:
    """Rows and the kinds of their columns (``int``, ``float``, ``str`` and so on)."""

    rows: Rows
    kinds: tuple[str, ...]

    def column(self, position: int) -> list[Any]:
        """Values of one column, in row order."""
        return [row[position] for row in self.rows]


Meaning = Callable[[Any, Sequence[Table]], Rows]


class Oracle:
    """Evaluates nodes on plain Python rows and remembers the rows of every node it has seen.

    Parameters
    ----------
    meanings
        Meanings of further operators by name: ``meaning(operator, inputs)`` gives the rows. This is the door for
        packages with operators of their own.

    Examples
    --------
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> from sframe_spark.operators.slice import slice_rows
    >>> Oracle().rows(slice_rows(range_source(10, 5), 1, None, 2))
    [(11,), (13,)]
    """

    def __init__(self, meanings: Mapping[str, Meaning] | None = None) -> None:
        self.meanings: dict[str, Meaning] = {**MEANINGS, **(meanings or {})}
        # Nodes are kept beside their tables: an id is only theirs as long as they live.
        self._known: dict[int, tuple[PlannerNode, Table]] = {}

    def rows(self, node: PlannerNode) -> Rows:
        """Rows of a node, in row order.

        Raises
        ------
        KeyError
            If an operator below it has no meaning here.
        """
        return self.table(node).rows

    def table(self, node: PlannerNode) -> Table:
        """Rows of a node and the kinds of its columns."""
        stack = [node]
        while stack:
            current = stack[-1]
            pending = [child for child in current.inputs if id(child) not in self._known]
            if id(current) in self._known or not pending:
                stack.pop()
                if id(current) not in self._known:
                    self._known[id(current)] = (current, self._evaluate(current))
            else:
                stack.extend(pending)
        return self._known[id(node)][1]

    def _evaluate(self, node: PlannerNode) -> Table:
        meaning = self.meanings.get(node.operator_type)
        if meaning is None:
            raise KeyError(f"the oracle has no meaning for the operator {node.operator_type!r}: give it one")
        rows = meaning(node.operator, [self._known[id(child)][1] for child in node.inputs])
        return Table(rows, tuple(column_type.kind for column_type in node.schema))
