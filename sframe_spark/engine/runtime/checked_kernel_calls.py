"""Calls operators and checks what they return: values of a wrong type would be misread. Errors of plug-ins name their operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa

from sframe_spark.errors import PlanInvariantError, SFrameError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import is_builtin
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import DecomposableOperator, Operator, SequentialOperator

with lazy_imports(globals()):
    from sframe_spark.udf.function_errors import failure
    from sframe_spark.udf.pickling import fresh

Result = TypeVar("Result")


def require_inferred(operator: Operator, inputs: Sequence[Any], chunk: Chunk, schema: Schema) -> Chunk:
    """Return the rows of an operator after checking their columns, types and, for row-wise operators, their number.

    Raises
    ------
    PlanInvariantError
        If they are not as inferred; the message names the operator and the column.
    """
    if not isinstance(chunk, Chunk):
        raise _wrong_rows(operator, f"a {type(chunk).__name__}: it gives a Chunk")
    columns = chunk.columns
    if len(columns) != len(schema):
        raise _wrong_rows(operator, f"{len(columns)} columns, its infer_type says {len(schema)}")
    for position, (column, column_type) in enumerate(zip(columns, schema, strict=True)):
        arrow_type = getattr(column, "type", None)
        if not isinstance(arrow_type, pa.DataType):
            raise _wrong_rows(operator, f"a {type(column).__name__} as column {position}: it gives Arrow arrays, as pa.array() makes", [position])
        if len(column) != chunk.rows:
            message = f"{len(column):,} values in column {position} of a Chunk of {chunk.rows:,} rows: one for each"
            raise _wrong_rows(operator, message, [position])
        if arrow_type is not column_type.physical and not arrow_type.equals(column_type.physical):
            said = f"its infer_type says {column_type}, which is {column_type.physical}"
            raise _wrong_rows(operator, f"Arrow's {arrow_type} in column {position}, {said}: cast it, or infer another type", [position])
    if operator.row_wise and inputs and chunk.rows != inputs[0].rows:
        raise _wrong_rows(operator, f"{chunk.rows:,} rows of {inputs[0].rows:,}, and it is row_wise: one for each")
    return chunk


def _wrong_rows(operator: Operator, what: str, columns: Sequence[int] | None = None) -> PlanInvariantError:
    return PlanInvariantError(f"the kernel of {operator.called(columns)!r} gave {what}")


def call_operator(operator: Operator, call: Callable[[], Result]) -> Result:
    """Return the result of a call of an operator's method; unexpected errors of plug-in operators name the operator.

    Raises
    ------
    UserFunctionError
        If a plug-in operator raises an error that is not an SFrameError. The error is also an instance of that error's class.
    """
    try:
        return call()
    except SFrameError:
        raise
    except Exception as error:
        if is_builtin(type(operator)):
            raise
        raise failure(f"the operator {operator.name!r}", error) from error


def rows_of_all(operator: Operator, rows: Chunk, facts: Facts, schema: Schema) -> Chunk:
    """Return what a kernel gives for all rows of its only input, checked.

    Raises
    ------
    PlanInvariantError, UserFunctionError
        As :func:`require_inferred` and :func:`call_operator` do.
    """
    return require_inferred(operator, (), call_operator(operator, lambda: operator.kernel([rows], [facts])), schema)


def advance(operator: SequentialOperator, inputs: Sequence[Any], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
    """Advance a sequential operator over a batch; return the rows and the new state. The old state is not changed.

    Raises
    ------
    PlanInvariantError
        If the operator does not return a chunk and a state, or a wrong number of rows.
    """
    if is_builtin(type(operator)):
        return operator.advance(inputs, facts, state)
    result: Any = call_operator(operator, lambda: operator.advance(inputs, facts, fresh(state)))
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], Chunk):
        raise PlanInvariantError(
            f"advance() of the operator {operator.name!r} gave a {type(result).__name__}: it gives a Chunk and the state after it"
        )
    if operator.keeps_dense and result[0].rows != inputs[0].rows:
        said = f"{result[0].rows:,} rows for {inputs[0].rows:,}"
        raise PlanInvariantError(f"advance() of the operator {operator.name!r} gave {said}, and it keeps_dense: a row for each")
    return result[0], result[1]


def combine_parts(operator: DecomposableOperator, parts: Sequence[Any], facts: Sequence[Facts]) -> Any:
    """Merge the partial states of consecutive row ranges; the states of a plug-in operator are copied first."""
    if is_builtin(type(operator)):
        return operator.combined_all(parts, facts)
    return call_operator(operator, lambda: operator.combined_all([fresh(part) for part in parts], facts))


def combine_states(operator: Operator, combine: Callable[[Any, Any], Any], parts: Iterable[Any]) -> Any:
    """Combine the states of consecutive row ranges; the states of a plug-in operator are copied first."""
    if is_builtin(type(operator)):
        return reduce(combine, parts)
    return reduce(lambda first, second: call_operator(operator, lambda: combine(fresh(first), fresh(second))), parts)
