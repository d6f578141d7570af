"""The aggregate functions that users pass to ``groupby`` and similar methods, and the names of the columns that result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.column_names import unique_names
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.errors import NotANameError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import brief, text_for_message


@attrs.frozen
class AggregateRequest:
    """One aggregate that a user requests, such as ``SUM('price')``.

    Parameters
    ----------
    name
        Name of the aggregate function in the engine's table.
    columns
        Names of the columns that it aggregates.
    parameters
        Further parameters, such as the shares of quantiles.
    label
        Name of the output column if the user gives none.
    """

    name: str
    columns: tuple[str, ...]
    parameters: tuple[Any, ...] = ()
    label: str = ""


def request(name: str, label: str, *columns: Any, parameters: Sequence[Any] = ()) -> AggregateRequest:
    """Return a request for the aggregate ``name`` of columns; ``label`` is the default name of the output column.

    Raises
    ------
    TypeError
        If a column is not given as a string.
    """
    for column in columns:
        if not isinstance(column, str):
            raise NotANameError(f"an aggregate takes column names, got {text_for_message(column)}")
    return AggregateRequest(name, tuple(columns), tuple(parameters), label)


def COUNT() -> AggregateRequest:
    """Number of rows in each group, including rows with missing values; may be written without parentheses.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"sales": COUNT()}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'sales': [1, 2]}
    """
    return AggregateRequest("count", (), (), "Count")


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
    >>> sales.groupby("city", {"total": SUM("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'total': [4, 12]}
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
    >>> sales.groupby("city", {"least": MIN("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'least': [4, 5]}
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
    >>> sales.groupby("city", {"most": MAX("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'most': [4, 7]}
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
    >>> sales.groupby("city", {"mean": MEAN("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'mean': [4.0, 6.0]}
    """
    return request("mean", f"Avg of {src_column}", src_column)


def AVG(src_column: str) -> AggregateRequest:
    """Mean of the values in each group; the same as :func:`MEAN`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"mean": AVG("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'mean': [4.0, 6.0]}
    """
    return MEAN(src_column)


def VAR(src_column: str) -> AggregateRequest:
    """Population variance of the values in each group; zero if a group has fewer than two values.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"var": VAR("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'var': [0.0, 4.0]}
    """
    return request("var", f"Var of {src_column}", src_column)


def VARIANCE(src_column: str) -> AggregateRequest:
    """Population variance of the values in each group; the same as :func:`VAR`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"var": VARIANCE("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'var': [0.0, 4.0]}
    """
    return VAR(src_column)


def STD(src_column: str) -> AggregateRequest:
    """Population standard deviation of the values in each group; zero if a group has fewer than two values.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"std": STD("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'std': [0.0, 2.0]}
    """
    return request("std", f"Stdv of {src_column}", src_column)


def STDV(src_column: str) -> AggregateRequest:
    """Population standard deviation of the values in each group; the same as :func:`STD`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"std": STDV("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'std': [0.0, 2.0]}
    """
    return STD(src_column)


def SKEWNESS(src_column: str) -> AggregateRequest:
    """Population skewness of the values in each group: their mean cubed deviation, divided by the cube of the standard deviation.

    It is missing for a group without values, and NaN with an infinity or NaN. For a group of one value, or of equal values, it is NaN, too:
    zero divided by zero says nothing of the shape. Polars and SciPy give NaN for both, and pandas for one value.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome", "Rome"], "price": [1, 4, 1, 4]})
    >>> sales.groupby("city", {"skewness": SKEWNESS("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'skewness': [nan, 0.7071067811865476]}
    """
    return request("skewness", f"Skewness of {src_column}", src_column)


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
    >>> sales.groupby("city", {"correlation": CORRELATION("price", "sold")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'correlation': [None, -1.0]}
    """
    return request("correlation", f"Correlation of {first_column} and {second_column}", first_column, second_column)


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
    >>> sales.groupby("city", {"drinks": COUNT_DISTINCT("drink")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'drinks': [1, 2]}
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
    >>> sales.groupby("city", {"drinks": DISTINCT("drink")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'drinks': [['milk'], ['tea']]}
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
    >>> sales.groupby("city", {"first": SELECT_ONE("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'first': [4, 5]}
    """
    return request("select_one", f"Select One of {src_column}", src_column)


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
        Name of a column of class int, float or datetime. Rows in which it is missing or NaN are never chosen.
    out_column
        Name of a column of any class.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"dearest": ARGMAX("price", "drink")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'dearest': ['milk', 'cola']}
    """
    return request("argmax", f"{out_column} for argmax of {agg_column}", agg_column, out_column)


def ARGMIN(agg_column: str, out_column: str) -> AggregateRequest:
    """Value of ``out_column`` in the row where ``agg_column`` is smallest in each group; in the first such row if there are several.

    Parameters
    ----------
    agg_column
        Name of a column of class int, float or datetime. Rows in which it is missing or NaN are never chosen.
    out_column
        Name of a column of any class.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"cheapest": ARGMIN("price", "drink")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'cheapest': ['milk', 'tea']}
    """
    return request("argmin", f"{out_column} for argmin of {agg_column}", agg_column, out_column)


def QUANTILE(src_column: str, *args: Any) -> AggregateRequest:
    """Array of exact quantiles of the values in each group; NaN counts as the largest number; zeros if all values are missing.

    The quantile for a share ``q`` is the value at index ``floor(q * n)``, from 0, of the group's ``n`` sorted values; for ``q = 1`` the largest.

    Parameters
    ----------
    src_column
        Name of a column of class int or float.
    args
        One or several shares from 0 to 1, or a list of them. The quantile for 0.5 is a median.

    Raises
    ------
    RuntimeError
        If a share is not a number from 0 to 1.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"quantiles": QUANTILE("price", [0.25, 0.75])}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'quantiles': [[4.0, 4.0], [5.0, 7.0]]}
    """
    shares = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, np.ndarray)) else args
    for share in shares:
        if not isinstance(share, (int, float, np.number)) or not 0 <= share <= 1:
            raise UnsupportedOperationError(f"a quantile is a number between 0 and 1, got {brief(share)}")
    return request("quantile", f"Quantiles of {src_column}", src_column, parameters=[float(share) for share in shares])


add_call_hints(globals(), __name__)


def expand_requests(operations: Sequence[Any]) -> list[tuple[str, AggregateRequest]]:
    """Return the name of each output column and the aggregate in it, for all aggregates that are passed to ``groupby``.

    Parameters
    ----------
    operations
        Each is a request, a list of requests, or a dict from output name to request, where an empty name stands for the request's ``label``.

    Raises
    ------
    TypeError
        If an operation is none of these.
    RuntimeError
        If two operations in dicts have the same output name.

    Examples
    --------
    >>> from sframe_spark.api.aggregate import MIN, SUM
    >>> [name for name, _ in expand_requests([{"total": SUM("v")}, [COUNT, MIN("v")]])]
    ['total', 'Count', 'Min of v']
    """
    result: list[tuple[str, AggregateRequest]] = []
    chosen: set[str] = set()
    for operation in operations:
        if not isinstance(operation, dict):
            items = operation if isinstance(operation, (list, tuple)) else [operation]
            result += [(aggregate.label, aggregate) for aggregate in map(one_request, items)]
            continue
        for name, item in operation.items():
            if not isinstance(name, str):
                raise SchemaError(f"an output column is named by a str, got {name!r}")
            if name in chosen:
                raise UnsupportedOperationError(f"two operations are to make the column {name!r}: give each its own name")
            if name:
                chosen.add(name)
            aggregate = one_request(item)
            result.append((name or aggregate.label, aggregate))
    return result


def chosen_names(operations: Sequence[Any]) -> set[str]:
    """Return the output names that the caller chose in dicts; empty names, which stand for default names, are left out.

    Examples
    --------
    >>> from sframe_spark.api.aggregate import MAX, SUM
    >>> chosen_names([{"total": SUM("v"), "": MAX("v")}, COUNT])
    {'total'}
    """
    return {name for operation in operations if isinstance(operation, dict) for name in operation if name}


def one_request(item: Any) -> AggregateRequest:
    """Return the item if it is a request, or ``COUNT()`` if it is ``COUNT`` without parentheses.

    Raises
    ------
    SchemaError
        If the item is anything else.
    """
    if isinstance(item, AggregateRequest):
        return item
    if item is COUNT:
        return COUNT()
    if getattr(item, "__module__", "") == COUNT.__module__:
        raise SchemaError(f"aggregate.{item.__name__} needs to know of which column: write aggregate.{item.__name__}('column')")
    raise SchemaError(f"an aggregate such as aggregate.SUM('column') is needed, got {text_for_message(item)}")


def output_names(keys: Sequence[str], labels: Sequence[str], chosen: set[str]) -> list[str]:
    """Return the names of all columns of the result: keys, then aggregates. If a default name occurs before, a number is appended.

    Raises
    ------
    UnsupportedOperationError
        If a key is given twice, or the caller chose the name of a key for an aggregate.
    """
    if len(set(keys)) != len(keys) or any(name in keys for name in chosen):
        raise UnsupportedOperationError("output columns need names of their own: a key or an output name is there twice")
    return unique_names([*keys, *labels])
