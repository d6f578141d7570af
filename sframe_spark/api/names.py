"""Names of columns that have none of their own."""

from __future__ import annotations

from collections.abc import Sequence


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
