"""Column names: fast lookup, validation, and automatic names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sframe_spark.errors import InvalidArgumentError, TakenNameError, listed
from sframe_spark.message_text import is_unicode

# Searches before a dict is made: otherwise each step of a program that removes columns one by one would keep one.
MAX_SEARCHES = 8


class FrameNames(list[str]):
    """Immutable names of the columns of a frame, with a dict from name to position.

    Examples
    --------
    >>> names = FrameNames(["a", "b"]).with_appended("c")
    >>> names, names.index("c"), "d" in names
    (['a', 'b', 'c'], 2, False)
    """

    __slots__ = ("_positions", "_searches")

    _searches: int
    _positions: dict[str, int] | None

    def __init__(self, names: Iterable[str] = (), places: dict[str, int] | None = None) -> None:
        # Numpy's own text class must not become the keys of rows.
        super().__init__(names if isinstance(names, FrameNames) else map(str, names))
        self._searches = 0
        # May be shared with longer lists of names, so each position is checked against the name.
        self._positions = names._positions if places is None and isinstance(names, FrameNames) else places

    @classmethod
    def known(cls, names: list[str], places: dict[str, int] | None = None) -> FrameNames:
        """Return names of which all are plain texts, with their known positions."""
        made = cls((), places)
        made.extend(names)
        return made

    def with_appended(self, name: str) -> FrameNames:
        """Return these names and a new one, which must differ from them."""
        places = self._position_map()
        if len(places) != len(self):
            # Another frame has extended the shared dict.
            places = first_positions(self)
        places[name] = len(self)
        return FrameNames.known([*self, name], places)

    def with_names_at(self, replacements: Mapping[int, str]) -> FrameNames:
        """Return these names with replacements at some positions; all of them must differ."""
        names = [*self]
        for place, name in replacements.items():
            names[place] = name
        return FrameNames.known(names)

    def position(self, name: object) -> int | None:
        """Return the position of a name, or None if there is no such column."""
        if not isinstance(name, str):
            return None
        if self._positions is None and self._searches < MAX_SEARCHES:
            self._searches += 1
            return super().index(name) if super().__contains__(name) else None
        position = self._position_map().get(name)
        return position if position is not None and position < len(self) and self[position] == name else None

    def index(self, name: Any, *bounds: Any) -> int:
        """Return the position of a name.

        Raises
        ------
        ValueError
            If it is none of these.
        """
        position = None if bounds else self.position(name)
        return super().index(name, *bounds) if position is None else position

    def __contains__(self, name: object) -> bool:
        return self.position(name) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return FrameNames, (list(self),)

    def _position_map(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = first_positions(self)
        return self._positions


def first_positions(names: Sequence[str], start: int = 0) -> dict[str, int]:
    """Return the first position of each name, where the first name has position ``start``.

    Examples
    --------
    >>> first_positions(["a", "b", "a"], 5)["a"]
    5
    """
    return dict(zip(reversed(names), range(start + len(names) - 1, start - 1, -1), strict=True))


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names, with a number added to each that repeats an earlier one.

    Examples
    --------
    >>> unique_names(["a", "a", "b", "a"])
    ['a', 'a.1', 'b', 'a.2']
    """
    used: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        chosen, number = name, numbers.get(name, 0)
        while chosen in used:
            number += 1
            chosen = f"{name}.{number}"
        numbers[name] = number
        used[chosen] = None
    return list(used)


def automatic_name(names: Collection[str], columns: int | None = None) -> str:
    """Return the name of a new unnamed column after ``columns`` others.

    Examples
    --------
    >>> automatic_name(["a", "b"]), automatic_name(["a", "X3"])
    ('X3', 'X3.1')
    """
    first = f"X{(len(names) if columns is None else columns) + 1}"
    name, number = first, 0
    while name in names:
        number += 1
        name = f"{first}.{number}"
    return name


def with_automatic_names(names: Iterable[str]) -> list[str]:
    """Return the column names, with an automatic one for each that is empty.

    Examples
    --------
    >>> with_automatic_names(["a", "", ""])
    ['a', 'X2', 'X3']
    """
    # Numpy's own text class must not become the keys of rows.
    result = [*map(str, names)]
    if all(result):
        return result
    used: set[str] = set()
    for place, name in enumerate(result):
        result[place] = name or automatic_name(used, place)
        used.add(result[place])
    return result


def require_distinct(names: Sequence[str]) -> None:
    """Refuse repeated names: one of the columns could not be selected.

    Raises
    ------
    TakenNameError
        If there are any.
    """
    if len(set(names)) < len(names):
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        raise TakenNameError(f"several columns are named {listed(repeated)}: rename them first")


def require_unicode(names: Sequence[str]) -> None:
    """Refuse column names that are not Unicode: Python's texts may contain half of a surrogate pair, which no file or library holds.

    Raises
    ------
    InvalidArgumentError
        If there are any.
    """
    broken = [name for name in names if not is_unicode(name)]
    if broken:
        raise InvalidArgumentError(f"the names of columns {listed(broken)} are not Unicode text, they have half of a character: rename them first")
