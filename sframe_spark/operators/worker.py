"""What runs inside a Spark Python worker: errors of users' functions are carried through Spark's message as a payload."""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable
from typing import TypeVar

from sframe_spark.errors import ConversionError, SFrameError

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
