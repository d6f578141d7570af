"""Inference over nodes: type, length, equality of lengths."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.graph import fold, postorder, with_inferred_length
from sframe_spark.planner.node import PlannerNode, infer_facts
from sframe_spark.planner.operator import Need


def infer_planner_node_type(node: PlannerNode) -> Schema:
    """Column types of a node."""
    return node.facts.schema


def infer_planner_node_length(node: PlannerNode) -> int | None:
    """Number of rows of a node if it follows without running anything, else None.

    Facts remembered on nodes built before an input was materialised are refreshed from the graph as it is now.
    """
    return current_facts(node).length.rows


def known_rows(node: PlannerNode) -> int:
    """Number of rows of a node, which must follow without running anything.

    Raises
    ------
    PlanInvariantError
        If it does not.
    """
    return current_facts(node).length.known_rows


def current_facts(node: PlannerNode) -> Facts:
    """Facts of a node inferred anew from the graph below it."""
    if node.length.rows is not None or not node.inputs:
        return node.facts
    return fold([node], with_inferred_length)[id(node)]


def learn_lengths(root: PlannerNode) -> None:
    """Let each node of a graph know the number of its rows where it follows now: rows below may have been materialised since the node was made."""
    for node in postorder([root]):
        node.facts = with_inferred_length(node, [child.facts for child in node.inputs])


def with_current_lengths(root: PlannerNode) -> PlannerNode:
    """The graph with every row count that follows now; this very graph when nothing new follows.

    A node built before its input was materialised does not know its length, though it follows since then.
    """
    current: dict[int, PlannerNode] = {}
    for node in postorder([root]):
        rebuilt = node.with_inputs([current[id(child)] for child in node.inputs])
        facts = with_inferred_length(node, [child.facts for child in node.inputs]) if rebuilt is node else node.facts
        if facts is not node.facts:
            rebuilt = PlannerNode(node.operator, node.inputs, facts)
        current[id(node)] = rebuilt
    return current[id(root)]


def prove_equal_length(a: PlannerNode, b: PlannerNode) -> bool | None:
    """True or False when the lengths are certainly equal or different, None when only running them would tell."""
    if a is b or a.facts.domain is b.facts.domain:
        return True
    answer = a.length.provably_equals(b.length)
    if answer is not None:
        return answer
    answer = current_facts(a).length.provably_equals(current_facts(b).length)
    if answer is not None:
        return answer
    return True if same_plan(a, b) else None


def same_plan(a: PlannerNode, b: PlannerNode) -> bool:
    """True when two graphs are equal, operator by operator, and deterministic."""
    compared: set[tuple[int, int]] = set()
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        if left is right or (id(left), id(right)) in compared:
            continue
        compared.add((id(left), id(right)))
        same = left.operator == right.operator and left.operator.deterministic and len(left.inputs) == len(right.inputs)
        if not same:
            return False
        stack.extend(zip(left.inputs, right.inputs, strict=True))
    return True


__all__ = [
    "current_facts",
    "infer_facts",
    "infer_planner_node_length",
    "infer_planner_node_type",
    "known_rows",
    "learn_lengths",
    "prove_equal_length",
    "same_plan",
    "with_current_lengths",
]


# Properties of nodes: derived from the sources up, kept as long as what they follow from.


def properties_of(root: PlannerNode) -> RelationProperties:
    """What is known of a node's rows before they are computed.

    Properties follow from operators and inputs. They are kept on the node and found again only where an input's have changed since, as when it
    was materialised meanwhile.
    """

    def derive(node: PlannerNode, inputs: list[RelationProperties]) -> RelationProperties:
        if node.known is not None:
            operator, before, properties = node.known
            if operator is node.operator and len(before) == len(inputs) and all(a is b for a, b in zip(before, inputs, strict=True)):
                return properties
        properties = node.operator.infer_properties(inputs, [child.facts for child in node.inputs])
        if node.length.at_most is not None and node.length.at_most <= 1 and not properties.order.at_most_one_row:
            properties = properties.reordered(properties.order.add(keys=[()]))
        node.known = (node.operator, tuple(inputs), properties)
        return properties

    return fold([root], derive)[id(root)]


def is_in_order(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> bool:
    """Whether a node's rows are proved to be in an order, given as pairs of column position and whether it ascends."""
    return properties_of(node).order.satisfies(requirement(by))


# Order-demand analysis: at which nodes does anyone observe the row order?


def observed_nodes(root: PlannerNode, root_observed: bool = True) -> set[int]:
    """``id`` of every node whose row order reaches the result.

    The order of an input is observed when its consumer needs it for its values, or passes it on to an output whose order is observed.
    """
    return set(observers(root, root_observed))


def observers(root: PlannerNode, root_observed: bool = True) -> dict[int, PlannerNode | None]:
    """For each node whose row order reaches the result, by ``id``, a node that needs it for its values; None where the result shows it."""
    found: dict[int, PlannerNode | None] = {id(root): None} if root_observed else {}
    for node in reversed(list(postorder([root]))):
        for slot, child in enumerate(node.inputs):
            need = node.operator.requires(slot)
            if need is Need.ANY or (need is Need.INHERITED and id(node) not in found):
                continue
            found.setdefault(id(child), found[id(node)] if need is Need.INHERITED else node)
    return found
