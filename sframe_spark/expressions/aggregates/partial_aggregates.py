"""Functions from which aggregates with partial states ("parts") are built: tasks compute parts of ranges of rows, and parts are merged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sum_and_variance import ExactSum, VarianceState, wrapped
from sframe_spark.types import INT, ColumnType

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
VarianceParts = tuple[int, VarianceState]


@attrs.frozen(eq=False)
class Decomposition:
    """How an aggregate is computed from parts: the partial states of consecutive rows, which are merged in any grouping.

    Parameters
    ----------
    lift
        ``lift(arrays, rows, types, parameters)``: returns the part of ``rows`` consecutive rows, which should be small, and can be pickled.
    combine
        ``combine(first, second, types)``: returns the part of the rows of both parts. It must not depend on how rows were divided; sums of floats
        therefore use :class:`ExactSum`.
    finish
        ``finish(part, types, parameters)``: returns the value of the aggregate, as ``AggregateFunction.reduce`` does for all rows.
    """

    lift: Callable[[Sequence[pa.Array], int, Types, Parameters], Any]
    combine: Callable[[Any, Any, Types], Any]
    finish: Callable[[Any, Types, Parameters], Any]

    def reduce(self, arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
        """Return the value of the aggregate for all rows of at least one column."""
        return self.finish(self.lift(arrays, len(arrays[0]), types, parameters), types, parameters)


def the_part(part: Any, types: Types, parameters: Parameters) -> Any:
    """Return the part, for aggregates whose value is the part itself."""
    return part


def summed(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> int | ExactSum:
    """Return the sum of the numbers that are not missing: of ints in 64 bits with wrap-around, of other numbers exactly."""
    if types[0] != INT:
        return ExactSum.of(floats(arrays[0]))
    return int(arrays[0].drop_null().to_numpy(zero_copy_only=False).sum(dtype=np.int64))


def added_sums(first: Any, second: Any, types: Types) -> Any:
    """Return the sum of two sums; ints wrap around."""
    return wrapped(first + second) if types[0] == INT else first + second


def sum_of(part: int | ExactSum, types: Types, parameters: Parameters) -> int | float:
    """Return a sum as an int, or as a float that is rounded once."""
    return part.value if isinstance(part, ExactSum) else part


def added_counts(first: int, second: int, types: Types) -> int:
    """Return the sum of two counts."""
    return first + second


def count_and_sum(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> tuple[int, ExactSum]:
    """Return the number of values that are not missing, and their exact sum as floats."""
    values = floats(arrays[0])
    return len(values), ExactSum.of(values)


def added_pairs(first: tuple[int, ExactSum], second: tuple[int, ExactSum], types: Types) -> tuple[int, ExactSum]:
    """Return the sum of two counts, and the sum of two exact sums."""
    return first[0] + second[0], first[1] + second[1]


def mean_of(part: tuple[int, ExactSum], types: Types, parameters: Parameters) -> float | None:
    """Return the mean from a count and an exact sum, or None if the count is zero."""
    return part[1].mean(part[0]) if part[0] else None


def variance_part(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> VarianceParts:
    """Return the number of rows, and the variance state of the values that are not missing."""
    return rows, VarianceState.of(floats(arrays[0]))


def merged_variances(first: VarianceParts, second: VarianceParts, types: Types) -> VarianceParts:
    """Return the total number of rows, and the merged variance state."""
    return first[0] + second[0], first[1].merged(second[1])


def spread_of(count: int, squares: float, freedom: int) -> float | None:
    """Return the variance from the sum of squared deviations, with the divisor ``count - freedom``; None if the count is zero.

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
    """Return the values that are not missing, as floats."""
    return column.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def lifted(reduce: Callable[[Sequence[pa.Array], Types, Parameters], Any]) -> Callable[[Sequence[pa.Array], int, Types, Parameters], Any]:
    """Return a ``lift`` function for aggregates in which the part of some rows is their value."""
    return lambda arrays, rows, types, parameters: reduce(arrays, types, parameters)
