"""Inference over nodes and proofs of equal length."""

from __future__ import annotations

from typing import ClassVar

import attrs

from sframe_spark.planner.length_and_order_inference import current_facts, infer_planner_node_length, learn_lengths, prove_equal_length, same_plan
from sframe_spark.planner.node_facts import Length
from sframe_spark.types import INT, STR
from tests.planner.sample import DEEP, Leaf, Pair, Step, Wider, chain, lattice, leaf, step


@attrs.frozen
class Random(Leaf):
    """A source that gives other rows each time."""

    name: ClassVar[str] = "sample_random"
    deterministic: ClassVar[bool] = False


def test_type_and_length_of_a_node() -> None:
    node = step(leaf(4, (INT, STR)))
    assert infer_planner_node_length(node) == 4
    assert infer_planner_node_length(Wider().make_planner_node(node)) is None


def test_lengths_are_refreshed_when_an_input_has_been_spliced() -> None:
    place = Wider().make_planner_node(leaf(4))
    above = step(step(place))
    assert infer_planner_node_length(above) is None
    place.splice(leaf(9, (INT, INT)))
    assert above.length.rows is None
    assert infer_planner_node_length(above) == 9
    assert current_facts(above).domain is above.facts.domain
    learn_lengths(above)
    assert [above.length.rows, above.inputs[0].length.rows] == [9, 9]


def test_refreshing_ten_thousand_nodes() -> None:
    place = step(leaf(None))
    node = place
    for _ in range(DEEP):
        node = step(node)
    place.splice(leaf(3))
    assert infer_planner_node_length(node) == 3


def test_a_node_has_its_own_length() -> None:
    node = leaf(None)
    assert prove_equal_length(node, node) is True


def test_nodes_of_one_domain_have_one_length() -> None:
    source = leaf(None)
    assert prove_equal_length(step(source, "a"), step(source, "b")) is True


def test_known_lengths_decide() -> None:
    assert prove_equal_length(leaf(3), leaf(3)) is True
    assert prove_equal_length(leaf(3), leaf(4)) is False
    assert prove_equal_length(leaf(3), leaf(None)) is None


def test_lengths_known_since_a_splice_decide() -> None:
    place = leaf(None)
    first = step(place)
    assert prove_equal_length(first, leaf(3)) is None
    place.splice(leaf(4))
    assert prove_equal_length(first, leaf(3)) is False
    assert prove_equal_length(first, leaf(4)) is True


def test_equal_deterministic_plans_have_one_length() -> None:
    assert prove_equal_length(chain(5, None), chain(5, None)) is True
    assert prove_equal_length(chain(5, None), Wider().make_planner_node(leaf())) is None


def test_equal_plans_that_are_not_deterministic_prove_nothing() -> None:
    assert prove_equal_length(Random(None).make_planner_node(), Random(None).make_planner_node()) is None
    assert prove_equal_length(Wider().make_planner_node(leaf()), Wider().make_planner_node(leaf())) is None


def test_bounds_can_prove_a_difference() -> None:
    node = leaf(3)
    bounded = leaf(None)
    bounded.facts = attrs.evolve(bounded.facts, length=Length.unknown(at_most=2))
    assert prove_equal_length(node, bounded) is False


def test_same_plan_compares_operators_inputs_and_order() -> None:
    a, b = leaf(1), leaf(2)
    assert same_plan(Pair().make_planner_node(a, b), Pair().make_planner_node(a, b))
    assert not same_plan(Pair().make_planner_node(a, b), Pair().make_planner_node(b, a))
    assert not same_plan(chain(3, label="a"), chain(3, label="b"))
    assert not same_plan(step(a), Pair().make_planner_node(a, a))
    assert not same_plan(step(a), PlainStep().make_planner_node(a))


def test_same_plan_is_linear_in_shared_graphs_and_deep_chains() -> None:
    assert same_plan(lattice(60), lattice(60))
    assert same_plan(chain(DEEP), chain(DEEP))


@attrs.frozen
class PlainStep(Step):
    """Another operator with the same parameters."""

    name: ClassVar[str] = "sample_plain_step"
