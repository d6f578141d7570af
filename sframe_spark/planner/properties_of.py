"""Properties of nodes: derived from the sources up, kept as long as what they follow from."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.planner.graph import fold
from sframe_spark.planner.node import PlannerNode


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
