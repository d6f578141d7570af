"""What runs inside a Spark Python worker: users' functions are loaded there, and their errors come back in Spark's message as a payload."""

from __future__ import annotations

import base64
import os
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sframe_spark.errors import ConversionError, SFrameError, UserFunctionError

Value = TypeVar("Value")
MARKER = "sframe_spark-error:"


class CarriedError(Exception):
    """An error on its way through Spark; its text holds the pickled original."""


def guarded(action: Callable[[], Value]) -> Value:
    """Run an action in a worker; our own errors are packed so that the driver can raise them again unchanged."""
    try:
        return action()
    except ConversionError as error:
        # Spark cuts rows into batches as it likes.
        raise CarriedError(packed(error.counted_from(None))) from None
    except SFrameError as error:
        raise CarriedError(packed(error)) from None


def packed(error: SFrameError) -> str:
    """Text for a Spark message from which the driver takes the error again; also for Spark's own ``raise_error``.

    Examples
    --------
    >>> from sframe_spark.errors import StorageError
    >>> unpack_error("Job aborted: " + packed(StorageError("the disk is full")) + " SQLSTATE: P0001")
    StorageError('the disk is full')
    """
    # A cause need not pickle, and the driver shows none.
    error.__cause__ = None
    return f"{MARKER}{base64.b64encode(pickle.dumps(error)).decode('ascii')};"


def unpack_error(text: str) -> SFrameError | None:
    """The error carried in a Spark message, if there is one."""
    match = re.search(re.escape(MARKER) + r"([A-Za-z0-9+/=]+);", text)
    if match is None:
        return None
    error = pickle.loads(base64.b64decode(match.group(1)))
    return error if isinstance(error, SFrameError) else None


def search_path() -> tuple[str, ...]:
    """Directories from which this process imports modules that no package manager installed, such as the main script's."""
    directories = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
    installed = (sys.prefix + os.sep, sys.base_prefix + os.sep)
    return tuple(directory for directory in directories if not directory.startswith(installed))


def pack_function(function: Callable[..., Any], description: str) -> tuple[str, bytes, tuple[str, ...]]:
    """What :func:`load_function` takes."""
    from pyspark import cloudpickle

    return description, cloudpickle.dumps(function), search_path()


def load_function(description: str, content: bytes, directories: Sequence[str]) -> Callable[..., Any]:
    """A user's function in a worker, which also looks for the modules of users where the driver did.

    Examples
    --------
    >>> load_function(*pack_function(abs, "abs"))(-2)
    2
    """
    sys.path.extend(directory for directory in directories if directory not in sys.path)
    try:
        function: Callable[..., Any] = pickle.loads(content)
    except Exception as error:
        reason = f"{description} cannot be loaded where Spark runs Python: {type(error).__name__}: {error}"
        advice = "Send its module there with spark.sparkContext.addPyFile(path), or define the function in the main script."
        raise CarriedError(packed(UserFunctionError(f"{reason}. {advice}"))) from None
    return function
