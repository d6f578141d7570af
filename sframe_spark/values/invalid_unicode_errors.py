"""Errors about strings that are not valid Unicode, with their row, and the name of a column in errors about its values."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.message_text import is_unicode


@contextlib.contextmanager
def naming_broken_string(values: Any) -> Iterator[None]:
    """Replace a Unicode error in the block by an error that names the first invalid string and, if ``values`` is a list, its row.

    Raises
    ------
    InvalidArgumentError
        If a string that the block converts is not valid Unicode.

    Examples
    --------
    >>> with naming_broken_string([b"\\xff"]):
    ...     b"\\xff".decode()
    Traceback (most recent call last):
        ...
    sframe_spark.errors.InvalidArgumentError: row 0: b'\\xff' is not UTF-8: decode it first, with its encoding
    """
    try:
        yield
    except UnicodeError:
        rows = enumerate(values) if isinstance(values, list) else iter(())
        prefix, value = next(((f"row {row}: ", value) for row, value in rows if is_broken(value)), ("", None))
        raise InvalidArgumentError(prefix + invalid_string_message(value)) from None


def require_unicode_values(values: Iterable[Any]) -> None:
    """Raise if there are invalid strings among values, also inside lists, tuples, sets and dicts.

    Raises
    ------
    InvalidArgumentError
        If a string is not valid Unicode, or bytes are not UTF-8.

    Examples
    --------
    >>> require_unicode_values([1, ("a", {"b": ["c"]})])
    """
    # A list may contain itself.
    waiting, seen = deque([values]), set[int]()
    while waiting:
        value = waiting.popleft()
        if value is values or isinstance(value, (tuple, list, set, frozenset, dict)):
            if id(value) not in seen and not _are_whole_texts(value):
                seen.add(id(value))
                waiting.extend(value)
                waiting.extend(value.values() if isinstance(value, dict) else ())
        elif is_broken(value):
            raise InvalidArgumentError(invalid_string_message(value))


def _are_whole_texts(values: Any) -> bool:
    """Return whether values are a list or tuple of only numbers, None and valid strings, which are checked all at once."""
    if not isinstance(values, (list, tuple)):
        return False
    classes = set(map(type, values))
    if not classes <= {str, int, float, bool, type(None)}:
        return False
    # Joining does not hide errors: two lone surrogates that become adjacent are still invalid.
    return str not in classes or is_unicode("".join(values if len(classes) == 1 else [value for value in values if type(value) is str]))


def is_broken(value: Any) -> bool:
    """Return whether a value is a string that is not valid Unicode, or bytes that are not UTF-8, so that no column can hold it."""
    try:
        if isinstance(value, bytes):
            value.decode()
    except UnicodeDecodeError:
        return True
    return isinstance(value, str) and not is_unicode(value)


def invalid_string_message(value: Any) -> str:
    """Return the message for an invalid string or bytes: what is wrong, and how to fix it."""
    if isinstance(value, bytes):
        return f"{value[:40]!r} is not UTF-8: decode it first, with its encoding"
    named = f"the text {value[:40]!r}" if isinstance(value, str) else "a text in it"
    return f"{named} is not valid Unicode (it contains half of a character): replace that first, as text.encode('utf-8', 'replace').decode() does"


@contextlib.contextmanager
def column_named(name: str) -> Iterator[None]:
    """Put the name of a column before the message of errors raised in the block.

    Examples
    --------
    >>> with column_named("price"):
    ...     raise SchemaError("no column holds these")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.SchemaError: column 'price': no column holds these
    """
    try:
        yield
    except (SchemaError, InvalidArgumentError, DateTimeRangeError) as error:
        message, *rest = error.args
        error.args = (f"column {name!r}: {message}", *rest)
        raise
