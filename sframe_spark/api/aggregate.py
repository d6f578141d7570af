"""The aggregates that users pass to ``groupby`` and similar methods: those of SFrame, first and last values, and quantiles.

Statistical aggregates are defined in their own module; the names of all are here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sframe_spark.api.aggregates import statistical
from sframe_spark.api.aggregates.statistical import *  # noqa: F403 - the module lists them
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.index_argument_checks import degrees_of_freedom, true_or_false
from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief

with lazy_imports(globals()):
    from sframe_spark.api.aggregates.requests import AggregateRequest, request
    from sframe_spark.expressions.aggregates import quantiles

__all__ = [
    "ARGMAX", "ARGMIN", "AVG", "CONCAT", "COUNT", "COUNT_DISTINCT", "DISTINCT", "FIRST", "FREQ_COUNT", "LAST", "MAX",
    "MEAN", "MEDIAN", "MIN", "QUANTILE", "SELECT_ONE", "STD", "STDV", "SUM", "VAR", "VARIANCE",
]  # fmt: skip
__all__ += statistical.__all__


def COUNT(src_column: str | None = None) -> AggregateRequest:
    """Number of rows in each group, or of a column its number of values, without the missing ones; may be written without parentheses.

    Parameters
    ----------
    src_column
        Name of a column of any class; NaN counts as a value. None counts all rows.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, None]})
    >>> print(sales.groupby("city", {"sales": COUNT(), "prices": COUNT("price")}))
    +------+-------+--------+
    | city | sales | prices |
    +------+-------+--------+
    | Oslo |   1   |   1    |
    | Rome |   2   |   1    |
    +------+-------+--------+
    [2 rows x 3 columns]
    """
    if src_column is None:
        return AggregateRequest("count", (), (), "Count")
    return request("count_values", f"Count of {src_column}", src_column)


def SUM(src_column: str) -> AggregateRequest:
    """Sum of the values in each group; zero if all are missing (for arrays, the empty array).

    Parameters
    ----------
    src_column
        Name of a column of class int (sums wrap around at 64 bits), float (the exact sum, rounded once) or array (summed element by element;
        missing if the arrays of a group have different lengths).

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"total": SUM("price")}))
    +------+-------+
    | city | total |
    +------+-------+
    | Oslo |   4   |
    | Rome |   12  |
    +------+-------+
    [2 rows x 2 columns]
    """
    return request("sum", f"Sum of {src_column}", src_column)


def MIN(src_column: str) -> AggregateRequest:
    """Smallest value in each group; NaN if the group contains NaN, missing if all values are missing.

    Parameters
    ----------
    src_column
        Name of a column of class int, float or datetime.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"least": MIN("price")}))
    +------+-------+
    | city | least |
    +------+-------+
    | Oslo |   4   |
    | Rome |   5   |
    +------+-------+
    [2 rows x 2 columns]
    """
    return request("min", f"Min of {src_column}", src_column)


def MAX(src_column: str) -> AggregateRequest:
    """Largest value in each group; NaN if the group contains NaN, missing if all values are missing.

    Parameters
    ----------
    src_column
        Name of a column of class int, float or datetime.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"most": MAX("price")}))
    +------+------+
    | city | most |
    +------+------+
    | Oslo |  4   |
    | Rome |  7   |
    +------+------+
    [2 rows x 2 columns]
    """
    return request("max", f"Max of {src_column}", src_column)


def MEAN(src_column: str) -> AggregateRequest:
    """Mean of the values in each group; missing if all values are missing (for arrays, the empty array).

    Parameters
    ----------
    src_column
        Name of a column of class int, float or array (mean of each element; missing if the arrays of a group have different lengths).

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"mean": MEAN("price")}))
    +------+------+
    | city | mean |
    +------+------+
    | Oslo | 4.0  |
    | Rome | 6.0  |
    +------+------+
    [2 rows x 2 columns]
    """
    return request("mean", f"Avg of {src_column}", src_column)


def AVG(src_column: str) -> AggregateRequest:
    """Mean of the values in each group; the same as :func:`MEAN`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"mean": AVG("price")}))
    +------+------+
    | city | mean |
    +------+------+
    | Oslo | 4.0  |
    | Rome | 6.0  |
    +------+------+
    [2 rows x 2 columns]
    """
    return MEAN(src_column)


def VAR(src_column: str, ddof: int = 0) -> AggregateRequest:
    """Variance of the values in each group, by default of a whole population; NaN if a group contains NaN or an infinity.

    Without ``ddof`` the result is zero for a group with at most one value, as in SFrame. With ``ddof`` it is missing for a group with at most that
    many values.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    ddof
        The sum of squares is divided by the number of values minus ``ddof``: 0 for a population, 1 for a sample, as pandas and Polars do by default.

    Raises
    ------
    TypeError
        If ``ddof`` is not an int.
    ValueError
        If ``ddof`` is negative.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> print(sales.groupby("city", {"var": VAR("price"), "sample": VAR("price", ddof=1)}))
    +------+-----+--------+
    | city | var | sample |
    +------+-----+--------+
    | Oslo | 0.0 |  None  |
    | Rome | 4.0 |  8.0   |
    +------+-----+--------+
    [2 rows x 3 columns]
    """
    freedom = degrees_of_freedom(ddof)
    return request("var", f"Var of {src_column}", src_column, parameters=[freedom] if freedom else ())


def VARIANCE(src_column: str, ddof: int = 0) -> AggregateRequest:
    """Variance of the values in each group; the same as :func:`VAR`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> print(sales.groupby("city", {"var": VARIANCE("price")}))
    +------+-----+
    | city | var |
    +------+-----+
    | Oslo | 0.0 |
    | Rome | 4.0 |
    +------+-----+
    [2 rows x 2 columns]
    """
    return VAR(src_column, ddof)


def STD(src_column: str, ddof: int = 0) -> AggregateRequest:
    """Standard deviation of the values in each group, by default of a whole population; NaN if a group contains NaN or an infinity.

    Without ``ddof`` the result is zero for a group with at most one value, as in SFrame. With ``ddof`` it is missing for a group with at most that
    many values.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    ddof
        The sum of squares is divided by the number of values minus ``ddof``: 0 for a population, 1 for a sample, as pandas and Polars do by default.

    Raises
    ------
    TypeError
        If ``ddof`` is not an int.
    ValueError
        If ``ddof`` is negative.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> print(sales.groupby("city", {"std": STD("price"), "sample": STD("price", ddof=1)}))
    +------+-----+--------------------+
    | city | std |       sample       |
    +------+-----+--------------------+
    | Oslo | 0.0 |        None        |
    | Rome | 2.0 | 2.8284271247461903 |
    +------+-----+--------------------+
    [2 rows x 3 columns]
    """
    freedom = degrees_of_freedom(ddof)
    return request("std", f"Stdv of {src_column}", src_column, parameters=[freedom] if freedom else ())


def STDV(src_column: str, ddof: int = 0) -> AggregateRequest:
    """Standard deviation of the values in each group; the same as :func:`STD`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> print(sales.groupby("city", {"std": STDV("price")}))
    +------+-----+
    | city | std |
    +------+-----+
    | Oslo | 0.0 |
    | Rome | 2.0 |
    +------+-----+
    [2 rows x 2 columns]
    """
    return STD(src_column, ddof)


def COUNT_DISTINCT(src_column: str) -> AggregateRequest:
    """Number of distinct values in each group; missing values together count as one value, and so do all NaN.

    Parameters
    ----------
    src_column
        Name of a column of any type.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"]})
    >>> print(sales.groupby("city", {"drinks": COUNT_DISTINCT("drink")}))
    +------+--------+
    | city | drinks |
    +------+--------+
    | Oslo |   1    |
    | Rome |   2    |
    +------+--------+
    [2 rows x 2 columns]
    """
    return request("count_distinct", f"Count Distinct of {src_column}", src_column)


def DISTINCT(src_column: str) -> AggregateRequest:
    """List of the distinct values in each group, in order of first occurrence; a missing value is included.

    Parameters
    ----------
    src_column
        Name of a column of any type.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "tea"]})
    >>> print(sales.groupby("city", {"drinks": DISTINCT("drink")}))
    +------+--------+
    | city | drinks |
    +------+--------+
    | Oslo | [milk] |
    | Rome | [tea]  |
    +------+--------+
    [2 rows x 2 columns]
    """
    return request("distinct", f"Distinct of {src_column}", src_column)


def SELECT_ONE(src_column: str) -> AggregateRequest:
    """Value in the first row of each group, even if it is missing.

    Parameters
    ----------
    src_column
        Name of a column of any type.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"first": SELECT_ONE("price")}))
    +------+-------+
    | city | first |
    +------+-------+
    | Oslo |   4   |
    | Rome |   5   |
    +------+-------+
    [2 rows x 2 columns]
    """
    return request("select_one", f"Select One of {src_column}", src_column)


def FIRST(src_column: str, by: str | None = None, skip_missing: bool = False) -> AggregateRequest:
    """Value in the first row of each group: in row order, or in the order of another column.

    Parameters
    ----------
    src_column
        Name of a column of any class.
    by
        Name of a column of class int, float or datetime: the row in which it is smallest is the first, and of equal ones the first in row order.
        Rows in which it is missing do not count, and those with NaN only if there are no others. None: row order.
    skip_missing
        Whether only rows with a value count; otherwise the result is missing if the value in the first row is.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> trades = SFrame({"share": ["a", "a", "b", "a"], "at": [3, 1, 2, 4], "price": [None, 5.0, 7.0, 6.0]})
    >>> found = trades.groupby("share", {"row": FIRST("price"), "known": FIRST("price", skip_missing=True), "time": FIRST("price", by="at")})
    >>> list(found["row"]), list(found["known"]), list(found["time"])
    ([None, 7.0], [5.0, 7.0], [5.0, 7.0])
    """
    return _edge("First", ("select_one", "first_known", "argmin", "first_known_by"), src_column, by, skip_missing)


def LAST(src_column: str, by: str | None = None, skip_missing: bool = False) -> AggregateRequest:
    """Value in the last row of each group: in row order, or in the order of another column.

    Parameters
    ----------
    src_column
        Name of a column of any class.
    by
        Name of a column of class int, float or datetime: the row in which it is largest is the last, and of equal ones the last in row order.
        Rows in which it is missing do not count, and those with NaN only if there are no others. None: row order.
    skip_missing
        Whether only rows with a value count; otherwise the result is missing if the value in the last row is.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> trades = SFrame({"share": ["a", "a", "b", "a"], "at": [3, 9, 2, 4], "price": [5.0, 6.0, 7.0, None]})
    >>> found = trades.groupby("share", {"row": LAST("price"), "known": LAST("price", skip_missing=True), "time": LAST("price", by="at")})
    >>> list(found["row"]), list(found["known"]), list(found["time"])
    ([None, 7.0], [6.0, 7.0], [6.0, 7.0])
    """
    return _edge("Last", ("last", "last_known", "last_by", "last_known_by"), src_column, by, skip_missing)


def _edge(label: str, names: tuple[str, str, str, str], src_column: str, by: str | None, skip_missing: bool) -> AggregateRequest:
    """Return the request for a first or last value; ``names``: in row order, of rows with a value, by a column, and both."""
    is_known = true_or_false(skip_missing, "skip_missing")
    if by is None:
        return request(names[is_known], f"{label} of {src_column}", src_column)
    return request(names[2 + is_known], f"{label} of {src_column} by {by}", by, src_column)


def FREQ_COUNT(src_column: str) -> AggregateRequest:
    """Dict that maps each distinct value in a group, including a missing value, to the number of its rows.

    Parameters
    ----------
    src_column
        Name of a column of class int or str.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "tea"]})
    >>> list(sales.groupby("city", {"drinks": FREQ_COUNT("drink")})["drinks"])
    [{'milk': 1}, {'tea': 2}]
    """
    return request("freq_count", f"Frequency Count of {src_column}", src_column)


def CONCAT(src_column: str, dict_value_column: str | None = None) -> AggregateRequest:
    """List of the values in each group, in row order; with two columns, a dict with keys from the first and values from the second.

    Rows in which ``src_column`` is missing are left out. Floats give an array instead of a list. If a key occurs several times, the dict has the
    value of its first row.

    Parameters
    ----------
    src_column
        Name of the column with the values of the list, of any class; or with the keys of the dict, of class int, float or str.
    dict_value_column
        Name of the column with the values of the dict, of any class; None gives lists.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> by_city = sales.groupby("city", {"drinks": CONCAT("drink"), "prices": CONCAT("drink", "price")})
    >>> by_city["drinks"][1], by_city["prices"][1]
    (['tea', 'cola'], {'tea': 5, 'cola': 7})
    """
    if dict_value_column is None:
        return request("concat", f"List of {src_column}", src_column)
    return request("concat", f"Dict of {src_column}_{dict_value_column}", src_column, dict_value_column)


def ARGMAX(agg_column: str, out_column: str) -> AggregateRequest:
    """Value of ``out_column`` in the row where ``agg_column`` is largest in each group; in the first such row if there are several.

    Parameters
    ----------
    agg_column
        Name of a column of class int, float or datetime. Rows in which it is missing do not count, and those with NaN only if there are no others.
    out_column
        Name of a column of any class.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"dearest": ARGMAX("price", "drink")}))
    +------+---------+
    | city | dearest |
    +------+---------+
    | Oslo |   milk  |
    | Rome |   cola  |
    +------+---------+
    [2 rows x 2 columns]
    """
    return request("argmax", f"{out_column} for argmax of {agg_column}", agg_column, out_column)


def ARGMIN(agg_column: str, out_column: str) -> AggregateRequest:
    """Value of ``out_column`` in the row where ``agg_column`` is smallest in each group; in the first such row if there are several.

    Parameters
    ----------
    agg_column
        Name of a column of class int, float or datetime. Rows in which it is missing do not count, and those with NaN only if there are no others.
    out_column
        Name of a column of any class.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"cheapest": ARGMIN("price", "drink")}))
    +------+----------+
    | city | cheapest |
    +------+----------+
    | Oslo |   milk   |
    | Rome |   tea    |
    +------+----------+
    [2 rows x 2 columns]
    """
    return request("argmin", f"{out_column} for argmin of {agg_column}", agg_column, out_column)


def QUANTILE(src_column: str, *args: Any, interpolate: str | None = None) -> AggregateRequest:
    """Quantiles of the values in each group; NaN counts as the largest number.

    With ``interpolate`` and one share it is a number, as in pandas and Polars, with a list of shares an array; both are missing if all values are.
    Without, it is an array also for one share, as in SFrame: the quantile for a share ``q`` is the value at index ``floor(q * n)``, from 0, of the
    group's ``n`` sorted values (for ``q = 1`` the largest), and zeros if all values are missing.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    args
        One or several shares from 0 to 1, or a list of them. The quantile for 0.5 is a median.
    interpolate
        What is taken at the place ``q * (n - 1)``, from 0, among the sorted values if it is between two of them: ``"linear"``, the line between
        them (the default of pandas); ``"lower"``, ``"higher"`` or ``"nearest"``, one of them (the default of Polars is ``"nearest"``);
        ``"midpoint"``, their mean.

    Raises
    ------
    RuntimeError
        If a share is not a number from 0 to 1.
    ValueError
        If ``interpolate`` is unknown.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> print(sales.groupby("city", {"quantiles": QUANTILE("price", [0.25, 0.75])}))
    +------+------------+
    | city | quantiles  |
    +------+------------+
    | Oslo | [4.0, 4.0] |
    | Rome | [5.0, 7.0] |
    +------+------------+
    [2 rows x 2 columns]
    >>> print(sales.groupby("city", {"quantile": QUANTILE("price", 0.25, interpolate="linear")}))
    +------+----------+
    | city | quantile |
    +------+----------+
    | Oslo |   4.0    |
    | Rome |   5.5    |
    +------+----------+
    [2 rows x 2 columns]
    """
    is_list = len(args) != 1 or isinstance(args[0], (list, tuple, np.ndarray))
    shares = args[0] if is_list and len(args) == 1 else args
    for share in shares:
        if not isinstance(share, (int, float, np.number)) or not 0 <= share <= 1:
            raise UnsupportedOperationError(f"a quantile must be a number between 0 and 1, got {brief(share)}: the median is 0.5")
    numbers = tuple(float(share) for share in shares)
    if interpolate is None:
        return request("quantile", f"Quantiles of {src_column}", src_column, parameters=numbers)
    if interpolate not in quantiles.INTERPOLATIONS:
        raise InvalidArgumentError(f"interpolate must be one of {', '.join(quantiles.INTERPOLATIONS)}, got {brief(interpolate)}")
    label = f"Quantiles of {src_column}" if is_list else f"Quantile of {src_column}"
    return request("interpolated_quantile", label, src_column, parameters=[interpolate, numbers if is_list else numbers[0]])


def MEDIAN(src_column: str) -> AggregateRequest:
    """Median of the values in each group: of an even number the mean of the two in the middle; missing if all values are missing.

    NaN counts as the largest number.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 8]})
    >>> print(sales.groupby("city", {"median": MEDIAN("price")}))
    +------+--------+
    | city | median |
    +------+--------+
    | Oslo |  4.0   |
    | Rome |  6.5   |
    +------+--------+
    [2 rows x 2 columns]
    """
    return request("interpolated_quantile", f"Median of {src_column}", src_column, parameters=["midpoint", 0.5])


add_call_hints(globals(), __name__)
