"""Safe forks: the forked process does not use the parent's connections to Spark, finds no lock held, and Ctrl-C is deferred during a fork.

A forked process has copies of the parent's sockets. If it wrote to one, the parent's JVM would take that for a message of the parent, and answers
would be mixed up. If Py4J shut one down there, as it does for threads that do not exist in the forked process, the parent's connection would end;
closing the copy is safe. See ``docs/decisions/005-forks.md``.
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
import random  # noqa: F401 - see the end
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import SessionClosedError
from sframe_spark.process.interrupt_deferral import Deferral

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


POLL_SECONDS = 0.001


class ImportLocks:
    """All import locks as one lock, which is acquired when no other thread is importing a module.

    Examples
    --------
    >>> locks = ImportLocks()
    >>> locks.acquire(timeout=1)
    True
    >>> locks.release()
    """

    def acquire(self, timeout: float) -> bool:
        """Wait until no other thread is importing, and keep others from starting to; return False if that takes longer than the timeout."""
        until = time.monotonic() + timeout
        while True:
            # This lock is held briefly by a thread that begins to import a module.
            _imp.acquire_lock()
            if not is_import_running():
                return True
            _imp.release_lock()
            if time.monotonic() > until:
                return False
            time.sleep(POLL_SECONDS)

    def release(self) -> None:
        """Let other threads import again."""
        _imp.release_lock()

    def _at_fork_reinit(self) -> None:
        """Do nothing: Python itself has freed the lock in the forked process, unless this object acquired it."""


def is_import_running() -> bool:
    """Return whether another thread is importing a module."""
    locks = [reference() for reference in list(getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {}).values())]
    return any(lock is not None and _is_of_another_thread(lock) for lock in locks)


def _is_of_another_thread(lock: Any) -> bool:
    owner = getattr(lock, "owner", None)
    if owner is not None:
        return bool(owner != threading.get_ident())
    # Another thread may be about to acquire or release the lock.
    guard = getattr(lock, "lock", None)
    if guard is None:
        return False
    if not guard.acquire(False):
        return True
    guard.release()
    return False


# Ctrl-C during a fork: if KeyboardInterrupt were raised in a function that Python calls before or after the fork, it would abort that function and
# be lost.


class InterruptsAtFork(threading.local):
    """Defers Ctrl-C from before a fork until after it, in both processes; each thread that forks has its own state."""

    def __init__(self) -> None:
        self._deferral: Deferral | None = None
        self._mask: set[int] | None = None

    def defer(self) -> None:
        """Defer Ctrl-C; called before the fork."""
        if threading.current_thread() is threading.main_thread():
            self._stand_in()
        else:
            # Only the main thread is interrupted, and in the forked process this thread is the main thread.
            self._mask = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])}

    def _stand_in(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            # Stored before it is installed, as Ctrl-C may come in between.
            self._deferral = Deferral(handler)
            signal.signal(signal.SIGINT, self._deferral)

    def follow_to_child(self) -> None:
        """Take over the deferral in the forked process, after the fork."""
        if self._mask is None:
            return
        handler = signal.getsignal(signal.SIGINT)
        while isinstance(handler, Deferral):
            # A ``with`` block of the parent's main thread installed this handler; the block never ends in this process.
            handler = handler.handler
        signal.signal(signal.SIGINT, handler)
        self._stand_in()
        self._unblock()

    def _unblock(self) -> None:
        mask, self._mask = self._mask, None
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def __iter__(self) -> Iterator[object]:
        """Return the steps that end the deferral after the fork, as calls of C functions, since Python code could be interrupted too early."""
        self._unblock()
        deferral, self._deferral = self._deferral, None
        if deferral is None:
            return iter(())
        return itertools.chain(map(signal.signal, (signal.SIGINT,), (deferral.handler,)), map(_thread.interrupt_main, deferral.came()))


# The steps before and after each fork.

FORKED = (
    "this process was forked from one that uses Spark, whose connections it cannot share. Start it afresh instead (multiprocessing: "
    "get_context('spawn'); PyTorch: multiprocessing_context='spawn'), start a SparkSession of its own in it, or call "
    "sframe_spark.session.stop() to let a local one be started on the next use"
)
# The longest wait for a lock: if the fork starts Spark, the holder of the lock may itself be waiting for the fork.
SECONDS_FOR_LOCKS = 5.0

_PROCESS = os.getpid()
# Objects of the parent's Spark, each with the process that inherited it. They are never released, as their finalizers would talk to the JVM.
_INHERITED: list[tuple[int, Any]] = []

# Innermost first: a thread that holds one of these locks may acquire those before it. A fork acquires the last one first, whatever the order of
# imports.
LOCK_ORDER = ("members", "python of workers", "graph", "object store", "temporary data", "files kept by Spark", "verified columns", "open datasets")
_LOCK_BY_NAME: dict[str, Any] = {}
# The import locks come first, so they are acquired last: a thread that holds any other lock may import modules.
_LOCKS: list[Any] = [ImportLocks()]
_IN_CHILD: list[Callable[[], object]] = []
_INTERRUPTS = InterruptsAtFork()


class _ForkLocks(threading.local):
    """The locks that a thread has acquired for a fork."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_FORK_LOCKS = _ForkLocks()


def is_forked_from_spark() -> bool:
    """Return whether the parent of this process was using Spark when it forked."""
    return any(process == os.getpid() for process, _ in _INHERITED)


def belongs_to_parent(session: SparkSession) -> bool:
    """Return whether a session belongs to the parent of this process."""
    java = getattr(getattr(session, "_sc", None), "_jsc", None)
    return hasattr(getattr(java, "_gateway_client", None), "is_inherited")


def keep_whole_at_fork(lock: Any, name: str) -> None:
    """Let a fork wait, for a limited time, until no other thread holds a lock, so that what it guards is consistent in the forked process.

    The lock is free in the forked process.

    Parameters
    ----------
    lock
        The lock.
    name
        The name of the lock in ``LOCK_ORDER``.
    """
    _LOCK_BY_NAME[name] = lock
    _LOCKS[1:] = [_LOCK_BY_NAME[ordered] for ordered in LOCK_ORDER if ordered in _LOCK_BY_NAME]


def do_in_child(work: Callable[[], object]) -> None:
    """Register a function to call in each forked process, in the order of registration, after the registered locks have been freed."""
    _IN_CHILD.append(work)


def _before() -> None:
    _INTERRUPTS.defer()
    finish_arrow_start()
    for lock in reversed(_LOCKS):
        if lock.acquire(timeout=SECONDS_FOR_LOCKS):
            _FORK_LOCKS.locks.append(lock)
    leave_parents_connections()


def _in_parent() -> None:
    while _FORK_LOCKS.locks:
        _FORK_LOCKS.locks.pop().release()


def _in_child() -> None:
    _INTERRUPTS.follow_to_child()
    for lock in _LOCKS:
        if lock not in _FORK_LOCKS.locks:
            lock._at_fork_reinit()
    _in_parent()
    # All functions are called, even if some fail.
    with contextlib.ExitStack() as stack:
        for work in reversed(_IN_CHILD):
            stack.callback(work)


def finish_arrow_start() -> None:
    """Let Arrow finish its lazy import of pandas: a process that is forked during that would wait for it forever."""
    arrow = sys.modules.get("pyarrow")
    with contextlib.suppress(Exception):
        if arrow is not None and threading.active_count() > 1:
            arrow.array([])


def leave_parents_connections() -> None:
    """Patch Py4J, before a fork, so that connections that were opened in another process are closed without sending anything."""
    module = sys.modules.get("py4j.clientserver")
    if module is None or hasattr(module.ClientServerConnection, "close_of_py4j"):
        return
    close = module.ClientServerConnection.close

    def close_own(connection: Any, reset: bool = False) -> None:
        if os.getpid() == _PROCESS and not hasattr(connection.java_client, "is_inherited"):
            close(connection, reset)
            return
        for stream in (connection.stream, connection.socket):
            with contextlib.suppress(Exception):
                # The copies of the sockets are only closed: a shutdown would end the parent's connection.
                stream.close()
        connection.socket = connection.stream = None

    module.ClientServerConnection.close_of_py4j = close
    module.ClientServerConnection.close = close_own


def leave_parents_spark() -> None:
    """Forget the parent's Spark in the forked process, and refuse to talk to it."""
    global _PROCESS  # noqa: PLW0603 - which process this is
    if _classic_context() is not None:
        _leave_classic()
    if "pyspark.sql.connect.session" in sys.modules:
        _leave_connect()
    _PROCESS = os.getpid()


def _classic_context() -> Any:
    """Return the class ``SparkContext`` if PySpark is imported and has it: the PySpark of Spark Connect alone has none."""
    return getattr(sys.modules.get("pyspark"), "SparkContext", None)


def _leave_classic() -> None:
    from py4j.finalizer import ThreadSafeFinalizer
    from pyspark import SparkContext
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
        # The JVM ends when no process has the write end of this pipe open.
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
    """Return whether this process was forked from one that uses Spark; called when this module is first imported.

    A forked process is recognised by the absence of Py4J's garbage collection thread.
    """
    context = _classic_context()
    gateway = None if context is None else context._gateway
    garbage = getattr(getattr(gateway, "_gateway_client", None), "finalizer_deque", None)
    return garbage is not None and not any(getattr(thread, "deque", None) is garbage for thread in threading.enumerate())


do_in_child(leave_parents_spark)
if hasattr(os, "register_at_fork"):
    # One function is registered for each moment, and runs all steps of it: Ctrl-C, which would abort any of them for good, is deferred by the first
    # step and handled after the last. Functions that were registered earlier are covered, too; hence logging, whose own function would keep its
    # lock, and random, whose own function would be aborted by the Ctrl-C that was deferred, are imported above. Thread pools are imported above,
    # too: if they were imported while another thread starts the JVM, they would release, after that fork, a lock that was not acquired before it,
    # and Python would print an error.
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
    os.register_at_fork(after_in_parent=partial(list, _INTERRUPTS), after_in_child=partial(list, _INTERRUPTS))
    if is_inherited():
        leave_parents_spark()
