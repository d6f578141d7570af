"""Forked processes: the Spark of the parent stays the parent's, and locks that a thread of the parent held are free.

A forked process has copies of the parent's sockets. What it says on one of them the parent's JVM takes for words of the parent: answers
cross. Closing one, as Python does for the threads that are not in the new process, ends the parent's connection. See ``docs/decisions/005-forks.md``.
"""

from __future__ import annotations

import _imp
import _thread
import concurrent.futures.thread  # noqa: F401 - see the end
import contextlib
import importlib
import itertools
import logging  # noqa: F401 - see the end
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import SessionClosedError
from sframe_spark.process.interrupts import Deferral

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


POLL_SECONDS = 0.001


class ImportLocks:
    """All of them together, as one lock: taken while no other thread imports anything.

    Examples
    --------
    >>> locks = ImportLocks()
    >>> locks.acquire(timeout=1)
    True
    >>> locks.release()
    """

    def acquire(self, timeout: float) -> bool:
        """Wait until no other thread imports, and let none begin; False if that takes longer."""
        until = time.monotonic() + timeout
        while True:
            # Whoever begins to import a module needs it for a moment.
            _imp.acquire_lock()
            if not is_import_running():
                return True
            _imp.release_lock()
            if time.monotonic() > until:
                return False
            time.sleep(POLL_SECONDS)

    def release(self) -> None:
        """Let others import."""
        _imp.release_lock()

    def _at_fork_reinit(self) -> None:
        """Do nothing, in a new process that could not wait for it: Python has freed the lock."""


def is_import_running() -> bool:
    """Say whether another thread is importing a module."""
    found = [reference() for reference in list(getattr(_bootstrap(), "_module_locks", {}).values())]
    return any(lock is not None and _is_of_another(lock) for lock in found)


def _bootstrap() -> Any:
    return getattr(importlib, "_bootstrap", None)


def _is_of_another(lock: Any) -> bool:
    owner = getattr(lock, "owner", None)
    if owner is not None:
        return bool(owner != threading.get_ident())
    # Another thread may be about to take or to free it.
    guard = getattr(lock, "lock", None)
    if guard is None:
        return False
    if not guard.acquire(False):
        return True
    guard.release()
    return False


# Ctrl-C while a process forks: raised in a function that Python calls at a fork it would break that off, and be lost.


class InterruptsAtFork(threading.local):
    """Puts Ctrl-C off from before a fork until after it, in both processes; each thread that forks has one."""

    def __init__(self) -> None:
        self._deferral: Deferral | None = None
        self._mask: set[int] | None = None

    def defer(self) -> None:
        """Before the fork."""
        if threading.current_thread() is threading.main_thread():
            self._stand_in()
        else:
            # It interrupts the main thread only, which in the new process is this one.
            self._mask = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])}

    def _stand_in(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            # Known before it is in place: Ctrl-C may come between.
            self._deferral = Deferral(handler)
            signal.signal(signal.SIGINT, self._deferral)

    def follow_to_child(self) -> None:
        """After the fork, in the new process."""
        if self._mask is None:
            return
        handler = signal.getsignal(signal.SIGINT)
        while isinstance(handler, Deferral):
            # Of a block of the thread that was the main one: it never ends here.
            handler = handler.handler
        signal.signal(signal.SIGINT, handler)
        self._stand_in()
        self._unblock()

    def _unblock(self) -> None:
        mask, self._mask = self._mask, None
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def __iter__(self) -> Iterator[object]:
        """After the fork: what is left to be done, none of it by Python code, in which Ctrl-C would be raised too early."""
        self._unblock()
        deferral, self._deferral = self._deferral, None
        if deferral is None:
            return iter(())
        return itertools.chain(map(signal.signal, (signal.SIGINT,), (deferral.handler,)), map(_thread.interrupt_main, deferral.came()))


# What is done before and after each fork.

FORKED = (
    "this process was forked from one that uses Spark, whose connections it cannot share. Start it afresh instead (multiprocessing: "
    "get_context('spawn'); PyTorch: multiprocessing_context='spawn'), start a SparkSession of its own in it, or call "
    "sframe_spark.session.stop() to let a local one be started on the next use"
)
# A thread that holds a lock may wait for this very fork to start Spark.
SECONDS_FOR_LOCKS = 5.0

_PROCESS = os.getpid()
# By which process, kept for ever: what is collected says so to its JVM.
_INHERITED: list[tuple[int, Any]] = []

# Innermost first: a thread that holds one of these may ask for those before it. A fork takes the last one first, whatever the order of imports.
LOCK_ORDER = ("python of workers", "graph", "object store", "temporary data", "verified columns", "open datasets")
_LOCK_BY_NAME: dict[str, Any] = {}
# The last to be taken is the first: a thread that holds any other lock may import.
_LOCKS: list[Any] = [ImportLocks()]
_IN_CHILD: list[Callable[[], object]] = []
_INTERRUPTS = InterruptsAtFork()


class _Held(threading.local):
    """The locks that a thread has taken because it forks."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_HELD = _Held()


def is_forked_from_spark() -> bool:
    """Say whether the process that this one was forked from used Spark then."""
    return any(process == os.getpid() for process, _ in _INHERITED)


def belongs_to_parent(session: SparkSession) -> bool:
    """Say whether a session is of the process that this one was forked from."""
    java = getattr(getattr(session, "_sc", None), "_jsc", None)
    return hasattr(getattr(java, "_gateway_client", None), "is_inherited")


def keep_whole_at_fork(lock: Any, name: str) -> None:
    """Fork only while no thread is inside a lock, so that what it guards is whole in the new process, and free it there.

    Parameters
    ----------
    lock
        The lock.
    name
        Its place in ``LOCK_ORDER``.
    """
    _LOCK_BY_NAME[name] = lock
    _LOCKS[1:] = [_LOCK_BY_NAME[known] for known in LOCK_ORDER if known in _LOCK_BY_NAME]


def do_in_child(work: Callable[[], object]) -> None:
    """Let something be done in each forked process, with the locks free that are kept whole, in the order of these calls."""
    _IN_CHILD.append(work)


def _before() -> None:
    _INTERRUPTS.defer()
    finish_arrow_start()
    for lock in reversed(_LOCKS):
        if lock.acquire(timeout=SECONDS_FOR_LOCKS):
            _HELD.locks.append(lock)
    leave_parents_connections()


def _in_parent() -> None:
    while _HELD.locks:
        _HELD.locks.pop().release()


def _in_child() -> None:
    _INTERRUPTS.follow_to_child()
    for lock in _LOCKS:
        if lock not in _HELD.locks:
            lock._at_fork_reinit()
    _in_parent()
    # Each of them, whatever becomes of the others.
    with contextlib.ExitStack() as stack:
        for work in reversed(_IN_CHILD):
            stack.callback(work)


def finish_arrow_start() -> None:
    """Let no thread be in the middle of Arrow's first look for pandas: the new process would wait for it for ever."""
    arrow = sys.modules.get("pyarrow")
    with contextlib.suppress(Exception):
        if arrow is not None and threading.active_count() > 1:
            arrow.array([])


def leave_parents_connections() -> None:
    """Before a fork: let connections that were opened in another process be closed without a word."""
    module = sys.modules.get("py4j.clientserver")
    if module is None or hasattr(module.ClientServerConnection, "close_of_py4j"):
        return
    close = module.ClientServerConnection.close

    def close_ours(connection: Any, reset: bool = False) -> None:
        if os.getpid() == _PROCESS and not hasattr(connection.java_client, "is_inherited"):
            close(connection, reset)
            return
        for stream in (connection.stream, connection.socket):
            with contextlib.suppress(Exception):
                # Shutting it down would shut down the parent's end, too.
                stream.close()
        connection.socket = connection.stream = None

    module.ClientServerConnection.close_of_py4j = close
    module.ClientServerConnection.close = close_ours


def leave_parents_spark() -> None:
    """After a fork, in the child: forget the parent's Spark, and refuse to talk to it."""
    global _PROCESS  # noqa: PLW0603 - which process this is
    if "pyspark.core.context" in sys.modules:
        _leave_classic()
    if "pyspark.sql.connect.session" in sys.modules:
        _leave_connect()
    _PROCESS = os.getpid()


def _leave_classic() -> None:
    from py4j.finalizer import ThreadSafeFinalizer
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession, SQLContext

    gateway = SparkContext._gateway
    SparkContext._lock, ThreadSafeFinalizer.lock = threading.RLock(), threading.RLock()
    SparkSession.Builder._lock = threading.RLock()
    if gateway is None:
        return
    _INHERITED.append((os.getpid(), (gateway, SparkContext._active_spark_context, SparkSession._instantiatedSession)))
    gateway._gateway_client.is_inherited = True
    gateway._gateway_client.send_command = _refuse
    process = getattr(gateway, "proc", None)
    if process is not None and process.stdin is not None:
        # The JVM ends when nobody has the other end of this pipe.
        process.stdin.close()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None


def _leave_connect() -> None:
    from pyspark.sql.connect.session import SparkSession

    SparkSession._lock = threading.RLock()
    inherited = SparkSession._get_default_session()
    if inherited is not None:
        _INHERITED.append((os.getpid(), inherited))
        SparkSession._default_session = None
        SparkSession._active_session = threading.local()


def _refuse(*_: Any, **__: Any) -> str:
    raise SessionClosedError(FORKED)


def is_inherited() -> bool:
    """Say whether the Spark in this process is that of another one, from which it was forked before it imported this module.

    The thread that tells the JVM of garbage is not in a forked process.
    """
    context = sys.modules.get("pyspark.core.context")
    gateway = None if context is None else context.SparkContext._gateway
    garbage = getattr(getattr(gateway, "_gateway_client", None), "finalizer_deque", None)
    return garbage is not None and not any(getattr(thread, "deque", None) is garbage for thread in threading.enumerate())


do_in_child(leave_parents_spark)
if hasattr(os, "register_at_fork"):
    # One function for all of ours: Ctrl-C, which would break off any of them for good, is put off by the first step and heard after the last.
    # Functions registered before are under that, too; so logging, whose own would keep its lock, is imported above. So are thread pools: imported
    # while another thread starts the JVM, they would free a lock after that fork which nobody took before it, and Python would print that.
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
    os.register_at_fork(after_in_parent=partial(list, _INTERRUPTS), after_in_child=partial(list, _INTERRUPTS))
    if is_inherited():
        leave_parents_spark()
