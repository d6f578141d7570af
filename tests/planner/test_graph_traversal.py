"""Walks over graphs: order, sharing, ten thousand nodes, no path counted twice."""

from __future__ import annotations

from sframe_spark.planner.graph_traversal import consumers, fold, postorder, rebuild
from sframe_spark.planner.node import PlannerNode
from tests.planner.sample import DEEP, Pair, chain, lattice, leaf, step


def test_inputs_come_before_consumers_left_to_right() -> None:
    left, right = leaf(1), leaf(1)
    root = Pair().make_planner_node(step(left), right)
    assert list(postorder([root])) == [left, root.inputs[0], right, root]


def test_shared_nodes_are_visited_once() -> None:
    assert len(list(postorder([lattice(40)]))) == 41


def test_several_roots_share_one_walk() -> None:
    source = leaf()
    first, second = step(source, "a"), step(source, "b")
    assert list(postorder([first, second, first])) == [source, first, second]


def test_long_chains_are_walked() -> None:
    root = chain(DEEP)
    assert sum(1 for _ in postorder([root])) == DEEP + 1
    depths = fold([root], lambda node, inputs: max(inputs, default=-1) + 1)
    assert depths[id(root)] == DEEP
    assert len(consumers([root])) == DEEP + 1


def test_fold_computes_each_value_once() -> None:
    calls: list[int] = []

    def paths(node: PlannerNode, inputs: list[int]) -> int:
        calls.append(id(node))
        return sum(inputs) or 1

    root = lattice(30)
    assert fold([root], paths)[id(root)] == 2**30
    assert len(calls) == 31


def test_rebuild_copies_what_changes_and_keeps_sharing() -> None:
    root = lattice(20)

    def relabel(node: PlannerNode) -> PlannerNode:
        return PlannerNode(Pair("b"), node.inputs) if isinstance(node.operator, Pair) else node

    copy = rebuild(root, relabel)
    nodes = list(postorder([copy]))
    assert len(nodes) == 21
    assert {node.operator for node in nodes[1:]} == {Pair("b")}
    assert all(node.operator == Pair("a") for node in list(postorder([root]))[1:])


def test_rebuild_without_change_returns_the_graph() -> None:
    root = chain(DEEP)
    assert rebuild(root, lambda node: node) is root


def test_consumers_list_a_double_reader_twice() -> None:
    source = leaf()
    root = Pair().make_planner_node(source, source)
    assert consumers([root]) == {id(source): [root, root], id(root): []}
