"""Aggregates in plain Python, with the rules that differ by driver as parameters: exact fractions, rounded once. No package code."""

from __future__ import annotations

import array
import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Values = Sequence[Any]
EPOCH = datetime.datetime(1970, 1, 1)


class Refused(Exception):
    """The aggregate of these values is an error."""


@dataclass(frozen=True)
class Rules:
    """What one driver's form of an aggregate does where forms differ.

    Parameters
    ----------
    nan
        Of extremes: NaN ``spreads`` (any one makes the result NaN), is ``skipped`` where there is a number, or counts if ``first``.
    none
        The result if there is no value.
    alone
        Of spreads: that of one infinity or NaN alone.
    ddof
        Of spreads: what is taken off the count.
    ragged
        Of vectors: those of different lengths give ``missing`` or an ``error``.
    ties
        Of argmin and argmax: the ``first`` or the ``last`` of equal rows.
    zoned
        Of extreme date-times of one instant: that of the least (for a maximum the greatest) ``offset``, none being least, or the ``first``.
    """

    nan: str = "spreads"
    none: Any = None
    alone: float = 0.0
    ddof: int = 0
    ragged: str = "missing"
    ties: str = "first"
    zoned: str = "offset"


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def present(values: Values) -> list[Any]:
    return [value for value in values if value is not None]


def wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def rounded(number: Fraction) -> float:
    """The float nearest to a number, infinite beyond floats; zero has no sign."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def not_finite(numbers: list[float]) -> float | None:
    """What infinities and NaN add up to; None if there is none."""
    odd = [number for number in numbers if not math.isfinite(number)]
    return sum(odd[1:], odd[0]) if odd else None


def sum_of(values: Values, rules: Rules) -> Any:
    numbers = present(values)
    if not numbers:
        return rules.none
    if isinstance(numbers[0], array.array):
        return added(numbers, rules, lambda column: sum_of(column, rules))
    if isinstance(numbers[0], int):
        return wrapped(sum(numbers))
    odd = not_finite(numbers)
    return rounded(sum(map(Fraction, numbers), Fraction(0))) if odd is None else odd


def mean_of(values: Values, rules: Rules) -> Any:
    numbers = present(values)
    if not numbers:
        return rules.none
    if isinstance(numbers[0], array.array):
        return added(numbers, rules, lambda column: mean_of(column, rules))
    numbers = list(map(float, numbers))
    odd = not_finite(numbers)
    if odd is not None:
        return odd
    total = sum(map(Fraction, numbers), Fraction(0))
    # The sum is rounded, then divided, unless it is beyond floats while the mean is not.
    nearest = rounded(total)
    return nearest / len(numbers) if math.isfinite(nearest) else rounded(total / len(numbers))


def added(vectors: list[array.array[float]], rules: Rules, one: Callable[[list[float]], float]) -> Any:
    if len({len(vector) for vector in vectors}) > 1:
        if rules.ragged == "error":
            raise Refused("vectors of different lengths")
        return None
    return array.array("d", [one(list(column)) for column in zip(*vectors, strict=True)])


def var_of(values: Values, rules: Rules) -> Any:
    """The variance; with ``ddof`` a column that has rows, missing ones included, needs more rows than that."""
    if rules.ddof and 0 < len(values) <= rules.ddof:
        raise Refused("too few rows")
    numbers = list(map(float, present(values)))
    if not numbers:
        return rules.none
    if not_finite(numbers) is not None:
        return rules.alone if len(numbers) == 1 and not rules.ddof else math.nan
    exact = list(map(Fraction, numbers))
    mean = sum(exact) / len(exact)
    squares = rounded(sum(((number - mean) ** 2 for number in exact), Fraction(0)))
    count = len(numbers) - rules.ddof
    return squares / count if count > 0 else math.nan


def std_of(values: Values, rules: Rules) -> Any:
    variance = var_of(values, rules)
    return None if variance is None else math.sqrt(variance)


def signed_root(numerator: Fraction, denominator: Fraction) -> float:
    """The quotient of a number and a square root, to 300 bits before it is rounded; NaN of a denominator that is zero."""
    if not denominator:
        return math.nan
    square = numerator**2 / denominator
    bits = max(square.denominator.bit_length() - square.numerator.bit_length(), 0) // 2 + 300
    root = rounded(Fraction(math.isqrt((square.numerator << 2 * bits) // square.denominator), 1 << bits))
    return -root + 0.0 if numerator < 0 else root


def skewness_of(values: Values, rules: Rules) -> float | None:
    numbers = list(map(float, present(values)))
    if not numbers:
        return None
    if not_finite(numbers) is not None:
        return math.nan
    mean = sum(map(Fraction, numbers)) / len(numbers)
    second, third = (sum((Fraction(number) - mean) ** power for number in numbers) / len(numbers) for power in (2, 3))
    return signed_root(Fraction(third), Fraction(second) ** 3)


def correlation_of(values: Values, others: Values, rules: Rules) -> float | None:
    rows = [(float(value), float(other)) for value, other in zip(values, others, strict=True) if value is not None and other is not None]
    if len(rows) < 2:
        return None
    if not_finite([number for row in rows for number in row]) is not None:
        return math.nan
    first, second = ([Fraction(row[side]) - sum(Fraction(each[side]) for each in rows) / len(rows) for row in rows] for side in (0, 1))
    common = sum(one * other for one, other in zip(first, second, strict=True))
    return signed_root(Fraction(common), Fraction(sum(one**2 for one in first) * sum(other**2 for other in second)))


def instant(value: datetime.datetime) -> datetime.timedelta:
    return value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()) - EPOCH


def rank(value: Any, rules: Rules) -> tuple[Any, ...]:
    """What extremes compare."""
    if not isinstance(value, datetime.datetime):
        return (value,)
    offset = value.utcoffset()
    return (instant(value),) if rules.zoned == "first" else (instant(value), offset is not None, offset or datetime.timedelta())


def extreme_of(values: Values, rules: Rules, largest: bool) -> Any:
    numbers = present(values)
    if not numbers:
        return rules.none
    others = [number for number in numbers if not is_nan(number)]
    if not others or (len(others) < len(numbers) and (rules.nan == "spreads" or (rules.nan == "first" and is_nan(numbers[0])))):
        return math.nan
    best = (max if largest else min)(others, key=lambda number: rank(number, rules))
    return best + 0.0 if isinstance(best, float) else best


def at_extreme(values: Values, carried: Values, rules: Rules, largest: bool) -> Any:
    """What is carried by the row of the extreme; NaN counts only where there is nothing else."""
    rows = [row for row, value in enumerate(values) if value is not None and not is_nan(value)]
    if not rows:
        rows = [row for row, value in enumerate(values) if value is not None]
        chosen = rows
    else:
        best = (max if largest else min)(rank(values[row], Rules(zoned="first")) for row in rows)
        chosen = [row for row in rows if rank(values[row], Rules(zoned="first")) == best]
    return carried[chosen[0 if rules.ties == "first" else -1]] if chosen else None


def token(value: Any) -> Any:
    """The same for values that count as one: NaN is NaN, zero has no sign, entries of dicts no order, but a date-time has its offset."""
    if is_nan(value):
        return "nan"
    if isinstance(value, (list, array.array)):
        return (type(value).__name__, *map(token, value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, token(item)) for key, item in value.items()))
    if isinstance(value, datetime.datetime):
        return (instant(value), value.utcoffset())
    return (type(value).__name__, value)


def distinct_of(values: Values, rules: Rules) -> list[Any]:
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(token(value), value)
    return [0.0 if isinstance(value, float) and value == 0 else value for value in found.values()]


def freq_count_of(values: Values, rules: Rules) -> dict[Any, int]:
    return {value: sum(token(other) == token(value) for other in values) for value in distinct_of(values, rules)}


def runs_of(values: Values, rules: Rules) -> int:
    """How many runs of equal values there are; date-times of one instant are equal."""
    tokens = [token(value)[:1] if isinstance(value, datetime.datetime) else token(value) for value in values]
    return sum(row == 0 or tokens[row] != tokens[row - 1] for row in range(len(tokens)))


def list_of(values: Values, rules: Rules) -> Any:
    return present(values)


def dict_of(keys: Values, values: Values, rules: Rules) -> dict[Any, Any]:
    found: dict[Any, tuple[Any, Any]] = {}
    for key, value in zip(keys, values, strict=True):
        if key is not None:
            found.setdefault(token(key), (key, value))
    return dict(found.values())


def quantile_of(values: Values, shares: Sequence[float]) -> array.array[float]:
    numbers = sorted(map(float, present(values)), key=lambda number: (is_nan(number), number)) or [0.0]
    # Zero has no sign.
    return array.array("d", [numbers[min(len(numbers) - 1, math.floor(Fraction(share) * len(numbers)))] + 0.0 for share in shares])


def finite_range_of(values: Values, rules: Rules) -> array.array[float]:
    """Counts of finite, missing, NaN and infinite numbers; least, greatest, mean and squared deviations of the finite ones."""
    numbers = list(map(float, present(values)))
    finite = [number for number in numbers if math.isfinite(number)]
    counts = len(finite), len(values) - len(numbers), sum(map(is_nan, numbers)), sum(map(math.isinf, numbers))
    extremes = min(finite, default=math.inf), max(finite, default=-math.inf)
    return array.array("d", [*counts, *extremes, mean_of(finite, Rules(none=0.0)), var_of(finite, Rules(none=0.0)) * len(finite)])


def windows_of(values: Values, first: int, last: int) -> list[list[Any]]:
    """The rows from one offset to another around each row; None where there is no row."""
    rows = range(len(values))
    return [[values[row + offset] if row + offset in rows else None for offset in range(first, last + 1)] for row in rows]
