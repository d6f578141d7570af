"""Texts that are no Unicode: bytes that do not decode, and Python's texts with half of a character."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.message_text import is_unicode


@contextlib.contextmanager
def naming_broken_string(values: Any) -> Iterator[None]:
    """Name the row of the first text in a list that has no place in a column, where Python names a codec.

    Raises
    ------
    InvalidArgumentError
        If a text that is stored inside the block is none.

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
    """Refuse texts that no column holds, also within lists and dicts.

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
    """True for numbers and for texts that a column holds, all of which are looked at at once; False may be said of others, too."""
    if not isinstance(values, (list, tuple)):
        return False
    classes = set(map(type, values))
    if not classes <= _PLAIN_CLASSES:
        return False
    # Halves of a character stay halves where two of them meet.
    return str not in classes or is_unicode("".join(values if len(classes) == 1 else [value for value in values if type(value) is str]))


_PLAIN_CLASSES = frozenset({str, int, float, bool, type(None)})


def is_broken(value: Any) -> bool:
    """True for a text, or bytes, that no column holds."""
    if not isinstance(value, bytes):
        return isinstance(value, str) and not is_unicode(value)
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return False


def words_for(value: Any) -> str:
    """What is wrong with a text, and what to do."""
    if isinstance(value, bytes):
        return f"{value[:40]!r} is not UTF-8: decode it first, with the encoding that it has"
    named = f"the text {value[:40]!r}" if isinstance(value, str) else "a text in it"
    return f"{named} is not Unicode, it has half of a character: replace that first, as text.encode('utf-8', 'replace').decode() does"


# Errors about the values of a column, with its name.


@contextlib.contextmanager
def column_named(name: str) -> Iterator[None]:
    """Say in errors of the block which column they are about.

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
        told, *rest = error.args
        error.args = (f"column {name!r}: {told}", *rest)
        raise
