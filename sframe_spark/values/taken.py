"""Take what a caller's code hands over at once: it may be an object that the next call changes and hands over again."""

from __future__ import annotations

import array
import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.errors import SFrameError
from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND, STR_KIND
from sframe_spark.values.convert import construct_value
from sframe_spark.values.value_model import family_of

UNCHANGING = frozenset({type(None), bool, int, float, str, bytes, datetime.datetime, datetime.date, datetime.timedelta})


def taken(value: Any) -> Any:
    """The value itself if nobody can change it, else a copy that makes the same cell.

    Examples
    --------
    >>> cell = {"a": [1]}
    >>> copy = taken(cell)
    >>> cell["a"].append(2)
    >>> copy
    {'a': [1]}
    """
    if type(value) in UNCHANGING:
        return value
    try:
        return _copied(value)
    except (RecursionError, SFrameError):
        # No cell can hold it: whoever stores it says why.
        return value


def taken_each(values: Iterable[Any]) -> list[Any]:
    """A list of the values, each taken before the next is asked for.

    Examples
    --------
    >>> cell = []
    >>> taken_each(cell.append(number) or cell for number in (1, 2))
    [[1], [1, 2]]
    """
    return [value if type(value) in UNCHANGING else taken(value) for value in values]


def taken_as_text(value: Any) -> Any:
    """The text of a container, as a column of texts holds it; other values as they are.

    Examples
    --------
    >>> taken_as_text([1, "a"]), taken_as_text(2)
    ('[1,"a"]', 2)
    """
    try:
        return construct_value(value, STR_KIND) if family_of(type(value)) in (LIST_KIND, ARRAY_KIND, DICT_KIND) else value
    except (RecursionError, SFrameError):
        return value


def _copied(value: Any) -> Any:
    cls = type(value)
    # Most are short, and looking at their items one by one is quicker than the calls that look at all.
    if cls is list:
        for item in value:
            if type(item) not in UNCHANGING:
                return _items(value)
        return value[:]
    if cls is dict:
        made = value.copy()
        for key, item in value.items():
            if type(item) not in UNCHANGING:
                made[key] = _copied(item)
        return made
    if cls is tuple:
        return tuple(_items(value))
    if isinstance(value, np.ndarray) and (value.dtype.kind != "O" or not value.ndim):
        return value.copy()
    if isinstance(value, array.array):
        return value[:]
    family = family_of(cls)
    if family == DICT_KIND:
        return {key: item if type(item) in UNCHANGING else _copied(item) for key, item in value.items()}
    # Sets, deques, rows of numpy and whatever else can be gone through: cells keep the order in which they give their items.
    return _items(value) if family == LIST_KIND else value


def _items(values: Iterable[Any]) -> list[Any]:
    return [item if type(item) in UNCHANGING else _copied(item) for item in values]
