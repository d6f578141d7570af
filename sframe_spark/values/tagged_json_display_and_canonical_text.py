"""Serialised forms of a value: tagged JSON, which encoded columns store, the display form of casts to str, and a canonical form for comparison.

Tagged JSON is lossless: JSON scalars and lists represent the same Python values, and other values are JSON objects:

==========================================  =====================================================
``{"$float": "nan" | "inf" | "-inf"}``      a float that JSON cannot represent
``{"$dict": [[key, value], ...]}``          a dict, with its items in insertion order
``{"$datetime": microseconds, "offset": minutes | null}``  a datetime (microseconds in UTC)
``{"$array": [...]}``                       an ``array.array('d')``
``{"$ndarray": [...], "shape": [...]}``     a ``numpy.ndarray`` of floats, in the order of C
``{"$image": "...", "format": ...}``        an ``Image``: its bytes in Base64, format, height, width and channels
==========================================  =====================================================

Values that are nested deeper than ``MAX_LEVELS`` are refused both on writing and on reading.
"""

from __future__ import annotations

import array
import datetime
import json
import math
import re
from collections.abc import Callable, Collection
from typing import Any, NoReturn

import numpy as np

from sframe_spark.errors import DamagedValueError, SchemaError
from sframe_spark.images import Image, text_of_image
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.values.image_columns import SIZES, image_of_json, key_of_image, parts_in_json
from sframe_spark.values.ndarrays import ndarray_of_parts

with lazy_imports(globals()):
    from sframe_spark.values.datetimes import datetime_text, from_microseconds, to_microseconds

MAX_LEVELS = 200
"""How deep lists and dicts may be nested; low enough for Python's recursion limit, in tasks too."""

_BRACKETS_OF_A_LEVEL = 3
_BRACKETS = str.maketrans("{}", "[]")
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALARS: dict[type, Callable[[Any], str]] = {
    int: int.__repr__,
    str: json.encoder.encode_basestring,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
}
_SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def too_deep() -> SchemaError:
    """Return the error for a value that is nested too deep."""
    return SchemaError(
        f"a column cannot hold values with more than {MAX_LEVELS} lists and dicts inside each other: keep inner ones in columns of their own"
    )


def encode_value(value: Any) -> str:
    """Write a plain value as tagged JSON.

    Raises
    ------
    SchemaError
        If lists and dicts are nested too deep.

    Examples
    --------
    >>> encode_value({"a": [1, None]})
    '{"$dict":[["a",[1,null]]]}'
    """
    try:
        return _tagged(value, MAX_LEVELS)
    except RecursionError:
        # The caller is close to Python's recursion limit.
        raise too_deep() from None


def _tagged(value: Any, levels: int) -> str:
    """Return the tagged JSON of a value; raise if it is nested deeper than ``levels``."""
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else f'{{"$float":"{float.__repr__(value)}"}}'
    if isinstance(value, array.array):
        return f'{{"$array":[{",".join([_tagged(item, 0) for item in value])}]}}'
    if isinstance(value, np.ndarray):
        return f'{{"$ndarray":{_tagged(value.ravel().tolist(), 1)},"shape":{json.dumps(value.shape, separators=(",", ":"))}}}'
    if isinstance(value, Image):
        return json.dumps(parts_in_json(value), separators=(",", ":"))
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_tagged_items(value, levels))}]"
    if isinstance(value, dict):
        keys, items = _tagged_items(value, levels), _tagged_items(value.values(), levels)
        return f'{{"$dict":[{",".join([f"[{key},{item}]" for key, item in zip(keys, items, strict=True)])}]}}'
    if value is None or isinstance(value, (int, str)):
        return json.dumps(value, ensure_ascii=False)
    microseconds, offset = to_microseconds(value)
    return f'{{"$datetime":{microseconds},"offset":{"null" if offset is None else offset}}}'


def _tagged_items(values: Collection[Any], levels: int) -> list[str]:
    """Return the tagged JSON of each item. Common scalars are converted here, as a function call for each would take most of the time."""
    if not levels:
        raise too_deep()
    return [_SCALARS[type(value)](value) if type(value) in _SCALARS else _tagged(value, levels - 1) for value in values]


def decode_value(text: str) -> Any:
    """Read a plain value back from tagged JSON.

    Raises
    ------
    DamagedValueError
        If the string is not tagged JSON as :func:`encode_value` writes it.

    Examples
    --------
    >>> decode_value('{"$dict":[["a",[1,null]]]}')
    {'a': [1, None]}
    """
    limit = MAX_LEVELS * _BRACKETS_OF_A_LEVEL
    if text.count("[") + text.count("{") > limit and _levels(text) > limit:
        raise DamagedValueError(f"a stored value has more than {MAX_LEVELS} lists and dicts inside each other")
    try:
        return _DECODER.decode(text)
    except DamagedValueError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise DamagedValueError(
            f"a stored text is not one of a value ({type(error).__name__}: {error}): {text[:60]!r}; restore it from a copy"
        ) from error


def _levels(text: str) -> int:
    """Return how deep the brackets and braces of JSON are nested."""
    deepest = level = 0
    for character in _TEXTS.sub("", text).translate(_BRACKETS):
        if character == "[":
            level += 1
            deepest = max(deepest, level)
        elif character == "]":
            level -= 1
    return deepest


def _untagged(tagged: dict[str, Any]) -> Any:
    if len(tagged) == 1:
        ((tag, content),) = tagged.items()
        if tag == "$dict" and type(content) is list:
            return {hashable_key(key): value for key, value in content}
        if tag == "$array" and type(content) is list:
            return array.array("d", content)
        if tag == "$float":
            return _SPECIAL_FLOATS[content]
    elif tagged.keys() == {"$datetime", "offset"}:
        microseconds, offset = tagged["$datetime"], tagged["offset"]
        if type(microseconds) is int and (offset is None or type(offset) is int):
            return from_microseconds(microseconds, offset)
    elif tagged.keys() == {"$ndarray", "shape"} and type(tagged["$ndarray"]) is list and type(tagged["shape"]) is list:
        return ndarray_of_parts(np.array(tagged["$ndarray"], dtype=np.float64).ravel(), tagged["shape"])
    elif tagged.keys() == {"$image", "format", *SIZES}:
        return image_of_json(tagged)
    raise ValueError(f"unknown form {str(tagged)[:60]}")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


_DECODER = json.JSONDecoder(object_hook=_untagged, parse_constant=_no_number)


def hashable_key(value: Any) -> Any:
    """Return a plain value as a dict key: lists and arrays, which are not hashable, become tuples."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(hashable_key(item) for item in value) if isinstance(value, (list, array.array)) else value


def canonical_value(value: Any) -> str:
    """Return a string that is the same for equal plain values; the order of dicts, int or float, and the offset of datetimes make no difference.

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
    if isinstance(value, np.ndarray):
        return f"<{','.join(map(str, value.shape))}:{','.join(map(canonical_value, value.ravel().tolist()))}>"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical_value, value)) + "]"
    if isinstance(value, dict):
        items = sorted(f"{canonical_value(key)}:{canonical_value(item)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, datetime.datetime):
        return f"@{to_microseconds(value)[0]}"
    if isinstance(value, Image):
        return key_of_image(value)
    return json.dumps(value, ensure_ascii=False)


def float_text(value: float) -> str:
    """Format a float with six significant digits, as casts to str do.

    Examples
    --------
    >>> float_text(1234567.891), float_text(2.0)
    ('1.23457e+06', '2')
    """
    return f"{value:g}"


def exact_float_text(value: float) -> str:
    """Format a float with six significant digits if that reads back as the same number, otherwise with all its digits.

    Examples
    --------
    >>> exact_float_text(2.0), exact_float_text(1e6), exact_float_text(1 / 3)
    ('2', '1e+06', '0.3333333333333333')
    """
    short = float_text(value)
    return short if float(short) == value or value != value else repr(value)


def display_text(value: Any) -> str:
    """Format a plain value as a cast to str does: strings inside lists and dicts are quoted, missing elements are empty strings.

    Examples
    --------
    >>> display_text([1, "a", None]), display_text({"a": array.array("d", [1, 2.5])})
    ('[1,"a",]', '{"a":[1 2.5]}')
    """
    return value if isinstance(value, str) else _nested_text(value)


def _is_array_key(value: Any) -> bool:
    """Return whether a dict key is a non-empty tuple of floats, which is what an array becomes as a key."""
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
    if isinstance(value, np.ndarray):
        return _nested_text(value.tolist())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_nested_text(key)}:{_nested_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, datetime.datetime):
        return datetime_text(value)
    return text_of_image(value) if isinstance(value, Image) else str(value)
