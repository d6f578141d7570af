"""Strings for messages: control characters are escaped, values shortened, numbers of bytes written with units. Also a check for valid Unicode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Whether texts of plans are written with all steps and constants: those of tests are read again, and compared.
_IN_FULL = ContextVar("in_full", default=False)

# Control characters (C0, DEL, C1), marks that change the direction of text, line separators, halves of surrogate pairs.
_COMMANDS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_COMMANDS_BUT_LINES = re.compile(_COMMANDS.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def visible(text: str, lines: bool = False) -> str:
    """Return a string with escapes for characters that a terminal, a notebook or a log would obey instead of displaying them.

    Parameters
    ----------
    text
        Any string.
    lines
        Whether line breaks and tabs are kept, for messages of several lines.

    Examples
    --------
    >>> visible("a\\x1b[2Jb\\n\\u202e"), visible("a\\nb\\x07", lines=True), visible("naïve 日本 😀")
    ('a\\\\x1b[2Jb\\\\n\\\\u202e', 'a\\nb\\\\x07', 'naïve 日本 😀')
    """
    return (_COMMANDS_BUT_LINES if lines else _COMMANDS).sub(_escape, text)


@contextmanager
def in_full() -> Iterator[None]:
    """Leave nothing out of the texts of plans within a ``with`` block."""
    token = _IN_FULL.set(True)
    try:
        yield
    finally:
        _IN_FULL.reset(token)


def leaves_out() -> bool:
    """Return whether the texts of plans leave out the later ones of many steps, and the ends of long constants.

    Examples
    --------
    >>> with in_full():
    ...     leaves_out()
    False
    """
    return not _IN_FULL.get()


def brief(value: Any, longest: int = 60) -> str:
    """Return the start of a value's ``repr``, for messages, or a description if Python cannot print the value.

    Examples
    --------
    >>> brief([1, 2, 3], 5), brief(-(10**5000)), brief([10**5000])
    ('[1, 2', 'an int of 16610 bits', 'a list with an int of thousands of digits')
    """
    try:
        return repr(value)[:longest]
    except RecursionError:
        return f"a {type(value).__name__} nested too deep to be shown"
    except ValueError:
        # Python does not print an int with thousands of digits.
        return f"an int of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__} with an int of thousands of digits"


def text_for_message(value: Any) -> str:
    """Return how messages refer to a value that was passed instead of a name: a function by its name, a value with a long ``repr`` by its class.

    Examples
    --------
    >>> text_for_message(3), text_for_message("a"), text_for_message(len)
    ('3', "'a'", 'the function len')
    """
    if callable(value) and hasattr(value, "__name__"):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
    text = brief(value)
    return f"a value of class {type(value).__name__}" if "\n" in text else text


def is_unicode(text: str) -> bool:
    """Return whether a string can be encoded in UTF-8: Python's strings may contain lone surrogates, which are not Unicode.

    Examples
    --------
    >>> is_unicode("😀"), is_unicode("\\ud83d")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape", "surrogatepass").decode("ascii")


def in_words(size: int) -> str:
    """Return a number of bytes in the largest unit in which it is at least one.

    Examples
    --------
    >>> in_words(812), in_words(3 << 20), in_words(80_000_000_000)
    ('812 bytes', '3.0 MiB', '74.5 GiB')
    """
    if size < 1024:
        return f"{size} bytes"
    value, units = float(size), iter(("KiB", "MiB", "GiB", "TiB", "PiB"))
    unit = ""
    while value >= 1024 and (following := next(units, None)):
        value, unit = value / 1024, following
    return f"{value:.1f} {unit}"
