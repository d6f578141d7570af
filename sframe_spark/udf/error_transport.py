"""The transport of errors from worker processes and Spark's tasks to the driver: errors as JSON, and signed within messages of Spark."""

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
from sframe_spark.message_text import visible
from sframe_spark.udf.function_errors import MAX_TEXT, Excerpt, cause_of, cut, error_like_named
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value

Value = TypeVar("Value")
MARKER = "sframe_spark-error:"
MAX_NAMES, MAX_NAME = 100, 200
MAX_CHARACTERS = 500_000
MAX_WORDS = 400

# Spark's message has the packed error after the class name of a task's error, or in the message given to ``raise_error``, for which Spark before 4.0
# has no error condition.
_BEFORE = r"(?:CarriedError: |\[USER_RAISED_EXCEPTION\] |java\.lang\.RuntimeException: )"
_PAYLOAD = re.compile(_BEFORE + re.escape(MARKER) + r"([A-Za-z0-9+/=]{1,700000}):([0-9a-f]{64});")


@attrs.frozen
class ErrorTransport:
    """Packs errors in tasks and unpacks them in the driver. It is sent to tasks in their closures.

    Parameters
    ----------
    key
        The key that signs packed errors. Only this process and its tasks know it, and it is never printed.
    """

    key: bytes = attrs.field(repr=False)

    def guarded(self, action: Callable[[], Value]) -> Value:
        """Return the result of an action in a worker; an error of ours is packed into a message, so that the driver can raise it unchanged."""
        try:
            return action()
        except ConversionError as error:
            # A row number within a batch means nothing to the user, because Spark chooses the batches.
            raise CarriedError(self.packed(error.counted_from(None))) from None
        except SFrameError as error:
            raise CarriedError(self.packed(error)) from None

    def packed(self, error: SFrameError) -> str:
        """Return a message that contains a packed error, for a Spark error; it also works in Spark's ``raise_error``.

        Examples
        --------
        >>> from sframe_spark.errors import StorageError
        >>> transport = error_transport()
        >>> transport.unpacked("Job aborted: CarriedError: " + transport.packed(StorageError("the disk is full")) + " SQLSTATE: P0001")
        StorageError('the disk is full')
        >>> transport.unpacked("CarriedError: " + ErrorTransport(b"another process").packed(StorageError("the disk is full")))
        """
        payload = base64.b64encode(error_text(error).encode("ascii")).decode("ascii")
        # The readable words are for users who run a DataFrame of `to_spark` themselves and see Spark's message.
        words = visible(" ".join(str(error).split()))[:MAX_WORDS]
        return f"{MARKER}{payload}:{self._code(payload)}; {words}"

    def unpacked(self, text: str) -> SFrameError | None:
        """Return the first error in a Spark message that was packed with this transport's key; None if there is none."""
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
    """Return the transport of this process. Only the driver calls this; a task uses the transport in its closure."""
    return ErrorTransport(secrets.token_bytes(32))


def error_text(error: SFrameError) -> str:
    """Return an error as JSON: the name of its class, its arguments, and the error class of the user's from which its own was derived, if one was.

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
    """Return the arguments to make an error of a class again, as JSON values; long strings are shortened."""
    if issubclass(known, UserFunctionError):
        row = {"excerpt": _cut(error.row)}
        if not isinstance(error.row, Excerpt):
            value = encode_value(error.row)
            row = {"value": value if len(value) <= MAX_TEXT else encode_value(_cut(value))}
        return [_cut(error.message), _cut(error.traceback_text), row]
    if issubclass(known, ConversionError):
        return [_cut(error.value), _cut(error.kind), error.row]
    if issubclass(known, ColumnNotFoundError):
        return [_cut(error.name), [_cut(name, MAX_NAME) for name in error.available[:MAX_NAMES]]]
    if issubclass(known, NonConvergenceError):
        return [_cut(error.stage), [_cut(law, MAX_NAME) for law in error.laws[:MAX_NAMES]]]
    return [_cut(error)]


def _cut(text: Any, longest: int = MAX_TEXT) -> str:
    return cut(str(text), longest)


def error_of_text(text: str | bytes) -> SFrameError | None:
    """Return the error that :func:`error_text` wrote as JSON; None for other strings.

    Examples
    --------
    >>> print(error_of_text('{"class":"ConversionError","arguments":["\\'x\\'","int",3],"cause":null}'))
    row 3: 'x' cannot be cast to int; undefined_on_failure=True makes it missing
    >>> error_of_text('{"class":"SystemExit","arguments":["0"],"cause":null}')
    """
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        content = json.loads(text)
        return _error_of(TRAVELLING_ERRORS[content["class"]], content["arguments"], content["cause"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError):
        return None


def _error_of(known: type[SFrameError], arguments: list[Any], cause: list[str] | None) -> SFrameError:
    """Return an error of a class, made from JSON values.

    Raises
    ------
    ValueError
        If the values do not fit the class. (Other built-in errors are possible, too.)
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
