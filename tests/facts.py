"""Facts recorded from the reference engine, and the JSON form their values have.

JSON values stand for themselves; ``{"$float"}``, ``{"$dict"}``, ``{"$tuple"}``, ``{"$set"}``, ``{"$bytes"}``,
``{"$array"}``, ``{"$datetime", "tz"}``, ``{"$date"}`` and ``{"$timedelta"}`` are tagged, as in the conformance cases.
"""

from __future__ import annotations

import array
import datetime
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"


def load_facts(name: str) -> Any:
    """Read one file of recorded facts."""
    return json.loads((DATA / name).read_text())


def _moment(body: str, tagged: dict[str, Any]) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(body)
    if tagged.get("tz") is None:
        return moment
    return moment.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=tagged["tz"])))


_READERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "$float": lambda body, tagged: float(body),
    "$dict": lambda body, tagged: {from_fact(key): from_fact(item) for key, item in body},
    "$tuple": lambda body, tagged: tuple(map(from_fact, body)),
    "$set": lambda body, tagged: set(map(from_fact, body)),
    "$bytes": lambda body, tagged: body.encode("latin-1"),
    "$array": lambda body, tagged: array.array(tagged.get("code", "d"), map(from_fact, body)),
    "$datetime": _moment,
    "$date": lambda body, tagged: datetime.date.fromisoformat(body),
    "$timedelta": lambda body, tagged: datetime.timedelta(seconds=body),
}


def from_fact(fact: Any) -> Any:
    """Make the Python value of its JSON form."""
    if isinstance(fact, list):
        return [from_fact(item) for item in fact]
    if not isinstance(fact, dict):
        return fact
    for tag, read in _READERS.items():
        if tag in fact:
            return read(fact[tag], fact)
    return {key: from_fact(item) for key, item in fact.items()}


def same(first: Any, second: Any, tolerance: float = 1e-12) -> bool:
    """True if two values are of one class and equal; NaN equals NaN, floats within a relative tolerance."""
    if isinstance(first, float) and isinstance(second, float):
        both_nan = math.isnan(first) and math.isnan(second)
        return both_nan or math.isclose(first, second, rel_tol=tolerance, abs_tol=0.0)
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple, array.array)):
        return len(first) == len(second) and all(same(a, b, tolerance) for a, b in zip(first, second, strict=True))
    if isinstance(first, np.ndarray):
        return first.shape == second.shape and same(first.ravel().tolist(), second.ravel().tolist(), tolerance)
    if isinstance(first, dict):
        return set(first) == set(second) and all(same(item, second[key], tolerance) for key, item in first.items())
    if isinstance(first, datetime.datetime):
        return first.utcoffset() == second.utcoffset() and first == second
    return bool(first == second)
