"""Actions in flight: who works on a node, for whom others wait."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import attrs

from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.interrupts import interrupts_deferred


@attrs.define(eq=False)
class Action:
    """Work in flight on nodes: others wait on ``done``; ``waiting`` are the threads that do."""

    done: threading.Event = attrs.Factory(threading.Event)
    nodes: list[PlannerNode] = attrs.Factory(list)
    thread: int = attrs.Factory(threading.get_ident)
    waiting: set[int] = attrs.Factory(set)

    def wait(self) -> None:
        """Wait until the work is done, whether it succeeded or not; not at all where it would never be done without this thread."""
        own = threading.get_ident()
        try:
            with GRAPH_LOCK:
                if self.needs(own):
                    return
                self.waiting.add(own)
            self.done.wait()
        finally:
            self.waiting.discard(own)

    def needs(self, thread: int) -> bool:
        """True when the work is that of a thread, or waits for work that is; the caller holds the lock."""
        action: Action | None = self
        while action is not None and action.thread != thread:
            worker = action.thread
            action = next((other for other in IN_FLIGHT if worker in other.waiting), None)
        return action is not None

    def claim(self, nodes: Iterable[PlannerNode]) -> None:
        """Take nodes, but for those on which somebody works who needs this thread; the caller holds the lock."""
        # Ctrl-C may have kept one that is done from being taken out.
        IN_FLIGHT.difference_update([action for action in IN_FLIGHT if action.done.is_set()])
        IN_FLIGHT.add(self)
        for node in nodes:
            if node.action is None or node.action.done.is_set():
                self.nodes.append(node)
                node.action = self

    def release(self) -> None:
        """Let the waiting threads go on, also when Ctrl-C comes in the middle."""
        if self.done.is_set() and self not in IN_FLIGHT:
            # Called once more, after a whole call: nobody breaks off the block in which it was taken out.
            return
        try:
            with interrupts_deferred(), GRAPH_LOCK:
                IN_FLIGHT.discard(self)
                for node in self.nodes:
                    if node.action is self:
                        node.action = None
        finally:
            self.done.set()


def awaited(nodes: Iterable[PlannerNode]) -> Action | None:
    """The work on some nodes that this thread has to wait for; the caller holds the lock."""
    own = threading.get_ident()
    actions: Iterable[Action] = (node.action for node in nodes if node.action is not None)
    return next((action for action in actions if not action.done.is_set() and not action.needs(own)), None)


def release_those_of_other_threads() -> None:
    """In a forked process: the threads that worked on nodes are not here, and nobody would ever be done."""
    for action in list(IN_FLIGHT):
        if action.thread != threading.get_ident():
            # A thread that is not here may have held the lock inside the old one.
            action.done = threading.Event()
            action.release()


IN_FLIGHT: set[Action] = set()
do_in_child(release_those_of_other_threads)
