"""How users' functions get into a Spark Python worker: pickled by this process and loaded by the tasks that it starts."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from sframe_spark.errors import CarriedError, UserFunctionError
from sframe_spark.operators.user_functions.error_transport import ErrorTransport, error_transport

# Its description, the pickled function, where its modules are, and how an error gets back.
PackedFunction = tuple[str, bytes, tuple[str, ...], ErrorTransport]
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
    sys.path.extend(directory for directory in directories if directory not in sys.path)
    try:
        return pickle.loads(content)
    except Exception as error:
        reason = f"{description} cannot be loaded in the Python process that is to call it: {type(error).__name__}: {error}"
        raise CarriedError(transport.packed(UserFunctionError(f"{reason}. {_advice(error)}"))) from None


def _advice(error: Exception) -> str:
    """What to do about a function that a worker cannot load."""
    if not isinstance(error, (ImportError, AttributeError)):
        return "An object that it refers to is pickled, and cannot be made again there: let the function make it itself."
    ways = "let sys.path have its directory (elsewhere, send it with spark.sparkContext.addPyFile(path))"
    return f"Its module, or one of what it refers to, is not found there: {ways}, or define the function in the main script."
