"""Actions in flight: nobody waits for one that is over, whatever cut it short."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

from sframe_spark import SArray
from sframe_spark.engine.execution import action_planning_and_function_call_claims as actions
from sframe_spark.engine.execution.action_planning_and_function_call_claims import NodeClaim
from sframe_spark.engine.graph_lock import GRAPH_LOCK

FORKED = """
import os, threading
from sframe_spark.engine.execution.action_planning_and_function_call_claims import NodeClaim
claim, held, over = NodeClaim(), threading.Event(), threading.Event()

def work():
    claim.thread = threading.get_ident()
    claim.acquire([])
    with claim.done._cond:
        held.set()
        over.wait()

worker = threading.Thread(target=work, daemon=True)
worker.start()
held.wait()
child = os.fork()
if not child:
    os._exit(0 if claim.done.is_set() else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
over.set()
raise SystemExit(status)
"""


class PressedWhileHeld:
    """A lock during which Ctrl-C is pressed."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        self.lock.acquire()
        signal.raise_signal(signal.SIGINT)

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def test_a_release_that_is_interrupted_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SArray([1, 2, 3])._node
    claim = NodeClaim()
    claim.acquire([node])
    with monkeypatch.context() as patched:
        patched.setattr(actions, "GRAPH_LOCK", PressedWhileHeld(actions.GRAPH_LOCK))
        with pytest.raises(KeyboardInterrupt):
            claim.release()
    assert claim.done.is_set() and node.claim is None and claim not in actions.IN_FLIGHT


def test_an_action_that_is_over_holds_nobody() -> None:
    column = SArray([3, 1, 2]).sort()
    claim = NodeClaim()
    claim.acquire([column._node])
    # The very end of what an interrupted release still does.
    claim.done.set()
    found: list[Any] = []
    worker = threading.Thread(target=lambda: found.extend(column), daemon=True)
    worker.start()
    worker.join(20)
    claim.release()
    assert found == [1, 2, 3]


def test_what_is_over_is_held_until_the_next_action_at_most() -> None:
    column = SArray([3, 1, 2]).sort()
    over = NodeClaim()
    over.acquire([column._node])
    # Ctrl-C came before the rest of the release.
    over.done.set()
    node = weakref.ref(column._node)
    del over, column
    with GRAPH_LOCK:
        following = NodeClaim()
        following.acquire([SArray([1])._node])
    following.release()
    gc.collect()
    assert node() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_wait_for_the_lock_inside_an_event() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    worker = subprocess.Popen(command, start_new_session=True)
    try:
        assert worker.wait(20) == 0
    finally:
        # The child with its parent.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
