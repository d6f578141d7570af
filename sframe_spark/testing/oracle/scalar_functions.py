"""Scalar functions on plain Python values: the oracle's own copy of their documented meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sframe_spark.testing.oracle.values import is_nan, wrap

Scalar = Callable[..., Any]


def missing_if_any(function: Scalar) -> Scalar:
    """The function, with a missing result where an argument is missing."""
    return lambda *arguments: None if any(argument is None for argument in arguments) else function(*arguments)


def _int_or_float(left: Any, right: Any, of_ints: Scalar, of_floats: Scalar) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return of_ints(left, right)
    return of_floats(float(left), float(right))


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        return left + right
    return _int_or_float(left, right, lambda a, b: wrap(a + b), lambda a, b: a + b)


def _subtract(left: Any, right: Any) -> Any:
    return _int_or_float(left, right, lambda a, b: wrap(a - b), lambda a, b: a - b)


def _multiply(left: Any, right: Any) -> Any:
    return _int_or_float(left, right, lambda a, b: wrap(a * b), lambda a, b: a * b)


def _divide(left: Any, right: Any) -> float:
    """IEEE division: a zero divisor gives an infinity, or NaN for zero and NaN."""
    dividend, divisor = float(left), float(right)
    if divisor != 0.0:
        return dividend / divisor
    if dividend == 0.0 or is_nan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def _floor_divide(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return None if right == 0 else wrap(left // right)
    quotient = _divide(left, right)
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


def _modulo(left: int, right: int) -> int | None:
    return None if right == 0 else left % right


def _negate(value: Any) -> Any:
    return wrap(-value) if isinstance(value, int) else -value


def _absolute(value: Any) -> Any:
    return wrap(abs(value)) if isinstance(value, int) else abs(value)


def equal(left: Any, right: Any) -> int:
    """1 where values are equal; missing equals missing, NaN equals NaN."""
    if left is None or right is None:
        return int(left is None and right is None)
    if is_nan(left) or is_nan(right):
        return int(is_nan(left) and is_nan(right))
    if isinstance(left, str) is not isinstance(right, str):
        return 0
    return int(left == right)


def _or_equal(compare: Scalar) -> Scalar:
    return missing_if_any(lambda left, right: int(compare(left, right) or (is_nan(left) and is_nan(right))))


def truth(value: Any) -> int | None:
    """1 for a value that counts as true: NaN does, zero and empty values do not."""
    return None if value is None else int(value != 0) if isinstance(value, (int, float)) else int(len(value) > 0)


def _known_truth(value: Any) -> int | None:
    return None if is_nan(value) else truth(value)


def _and(left: Any, right: Any) -> int | None:
    first, second = _known_truth(left), _known_truth(right)
    if first == 0 or second == 0:
        return 0
    return None if first is None or second is None else 1


def _or(left: Any, right: Any) -> int | None:
    first, second = _known_truth(left), _known_truth(right)
    if first == 1 or second == 1:
        return 1
    return None if first is None or second is None else 0


def _is_missing(value: Any) -> bool:
    return value is None or is_nan(value)


def cast(value: Any, source: str, target: str) -> Any:
    """The value as another kind: int to float, int to text, float to int towards zero, NaN to missing."""
    if value is None or is_nan(value):
        return None
    if source == target:
        return value
    if (source, target) == ("int", "float"):
        return float(value)
    if (source, target) == ("int", "str"):
        return str(value)
    if (source, target) == ("float", "int"):
        return int(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)
    raise KeyError(f"the oracle has no cast from {source} to {target}")


def clip(value: Any, lower: Any, upper: Any) -> Any:
    """The value moved into a range; missing and NaN stay."""
    if value is None or is_nan(value):
        return value
    as_float = any(isinstance(number, float) for number in (value, lower, upper))
    if lower is not None and value < lower:
        value = lower
    if upper is not None and value > upper:
        value = upper
    return float(value) if as_float else value


SCALARS: dict[str, Scalar] = {
    "add": missing_if_any(_add),
    "subtract": missing_if_any(_subtract),
    "multiply": missing_if_any(_multiply),
    "divide": missing_if_any(_divide),
    "floor_divide": missing_if_any(_floor_divide),
    "modulo": missing_if_any(_modulo),
    "negate": missing_if_any(_negate),
    "absolute": missing_if_any(_absolute),
    "positive": lambda value: value,
    "equal": equal,
    "not_equal": lambda left, right: 1 - equal(left, right),
    "less": missing_if_any(lambda left, right: int(left < right)),
    "less_equal": _or_equal(lambda left, right: left <= right),
    "greater": missing_if_any(lambda left, right: int(left > right)),
    "greater_equal": _or_equal(lambda left, right: left >= right),
    "truth": truth,
    "and_": _and,
    "or_": _or,
    "if_else": lambda condition, first, second: first if truth(condition) == 1 else second,
    "is_missing": lambda value: int(_is_missing(value)),
    "is_not_missing": lambda value: int(not _is_missing(value)),
    "coalesce": lambda first, second: second if _is_missing(first) else first,
}
"""Functions of values alone."""

PARAMETRIC: dict[str, Scalar] = {
    "fill_missing": lambda value, fill: fill if _is_missing(value) else value,
    "clip": clip,
    "is_in": lambda value, wanted: int(any(item is None if value is None else value == item for item in wanted)),
    "literal": lambda constant, column_type: constant,
    "recode": lambda value, column_type: value,
}
"""Functions of values and static parameters, in that order."""
