"""Wrappers for functions of plug-ins: they can be sent to workers, their errors name their origin, and their arguments are copies."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from sframe_spark.errors import InvalidArgumentError, SFrameError
from sframe_spark.planner.node import is_builtin
from sframe_spark.udf.errors import failure
from sframe_spark.udf.pickling import load_function, pack_function

_IMMUTABLE = (int, float, str, bytes, bool, type(None))


def fresh(value: Any) -> Any:
    """Return the value itself if it is immutable, otherwise a deep copy.

    Examples
    --------
    >>> part = [1, [2]]
    >>> fresh(part) == part, fresh(part)[1] is part[1]
    (True, False)
    """
    if type(value) in _IMMUTABLE or (type(value) is tuple and all(type(item) in _IMMUTABLE for item in value)):
        return value
    return copy.deepcopy(value)


class OnCopies:
    """A plug-in's function that is called with copies of its first ``count`` arguments.

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
    """A plug-in's function that can be sent to workers, with the directories of its modules; its errors begin with a description.

    Examples
    --------
    >>> SentFunction(abs, "the kernel of 'abs'")(-2)
    2
    """

    def __init__(self, function: Callable[..., Any], description: str) -> None:
        self.function, self.description = function, description
        # The registry recognises a new version of a function by these two names.
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
        return _sent_function, (self.description, pack_function(self.function, self.description))


def _sent_function(description: str, packed: Any) -> SentFunction:
    return SentFunction(load_function(*packed), description)


def sent(function: Callable[..., Any], description: str) -> Callable[..., Any]:
    """Return a function that can be sent to workers: the given one if it belongs to this package, otherwise a :class:`SentFunction`.

    Raises
    ------
    InvalidArgumentError
        If the given object cannot be called.
    """
    if not callable(function):
        raise InvalidArgumentError(f"{description} consists of functions, and {function!r:.80} is none")
    return function if is_builtin(function) else SentFunction(function, description)
