"""Values as JSON that other programs read."""

from __future__ import annotations

import array
import datetime
import json
from typing import Any


def json_text(value: Any) -> str:
    """Write a plain value as JSON.

    Date-times become ISO texts, arrays lists, keys of dicts texts; JSON has no numbers for NaN and the infinities, which are
    the words ``NaN``, ``Infinity`` and ``-Infinity``, as Python, Spark and DuckDB write and read them.

    Examples
    --------
    >>> json_text({"a": [1, None, float("inf")], 2: datetime.datetime(2024, 1, 2)})
    '{"a": [1, null, Infinity], "2": "2024-01-02T00:00:00"}'
    """
    return _ENCODER.encode(with_text_keys(value))


def with_text_keys(value: Any) -> Any:
    """Return a value in which all keys of dicts are texts, and arrays and tuples lists."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _ENCODER.encode(with_text_keys(key)): with_text_keys(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, array.array)):
        return [with_text_keys(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value


_ENCODER = json.JSONEncoder(ensure_ascii=False)
