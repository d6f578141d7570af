"""Names of columns: which are refused, and which are made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sframe_spark.errors import InvalidArgumentError, TakenNameError, listed
from sframe_spark.visible import is_unicode


def unique_names(names: Sequence[str]) -> list[str]:
    """Names with a number added to those that repeat an earlier one.

    Examples
    --------
    >>> unique_names(["a", "a", "b", "a"])
    ['a', 'a.1', 'b', 'a.2']
    """
    taken: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        chosen, number = name, numbers.get(name, 0)
        while chosen in taken:
            number += 1
            chosen = f"{name}.{number}"
        numbers[name] = number
        taken[chosen] = None
    return list(taken)


def automatic_name(names: Sequence[str]) -> str:
    """The name of a further column for which none is given.

    Examples
    --------
    >>> automatic_name(["a", "b"]), automatic_name(["a", "X3"])
    ('X3', 'X3.1')
    """
    first = f"X{len(names) + 1}"
    name, number = first, 0
    while name in names:
        number += 1
        name = f"{first}.{number}"
    return name


def with_automatic_names(names: Iterable[str]) -> list[str]:
    """Column names with one given to each that has none.

    Examples
    --------
    >>> with_automatic_names(["a", "", ""])
    ['a', 'X2', 'X3']
    """
    result: list[str] = []
    for name in names:
        # Texts of numpy's own class would be keys of rows.
        result.append(str(name) or automatic_name(result))
    return result


def require_distinct(names: Sequence[str]) -> None:
    """Refuse names of which two are the same: one of the columns could not be asked for.

    Raises
    ------
    TakenNameError
        If there are such.
    """
    if len(set(names)) < len(names):
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        raise TakenNameError(f"several columns are named {listed(repeated)}: rename them first")


def require_unicode(names: Sequence[str]) -> None:
    """Refuse names of columns that no file or library can hold: Python's texts may have half of a character.

    Raises
    ------
    InvalidArgumentError
        If there are such.
    """
    broken = [name for name in names if not is_unicode(name)]
    if broken:
        raise InvalidArgumentError(f"the names of columns {listed(broken)} are not Unicode text, they have half of a character: rename them first")
