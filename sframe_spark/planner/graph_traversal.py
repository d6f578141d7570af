"""Traversals of query graphs, values computed node by node, and copies of graphs; without recursion, as chains of ten thousand nodes are common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import attrs

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts

with lazy_imports(globals()):
    from sframe_spark.planner.row_sizes import Sizes

Value = TypeVar("Value")


def postorder(roots: Iterable[PlannerNode]) -> Iterator[PlannerNode]:
    """Yield every node reachable from the roots once: inputs before consumers, inputs from left to right."""
    # Nodes hash by identity. None on the stack marks the end of the inputs of the node opened last.
    seen: set[PlannerNode] = set()
    opened: list[PlannerNode] = []
    stack: list[PlannerNode | None] = [*reversed([*roots])]
    while stack:
        node = stack.pop()
        if node is None:
            yield opened.pop()
        elif node not in seen:
            seen.add(node)
            if node.inputs:
                opened.append(node)
                stack.append(None)
                stack.extend(node.inputs[::-1])
            else:
                yield node


def fold(roots: Sequence[PlannerNode], function: Callable[[PlannerNode, list[Value]], Value]) -> dict[int, Value]:
    """Compute a value for every node from the values of its inputs; the result is keyed by ``id(node)``."""
    values: dict[int, Value] = {}
    for node in postorder(roots):
        values[id(node)] = function(node, [values[id(child)] for child in node.inputs])
    return values


def runs_as_kernels(root: PlannerNode) -> bool:
    """Return whether every operator of a graph has a kernel, so that no Spark query is needed."""
    return all(node.operator.has_kernel for node in postorder([root]))


def sizes_of(root: PlannerNode) -> dict[int, Sizes]:
    """Return the estimated bytes per row of each column of each node, keyed by ``id(node)``."""
    return fold([root], lambda node, inputs: node.operator.column_sizes(inputs, [child.facts for child in node.inputs], node.schema))


def rebuild(root: PlannerNode, replace: Callable[[PlannerNode], PlannerNode]) -> PlannerNode:
    """Return a copy of the graph with ``replace`` applied to every node after its inputs; shared nodes stay shared."""
    return fold([root], lambda node, inputs: replace(node.with_inputs(inputs)))[id(root)]


def with_inferred_length(node: PlannerNode, inputs: Sequence[Facts]) -> Facts:
    """Return the facts of a node. An unknown length is inferred again, as an input may have been materialised since the node was made."""
    if node.length.rows is None and inputs:
        inferred = node.operator.infer_length(inputs)
        if inferred.rows is not None:
            return attrs.evolve(node.facts, length=inferred)
    return node.facts


def private_copy(root: PlannerNode) -> PlannerNode:
    """Return a copy of the graph for one run: splices of the original nodes by other threads do not change it."""

    def copy(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        same = PlannerNode(node.operator, inputs, with_inferred_length(node, [child.facts for child in inputs]))
        same.known, same.names = node.known, node.names
        return same

    return fold([root], copy)[id(root)]


def consumers(roots: Sequence[PlannerNode]) -> dict[int, list[PlannerNode]]:
    """Return the nodes that read each node, keyed by ``id(node)``; a node that reads the same input twice is listed twice."""
    result: dict[int, list[PlannerNode]] = {}
    for node in postorder(roots):
        result.setdefault(id(node), [])
        for child in node.inputs:
            result[id(child)].append(node)
    return result
