"""Row numbers and slices as users write them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sframe_spark.api.captured import compute_captured
from sframe_spark.config import config
from sframe_spark.errors import (
    BeyondRangeError,
    InvalidArgumentError,
    MaskLengthError,
    NegativeCountError,
    NotCallableError,
    RowNotFoundError,
    SchemaError,
    ZeroStepError,
)
from sframe_spark.operators.relational.rows import slice_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.udf.bound_function import FunctionAsNow
from sframe_spark.values.libraries import is_of_spark
from sframe_spark.values.plain import is_number, one_value
from sframe_spark.visible import brief

MOST_ROWS = 2**62
"""More rows than any frame has, with room for adding."""


def mask_error(mask: int, rows: int, what: str) -> MaskLengthError:
    """The error about a mask of another length than what it selects from."""
    return MaskLengthError(f"the mask has {mask} rows, the {what} has {rows}: a mask needs one value per row")


def unchanged_rows(column: str) -> SchemaError:
    """The error about values that are assigned to rows, or rows that are deleted: columns are made anew.

    Examples
    --------
    >>> print(unchanged_rows("sf['a']"))
    rows are not changed, columns are replaced: sf['a'] = SArray.where(sf['a'] > 9, 9, sf['a']); a filter leaves rows out
    """
    return SchemaError(f"rows are not changed, columns are replaced: {column} = SArray.where({column} > 9, 9, {column}); a filter leaves rows out")


def function_as_now(
    fn: Any, what: str, rows: int | None, tried: int = 0, form: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
) -> FunctionAsNow:
    """The function that a user gave, with its names bound to what they name now.

    Parameters
    ----------
    fn
        What the user gave.
    what
        What messages call it.
    rows, tried
        For how many rows it is called at most, and for how many of them at once: for others it is kept with what it reaches now.
    form
        Makes of it what is called.

    Raises
    ------
    NotCallableError
        If it is something else.
    """
    if not callable(fn):
        raise NotCallableError(f"{what} takes a function, got {type(fn).__name__}")
    bound = FunctionAsNow(fn, form)
    compute_captured(bound)
    if rows is None or rows > tried:
        bound.keep(is_for_others=rows is None or rows > config.small_rows)
    return bound


def whole(value: Any, what: str) -> int:
    """A whole number of rows; floats are cut, as in the reference, and what is beyond the rows of any frame to the most.

    Raises
    ------
    SchemaError
        If the value is not a number.
    InvalidArgumentError
        If it is infinite (an OverflowError too) or NaN.
    """
    value = one_value(value)
    if not (is_number(value) or isinstance(value, np.bool_)):
        raise SchemaError(f"{what} is a whole number, got {value!r}")
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise (InvalidArgumentError if math.isnan(value) else BeyondRangeError)(f"{what} is a whole number, got {value!r}")
    return max(-MOST_ROWS, min(int(value), MOST_ROWS))


def flag(value: Any, what: str) -> bool:
    """A choice that is given as a truth value, or as a number that is cut to a whole one, as in the reference.

    Raises
    ------
    SchemaError
        If it is neither.
    """
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise SchemaError(f"{what} is True or False, got {value!r}")
    return bool(whole(value, what))


def row_number(index: Any, rows: int, what: str) -> int:
    """A row number from 0, from a user's index that may be negative.

    Raises
    ------
    IndexError
        If there is no such row.
    """
    number = int(index)
    if number < 0:
        number += rows
    if not 0 <= number < rows:
        raise RowNotFoundError(f"{what} has {rows} rows, so there is no row {brief(index)}")
    return number


def is_collection(values: Any) -> bool:
    """True for values to be taken one by one; a Column of Spark's only looks like that."""
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)) and not is_of_spark(values)


def is_row_index(key: Any) -> bool:
    """True for whole numbers of any kind."""
    return isinstance(key, numbers.Integral)


def sliced(node: PlannerNode, key: slice, count: Callable[[], int]) -> PlannerNode:
    """Rows of a slice; negative bounds count from the end, the step is positive.

    Raises
    ------
    OverflowError
        If the step is negative.
    ValueError
        If the step is zero.
    """
    start = 0 if key.start is None else whole(key.start, "the start of a slice")
    stop = None if key.stop is None else whole(key.stop, "the end of a slice")
    step = 1 if key.step is None else whole(key.step, "the step of a slice")
    if step < 0:
        backwards = "sf.add_row_number('id').sort('id', ascending=False) turns them round"
        raise NegativeCountError(f"rows are read forwards only: the step of a slice must be positive; {backwards}")
    if step == 0:
        raise ZeroStepError("the step of a slice cannot be zero")
    if start < 0 or (stop is not None and stop < 0):
        rows = count()
        start, stop, step = slice(start, stop, step).indices(rows)
    if stop is not None and stop < start:
        stop = start
    return slice_rows(node, start, stop, step)


def head_count(n: Any) -> int:
    """A number of rows to take.

    Raises
    ------
    OverflowError
        If it is negative.
    """
    count = whole(n, "the number of rows to take")
    if count < 0:
        raise NegativeCountError(f"the number of rows to take cannot be negative, got {brief(n)}")
    return count
