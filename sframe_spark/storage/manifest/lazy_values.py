"""What is known of one of many segments, as the sequences that an entry has, read when somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sframe_spark.storage.manifest.segment_index import StoredSegments


class LazyValues(Sequence[Any]):
    """Values of a segment; they are equal to a sequence of the same, and become a tuple where they are pickled.

    Parameters
    ----------
    stored
        The file.
    row
        Which of its segments.
    """

    __slots__ = ("row", "stored")

    def __init__(self, stored: StoredSegments, row: int) -> None:
        self.stored, self.row = stored, row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(other) == len(self) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def __repr__(self) -> str:
        return f"<{len(self)} values of segment {self.row} in {self.stored.file}>"

    def _place(self, index: int) -> int:
        """A place counted from the start."""
        length = len(self)
        if not -length <= index < length:
            raise IndexError(index)
        return index % length


class FactsOfSegment(LazyValues):
    """What is known of each column of a segment."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.stored.width

    def __getitem__(self, index: Any) -> Any:
        return self.stored.facts_of(self.row, self._place(index))


class SumsOfSegment(LazyValues):
    """Check sums of page headers of each column of a segment, and of its key."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.stored.width + 1

    def __getitem__(self, index: Any) -> Any:
        return int(self.stored.sums_of(self.row)[self._place(index)])

    def __iter__(self) -> Iterator[int]:
        values: list[int] = self.stored.sums_of(self.row).tolist()
        return iter(values)


class GroupSumsOfSegment(LazyValues):
    """The same of each row group of a segment."""

    __slots__ = ("_count",)

    def __init__(self, stored: StoredSegments, row: int, count: int) -> None:
        super().__init__(stored, row)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return self.stored.group_sums_of(self.row, self._place(index))
