"""Parameters of operators: validators for attrs fields, conversion to and from JSON, and checks of values that were read from JSON."""

from __future__ import annotations

import array
import datetime
import math
import pickle
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from sframe_spark.errors import InvalidArgumentError, NotPortable, listed, near_names
from sframe_spark.images import Image
from sframe_spark.lazy_imports import value_of
from sframe_spark.message_text import brief, is_unicode
from sframe_spark.types import TYPES_BY_NAME, ColumnType
from sframe_spark.values.image_columns import key_of_image
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value

Validator = Callable[[Any, Any, Any], None]


def operator_parameters(operator: Any, portable: bool) -> dict[str, Any]:
    """Return the parameters of an operator that can be written as JSON, or the others: functions, tables in memory, live DataFrames."""
    fields = attrs.fields(type(operator))
    return {field.name: getattr(operator, field.name) for field in fields if field.metadata.get("portable", True) is portable}


def identity_text(value: Any) -> str:
    """Return a string that identifies a value, for comparing and hashing parameters; 1, 1.0 and True differ, although they are equal.

    Examples
    --------
    >>> identity_text((1, True)) == identity_text((1, 1)), identity_text([10**5000]) == identity_text([10**5000])
    (False, True)
    >>> identity_text(np.array([1.0])) == identity_text(np.array([1.0 + 1e-15]))
    False
    """
    try:
        return repr(_with_whole_arrays(value))
    except ValueError:
        # ``repr`` refuses ints with thousands of digits.
        return pickle.dumps(value).hex()


def _with_whole_arrays(value: Any) -> Any:
    """Return a value with what a ``repr`` leaves out: digits and items of numpy's arrays, and bytes of images."""
    if isinstance(value, Image):
        return Image, key_of_image(value)
    if isinstance(value, np.ndarray):
        return np.ndarray, value.dtype.str, value.shape, value.tolist()
    if type(value) in (tuple, list):
        return type(value)(map(_with_whole_arrays, value)) if _may_hold_arrays(value) else value
    if type(value) is dict and _may_hold_arrays(value.values()):
        return {key: _with_whole_arrays(item) for key, item in value.items()}
    return value


def _may_hold_arrays(values: Iterable[Any]) -> bool:
    return any(issubclass(item, (np.ndarray, Image, tuple, list, dict)) for item in set(map(type, values)))


def one_of(*values: str) -> Validator:
    """Return a validator that accepts only some strings.

    Raises
    ------
    InvalidArgumentError
        By the validator, for any other string.

    Examples
    --------
    >>> import attrs
    >>> @attrs.frozen
    ... class Turn:
    ...     name = "turn"
    ...     side: str = attrs.field(validator=one_of("left", "right"))
    >>> Turn("lefft")
    Traceback (most recent call last):
    ...
    sframe_spark.errors.InvalidArgumentError: 'side' of the operator 'turn' must be one of 'left', 'right', not 'lefft': did you mean 'left'?
    """

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value not in values:
            near = near_names(value, values)
            meant = f": did you mean {listed(near)}?" if near else ""
            raise InvalidArgumentError(f"{_field_name(instance, attribute)} must be one of {listed(values)}, not {brief(value, 80)}{meant}")

    return check


def at_least(low: float) -> Validator:
    """Return a validator that accepts numbers from ``low`` on, and None for an optional parameter.

    Raises
    ------
    InvalidArgumentError
        By the validator, for a smaller number or NaN.
    """

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value is not None and not value >= low:
            raise InvalidArgumentError(f"{_field_name(instance, attribute)} must be {low} or more, not {brief(value, 80)}")

    return check


def above_zero(instance: Any, attribute: Any, value: Any) -> None:
    """Check that a number is above zero; None is accepted.

    Raises
    ------
    InvalidArgumentError
        If the number is zero, negative or NaN.
    """
    if value is not None and not value > 0:
        raise InvalidArgumentError(f"{_field_name(instance, attribute)} must be above zero, not {brief(value, 80)}")


def column_positions(instance: Any, attribute: Any, value: Any) -> None:
    """Check that one or several column positions, which count from 0, are not negative; None is accepted.

    Raises
    ------
    InvalidArgumentError
        If a position is negative.
    """
    smallest = 0 if value is None else value if isinstance(value, int) else min(value, default=0)
    if smallest < 0:
        raise InvalidArgumentError(f"{_field_name(instance, attribute)} has the column {smallest}: columns are counted from 0")


def _field_name(instance: Any, attribute: Any) -> str:
    name = getattr(instance, "name", None)
    return f"{attribute.name!r} of the operator {name!r}" if isinstance(name, str) and name else f"{attribute.name!r} of {type(instance).__name__}"


PLAIN_CLASSES = (list, dict, array.array, np.ndarray, Image, datetime.datetime)


def to_portable(value: Any, path: str, classes: Mapping[str, type]) -> Any:
    """Return the JSON form of a value.

    Parameters
    ----------
    value
        The value to convert.
    path
        Path of the value in the operator, for messages.
    classes
        By name, the attrs classes whose values may be converted (see :func:`value_classes`).

    Raises
    ------
    NotPortable
        If the value or a part of it has no JSON form.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> to_portable((1, "a", INT, [None]), "here", {})
    [1, 'a', {'$type': 'int'}, {'$plain': '[null]'}]
    """
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is tuple:
        return [to_portable(item, f"{path}[{index}]", classes) for index, item in enumerate(value)]
    if isinstance(value, ColumnType):
        return {"$type": str(value)}
    if type(value) is float or type(value) in PLAIN_CLASSES:
        try:
            return {"$plain": encode_value(value)}
        except (AttributeError, TypeError, ValueError):
            raise NotPortable(path, value) from None
    name = type(value).__name__
    if classes.get(name) is not type(value):
        raise NotPortable(path, value)
    fields = written_fields(type(value))
    return {"$value": name, **{field.alias: to_portable(getattr(value, field.name), f"{path}.{field.name}", classes) for field in fields}}


def written_fields(attrs_class: Any) -> list[Any]:
    """Return the attrs fields that are written to JSON; a field with a default that does not take part in comparisons is derived, and left out."""
    return [field for field in attrs.fields(attrs_class) if field.init and (field.eq is not False or field.default is attrs.NOTHING)]


def from_portable(value: Any, classes: Mapping[str, type]) -> Any:
    """Return the value that a JSON form stands for.

    Raises
    ------
    InvalidArgumentError
        If the form is unknown, or names an unknown type or class, or a part of it is refused.

    Examples
    --------
    >>> from_portable([1, {"$plain": "[null]"}], {})
    (1, [None])
    """
    if isinstance(value, list):
        return tuple(from_portable(item, classes) for item in value)
    if not isinstance(value, dict):
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise InvalidArgumentError("the plan's text holds an int beyond 64 bits")
        if type(value) is str:
            require_text(value)
        return value
    if "$value" not in value and len(value) != 1:
        raise InvalidArgumentError(f"the plan's text holds a value of no known form: {value!r:.80}")
    if "$plain" in value:
        plain = decode_value(value["$plain"])
        require_text(encode_value(plain))
        return plain
    if "$type" in value:
        if value["$type"] not in TYPES_BY_NAME:
            raise InvalidArgumentError(f"the plan's text names the column type {value['$type']!r:.80}: known are {', '.join(TYPES_BY_NAME)}")
        return TYPES_BY_NAME[value["$type"]]
    name = value["$value"]
    if name not in classes:
        raise InvalidArgumentError(f"the plan's text holds a value of the class {name!r:.80}, which its operator does not take")
    omitted = {"$value", *(field.alias for field in attrs.fields(classes[name]))} - {field.alias for field in written_fields(classes[name])}
    fields = {field: from_portable(item, classes) for field, item in value.items() if field not in omitted}
    check_fields(classes[name], fields)
    instance = classes[name](**fields)
    return instance.as_read() if hasattr(instance, "as_read") else instance


def require_text(value: str) -> None:
    """Check that a string has no lone surrogates, which no column can contain.

    Raises
    ------
    InvalidArgumentError
        If the string has a lone surrogate.
    """
    if not is_unicode(value):
        raise InvalidArgumentError(f"the plan's text holds a half of a character: {value!r:.80}")


def check_fields(attrs_class: Any, values: Mapping[str, Any]) -> None:
    """Check that values match the annotations of a class's fields; an int must have 64 bits, and a bool is not an int.

    Raises
    ------
    InvalidArgumentError
        If a value does not match. The message names the field.
    """
    hints = _hints(attrs_class)
    for field in attrs.fields(attrs_class):
        if field.alias in values and not fits(values[field.alias], hints.get(field.name, Any)):
            raise InvalidArgumentError(f"the plan's text gives {values[field.alias]!r:.80} for {field.name!r} of {attrs_class.__name__}")


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value read from JSON matches a type annotation.

    Examples
    --------
    >>> fits((1, 2), tuple[int, ...]), fits((1, True), tuple[int, ...]), fits(2**63, int), fits(1, float | None)
    (True, False, False, True)
    """
    if hint is Any or isinstance(hint, (str, typing.TypeVar)):
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin is tuple:
        if isinstance(value, tuple) and len(parts) == 2 and parts[1] is Ellipsis:
            return all(fits(item, parts[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(fits, value, parts))
    if origin is not None:
        return isinstance(origin, type) and isinstance(value, origin)
    if hint is int:
        return type(value) is int and -(2**63) <= value < 2**63
    if hint is float:
        return type(value) in (int, float)
    return not isinstance(hint, type) or isinstance(value, hint)


@lru_cache(maxsize=512)
def value_classes(operator_class: type) -> Mapping[str, type]:
    """Return, by name, the attrs classes that occur in the annotations of a class; a class with an annotation that cannot be resolved adds none."""
    classes: dict[str, type] = {}
    pending: list[Any] = [operator_class]
    seen: set[type] = set()
    while pending:
        item = pending.pop()
        pending.extend(typing.get_args(item))
        if not isinstance(item, type) or not attrs.has(item) or item in seen or item is ColumnType:
            continue
        seen.add(item)
        if item is not operator_class:
            classes[item.__name__] = item
        pending.extend(_hints(item).values())
    return classes


@lru_cache(maxsize=512)
def _hints(attrs_class: type) -> Mapping[str, Any]:
    for base in attrs_class.__mro__:
        names = vars(sys.modules[base.__module__])
        for annotation in vars(base).get("__annotations__", {}).values():
            for word in re.findall(r"\w+", annotation) if isinstance(annotation, str) else ():
                # A class that is imported lazily, rather than what stands for it.
                value_of(names.get(word))
    try:
        return typing.get_type_hints(attrs_class)
    except NameError:
        # The annotation uses a name that is imported for type checkers only.
        return {}
