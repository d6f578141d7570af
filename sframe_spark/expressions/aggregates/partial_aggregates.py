"""Aggregates from partial results, which tasks compute in parallel for ranges of rows and merge."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sum import ExactSum, VarianceState, wrapped
from sframe_spark.types import INT, ColumnType
from sframe_spark.values.encode import encode

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
VarianceParts = tuple[int, VarianceState]


@attrs.frozen(eq=False)
class Decomposition:
    """An aggregate as a monoid over runs of rows.

    Parameters
    ----------
    lift
        ``lift(arrays, rows, types, parameters)``: the part of a run of so many rows; small, and picklable.
    combine
        ``combine(first, second, types)``: the part of two consecutive runs, the same wherever the first one ends: sums of floats are, as
        :class:`ExactSum`.
    finish
        ``finish(part, types, parameters)``: the value, as ``AggregateFunction.reduce`` gives it for all rows.
    """

    lift: Callable[[Sequence[pa.Array], int, Types, Parameters], Any]
    combine: Callable[[Any, Any, Types], Any]
    finish: Callable[[Any, Types, Parameters], Any]

    def reduce(self, arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
        """The value of all rows at once, of one column at least."""
        return self.finish(self.lift(arrays, len(arrays[0]), types, parameters), types, parameters)


def the_part(part: Any, types: Types, parameters: Parameters) -> Any:
    """The part itself, where that is the value."""
    return part


def summed(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> int | ExactSum:
    """The sum of the numbers that are not missing: of ints in 64 bits, of floats without rounding."""
    if types[0] != INT:
        return ExactSum.of(floats(arrays[0]))
    return int(arrays[0].drop_null().to_numpy(zero_copy_only=False).sum(dtype=np.int64))


def added(first: Any, second: Any, types: Types) -> Any:
    """Sum of two sums; ints wrap around."""
    return wrapped(first + second) if types[0] == INT else first + second


def sum_of(part: int | ExactSum, types: Types, parameters: Parameters) -> int | float:
    """The sum as a number, rounded once."""
    return part.value if isinstance(part, ExactSum) else part


def counted(first: int, second: int, types: Types) -> int:
    """Sum of two counts."""
    return first + second


def count_and_sum(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> tuple[int, ExactSum]:
    """Number and sum, as floats, of the values that are not missing."""
    values = floats(arrays[0])
    return len(values), ExactSum.of(values)


def added_pairs(first: tuple[int, ExactSum], second: tuple[int, ExactSum], types: Types) -> tuple[int, ExactSum]:
    """Counts and sums of both."""
    return first[0] + second[0], first[1] + second[1]


def mean_of(part: tuple[int, ExactSum], types: Types, parameters: Parameters) -> float | None:
    """Missing where there is no value."""
    return part[1].mean(part[0]) if part[0] else None


def variance_part(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> VarianceParts:
    """Return the number of rows, and the variance state of the values that are not missing."""
    return rows, VarianceState.of(floats(arrays[0]))


def merged_variances(first: VarianceParts, second: VarianceParts, types: Types) -> VarianceParts:
    """Merge the numbers of rows and the variance states."""
    return first[0] + second[0], first[1].merged(second[1])


def spread_of(count: int, squares: float, freedom: int) -> float | None:
    """Variance from the sum of squared deviations, with degrees of freedom taken from the count; missing where there is no value.

    Examples
    --------
    >>> spread_of(2, 2.0, 1), spread_of(1, 0.0, 1), spread_of(0, 0.0, 0)
    (2.0, nan, None)
    """
    if not count:
        return None
    left = count - freedom
    if left > 0:
        return squares / left
    return math.inf if left == 0 and squares > 0 else math.nan


def floats(column: pa.Array) -> np.ndarray:
    """The values that are not missing, as floats."""
    return column.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def lifted(reduce: Callable[[Sequence[pa.Array], Types, Parameters], Any]) -> Callable[[Sequence[pa.Array], int, Types, Parameters], Any]:
    """The value of a run of rows as its part."""
    return lambda arrays, rows, types, parameters: reduce(arrays, types, parameters)


def of_extremes(reduce: Callable[[Sequence[pa.Array], Types, Parameters], Any]) -> Decomposition:
    """The decomposition of an aggregate whose value is one of the values: the aggregate of the values of runs."""

    def combine(first: Any, second: Any, types: Types) -> Any:
        return reduce([encode([first, second], types[0])], types, ())

    return Decomposition(lifted(reduce), combine, the_part)
