"""Actions in flight: who works on a node, for whom others wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

import attrs

from sframe_spark.engine.lock import GRAPH_LOCK
from sframe_spark.errors import ExecutionError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.interrupts import interrupts_deferred


@attrs.define(eq=False)
class Action:
    """Work in flight on a node: others wait on ``done``."""

    done: threading.Event = attrs.Factory(threading.Event)
    nodes: list[PlannerNode] = attrs.Factory(list)
    thread: int = attrs.Factory(threading.get_ident)

    def wait(self) -> None:
        """Wait until the work is done, whether it succeeded or not.

        Raises
        ------
        ExecutionError
            If the work waits for this very thread: it would never be done.
        """
        if self.thread == threading.get_ident():
            raise ExecutionError("a function given to apply() looks at its own results: give it what it needs beforehand")
        self.done.wait()

    def claim(self, nodes: Iterable[PlannerNode]) -> None:
        """Take nodes on which nobody works; the caller holds the lock."""
        IN_FLIGHT.add(self)
        for node in nodes:
            self.nodes.append(node)
            node.action = self

    def release(self) -> None:
        """Let the waiting threads go on, also when Ctrl-C comes in the middle."""
        try:
            with interrupts_deferred(), GRAPH_LOCK:
                IN_FLIGHT.discard(self)
                for node in self.nodes:
                    if node.action is self:
                        node.action = None
        finally:
            self.done.set()

    @property
    def busy(self) -> bool:
        """True while others have to wait."""
        return not self.done.is_set()


def release_those_of_other_threads() -> None:
    """In a forked process: the threads that worked on nodes are not here, and nobody would ever be done."""
    for action in list(IN_FLIGHT):
        if action.thread != threading.get_ident():
            # A thread that is not here may have held the lock inside the old one.
            action.done = threading.Event()
            action.release()


IN_FLIGHT: set[Action] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=release_those_of_other_threads)
