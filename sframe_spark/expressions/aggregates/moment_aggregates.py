"""Aggregates that are formulas over moments: a table with a line for each.

Rows in which an argument has no value do not count. With an infinity or NaN in another row the value is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.chosen_rows import EdgeRow
from sframe_spark.expressions.aggregates.counts import known
from sframe_spark.expressions.aggregates.moments import MomentColumns, Moments, Powers, are_finite
from sframe_spark.expressions.aggregates.product_sums import ProductSum
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import FLOAT, FLOAT_KIND, INT_KIND, STR, ColumnType, dict_of

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sums_of_groups import Digits
    from sframe_spark.compute.key_runs import plain_numbers

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
COEFFICIENTS = dict_of(STR, FLOAT)


@attrs.frozen
class MomentAggregate:
    """An aggregate of moments. Its arguments are the variables and, if it is weighted, the weights after them.

    Parameters
    ----------
    powers
        ``powers(variables, parameters)``: the powers of which the formula reads the moments, given the number of variables.
    formula
        ``formula(moments, parameters)``: the numbers of a group.
    least
        ``least(variables, parameters)``: the smallest number of rows of which there is a value.
    variables
        The smallest and the largest number of variables.
    is_weighted
        Whether there are weights: given by parameters, or always or never.
    has_squared_weights
        Whether the formula reads the sum of squared weights, given the parameters.
    defaults
        The parameters if none are given; None: they must be given.
    names
        ``names(parameters)``: the keys of the numbers in a dict; None: there is one number, which is the value.
    """

    powers: Callable[[int, Parameters], tuple[Powers, ...]]
    formula: Callable[[Moments, Parameters], Sequence[Any]]
    least: Callable[[int, Parameters], int] = lambda variables, parameters: 1
    variables: tuple[int, int] = (1, 1)
    is_weighted: Callable[[Parameters], bool] = lambda parameters: False
    has_squared_weights: Callable[[Parameters], bool] = lambda parameters: False
    defaults: Parameters | None = ()
    names: Callable[[Parameters], Sequence[str]] | None = None

    def of_columns(self, types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        """Return the aggregate of the columns at some positions."""
        parameters = parameters or self.defaults or ()
        is_weighted = self.is_weighted(parameters)
        variables, weight = (tuple(positions[:-1]), positions[-1]) if is_weighted else (tuple(positions), None)
        columns = MomentColumns(variables, weight, self.powers(len(variables), parameters), self.has_squared_weights(parameters))
        least, names = self.least(len(variables), parameters), None if self.names is None else self.names(parameters)

        def finish(*states: State, last: bool) -> pa.Array:
            counts = states[0]
            chosen = (counts >= least) & are_finite(*states[1:])
            numbers = columns.values(lambda moments: self.formula(moments, parameters), 1 if names is None else len(names), states, chosen)
            return known(numbers[0], counts >= least) if names is None else dicts(names, numbers, counts >= least)

        return ColumnAggregate(columns.states, finish)


def dicts(names: Sequence[str], numbers: Sequence[np.ndarray], is_known: np.ndarray) -> pa.Array:
    """Return a dict for each group, from names to the numbers of the group; missing where ``is_known`` is false."""
    # Missing dicts have no entries.
    offsets = np.concatenate([[0], np.cumsum(is_known)]).astype(np.int32) * len(names)
    keys = pa.array(names, pa.string()).take(pa.array(np.tile(np.arange(len(names)), np.count_nonzero(is_known))))
    values = pa.array(np.stack(numbers, axis=1)[is_known].ravel(), from_pandas=False)
    return pa.MapArray.from_arrays(pa.array(offsets, mask=np.append(~is_known, False)), keys, values).cast(COEFFICIENTS.physical)


def define_moments(name: str, aggregate: MomentAggregate) -> None:
    """Define an aggregate of moments."""

    def infer(types: Types, parameters: Parameters) -> ColumnType:
        for column_type in types:
            require(name.upper(), column_type, (INT_KIND, FLOAT_KIND))
        if not parameters and aggregate.defaults is None:
            raise UnsupportedOperationError(f"{name.upper()} takes parameters: use the function of that name in sframe_spark.aggregate")
        if len(types) - aggregate.is_weighted(parameters) < aggregate.variables[0]:
            raise UnsupportedOperationError(f"{name.upper()} takes more columns, got {len(types)}")
        return FLOAT if aggregate.names is None else COEFFICIENTS

    low, high = aggregate.variables
    skips_missing = high == 1 and not aggregate.is_weighted(())
    define_aggregate(
        name,
        infer,
        order_sensitive=False,
        of_columns=aggregate.of_columns,
        arguments=(low, high + 1) if low < high else low + aggregate.is_weighted(()),
        skips_missing=skips_missing,
    )


# The formulas. ``parameters`` are those of the functions in api/aggregates/statistical.py.


def kurtosis(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    """Return the kurtosis, from ``fisher`` (less the 3 of a normal distribution) and ``bias`` (of a population)."""
    fisher, bias = parameters
    square = moments.central[(2,)] * moments.central[(2,)]
    value = moments.ratio(moments.central[(4,)] * moments.count, square)
    if not bias:
        n = moments.count
        value = moments.ratio((n - 1) * (value * (n + 1) - (n - 1) * 3), (n - 2) * (n - 3)) + 3
    return [value - 3 if fisher else value]


def moment(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    """Return the mean of the powers of the numbers, or of their deviations from the mean, from the exponent and ``central``."""
    order, central = parameters
    return [moments.ratio((moments.central if central else moments.sums)[(order,)], moments.count)]


def covariance(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    """Return the covariance, from the degrees of freedom."""
    (freedom,) = parameters
    return [moments.ratio(moments.central[(1, 1)], moments.count - freedom)]


def weighted_mean(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    return [moments.mean(0)]


def weighted_covariance(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    """Return the weighted covariance, from the degrees of freedom, which take off a share of the weights.

    Source: weights of reliability, as ``numpy.cov(aweights=)``.
    """
    (freedom,) = parameters
    divisor = moments.total - moments.ratio(moments.squared_weights * freedom, moments.total) if freedom else moments.total
    return [moments.ratio(moments.central[(1, 1)], divisor)]


def weighted_correlation(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    central = moments.central
    return [moments.root_ratio(central[(1, 1)], central[(2, 0)] * central[(0, 2)])]


def squares_and_products(variables: int) -> tuple[Powers, ...]:
    """Return the powers of the squares of all variables and of the products of any two.

    Examples
    --------
    >>> squares_and_products(2)
    ((2, 0), (1, 1), (0, 2))
    """
    pairs = ((first, second) for first in range(variables) for second in range(first, variables))
    return tuple(tuple((first == variable) + (second == variable) for variable in range(variables)) for first, second in pairs)


def linear_regression(moments: Moments, parameters: Parameters) -> Sequence[Any]:
    """Return intercept, its error and t, those of each coefficient, the share of variance explained, and the number of rows.

    The first variable is explained by the others. Rows are solved with pairs of floats by elimination; a column that the columns before it
    determine has no coefficient, and then nothing has a value.
    """
    xs = len(next(iter(moments.sums))) - 1

    def spread(first: int, second: int) -> Any:
        return moments.central[tuple((first == variable) + (second == variable) for variable in range(xs + 1))]

    def common(first: int, second: int) -> Any:
        return spread(min(first, second), max(first, second))

    # Rows of the matrix of spreads, of the products with the explained variable, and of the unit matrix, which becomes the inverse.
    rows = [[common(i, j) for j in range(1, xs + 1)] + [common(0, i)] + [int(i == j) for j in range(1, xs + 1)] for i in range(1, xs + 1)]
    for column in range(xs):
        pivot = moments.or_nan(rows[column][column], common(column + 1, column + 1))
        rows[column] = [moments.ratio(number, pivot) for number in rows[column]]
        for other in range(xs):
            if other != column:
                factor = rows[other][column]
                rows[other] = [number - rows[column][place] * factor for place, number in enumerate(rows[other])]
    betas = [rows[i][xs] for i in range(xs)]
    inverse = [row[xs + 1 :] for row in rows]
    whole = spread(0, 0)
    left = whole
    for i, beta in enumerate(betas):
        left = left - beta * common(0, i + 1)
    left = moments.without_noise(left, whole)
    means = [moments.mean(variable) for variable in range(xs + 1)]
    intercept = means[0]
    for i, beta in enumerate(betas):
        intercept = intercept - beta * means[i + 1]
    noise = moments.ratio(left, moments.or_nan(moments.count - xs - 1, moments.count))
    share = moments.ratio(1, moments.total)
    for i in range(xs):
        for j in range(xs):
            share = share + means[i + 1] * inverse[i][j] * means[j + 1]
    found: list[Any] = []
    for value, factor in [(intercept, share), *((beta, inverse[i][i]) for i, beta in enumerate(betas))]:
        found += [value, moments.root(noise * factor), moments.root_ratio(value, noise * factor)]
    return [*found, 1 - moments.ratio(left, whole), moments.count]


def names_of_regression(parameters: Parameters) -> Sequence[str]:
    """Return the keys of a regression's dict, given its parameters: the names of the explaining variables, and whether there are weights."""
    names, _ = parameters
    of_each = [(f"coefficient_{name}", f"error_{name}", f"t_{name}") for name in names]
    return ["intercept", "intercept_error", "intercept_t", *(key for keys in of_each for key in keys), "r2", "count"]


MAX_VARIABLES = 50
TABLE = {
    "kurtosis": MomentAggregate(
        powers=lambda variables, parameters: ((2,), (4,)),
        formula=kurtosis,
        defaults=(True, True),
        least=lambda variables, parameters: 1 if parameters[1] else 4,
    ),
    "moment": MomentAggregate(powers=lambda variables, parameters: ((parameters[0],),), formula=moment, defaults=None),
    "covariance": MomentAggregate(
        powers=lambda variables, parameters: ((1, 1),),
        formula=covariance,
        defaults=(0,),
        least=lambda variables, parameters: parameters[0] + 1,
        variables=(2, 2),
    ),
    "weighted_mean": MomentAggregate(powers=lambda variables, parameters: ((1,),), formula=weighted_mean, is_weighted=lambda parameters: True),
    "weighted_covariance": MomentAggregate(
        powers=lambda variables, parameters: ((1, 1),),
        formula=weighted_covariance,
        defaults=(0,),
        least=lambda variables, parameters: parameters[0] + 1,
        variables=(2, 2),
        is_weighted=lambda parameters: True,
        has_squared_weights=lambda parameters: bool(parameters[0]),
    ),
    "weighted_correlation": MomentAggregate(
        powers=lambda variables, parameters: squares_and_products(2),
        formula=weighted_correlation,
        least=lambda variables, parameters: 2,
        variables=(2, 2),
        is_weighted=lambda parameters: True,
    ),
    "linear_regression": MomentAggregate(
        powers=lambda variables, parameters: squares_and_products(variables),
        formula=linear_regression,
        defaults=None,
        least=lambda variables, parameters: variables,
        variables=(2, MAX_VARIABLES),
        is_weighted=lambda parameters: bool(parameters and parameters[1]),
        names=names_of_regression,
    ),
}
for _name, _aggregate in TABLE.items():
    define_moments(_name, _aggregate)


def dot_product(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the sum of the products of two columns, rounded once; zero without a row."""
    return ColumnAggregate((ProductSum(tuple(positions)),), lambda sums, *, last: pa.array(sums.rounded(last), from_pandas=False))


def _infer_dot_product(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("DOT_PRODUCT", column_type, (INT_KIND, FLOAT_KIND))
    return FLOAT


define_aggregate("dot_product", _infer_dot_product, order_sensitive=False, of_columns=dot_product, arguments=2)


def zscore(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return how many standard deviations the last number is from the mean of all, or of those before it.

    Parameters are the degrees of freedom, and whether the last number is among those of the mean and the deviation. It is missing if the value in the
    last row is, or if there are no more numbers than degrees of freedom.
    """
    freedom, is_among = parameters or (0, True)
    column, columns = positions[0], MomentColumns((positions[0],), None, ((2,),))

    def formula(moments: Moments) -> Sequence[Any]:
        distance = moments.without_noise(moments.given - moments.mean(0), moments.given)
        return [moments.root_ratio(distance, moments.ratio(moments.central[(2,)], moments.count - freedom))]

    def finish(counts: State, sums: State, squares: State, edge: State, *, last: bool) -> pa.Array:
        is_finite = are_finite(sums)
        has_value = edge[0].is_valid().to_numpy(zero_copy_only=False)
        numbers = plain_numbers(edge[0].cast(pa.float64(), safe=False))
        if not is_among:
            taken = np.where(has_value & is_finite, numbers, 0.0)
            alone, squared = Digits(len(counts)), Digits(len(counts))
            alone.add(-taken, np.arange(len(counts)))
            squared.add_squares(taken, np.arange(len(counts)))
            counts, sums, squares = counts - has_value, sums.all_digits() + alone, squares.all_digits() + squared.negative()
        is_known = has_value & (counts > freedom)
        return known(columns.values(formula, 1, (counts, sums, squares), is_known & is_finite, numbers)[0], is_known)

    return ColumnAggregate((*columns.states, EdgeRow(column, types[0], is_last=True)), finish)


def _infer_zscore(types: Types, parameters: Parameters) -> ColumnType:
    require("ZSCORE", types[0], (INT_KIND, FLOAT_KIND))
    return FLOAT


define_aggregate("zscore", _infer_zscore, of_columns=zscore)
