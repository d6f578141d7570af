"""Aggregates that users request, and how ``groupby`` and its kin expand them into named output columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.column_names import unique_names
from sframe_spark.api.hints import add_call_hints
from sframe_spark.errors import NotANameError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import brief, called


@attrs.frozen
class AggregateRequest:
    """A requested aggregate of columns that are given by name.

    Parameters
    ----------
    name
        Name in the table of aggregate functions.
    columns
        Names of the argument columns.
    parameters
        Static parameters.
    label
        Name of the output column when the caller gives none.
    """

    name: str
    columns: tuple[str, ...]
    parameters: tuple[Any, ...] = ()
    label: str = ""


def request(name: str, label: str, *columns: Any, parameters: Sequence[Any] = ()) -> AggregateRequest:
    """Return a request over columns given by name.

    Raises
    ------
    TypeError
        If a column is not given by its name.
    """
    for column in columns:
        if not isinstance(column, str):
            raise NotANameError(f"an aggregate takes column names, got {called(column)}")
    return AggregateRequest(name, tuple(columns), tuple(parameters), label)


def COUNT() -> AggregateRequest:
    """Number of rows of each group, missing values included; also without parentheses.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"sales": COUNT()}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'sales': [1, 2]}
    """
    return AggregateRequest("count", (), (), "Count")


def SUM(src_column: str) -> AggregateRequest:
    """Sum of the values of each group; zero (of vectors: the empty vector) when all are missing.

    Parameters
    ----------
    src_column
        Name of a column of int (sums wrap at 64 bits), float (added up exactly, rounded once) or array (added element by element; missing where
        the lengths in a group differ).

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"total": SUM("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'total': [4, 12]}
    """
    return request("sum", f"Sum of {src_column}", src_column)


def MIN(src_column: str) -> AggregateRequest:
    """Smallest value of each group; NaN if there is a NaN, missing if all are.

    Parameters
    ----------
    src_column
        Name of a column of int, float or datetime.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"least": MIN("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'least': [4, 5]}
    """
    return request("min", f"Min of {src_column}", src_column)


def MAX(src_column: str) -> AggregateRequest:
    """Largest value of each group; NaN if there is a NaN, missing if all are.

    Parameters
    ----------
    src_column
        Name of a column of int, float or datetime.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"most": MAX("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'most': [4, 7]}
    """
    return request("max", f"Max of {src_column}", src_column)


def MEAN(src_column: str) -> AggregateRequest:
    """Mean of the values of each group; missing (of vectors: the empty vector) when all are missing.

    Parameters
    ----------
    src_column
        Name of a column of int, float or array (element by element; missing where the lengths in a group differ).

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"mean": MEAN("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'mean': [4.0, 6.0]}
    """
    return request("mean", f"Avg of {src_column}", src_column)


def AVG(src_column: str) -> AggregateRequest:
    """Mean of the values of each group, as :func:`MEAN`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"mean": AVG("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'mean': [4.0, 6.0]}
    """
    return MEAN(src_column)


def VAR(src_column: str) -> AggregateRequest:
    """Population variance of each group; zero for a group with one value or none.

    Parameters
    ----------
    src_column
        Name of a column of int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"var": VAR("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'var': [0.0, 4.0]}
    """
    return request("var", f"Var of {src_column}", src_column)


def VARIANCE(src_column: str) -> AggregateRequest:
    """Population variance of each group, as :func:`VAR`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"var": VARIANCE("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'var': [0.0, 4.0]}
    """
    return VAR(src_column)


def STD(src_column: str) -> AggregateRequest:
    """Population standard deviation of each group; zero for a group with one value or none.

    Parameters
    ----------
    src_column
        Name of a column of int or float.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"std": STD("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'std': [0.0, 2.0]}
    """
    return request("std", f"Stdv of {src_column}", src_column)


def STDV(src_column: str) -> AggregateRequest:
    """Population standard deviation of each group, as :func:`STD`.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "price": [5, 4, 9]})
    >>> sales.groupby("city", {"std": STDV("price")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'std': [0.0, 2.0]}
    """
    return STD(src_column)


def COUNT_DISTINCT(src_column: str) -> AggregateRequest:
    """Number of distinct values of each group; missing counts as one of them, NaN as another.

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
    """List of the distinct values of each group, missing included, in order of first occurrence.

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
    """Value in the first row of each group, missing or not.

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
    """Dict from each distinct value of a group, missing included, to the number of its rows.

    Parameters
    ----------
    src_column
        Name of a column of int or str.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "tea"]})
    >>> list(sales.groupby("city", {"drinks": FREQ_COUNT("drink")})["drinks"])
    [{'milk': 1}, {'tea': 2}]
    """
    return request("freq_count", f"Frequency Count of {src_column}", src_column)


def CONCAT(src_column: str, dict_value_column: str | None = None) -> AggregateRequest:
    """Values of each group gathered in row order: as a list, or with a second column as a dict.

    Rows where ``src_column`` is missing are left out. Floats make an array instead of a list. In a dict the first row
    of a key wins.

    Parameters
    ----------
    src_column
        Name of a column of any type, or for a dict the column of its keys, of int, float or str.
    dict_value_column
        Name of the column of the dict's values, of any type.

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
    """Value of ``out_column`` in the first row of each group where ``agg_column`` is largest.

    Parameters
    ----------
    agg_column
        Name of a column of int, float or datetime; missing values and NaN are never extreme.
    out_column
        Name of a column of any type.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"dearest": ARGMAX("price", "drink")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'dearest': ['milk', 'cola']}
    """
    return request("argmax", f"{out_column} for argmax of {agg_column}", agg_column, out_column)


def ARGMIN(agg_column: str, out_column: str) -> AggregateRequest:
    """Value of ``out_column`` in the first row of each group where ``agg_column`` is smallest.

    Parameters
    ----------
    agg_column
        Name of a column of int, float or datetime; missing values and NaN are never extreme.
    out_column
        Name of a column of any type.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sales = SFrame({"city": ["Rome", "Oslo", "Rome"], "drink": ["tea", "milk", "cola"], "price": [5, 4, 7]})
    >>> sales.groupby("city", {"cheapest": ARGMIN("price", "drink")}).to_arrow().to_pydict()
    {'city': ['Oslo', 'Rome'], 'cheapest': ['milk', 'tea']}
    """
    return request("argmin", f"{out_column} for argmin of {agg_column}", agg_column, out_column)


def QUANTILE(src_column: str, *args: Any) -> AggregateRequest:
    """Quantiles of each group as an array, NaN being above all numbers; zeros when all values are missing.

    The quantile of share ``q`` of ``n`` values is the one with ``floor(q * n)`` values before it, in exact order.

    Parameters
    ----------
    src_column
        Name of a column of int or float.
    args
        Shares between 0 and 1: one, several, or a list of them.

    Raises
    ------
    RuntimeError
        If a share is not a number between 0 and 1.

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
    """Return the output names and requests of all operations given to ``groupby``.

    Parameters
    ----------
    operations
        Each a request, a list of requests, or a dict from output name to request (an empty name stands for the default).

    Raises
    ------
    TypeError
        If something else is given.
    RuntimeError
        If two dicts give one output name.

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
    """Return the output names that the caller chose; an empty name stands for the default.

    Examples
    --------
    >>> from sframe_spark.api.aggregate import MAX, SUM
    >>> chosen_names([{"total": SUM("v"), "": MAX("v")}, COUNT])
    {'total'}
    """
    return {name for operation in operations if isinstance(operation, dict) for name in operation if name}


def one_request(item: Any) -> AggregateRequest:
    """Return the request itself, or that of ``COUNT`` written without parentheses."""
    if isinstance(item, AggregateRequest):
        return item
    if item is COUNT:
        return COUNT()
    if getattr(item, "__module__", "") == COUNT.__module__:
        raise SchemaError(f"aggregate.{item.__name__} needs to know of which column: write aggregate.{item.__name__}('column')")
    raise SchemaError(f"an aggregate such as aggregate.SUM('column') is needed, got {called(item)}")


def output_names(keys: Sequence[str], requests: Sequence[tuple[str, AggregateRequest]], named: set[str]) -> list[str]:
    """Return the names of the key and output columns; a default name that repeats gets a number.

    Raises
    ------
    UnsupportedOperationError
        If names that the caller chose are not unique.
    """
    if len(set(keys)) != len(keys) or any(name in keys for name in named):
        raise UnsupportedOperationError("output columns need names of their own: a key or an output name is there twice")
    return unique_names([*keys, *(name for name, _ in requests)])
