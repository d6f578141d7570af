"""Who observes row order: needs of the consumers, down from the result."""

from __future__ import annotations

from typing import ClassVar

import attrs
import pytest

from sframe_spark.planner.length_and_order_inference import observed_nodes
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from tests.planner.sample import DEEP, Pair, Step, Total, Wider, chain, leaf, step


@attrs.frozen
class Asking(Step):
    """A step that asks for something of its choice."""

    name: ClassVar[str] = "sample_asking"
    need: Need = Need.ANY

    def requires(self, slot: int) -> Need:
        return self.need


def seen(root: PlannerNode, *nodes: PlannerNode, root_observed: bool = True) -> list[bool]:
    """For each node, whether its order is observed."""
    observed = observed_nodes(root, root_observed)
    return [id(node) in observed for node in nodes]


def test_the_order_of_the_result_is_observed_unless_nobody_looks() -> None:
    root = leaf()
    assert seen(root, root) == [True]
    assert seen(root, root, root_observed=False) == [False]


@pytest.mark.parametrize("root_observed", [False, True])
@pytest.mark.parametrize("need", Need)
def test_an_input_is_observed_as_its_consumer_needs(need: Need, root_observed: bool) -> None:
    source = leaf()
    root = Asking(need=need).make_planner_node(source)
    wanted = {Need.ANY: False, Need.INHERITED: root_observed}.get(need, True)
    assert seen(root, source, root_observed=root_observed) == [wanted]


def test_one_consumer_that_observes_is_enough() -> None:
    shared = step(leaf())
    root = Pair().make_planner_node(Total().make_planner_node(shared), shared)
    assert seen(root, shared) == [True]
    blind = Pair().make_planner_node(Total().make_planner_node(shared), Total().make_planner_node(shared))
    assert seen(blind, shared, shared.inputs[0]) == [False, False]


def test_an_operator_that_says_nothing_observes_even_where_nobody_looks_at_it() -> None:
    source = step(leaf())
    root = Total().make_planner_node(Wider().make_planner_node(source))
    assert seen(root, root.inputs[0], source, source.inputs[0]) == [False, True, True]


def test_every_consumer_is_asked_before_its_input_passes_the_order_on() -> None:
    # The node is reached first through a consumer that does not observe it, and later, deeper, through one that does.
    source = leaf()
    middle = step(source)
    above = step(step(step(middle)))
    root = Pair().make_planner_node(Total().make_planner_node(middle), above)
    assert seen(root, middle, source) == [True, True]


def test_ten_thousand_nodes() -> None:
    assert len(observed_nodes(chain(DEEP))) == DEEP + 1
