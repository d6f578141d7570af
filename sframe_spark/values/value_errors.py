"""Errors about values, with the column and the row they are in; in particular strings that are not valid Unicode."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.message_text import is_unicode


@contextlib.contextmanager
def naming_broken_string(values: Any) -> Iterator[None]:
    """Turn a Unicode error in the block into one that names the row of the first invalid string of a list.

    Raises
    ------
    InvalidArgumentError
        If a string stored inside the block is not valid Unicode.

    Examples
    --------
    >>> with naming_broken_string([b"\\xff"]):
    ...     b"\\xff".decode()
    Traceback (most recent call last):
        ...
    sframe_spark.errors.InvalidArgumentError: row 0: b'\\xff' is not UTF-8: decode it first, with the encoding that it has
    """
    try:
        yield
    except UnicodeError:
        rows = enumerate(values) if isinstance(values, list) else iter(())
        place, value = next(((f"row {row}: ", value) for row, value in rows if is_broken(value)), ("", None))
        raise InvalidArgumentError(place + words_for(value)) from None


def require_unicode_values(values: Iterable[Any]) -> None:
    """Raise if there are invalid strings, also within lists and dicts.

    Raises
    ------
    InvalidArgumentError
        If there is one.

    Examples
    --------
    >>> require_unicode_values([1, ("a", {"b": ["c"]})])
    """
    # A list may hold itself.
    waiting, seen = deque([values]), set[int]()
    while waiting:
        value = waiting.popleft()
        if value is values or isinstance(value, (tuple, list, set, frozenset, dict)):
            if id(value) not in seen and not _are_whole_texts(value):
                seen.add(id(value))
                waiting.extend(value)
                waiting.extend(value.values() if isinstance(value, dict) else ())
        elif is_broken(value):
            raise InvalidArgumentError(words_for(value))


def _are_whole_texts(values: Any) -> bool:
    """Return True if these are all numbers and valid strings, checked together; False may also mean "not known"."""
    if not isinstance(values, (list, tuple)):
        return False
    classes = set(map(type, values))
    if not classes <= _PLAIN_CLASSES:
        return False
    # Two lone surrogates that become adjacent stay invalid.
    return str not in classes or is_unicode("".join(values if len(classes) == 1 else [value for value in values if type(value) is str]))


_PLAIN_CLASSES = frozenset({str, int, float, bool, type(None)})


def is_broken(value: Any) -> bool:
    """Return whether a value is a string, or bytes, that no column can hold."""
    if not isinstance(value, bytes):
        return isinstance(value, str) and not is_unicode(value)
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return False


def words_for(value: Any) -> str:
    """Return what is wrong with a string, and what to do."""
    if isinstance(value, bytes):
        return f"{value[:40]!r} is not UTF-8: decode it first, with the encoding that it has"
    named = f"the text {value[:40]!r}" if isinstance(value, str) else "a text in it"
    return f"{named} is not Unicode, it has half of a character: replace that first, as text.encode('utf-8', 'replace').decode() does"


@contextlib.contextmanager
def column_named(name: str) -> Iterator[None]:
    """Add the name of a column to errors of the block.

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
