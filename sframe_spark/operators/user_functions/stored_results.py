"""Results of users' functions as columns: of a type that was asked for, or that the first rows told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.types import DATETIME_KIND, FLOAT, INT, INT_KIND, ColumnType
from sframe_spark.values.encode import arrow_floats, encode
from sframe_spark.values.plain import MISSING, NUMBERS, family_of, int_equal_to, plain_number
from sframe_spark.visible import brief

_NO_NUMBERS = (pa.ArrowException, OverflowError, TypeError, ValueError)


def stored_results(results: Sequence[Any], column_type: ColumnType, is_guess: bool) -> pa.Array:
    """Store what a function gave for rows, in their order.

    A class that was asked for takes what becomes a value of it, as 2.5 becomes the int 2. Nobody asked for one that the first rows told, who may have
    given None only: later rows that gave another number would lose their fraction, or the last digits of large ints, dates would become numbers, and
    numbers dates.

    Raises
    ------
    SchemaError
        If a result does not fit.

    Examples
    --------
    >>> stored_results([1, None, 2.5], INT, False).to_pylist()
    [1, None, 2]
    >>> stored_results([1, None, 2.5], INT, True)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 2.5 (float) is no int, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, True)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 9007199254740993 (int) is no float, as the first results were
    """
    if not is_guess or (column_type not in (INT, FLOAT) and column_type.kind != DATETIME_KIND):
        return encode(results, column_type)
    found = _unchanged(results, column_type) if column_type.is_numeric else None
    if found is not None:
        return found
    for result in results:
        _require_unchanged(result, column_type)
    return encode(results, column_type)


def _unchanged(results: Sequence[Any], column_type: ColumnType) -> pa.Array | None:
    """The column, if Arrow sees at once that all results are numbers of its class; truth values are ints."""
    try:
        # Asked for ints, Arrow would cut floats.
        found = arrow_floats(results) if column_type == FLOAT else pa.array(results)
    except _NO_NUMBERS:
        return None
    return found.cast(column_type.physical) if found.type in (column_type.physical, pa.bool_()) else None


def _require_unchanged(result: Any, column_type: ColumnType) -> None:
    family = family_of(type(result))
    # What is neither a date nor a number is told where it is stored.
    fits = family not in NUMBERS if column_type.kind == DATETIME_KIND else family == MISSING or family in NUMBERS
    if not fits or (family in NUMBERS and _changes(result, column_type)):
        raise SchemaError(f"{brief(result, 80)} ({type(result).__name__}) is no {column_type.kind}, as the first results were")


def _changes(result: Any, column_type: ColumnType) -> bool:
    """True for a number that a column of numbers would hold as another one; a float stands for its decimal."""
    number = plain_number(result)
    if column_type == INT:
        return int_equal_to(number) is None
    return family_of(type(result)) == INT_KIND and float(number) != int(result)
