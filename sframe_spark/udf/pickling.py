"""Sending functions of users and plug-ins to worker processes: pickling in the driver, loading in the worker, and wrappers for plug-ins."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import CarriedError, InvalidArgumentError, SFrameError, UserFunctionError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.planner.node import is_builtin
from sframe_spark.udf.error_transport import ErrorTransport

with lazy_imports(globals()):
    from sframe_spark.udf.captured_locale_decimal_and_time_zone_state import State
    from sframe_spark.udf.error_transport import error_transport
    from sframe_spark.udf.function_errors import failure
    from sframe_spark.udf.received_program import ReceivedFunction

if TYPE_CHECKING:
    from sframe_spark.udf.program_pickler import PackedProgram


# The function's description, its pickled bytes, the directories of its modules, and how errors are sent back.
PackedFunction = tuple[str, bytes, tuple[str, ...], ErrorTransport]
# Workers cache functions of at most so many bytes; larger ones are loaded again for each range of rows.
_MAX_RETAINED = 4 << 20
_IS_PACKING: ContextVar[bool] = ContextVar("sframe_spark_is_packing", default=False)


def search_path() -> tuple[str, ...]:
    """Return the directories on ``sys.path`` outside of the Python installation, such as the main script's."""
    directories = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
    installed = (sys.prefix + os.sep, sys.base_prefix + os.sep)
    return tuple(directory for directory in directories if not directory.startswith(installed))


def pack_function(function: Any, description: str) -> PackedFunction:
    """Pickle a function for :func:`load_function`."""
    cloudpickle = import_cloudpickle()
    with _packing():
        content = cloudpickle.dumps(function)
    return description, content, search_path(), error_transport()


def pack_program(function: Any, state: State, context: Context, max_bytes: int | None = None) -> PackedProgram:
    """Pickle a function with what it reaches of the user's program; see :func:`~sframe_spark.udf.program_pickler.packed_program`.

    Raises
    ------
    pickle.PicklingError
        If something cannot be pickled; a class may also raise any other error while its objects are pickled.
    """
    # Imported here, because it imports cloudpickle, which ``import sframe_spark`` must not need.
    from sframe_spark.udf.program_pickler import packed_program

    with _packing():
        return packed_program(function, state, context, max_bytes)


def addressed(description: str, program: PackedProgram) -> PackedFunction:
    """Return a packed program in the form of the arguments of :func:`load_program`."""
    return description, program.content, search_path(), error_transport()


@contextmanager
def _packing() -> Iterator[None]:
    token = _IS_PACKING.set(True)
    try:
        yield
    finally:
        _IS_PACKING.reset(token)


def is_packing() -> bool:
    """Return whether this thread is pickling a function for workers."""
    return _IS_PACKING.get()


def load_function(description: str, content: bytes, directories: Sequence[str], transport: ErrorTransport) -> Any:
    """Load a user's function in a worker; modules are also searched in the driver's directories.

    Examples
    --------
    >>> load_function(*pack_function(abs, "abs"))(-2)
    2
    """
    return _loaded(pickle.loads, description, content, directories, transport)


def load_program(description: str, content: bytes, directories: Sequence[str], transport: ErrorTransport) -> ReceivedFunction:
    """Load a user's function in a worker, with what it reaches of the program that it comes from.

    Examples
    --------
    >>> from contextvars import copy_context
    >>> load_program(*addressed("abs", pack_program(abs, {}, copy_context())))(-2)
    2
    """
    load = _received if len(content) > _MAX_RETAINED else _load_retained
    function: ReceivedFunction = _loaded(load, description, content, directories, transport)
    return function


def _loaded(load: Callable[[bytes], Any], description: str, content: bytes, directories: Sequence[str], transport: ErrorTransport) -> Any:
    sys.path.extend(directory for directory in directories if directory not in sys.path)
    try:
        return load(content)
    except Exception as error:
        reason = f"{description} cannot be loaded in the Python process that should call it: {type(error).__name__}: {error}"
        raise CarriedError(transport.packed(UserFunctionError(f"{reason}. {_advice(error)}"))) from None


def copy_of_program(program: PackedProgram) -> ReceivedFunction:
    """Return a copy of a packed function and of what it reached, in the process that packed it."""
    return _received(program.content, is_users_process=True)


def _received(content: bytes, is_users_process: bool = False) -> ReceivedFunction:
    from sframe_spark.udf.program_pickler import received

    return ReceivedFunction(*received(content, is_users_process))


@functools.lru_cache(maxsize=16)
def _load_retained(content: bytes) -> ReceivedFunction:
    """Load a function once per process, so that the state of its modules persists until the process ends, as in plain Python."""
    return _received(content)


def _advice(error: Exception) -> str:
    """Return advice about a function that a worker cannot load."""
    if not isinstance(error, (ImportError, AttributeError)):
        return "An object that it refers to was pickled, but cannot be restored there: let the function create it itself."
    ways = "add its directory to sys.path (on other machines, send it with spark.sparkContext.addPyFile(path))"
    return f"Its module, or that of an object it refers to, is not found there: {ways}, or define the function in the main script."


# Wrappers for functions of plug-ins: they can be sent to workers, their errors name their origin, and their arguments are copies.

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
