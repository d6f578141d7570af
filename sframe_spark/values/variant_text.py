"""Values as the JSON from which Spark's ``parse_json`` makes a VARIANT of the same values."""

from __future__ import annotations

import array
import datetime
import json
import math
from typing import Any

from sframe_spark.errors import SchemaError
from sframe_spark.message_text import brief

# The words of Spark's own `to_json`; JSON has no number for them.
_WORDS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def variant_text(value: Any) -> str:
    """Write a plain value as JSON in which a float stays a float, even a whole one.

    Date-times become ISO texts; NaN and the infinities texts, as Spark writes them; keys of dicts texts.

    Raises
    ------
    SchemaError
        If two keys of a dict are one text.

    Examples
    --------
    >>> variant_text({"a": [1, 1.0, None, float("nan")], 2: datetime.datetime(2024, 1, 2)})
    '{"a":[1,1.0e0,null,"NaN"],"2":"2024-01-02T00:00:00"}'
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{variant_text(item)}" for key, item in _by_text(value).items()) + "}"
    if isinstance(value, (list, tuple, array.array)):
        return "[" + ",".join(map(variant_text, value)) + "]"
    return _quoted(value.isoformat())


def _float(value: float) -> str:
    """Spark takes digits with a point for a decimal, which is another type and loses the sign of zero; with an exponent for a double."""
    text = repr(value)
    if not math.isfinite(value):
        return _WORDS[text]
    return text if "e" in text else f"{text}e0"


def _by_text(value: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    origins: dict[str, Any] = {}
    for key, item in value.items():
        text = _key(key)
        if text in found:
            raise SchemaError(
                f"the keys {brief(origins[text])} and {brief(key)} of a dict are both {brief(text)} as texts, which all keys of a VARIANT are: "
                "change one of them first, or leave the column out"
            )
        found[text], origins[text] = item, key
    return found


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, float):
        return repr(key)
    if isinstance(key, datetime.datetime):
        return key.isoformat()
    return variant_text(key)


_quoted = json.JSONEncoder(ensure_ascii=False).encode
