"""Which plans read only rows near this process, so that threads of it are done with few bytes before a Spark job has started."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import are_for_threads
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.section_tree import SectionResult
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import plan_size_of
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import SourceKind


def is_cheaper_locally(root: PlannerNode, site: Site) -> bool:
    """Return whether a plan has only built-in kernels over local rows within the driver's memory budget, so that it runs faster in this process."""
    return are_cheaper_locally([root], site)


def are_cheaper_locally(roots: Sequence[PlannerNode], site: Site) -> bool:
    """Return whether the same holds for several plans together, as for the sides of a join."""
    if not site.small_rows or not all(map(are_for_threads, roots)):
        return False
    sizes = [plan_size_of(root, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) for root in roots]
    together = sum(math.inf if size is None else size.size for size in sizes)
    return together <= site.memory_budget and all(map(is_near, postorder(roots)))


def is_near(node: PlannerNode) -> bool:
    """Return whether an operator reads only rows in this process or files on this machine."""
    operator = node.operator
    if isinstance(operator, SectionResult):
        return not operator.section.workers.are_on_spark
    if node.inputs or operator.source_kind is SourceKind.MEMORY:
        return True
    return isinstance(operator, STORED_ROWS) and not is_remote_location(operator.manifest.directory)
