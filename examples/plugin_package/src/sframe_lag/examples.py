"""Examples of lag for the contract kit of sframe_spark."""

from __future__ import annotations

from typing import Any

from sframe_lag.operators import Lag
from sframe_spark import SArray
from sframe_spark.plugin import node_of
from sframe_spark.testing.contract import Example

VALUES = [3, None, 1, 3, -4, None, 0, 5, 5, 2, 7]


def example(title: str, rows: int, values: list[Any]) -> Example:
    """A lag by some rows, with what it means in plain Python."""

    def moved(given: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return ([(None,)] * rows + given)[: len(given)]

    return Example("lag", title, lambda: Lag(rows).make_planner_node(node_of(SArray(values))), expected=moved)


EXAMPLES = (
    example("by three rows", 3, VALUES),
    example("by more rows than there are", 20, VALUES),
    example("texts, by no row", 0, ["a", None, "c"]),
)
