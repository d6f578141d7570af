"""A program under construction: what has been built, and which of it the next step may use."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle import Oracle

MAX_ROWS = 60
MAX_COLUMNS = 7
LARGEST = 2**20
AGGREGATING = frozenset({"group_by", "streaming_group_by", "reduce", "running", "key_window"})
SPREADS = frozenset({"var", "std", "stdv", "column_var", "column_std"})
"""Values that subtract what nearly cancels: zero by one formula, almost zero by another."""

Column = tuple[PlannerNode, int]


@attrs.define(eq=False)
class Growth:
    """Nodes so far, with the random decisions and the oracle that all steps share."""

    choose: random.Random
    oracle: Oracle
    nodes: list[PlannerNode] = attrs.Factory(list)
    focus: PlannerNode | None = None

    def add(self, node: PlannerNode) -> PlannerNode:
        """Keep a node if it is not too large; the node either way."""
        small = node.facts.width <= MAX_COLUMNS and len(self.oracle.rows(node)) <= MAX_ROWS
        if small and all(node is not known for known in self.nodes):
            self.nodes.append(node)
        return node

    def rows(self, node: PlannerNode) -> int:
        """How many rows a node has."""
        return len(self.oracle.rows(node))

    def values(self, node: PlannerNode, position: int) -> list[Any]:
        """Values of one column of a node."""
        return [row[position] for row in self.oracle.rows(node)]

    def any_node(self, accept: Callable[[PlannerNode], bool] = lambda node: True) -> PlannerNode | None:
        """Some node that is accepted, late ones more often; None if there is none. The focus first, if there is one."""
        if self.focus is not None and accept(self.focus):
            return self.focus
        return self.partner(accept)

    def partner(self, accept: Callable[[PlannerNode], bool]) -> PlannerNode | None:
        """Some node that is accepted, late ones more often; None if there is none."""
        found = [node for node in self.nodes if accept(node)]
        if not found:
            return None
        recent = found[-3:] if self.choose.random() < 0.6 else found
        return self.choose.choice(recent)

    def columns(self, kinds: Sequence[str], accept: Callable[[PlannerNode, int], bool]) -> list[Column]:
        """All columns of these kinds that are accepted."""
        return [
            (node, position)
            for node in self.nodes
            for position, column_type in enumerate(node.schema)
            if column_type.kind in kinds and accept(node, position)
        ]

    def any_column(self, kinds: Sequence[str], accept: Callable[[PlannerNode, int], bool]) -> Column | None:
        """Some column of these kinds that is accepted, of late nodes more often; None if there is none."""
        found = self.columns(kinds, accept)
        if not found:
            return None
        focused = [column for column in found if column[0] is self.focus]
        if focused:
            return self.choose.choice(focused)
        return self.choose.choice(found[-6:] if self.choose.random() < 0.5 else found)

    def aligned(self, rows: int, kinds: Sequence[str], accept: Callable[[PlannerNode, int], bool]) -> Column | None:
        """Some accepted column of these kinds with this number of rows."""
        return self.any_column(kinds, lambda node, position: self.rows(node) == rows and accept(node, position))

    def single(self, column: Column) -> PlannerNode:
        """A column as a node of its own, kept like every other."""
        node, position = column
        return self.add(project(node, [position]))

    def comparable(self, node: PlannerNode, position: int) -> bool:
        """True for a column whose values are exact, however they were computed, and of moderate size."""
        if node.schema[position].kind == "float" and any(map(rounds, postorder([node]))):
            return False
        return all(is_exact(value) for value in self.values(node, position))

    def computable(self, node: PlannerNode, position: int) -> bool:
        """True for a comparable column without float zeros: the sign of a zero may depend on the order of adding."""
        return self.comparable(node, position) and not any(isinstance(value, float) and value == 0 for value in self.values(node, position))


def rounds(node: PlannerNode) -> bool:
    """True for an operator some of whose floats differ in the last bits between ways of computing them."""
    operator: Any = node.operator
    if node.operator_type in ("cumulative", "rolling", "rolling_by_key"):
        return operator.kind in (*SPREADS, "product")
    if node.operator_type in ("exponential_smoothing", "interpolation"):
        return True
    aggregations = operator.aggregations if node.operator_type in AGGREGATING else ()
    return any(item.function in SPREADS for item in aggregations)


def is_exact(value: Any) -> bool:
    """True for values that do not depend on rounding: of numbers the moderate whole ones and quarters."""
    if isinstance(value, float):
        return math.isnan(value) or (abs(value) <= LARGEST and value * 4 == int(value * 4))
    return not isinstance(value, int) or abs(value) <= LARGEST
