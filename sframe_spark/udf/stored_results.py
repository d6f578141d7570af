"""Results of users' functions as columns: of a type that was asked for, or that the first rows told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, INT_KIND, ColumnType
from sframe_spark.values.encode import arrow_floats, encode
from sframe_spark.values.plain import LARGEST_INT, MISSING, NUMBERS, SMALLEST_INT, family_of, int_equal_to, plain_number
from sframe_spark.visible import brief

LARGEST_FLOAT = int(sys.float_info.max)
_NO_NUMBERS = (pa.ArrowException, OverflowError, TypeError, ValueError)


@attrs.frozen
class Guess:
    """The types of a function's results were found by its results for the first rows.

    Parameters
    ----------
    rounded
        Places of the columns that are of floats because of ints of more than 64 bits: their last digits are lost, so those of later ints are too.
    """

    rounded: tuple[int, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[tuple[ColumnType, Sequence[Any]]]) -> Guess:
        """From the type and the first values of each column.

        Examples
        --------
        >>> Guess.of([(INT, [1]), (FLOAT, [1, 2**64]), (FLOAT, [1.5, None])])
        Guess(rounded=(1,))
        """
        return cls(tuple(place for place, (column_type, values) in enumerate(columns) if column_type == FLOAT and any(map(_is_wide_int, values))))


def stored_results(results: Sequence[Any], column_type: ColumnType, guess: Guess | None = None, place: int = 0) -> pa.Array:
    """Store what a function gave for rows, in their order, in one of its columns.

    A class that was asked for takes what becomes a value of it, as 2.5 becomes the int 2. Nobody asked for one that the first rows told, who may have
    given None only: later rows that gave another number would lose their fraction, or the last digits of large ints, dates would become numbers, and
    numbers dates. Ints that no column of ints holds are floats, as in the reference, if there are some in the first rows.

    Raises
    ------
    SchemaError
        If a result does not fit.

    Examples
    --------
    >>> stored_results([1, None, 2.5], INT).to_pylist()
    [1, None, 2]
    >>> stored_results([1, None, 2.5], INT, Guess())
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 2.5 (float) is no int, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, Guess())
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: 9007199254740993 (int) is no float, as the first results were
    >>> stored_results([None, 2**53 + 1], FLOAT, Guess.of([(FLOAT, [2**70])])).to_pylist()
    [None, 9007199254740992.0]
    """
    if guess is None or (column_type not in (INT, FLOAT) and column_type.kind != DATETIME_KIND):
        return encode(results, column_type)
    found = _unchanged(results, column_type) if column_type.is_numeric else None
    if found is not None:
        return found
    for result in results:
        _require_unchanged(result, column_type, place in guess.rounded)
    return encode(results, column_type)


def _unchanged(results: Sequence[Any], column_type: ColumnType) -> pa.Array | None:
    """The column, if Arrow sees at once that all results are numbers of its class; truth values are ints."""
    try:
        # Asked for ints, Arrow would cut floats.
        found = arrow_floats(results) if column_type == FLOAT else pa.array(results)
    except _NO_NUMBERS:
        return None
    return found.cast(column_type.physical) if found.type in (column_type.physical, pa.bool_()) else None


def _require_unchanged(result: Any, column_type: ColumnType, may_round: bool) -> None:
    family = family_of(type(result))
    # What is neither a date nor a number is told where it is stored.
    fits = family not in NUMBERS if column_type.kind == DATETIME_KIND else family == MISSING or family in NUMBERS
    if not fits or (family in NUMBERS and not may_round and _changes(result, column_type)):
        raise SchemaError(f"{brief(result, 80)} ({type(result).__name__}) is no {column_type.kind}, as the first results were")


def _changes(result: Any, column_type: ColumnType) -> bool:
    """True for a number that a column of numbers would hold as another one; a float stands for its decimal."""
    number = plain_number(result)
    if column_type == INT:
        return int_equal_to(number) is None
    return family_of(type(result)) == INT_KIND and float(number) != int(result)


def advice_on(result: Any, column_type: ColumnType, guess: Guess | None, call: str, floats: str, ints: str) -> str:
    """What to do about a result that its column cannot hold.

    Parameters
    ----------
    call
        Which call to change.
    floats, ints
        What to give it, so that the column is one of floats, or of ints.
    """
    if column_type == DATETIME and getattr(result, "tzinfo", None) is not None:
        return "it has an offset from UTC, and those of the first rows have none: give all of them one, or none"
    if _is_wide_int(result) and abs(int(result)) > LARGEST_FLOAT:
        return "it is beyond the largest float: let the function return its text"
    is_number = isinstance(result, (int, float, np.integer, np.floating))
    if column_type == INT and is_number and guess is not None:
        return f"the first rows gave ints; give {call} {floats}"
    if column_type == INT and (_is_wide_int(result) or (is_number and not abs(result) < 2.0**63)):
        return f"an int has 64 bits; give {call} {floats}{', which loses digits' if _is_wide_int(result) else ''}"
    if column_type == FLOAT and guess is not None and isinstance(result, (int, np.integer)):
        told = "the first rows gave floats or None, and this int is none"
        if _is_wide_int(result):
            return f"{told}; give {call} {floats} to lose digits"
        return f"{told}; give {call} {ints} if all are ints, or {floats} to lose digits"
    return f"give {call} another {floats.partition('=')[0]}, or convert the value in the function"


def _is_wide_int(value: Any) -> bool:
    """True for an int that needs more than 64 bits."""
    return isinstance(value, (int, np.integer)) and not SMALLEST_INT <= int(value) <= LARGEST_INT
