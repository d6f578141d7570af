"""Aggregates on plain Python values: the oracle's own copy of their documented meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from sframe_spark.testing.oracle.values import exact_sum, is_nan, token

Aggregate = Callable[..., Any]
"""``aggregate(columns, parameters, kinds)``: the values of each argument in row order, and the kinds of the arguments."""


def present(values: Sequence[Any]) -> list[Any]:
    """Values that are not missing."""
    return [value for value in values if value is not None]


def total(values: Sequence[Any], kind: str) -> Any:
    """Sum of values that are not missing; zero of the kind when there is none."""
    found = present(values)
    return exact_sum(found) if found else (0 if kind == "int" else 0.0)


def mean(values: Sequence[Any]) -> float | None:
    """Mean of values that are not missing; missing when there is none."""
    found = [float(value) for value in present(values)]
    return exact_sum(found) / len(found) if found else None


def squared_deviations(values: Sequence[Any]) -> float:
    """Sum of squared distances from the mean of values that are not missing."""
    found = [float(value) for value in present(values)]
    if not all(map(math.isfinite, found)):
        return math.nan
    middle = math.fsum(found) / len(found)
    return math.fsum((value - middle) ** 2 for value in found)


def variance(values: Sequence[Any]) -> float:
    """Population variance; zero for at most one value."""
    count = len(present(values))
    return squared_deviations(values) / count if count > 1 else 0.0


def column_variance(values: Sequence[Any], freedom: int) -> float | None:
    """Variance of a column with degrees of freedom taken from the count; missing when there is no value."""
    count = len(present(values))
    if not count:
        return None
    squares = squared_deviations(values)
    if count > freedom:
        return squares / (count - freedom)
    return math.inf if count == freedom and squares > 0 else math.nan


def smallest(values: Sequence[Any], largest: bool, skip_nan: bool) -> Any:
    """The smallest (largest) value; NaN if there is one, or with ``skip_nan`` only if there is nothing else."""
    found = present(values)
    numbers = [value for value in found if not is_nan(value)]
    if len(numbers) < len(found) and not (skip_nan and numbers):
        return math.nan
    return (max(numbers) if largest else min(numbers)) if numbers else None


def value_at_extreme(values: Sequence[Any], others: Sequence[Any], largest: bool, last: bool) -> Any:
    """The other value in the first (or last) row where a value is extreme; NaN is extreme only when there is nothing else."""
    places = [place for place, value in enumerate(values) if value is not None]
    numbers = [place for place in places if not is_nan(values[place])]
    chosen = numbers or places
    if not chosen:
        return None
    best = smallest([values[place] for place in chosen], largest, True)
    ties = [place for place in chosen if is_nan(best) or values[place] == best]
    return others[ties[-1] if last else ties[0]]


def distinct(values: Sequence[Any]) -> list[Any]:
    """Distinct values, missing included, in order of first occurrence."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(token(value), value)
    return list(found.values())


def quantiles(values: Sequence[Any], shares: Sequence[float]) -> list[float]:
    """The value below which each share of the values lies, NaN above all; zeros when there is no value."""
    ordered = sorted((float(value) for value in present(values)), key=lambda value: (is_nan(value), 0.0 if is_nan(value) else value))
    if not ordered:
        return [0.0] * len(shares)
    return [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in shares]


def frequencies(values: Sequence[Any]) -> dict[Any, int]:
    """Each distinct value with the number of its rows."""
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


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
    "count_missing": lambda columns, parameters, kinds: len(columns[0]) - len(present(columns[0])),
    "count_runs": lambda columns, parameters, kinds: sum(1 for _ in groupby(columns[0], token)),
    "count_distinct": lambda columns, parameters, kinds: len(distinct(columns[0])),
    "distinct": lambda columns, parameters, kinds: distinct(columns[0]),
    "concat": lambda columns, parameters, kinds: present(columns[0]),
    "quantile": lambda columns, parameters, kinds: quantiles(columns[0], parameters),
    "freq_count": lambda columns, parameters, kinds: frequencies(columns[0]),
}
"""Every aggregate but ``count``, which has no argument."""
