"""Ctrl-C where a call must not be cut in two: it is heard at the end of the block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let a Ctrl-C that comes during the block take effect after it; for short conversations with the JVM, which an exception would break off.

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
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        # Ignored, left to the system, or installed by something that is not Python.
        yield
        return
    pressed: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            before(*pressed[0])
