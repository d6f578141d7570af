"""Ctrl-C while a process forks: raised in a function that Python calls at a fork it would break that off, and be lost."""

from __future__ import annotations

import _thread
import itertools
import signal
import threading
from collections.abc import Iterator

from sframe_spark.process.interrupts import Deferral


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
