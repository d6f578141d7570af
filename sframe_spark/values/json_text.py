"""Values as JSON that other programs read."""

from __future__ import annotations

import array
import datetime
import json
import math
from typing import Any

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.message_text import brief, visible
from sframe_spark.values.tagged_json import exact_float_text


def json_text(value: Any) -> str:
    """Write a plain value as JSON.

    Date-times become ISO texts, arrays lists, keys of dicts texts; JSON has no numbers for NaN and the infinities, which are
    the words ``NaN``, ``Infinity`` and ``-Infinity``, as Python, Spark and DuckDB write and read them.

    Raises
    ------
    InvalidArgumentError
        If a dict has two keys that are one text.

    Examples
    --------
    >>> json_text({"a": [1, None, float("inf")], 2: datetime.datetime(2024, 1, 2)})
    '{"a": [1, null, Infinity], "2": "2024-01-02T00:00:00"}'
    """
    return _ENCODER.encode(with_text_keys(value))


def compact_json_text(value: Any) -> str:
    """The same without spaces, and with numbers as briefly as they can be read again, as the reference writes rows.

    Examples
    --------
    >>> compact_json_text({"a": [1, None], "b": array.array("d", [2, 0.5, -0.0])})
    '{"a":[1,null],"b":[2,0.5,-0.0]}'
    """
    return _brief_text(with_text_keys(value), ",", "-0.0")


def cell_json_text(value: Any) -> str:
    """A value that was read from JSON as the text that it is beside texts: numbers as briefly as they can be read again, true as 1.

    Parameters
    ----------
    value
        What Python's reader gave, which is no text.

    Examples
    --------
    >>> cell_json_text({"a": [1.0, True, None], "b": "x"}), cell_json_text(0.123456789)
    ('{"a":[1,1,null], "b":"x"}', '0.123456789')
    """
    return _brief_text(value, ", ", "-0")


def _brief_text(value: Any, between: str, minus_zero: str) -> str:
    """A value with brief numbers, what stands between two members of an object, and a negative zero, which without a point is read as an int."""
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        text = exact_float_text(value) if math.isfinite(value) else _ENCODER.encode(value)
        return minus_zero if text == "-0" else text
    if isinstance(value, list):
        return f"[{','.join([_brief_text(item, between, minus_zero) for item in value])}]"
    if isinstance(value, dict):
        members = [f"{_ENCODER.encode(key)}:{_brief_text(item, between, minus_zero)}" for key, item in value.items()]
        return f"{{{between.join(members)}}}"
    return _ENCODER.encode(value)


def with_text_keys(value: Any) -> Any:
    """Return a value in which all keys of dicts are texts, and arrays and tuples lists."""
    if isinstance(value, dict):
        return _with_text_keys(value)
    if isinstance(value, (list, tuple, array.array)):
        return [with_text_keys(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value


def _with_text_keys(given: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in given.items():
        text = _text_of_key(key)
        if text in found:
            other = next(other for other in given if _text_of_key(other) == text)
            raise InvalidArgumentError(
                f"a dict has the keys {visible(brief(other))} and {visible(brief(key))}, which are both {visible(brief(text))} in JSON, "
                "so that one value would be lost: rename one of them first"
            )
        found[text] = with_text_keys(item)
    return found


def _text_of_key(key: Any) -> str:
    plain = with_text_keys(key)
    return plain if isinstance(plain, str) else _ENCODER.encode(plain)


_ENCODER = json.JSONEncoder(ensure_ascii=False)
