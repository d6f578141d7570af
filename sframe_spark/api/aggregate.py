"""Aggregates of :meth:`SFrame.groupby`: what to compute for each group.

Examples
--------
>>> from sframe_spark import aggregate
>>> aggregate.SUM("v").name
'sum'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.errors import ColumnNotFoundError, SchemaError, UnsupportedOperationError


@attrs.frozen
class AggregateRequest:
    """A wanted aggregate.

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


class MissingArgumentColumnError(ColumnNotFoundError, RuntimeError):
    """An aggregate names a column that does not exist; a KeyError and, as in the reference, a RuntimeError."""


def request(name: str, label: str, *columns: Any, parameters: Sequence[Any] = ()) -> AggregateRequest:
    """A request over columns given by name.

    Raises
    ------
    TypeError
        If a column is not given by its name.
    """
    for column in columns:
        if not isinstance(column, str):
            raise SchemaError(f"an aggregate takes column names, got {column!r}")
    return AggregateRequest(name, tuple(columns), tuple(parameters), label)


def COUNT() -> AggregateRequest:
    """Number of rows of each group."""
    return AggregateRequest("count", (), (), "Count")


def SUM(src_column: str) -> AggregateRequest:
    """Sum of the values of each group; zero when all are missing."""
    return request("sum", f"Sum of {src_column}", src_column)


def MIN(src_column: str) -> AggregateRequest:
    """Smallest value of each group; NaN if there is a NaN."""
    return request("min", f"Min of {src_column}", src_column)


def MAX(src_column: str) -> AggregateRequest:
    """Largest value of each group; NaN if there is a NaN."""
    return request("max", f"Max of {src_column}", src_column)


def MEAN(src_column: str) -> AggregateRequest:
    """Mean of the values of each group."""
    return request("mean", f"Avg of {src_column}", src_column)


def AVG(src_column: str) -> AggregateRequest:
    """Mean of the values of each group."""
    return MEAN(src_column)


def VAR(src_column: str) -> AggregateRequest:
    """Population variance of each group."""
    return request("var", f"Var of {src_column}", src_column)


def VARIANCE(src_column: str) -> AggregateRequest:
    """Population variance of each group."""
    return VAR(src_column)


def STD(src_column: str) -> AggregateRequest:
    """Population standard deviation of each group."""
    return request("std", f"Stdv of {src_column}", src_column)


def STDV(src_column: str) -> AggregateRequest:
    """Population standard deviation of each group."""
    return STD(src_column)


def COUNT_DISTINCT(src_column: str) -> AggregateRequest:
    """Number of distinct values of each group, missing included."""
    return request("count_distinct", f"Count Distinct of {src_column}", src_column)


def DISTINCT(src_column: str) -> AggregateRequest:
    """List of the distinct values of each group, missing included, in order of first occurrence."""
    return request("distinct", f"Distinct of {src_column}", src_column)


def SELECT_ONE(src_column: str) -> AggregateRequest:
    """The value of the first row of each group."""
    return request("select_one", f"Select One of {src_column}", src_column)


def FREQ_COUNT(src_column: str) -> AggregateRequest:
    """Dict from each distinct value of a group to the number of its rows."""
    return request("freq_count", f"Frequency Count of {src_column}", src_column)


def CONCAT(src_column: str, dict_value_column: str | None = None) -> AggregateRequest:
    """The values of each group as a list in row order, or, with a second column, as a dict from the first to the second."""
    if dict_value_column is None:
        return request("concat", f"List of {src_column}", src_column)
    return request("concat", f"Dict of {src_column}_{dict_value_column}", src_column, dict_value_column)


def ARGMAX(agg_column: str, out_column: str) -> AggregateRequest:
    """The value of ``out_column`` in the row of each group where ``agg_column`` is largest (the first such row)."""
    return request("argmax", f"{out_column} for argmax of {agg_column}", agg_column, out_column)


def ARGMIN(agg_column: str, out_column: str) -> AggregateRequest:
    """The value of ``out_column`` in the row of each group where ``agg_column`` is smallest (the first such row)."""
    return request("argmin", f"{out_column} for argmin of {agg_column}", agg_column, out_column)


def QUANTILE(src_column: str, *args: Any) -> AggregateRequest:
    """Quantiles of each group, as an array; shares between 0 and 1, given one by one or as a list."""
    shares = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    numbers = [float(share) for share in shares]
    return request("quantile", f"Quantiles of {src_column}", src_column, parameters=numbers)


def expand_requests(operations: Sequence[Any]) -> list[tuple[str, AggregateRequest]]:
    """Output names and requests of the forms that ``groupby`` takes: a request, a list of requests, a dict from name to request.

    Raises
    ------
    TypeError
        If something else is given.
    """
    result: list[tuple[str, AggregateRequest]] = []
    for operation in operations:
        if isinstance(operation, dict):
            for name, item in operation.items():
                if not isinstance(name, str):
                    raise SchemaError(f"an output column is named by a str, got {name!r}")
                result.append((name, one_request(item)))
        elif isinstance(operation, (list, tuple)):
            for item in operation:
                found = one_request(item)
                result.append((found.label, found))
        else:
            found = one_request(operation)
            result.append((found.label, found))
    return result


def one_request(item: Any) -> AggregateRequest:
    """A request, or ``COUNT`` without parentheses."""
    if isinstance(item, AggregateRequest):
        return item
    if item is COUNT:
        return COUNT()
    raise SchemaError(f"an aggregate such as aggregate.SUM('column') is needed, got {item!r}")


def output_names(keys: Sequence[str], requests: Sequence[tuple[str, AggregateRequest]], named: set[str]) -> list[str]:
    """Names of the key and output columns; default names that repeat get a number.

    Raises
    ------
    UnsupportedOperationError
        If names that the caller chose are not unique.
    """
    if len(set(keys)) != len(keys) or any(name in keys for name in named):
        raise UnsupportedOperationError("output columns need names of their own: a key or an output name is there twice")
    result = list(keys)
    for name, _ in requests:
        chosen, number = name, 0
        while chosen in result:
            number += 1
            chosen = f"{name}.{number}"
        result.append(chosen)
    return result
