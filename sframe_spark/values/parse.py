"""Read numbers, arrays, lists and dicts from the text that users have in str columns.

Lists and dicts are written as JSON or Python would, with quotes left out where nothing is ambiguous: ``[1, a, "b c"]``,
``{a: 1, b: [2]}``. Text after the closing bracket is ignored, unless it is asked whether a text is nothing else.
"""

from __future__ import annotations

import array
import re
from typing import Any

from sframe_spark.values.tagged_json import MOST_LEVELS
from sframe_spark.values.value_model import LARGEST_INT, SMALLEST_INT

_MOST_DIGITS = len(str(LARGEST_INT))

_SPACE = " \t\n\v\f\r"
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_FLOAT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)\Z", re.IGNORECASE)
_HEX_FLOAT = re.compile(r"[+-]?0x[0-9a-f]+(\.[0-9a-f]*)?(p[+-]?[0-9]+)?\Z", re.IGNORECASE)
_ARRAY = re.compile(r"\s*\[([^\]]*)\]")
_ARRAY_SEPARATOR = re.compile(r"\s*[,;\s]\s*")
_UNICODE = re.compile(r"u(?:(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|(?!d[89a-f])([0-9a-f]{4}))", re.IGNORECASE)
# What a backslash gives another meaning.
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b"}
# What it is left out before; before all else it is a character as others, as in a path of Windows.
ESCAPED = "\"'/\\"


def parse_int(text: str) -> int | None:
    """Read an integer of 64 bits; None if the text is anything else (leading white space is fine).

    Examples
    --------
    >>> parse_int(" +12"), parse_int("12.0")
    (12, None)
    """
    text = text.lstrip(_SPACE)
    if not _INTEGER.match(text):
        return None
    # Python takes no text of thousands of digits for a number.
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if SMALLEST_INT <= number <= LARGEST_INT else None


def parse_float(text: str) -> float | None:
    """Read a float, decimal or hexadecimal; None if the text is anything else or beyond the range of floats.

    Examples
    --------
    >>> parse_float("1e3"), parse_float("1e400")
    (1000.0, None)
    """
    text = text.lstrip(_SPACE)
    if _HEX_FLOAT.match(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return None
    if not _FLOAT.match(text):
        return None
    number = float(text)
    return None if abs(number) == float("inf") and "i" not in text.lower() else number


def parse_array(text: str, whole: bool = False) -> array.array | None:
    """Read an array of numbers, separated by white space, comma or semicolon; None if the text is anything else.

    ``whole``: text after the closing bracket makes it something else, too.

    Examples
    --------
    >>> parse_array("[1, 2.5 3]")
    array('d', [1.0, 2.5, 3.0])
    """
    match = _ARRAY.match(text)
    if match is None or (whole and text[match.end() :].strip(_SPACE)):
        return None
    body = match.group(1).strip(_SPACE)
    if not body:
        return array.array("d")
    items = _ARRAY_SEPARATOR.split(body)
    numbers = [parse_float(item) if _FLOAT.match(item) else None for item in items]
    if any(number is None for number in numbers):
        return None
    return array.array("d", [number for number in numbers if number is not None])


def parse_list(text: str, whole: bool = False) -> list[Any] | None:
    """Read a list; None if the text is anything else (``whole``: see :func:`parse_array`).

    Examples
    --------
    >>> parse_list("[1, a b, [2.5], ]")
    [1, 'a b', [2.5], None]
    """
    return _parse(text, "[", whole)


def parse_dict(text: str, whole: bool = False) -> dict[Any, Any] | None:
    """Read a dict; None if the text is anything else (``whole``: see :func:`parse_array`).

    Examples
    --------
    >>> parse_dict("{a: 1, 'b c': [2]}")
    {'a': 1, 'b c': [2]}
    """
    return _parse(text, "{", whole)


def _parse(text: str, opening: str, whole: bool) -> Any:
    reader = _Reader(text)
    if reader.peek() != opening:
        return None
    try:
        found = reader.read_list() if opening == "[" else reader.read_dict()
        return None if whole and reader.peek() else found
    except (_MalformedError, RecursionError):
        return None


class _MalformedError(Exception):
    """The text breaks the grammar."""


class _Reader:
    """Recursive descent over one text; what has more levels than a column holds breaks the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.level = 0

    def peek(self) -> str:
        """Skip white space and return the next character, empty at the end."""
        while self.position < len(self.text) and self.text[self.position] in _SPACE:
            self.position += 1
        return self.text[self.position : self.position + 1]

    def take(self, expected: str) -> None:
        """Step over one character that must come next."""
        if self.peek() != expected:
            raise _MalformedError
        self.position += 1

    def read_list(self) -> list[Any]:
        """Read from an opening to its closing bracket; an empty place between commas is a missing element."""
        self.take("[")
        items: list[Any] = []
        if self.peek() == "]":
            self.position += 1
            return items
        while True:
            items.append(self.read_value(",]"))
            closing = self.peek()
            self.position += 1
            if closing == "]":
                return items
            if closing != ",":
                raise _MalformedError

    def read_dict(self) -> dict[Any, Any]:
        """Read from an opening to its closing brace; items are separated by commas or white space."""
        self.take("{")
        items: dict[Any, Any] = {}
        while self.peek() != "}":
            key = self.read_value(":,}" + _SPACE)
            self.take(":")
            items[_hashable(key)] = self.read_value(":,}" + _SPACE)
            if self.peek() == ",":
                self.position += 1
                if self.peek() in ("}", ""):
                    raise _MalformedError
            elif self.peek() in (":", ""):
                raise _MalformedError
        self.position += 1
        return items

    def read_value(self, stops: str) -> Any:
        """Read one value, which without quotes or brackets ends before any of the characters in ``stops``."""
        first = self.peek()
        if first and first in "[{":
            return self.read_inner(first)
        if first and first in "\"'":
            return self.read_quoted(first)
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in stops:
            self.position += 1
        return _bare_value(self.text[start : self.position].strip(_SPACE))

    def read_inner(self, opening: str) -> Any:
        """Read a list or dict inside another."""
        self.level += 1
        if self.level >= MOST_LEVELS:
            raise _MalformedError
        value = self.read_list() if opening == "[" else self.read_dict()
        self.level -= 1
        return value

    def read_quoted(self, quote: str) -> str:
        """Read to the closing quote; a backslash gives another meaning, or none, to the next character, or names one by its number, or stays."""
        self.position += 1
        characters: list[str] = []
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == quote:
                return "".join(characters)
            if character == "\\" and self.position < len(self.text):
                character = self.read_escaped()
            characters.append(character)
        raise _MalformedError

    def read_escaped(self) -> str:
        """Read what comes after a backslash; halves of a surrogate pair that are alone name no character."""
        numbered = _UNICODE.match(self.text, self.position)
        if numbered is not None:
            self.position = numbered.end()
            high, low, single = numbered.groups()
            return chr(int(single, 16)) if single else chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        escaped = self.text[self.position]
        self.position += 1
        return ESCAPES.get(escaped, escaped if escaped in ESCAPED else "\\" + escaped)


def _bare_value(token: str) -> Any:
    if not token:
        return None
    integer = parse_int(token)
    if integer is not None:
        return integer
    if _HEX_FLOAT.match(token) or _INTEGER.match(token):
        return token
    number = parse_float(token)
    return token if number is None else number


def _hashable(key: Any) -> Any:
    if isinstance(key, dict):
        raise _MalformedError
    return tuple(_hashable(item) for item in key) if isinstance(key, list) else key
