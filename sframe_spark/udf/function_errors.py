"""Errors for failures of users' functions: with the traceback of the user's code and the value, and instances of the user's own error class."""

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
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value

MAX_VALUE_TEXT = 500
MAX_TEXT = 10_000
GAP = " ... "
OUR_CODE = str(Path(__file__).parents[1]) + os.sep


class Excerpt(str):
    """A string that stands for a value and is displayed without quotes.

    Examples
    --------
    >>> Excerpt("[1, 2, ...")
    [1, 2, ...
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NO_INPUT = Excerpt("")


def user_error(description: str, value: Any, error: BaseException) -> UserFunctionError:
    """Return the error to raise when a function fails for a value, with the traceback of the user's code and the value."""
    return error_like(type(error), *_described(description, error), displayable(value))


def failure(description: str, error: BaseException) -> UserFunctionError:
    """Return the error to raise when a function of whole columns fails, with the traceback of the user's code."""
    return error_like(type(error), *_described(description, error), Excerpt("columns, as Arrow arrays"))


def failure_without_input(description: str, error: BaseException) -> UserFunctionError:
    """Return the error to raise when code of a user fails that is given no columns, as a source's is, with the traceback of that code."""
    return error_like(type(error), *_described(description, error), NO_INPUT)


def process_ended(error: SystemExit | KeyboardInterrupt) -> ExecutionError:
    """Return the error to raise when a function tries to end the process that calls it, which other calls share.

    Examples
    --------
    >>> print(process_ended(SystemExit(3)))
    one of your functions raised SystemExit(3): functions must not end their process
    """
    return ExecutionError(
        f"one of your functions raised {type(error).__name__}({', '.join(map(repr, error.args))}): functions must not end their process"
    )


def _described(description: str, error: BaseException) -> tuple[str, str]:
    """Return the message about a failed function, and the traceback of the user's code."""
    # The error's class may override attributes that every error has, so they are read from the base class.
    trace = vars(BaseException)["__traceback__"].__get__(error)
    frames = dropwhile(lambda frame: frame.filename.startswith(OUR_CODE), traceback.extract_tb(trace))
    name, words = type.__dict__["__name__"].__get__(type(error)), words_of(error)
    try:
        last_lines = "".join(map(cut, traceback.format_exception_only(error)))
    except Exception:
        last_lines = f"{name}: {words}\n"
    text = "".join(traceback.format_list(frames)) + last_lines
    return cut(f"{description} failed with {name}: {words}{_advice(words)}"), cut(text)


def _advice(words: str) -> str:
    """Return what to do about the most frequent mistakes in functions, to end a message; an empty string for others.

    Examples
    --------
    >>> _advice("unsupported operand type(s) for +: 'NoneType' and 'int'")
    '; a missing value is None: fill it first by fillna(), or test for None in the function'
    >>> _advice("'dict' object has no attribute 'stars'"), _advice("division by zero")
    ("; a row is a dict: write row['stars']", '')
    """
    if "'NoneType'" in words:
        return "; a missing value is None: fill it first by fillna(), or test for None in the function"
    known, _, member = words.partition("'dict' object has no attribute ")
    is_name = not known and member[1:-1].isidentifier() and member[1:-1] not in dir(dict)
    return f"; a row is a dict: write row[{member}]" if is_name else ""


def words_of(error: BaseException) -> str:
    """Return the message of an error, shortened if it is long. If the ``__str__`` of its class fails, the result says so.

    Examples
    --------
    >>> words_of(ValueError("x is wrong")), len(words_of(ValueError("x" * 10**6)))
    ('x is wrong', 9999)
    """
    try:
        return cut(str(error))
    except Exception as failure:
        return f"(no words: its __str__ failed with {type(failure).__name__})"


def cut(text: str, longest: int = MAX_TEXT) -> str:
    """Return a string, with the middle left out if it is longer than ``longest``.

    Examples
    --------
    >>> cut("short"), cut("a very long text", 11)
    ('short', 'a v ... ext')
    """
    half = (longest - len(GAP)) // 2
    return text if len(text) <= longest else f"{text[:half]}{GAP}{text[-half:]}"


def displayable(value: Any) -> Any:
    """Return a value in the form that an error shows: shortened if it is long, and always picklable.

    Examples
    --------
    >>> displayable([1, {"a": None}]), displayable((1, 2)), displayable("a" * 600)[-5:]
    ([1, {'a': None}], (1, 2), 'aa...')
    """
    try:
        text = repr(value)
    except RecursionError:
        return Excerpt(f"a {type(value).__name__} that is nested too deep to be shown")
    except Exception as failure:
        return Excerpt(f"a {type(value).__name__} whose __repr__ failed with {type(failure).__name__}")
    if len(text) > MAX_VALUE_TEXT:
        return Excerpt(text[:MAX_VALUE_TEXT] + "...")
    return value if _is_plain(value, text) else Excerpt(text)


def _is_plain(value: Any, text: str) -> bool:
    """Return whether encoding the value as tagged JSON and decoding it gives a value with the same ``repr``."""
    try:
        return repr(decode_value(encode_value(value))) == text
    except (AttributeError, TypeError, ValueError, OverflowError):
        return False


def error_like(cause: type[BaseException], message: str, text: str = "", row: Any = None) -> UserFunctionError:
    """Return a :class:`UserFunctionError` that is also an instance of the function's own error class, if that class can be combined with it."""
    combined = _error_class(cause) if _is_ordinary(cause) else UserFunctionError  # type: ignore[arg-type]
    return combined(message, text, row)


# Attributes of errors that Python, pytest, pickle or this package rely on. Errors of a class that overrides one might be impossible to handle.
_RELIED_ON = {
    *("message", "traceback_text", "row", "args", "with_traceback", "add_note", "__notes__", "__traceback__", "__cause__", "__context__"),
    *("__suppress_context__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__init_subclass__", "__new__", "__eq__", "__hash__"),
    *("__class__", "__dict__", "__reduce_ex__", "__del__", "__set_name__", "__mro_entries__", "__instancecheck__", "__subclasscheck__"),
}
# The first two end iterations, and an exception group cannot be made without its errors.
_NEVER_COMBINED = (StopIteration, StopAsyncIteration, BaseExceptionGroup)


def _is_ordinary(cause: type[BaseException]) -> bool:
    """Return whether an error class can be combined with UserFunctionError: it overrides nothing that decides how errors are made or copied."""
    if type(cause) is not type or issubclass(cause, _NEVER_COMBINED):
        return False
    own = (base for base in cause.__mro__ if base.__module__ != "builtins")
    return not any(_RELIED_ON.intersection(vars(base)) for base in own) and all(type(name) is str for name in (cause.__module__, cause.__qualname__))


@lru_cache(maxsize=128)
def _error_class(cause: type[BaseException]) -> type[UserFunctionError]:
    """Return a subclass of UserFunctionError and the user's error class; UserFunctionError itself if Python cannot combine them."""

    def initialise(self: UserFunctionError, message: str, text: str, row: Any) -> None:
        # The user's ``__init__`` is not called, because its parameters are unknown.
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
    """Return module and name of the user's error class that an error is combined with; None if there is none.

    Examples
    --------
    >>> cause_of(error_like(KeyError, "f failed")), cause_of(UserFunctionError("f failed"))
    (('builtins', 'KeyError'), None)
    """
    cause = type(error).__bases__[-1]
    return (cause.__module__, cause.__qualname__) if type(error).__module__ == __name__ else None


def error_like_named(module: str, name: str, message: str, text: str, row: Any) -> UserFunctionError:
    """Return the error as it was in a worker, combined with the user's error class if that class is found in this process.

    The class is looked up among Python's exceptions and in modules that are loaded already: nothing is imported and no code of a module runs.

    Examples
    --------
    >>> isinstance(error_like_named("builtins", "KeyError", "f failed", "", None), KeyError)
    True
    >>> type(error_like_named("os", "system", "f failed", "", None)).__name__
    'UserFunctionError'
    """
    cause: Any = builtins if module == "builtins" else sys.modules.get(module)
    for part in name.split("."):
        cause = vars(cause).get(part) if isinstance(cause, (type, type(sys))) else None
    is_error = isinstance(cause, type) and issubclass(cause, Exception)
    return error_like(cause, message, text, row) if is_error else UserFunctionError(message, text, row)
