"""Small operators and graphs for tests of the planner, which knows no concrete operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.types import INT

DEEP = 10_000


@attrs.frozen
class Leaf(Operator):
    """A source of a length that is known or not."""

    name: ClassVar[str] = "sample_leaf"
    arity: ClassVar[int | None] = 0
    deterministic: ClassVar[bool] = True
    rows: int | None = 10
    schema: Schema = (INT,)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return self.schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.unknown() if self.rows is None else Length.exactly(self.rows)


@attrs.frozen
class Step(Operator):
    """A row-wise operator with a label."""

    name: ClassVar[str] = "sample_step"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    label: str = "a"

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return inputs[0].schema

    def requires(self, slot: int) -> Need:
        return Need.INHERITED


@attrs.frozen
class Pair(Step):
    """A row-wise operator over two inputs."""

    name: ClassVar[str] = "sample_pair"
    arity: ClassVar[int | None] = 2


@attrs.frozen
class Wider(Operator):
    """An operator with one column more and unknown rows, which says nothing else about itself."""

    name: ClassVar[str] = "sample_wider"

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (*inputs[0].schema, INT)


@attrs.frozen
class Total(Operator):
    """One row, whatever the order of the rows."""

    name: ClassVar[str] = "sample_total"
    deterministic: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(1)

    def requires(self, slot: int) -> Need:
        return Need.ANY


def leaf(rows: int | None = 10, schema: Schema = (INT,)) -> PlannerNode:
    """A node without inputs."""
    return Leaf(rows, schema).make_planner_node()


def step(node: PlannerNode, label: str = "a") -> PlannerNode:
    """A step above a node."""
    return Step(label).make_planner_node(node)


def chain(length: int, rows: int | None = 10, label: str = "a") -> PlannerNode:
    """A leaf below ``length`` steps."""
    node = leaf(rows)
    for _ in range(length):
        node = step(node, label)
    return node


def lattice(levels: int) -> PlannerNode:
    """``levels`` pairs, each over the one below twice: 2 ** levels paths through ``levels + 1`` nodes."""
    node = leaf()
    for _ in range(levels):
        node = Pair().make_planner_node(node, node)
    return node
