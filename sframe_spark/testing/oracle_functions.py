"""The oracle's scalar functions and aggregates on plain Python values, and how it sorts, groups and compares values."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

Row = tuple[Any, ...]
TOLERANCE = 1e-9


def is_nan(value: Any) -> bool:
    """Return whether a value is a float NaN."""
    return isinstance(value, float) and value != value


def rank(value: Any) -> tuple[Any, ...]:
    """Return a key that sorts values in ascending order, missing values first and NaN last.

    Examples
    --------
    >>> sorted([2.0, float("nan"), None, 1.0], key=rank)
    [None, 1.0, 2.0, nan]
    """
    if value is None:
        return (0,)
    return (2,) if is_nan(value) else (1, value)


def token(value: Any) -> Any:
    """Return a hashable key that is the same for equal values of one type.

    NaN equals NaN, missing equals missing, a list equals a tuple with the same items. Datetimes with different UTC offsets differ.
    """
    if is_nan(value):
        return ("nan",)
    if isinstance(value, (list, tuple)):
        return ("list", *map(token, value))
    if isinstance(value, dict):
        return ("dict", frozenset((token(key), token(item)) for key, item in value.items()))
    if isinstance(value, datetime.datetime):
        return ("datetime", value, value.utcoffset())
    return (type(value).__name__, value)


def wrap(number: int) -> int:
    """Return the signed 64-bit int that is congruent to an int modulo 2**64, as after overflow.

    Examples
    --------
    >>> wrap(2**63) == -(2**63)
    True
    """
    return (number + 2**63) % 2**64 - 2**63


def product(numbers: Sequence[Any]) -> Any:
    """Return the product of ints, wrapped around at 64 bits, or of floats, rounded once.

    Examples
    --------
    >>> product([2, 3]), product([2**62, 4]), product([1e200, 1e200, 1e-300])
    (6, 0, 1e+100)
    """
    if all(isinstance(number, int) for number in numbers):
        return (math.prod(numbers) + 2**63) % 2**64 - 2**63
    if any(number == 0 or not math.isfinite(number) for number in numbers):
        return math.prod(math.copysign(1.0, number) if number and math.isfinite(number) else number for number in numbers)
    exact = math.prod(map(Fraction, numbers))
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def exact_sum(values: Iterable[Any]) -> Any:
    """Return the sum of ints as a 64-bit int that wraps around, or of floats with a single rounding.

    If a float is not finite, or the sum overflows, the floats are added in order with IEEE arithmetic.
    """
    numbers = list(values)
    if all(isinstance(number, int) for number in numbers):
        return wrap(sum(numbers))
    floats = list(map(float, numbers))
    if all(map(math.isfinite, floats)):
        with contextlib.suppress(OverflowError):
            return math.fsum(floats)
    return sum(floats)


def value_equal(actual: Any, expected: Any) -> bool:
    """Return whether two values have the same type and are equal.

    NaN equals NaN, floats may differ by a small relative or absolute tolerance, and a list may equal a tuple.

    Examples
    --------
    >>> value_equal(1, 1.0), value_equal(float("nan"), float("nan")), value_equal(0.1 + 0.2, 0.3)
    (False, True, True)
    """
    if isinstance(actual, float) and isinstance(expected, float):
        if is_nan(actual) or is_nan(expected):
            return is_nan(actual) and is_nan(expected)
        return actual == expected or math.isclose(actual, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str):
        return len(actual) == len(expected) and all(map(value_equal, actual, expected))
    if isinstance(actual, dict) and isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(value_equal(actual[key], expected[key]) for key in actual)
    return type(actual) is type(expected) and bool(actual == expected)


def rows_equal(actual: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Return whether two sequences have equal rows in the same order."""
    if len(actual) != len(expected):
        return False
    return all(len(a) == len(b) and all(map(value_equal, a, b)) for a, b in zip(actual, expected, strict=True))


# Scalar functions on plain Python values.

Scalar = Callable[..., Any]


def missing_if_any(function: Scalar) -> Scalar:
    """Return a function that returns None if an argument is None, and otherwise calls the given function."""
    return lambda *arguments: None if any(argument is None for argument in arguments) else function(*arguments)


def _arithmetic(function: Scalar) -> Scalar:
    """Return a function of two numbers: ints wrap around, as 64-bit ints, and mixed numbers are floats. Strings are passed on unchanged."""

    def calculated(left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return wrap(function(left, right))
        return function(left, right) if isinstance(left, str) else function(float(left), float(right))

    return missing_if_any(calculated)


def _divide(left: Any, right: Any) -> float:
    """Divide like IEEE: a zero divisor gives an infinity, or NaN if the dividend is zero or NaN."""
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


def equal(left: Any, right: Any) -> int:
    """Return 1 if two values are equal, otherwise 0; missing equals missing, NaN equals NaN, and a string equals only strings."""
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
    """Return 0 for zero and for empty values, None for a missing value, and 1 for all others, including NaN."""
    return None if value is None else int(value != 0) if isinstance(value, (int, float)) else int(len(value) > 0)


def _connective(decisive: int) -> Scalar:
    """Return the function ``and`` (``decisive`` is 0) or ``or`` (1).

    Its result is ``decisive`` if one of the values has that truth; otherwise missing if a value is missing or NaN, else the other truth.
    """

    def connected(left: Any, right: Any) -> int | None:
        truths = [None if is_nan(value) else truth(value) for value in (left, right)]
        if decisive in truths:
            return decisive
        return None if None in truths else 1 - decisive

    return connected


def _is_missing(value: Any) -> bool:
    return value is None or is_nan(value)


def cast(value: Any, source: str, target: str) -> Any:
    """Convert a value to another kind: int to float or string, or float to int; missing and NaN become missing.

    Floats are rounded towards zero; those outside of 64 bits become the smallest int.

    Raises
    ------
    KeyError
        For all other pairs of different kinds.
    """
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
    """Return the value, or the bound that it exceeds; missing and NaN stay. The result is a float if the value or a bound is."""
    if value is None or is_nan(value):
        return value
    as_float = any(isinstance(number, float) for number in (value, lower, upper))
    if lower is not None and value < lower:
        value = lower
    if upper is not None and value > upper:
        value = upper
    return float(value) if as_float else value


SCALARS: dict[str, Scalar] = {
    "add": _arithmetic(lambda left, right: left + right),
    "subtract": _arithmetic(lambda left, right: left - right),
    "multiply": _arithmetic(lambda left, right: left * right),
    "divide": missing_if_any(_divide),
    "floor_divide": missing_if_any(_floor_divide),
    "modulo": missing_if_any(lambda left, right: None if right == 0 else left % right),
    "negate": missing_if_any(lambda value: wrap(-value) if isinstance(value, int) else -value),
    "absolute": missing_if_any(lambda value: wrap(abs(value)) if isinstance(value, int) else abs(value)),
    "positive": lambda value: value,
    "equal": equal,
    "not_equal": lambda left, right: 1 - equal(left, right),
    "less": missing_if_any(lambda left, right: int(left < right)),
    "less_equal": _or_equal(lambda left, right: left <= right),
    "greater": missing_if_any(lambda left, right: int(left > right)),
    "greater_equal": _or_equal(lambda left, right: left >= right),
    "truth": truth,
    "and_": _connective(0),
    "or_": _connective(1),
    "if_else": lambda condition, first, second: first if truth(condition) == 1 else second,
    "is_missing": lambda value: int(_is_missing(value)),
    "is_not_missing": lambda value: int(not _is_missing(value)),
    "coalesce": lambda first, second: second if _is_missing(first) else first,
}
"""Scalar functions whose arguments are the values of one row."""

PARAMETRIC: dict[str, Scalar] = {
    "fill_missing": lambda value, fill: fill if _is_missing(value) else value,
    "clip": clip,
    "is_in": lambda value, wanted: int(any(item is None if value is None else value == item for item in wanted)),
    "literal": lambda constant, column_type: constant,
    "recode": lambda value, column_type: value,
}
"""Scalar functions whose arguments are the values of one row, then static parameters."""


# Aggregates on plain Python values.

Aggregate = Callable[..., Any]
"""``aggregate(columns, parameters, kinds)``: the values of each argument in row order, and the kinds of the arguments."""


def present(values: Sequence[Any]) -> list[Any]:
    """Return the values that are not missing."""
    return [value for value in values if value is not None]


def total(values: Sequence[Any], kind: str) -> Any:
    """Return the sum of the values that are not missing; if there are none, 0 for the kind ``int``, otherwise 0.0."""
    numbers = present(values)
    return exact_sum(numbers) if numbers else (0 if kind == "int" else 0.0)


def mean(values: Sequence[Any]) -> float | None:
    """Return the mean of the values that are not missing, or None if there are none."""
    numbers = [float(value) for value in present(values)]
    return exact_sum(numbers) / len(numbers) if numbers else None


def squared_deviations(values: Sequence[Any]) -> float:
    """Return the sum of squared distances from the mean of the values that are not missing; NaN if a value is not finite.

    At least one value must be present.
    """
    numbers = [float(value) for value in present(values)]
    if not all(map(math.isfinite, numbers)):
        return math.nan
    middle = math.fsum(numbers) / len(numbers)
    return math.fsum((number - middle) ** 2 for number in numbers)


def variance(values: Sequence[Any]) -> float:
    """Return the population variance of the values that are not missing; zero if there are none."""
    count = len(present(values))
    return squared_deviations(values) / count if count else 0.0


def column_variance(values: Sequence[Any], freedom: int) -> float | None:
    """Return the variance of the values that are not missing, with the divisor ``count - freedom``, or None if there are none.

    If the divisor is not positive: infinity if it is zero and the values differ, otherwise NaN.
    """
    count = len(present(values))
    if not count:
        return None
    squares = squared_deviations(values)
    if count > freedom:
        return squares / (count - freedom)
    return math.inf if count == freedom and squares > 0 else math.nan


def smallest(values: Sequence[Any], largest: bool, skip_nan: bool) -> Any:
    """Return the smallest (or largest) value that is not missing, or None if there are none.

    NaN if any value is NaN; with ``skip_nan``, only if there is no other value.
    """
    known = present(values)
    numbers = [value for value in known if not is_nan(value)]
    if len(numbers) < len(known) and not (skip_nan and numbers):
        return math.nan
    return (max(numbers) if largest else min(numbers)) if numbers else None


def value_at_extreme(values: Sequence[Any], others: Sequence[Any], largest: bool, last: bool) -> Any:
    """Return the item of ``others`` in the first (or last) row whose value is the smallest (or largest), or None if all values are missing.

    NaN is used only if there is no other value.
    """
    best = smallest(values, largest, True)
    if best is None:
        return None
    ties = [row for row, value in enumerate(values) if value == best or (is_nan(best) and is_nan(value))]
    return others[ties[-1] if last else ties[0]]


def distinct(values: Sequence[Any]) -> list[Any]:
    """Return the distinct values, including the missing value, in order of first occurrence."""
    by_token: dict[Any, Any] = {}
    for value in values:
        by_token.setdefault(token(value), value)
    return list(by_token.values())


def quantiles(values: Sequence[Any], shares: Sequence[float]) -> list[float]:
    """Return, for each share, the value below which that share of the values lies; zeros if all are missing.

    NaN counts as the largest value, and zero has no sign.
    """
    ordered = sorted(map(float, present(values)), key=rank) or [0.0]
    return [ordered[min(len(ordered) - 1, int(share * len(ordered)))] + 0.0 for share in shares]


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


AGGREGATES: dict[str, Aggregate] = {
    "sum": lambda columns, parameters, kinds: total(columns[0], kinds[0]),
    "mean": lambda columns, parameters, kinds: mean(columns[0]),
    "var": lambda columns, parameters, kinds: variance(columns[0]),
    "std": lambda columns, parameters, kinds: math.sqrt(variance(columns[0])),
    "column_var": lambda columns, parameters, kinds: column_variance(columns[0], parameters[0]),
    "column_std": lambda columns, parameters, kinds: _root(column_variance(columns[0], parameters[0])),
    "min": lambda columns, parameters, kinds: smallest(columns[0], False, False),
    "max": lambda columns, parameters, kinds: smallest(columns[0], True, False),
    "column_min": lambda columns, parameters, kinds: smallest(columns[0], False, True),
    "column_max": lambda columns, parameters, kinds: smallest(columns[0], True, True),
    "argmin": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], False, False),
    "argmax": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], True, False),
    "argmin_row": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], False, True),
    "argmax_row": lambda columns, parameters, kinds: value_at_extreme(columns[0], columns[1], True, True),
    "select_one": lambda columns, parameters, kinds: columns[0][0] if columns[0] else None,
    "last": lambda columns, parameters, kinds: columns[0][-1] if columns[0] else None,
    "first_known": lambda columns, parameters, kinds: next(iter(present(columns[0])), None),
    "last_known": lambda columns, parameters, kinds: next(iter(present(columns[0])[::-1]), None),
    "count_values": lambda columns, parameters, kinds: len(present(columns[0])),
    "count_missing": lambda columns, parameters, kinds: len(columns[0]) - len(present(columns[0])),
    "count_runs": lambda columns, parameters, kinds: sum(1 for _ in groupby(columns[0], token)),
    "count_distinct": lambda columns, parameters, kinds: len(distinct(columns[0])),
    "distinct": lambda columns, parameters, kinds: distinct(columns[0]),
    "concat": lambda columns, parameters, kinds: present(columns[0]),
    "quantile": lambda columns, parameters, kinds: quantiles(columns[0], parameters),
    "freq_count": lambda columns, parameters, kinds: dict(Counter(columns[0])),
}
"""Aggregates by name; ``count``, which has no argument, is computed where these are called."""
