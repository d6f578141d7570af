"""What a task is told of a segment: values of the columns that it reads, and of no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sframe_spark.errors import StorageError


class ToldValues(Sequence[Any]):
    """Values of some columns of a segment, in the places that they have among all.

    Parameters
    ----------
    length
        How many values there are.
    values
        Those that are told, by their places.
    otherwise
        What the others are where nothing need be known; None: asking for one is an error.

    Examples
    --------
    >>> told = ToldValues.of([10, 11, 12, 13], [2, -1])
    >>> len(told), told[2], told[-1]
    (4, 12, 13)
    """

    __slots__ = ("length", "otherwise", "values")

    def __init__(self, length: int, values: dict[int, Any], otherwise: Any = None) -> None:
        self.length, self.values, self.otherwise = length, values, otherwise

    @classmethod
    def of(cls, values: Sequence[Any], places: Iterable[int], otherwise: Any = None) -> ToldValues:
        """Return some of all values; the others are not looked at, which may have to be read."""
        return cls(len(values), {place % len(values): values[place] for place in places}, otherwise)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        if not -self.length <= index < self.length:
            raise IndexError(index)
        found = self.values.get(index % self.length, self.otherwise)
        if found is None:
            raise StorageError(f"a task was not told of column {index} of a segment: this is a fault of the engine, please report it")
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToldValues):
            return (self.length, self.values, self.otherwise) == (other.length, other.values, other.otherwise)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.length, tuple(self.values)))

    def __reduce__(self) -> tuple[Any, ...]:
        return ToldValues, (self.length, self.values, self.otherwise)
