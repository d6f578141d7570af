"""The index files of archives that look like INI files, whose dialect is one of their own: no quotes, no escapes, nothing but bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sframe_spark.errors import StorageError
from sframe_spark.visible import visible

# What is stripped from both ends of names and values. Other blanks are part of names of columns.
BLANKS = b" \t\n\v\f\r"
# Numbers of more digits count nothing.
MOST_DIGITS = 18

Key = TypeVar("Key", bytes, str)
Value = TypeVar("Value")


def parse_ini(content: bytes, location: str) -> dict[bytes, dict[bytes, bytes]]:
    """Return the keys and values of each section; values as they stand, with the blanks around them.

    Raises
    ------
    StorageError
        If a line is none of the dialect, or a section or a key is there twice.

    Examples
    --------
    >>> parse_ini(b"[a]\\n; told\\nb = c=d \\n", "x.ini")
    {b'a': {b'b': b' c=d '}}
    """
    sections: dict[bytes, dict[bytes, bytes]] = {}
    current: dict[bytes, bytes] | None = None
    for number, line in enumerate(content.split(b"\n"), 1):
        text = line.strip(BLANKS)
        if not text or text[:1] in (b";", b"#"):
            continue
        if text.startswith(b"["):
            name, closed, _ = text[1:].partition(b"]")
            name = name.strip(BLANKS)
            if not closed or name in sections:
                raise damaged(location, f"line {number} opens no section, or one that is there already")
            current = sections[name] = {}
            continue
        key, equals, value = line.partition(b"=")
        key = key.strip(BLANKS)
        if not equals or not key or current is None or key in current:
            raise damaged(location, f"line {number} is no key with a value, or one that is there already")
        current[key] = value
    return {name: section for name, section in sections.items() if section}


def damaged(location: str, reason: str) -> StorageError:
    """Return the error that says what is wrong with an index file."""
    return StorageError(f"{visible(location)} is damaged: {reason}; restore the archive from a copy")


def number_of(value: Any, location: str, what: str) -> int:
    """Return a number that an index file tells, in digits; never below zero.

    Raises
    ------
    StorageError
        If it is none.

    Examples
    --------
    >>> number_of(b" 12 ", "x.ini", "nrows"), number_of("7", "x.sidx", "version"), number_of(7, "x.sidx", "version")
    (12, 7, 7)
    """
    if type(value) is int and 0 <= value < 10**MOST_DIGITS:
        return value
    text = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if isinstance(text, bytes):
        text = text.strip(BLANKS)
        if text.isdigit() and len(text) <= MOST_DIGITS:
            return int(text)
    raise damaged(location, f"{what} is no number")


def sequence(section: Mapping[Key, Value], location: str, what: str) -> list[Value]:
    """Return the entries of a section whose keys are the numbers from 0 on, in their order, as they stand.

    Raises
    ------
    StorageError
        If a number is missing, or there twice.

    Examples
    --------
    >>> sequence({b"0001": b"b", b"0000": b"a"}, "x.ini", "names")
    [b'a', b'b']
    """
    found: dict[int, Value] = {}
    for key, value in section.items():
        place = number_of(key, location, f"a key of {what}")
        if place >= len(section) or place in found:
            raise damaged(location, f"{what} are not numbered one by one: {place}")
        found[place] = value
    return [found[place] for place in range(len(found))]
