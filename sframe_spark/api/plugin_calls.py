"""Calls of scalar functions and aggregates by their names in the engine's tables, as plug-ins define them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sframe_spark.api.aggregates.requests import AggregateRequest, request
from sframe_spark.api.node_value_conversion import literal_of, require_pairs, row_tuples
from sframe_spark.api.sarray import SArray
from sframe_spark.errors import InvalidArgumentError, LengthMismatchError, SchemaError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, require_count, require_taken
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.operators.project_zip_arrange import zip_columns


def call(function: str, *arguments: Any, parameters: Sequence[Any] = ()) -> SArray:
    """Return the results of calling a scalar function on columns.

    Parameters
    ----------
    function
        Name of a scalar function.
    arguments
        One or more columns of equal length, and values that are the same in every row.
    parameters
        Static parameters of the function.

    Raises
    ------
    ValueError
        If no function has the name.
    RuntimeError
        If the columns have different lengths.
    TypeError
        If there is no column, or the function does not take the arguments' types.
    UnsupportedOperationError
        If the function takes another number of arguments.

    Examples
    --------
    >>> list(call("add", SArray([1, 2]), 10))
    [11, 12]
    """
    entry = FUNCTIONS.named(function)
    columns = [argument._node for argument in arguments if isinstance(argument, SArray)]
    if not columns:
        raise SchemaError(f"{function!r} needs at least one column: SArray(values) makes one")
    for number, column in enumerate(columns[1:], start=2):
        require_pairs(columns[0], column, f"the first column that {function!r} is called with", f"column {number}")
    positions = iter(range(len(columns)))
    operands = tuple(Register(next(positions)) if isinstance(argument, SArray) else literal_of(argument) for argument in arguments)
    step = Step(function, operands, _as_tuple(function, parameters))
    result = apply_program(zip_columns(*columns), Program(len(columns), (step,), (Register(len(columns)),)))
    types = [columns[operand.index].schema[0] if isinstance(operand, Register) else operand.type for operand in operands]
    require_taken(entry, [None if isinstance(operand, Register) else operand.to_scalar() for operand in operands], types, step.parameters)
    return SArray(_node=result)


def aggregate_of(function: str, *columns: str, parameters: Sequence[Any] = (), label: str | None = None) -> AggregateRequest:
    """Return a request for an aggregate of each group, for ``groupby`` and for every method that takes the same aggregates.

    Parameters
    ----------
    function
        Name of an aggregate function.
    columns
        Names of the argument columns.
    parameters
        Static parameters of the function.
    label
        Name of the output column if the caller gives none; by default it is made of the names of the function and the columns.

    Raises
    ------
    ValueError
        If no aggregate has the name.
    TypeError
        If the aggregate takes another number of columns.

    Examples
    --------
    >>> aggregate_of("sum", "v").label
    'sum of v'
    """
    require_count(AGGREGATES.kind, AGGREGATES.named(function), len(columns))
    default = f"{function} of {', '.join(map(str, columns))}" if columns else function
    return request(function, default if label is None else label, *columns, parameters=parameters)


def reduce(function: str, *columns: SArray, parameters: Sequence[Any] = ()) -> Any:
    """Return an aggregate of all rows.

    Parameters
    ----------
    function
        Name of an aggregate function.
    columns
        One or more argument columns of equal length.
    parameters
        Static parameters of the function.

    Raises
    ------
    ValueError
        If no aggregate has the name.
    RuntimeError
        If the columns have different lengths.

    Examples
    --------
    >>> reduce("argmax", SArray([1, 7, 3]), SArray(["a", "b", "c"]))
    'b'
    """
    AGGREGATES.named(function)
    if wrong := [column for column in columns if not isinstance(column, SArray)]:
        raise SchemaError(f"{function!r} takes columns, but one argument is of type {type(wrong[0]).__name__}: SArray(values) makes a column")
    nodes = [column._node for column in columns]
    if not nodes:
        raise LengthMismatchError(f"{function!r} needs at least one column, and all must have the same length")
    for number, node in enumerate(nodes[1:], start=2):
        require_pairs(nodes[0], node, f"the first column that {function!r} is given", f"column {number}")
    aggregation = Aggregation(function, tuple(range(len(nodes))), _as_tuple(function, parameters))
    return row_tuples(reduce_columns(zip_columns(*nodes), [aggregation]))[0][0]


def _as_tuple(function: str, parameters: Any) -> tuple[Any, ...]:
    if not isinstance(parameters, (list, tuple)):
        raise InvalidArgumentError(f"the parameters of {function!r} must be a list, not {parameters!r:.80}")
    return tuple(parameters)
