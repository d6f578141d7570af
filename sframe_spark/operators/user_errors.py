"""Errors of users' functions: also of the class that the function raised, with the value that it was called with."""

from __future__ import annotations

import builtins
import os
import sys
import traceback
from collections.abc import Callable
from functools import lru_cache
from itertools import dropwhile
from pathlib import Path
from typing import Any

from sframe_spark.errors import UserFunctionError
from sframe_spark.values.text import decode_value, encode_value

LONGEST_SHOWN = 500
OUR_CODE = str(Path(__file__).parents[1]) + os.sep


class Excerpt(str):
    """Text in place of a value; shown without quotes of its own.

    Examples
    --------
    >>> Excerpt("[1, 2, ...")
    [1, 2, ...
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def user_error(description: str, value: Any, error: BaseException) -> UserFunctionError:
    """The error a user sees when a function of theirs fails: their own traceback and the value it was given."""
    frames = dropwhile(lambda frame: frame.filename.startswith(OUR_CODE), traceback.extract_tb(error.__traceback__))
    text = "".join(traceback.format_list(frames)) + "".join(traceback.format_exception_only(error))
    message = f"{description} failed with {type(error).__name__}: {error}"
    return error_like(type(error), message, text, shown(value))


def shown(value: Any) -> Any:
    """A value as an error shows it: cut where it is long, and such that it can travel.

    Examples
    --------
    >>> shown([1, {"a": None}]), shown((1, 2)), shown("a" * 600)[-5:]
    ([1, {'a': None}], (1, 2), 'aa...')
    """
    try:
        text = repr(value)
    except RecursionError:
        return Excerpt(f"a {type(value).__name__} that is nested too deep to be shown")
    if len(text) > LONGEST_SHOWN:
        return Excerpt(text[:LONGEST_SHOWN] + "...")
    return value if _is_plain(value, text) else Excerpt(text)


def _is_plain(value: Any, text: str) -> bool:
    """True if the value's tagged JSON gives the same value again."""
    try:
        return repr(decode_value(encode_value(value))) == text
    except (AttributeError, TypeError, ValueError, OverflowError):
        return False


def error_like(cause: type[BaseException], message: str, text: str = "", row: Any = None) -> UserFunctionError:
    """A :class:`UserFunctionError` that ``except`` clauses for the function's own error class catch too."""
    combined: Callable[..., UserFunctionError] = _error_class(cause)  # type: ignore[arg-type]
    return combined(message, text, row)


@lru_cache(maxsize=128)
def _error_class(cause: type[BaseException]) -> type[UserFunctionError]:
    """A class that is both; the plain one where Python cannot combine them."""

    def reduce(self: UserFunctionError) -> tuple[Any, ...]:
        return error_like_named, (cause.__module__, cause.__qualname__, self.message, self.traceback_text, self.row)

    try:
        return type(UserFunctionError.__name__, (UserFunctionError, cause), {"__reduce__": reduce, "__module__": __name__})
    except TypeError:
        return UserFunctionError


def cause_of(error: UserFunctionError) -> tuple[str, str] | None:
    """Module and name of the function's own error class that an error is also of, if it is of one.

    Examples
    --------
    >>> cause_of(error_like(KeyError, "f failed")), cause_of(UserFunctionError("f failed"))
    (('builtins', 'KeyError'), None)
    """
    cause = type(error).__bases__[-1]
    return (cause.__module__, cause.__qualname__) if type(error).__module__ == __name__ else None


def error_like_named(module: str, name: str, message: str, text: str, row: Any) -> UserFunctionError:
    """The error as it was in a worker, where the class of the user's was a copy; without that class if it is not to be found here.

    A name is looked up among the exceptions of Python and of modules that are loaded already. Nothing is imported and no
    code of a module runs for it.

    Examples
    --------
    >>> isinstance(error_like_named("builtins", "KeyError", "f failed", "", None), KeyError)
    True
    >>> type(error_like_named("os", "system", "f failed", "", None)).__name__
    'UserFunctionError'
    """
    found: Any = builtins if module == "builtins" else sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, (type, type(sys))) else None
    is_error = isinstance(found, type) and issubclass(found, Exception)
    return error_like(found, message, text, row) if is_error else UserFunctionError(message, text, row)
