"""What code of others is given, and keeps to itself what it does with it: values that it may change are copied first."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

# Values that nobody can change.
_FIXED = (int, float, str, bytes, bool, type(None))


def fresh(value: Any) -> Any:
    """The value itself where nobody can change it, a copy of everything in it otherwise.

    Examples
    --------
    >>> part = [1, [2]]
    >>> fresh(part) == part, fresh(part)[1] is part[1]
    (True, False)
    """
    if type(value) in _FIXED or (type(value) is tuple and all(type(item) in _FIXED for item in value)):
        return value
    return copy.deepcopy(value)


class OnCopies:
    """A function of others, called with copies of its first arguments.

    Examples
    --------
    >>> first = [1]
    >>> OnCopies(list.__iadd__, 1)(first, [2]), first
    ([1, 2], [1])
    """

    def __init__(self, function: Callable[..., Any], count: int) -> None:
        self.function, self.count = function, count

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*map(fresh, arguments[: self.count]), *arguments[self.count :])
