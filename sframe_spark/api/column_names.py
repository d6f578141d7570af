"""Column names of a frame: finding the position of a name, checking and uniquifying names, and naming columns that the user did not name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sframe_spark.errors import InvalidArgumentError, SchemaError, TakenNameError, listed
from sframe_spark.message_text import is_unicode

# Number of linear searches before a dict is built. Programs that remove columns one by one thus need not build a dict for each frame.
MAX_SEARCHES = 8


class FrameNames(list[str]):
    """The column names of a frame: a list that is never modified, with a fast search for the position of a name.

    Examples
    --------
    >>> names = FrameNames(["a", "b"]).with_appended("c")
    >>> names, names.index("c"), "d" in names
    (['a', 'b', 'c'], 2, False)
    """

    __slots__ = ("_positions", "_searches")

    _searches: int
    _positions: dict[str, int] | None

    def __init__(self, names: Iterable[str] = (), positions: dict[str, int] | None = None) -> None:
        # A numpy.str_ becomes a str, because names become the keys of row dicts.
        super().__init__(names if isinstance(names, FrameNames) else map(str, names))
        self._searches = 0
        # The dict may also contain names of frames with more columns, so ``position`` compares what it finds with the name in this list.
        self._positions = names._positions if positions is None and isinstance(names, FrameNames) else positions

    @classmethod
    def of_strings(cls, names: list[str], positions: dict[str, int] | None = None) -> FrameNames:
        """Return names that are of class ``str``, which is not checked, optionally with a dict of their positions."""
        frame_names = cls((), positions)
        frame_names.extend(names)
        return frame_names

    def with_appended(self, name: str) -> FrameNames:
        """Return these names followed by a new name, which must not be among them."""
        positions = self._position_map()
        if len(positions) != len(self):
            # The dict is shared with a frame that has added another column to it.
            positions = first_positions(self)
        positions[name] = len(self)
        return FrameNames.of_strings([*self, name], positions)

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
        """Return the position of a name, as ``list.index`` does.

        Raises
        ------
        ValueError
            If there is no such name.
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
    """Return the first position of each name as a dict; positions are counted from ``start``.

    Examples
    --------
    >>> first_positions(["a", "b", "a"], 5)["a"]
    5
    """
    return dict(zip(reversed(names), range(start + len(names) - 1, start - 1, -1), strict=True))


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names without duplicates: a number is appended to each name that occurred before.

    Examples
    --------
    >>> unique_names(["a", "a", "b", "a"])
    ['a', 'a.1', 'b', 'a.2']
    """
    used: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        unique, number = name, numbers.get(name, 0)
        while unique in used:
            number += 1
            unique = f"{name}.{number}"
        numbers[name] = number
        used[unique] = None
    return list(used)


def automatic_name(names: Collection[str], columns_before: int | None = None) -> str:
    """Return a name such as ``X3`` for a column added after ``columns_before`` others (by default all of ``names``); never one of ``names``.

    Examples
    --------
    >>> automatic_name(["a", "b"]), automatic_name(["a", "X3"])
    ('X3', 'X3.1')
    """
    first = f"X{(len(names) if columns_before is None else columns_before) + 1}"
    name, number = first, 0
    while name in names:
        number += 1
        name = f"{first}.{number}"
    return name


def with_automatic_names(names: Iterable[str]) -> list[str]:
    """Return the names as ``str``, with each empty name replaced by an automatic one such as ``X2``.

    Examples
    --------
    >>> with_automatic_names(["a", "", ""])
    ['a', 'X2', 'X3']
    """
    # A numpy.str_ becomes a str, because names become the keys of row dicts.
    result = [*map(str, names)]
    if all(result):
        return result
    used: set[str] = set()
    for position, name in enumerate(result):
        result[position] = name or automatic_name(used, position)
        used.add(result[position])
    return result


def require_name(name: Any) -> str:
    """Check that a column name must be a string, and return it.

    Raises
    ------
    SchemaError
        If it is not a string.
    """
    if not isinstance(name, str):
        raise SchemaError(f"a column name must be a str, got {type(name).__name__}")
    return name


def name_list(names: Any) -> list[str] | None:
    """Return a list of column names, given one name, a list of names or None; None if the names are given in another form.

    Examples
    --------
    >>> name_list("a"), name_list(("a", "b")), name_list(None), name_list({"a": 1})
    (['a'], ['a', 'b'], [], None)
    """
    several = [] if names is None else [names] if isinstance(names, str) else names
    return list(several) if isinstance(several, (list, tuple)) and all(isinstance(name, str) for name in several) else None


def require_distinct(names: Sequence[str]) -> None:
    """Raise an error if a name occurs twice, because only one of these columns could be selected.

    Raises
    ------
    TakenNameError
        If names are repeated.
    """
    if len(set(names)) < len(names):
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        raise TakenNameError(f"several columns are named {listed(repeated)}: rename them first")


def require_unicode(names: Sequence[str]) -> None:
    """Raise an error if a name has an unpaired surrogate: a Python string can contain one, but files and other libraries cannot store it.

    Raises
    ------
    InvalidArgumentError
        If a name is not valid Unicode.
    """
    broken = [name for name in names if not is_unicode(name)]
    if broken:
        raise InvalidArgumentError(
            f"the names of columns {listed(broken)} are not valid Unicode text (they contain half of a character): rename them first"
        )
