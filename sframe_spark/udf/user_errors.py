"""Errors of users' functions: also of the class that the function raised, with the value that it was called with."""

from __future__ import annotations

import builtins
import os
import sys
import traceback
from functools import lru_cache
from itertools import dropwhile
from pathlib import Path
from typing import Any

from sframe_spark.errors import ExecutionError, UserFunctionError
from sframe_spark.values.text import decode_value, encode_value

LONGEST_SHOWN = 500
LONGEST_TEXT = 10_000
GAP = " ... "
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
    return error_like(type(error), *_told(description, error), shown(value))


def failure(description: str, error: BaseException) -> UserFunctionError:
    """The error where a function that takes whole columns fails: its own traceback."""
    return error_like(type(error), *_told(description, error), Excerpt("whole columns"))


def process_ended(error: SystemExit | KeyboardInterrupt) -> ExecutionError:
    """The error a user sees when a function of theirs wants to end the process that calls it, which works for others too.

    Examples
    --------
    >>> print(process_ended(SystemExit(3)))
    a function of yours raised SystemExit(3): functions must not end their process
    """
    return ExecutionError(
        f"a function of yours raised {type(error).__name__}({', '.join(map(repr, error.args))}): functions must not end their process"
    )


def _told(description: str, error: BaseException) -> tuple[str, str]:
    # The class may have attributes of its own in place of any that every error has.
    trace = vars(BaseException)["__traceback__"].__get__(error)
    frames = dropwhile(lambda frame: frame.filename.startswith(OUR_CODE), traceback.extract_tb(trace))
    name, words = type.__dict__["__name__"].__get__(type(error)), words_of(error)
    text = "".join(traceback.format_list(frames)) + _last_lines(error, f"{name}: {words}\n")
    return cut(f"{description} failed with {name}: {words}"), cut(text)


def words_of(error: BaseException) -> str:
    """What an error says, cut where it is long; also where its class cannot tell.

    Examples
    --------
    >>> words_of(ValueError("x is wrong")), len(words_of(ValueError("x" * 10**6)))
    ('x is wrong', 9999)
    """
    try:
        return cut(str(error))
    except Exception as failure:
        return f"(no words: its __str__ failed with {type(failure).__name__})"


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text, without its middle where it is long.

    Examples
    --------
    >>> cut("short"), cut("a very long text", 11)
    ('short', 'a v ... ext')
    """
    half = (longest - len(GAP)) // 2
    return text if len(text) <= longest else f"{text[:half]}{GAP}{text[-half:]}"


def _last_lines(error: BaseException, otherwise: str) -> str:
    """An error as the last lines of a traceback show it."""
    try:
        return "".join(map(cut, traceback.format_exception_only(error)))
    except Exception:
        return otherwise


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
    except Exception as failure:
        return Excerpt(f"a {type(value).__name__} whose __repr__ failed with {type(failure).__name__}")
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
    """A :class:`UserFunctionError` that ``except`` clauses for the function's own error class catch too, where that class is an ordinary one."""
    combined = _error_class(cause) if _is_ordinary(cause) else UserFunctionError  # type: ignore[arg-type]
    return combined(message, text, row)


# What Python, pytest, pickle and we ask errors for, and how: a class that answers otherwise would make an error that nobody can handle.
_ASKED_FOR = {
    *("message", "traceback_text", "row", "args", "with_traceback", "add_note", "__notes__", "__traceback__", "__cause__", "__context__"),
    *("__suppress_context__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__init_subclass__", "__new__", "__eq__", "__hash__"),
    *("__class__", "__dict__", "__reduce_ex__", "__del__", "__set_name__", "__mro_entries__", "__instancecheck__", "__subclasscheck__"),
}
# The end of an iteration is no failure to those who iterate, and groups are made of their errors.
_OTHERWISE_USED = (StopIteration, StopAsyncIteration, BaseExceptionGroup)


def _is_ordinary(cause: type[BaseException]) -> bool:
    """True if errors of a class can also be our errors: nothing of the class decides how an error is made, kept or asked."""
    if type(cause) is not type or issubclass(cause, _OTHERWISE_USED):
        return False
    own = (base for base in cause.__mro__ if base.__module__ != "builtins")
    return not any(_ASKED_FOR.intersection(vars(base)) for base in own) and all(type(name) is str for name in (cause.__module__, cause.__qualname__))


@lru_cache(maxsize=128)
def _error_class(cause: type[BaseException]) -> type[UserFunctionError]:
    """A class that is both; the plain one where Python cannot combine them."""

    def initialise(self: UserFunctionError, message: str, text: str, row: Any) -> None:
        # What the function's own class is made from may be anything, so its __init__ is not asked.
        Exception.__init__(self, message, text, row)
        self.message, self.traceback_text, self.row = message, text, row

    def reduce(self: UserFunctionError) -> tuple[Any, ...]:
        return error_like_named, (cause.__module__, cause.__qualname__, self.message, self.traceback_text, self.row)

    content = {"__init__": initialise, "__reduce__": reduce, "__module__": __name__, "__repr__": Exception.__repr__}
    try:
        return type(UserFunctionError.__name__, (UserFunctionError, cause), content)
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
