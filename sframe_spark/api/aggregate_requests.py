"""What ``groupby`` and its kin make of the aggregates that users give: requests with names of output columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sframe_spark.api.aggregate import COUNT, AggregateRequest
from sframe_spark.api.column_names import unique_names
from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.visible import called


def expand_requests(operations: Sequence[Any]) -> list[tuple[str, AggregateRequest]]:
    """Output names and requests of all operations given to ``groupby``.

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
            result += [(found.label, found) for found in map(one_request, items)]
            continue
        for name, item in operation.items():
            if not isinstance(name, str):
                raise SchemaError(f"an output column is named by a str, got {name!r}")
            if name in chosen:
                raise UnsupportedOperationError(f"two operations are to make the column {name!r}: give each its own name")
            if name:
                chosen.add(name)
            found = one_request(item)
            result.append((name or found.label, found))
    return result


def chosen_names(operations: Sequence[Any]) -> set[str]:
    """Output names that the caller chose; an empty name stands for the default.

    Examples
    --------
    >>> from sframe_spark.api.aggregate import MAX, SUM
    >>> chosen_names([{"total": SUM("v"), "": MAX("v")}, COUNT])
    {'total'}
    """
    return {name for operation in operations if isinstance(operation, dict) for name in operation if name}


def one_request(item: Any) -> AggregateRequest:
    """A request, or ``COUNT`` without parentheses."""
    if isinstance(item, AggregateRequest):
        return item
    if item is COUNT:
        return COUNT()
    if getattr(item, "__module__", "") == COUNT.__module__:
        raise SchemaError(f"aggregate.{item.__name__} needs to know of which column: write aggregate.{item.__name__}('column')")
    raise SchemaError(f"an aggregate such as aggregate.SUM('column') is needed, got {called(item)}")


def output_names(keys: Sequence[str], requests: Sequence[tuple[str, AggregateRequest]], named: set[str]) -> list[str]:
    """Names of the key and output columns; default names that repeat get a number.

    Raises
    ------
    UnsupportedOperationError
        If names that the caller chose are not unique.
    """
    if len(set(keys)) != len(keys) or any(name in keys for name in named):
        raise UnsupportedOperationError("output columns need names of their own: a key or an output name is there twice")
    return unique_names([*keys, *(name for name, _ in requests)])
