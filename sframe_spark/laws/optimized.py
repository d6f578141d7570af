"""Plans after the laws that the options of the library leave."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.laws import builtin_optimizer
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace


def optimize(node: PlannerNode, until: str | None = None, trace: Trace | None = None) -> PlannerNode:
    """Equivalent plan after the laws; the graph itself is unchanged."""
    return builtin_optimizer(config.disabled_laws, config.check != "off").optimize(node, until, trace)
