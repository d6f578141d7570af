"""What options take: each of these turns a value, or the text of an environment variable, into an option's value, or says what is allowed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sframe_spark.locations import is_private, normalised, place_of

Value = TypeVar("Value")


def whole_number(minimum: int, maximum: int, of: str = "") -> Callable[[Any], int]:
    """Return a converter to an integer of a range; ``of`` tells what is counted."""

    def convert(value: Any) -> int:
        try:
            number = None if isinstance(value, bool | float) else int(value)
        except ValueError:
            number = None
        if number is None or not minimum <= number <= maximum:
            raise ValueError(f"must be a whole number {of}from {minimum} to {maximum}")
        return number

    return convert


def optional(convert: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    """Return a converter that lets None pass."""
    return lambda value: None if value is None else convert(value)


def one_of(*choices: str) -> Callable[[Any], str]:
    """Return a converter that accepts only the given words."""

    def convert(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(value)

    return convert


def path_text(value: Any) -> str:
    """Return a path as absolute text with a leading ``~`` expanded."""
    if not os.fspath(value):
        raise ValueError("the path is empty")
    return normalised(value)


def place_text(value: Any) -> str:
    """Return a place as the one text that it goes by here: a path as :func:`path_text` does, or a URI that other processes reach."""
    if not os.fspath(value):
        raise ValueError("the path is empty")
    place = place_of(value)
    if is_private(place):
        raise ValueError("that is in the memory of this process, which Spark's tasks do not have")
    return place


def set_of_names(value: Any) -> frozenset[str]:
    """Return the names as a frozen set; text is one name, and in the environment names are separated by ``;``."""
    names: Iterable[Any] = value.split(";") if isinstance(value, str) else value
    return frozenset(str(name).strip() for name in names if str(name).strip())
