"""The two texts of a value: tagged JSON (stored in encoded columns) and display text (what a cast to str yields).

Tagged JSON keeps everything: JSON scalars stand for themselves, a JSON list is a list, and

==========================================  =====================================================
``{"$float": "nan" | "inf" | "-inf"}``      a float that JSON has no number for
``{"$dict": [[key, value], ...]}``          a dict, in its order
``{"$datetime": microseconds, "offset": minutes | null}``  a date-time (microseconds in UTC)
``{"$array": [...]}``                       an ``array.array('d')``
==========================================  =====================================================
"""

from __future__ import annotations

import array
import datetime
import json
import math
from typing import Any

from sframe_spark.values.temporal import datetime_text, from_microseconds, to_microseconds

_SEPARATORS = (",", ":")
_SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode_value(value: Any) -> str:
    """Write a plain value as tagged JSON.

    Examples
    --------
    >>> encode_value({"a": [1, None]})
    '{"$dict":[["a",[1,null]]]}'
    """
    return json.dumps(_tagged(value), separators=_SEPARATORS, ensure_ascii=False, allow_nan=False)


def _tagged(value: Any) -> Any:
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, array.array):
        return {"$array": [_tagged(item) for item in value]}
    if isinstance(value, (list, tuple)):
        return [_tagged(item) for item in value]
    if isinstance(value, dict):
        return {"$dict": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    microseconds, offset = to_microseconds(value)
    return {"$datetime": microseconds, "offset": offset}


def decode_value(text: str) -> Any:
    """Read a plain value back from tagged JSON.

    Examples
    --------
    >>> decode_value('{"$dict":[["a",[1,null]]]}')
    {'a': [1, None]}
    """
    return json.loads(text, object_hook=_untagged)


def _untagged(tagged: dict[str, Any]) -> Any:
    if "$dict" in tagged:
        return {_key(key): value for key, value in tagged["$dict"]}
    if "$array" in tagged:
        return array.array("d", tagged["$array"])
    if "$float" in tagged:
        return _SPECIAL_FLOATS[tagged["$float"]]
    return from_microseconds(tagged["$datetime"], tagged["offset"])


def _key(value: Any) -> Any:
    return tuple(_key(item) for item in value) if isinstance(value, (list, array.array)) else value


def canonical_value(value: Any) -> str:
    """Write a plain value so that equal values have equal text: dict order and int against float do not count.

    Examples
    --------
    >>> canonical_value({"b": 1.0, "a": 2}) == canonical_value({"a": 2.0, "b": 1})
    True
    """
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 2**63:
            return str(int(value))
        return repr(value)
    if isinstance(value, array.array):
        return "<" + ",".join(map(canonical_value, value)) + ">"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical_value, value)) + "]"
    if isinstance(value, dict):
        items = sorted(f"{canonical_value(key)}:{canonical_value(item)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, datetime.datetime):
        return f"@{to_microseconds(value)[0]}"
    return json.dumps(value, ensure_ascii=False)


def float_text(value: float) -> str:
    """Write a float with six significant digits, as casts to str do.

    Examples
    --------
    >>> float_text(1234567.891), float_text(2.0)
    ('1.23457e+06', '2')
    """
    return f"{value:g}"


def display_text(value: Any) -> str:
    """Write a plain value as a cast to str does: strings inside lists and dicts are quoted, missing elements are empty.

    Examples
    --------
    >>> display_text([1, "a", None]), display_text({"a": array.array("d", [1, 2.5])})
    ('[1,"a",]', '{"a":[1 2.5]}')
    """
    return value if isinstance(value, str) else _nested_text(value)


def _is_array_key(value: Any) -> bool:
    """True for the tuple that an array becomes as a dict key."""
    return isinstance(value, tuple) and len(value) > 0 and all(isinstance(item, float) for item in value)


def _nested_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, array.array) or _is_array_key(value):
        return "[" + " ".join(map(float_text, value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_nested_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_nested_text(key)}:{_nested_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, datetime.datetime):
        return datetime_text(value)
    return str(value)
