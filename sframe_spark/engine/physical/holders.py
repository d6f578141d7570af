"""Which nodes below a node somebody else refers to: a handle of the user's, another thread, another graph."""

from __future__ import annotations

import sys
from typing import Any

from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode


def held_below(root: PlannerNode) -> set[int]:
    """``id`` of the nodes below ``root`` that can be reached otherwise than through it.

    References are counted: those that the graph explains by itself are taken off. What cannot be explained counts as a holder, so the answer errs
    on the side of one more.
    """
    # First: a list of the nodes would hold them all.
    held = held_directly(root)
    for node in reversed(list(postorder([root]))):
        if id(node) in held:
            held.update(id(child) for child in node.inputs)
    return held


def held_directly(root: PlannerNode) -> set[int]:
    """``id`` of the nodes below ``root`` to which somebody refers who is no node of its graph."""
    nodes: list[Any] = list(postorder([root]))
    explained, held = _references_within(nodes)
    nodes.append(object())
    found = [sys.getrefcount(node) for node in nodes]
    unexplained = found.pop()
    nodes.pop()
    for node, count in zip(nodes, found, strict=True):
        if count > unexplained + explained[id(node)]:
            held.add(id(node))
    held.discard(id(root))
    return held


def _references_within(nodes: list[Any]) -> tuple[dict[int, int], set[int]]:
    """How many references to each node the tuples of inputs hold, and the nodes in tuples that somebody else holds too."""
    readers: dict[int, int] = {}
    for node in nodes:
        readers[id(node.inputs)] = readers.get(id(node.inputs), 0) + 1
    explained: dict[int, int] = {id(node): 0 for node in nodes}
    suspicious: set[int] = set()
    probe = _Probe()
    inputs = probe.inputs
    own = sys.getrefcount(inputs) - 1
    seen: set[int] = set()
    for node in nodes:
        inputs = node.inputs
        if not inputs or id(inputs) in seen:
            continue
        seen.add(id(inputs))
        if sys.getrefcount(inputs) > own + readers[id(inputs)]:
            suspicious.update(id(child) for child in inputs)
        for child in inputs:
            explained[id(child)] += 1
    return explained, suspicious


class _Probe:
    """An object whose inputs nobody else holds."""

    __slots__ = ("inputs",)

    def __init__(self) -> None:
        self.inputs = (object(),)
