"""Ctrl-C deferred to the end of a block that must not be interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

# The functions that `signal` wraps. The wrappers convert handlers to an enum, and for ordinary handlers the exception inside makes them five times as
# slow; a small save calls them twenty times.
_SYSTEM: Any = sys.modules.get("_signal", signal)
handler_of: Callable[[int], Any] = _SYSTEM.getsignal
set_handler: Callable[[int, Any], Any] = _SYSTEM.signal


class Deferral:
    """Replaces the handler of Ctrl-C, and remembers in which processes the signal came.

    Parameters
    ----------
    handler
        The handler that it replaces.
    on_interrupt
        Called on each signal, in the middle of whatever the main thread does: it must not acquire a lock.
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
        """Return the signals that came in this process; those before a fork are the parent's."""
        return self._came.setdefault(os.getpid(), [])

    def handle(self) -> None:
        """Pass the signal on to the replaced handler, if one came."""
        for number in self.came()[:1]:
            self.handler(number, self._frame)


@contextlib.contextmanager
def interrupts_deferred(on_interrupt: Callable[[], object] | None = None) -> Iterator[None]:
    """Let a Ctrl-C that comes during the block take effect after it; for short exchanges with the JVM, which an exception would break off.

    Parameters
    ----------
    on_interrupt
        Called when one comes, so that the block can end early; it must not acquire a lock.

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
        # Ignored, left to the system, or not installed by Python; or an enclosing block defers it already.
        yield
        return
    deferral = Deferral(before, on_interrupt)
    try:
        # Inside: another signal's handler may raise as soon as this is set, and the handler has to be restored then.
        set_handler(signal.SIGINT, deferral)
        yield
    finally:
        set_handler(signal.SIGINT, before)
        deferral.handle()
