"""The programs that differ between libraries only in how groups and joins are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class GroupsAndJoins(ABC):
    """A member for each program over groups or joins of tables; ``distinct`` and ``join_semi`` are each library's own."""

    def groups_of_few(self) -> Any:
        return self._groups("few")

    def groups_of_some(self) -> Any:
        return self._groups("some")

    def groups_of_many(self) -> Any:
        return self._groups("many")

    def join_small(self) -> Any:
        return self._join("small")

    def join_tenth(self) -> Any:
        return self._join("tenth")

    def join_equal(self) -> Any:
        return self._join("equal")

    def join_left(self) -> Any:
        return self._join("tenth", "left")

    @abstractmethod
    def _groups(self, key: str) -> list[Any]:
        """Group by a column: how many groups, the rows of the largest one, and the sum of their means."""

    @abstractmethod
    def _join(self, right: str, how: str = "inner") -> list[Any]:
        """Join with a table: how many rows, and the sums of a column of each side."""
