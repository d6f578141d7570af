"""How users' functions reach other Python processes: pickled by this one, loaded by the workers that it starts."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import CarriedError, UserFunctionError
from sframe_spark.udf.errors import ErrorTransport, error_transport
from sframe_spark.udf.process_state import State
from sframe_spark.udf.received_program import ReceivedFunction, UsersProgram

if TYPE_CHECKING:
    from sframe_spark.udf.program_pickler import PackedProgram

# Its description, the pickled function, where its modules are, and how an error gets back.
PackedFunction = tuple[str, bytes, tuple[str, ...], ErrorTransport]
# A function that takes more is read anew for each range of rows.
_MOST_KEPT = 4 << 20
_IS_PACKING: ContextVar[bool] = ContextVar("sframe_spark_is_packing", default=False)


def search_path() -> tuple[str, ...]:
    """Directories from which this process imports modules that no package manager installed, such as the main script's."""
    directories = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
    installed = (sys.prefix + os.sep, sys.base_prefix + os.sep)
    return tuple(directory for directory in directories if not directory.startswith(installed))


def pack_function(function: Any, description: str) -> PackedFunction:
    """What :func:`load_function` takes."""
    from pyspark import cloudpickle

    token = _IS_PACKING.set(True)
    try:
        content = cloudpickle.dumps(function)
    finally:
        _IS_PACKING.reset(token)
    return description, content, search_path(), error_transport()


def pack_program(function: Any, state: State, context: Context, most_bytes: int | None = None) -> PackedProgram:
    """A function with what it reaches of the user's program, as :func:`~packed_program.packed_program` makes it.

    Raises
    ------
    pickle.PicklingError
        If something cannot be sent; or whatever error its class raises.
    """
    # What is pickled so is none of the API's business: it is loaded when the first function is.
    from sframe_spark.udf.program_pickler import packed_program

    token = _IS_PACKING.set(True)
    try:
        return packed_program(function, state, context, most_bytes)
    finally:
        _IS_PACKING.reset(token)


def addressed(description: str, program: PackedProgram) -> PackedFunction:
    """What :func:`load_program` takes."""
    return description, program.content, search_path(), error_transport()


def is_packing() -> bool:
    """Say whether something is pickled for tasks of this process."""
    return _IS_PACKING.get()


def load_function(description: str, content: bytes, directories: Sequence[str], transport: ErrorTransport) -> Any:
    """A user's function in a worker, which also looks for the modules of users where the driver did.

    Examples
    --------
    >>> load_function(*pack_function(abs, "abs"))(-2)
    2
    """
    return _loaded(pickle.loads, description, content, directories, transport)


def load_program(description: str, content: bytes, directories: Sequence[str], transport: ErrorTransport) -> ReceivedFunction:
    """A user's function in a worker, with what it reaches of the program that it comes from.

    Examples
    --------
    >>> from contextvars import copy_context
    >>> load_program(*addressed("abs", pack_program(abs, {}, copy_context())))(-2)
    2
    """
    function: ReceivedFunction = _loaded(_received, description, content, directories, transport)
    return function


def _loaded(load: Callable[[bytes], Any], description: str, content: bytes, directories: Sequence[str], transport: ErrorTransport) -> Any:
    sys.path.extend(directory for directory in directories if directory not in sys.path)
    try:
        return load(content)
    except Exception as error:
        reason = f"{description} cannot be loaded in the Python process that is to call it: {type(error).__name__}: {error}"
        raise CarriedError(transport.packed(UserFunctionError(f"{reason}. {_advice(error)}"))) from None


def _received(content: bytes) -> ReceivedFunction:
    if len(content) > _MOST_KEPT:
        return ReceivedFunction(*_program_of(content))
    return _kept(content)


@functools.lru_cache(maxsize=16)
def _kept(content: bytes) -> ReceivedFunction:
    """A function of which more rows come: what its modules have loaded or counted stays until the process ends, as in plain Python."""
    return ReceivedFunction(*_program_of(content))


def copy_of_program(program: PackedProgram) -> ReceivedFunction:
    """A function as it was, with what it reached then, in the process that it comes from."""
    return ReceivedFunction(*_program_of(program.content, is_users_process=True))


def _program_of(content: bytes, is_users_process: bool = False) -> tuple[Any, UsersProgram]:
    from sframe_spark.udf.program_pickler import received

    return received(content, is_users_process)


def _advice(error: Exception) -> str:
    """What to do about a function that a worker cannot load."""
    if not isinstance(error, (ImportError, AttributeError)):
        return "An object that it refers to is pickled, and cannot be made again there: let the function make it itself."
    ways = "let sys.path have its directory (elsewhere, send it with spark.sparkContext.addPyFile(path))"
    return f"Its module, or one of what it refers to, is not found there: {ways}, or define the function in the main script."
