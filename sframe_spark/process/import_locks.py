"""Python's locks of modules that are being imported: a forked process would wait for ever for a module that a thread of its parent was importing.

Python frees the one lock of all imports in a new process, but not those of single modules, and a first call of many functions imports one.
"""

from __future__ import annotations

import _imp
import importlib
import threading
import time
from typing import Any

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
            if not others_import():
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


def others_import() -> bool:
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
