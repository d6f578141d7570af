"""Checks and converts indices, slices, masks and flags that users pass."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sframe_spark import errors
from sframe_spark.api.node_value_conversion import equal_length, row_count
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.operators.row_selection import filter_by_mask, slice_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.input_copying_simplification_and_validation import is_of_spark
from sframe_spark.values.plain_values import is_number, one_value

with lazy_imports(globals()):
    from sframe_spark.operators.elementwise import apply_function

ROW_LIMIT = 2**62
"""More rows than any frame has; a row number added to it still fits 64 bits."""


def masked(node: PlannerNode, mask: PlannerNode, what: str) -> PlannerNode:
    """Return the rows in which a mask, a column of the same length, has a true value.

    Raises
    ------
    MaskLengthError
        If the numbers of rows differ; ``what`` is the class of the filtered rows, for the message.
    """
    if not equal_length(node, mask):
        raise errors.MaskLengthError(f"the mask has {row_count(mask)} rows, the {what} has {row_count(node)}: a mask needs one value per row")
    return filter_by_mask(node, apply_function("truth", mask))


def immutable_rows_error(column: str) -> errors.SchemaError:
    """Return the error to raise when a user assigns or deletes rows of a column, which is immutable; its message says what to do instead.

    Examples
    --------
    >>> print(immutable_rows_error("sf['a']"))
    rows cannot be assigned to; replace the column: sf['a'] = SArray.where(sf['a'] > 9, 9, sf['a']), or leave rows out by a filter
    """
    return errors.SchemaError(
        f"rows cannot be assigned to; replace the column: {column} = SArray.where({column} > 9, 9, {column}), or leave rows out by a filter"
    )


def whole(value: Any, what: str) -> int:
    """Return a number as an int: floats are truncated, as in Turi Create, and huge numbers limited to plus or minus ``ROW_LIMIT``.

    Raises
    ------
    SchemaError
        If the value is not a number.
    InvalidArgumentError
        If the value is NaN or infinite (if infinite, the error is also an OverflowError).
    """
    value = one_value(value)
    if not (is_number(value) or isinstance(value, np.bool_)):
        raise errors.SchemaError(f"{what} must be a whole number, got {value!r}")
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise (errors.InvalidArgumentError if math.isnan(value) else errors.BeyondRangeError)(f"{what} must be a whole number, got {value!r}")
    return max(-ROW_LIMIT, min(int(value), ROW_LIMIT))


def flag(value: Any, what: str) -> bool:
    """Return whether a flag is set: a Boolean, or a number that is not zero after truncation, as in Turi Create.

    Raises
    ------
    SchemaError
        If the value is neither a Boolean nor a number.
    """
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise errors.SchemaError(f"{what} must be True or False, got {value!r}")
    return bool(whole(value, what))


def row_number(index: Any, rows: int, what: str) -> int:
    """Return the row number, from 0, for an index, which counts from the end if it is negative.

    Raises
    ------
    IndexError
        If there is no such row.
    """
    number = int(index)
    if number < 0:
        number += rows
    if not 0 <= number < rows:
        raise errors.RowNotFoundError(f"{what} has {rows} rows, so there is no row {brief(int(index))}")
    return number


def is_collection(values: Any) -> bool:
    """Return whether values are an iterable, but not a string, bytes or a mapping, nor a Spark Column (iterating over one raises an error)."""
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)) and not is_of_spark(values)


def is_row_index(key: Any) -> bool:
    """Return whether a key is an integer, also of other libraries such as numpy."""
    return isinstance(key, numbers.Integral)


def sliced(node: PlannerNode, key: slice, count: Callable[[], int]) -> PlannerNode:
    """Return the rows that a slice selects; negative bounds count from the end.

    ``count`` returns the number of rows, and is called only if a bound is negative.

    Raises
    ------
    OverflowError
        If the step is negative.
    ValueError
        If the step is zero.
    """
    if isinstance(key.start, str) or isinstance(key.stop, str):
        names = [bound for bound in (key.start, key.stop) if isinstance(bound, str)]
        raise errors.SchemaError(f"slices are of rows, by their numbers: columns are chosen by a list, as in sf[{names!r}]")
    start = 0 if key.start is None else whole(key.start, "the start of a slice")
    stop = None if key.stop is None else whole(key.stop, "the end of a slice")
    step = 1 if key.step is None else whole(key.step, "the step of a slice")
    if step < 0:
        backwards = "sf.add_row_number('id').sort('id', ascending=False) reverses them"
        raise errors.NegativeCountError(f"rows are read forwards only, so the step of a slice must be positive; {backwards}")
    if step == 0:
        raise errors.ZeroStepError("the step of a slice cannot be zero")
    if start < 0 or (stop is not None and stop < 0):
        start, stop, step = slice(start, stop, step).indices(count())
    if stop is not None and stop < start:
        stop = start
    return slice_rows(node, start, stop, step)


def true_or_false(value: Any, name: str) -> bool:
    """Return the value of an argument that is True or False.

    Raises
    ------
    SchemaError
        If it is anything else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise errors.SchemaError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def degrees_of_freedom(ddof: Any) -> int:
    """Return the degrees of freedom of a variance, as an int.

    Raises
    ------
    TypeError
        If it is not an int.
    OverflowError
        If it is negative.
    """
    freedom = whole(ddof, "ddof")
    if freedom < 0:
        raise errors.NegativeCountError(f"ddof cannot be negative, got {brief(ddof)}: 0 is for a population, 1 for a sample")
    return freedom


def head_count(n: Any) -> int:
    """Return the number of rows that ``head`` or ``tail`` takes, as an int.

    Raises
    ------
    OverflowError
        If the number is negative.
    """
    count = whole(n, "the number of rows to take")
    if count < 0:
        raise errors.NegativeCountError(f"the number of rows to take cannot be negative, got {brief(n)}")
    return count
