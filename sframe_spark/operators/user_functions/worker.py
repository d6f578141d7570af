"""How users' functions get into a Spark Python worker: pickled by this process and loaded by the tasks that it starts."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

from sframe_spark.errors import CarriedError, UserFunctionError
from sframe_spark.operators.user_functions.error_transport import ErrorTransport, error_transport

# Its description, the pickled function, where its modules are, and how an error gets back.
PackedFunction = tuple[str, bytes, tuple[str, ...], ErrorTransport]


def search_path() -> tuple[str, ...]:
    """Directories from which this process imports modules that no package manager installed, such as the main script's."""
    directories = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
    installed = (sys.prefix + os.sep, sys.base_prefix + os.sep)
    return tuple(directory for directory in directories if not directory.startswith(installed))


def pack_function(function: Any, description: str) -> PackedFunction:
    """What :func:`load_function` takes."""
    from pyspark import cloudpickle

    return description, cloudpickle.dumps(function), search_path(), error_transport()


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
        reason = f"{description} cannot be loaded where Spark runs Python: {type(error).__name__}: {error}"
        advice = "Send its module there with spark.sparkContext.addPyFile(path), or define the function in the main script."
        raise CarriedError(transport.packed(UserFunctionError(f"{reason}. {advice}"))) from None


class SentFunction:
    """A function of others, called as it is; to a worker it travels with the places where its modules are.

    Examples
    --------
    >>> SentFunction(abs, "the kernel of 'abs'")(-2)
    2
    """

    def __init__(self, function: Callable[..., Any], description: str) -> None:
        self.function, self.description = function, description
        self.__module__, self.__qualname__ = function.__module__, getattr(function, "__qualname__", type(function).__qualname__)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __reduce__(self) -> Any:
        return load_function, pack_function(self.function, self.description)


def is_ours(function: Callable[..., Any]) -> bool:
    """True for a function of this package, which every worker has."""
    return str(function.__module__).split(".")[0] == __name__.split(".")[0]


def sent(function: Callable[..., Any], description: str) -> Callable[..., Any]:
    """A function that reaches workers."""
    return function if is_ours(function) else SentFunction(function, description)
