"""Prepares functions that users pass: stores the values that their variables have now, and infers the column type of their results."""

from __future__ import annotations

import contextlib
import decimal
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import is_materialized, materialize
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_small
from sframe_spark.engine.physical.site import Site
from sframe_spark.errors import (
    InexactDecimalWarning,
    MixedTypesError,
    NotCallableError,
    SchemaError,
    SetOrderWarning,
    UnknownResultError,
    Untranslatable,
    users_level,
)
from sframe_spark.expressions.python_function import PythonFunction, describe_function, retained_copy
from sframe_spark.expressions.translated_function import TranslatedFunction, translated
from sframe_spark.operators.elementwise import LambdaTransform, apply_translated
from sframe_spark.operators.user_function_calls_and_result_memos import remember_first
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.progress import counted_calls, showing_work
from sframe_spark.types import DATETIME_KIND, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, LOGICAL, ZONED_DATETIME, ColumnType
from sframe_spark.udf.bound_function import FunctionAsNow
from sframe_spark.udf.function_errors import user_error
from sframe_spark.udf.result_caching_size_limits_and_storage import Guess
from sframe_spark.values.plain_values import MISSING, family_of
from sframe_spark.values.python_to_arrow import column_type_for, encode, infer_type
from sframe_spark.values.rounding_warnings import DIGITS_OF_FLOAT, rounding_warnings

# How many values of a column, and how many rows of a frame, result types are inferred from, as in Turi Create.
SAMPLE_VALUES = 100
SAMPLE_ROWS = 10
_TRUTH_VALUES = frozenset({bool, np.bool_})


def bind_function(
    fn: Any, what: str, rows: int | None, tried: int = 0, form: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
) -> FunctionAsNow:
    """Return a wrapper of a user's function that keeps the present values of its global and outer variables for later calls.

    Frames and columns among these values are materialized, except small ones.

    Parameters
    ----------
    fn
        The function that the user passed.
    what
        Name of the called method, for messages.
    rows, tried
        The maximum number of rows that the function is called for (None: unknown), and how many of these are called now. The present values of
        variables are kept if calls remain for later.
    form
        A function that wraps ``fn``.

    Raises
    ------
    NotCallableError
        If ``fn`` is not callable.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> names = SArray(["a", "b"])
    >>> list(SArray([1, 0]).apply(lambda row: names[row]))
    ['b', 'a']
    """
    if not callable(fn):
        raise NotCallableError(f"{what} takes a function, got {type(fn).__name__}: write one, such as str.upper or lambda value: value + 1")
    bound = FunctionAsNow(fn, form)
    # As in Turi Create, frames and columns that the function refers to are computed now; small ones are computed where the function is called.
    # Rows in memory are sent with the function; rows in files are read by it.
    for value in bound.reached():
        is_computed = isinstance(value, (ClassRegistry.array, ClassRegistry.frame)) and not is_materialized(value._node)
        if is_computed and not is_small(value._node, Site.now()):
            materialize(value._node)
    if rows is None or rows > tried:
        bound.keep(is_for_other_processes=rows is None or rows > config.small_rows)
    return bound


def infer_result_type(
    fn: FunctionAsNow, first: Callable[[], tuple[Sequence[Any], bool]], dtype: Any, skip_missing: bool
) -> tuple[ColumnType, list[Any], Guess | None]:
    """Return the column type of a function's results, its results for the first rows, and a ``Guess`` if the type was inferred from them (else None).

    The type is ``dtype`` if given. Lists and dicts get an encoding for items of any type, because later rows may hold other types than the first. For
    date-times, the function is called even if ``dtype`` is given, because only the results show whether they have an offset from UTC. ``first``
    returns the first rows, and whether they are sure to remain the first; if not, the returned list is empty, as results cannot be reused.
    """
    declared = None if dtype is None else column_type_for(dtype)
    if declared is not None and declared.kind != DATETIME_KIND:
        return declared, [], None
    rows, fixed = first()
    classes: set[type] = set()

    def call(value: Any) -> Any:
        if skip_missing and value is None:
            return None
        result = fn(value)
        classes.add(type(result))
        return retained_copy(result)

    results = list(first_results(fn, rows, call))
    present = [result for result in results if _family(result) != MISSING]
    usable_results = results if fixed and not fn.order_differs_across_processes else []
    if declared is not None:
        suits = all(_family(result) == DATETIME_KIND for result in present)
        # Without results the offsets are unknown. A column type with offsets can also hold date-times without one.
        column_type = infer_type(present) if present and suits else declared if present else ZONED_DATETIME
        return column_type, usable_results if suits else [], None
    try:
        column_type = type_for_any_items(type_of_results(present, "a dtype to apply()"))
    except SchemaError as error:
        raise UnknownResultError(str(error)) from None
    if not classes.isdisjoint({set, frozenset}):
        message = f"the function returns sets, which become values of class {column_type.python_class.__name__} in any order: return sorted(...)"
        warnings.warn(SetOrderWarning(message), stacklevel=users_level())
    return column_type, usable_results, Guess.of([(column_type, present)])


def first_results(fn: FunctionAsNow, values: Sequence[Any], call: Callable[[Any], Any]) -> Generator[Any]:
    """Yield the results of ``call``, which calls a user's function, for the first values; if it fails, the error shows the value."""
    with showing_work(f"computing the first results of {describe_function(fn)}"):
        for value in counted_calls(values, len(values)):
            try:
                result = call(value)
            except Exception as error:
                raise user_error(describe_function(fn), value, error) from None
            yield result


def _warn_of_rounding(results: Sequence[Any], column_type: ColumnType) -> None:
    """Warn if values are rounded when stored: floats that replace decimals, or first results with more digits than the column type holds.

    Ints are not checked: beyond 64 bits they become floats, as in Turi Create.
    """
    if len(results) >= SAMPLE_ROWS and column_type == FLOAT and any(isinstance(result, decimal.Decimal) for result in results):
        message = f"decimals become floats, which hold {DIGITS_OF_FLOAT} digits, so longer results are rounded; pass dtype=float, or return texts"
        warnings.warn(InexactDecimalWarning(message), stacklevel=users_level())
        return
    with contextlib.suppress(TypeError, ValueError, OverflowError, pa.ArrowException), rounding_warnings():
        encode([result for result in results if not isinstance(result, (int, np.integer))], column_type)


def _family(result: Any) -> str | None:
    """Return the value family of a result; None if no column can hold its class, for which an error is raised when the result is stored."""
    try:
        return family_of(type(result))
    except SchemaError:
        return None


def type_of_results(values: Sequence[Any], advice: str) -> ColumnType:
    """Return the column type that the given results of a function have in common; warn if storing them rounds numbers.

    Parameters
    ----------
    values
        Results that are not missing.
    advice
        For the error message: the call and the argument by which the user can give the type, such as ``a dtype to apply()``.

    Raises
    ------
    SchemaError
        If no column can hold the results, or they have no common type.

    Examples
    --------
    >>> type_of_results([object()], "a dtype to apply()")
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: the function returned a value that a column cannot hold: a column cannot hold values of class object: ...
    """
    try:
        column_type = infer_type(values, of_rows=False)
    except MixedTypesError as error:
        raise SchemaError(f"the function returns values of different types, so pass {advice}: {error}") from None
    except SchemaError as error:
        raise SchemaError(f"the function returned a value that a column cannot hold: {error}") from None
    _warn_of_rounding(values, column_type)
    return LOGICAL if column_type == INT and set(map(type, values)) <= _TRUTH_VALUES else column_type


def applied(node: PlannerNode, python: PythonFunction, first: Sequence[Any], rows: Sequence[Any]) -> PlannerNode:
    """Return a node with the results of a user's function of the rows of a node: an expression if the function can be translated, else its calls.

    Parameters
    ----------
    node
        The rows.
    python
        The function, with the type of its results.
    first, rows
        Its results for the first rows, if they are known, and these rows, or values.
    """
    bound = python.function
    assert isinstance(bound, FunctionAsNow)
    try:
        function = _translated(node, python, first, rows)
    except Untranslatable as error:
        bound.record_state(bool(first))
        return with_first_results(LambdaTransform(attrs.evolve(python, why_called=str(error))).make_planner_node(node), first)
    # The expression uses the current values of the captured variables, and so does the function where it is called.
    bound.record_state(True)
    return apply_translated(node, function)


def _translated(node: PlannerNode, python: PythonFunction, first: Sequence[Any], rows: Sequence[Any]) -> TranslatedFunction:
    """Return the translation of a function, whose first results are compared with the function's, if these are known."""
    if config.translate_functions == "off":
        raise Untranslatable("config.translate_functions is off")
    function = translated(python, node.schema)
    if not first:
        return function
    names, result, misfits = python.names, python.result, (TypeError, ValueError, OverflowError, pa.ArrowException)
    try:
        expected = encode(first, result)
        columns = [encode([row[names[position]] if names else row for row in rows], node.schema[position]) for position in function.positions]
    except misfits:
        # A result does not fit the type. The error is raised when these rows are computed.
        return function
    types = [node.schema[position] for position in function.positions]
    try:
        found = function.kernel(columns, types, (), len(rows))
    except misfits:
        # First results may be rounded, such as large ints among floats; later ones may not.
        raise Untranslatable("some of its first results are rounded") from None
    if not function.agrees(found, expected):
        raise Untranslatable("its translation gives other results for the first rows")
    return function


def with_first_results(node: PlannerNode, results: Sequence[Any]) -> PlannerNode:
    """Return the node after storing its first values in it, so that the function is not called again for these rows."""
    try:
        column = encode(results, node.schema[0])
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        # A result does not fit the type. The error is raised when these rows are computed.
        return node
    remember_first(node, Chunk.of([column]))
    return node


def type_for_any_items(column_type: ColumnType) -> ColumnType:
    """Return a column type for lists or dicts with items of any type; other types are returned as they are."""
    return {"list": ENCODED_LIST, "dict": ENCODED_DICT}.get(column_type.kind, column_type)
