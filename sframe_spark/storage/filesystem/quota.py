"""How many bytes of temporary data a process has, and may have."""

from __future__ import annotations

import gc
import weakref
from typing import Protocol

from sframe_spark.config import config
from sframe_spark.errors import StorageError


class Kept(Protocol):
    """Keeps a temporary dataset alive."""

    @property
    def is_there(self) -> bool:
        """Whether the dataset was not removed yet."""


class TakenBytes:
    """Bytes of the datasets of a store, by whoever keeps them alive."""

    def __init__(self) -> None:
        self._sizes: weakref.WeakKeyDictionary[Kept, int] = weakref.WeakKeyDictionary()

    def count(self, handle: Kept, size: int) -> None:
        """Count the bytes of a dataset, all that it has by now; nobody keeps one that is too much.

        Raises
        ------
        StorageError
            If it takes what is there above ``config.temporary_quota``.
        """
        quota = config.temporary_quota
        if quota is not None and self._taken_beside(handle) + size > quota:
            # Frames in cycles are there until somebody looks for them.
            gc.collect()
            taken = self._taken_beside(handle)
            if taken + size > quota:
                raise StorageError(
                    f"{size:,} bytes of rows are too many beside {taken:,} bytes of temporary data, with a quota of {quota:,}: save() frames and "
                    "load them, let go of others (del), or raise config.temporary_quota (SFRAME_SPARK_TMP_QUOTA)"
                )
        self._sizes[handle] = size

    def _taken_beside(self, one: Kept) -> int:
        """Bytes of all datasets but one, which may have grown since it was counted."""
        return sum(size for handle, size in list(self._sizes.items()) if handle is not one and handle.is_there)
