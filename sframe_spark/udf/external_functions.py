"""Functions of plug-in authors: how they reach workers, whose failures their errors name, and copies of what they may change."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from sframe_spark.errors import InvalidArgumentError, SFrameError
from sframe_spark.planner.ours import is_ours
from sframe_spark.udf.errors import failure
from sframe_spark.udf.pickling import load_function, pack_function

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


class SentFunction:
    """A function of others, called as it is; to a worker it travels with the places where its modules are.

    Examples
    --------
    >>> SentFunction(abs, "the kernel of 'abs'")(-2)
    2
    """

    def __init__(self, function: Callable[..., Any], description: str) -> None:
        self.function, self.description = function, description
        # By these its next version is known; what is made of a function goes by that one's.
        while isinstance(function, functools.partial):
            function = function.func
        self.__module__ = getattr(function, "__module__", type(function).__module__)
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.function(*arguments)
        except SFrameError:
            raise
        except Exception as error:
            raise failure(self.description, error) from error

    def __reduce__(self) -> Any:
        return _received, (self.description, pack_function(self.function, self.description))


def _received(description: str, packed: Any) -> SentFunction:
    return SentFunction(load_function(*packed), description)


def sent(function: Callable[..., Any], description: str) -> Callable[..., Any]:
    """A function that reaches workers.

    Raises
    ------
    InvalidArgumentError
        If it is none.
    """
    if not callable(function):
        raise InvalidArgumentError(f"{description} consists of functions, and {function!r:.80} is none")
    return function if is_ours(function) else SentFunction(function, description)
