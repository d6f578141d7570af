"""Knows which nodes can be asked for: those of frames, columns, iterators and running actions, which are their handles.

The engine asks here whether rows that it computes for one node may be needed for another node later. Whatever keeps a node after the call in which it
got the node, and may ask for its rows later, is a handle or keeps one. A handle that exists longer than it is used costs work and changes no result:
nothing depends on when the interpreter deletes objects. Each step is one operation of a dict, so threads need no lock.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from typing import Protocol

from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode


class HasNode(Protocol):
    """An object that may ask for the rows of its node, ``_node``, which may become another one."""

    _node: PlannerNode


class Handle:
    """A handle of a node, for code other than frames and columns that keeps the node."""

    __slots__ = ("__weakref__", "_node")

    def __init__(self, node: PlannerNode) -> None:
        self._node = node
        register_handle(self)


# By the id of the reference, as users' subclasses of frames may have no hash.
_HANDLES: dict[int, weakref.ref[HasNode]] = {}


def _forget(reference: weakref.ref[HasNode]) -> None:
    _HANDLES.pop(id(reference), None)


def register_handle(handle: HasNode) -> None:
    """Register an object by whose ``_node`` a node can be asked for, as long as the object exists."""
    reference = weakref.ref(handle, _forget)
    _HANDLES[id(reference)] = reference


def nodes_of_handles() -> list[PlannerNode]:
    """Return the nodes of all handles."""
    # A copy, as handles come and go meanwhile. A frame whose class is the user's may be registered before it has a node.
    handles = [reference() for reference in _HANDLES.copy().values()]
    return [node for handle in handles if (node := getattr(handle, "_node", None)) is not None]


def reachable_directly(root: PlannerNode, below: Collection[PlannerNode] | None = None) -> set[int]:
    """Return the ``id`` of nodes below ``root`` that have a handle, or are inputs of a node outside the graph of ``root`` that a handle can reach.

    Parameters
    ----------
    root
        The graph.
    below
        The nodes of the graph; found if None.
    """
    own = set(postorder([root]) if below is None else below)
    reachable: set[int] = set()
    seen: set[PlannerNode] = set()
    waiting = nodes_of_handles()
    while waiting:
        node = waiting.pop()
        if node in own:
            reachable.add(id(node))
        elif node not in seen:
            seen.add(node)
            waiting.extend(node.inputs)
    reachable.discard(id(root))
    return reachable


def reachable_otherwise(root: PlannerNode) -> set[int]:
    """Return the ``id`` of the nodes below ``root`` that can be asked for other than through it."""
    below = list(postorder([root]))
    reachable = reachable_directly(root, below)
    for node in reversed(below):
        if id(node) in reachable:
            reachable.update(id(child) for child in node.inputs)
    return reachable
