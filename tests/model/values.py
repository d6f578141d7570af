"""Values of the plain-Python model: their order, their truth, and when two are the same."""

from __future__ import annotations

import array
import datetime
import math
from typing import Any

KINDS = ("int", "float", "str", "datetime", "list", "dict", "array")
CLASSES = {"int": int, "float": float, "str": str, "datetime": datetime.datetime, "list": list, "dict": dict, "array": array.array}
ORDERED = ("int", "float", "str", "datetime")
# Whoever adds floats may do so in any order.
TOLERANCE = 1e-12


class Refused(Exception):
    """The model does not say what happens: no program does this."""


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def is_missing(value: Any) -> bool:
    """As dropna() and fillna() mean it: NaN too."""
    return value is None or is_nan(value)


def rank(value: Any) -> tuple[Any, ...]:
    """Place in ascending order: missing, values, NaN."""
    return (0,) if value is None else (2,) if is_nan(value) else (1, value)


def has_one_offset_kind(values: list[Any]) -> bool:
    """Date-times with an offset and without one are not compared by the model."""
    return len({value.utcoffset() is None for value in values if isinstance(value, datetime.datetime)}) < 2


def key_of(value: Any) -> Any:
    """What tells groups apart."""
    if is_nan(value):
        return "nan", None
    return type(value).__name__, value


def same(found: Any, wanted: Any) -> bool:
    """True for one value, told by type, sign of zero and offset; floats may differ in their last digits."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, float):
        if wanted != wanted or found != found:
            return wanted != wanted and found != found
        return math.copysign(1, found) == math.copysign(1, wanted) if wanted == found == 0 else math.isclose(found, wanted, rel_tol=TOLERANCE)
    if isinstance(wanted, datetime.datetime):
        return found.utcoffset() == wanted.utcoffset() and found == wanted
    if isinstance(wanted, dict):
        return sorted(map(repr, found)) == sorted(map(repr, wanted)) and all(same(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, (list, tuple, array.array)):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return bool(found == wanted)
