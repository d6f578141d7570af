"""Values of operator parameters as JSON values and back.

None, bools, ints, finite floats and texts stand for themselves, a list for a tuple, and

======================================  ==========================================================================
``{"$type": name}``                     a column type
``{"$plain": text}``                    a list, dict, array, date-time or float without a JSON number, as tagged JSON text
                                        (see :mod:`sframe_spark.values.text`)
``{"$value": name, field: value, ...}`` an attrs value of a class that an annotation of the operator names
======================================  ==========================================================================

Only classes that annotations lead to are ever made from a text, so a text cannot call anything else.
"""

from __future__ import annotations

import array
import datetime
import math
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.types import TYPES_BY_NAME, ColumnType
from sframe_spark.values.text import decode_value, encode_value

PLAIN_CLASSES = (list, dict, array.array, datetime.datetime)


class NotPortable(Exception):
    """A value that no JSON can hold, and where it is."""

    def __init__(self, path: str, value: Any, found: str | None = None) -> None:
        shown = repr(value)
        super().__init__(path)
        self.path = path
        self.found = found or f"a {type(value).__qualname__} ({shown if len(shown) <= 80 else shown[:77] + '...'}), which is not portable"


def to_portable(value: Any, path: str, classes: Mapping[str, type]) -> Any:
    """Return a value in its JSON form.

    Parameters
    ----------
    value
        The value.
    path
        Where it is, for messages.
    classes
        attrs classes whose values may be written, by name (see :func:`value_classes`).

    Raises
    ------
    NotPortable
        If the value, or one inside it, has no JSON form.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> to_portable((1, "a", INT, [None]), "here", {})
    [1, 'a', {'$type': 'int'}, {'$plain': '[null]'}]
    """
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is tuple:
        return [to_portable(item, f"{path}[{place}]", classes) for place, item in enumerate(value)]
    if isinstance(value, ColumnType):
        return {"$type": str(value)}
    if type(value) is float or type(value) in PLAIN_CLASSES:
        return {"$plain": _plain_text(value, path)}
    name = type(value).__name__
    if classes.get(name) is not type(value):
        raise NotPortable(path, value)
    every: Any = getattr(type(value), "__attrs_attrs__", ())
    fields = [field for field in every if field.init]
    return {"$value": name, **{field.alias: to_portable(getattr(value, field.name), f"{path}.{field.name}", classes) for field in fields}}


def _plain_text(value: Any, path: str) -> str:
    try:
        return encode_value(value)
    except (AttributeError, TypeError, ValueError):
        raise NotPortable(path, value) from None


def from_portable(value: Any, classes: Mapping[str, type]) -> Any:
    """Return the value of a JSON form.

    Raises
    ------
    InvalidArgumentError
        If the form names a type or a class that is not known.

    Examples
    --------
    >>> from_portable([1, {"$plain": "[null]"}], {})
    (1, [None])
    """
    if isinstance(value, list):
        return tuple(from_portable(item, classes) for item in value)
    if not isinstance(value, dict):
        return value
    if "$plain" in value:
        return decode_value(value["$plain"])
    if "$type" in value:
        if value["$type"] not in TYPES_BY_NAME:
            raise InvalidArgumentError(f"the plan's text names the column type {value['$type']!r}: known are {', '.join(TYPES_BY_NAME)}")
        return TYPES_BY_NAME[value["$type"]]
    name = value["$value"]
    if name not in classes:
        raise InvalidArgumentError(f"the plan's text holds a value of the class {name!r}, which its operator does not take")
    return classes[name](**{field: from_portable(item, classes) for field, item in value.items() if field != "$value"})


@lru_cache(maxsize=512)
def value_classes(operator_class: type) -> Mapping[str, type]:
    """Return the attrs classes that the annotations of a class lead to, by name; none if an annotation cannot be resolved at run time."""
    found: dict[str, type] = {}
    waiting: list[Any] = [operator_class]
    seen: set[type] = set()
    while waiting:
        item = waiting.pop()
        waiting.extend(typing.get_args(item))
        if not isinstance(item, type) or not attrs.has(item) or item in seen or item is ColumnType:
            continue
        seen.add(item)
        if item is not operator_class:
            found[item.__name__] = item
        waiting.extend(_annotations(item))
    return found


def _annotations(attrs_class: type) -> list[Any]:
    try:
        return list(typing.get_type_hints(attrs_class).values())
    except NameError:
        # A name that is imported for type checkers only.
        return []
