"""Functions that plug-ins have added to the tables, where operators of this package name them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.program import Step
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.planner.operator import Operator


def calls_plugins(operator: Operator) -> bool:
    """True when an operator computes by a function that is not built in.

    Examples
    --------
    >>> from sframe_spark.operators.groupby.groupby import Reduce
    >>> calls_plugins(Reduce((Aggregation("sum", (0,)),)))
    False
    """
    scalars, aggregates = ({entry.name for entry in table.added()} for table in (FUNCTIONS, AGGREGATES))
    if operator.is_source or not (scalars or aggregates):
        return False
    return any(part.function in (scalars if isinstance(part, Step) else aggregates) for part in calls_within(operator))


def calls_within(value: Any) -> Iterator[Step | Aggregation]:
    """The calls of named functions that an operator is made of, wherever it holds them."""
    if isinstance(value, (Step, Aggregation)) and isinstance(value.function, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from calls_within(item)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from calls_within(getattr(value, field.name))
