"""What the JSON files beside archives say, compared with what was read: classes, values, orders of dicts, and the bits of floats."""

from __future__ import annotations

import array
import datetime
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from sframe_spark.images import Image
from sframe_spark.types import KINDS


def expected_of(archives: Path, name: str) -> dict[str, Any]:
    """What a sample holds."""
    found: dict[str, Any] = json.loads((archives / name).read_text(encoding="utf-8"))
    return found


def class_of(name: str) -> type:
    """The class of a column's values."""
    return Image if name == "Image" else KINDS[name].python_class


def differs(expected: Any, found: Any) -> str | None:
    """Where a value is another one than is expected; None where it is the same."""
    if isinstance(expected, dict) and len(expected) <= 2 and any(key.startswith("$") for key in expected):
        return _tagged_differs(expected, found)
    if isinstance(expected, dict):
        if type(found) is not dict or list(expected) != list(found):
            return f"{found!r} for {expected!r}"
        return next(filter(None, (differs(expected[key], found[key]) for key in expected)), None)
    if isinstance(expected, list):
        if type(found) not in (list, tuple) or len(expected) != len(found):
            return f"{found!r} for {expected!r}"
        return next(filter(None, map(differs, expected, found)), None)
    same = type(expected) is type(found) and (bits(expected) == bits(found) if isinstance(expected, float) else expected == found)
    return None if same else f"{found!r} for {expected!r}"


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def _tagged_differs(expected: dict[str, Any], found: Any) -> str | None:
    tag = next(iter(expected))
    value = expected[tag]
    if tag == "$float":
        return None if type(found) is float and repr(found) == value else f"{found!r} for {value}"
    if tag == "$array":
        numbers = list(found) if isinstance(found, (array.array, list)) else None
        return f"{found!r} for an array" if numbers is None else differs(value, numbers)
    if tag == "$ndarray":
        wanted, given = np.array(value, dtype=float), np.array(found, dtype=float)
        same = np.array_equal(wanted, given, equal_nan=True) and np.array_equal(np.signbit(wanted), np.signbit(given))
        same = same and (wanted.shape == given.shape or not wanted.size)
        return None if type(found) is np.ndarray and same else f"{found!r} for {value}"
    if tag == "$tuple":
        return differs(value, list(found)) if type(found) is tuple else f"{found!r} for a tuple"
    if tag == "$dict":
        return differs(value, [[*item] for item in found.items()]) if type(found) is dict else f"{found!r} for a dict"
    if tag == "$datetime":
        return None if found == moment_of(expected) and found.utcoffset() == moment_of(expected).utcoffset() else f"{found!r} for {expected}"
    raise AssertionError(expected)


def moment_of(expected: dict[str, Any]) -> datetime.datetime:
    """A date-time as JSON tells it."""
    moment = datetime.datetime.fromisoformat(expected["$datetime"])
    if expected.get("tz") is None:
        return moment
    return moment.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=expected["tz"])))
