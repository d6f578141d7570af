"""Result types of users' functions, found by calling them on the first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.operators.python_function import describe_function, kept
from sframe_spark.operators.user_errors import user_error
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ColumnType
from sframe_spark.values.infer import column_type_for, infer_type

# The rows of a column, and of a frame, that results are inferred from, as in the reference.
SAMPLE_VALUES = 100
SAMPLE_ROWS = 10


class UnknownResultError(SchemaError, UnsupportedOperationError):
    """The results have no common type; a TypeError and, as for values inside results in the reference, a RuntimeError."""


def infer_result_type(fn: Callable[[Any], Any], first: Callable[[], Sequence[Any]], dtype: Any, skip_missing: bool) -> ColumnType:
    """Column type of a function's results: of ``dtype`` if given, else inferred from the first rows.

    Lists and dicts are always encoded, because later rows may hold other element types than the first.
    """
    if dtype is not None:
        return column_type_for(dtype)
    results = []
    for value in first():
        if skip_missing and value is None:
            continue
        try:
            results.append(kept(fn(value)))
        except Exception as error:
            raise user_error(describe_function(fn), value, error) from error
    try:
        return general(infer_type([result for result in results if result is not None]))
    except SchemaError as error:
        raise UnknownResultError(f"the function returns values of different types, so give apply() a dtype: {error}") from None


def general(column_type: ColumnType) -> ColumnType:
    """The encoding of a kind that holds any value of it."""
    return {"list": ENCODED_LIST, "dict": ENCODED_DICT}.get(column_type.kind, column_type)
