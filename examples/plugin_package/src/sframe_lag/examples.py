"""Examples of lag for the contract kit of sframe_spark."""

from __future__ import annotations

from sframe_lag.operators import Lag
from sframe_spark import SArray
from sframe_spark.plugin import node_of
from sframe_spark.testing.contract import Example

VALUES = [3, None, 1, 3, -4, None, 0, 5, 5, 2, 7]

EXAMPLES = (
    Example("lag", "by three rows", lambda: Lag(3).make_planner_node(node_of(SArray(VALUES)))),
    Example("lag", "by more rows than there are", lambda: Lag(20).make_planner_node(node_of(SArray(VALUES)))),
    Example("lag", "texts, by no row", lambda: Lag(0).make_planner_node(node_of(SArray(["a", None, "c"])))),
)
