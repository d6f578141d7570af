"""Ctrl-C where a call must not be cut in two: it is heard at the end of the block."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

# The functions of `signal` ask an enum whether a handler is one of the two that are numbers, and the error that says that it is not takes them
# four times as long as they take otherwise; these are what they call. A small save asks twenty times.
_SYSTEM: Any = sys.modules.get("_signal", signal)
handler_of: Callable[[int], Any] = _SYSTEM.getsignal
set_handler: Callable[[int, Any], Any] = _SYSTEM.signal


class Deferral:
    """Stands in for the handler of Ctrl-C, and remembers in which processes it came.

    Parameters
    ----------
    handler
        The handler that it stands in for.
    told
        Called whenever it comes, in the middle of whatever the main thread does: it must take no lock.
    """

    def __init__(self, handler: Callable[[int, FrameType | None], Any], told: Callable[[], object] | None = None) -> None:
        self.handler = handler
        self._told = told
        self._came: dict[int, list[signal.Signals]] = {}
        self._frame: FrameType | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came().append(signal.SIGINT)
        self._frame = frame
        if self._told is not None:
            self._told()

    def came(self) -> list[signal.Signals]:
        """The signals that came; what came before a fork is its parent's, as without us."""
        return self._came.setdefault(os.getpid(), [])

    def handle(self) -> None:
        """Let the handler that it stood in for hear of what came."""
        for number in self.came()[:1]:
            self.handler(number, self._frame)


@contextlib.contextmanager
def interrupts_deferred(told: Callable[[], object] | None = None) -> Iterator[None]:
    """Let a Ctrl-C that comes during the block take effect after it; for short conversations with the JVM, which an exception would break off.

    Parameters
    ----------
    told
        Called when one comes, so that the block can end early; it must take no lock.

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
    if not callable(before) or (told is None and isinstance(before, Deferral)):
        # Ignored, left to the system, or installed by something that is not Python; or a block around this one hears of it, at its end.
        yield
        return
    deferral = Deferral(before, told)
    try:
        # Inside: another signal's handler may raise as soon as it is set, and nobody would take it away.
        set_handler(signal.SIGINT, deferral)
        yield
    finally:
        set_handler(signal.SIGINT, before)
        deferral.handle()
