"""How much work a step is, in numbers of calls: the same on every machine, however busy it is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def calls_of(step: Callable[[], Any]) -> int:
    """How many functions, of Python and of C, a step calls in all threads that it starts."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count
