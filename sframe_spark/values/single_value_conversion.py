"""Conversion of single values to a kind: for construction with a dtype, and by parsing of strings for ``astype``."""

from __future__ import annotations

import array
import datetime
import decimal
import math
import re
from collections.abc import Callable
from typing import Any

from sframe_spark.errors import SchemaError
from sframe_spark.images import Image, text_of_image
from sframe_spark.message_text import brief
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT_KIND, IMAGE_KIND, INT_KIND, LIST_KIND, NDARRAY_KIND, STR_KIND
from sframe_spark.values import plain_values
from sframe_spark.values.datetimes import FIRST_MICROSECOND, LAST_MICROSECOND, SECOND, from_microseconds, to_datetime, to_microseconds
from sframe_spark.values.ndarrays import ndarray_of_sequence, plain_ndarray
from sframe_spark.values.rounding_warnings import RoundedNumbers, may_be_rounded
from sframe_spark.values.tagged_json_display_and_canonical_text import MAX_LEVELS, display_text


def construct_value(value: Any, kind: str) -> Any:
    """Convert a value of any supported class to a plain value of a kind, as construction with a dtype does.

    Raises
    ------
    SchemaError
        If there is no conversion between the kinds. In particular, strings are never parsed.

    Examples
    --------
    >>> construct_value(2.7, "int"), construct_value([1, "a"], "str")
    (2, '[1,"a"]')
    """
    family = plain_values.family_of_value(value)
    if family == plain_values.MISSING:
        return None
    convert = _CONSTRUCTORS.get((family, kind))
    if convert is None:
        raise SchemaError(f"{brief(value)} ({family}) cannot become {kind}")
    return convert(value)


def becomes(kind: str, other: str) -> bool:
    """Return whether construction converts values of one kind to another.

    Examples
    --------
    >>> becomes("int", "str"), becomes("str", "int")
    (True, False)
    """
    return (kind, other) in _CONSTRUCTORS


def float_to_int(value: float) -> int | None:
    """Truncate a float to an int; NaN becomes missing.

    Raises
    ------
    SchemaError
        If the result needs more than 64 bits. A cast of a float column yields the smallest int instead, as SFrame
        always does.

    Examples
    --------
    >>> float_to_int(-2.9), float_to_int(float("nan"))
    (-2, None)
    """
    if math.isnan(value):
        return None
    if not plain_values.SMALLEST_INT <= value < float(plain_values.LARGEST_INT):
        raise SchemaError(f"{brief(value)} (float) is no int of 64 bits: ask for floats")
    return int(value)


def seconds_to_datetime(seconds: float) -> datetime.datetime:
    """Return the datetime a number of seconds after the start of 1970, rounded down to microseconds.

    Raises
    ------
    SchemaError
        If the point in time is not in the years 1 to 9999.
    """
    microseconds = plain_values.LARGEST_INT
    if math.isfinite(seconds):
        whole = math.floor(seconds)
        microseconds = whole * SECOND + int((seconds - whole) * SECOND)
    if not FIRST_MICROSECOND <= microseconds <= LAST_MICROSECOND:
        raise SchemaError(f"{seconds!r} seconds from 1970 is not in the years 1 to 9999")
    return from_microseconds(microseconds)


def timestamp(value: datetime.datetime) -> float:
    """Return the seconds of a datetime since 1970; without an offset it counts as UTC."""
    return to_microseconds(value)[0] / SECOND


def list_to_array(values: list[Any]) -> array.array:
    """Convert a list of numbers and datetimes to an array; datetimes become seconds since 1970, missing elements NaN.

    Raises
    ------
    SchemaError
        If an element is neither a number nor a datetime.
    """
    return plain_values.plain_array([timestamp(item) if isinstance(item, datetime.datetime) else item for item in values])


def _integer(value: Any) -> int | None:
    number, is_rounded = _number_and_rounding(value)
    if isinstance(value, decimal.Decimal) and is_rounded and plain_values.SMALLEST_INT <= value <= plain_values.LARGEST_INT:
        return int(value)
    if not isinstance(number, float):
        return number
    if plain_values.family_of(type(value)) == INT_KIND:
        # The int has more than 64 bits, so its plain number is a float.
        raise SchemaError(f"{brief(value)} (int) is no int of 64 bits: ask for floats, or for texts to keep all digits")
    return float_to_int(number)


def _number_text(value: Any) -> str:
    """Format a number as a column of numbers does, but with all its digits if a column of numbers would round it."""
    number, is_rounded = _number_and_rounding(value)
    return str(value) if is_rounded else display_text(number)


def _number_and_rounding(value: Any) -> tuple[int | float, bool]:
    """Return the plain number of a value, and whether digits were lost."""
    if not may_be_rounded(value):
        return plain_values.plain_number(value), False
    rounded = RoundedNumbers()
    with rounded.of(None):
        return plain_values.plain_number(value), rounded.has_any


def _sequence_text(value: Any) -> str:
    return display_text(plain_values.plain_array(value) if isinstance(value, array.array) else plain_values.plain_list(value))


def _sequence_list(value: Any) -> list[Any]:
    return plain_values.plain_list(plain_values.plain_array(value) if isinstance(value, array.array) else value)


def _from_datetime(convert: Callable[[datetime.datetime], Any]) -> Callable[[Any], Any]:
    """Return a function that makes a datetime of a value and converts it; "not a time" of numpy and pandas becomes None."""
    return lambda value: None if (time := to_datetime(value)) is None else convert(time)


_SEQUENCES = (LIST_KIND, ARRAY_KIND)
_CONSTRUCTORS: dict[tuple[str, str], Callable[[Any], Any]] = {
    (STR_KIND, STR_KIND): plain_values.plain_text,
    (DICT_KIND, DICT_KIND): plain_values.plain_dict,
    (DICT_KIND, STR_KIND): lambda value: display_text(plain_values.plain_dict(value)),
    (DATETIME_KIND, DATETIME_KIND): to_datetime,
    (DATETIME_KIND, INT_KIND): _from_datetime(lambda value: to_microseconds(value)[0] // SECOND),
    (DATETIME_KIND, FLOAT_KIND): _from_datetime(timestamp),
    (DATETIME_KIND, STR_KIND): _from_datetime(display_text),
    **{(family, INT_KIND): _integer for family in plain_values.NUMBERS},
    **{(family, FLOAT_KIND): plain_values.float_of_number for family in plain_values.NUMBERS},
    **{(family, STR_KIND): _number_text for family in plain_values.NUMBERS},
    **{(family, DATETIME_KIND): lambda value: seconds_to_datetime(plain_values.plain_number(value)) for family in plain_values.NUMBERS},
    **{(family, STR_KIND): _sequence_text for family in _SEQUENCES},
    **{(family, LIST_KIND): _sequence_list for family in _SEQUENCES},
    **{(family, ARRAY_KIND): lambda value: list_to_array(plain_values.plain_list(value)) for family in _SEQUENCES},
    **{(family, NDARRAY_KIND): ndarray_of_sequence for family in _SEQUENCES},
    (IMAGE_KIND, IMAGE_KIND): Image,
    (IMAGE_KIND, STR_KIND): text_of_image,
    (IMAGE_KIND, ARRAY_KIND): lambda value: array.array("d", plain_ndarray(value.pixel_data).tobytes()),
    (IMAGE_KIND, NDARRAY_KIND): lambda value: plain_ndarray(value.pixel_data),
    (NDARRAY_KIND, NDARRAY_KIND): plain_ndarray,
    (NDARRAY_KIND, STR_KIND): lambda value: display_text(plain_ndarray(value)),
    (NDARRAY_KIND, ARRAY_KIND): lambda value: array.array("d", plain_ndarray(value).tobytes()),
    (NDARRAY_KIND, LIST_KIND): lambda value: plain_values.plain_list(value.tolist()),
}
"""How values of a family (the first kind) are converted to values of a kind (the second)."""


# Parsing of strings to numbers, arrays, lists and dicts.

_MAX_DIGITS = len(str(plain_values.LARGEST_INT))

_SPACE = " \t\n\v\f\r"
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_FLOAT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)\Z", re.IGNORECASE)
_HEX_FLOAT = re.compile(r"[+-]?0x[0-9a-f]+(\.[0-9a-f]*)?(p[+-]?[0-9]+)?\Z", re.IGNORECASE)
_ARRAY = re.compile(r"\s*\[([^\]]*)\]")
_ARRAY_SEPARATOR = re.compile(r"\s*[,;\s]\s*")
_UNICODE = re.compile(r"u(?:(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|(?!d[89a-f])([0-9a-f]{4}))", re.IGNORECASE)
# What characters stand for after a backslash.
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b"}
# Characters before which a backslash is dropped; before other characters it is kept, as in a Windows path.
ESCAPED = "\"'/\\"


def parse_int(text: str) -> int | None:
    """Parse a 64-bit integer, after optional white space; return None if the string does not hold one.

    Examples
    --------
    >>> parse_int(" +12"), parse_int("12.0")
    (12, None)
    """
    text = text.lstrip(_SPACE)
    if not _INTEGER.match(text):
        return None
    # Python refuses to convert strings of thousands of digits to ints.
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if plain_values.SMALLEST_INT <= number <= plain_values.LARGEST_INT else None


def parse_float(text: str) -> float | None:
    """Parse a decimal or hexadecimal float, after optional white space; return None if the string holds none, or a number too large for a float.

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
    """Parse an array of numbers, which are separated by white space, comma or semicolon; return None if the string does not hold one.

    Characters after the closing bracket are ignored; with ``whole``, the result is None if there are any except white space.

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
    return None if None in numbers else array.array("d", numbers)


def parse_list(text: str, whole: bool = False) -> list[Any] | None:
    """Parse a list; return None if the string does not hold one. For ``whole`` see :func:`parse_array`.

    Examples
    --------
    >>> parse_list("[1, a b, [2.5], ]")
    [1, 'a b', [2.5], None]
    """
    return _parse(text, "[", whole)


def parse_dict(text: str, whole: bool = False) -> dict[Any, Any] | None:
    """Parse a dict; return None if the string does not hold one. For ``whole`` see :func:`parse_array`.

    Examples
    --------
    >>> parse_dict("{a: 1, 'b c': [2]}")
    {'a': 1, 'b c': [2]}
    """
    return _parse(text, "{", whole)


def _parse(text: str, opening: str, whole: bool) -> Any:
    reader = _Reader(text)
    if reader.following() != opening:
        return None
    try:
        value = reader.read_list() if opening == "[" else reader.read_dict()
        return None if whole and reader.following() else value
    except (_MalformedError, RecursionError):
        return None


class _MalformedError(Exception):
    """The string does not match the grammar of lists and dicts."""


class _Reader:
    """Recursive-descent parser of one string; lists and dicts nested deeper than a column holds do not match the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.level = 0

    def following(self) -> str:
        """Skip white space and return the next character, or an empty string at the end."""
        while self.position < len(self.text) and self.text[self.position] in _SPACE:
            self.position += 1
        return self.text[self.position : self.position + 1]

    def take(self, expected: str) -> None:
        """Skip white space and the expected character; raise if another character comes next."""
        if self.following() != expected:
            raise _MalformedError
        self.position += 1

    def read_list(self) -> list[Any]:
        """Read a list from its opening to its closing bracket; if there is nothing between two commas, the element is missing."""
        self.take("[")
        items: list[Any] = []
        if self.following() == "]":
            self.position += 1
            return items
        while True:
            items.append(self.read_value(",]"))
            closing = self.following()
            self.position += 1
            if closing == "]":
                return items
            if closing != ",":
                raise _MalformedError

    def read_dict(self) -> dict[Any, Any]:
        """Read a dict from its opening to its closing brace; its items are separated by commas or white space."""
        self.take("{")
        items: dict[Any, Any] = {}
        while self.following() != "}":
            key = self.read_value(":,}" + _SPACE)
            self.take(":")
            items[_hashable(key)] = self.read_value(":,}" + _SPACE)
            if self.following() == ",":
                self.position += 1
                if self.following() in ("}", ""):
                    raise _MalformedError
            elif self.following() in (":", ""):
                raise _MalformedError
        self.position += 1
        return items

    def read_value(self, stops: str) -> Any:
        """Read one value; a value without quotes or brackets ends before any of the characters in ``stops``."""
        first = self.following()
        if first and first in "[{":
            return self.read_inner(first)
        if first and first in "\"'":
            return self.read_quoted(first)
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in stops:
            self.position += 1
        return _bare_value(self.text[start : self.position].strip(_SPACE))

    def read_inner(self, opening: str) -> Any:
        """Read a list or dict that is inside a list or dict."""
        self.level += 1
        if self.level >= MAX_LEVELS:
            raise _MalformedError
        value = self.read_list() if opening == "[" else self.read_dict()
        self.level -= 1
        return value

    def read_quoted(self, quote: str) -> str:
        """Read a string from its opening to its closing quote, and replace escapes."""
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
        """Read what follows a backslash, and return the character that it stands for; ``\\uXXXX`` with a lone surrogate is no escape."""
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
