"""Few bytes on a cluster: threads of this process are through with them before a job of Spark's has begun."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.engine.budgets import UNKNOWN_BYTES, weight_of
from sframe_spark.engine.physical.late_materialization import numbered_rows
from sframe_spark.engine.physical.placement import are_for_threads
from sframe_spark.engine.physical.sections import SectionResult
from sframe_spark.locations import is_elsewhere
from sframe_spark.operators.sources.segment_subset import STORED_ROWS
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode


def is_sooner_here(root: PlannerNode) -> bool:
    """True for kernels of ours over rows near by, of so few bytes as the driver may work on."""
    if not config.small_rows or not are_for_threads(root):
        return False
    weight = weight_of(root, UNKNOWN_BYTES)
    return weight is not None and weight.size <= config.memory_budget and all(map(is_near, postorder([root])))


def are_parts_sooner_here(node: PlannerNode) -> bool:
    """True for an operator over such rows; of one that chooses rows, the columns that decide are what is read of all of them."""
    if not config.small_rows:
        return False
    if is_sooner_here(node.inputs[0]):
        return True
    numbered = numbered_rows(node)
    return numbered is not None and is_sooner_here(numbered.deciding)


def is_near(node: PlannerNode) -> bool:
    """True for an operator that reads nothing but what is in this process, or in files of this machine: an object store is many machines' to read."""
    operator = node.operator
    if isinstance(operator, SectionResult):
        return not operator.section.mode.is_on_spark
    return bool(node.inputs) or operator.is_in_memory or (isinstance(operator, STORED_ROWS) and not is_elsewhere(operator.manifest.directory))
