"""What keeps temporary data alive, here or elsewhere."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable


class TemporaryHandle:
    """Keeps a temporary dataset alive: its directory is given up with the last reference to the handle.

    Parameters
    ----------
    directory
        Where the dataset is.
    give_up
        Called then with the directory, ``arguments`` and the number of this process: forked workers inherit handles.
    """

    __slots__ = ("__weakref__", "_finalizer", "directory", "recipe")

    def __init__(self, directory: str, give_up: Callable[..., None], *arguments: object) -> None:
        self.directory = directory
        # How the rows were made, for who makes them again (engine.execution.recovery).
        self.recipe: object = None
        self._finalizer = weakref.finalize(self, give_up, directory, *arguments, os.getpid())

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """To tasks it goes as a name alone: how rows were made is for who may make them again."""
        return None, {"directory": self.directory, "_finalizer": self._finalizer, "recipe": None}

    def discard(self) -> None:
        """Give the directory up now: an error under way would keep references to it, and the disk may be full."""
        self._finalizer()

    @property
    def is_there(self) -> bool:
        """Whether the directory was not given up yet."""
        return self._finalizer.alive

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.directory!r})"
