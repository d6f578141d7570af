"""How an error of ours gets from a Spark task to the driver: as JSON in the text of Spark's own error, with a code that only this process makes.

Text of Spark errors holds anything: a cell that cannot be cast, the name of a damaged file, what a user's function says. So a payload
counts only if its code (an HMAC with a key that this process draws at random and gives to its tasks with their work) fits, and what it
holds are the name of a class of a fixed table and plain values. Nothing is unpickled, imported or called by a name that a text gives.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import attrs

from sframe_spark.errors import (
    TRAVELLING_ERRORS,
    CarriedError,
    ColumnNotFoundError,
    ConversionError,
    NonConvergenceError,
    SFrameError,
    UserFunctionError,
)
from sframe_spark.udf.user_errors import LONGEST_TEXT, Excerpt, cause_of, cut, error_like_named
from sframe_spark.values.text import decode_value, encode_value
from sframe_spark.visible import visible

Value = TypeVar("Value")
MARKER = "sframe_spark-error:"
MOST_NAMES, LONGEST_NAME = 100, 200
MOST_CHARACTERS = 500_000
MOST_WORDS = 400

# Where Python names the class of a task's error, and where Spark tells what `raise_error` was given.
_PAYLOAD = re.compile(r"(?:CarriedError: |\[USER_RAISED_EXCEPTION\] )" + re.escape(MARKER) + r"([A-Za-z0-9+/=]{1,700000}):([0-9a-f]{64});")


@attrs.frozen
class ErrorTransport:
    """Packs errors in tasks and unpacks them on the driver; it travels to the tasks in their closures.

    Parameters
    ----------
    key
        What codes are made with. Only this process and its tasks have it; no text shows it.
    """

    key: bytes = attrs.field(repr=False)

    def guarded(self, action: Callable[[], Value]) -> Value:
        """Run an action in a worker; our own errors are packed so that the driver can raise them again unchanged."""
        try:
            return action()
        except ConversionError as error:
            # Spark cuts rows into batches as it likes.
            raise CarriedError(self.packed(error.counted_from(None))) from None
        except SFrameError as error:
            raise CarriedError(self.packed(error)) from None

    def packed(self, error: SFrameError) -> str:
        """Text for a Spark message from which the driver takes the error again; also for Spark's own ``raise_error``.

        Examples
        --------
        >>> from sframe_spark.errors import StorageError
        >>> transport = error_transport()
        >>> transport.unpacked("Job aborted: CarriedError: " + transport.packed(StorageError("the disk is full")) + " SQLSTATE: P0001")
        StorageError('the disk is full')
        >>> transport.unpacked("CarriedError: " + ErrorTransport(b"another process").packed(StorageError("the disk is full")))
        """
        payload = base64.b64encode(error_text(error).encode("ascii")).decode("ascii")
        # The words are for users who run a DataFrame of `to_spark` themselves, and see Spark's message.
        return f"{MARKER}{payload}:{self._code(payload)}; {told(error)}"

    def unpacked(self, text: str) -> SFrameError | None:
        """The first error carried in a Spark message that a task of this process has packed; None if there is none."""
        for payload, code in _PAYLOAD.findall(text):
            if hmac.compare_digest(code, self._code(payload)):
                error = error_of_text(base64.b64decode(payload))
                if error is not None:
                    return error
        return None

    def _code(self, payload: str) -> str:
        return hmac.new(self.key, payload.encode("ascii"), hashlib.sha256).hexdigest()


@lru_cache(maxsize=1)
def error_transport() -> ErrorTransport:
    """The transport of this process. Only the driver asks for it: a task uses the one that came with its work."""
    return ErrorTransport(secrets.token_bytes(32))


def error_text(error: SFrameError) -> str:
    """An error as JSON: the class's name, what it was made from, and the user's own class that it is also of.

    Examples
    --------
    >>> error_text(ConversionError("'x'", "int", 3))
    '{"class":"ConversionError","arguments":["\\'x\\'","int",3],"cause":null}'
    """
    known = next(base for base in type(error).__mro__ if TRAVELLING_ERRORS.get(base.__name__) is base)
    cause = cause_of(error) if isinstance(error, UserFunctionError) else None
    content = {"class": known.__name__, "arguments": _arguments(known, error), "cause": cause}
    return json.dumps(content, separators=(",", ":"))


def _arguments(known: type[SFrameError], error: Any) -> list[Any]:
    """What an error of a class is made from, as JSON values; longer texts are cut."""
    if issubclass(known, UserFunctionError):
        row = {"excerpt": _cut(error.row)} if isinstance(error.row, Excerpt) else {"value": _value_text(error.row)}
        return [_cut(error.message), _cut(error.traceback_text), row]
    if issubclass(known, ConversionError):
        return [_cut(error.value), _cut(error.kind), error.row]
    if issubclass(known, ColumnNotFoundError):
        return [_cut(error.name), [_cut(name, LONGEST_NAME) for name in error.available[:MOST_NAMES]]]
    if issubclass(known, NonConvergenceError):
        return [_cut(error.stage), [_cut(law, LONGEST_NAME) for law in error.laws[:MOST_NAMES]]]
    return [_cut(error)]


def told(error: SFrameError) -> str:
    """The first words of an error, in one line."""
    return visible(" ".join(str(error).split()))[:MOST_WORDS]


def _cut(text: Any, longest: int = LONGEST_TEXT) -> str:
    return cut(str(text), longest)


def _value_text(value: Any) -> str:
    text = encode_value(value)
    return text if len(text) <= LONGEST_TEXT else encode_value(_cut(text))


def error_of_text(text: str | bytes) -> SFrameError | None:
    """The error that :func:`error_text` wrote; None for any other text.

    Examples
    --------
    >>> print(error_of_text('{"class":"ConversionError","arguments":["\\'x\\'","int",3],"cause":null}'))
    row 3: 'x' cannot be cast to int; undefined_on_failure=True makes it missing
    >>> error_of_text('{"class":"SystemExit","arguments":["0"],"cause":null}')
    """
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        content = json.loads(text)
        known = TRAVELLING_ERRORS[content["class"]]
        return _made(known, content["arguments"], content["cause"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError):
        return None


def _made(known: type[SFrameError], arguments: list[Any], cause: list[str] | None) -> SFrameError:
    """An error of a class from what JSON gives.

    Raises
    ------
    ValueError
        If that is not what the class is made from.
    """
    if issubclass(known, UserFunctionError):
        message, traceback_text, row = arguments
        value = Excerpt(_text(row["excerpt"])) if "excerpt" in row else decode_value(_text(row["value"]))
        if cause is None:
            return known(_text(message), _text(traceback_text), value)
        return error_like_named(_text(cause[0]), _text(cause[1]), _text(message), _text(traceback_text), value)
    if issubclass(known, ConversionError):
        value, kind, row = arguments
        if row is not None and type(row) is not int:
            raise ValueError(row)
        return known(_text(value), _text(kind), row)
    if issubclass(known, (ColumnNotFoundError, NonConvergenceError)):
        name, others = arguments
        return known(_text(name), [_text(other) for other in others])
    (message,) = arguments
    return known(_text(message))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(value)
    return value
