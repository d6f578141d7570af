"""Deferring Ctrl-C to the end of a block that must not be interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

# The functions that `signal` wraps. The wrappers convert handlers to an enum, which for ordinary handlers raises an exception inside, and so take
# five times as long; a small save calls them twenty times.
_SYSTEM: Any = sys.modules.get("_signal", signal)
handler_of: Callable[[int], Any] = _SYSTEM.getsignal
set_handler: Callable[[int, Any], Any] = _SYSTEM.signal


class Deferral:
    """A signal handler that replaces the one for Ctrl-C, and records in which process each signal came.

    Parameters
    ----------
    handler
        The handler that is replaced.
    on_interrupt
        Called for each signal, in the middle of whatever the main thread does, so it must not acquire a lock.
    """

    def __init__(self, handler: Callable[[int, FrameType | None], Any], on_interrupt: Callable[[], object] | None = None) -> None:
        self.handler = handler
        self._on_interrupt = on_interrupt
        self._came: dict[int, list[signal.Signals]] = {}
        self._frame: FrameType | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came().append(signal.SIGINT)
        self._frame = frame
        if self._on_interrupt is not None:
            self._on_interrupt()

    def came(self) -> list[signal.Signals]:
        """Return the signals that came in this process, without those that came in its parent before a fork."""
        return self._came.setdefault(os.getpid(), [])

    def handle(self) -> None:
        """Call the replaced handler, if a signal came."""
        for number in self.came()[:1]:
            self.handler(number, self._frame)


@contextlib.contextmanager
def interrupts_deferred(on_interrupt: Callable[[], object] | None = None) -> Iterator[None]:
    """Let a Ctrl-C that comes during the block take effect after it.

    This is for short blocks that an exception must not leave unfinished, such as calls of the JVM.

    Parameters
    ----------
    on_interrupt
        Called when Ctrl-C comes, so that the block can end early; it must not acquire a lock.

    Examples
    --------
    >>> heard = []
    >>> try:
    ...     with interrupts_deferred():
    ...         signal.raise_signal(signal.SIGINT)
    ...         heard.append("the rest of the block")
    ... except KeyboardInterrupt:
    ...     heard.append("Ctrl-C")
    >>> heard
    ['the rest of the block', 'Ctrl-C']
    """
    if threading.current_thread() is not threading.main_thread():
        # Signals are handled in the main thread only.
        yield
        return
    before = handler_of(signal.SIGINT)
    if not callable(before) or (on_interrupt is None and isinstance(before, Deferral)):
        # Ctrl-C is ignored, left to the system or handled by code that is not Python; or an enclosing block defers it already.
        yield
        return
    deferral = Deferral(before, on_interrupt)
    try:
        # Set inside the try block: another signal's handler may raise an error as soon as it is set, and the old handler must be restored then.
        set_handler(signal.SIGINT, deferral)
        yield
    finally:
        set_handler(signal.SIGINT, before)
        deferral.handle()
