"""What all parts of the contract kit share: examples, the error, comparison of rows."""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sframe_spark.errors import ContractBroken
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.decode import decode_columns

Rows = list[tuple[Any, ...]]

PARTITIONS = (1, 2, 7)
"""Numbers of row ranges and of Spark partitions that must all give the same rows."""

# Spark adds floats in another order than Arrow does.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12


@attrs.frozen(eq=False)
class Example:
    """An operator at work: one node over sources.

    Parameters
    ----------
    operator
        Registered name of the operator.
    title
        What the example shows.
    build
        Makes the node anew.
    needs_spark
        Building starts Spark.

    Examples
    --------
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> str(Example("range_source", "three numbers", lambda: range_source(0, 3)))
    'range_source -- three numbers'
    """

    operator: str
    title: str
    build: Callable[[], PlannerNode]
    needs_spark: bool = False

    def node(self) -> PlannerNode:
        """The node, which must be one of the operator."""
        node = self.build()
        demand(node.operator_type == self.operator, node, "the example's last operator is the one it is about", str(self))
        return node

    def __str__(self) -> str:
        return f"{self.operator} -- {self.title}"


def demand(holds: bool, node: PlannerNode, rule: str, found: str) -> None:
    """Raise :class:`ContractBroken` unless a rule holds."""
    if not holds:
        raise ContractBroken(node, rule, found)


def rows_of(chunk: Chunk, schema: Schema) -> Rows:
    """Rows of a chunk as Python values; as many empty ones as it has rows if it has no column."""
    if not schema:
        return [()] * chunk.rows
    return list(zip(*decode_columns(chunk.columns, schema), strict=True))


def multiset(rows: Rows) -> Rows:
    """The rows in an order of their own."""
    return sorted(rows, key=repr)


def same_rows(first: Rows, second: Rows) -> bool:
    """Whether two lists of rows are equal, floats up to rounding."""
    return same_values(first, second)


def same_values(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two sequences are equal item by item, floats up to rounding."""
    return len(first) == len(second) and all(same_value(a, b) for a, b in zip(first, second, strict=True))


def same_value(first: Any, second: Any) -> bool:
    """Whether two values are equal: of one class, NaN equal to NaN, floats up to rounding.

    Examples
    --------
    >>> same_value(0.1 + 0.2, 0.3), same_value(1, 1.0), same_value([None, float("nan")], [None, float("nan")])
    (True, False, True)
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        return math.isclose(first, second, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    if isinstance(first, (list, tuple, array.array)):
        return same_values(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_value(value, second[key]) for key, value in first.items())
    return bool(first == second)
