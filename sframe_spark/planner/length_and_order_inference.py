"""What follows from a query graph without running it: lengths and order of nodes, which orders are observed, and whether two graphs are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sframe_spark.errors import PlanInvariantError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.graph_traversal import fold, postorder, with_inferred_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import Need

with lazy_imports(globals()):
    from sframe_spark.order import derive
    from sframe_spark.order.properties import RelationProperties, requirement


def infer_planner_node_length(node: PlannerNode) -> int | None:
    """Return the number of rows of a node; None if it is unknown until the node is run.

    Unknown lengths are inferred again, because inputs may have been materialised since the nodes were made.
    """
    return current_facts(node).length.rows


def known_rows(node: PlannerNode) -> int:
    """Return the number of rows of a node, for callers that need it to be known without running anything.

    Raises
    ------
    PlanInvariantError
        If the number of rows is unknown.
    """
    return current_facts(node).length.known_rows


def current_facts(node: PlannerNode) -> Facts:
    """Return the facts of a node, with an unknown length inferred again from the current graph below it."""
    if node.length.rows is not None or not node.inputs:
        return node.facts
    return fold([node], with_inferred_length)[id(node)]


def learn_lengths(root: PlannerNode) -> None:
    """Store on each node of a graph the number of rows if it can be inferred now, as inputs may have been materialised since the node was made."""
    for node in postorder([root]):
        node.facts = with_inferred_length(node, [child.facts for child in node.inputs])


def with_current_lengths(root: PlannerNode) -> PlannerNode:
    """Return the graph with all lengths that can be inferred now, without changing a node; the graph itself if none is new."""
    current: dict[int, PlannerNode] = {}
    for node in postorder([root]):
        rebuilt = node.with_inputs([current[id(child)] for child in node.inputs])
        facts = with_inferred_length(node, [child.facts for child in node.inputs]) if rebuilt is node else node.facts
        if facts is not node.facts:
            rebuilt = PlannerNode(node.operator, node.inputs, facts)
        current[id(node)] = rebuilt
    return current[id(root)]


def prove_equal_length(a: PlannerNode, b: PlannerNode) -> bool | None:
    """Return whether two nodes have the same number of rows; None if that is unknown until they are run."""
    if a is b or a.facts.domain is b.facts.domain:
        return True
    answer = a.length.provably_equals(b.length)
    if answer is None:
        answer = current_facts(a).length.provably_equals(current_facts(b).length)
    return True if answer is None and same_plan(a, b) else answer


def same_plan(a: PlannerNode, b: PlannerNode) -> bool:
    """Return whether two graphs have equal, deterministic operators at every node; a node that both graphs have at the same place may be random."""
    compared: set[tuple[int, int]] = set()
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        if left is right or (id(left), id(right)) in compared:
            continue
        compared.add((id(left), id(right)))
        if left.operator != right.operator or not left.operator.deterministic or len(left.inputs) != len(right.inputs):
            return False
        stack.extend(zip(left.inputs, right.inputs, strict=True))
    return True


def properties_of(root: PlannerNode) -> RelationProperties:
    """Return what is known about a node's rows (order, keys, bounds of values) before they are computed.

    Properties follow from operators and inputs. They are cached on the node, and derived again only if properties of an input have changed,
    for example because the input was materialised.
    """

    def derived(node: PlannerNode, inputs: list[RelationProperties]) -> RelationProperties:
        if node.known is not None:
            operator, before, properties = node.known
            if operator is node.operator and len(before) == len(inputs) and all(a is b for a, b in zip(before, inputs, strict=True)):
                return properties
        inferred: Any = node.operator.infer_properties(inputs, [child.facts for child in node.inputs])
        if not isinstance(inferred, RelationProperties):
            what = f"infer_properties() of the operator {node.operator_type!r} returned a {type(inferred).__name__}"
            raise PlanInvariantError(f"{what}: it must return one RelationProperties, such as inputs[0] where the rows are in the same order")
        properties = inferred
        if node.length.at_most is not None and node.length.at_most <= 1 and not properties.order.at_most_one_row:
            properties = properties.reordered(properties.order.add(keys=[()]))
        node.known = (node.operator, tuple(inputs), properties)
        return properties

    return fold([root], derived)[id(root)]


def in_any_order(node: PlannerNode) -> PlannerNode:
    """Return a node with the same rows and only those facts that hold in any order of the rows."""
    properties = properties_of(node)
    result = PlannerNode(node.operator, node.inputs, node.facts)
    assert node.known is not None
    result.known = (*node.known[:2], properties.reordered(derive.unordered(properties.order)))
    return result


def is_in_order(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> bool:
    """Return whether a node's rows are proved to be in an order, given as pairs of column position and whether it ascends."""
    return properties_of(node).order.satisfies(requirement(by))


def observed_nodes(root: PlannerNode, root_observed: bool = True) -> set[int]:
    """Return the ``id`` of every node whose row order affects the result.

    The order of an input is observed if its consumer needs it to compute values, or passes it on to an output whose order is observed.
    """
    return set(observers(root, root_observed))


def observers(root: PlannerNode, root_observed: bool = True) -> dict[int, PlannerNode | None]:
    """For each node whose row order affects the result, return by ``id`` a node that observes the order.

    The observing node needs the order to compute values. It is None if the consumer that is found first needs it only for the order of the result.
    """
    observer_of: dict[int, PlannerNode | None] = {id(root): None} if root_observed else {}
    for node in reversed(list(postorder([root]))):
        for slot, child in enumerate(node.inputs):
            need = node.operator.requires(slot)
            if need is Need.ANY or (need is Need.INHERITED and id(node) not in observer_of):
                continue
            observer_of.setdefault(id(child), observer_of[id(node)] if need is Need.INHERITED else node)
    return observer_of
