"""Plain Python values: order, identity for grouping, 64 bit ints, comparison of results."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any

Row = tuple[Any, ...]
TOLERANCE = 1e-9


def is_nan(value: Any) -> bool:
    """True for a float NaN."""
    return isinstance(value, float) and value != value


def rank(value: Any) -> tuple[Any, ...]:
    """Place of a value in ascending order: missing first, NaN last.

    Examples
    --------
    >>> sorted([2.0, float("nan"), None, 1.0], key=rank)
    [None, 1.0, 2.0, nan]
    """
    if value is None:
        return (0,)
    return (2,) if is_nan(value) else (1, value)


def token(value: Any) -> Any:
    """A hashable that is equal for equal values: NaN equals NaN, missing equals missing, the offset of a date-time counts."""
    if is_nan(value):
        return ("nan",)
    if isinstance(value, (list, tuple)):
        return ("list", *map(token, value))
    if isinstance(value, dict):
        return ("dict", frozenset((token(key), token(item)) for key, item in value.items()))
    if isinstance(value, datetime.datetime):
        return ("datetime", value, value.utcoffset())
    return (type(value).__name__, value)


def wrap(number: int) -> int:
    """The int modulo 2**64 that 64 bits hold.

    Examples
    --------
    >>> wrap(2**63) == -(2**63)
    True
    """
    return (number + 2**63) % 2**64 - 2**63


def exact_sum(values: Iterable[Any]) -> Any:
    """Sum of floats with one rounding, or of ints modulo 2**64; NaN and infinities act as IEEE has it."""
    numbers = list(values)
    if all(isinstance(number, int) for number in numbers):
        return wrap(sum(numbers))
    floats = [float(number) for number in numbers]
    if all(math.isfinite(number) for number in floats):
        try:
            return math.fsum(floats)
        except OverflowError:
            pass
    return sum(floats)


def value_equal(found: Any, expected: Any) -> bool:
    """True if two values are of one class and equal; NaN equals NaN, floats within a relative tolerance.

    Examples
    --------
    >>> value_equal(1, 1.0), value_equal(float("nan"), float("nan")), value_equal(0.1 + 0.2, 0.3)
    (False, True, True)
    """
    if isinstance(found, float) and isinstance(expected, float):
        if is_nan(found) or is_nan(expected):
            return is_nan(found) and is_nan(expected)
        return found == expected or math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(found, Sequence) and isinstance(expected, Sequence) and not isinstance(found, str):
        return len(found) == len(expected) and all(map(value_equal, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(value_equal(found[key], expected[key]) for key in found)
    return type(found) is type(expected) and bool(found == expected)


def rows_equal(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """True if two sequences of rows are equal, row by row, in order."""
    if len(found) != len(expected):
        return False
    return all(len(a) == len(b) and all(map(value_equal, a, b)) for a, b in zip(found, expected, strict=True))
