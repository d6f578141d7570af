"""Requests of aggregates, which the functions of :mod:`sframe_spark.aggregate` return, and the names of the columns that result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.api.column_names import unique_names
from sframe_spark.errors import NotANameError, SchemaError, UnsupportedOperationError, listed
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import text_for_message

with lazy_imports(globals()):
    from sframe_spark.api.other_library_names import AGGREGATE

# Aggregates of one column, without other parameters: what may be meant by their name alone.
OF_ONE_COLUMN = (
    *("AVG", "CONCAT", "COUNT", "COUNT_DISTINCT", "DISTINCT", "FIRST", "FREQ_COUNT", "GEOMETRIC_MEAN", "KURTOSIS", "LAST", "MAX", "MEAN", "MEDIAN"),
    *("MIN", "PRODUCT", "SKEWNESS", "STD", "STDV", "SUM", "VAR", "VARIANCE"),
)
AGGREGATE_MODULES = ("sframe_spark.api.aggregate", "sframe_spark.api.aggregates.statistical")


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
            given = f"{text_for_message(column)}: write the name of the column, as in aggregate.SUM('a')"
            several = f"; one aggregate for each of several columns, as {{name: aggregate.SUM(name) for name in {column!r}}}"
            raise NotANameError(f"an aggregate takes column names, got {given}{several if isinstance(column, (list, tuple)) else ''}")
    return AggregateRequest(name, tuple(columns), tuple(parameters), label)


def expand_requests(operations: Sequence[Any], columns: Sequence[str] = ()) -> list[tuple[str, AggregateRequest]]:
    """Return the name of each output column and the aggregate in it, for all aggregates that are passed to ``groupby``.

    Parameters
    ----------
    operations
        Each is a request, a list of requests, or a dict from output name to request, where an empty name stands for the request's ``label``.
    columns
        Names of the frame's columns, for messages.

    Raises
    ------
    TypeError
        If an operation has another form.
    RuntimeError
        If two operations in dicts have the same output name.

    Examples
    --------
    >>> from sframe_spark.aggregate import COUNT, MIN, SUM
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
                raise UnsupportedOperationError(f"two operations would make the column {name!r}: give each its own name")
            if name:
                chosen.add(name)
            aggregate = one_request(item, name if name in columns else None)
            result.append((name or aggregate.label, aggregate))
    return result


def chosen_names(operations: Sequence[Any]) -> set[str]:
    """Return the output names that the caller chose in dicts; empty names, which stand for default names, are left out.

    Examples
    --------
    >>> from sframe_spark.aggregate import COUNT, MAX, SUM
    >>> chosen_names([{"total": SUM("v"), "": MAX("v")}, COUNT])
    {'total'}
    """
    return {name for operation in operations if isinstance(operation, dict) for name in operation if name}


def one_request(item: Any, column: str | None = None) -> AggregateRequest:
    """Return the item if it is a request, or ``COUNT()`` if it is ``COUNT`` without parentheses; messages use the name of a column.

    Raises
    ------
    SchemaError
        If the item is anything else.
    """
    if isinstance(item, AggregateRequest):
        return item
    if getattr(item, "__module__", "") in AGGREGATE_MODULES:
        if item.__name__ == "COUNT":
            return one_request(item())
        raise SchemaError(f"aggregate.{item.__name__} needs a column: write aggregate.{item.__name__}('column')")
    raise SchemaError(f"an aggregate such as aggregate.SUM('column') is needed, got {text_for_message(item)}{_what_to_write(item, column)}")


def _what_to_write(item: Any, column: str | None) -> str:
    """Return advice for aggregates that are written as in pandas, such as ``"mean"`` or ``("stars", "mean")``; else an empty string.

    Examples
    --------
    >>> _what_to_write("mean", "stars"), _what_to_write(("stars", "max"), None), _what_to_write(3, None)
    (": write aggregate.MEAN('stars')", ": write aggregate.MAX('stars')", '')
    """
    items = item if isinstance(item, (tuple, list)) else [item]
    # Functions such as numpy.mean and sum are meant by their names.
    words = [word if isinstance(word, str) else getattr(word, "__name__", "") for word in items]
    word, call = next(((word, call) for word in words if (call := _aggregate_named(word))), ("", ""))
    if not call:
        return ": aggregate.CONCAT('a') gives the values of each group, and apply() calls a function with them" if callable(item) else ""
    others = [column] if column else [other for other in words if other not in (word, "")] or ["column"]
    call = call.replace(repr("a"), repr(others[0]))
    return f": each column of the result has one, as in {{{word!r}: {call}, ...}}" if isinstance(item, list) else f": write {call}"


def _aggregate_named(word: str) -> str | None:
    """Return the call of the aggregate of the column ``a`` that has a name here, or in another library; None if there is none."""
    if (name := word.upper()) in OF_ONE_COLUMN:
        return "aggregate.COUNT()" if name == "COUNT" else f"aggregate.{name}('a')"
    code = re.search(r"`(aggregate\.[^`]+)`", AGGREGATE.get(word, ""))
    return None if code is None else code[1]


def output_names(keys: Sequence[str], labels: Sequence[str], chosen: set[str]) -> list[str]:
    """Return the names of all columns of the result: keys, then aggregates. If a default name occurs before, a number is appended.

    Raises
    ------
    UnsupportedOperationError
        If a key is given twice, or the caller chose the name of a key for an aggregate.
    """
    if len(set(keys)) != len(keys) or any(name in keys for name in chosen):
        twice = listed(sorted({*(name for name in keys if keys.count(name) > 1), *chosen.intersection(keys)}))
        raise UnsupportedOperationError(f"the columns of the result need different names, but {twice} occurs twice: give the aggregate another name")
    return unique_names([*keys, *labels])
