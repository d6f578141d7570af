"""Aggregates in plain Python, with the rules that differ by driver as parameters: exact fractions, rounded once. No package code."""

from __future__ import annotations

import array
import datetime
import decimal
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

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
    if isinstance(numbers[0], np.ndarray):
        return added_in_shape(numbers, lambda column: sum_of(column, rules))
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
    if isinstance(numbers[0], np.ndarray):
        return added_in_shape(numbers, lambda column: mean_of(column, rules))
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


def added_in_shape(arrays: list[np.ndarray], one: Callable[[list[float]], float]) -> np.ndarray:
    if len({one.shape for one in arrays}) > 1:
        raise Refused("arrays of different shapes")
    columns = zip(*(one.ravel().tolist() for one in arrays), strict=True)
    return np.array([one(list(column)) for column in columns], dtype=float).reshape(arrays[0].shape)


def var_of(values: Values, rules: Rules) -> Any:
    """The variance; with ``ddof`` a column that has rows, missing ones included, needs more rows than that."""
    if rules.ddof and 0 < len(values) <= rules.ddof:
        raise Refused("too few rows")
    numbers = list(map(float, present(values)))
    if not numbers:
        return rules.none
    if not_finite(numbers) is not None:
        return math.nan
    exact = list(map(Fraction, numbers))
    mean = sum(exact) / len(exact)
    squares = rounded(sum(((number - mean) ** 2 for number in exact), Fraction(0)))
    count = len(numbers) - rules.ddof
    return squares / count if count > 0 else math.nan


def std_of(values: Values, rules: Rules) -> Any:
    variance = var_of(values, rules)
    return None if variance is None else math.sqrt(variance)


def sample_var_of(values: Values, ddof: int) -> float | None:
    """The variance of a group with degrees of freedom: missing with no more numbers than these."""
    return var_of(values, Rules()) * len(present(values)) / (len(present(values)) - ddof) if len(present(values)) > ddof else None


def sample_std_of(values: Values, ddof: int) -> float | None:
    variance = sample_var_of(values, ddof)
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


def sample_skewness_of(values: Values) -> float | None:
    n, skewness = len(present(values)), skewness_of(values, Rules())
    return None if n < 3 or skewness is None else skewness * math.sqrt(n * (n - 1)) / (n - 2)


def correlation_of(values: Values, others: Values, rules: Rules) -> float | None:
    rows = [(float(value), float(other)) for value, other in zip(values, others, strict=True) if value is not None and other is not None]
    if len(rows) < 2:
        return None
    if not_finite([number for row in rows for number in row]) is not None:
        return math.nan
    first, second = ([Fraction(row[side]) - sum(Fraction(each[side]) for each in rows) / len(rows) for row in rows] for side in (0, 1))
    common = sum(one * other for one, other in zip(first, second, strict=True))
    return signed_root(Fraction(common), Fraction(sum(one**2 for one in first) * sum(other**2 for other in second)))


def complete(columns: Sequence[Values]) -> list[list[float]]:
    """The columns without the rows in which one has no value."""
    rows = [row for row in zip(*columns, strict=True) if None not in row]
    return [list(map(float, column)) for column in zip(*rows, strict=True)] if rows else [[] for _ in columns]


def as_fractions(columns: Sequence[Sequence[float]]) -> list[list[Fraction]] | None:
    """The numbers exactly; None if one is not finite."""
    if not all(math.isfinite(number) for column in columns for number in column):
        return None
    return [list(map(Fraction, column)) for column in columns]


def central(columns: Sequence[Sequence[Fraction]], weights: Sequence[Fraction]) -> Fraction:
    """The weighted sum of the products of the deviations of some columns from their weighted means."""
    total, result = sum(weights), Fraction(0)
    means = [sum(weight * number for weight, number in zip(weights, column, strict=True)) / total for column in columns]
    for weight, *row in zip(weights, *columns, strict=True):
        result += weight * math.prod(number - mean for number, mean in zip(row, means, strict=True))
    return result


def divided(numerator: Fraction, denominator: Fraction) -> float:
    return rounded(numerator / denominator) if denominator else math.nan if not numerator else math.inf if numerator > 0 else -math.inf


def kurtosis_of(values: Values, fisher: bool, bias: bool) -> float | None:
    (numbers,) = complete([values])
    n = len(numbers)
    if n < (1 if bias else 4):
        return None
    exact = as_fractions([numbers])
    if exact is None:
        return math.nan
    ones = [Fraction(1)] * n
    second, fourth = (central(exact * power, ones) / n for power in (2, 4))
    if not second:
        return math.nan
    value = fourth / second**2 - 3
    if not bias:
        value = ((n + 1) * value + 6) * (n - 1) / ((n - 2) * (n - 3))
    return rounded(value if fisher else value + 3)


def moment_of(values: Values, order: int, is_central: bool) -> float | None:
    (numbers,) = complete([values])
    if not numbers:
        return None
    exact = as_fractions([numbers])
    if exact is None:
        return math.nan
    total = central(exact * order, [Fraction(1)] * len(numbers)) if is_central else sum(number**order for number in exact[0])
    return rounded(total / len(numbers))


def covariance_of(values: Values, others: Values, ddof: int) -> float | None:
    columns = complete([values, others])
    if len(columns[0]) <= ddof:
        return None
    exact = as_fractions(columns)
    return math.nan if exact is None else rounded(central(exact, [Fraction(1)] * len(exact[0])) / (len(exact[0]) - ddof))


def weighted_mean_of(values: Values, weights: Values) -> float | None:
    columns = complete([values, weights])
    exact = as_fractions(columns)
    if not columns[0] or exact is None:
        return math.nan if exact is None else None
    return divided(Fraction(sum(number * weight for number, weight in zip(*exact, strict=True))), Fraction(sum(exact[1])))


def weighted_covariance_of(values: Values, others: Values, weights: Values, ddof: int) -> float | None:
    columns = complete([values, others, weights])
    exact = as_fractions(columns)
    if len(columns[0]) <= ddof or exact is None:
        return math.nan if len(columns[0]) > ddof else None
    *both, exact_weights = exact
    total = sum(exact_weights)
    if not total:
        return math.nan
    return divided(central(both, exact_weights), total - ddof * sum(weight**2 for weight in exact_weights) / total)


def weighted_correlation_of(values: Values, others: Values, weights: Values) -> float | None:
    columns = complete([values, others, weights])
    if len(columns[0]) < 2:
        return None
    exact = as_fractions(columns)
    if exact is None or not sum(exact[2]):
        return math.nan
    first, second, exact_weights = exact
    spreads = central([first, first], exact_weights) * central([second, second], exact_weights)
    return signed_root(central([first, second], exact_weights), spreads) if spreads >= 0 else math.nan


def dot_product_of(values: Values, others: Values) -> float:
    columns = complete([values, others])
    odd = [one * other for one, other in zip(*columns, strict=True) if not (math.isfinite(one) and math.isfinite(other))]
    if odd:
        return sum(odd)
    return rounded(sum((Fraction(one) * Fraction(other) for one, other in zip(*columns, strict=True)), Fraction(0)))


def regression_of(y: Values, *xs: Values, names: Sequence[str], is_weighted: bool) -> dict[str, float] | None:
    """Of up to two columns, by the formulas of normal equations in fractions."""
    columns = complete([y, *xs])
    weights, n = (columns.pop() if is_weighted else [1.0] * len(columns[0])), len(columns[0])
    width = len(columns)
    if n < width:
        return None
    keys = ["intercept", "intercept_error", "intercept_t"]
    keys += [key for name in names for key in (f"coefficient_{name}", f"error_{name}", f"t_{name}")] + ["r2"]
    exact, w = as_fractions(columns), as_fractions([weights])
    nothing = {**dict.fromkeys(keys, math.nan), "count": float(n)}
    if exact is None or w is None:
        return {**nothing, "count": math.nan}
    target, design = exact[0], [[Fraction(1)] * n, *exact[1:]]
    matrix = [[sum(a * b * v for a, b, v in zip(first, second, w[0], strict=True)) for second in design] for first in design]
    right = [sum(a * b * v for a, b, v in zip(first, target, w[0], strict=True)) for first in design]
    inverse = inverted(matrix)
    if inverse is None:
        return nothing
    betas = [sum(a * b for a, b in zip(row, right, strict=True)) for row in inverse]
    residuals = [value - sum(beta * column[i] for beta, column in zip(betas, design, strict=True)) for i, value in enumerate(target)]
    left = sum(v * residual**2 for v, residual in zip(w[0], residuals, strict=True))
    whole = central([target, target], w[0])
    # Residuals below 2**-46 of what is explained are none, as they are below the bits of the sums.
    left = Fraction(0) if abs(left) <= abs(whole) * Fraction(1, 2**92) else left
    found: list[float] = []
    for place, beta in enumerate(betas):
        variance = None if n == width else left / (n - width) * inverse[place][place]
        if variance is None or variance < 0:
            found += [rounded(beta), math.nan, math.nan]
        else:
            t = math.nan if not variance and not beta else math.copysign(math.inf, beta) if not variance else signed_root(beta, variance)
            found += [rounded(beta), signed_root(variance, variance) if variance else 0.0, t]
    found.append(1 - divided(left, whole) if whole else math.nan)
    return {**dict(zip(keys, found, strict=True)), "count": float(n)}


def inverted(matrix: list[list[Any]]) -> list[list[Fraction]] | None:
    """The inverse of a matrix of fractions; None if it has none."""
    size = len(matrix)
    rows = [[*map(Fraction, row), *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next((row for row in range(column, size) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [number / rows[column][column] for number in rows[column]]
        for row in range(size):
            if row != column:
                rows[row] = [number - rows[row][column] * other for number, other in zip(rows[row], rows[column], strict=True)]
    return [row[size:] for row in rows]


def zscore_of(values: Values, ddof: int, is_among: bool) -> float | None:
    numbers, last = present(values), values[-1] if values else None
    others = numbers if is_among else numbers[:-1]
    if last is None or len(others) <= ddof:
        return None
    exact = as_fractions([list(map(float, numbers))])
    if exact is None:
        return math.nan
    of_others = exact[0] if is_among else exact[0][:-1]
    variance = central([of_others, of_others], [Fraction(1)] * len(of_others)) / (len(of_others) - ddof)
    distance = exact[0][-1] - sum(of_others) / len(of_others)
    return signed_root(distance, variance) if variance or not distance else math.inf if distance > 0 else -math.inf


def product_of(values: Values) -> Any:
    numbers = present(values)
    if all(type(number) is int for number in numbers):
        return wrapped(math.prod(numbers))
    if any(not math.isfinite(number) for number in numbers):
        return math.prod(math.copysign(min(abs(number), 1.0), number) if math.isfinite(number) else number for number in numbers) + 0.0
    return rounded(math.prod(map(Fraction, numbers), start=Fraction(1)))


def geometric_mean_of(values: Values) -> float | None:
    """By 60 digits of logarithms."""
    numbers = list(map(float, present(values)))
    if not numbers:
        return None
    if any(number < 0 or is_nan(number) for number in numbers) or (0.0 in numbers and math.inf in numbers):
        return math.nan
    if 0.0 in numbers or math.inf in numbers:
        return 0.0 if 0.0 in numbers else math.inf
    with decimal.localcontext(prec=60):
        return float((sum(decimal.Decimal(number).ln() for number in numbers) / len(numbers)).exp())


def edge_of(values: Values, by: Values | None, is_last: bool, is_known: bool) -> Any:
    """The first or last value, in row order or by another column, of all rows or those with a value."""
    rows = [row for row, value in enumerate(values) if not is_known or value is not None]
    if by is None:
        return values[rows[-1 if is_last else 0]] if rows else None
    rules = Rules(ties="last" if is_last else "first")
    return at_extreme([by[row] for row in rows], [values[row] for row in rows], rules, is_last)


def interpolated_of(values: Values, way: str, share: float) -> float | None:
    """As numpy.quantile with exact arithmetic, rounded where it rounds."""
    numbers = sorted(map(float, present(values)), key=lambda number: (is_nan(number), number))
    if not numbers:
        return None
    place = share * (len(numbers) - 1)
    low, high = numbers[math.floor(place)], numbers[math.ceil(place)]
    part = place - math.floor(place)
    if way in ("lower", "higher"):
        return (low if way == "lower" else high) + 0.0
    if way == "nearest":
        return (low if round(place) == math.floor(place) else high) + 0.0
    if low == high or not part:
        return low + 0.0
    if way == "midpoint":
        return 0.5 * low + 0.5 * high + 0.0
    return (low + (high - low) * part if part < 0.5 else high - (high - low) * (1.0 - part)) + 0.0


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
    if isinstance(value, np.ndarray):
        return ("ndarray", value.shape, *map(token, value.ravel().tolist()))
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
