"""Columns made of the parts of values: which are chosen, how they are named, and where they stand in a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.values.broken_texts import require_unicode_values
from sframe_spark.values.plain import plain_number
from sframe_spark.values.text import display_text


def require_prefix(prefix: Any) -> None:
    """Refuse what is no beginning of a name.

    Raises
    ------
    SchemaError
        If it is neither a text nor None.
    """
    if prefix is not None and not isinstance(prefix, str):
        raise SchemaError(f"column_name_prefix is a text, or None for none, not {type(prefix).__name__}")


def prefixed(prefix: str | None, key: Any) -> str:
    """The name of the column of a part: its text, as a cast gives it.

    Examples
    --------
    >>> prefixed("X", 0), prefixed(None, "year"), prefixed("X", (1, "a"))
    ('X.0', 'year', 'X.[1,"a"]')
    """
    text = str(key) if key is None else display_text(key)
    return f"{prefix}.{text}" if prefix else text


def distinct_keys(limit: Any, wanted: type | None = None) -> list[Any]:
    """The parts that a user asks for.

    Raises
    ------
    SchemaError
        If they are no list, or not all of one class (``wanted``).
    BeyondRangeError
        If one is an int beyond the largest float.
    InvalidArgumentError
        If one is named twice, or is a text that is no Unicode.
    """
    if isinstance(limit, (str, bytes, Mapping)) or not isinstance(limit, Iterable):
        raise SchemaError(f"limit is a list of the parts that become columns, not {type(limit).__name__}")
    keys = [int(key) if isinstance(key, np.integer) else key for key in limit]
    if len({type(key) for key in keys}) != 1:
        raise SchemaError("limit is a list of parts of one class, one at least")
    if wanted is not None and type(keys[0]) is not wanted:
        raise SchemaError(f"limit is a list of {wanted.__name__} here, and {keys[0]!r:.60} is of {type(keys[0]).__name__}")
    if len(set(keys)) < len(keys):
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise InvalidArgumentError(f"limit names {twice!r:.60} twice")
    for key in keys:
        # No part of a value is an int beyond all floats.
        if isinstance(key, int):
            plain_number(key)
    require_unicode_values(keys)
    return keys


def names_beside(taken: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names of new columns beside those of others: with a number behind each of them where one is taken.

    Examples
    --------
    >>> names_beside(["a"], ["a", "b"])
    ['a.1', 'b.1']
    """
    number, found = 0, list(names)
    while set(found) & set(taken):
        number += 1
        found = [f"{name}.{number}" for name in names]
    return found
