"""Result types of users' functions, found by calling them on the first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sframe_spark.errors import SFrameError
from sframe_spark.operators.python_function import describe_function, user_error
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ColumnType, type_of_class
from sframe_spark.values.infer import infer_type

SAMPLE_ROWS = 10


def infer_result_type(fn: Callable[[Any], Any], first: Callable[[int], Sequence[Any]], dtype: Any, skip_missing: bool) -> ColumnType:
    """Column type of a function's results: of ``dtype`` if given, else inferred from the first rows.

    Lists and dicts are always encoded, because later rows may hold other element types than the first.
    """
    if dtype is not None:
        return type_of_class(dtype)
    results = []
    for value in first(SAMPLE_ROWS):
        if skip_missing and value is None:
            continue
        try:
            results.append(fn(value))
        except Exception as error:
            raise user_error(describe_function(fn), value, error) from error
    try:
        return general(infer_type([result for result in results if result is not None]))
    except SFrameError as error:
        raise type(error)(f"the function returns values of different types, so give apply() a dtype: {error}") from None


def general(column_type: ColumnType) -> ColumnType:
    """The encoding of a kind that holds any value of it."""
    return {"list": ENCODED_LIST, "dict": ENCODED_DICT}.get(column_type.kind, column_type)
