"""The aggregates of several columns, and those of the shape of a distribution, which users pass to ``groupby`` and similar methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.index_argument_checks import degrees_of_freedom, true_or_false
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief

with lazy_imports(globals()):
    from sframe_spark.api.aggregates.requests import AggregateRequest, request
    from sframe_spark.expressions.aggregates import moment_aggregates, product_sums

__all__ = [
    "CORRELATION", "COVARIANCE", "DOT_PRODUCT", "GEOMETRIC_MEAN", "KURTOSIS", "LINEAR_REGRESSION", "MOMENT",
    "PRODUCT", "SKEWNESS", "WEIGHTED_CORRELATION", "WEIGHTED_COVARIANCE", "WEIGHTED_MEAN", "ZSCORE",
]  # fmt: skip


def SKEWNESS(src_column: str, bias: bool = True) -> AggregateRequest:
    """Skewness of the values in each group: their mean cubed deviation, divided by the cube of the standard deviation.

    It is missing for a group without values, and NaN with an infinity or NaN. For a group of one value, or of equal values, it is NaN, too:
    zero divided by zero says nothing of the shape. Polars and SciPy give NaN for both, and pandas for one value.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    bias
        True: of a whole population, as Polars and SciPy do by default. False: estimated from a sample, as pandas does; missing with fewer than three
        values.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome", "Rome"], "price": [1, 4, 1, 4]})
    >>> print(sales.groupby("city", {"skewness": SKEWNESS("price")}))
    +------+--------------------+
    | city |      skewness      |
    +------+--------------------+
    | Oslo |        nan         |
    | Rome | 0.7071067811865476 |
    +------+--------------------+
    [2 rows x 2 columns]
    """
    return request("skewness", f"Skewness of {src_column}", src_column, parameters=() if true_or_false(bias, "bias") else [False])


def CORRELATION(first_column: str, second_column: str) -> AggregateRequest:
    """Pearson correlation of two columns in each group, over the rows in which both have a value.

    It is missing with fewer than two such rows. It is NaN if a column has equal values in all of these rows, or an infinity or NaN.

    Parameters
    ----------
    first_column, second_column
        Names of columns of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome", "Rome"], "price": [1, 4, 2, 3], "sold": [8, 5, 6, 4]})
    >>> print(sales.groupby("city", {"correlation": CORRELATION("price", "sold")}))
    +------+-------------+
    | city | correlation |
    +------+-------------+
    | Oslo |     None    |
    | Rome |     -1.0    |
    +------+-------------+
    [2 rows x 2 columns]
    """
    return request("correlation", f"Correlation of {first_column} and {second_column}", first_column, second_column)


def KURTOSIS(src_column: str, fisher: bool = True, bias: bool = True) -> AggregateRequest:
    """Kurtosis of the values in each group: their mean fourth power of deviations, divided by the square of the variance.

    It is missing for a group without values, and NaN with an infinity or NaN, or if all values are equal.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    fisher
        Whether 3, that of a normal distribution, is subtracted.
    bias
        True: of a whole population, as Polars and SciPy do by default. False: estimated from a sample, as pandas does; missing with fewer than four
        values.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"price": [1, 2, 3, 4, 10]}).groupby([], {"kurtosis": KURTOSIS("price"), "of a sample": KURTOSIS("price", bias=False)})[0]
    {'kurtosis': -0.212, 'of a sample': 3.152}
    """
    parameters = [true_or_false(fisher, "fisher"), true_or_false(bias, "bias")]
    return request("kurtosis", f"Kurtosis of {src_column}", src_column, parameters=parameters)


def MOMENT(src_column: str, order: int, central: bool = False) -> AggregateRequest:
    """Mean of a power of the values in each group, or of a power of their deviations from the mean; missing without a value.

    It is NaN with an infinity or NaN.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    order
        The exponent, from 1 to 4: the sums of higher powers are not exact.
    central
        Whether deviations from the mean are raised to the power.

    Raises
    ------
    ValueError
        If ``order`` is not an int from 1 to 4.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"price": [1, 2, 6]}).groupby([], {"third": MOMENT("price", 3), "central": MOMENT("price", 3, central=True)})[0]
    {'third': 75.0, 'central': 6.0}
    """
    if isinstance(order, (bool, np.bool_)) or not isinstance(order, (int, np.integer)) or not 1 <= order <= product_sums.MAX_FACTORS:
        raise InvalidArgumentError(f"order must be an int from 1 to {product_sums.MAX_FACTORS}, got {brief(order)}")
    parameters = [int(order), true_or_false(central, "central")]
    return request("moment", f"Moment {order} of {src_column}", src_column, parameters=parameters)


def PRODUCT(src_column: str) -> AggregateRequest:
    """Product of the values in each group; one if all are missing.

    Parameters
    ----------
    src_column
        Name of a column of class int (products wrap around at 64 bits, as sums do) or float (rounded once, without overflow on the way).

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> growth = SFrame({"share": ["a", "b", "a"], "factor": [1.5, 2.0, 1.25]})
    >>> print(growth.groupby("share", {"growth": PRODUCT("factor")}))
    +-------+--------+
    | share | growth |
    +-------+--------+
    |   a   | 1.875  |
    |   b   |  2.0   |
    +-------+--------+
    [2 rows x 2 columns]
    """
    return request("product", f"Product of {src_column}", src_column)


def GEOMETRIC_MEAN(src_column: str) -> AggregateRequest:
    """Geometric mean of the values in each group; missing without a value, NaN if one is negative or NaN.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> growth = SFrame({"share": ["a", "b", "a"], "factor": [2.0, 2.5, 8.0]})
    >>> print(growth.groupby("share", {"growth": GEOMETRIC_MEAN("factor")}))
    +-------+--------+
    | share | growth |
    +-------+--------+
    |   a   |  4.0   |
    |   b   |  2.5   |
    +-------+--------+
    [2 rows x 2 columns]
    """
    return request("geometric_mean", f"Geometric mean of {src_column}", src_column)


def ZSCORE(src_column: str, ddof: int = 0, include_current: bool = True) -> AggregateRequest:
    """How many standard deviations the value in the last row of each group is from the mean of its values.

    In :meth:`SFrame.running` and windows that end at a row this is the z-score of that row. It is missing if the value in the last row is missing,
    or if there are at most ``ddof`` values; NaN with an infinity or NaN, or if all values are equal.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    ddof
        As in :func:`STD`; 1 in Flint.
    include_current
        Whether the value in the last row is among those of the mean and the standard deviation.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sf = SFrame({"price": [1.0, 2.0, 3.0, 9.0]})
    >>> list(sf.running({"score": ZSCORE("price", ddof=1, include_current=False)})["score"])
    [None, None, 2.1213203435596424, 7.0]
    """
    parameters = [degrees_of_freedom(ddof), true_or_false(include_current, "include_current")]
    return request("zscore", f"Z-score of {src_column}", src_column, parameters=parameters)


def COVARIANCE(first_column: str, second_column: str, ddof: int = 0) -> AggregateRequest:
    """Covariance of two columns in each group, over the rows in which both have a value.

    It is missing without such rows or with at most ``ddof`` of them, and NaN if one contains an infinity or NaN.

    Parameters
    ----------
    first_column, second_column
        Names of columns of class int or float.
    ddof
        The sum of products is divided by the number of rows minus ``ddof``: 0 for a population, 1 for a sample, as pandas and Polars do by default.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome", "Rome"], "price": [1, 4, 2, 3], "sold": [8, 5, 6, 4]})
    >>> print(sales.groupby("city", {"covariance": COVARIANCE("price", "sold", ddof=1)}))
    +------+------------+
    | city | covariance |
    +------+------------+
    | Oslo |    None    |
    | Rome |    -2.0    |
    +------+------------+
    [2 rows x 2 columns]
    """
    label = f"Covariance of {first_column} and {second_column}"
    return request("covariance", label, first_column, second_column, parameters=[degrees_of_freedom(ddof)])


def DOT_PRODUCT(first_column: str, second_column: str) -> AggregateRequest:
    """Sum of the products of two columns in each group, over the rows in which both have a value, rounded once; zero without such a row.

    Parameters
    ----------
    first_column, second_column
        Names of columns of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"price": [1.5, 2.0, None], "sold": [2, 3, 9]}).groupby([], {"turnover": DOT_PRODUCT("price", "sold")})[0]
    {'turnover': 9.0}
    """
    return request("dot_product", f"Dot product of {first_column} and {second_column}", first_column, second_column)


def WEIGHTED_MEAN(src_column: str, weights: str) -> AggregateRequest:
    """Mean of the values in each group with weights, over the rows in which both have a value.

    It is missing without such a row, and NaN with an infinity or NaN, or if the weights add up to zero.

    Parameters
    ----------
    src_column, weights
        Names of columns of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> trades = SFrame({"share": ["a", "b", "a", "a"], "price": [2.0, 5.0, 4.0, None], "sold": [3, 1, 1, 7]})
    >>> print(trades.groupby("share", {"price": WEIGHTED_MEAN("price", "sold")}))
    +-------+-------+
    | share | price |
    +-------+-------+
    |   a   |  2.5  |
    |   b   |  5.0  |
    +-------+-------+
    [2 rows x 2 columns]
    """
    return request("weighted_mean", f"Mean of {src_column} weighted by {weights}", src_column, weights)


def WEIGHTED_COVARIANCE(first_column: str, second_column: str, weights: str, ddof: int = 0) -> AggregateRequest:
    """Covariance of two columns in each group with weights, over the rows in which all three have a value; of a column and itself, its variance.

    It is missing without such rows or with at most ``ddof`` of them, and NaN with an infinity or NaN.

    Parameters
    ----------
    first_column, second_column, weights
        Names of columns of class int or float.
    ddof
        The sum of products is divided by the sum of weights, less ``ddof`` times the sum of squared weights divided by that: 0 for a population, 1
        for a sample, as in Flint and as ``numpy.cov(aweights=)`` does.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> trades = SFrame({"price": [1.0, 2.0, 4.0], "size": [2.0, 3.0, 9.0], "weight": [1, 1, 2]})
    >>> trades.groupby([], {"covariance": WEIGHTED_COVARIANCE("price", "size", "weight")})[0]
    {'covariance': 4.1875}
    """
    label = f"Covariance of {first_column} and {second_column} weighted by {weights}"
    return request("weighted_covariance", label, first_column, second_column, weights, parameters=[degrees_of_freedom(ddof)])


def WEIGHTED_CORRELATION(first_column: str, second_column: str, weights: str) -> AggregateRequest:
    """Correlation of two columns in each group with weights, over the rows in which all three have a value.

    It is missing with fewer than two such rows, and NaN with an infinity or NaN, or if a column does not vary.

    Parameters
    ----------
    first_column, second_column, weights
        Names of columns of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> trades = SFrame({"price": [1.0, 2.0, 4.0], "size": [2.0, 3.0, 5.0], "weight": [1, 1, 2]})
    >>> trades.groupby([], {"correlation": WEIGHTED_CORRELATION("price", "size", "weight")})[0]
    {'correlation': 1.0}
    """
    label = f"Correlation of {first_column} and {second_column} weighted by {weights}"
    return request("weighted_correlation", label, first_column, second_column, weights)


def LINEAR_REGRESSION(y: str, xs: Any, weights: str | None = None) -> AggregateRequest:
    """Linear regression of a column on others in each group, by least squares with an intercept, over the rows in which all have a value: a dict.

    Keys are ``intercept``, ``intercept_error``, ``intercept_t``; for each of ``xs``, say ``size``, ``coefficient_size``, ``error_size`` and
    ``t_size``; ``r2``, the share of the variance that is explained, and ``count``, the number of rows. Errors are standard errors, and NaN if there
    are no more rows than coefficients; with fewer rows the dict is missing. All are NaN with an infinity or NaN, or if one of ``xs`` follows from the
    others. Residuals below ``2**-46`` of the deviations count as zero. ``unpack`` makes columns of a dict.

    Parameters
    ----------
    y
        Name of the column that is explained, of class int or float.
    xs
        A name or a list of names of the columns that explain it, of class int or float.
    weights
        Name of a column of weights of the squared residuals. None: all weigh the same.

    Raises
    ------
    ValueError
        If ``xs`` is empty, contains a name twice, or has more than 49 names.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sf = SFrame({"price": [3.0, 5.0, 7.5, 8.5], "size": [1, 2, 3, 4]})
    >>> fit = sf.groupby([], {"fit": LINEAR_REGRESSION("price", "size")})["fit"][0]
    >>> fit["intercept"], fit["coefficient_size"], round(fit["r2"], 3)
    (1.25, 1.9, 0.976)
    """
    names = [xs] if isinstance(xs, str) else list(xs) if isinstance(xs, (list, tuple)) else [xs]
    if not names or len(set(map(str, names))) < len(names) or len(names) >= moment_aggregates.MAX_VARIABLES:
        raise InvalidArgumentError(f"xs must be from 1 to {moment_aggregates.MAX_VARIABLES - 1} different column names, got {brief(xs)}")
    columns = [y, *names, *([] if weights is None else [weights])]
    label = f"Regression of {y} on {', '.join(map(str, names))}"
    return request("linear_regression", label, *columns, parameters=[tuple(names), weights is not None])


add_call_hints(globals(), __name__)
