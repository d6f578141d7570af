"""Lists and dicts as JSON texts for other programs, and back."""

from __future__ import annotations

import array
import json
import math
from collections.abc import Iterable
from typing import Any

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.message_text import brief, visible
from sframe_spark.types import DICT_KIND, LIST_KIND
from sframe_spark.values.common_type import is_numbers
from sframe_spark.values.tagged_json import decode_value
from sframe_spark.values.value_model import plain_dict, plain_list


def is_plain_json(value: Any, inside: bool = False) -> bool:
    """True for a value that JSON gives back as it is; a list of numbers inside another value comes back as an array.

    Examples
    --------
    >>> is_plain_json({"a": [1, None, 2.5]}), is_plain_json([math.nan]), is_plain_json({1: "a"}), is_plain_json([[1]])
    (True, False, False, False)
    """
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(type(name) is str and is_plain_json(item, True) for name, item in value.items())
    if isinstance(value, array.array):
        return inside and len(value) > 0 and all(map(math.isfinite, value))
    if isinstance(value, list):
        return not (inside and is_numbers(value)) and all(is_plain_json(item, True) for item in value)
    return value is None or type(value) in (int, str)


def json_texts(cells: Iterable[Any]) -> list[str | None]:
    """Each value as JSON, a missing one as missing.

    Examples
    --------
    >>> json_texts([{"a": [1, "ü"]}, None])
    ['{"a":[1,"ü"]}', None]
    """
    return [None if cell is None else json.dumps(cell, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=list) for cell in cells]


def values_of_texts(texts: Iterable[str | None], kind: str, tagged: bool) -> list[Any]:
    """The lists or dicts that texts hold.

    Raises
    ------
    InvalidArgumentError
        If one holds something else.

    Examples
    --------
    >>> values_of_texts(["[1,null]", None], "list", tagged=False)
    [[1, None], None]
    """
    return [None if text is None else _value(text, dict if kind == DICT_KIND else list, tagged) for text in texts]


def kind_of_json(texts: Iterable[str | None]) -> str | None:
    """The kind of column for JSON texts that are all lists or all dicts; None where they are neither.

    Examples
    --------
    >>> kind_of_json(["[1]", None]), kind_of_json([" {}"]), kind_of_json(["[1]", "{}"]), kind_of_json([])
    ('list', 'dict', None, None)
    """
    starts = {text.lstrip()[:1] for text in texts if text is not None}
    return {"[": LIST_KIND, "{": DICT_KIND}.get(*starts) if len(starts) == 1 else None


def _dict_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice in one object")
    return found


def _value(text: str, wanted: type, tagged: bool) -> Any:
    try:
        value = decode_value(text) if tagged else json.loads(text, object_pairs_hook=_dict_of)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the text {visible(brief(text))} is no value: {visible(str(error))}") from None
    if type(value) is not wanted:
        raise InvalidArgumentError(f"the text {visible(brief(text))} is no {wanted.__name__}")
    return value if tagged else plain_dict(value) if wanted is dict else plain_list(value)
