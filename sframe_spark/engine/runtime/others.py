"""Operators of plug-ins at work: what they are given they may change, and their failures say whose they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeVar

from sframe_spark.errors import PlanInvariantError, SFrameError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts
from sframe_spark.planner.operator import DecomposableOperator, Operator, SequentialOperator
from sframe_spark.planner.ours import is_ours
from sframe_spark.udf.errors import failure
from sframe_spark.udf.external_functions import fresh

Result = TypeVar("Result")


def asked(operator: Operator, ask: Callable[[], Result]) -> Result:
    """What an operator says, or an error that names it.

    Raises
    ------
    UserFunctionError
        If it fails otherwise than by an error of ours; also of the class of what it raised.
    """
    try:
        return ask()
    except SFrameError:
        raise
    except Exception as error:
        if is_ours(type(operator)):
            raise
        raise failure(f"the operator {operator.name!r}", error) from error


def advanced(operator: SequentialOperator, inputs: Sequence[Any], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
    """Rows of a range and the state after it; the state before it stays as it is.

    Raises
    ------
    PlanInvariantError
        If the operator gives something else, or another number of rows than it says.
    """
    if is_ours(type(operator)):
        return operator.advance(inputs, facts, state)
    found: Any = asked(operator, lambda: operator.advance(inputs, facts, fresh(state)))
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Chunk):
        raise PlanInvariantError(
            f"advance() of the operator {operator.name!r} gave a {type(found).__name__}: it gives a Chunk and the state after it"
        )
    if operator.keeps_dense and found[0].rows != inputs[0].rows:
        said = f"{found[0].rows:,} rows for {inputs[0].rows:,}"
        raise PlanInvariantError(f"advance() of the operator {operator.name!r} gave {said}, and it keeps_dense: a row for each")
    return found[0], found[1]


def combined_all(operator: DecomposableOperator, parts: Sequence[Any], facts: Sequence[Facts]) -> Any:
    """The part of some runs of rows behind each other, from the part of each, which stays as it is."""
    if is_ours(type(operator)):
        return operator.combined_all(parts, facts)
    return asked(operator, lambda: operator.combined_all([fresh(part) for part in parts], facts))


def combined(operator: Operator, combine: Callable[[Any, Any], Any], parts: Iterable[Any]) -> Any:
    """What an operator knows of runs of rows behind each other, its states, from what it knows of each, which stays as it is."""
    if is_ours(type(operator)):
        return reduce(combine, parts)
    return reduce(lambda first, second: asked(operator, lambda: combine(fresh(first), fresh(second))), parts)
