"""DataFrames of sources that were lowered before, so that a source is listed, typed and analysed once per session."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")

# An opened source holds its plan, and the rows of a small table, in the JVM.
MOST_SOURCES = 64


class SourceCache:
    """The most recently used lowered sources of one session.

    Examples
    --------
    >>> cache = SourceCache()
    >>> cache.get("a", lambda: 1), cache.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, most: int = MOST_SOURCES) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], Value]) -> Value:
        """What was built under a key, built now if it is not there (by two threads at worst)."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                found: Value = self._found[key]
                return found
        value = build()
        with self._lock:
            self._found[key] = value
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._found)
