"""A part of a plan that is to get a shape: how large the rows are that it needs at once, and how much memory there is for them or ranges of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, makes_plainly, placement_of, suits_threads
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.rows_near_this_process import is_cheaper_locally
from sframe_spark.engine.shapes.section_tree import Strategy
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize, plan_size_of
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode


@attrs.frozen(eq=False)
class PlanPart:
    """A part of a plan for which a shape is sought.

    Parameters
    ----------
    root
        Its last node.
    placement
        The placement of the root if all its inputs can be read directly; None if that is unknown.
    site
        The site for which the plan is made.
    below
        If the root may require all rows of its only input, which is read range by range: the placement of the input. Then a shape that gives workers
        makes the root a separate section.
    refused
        How the part has failed to run.
    """

    root: PlannerNode
    placement: Placement | None
    site: Site
    below: Placement | None = None
    refused: frozenset[Strategy] = frozenset()

    @property
    def is_without_ranges(self) -> bool:
        """Whether kernels over row ranges cannot compute the part, over inputs that can be read directly."""
        return self.placement is not None and not self.placement.segment

    @cached_property
    def gathered_size(self) -> PlanSize | None:
        """The size of the input of a kernel that needs all rows; None if threads of this process cannot compute the input."""
        root, site = self.root, self.site
        if len(root.inputs) != 1 or root.operator.whole_kernel is None or functions_of(root):
            return None
        below = root.inputs[0]
        if not (suits_threads(below, site) or is_cheaper_locally(below, site)) or not makes_plainly(root) or not runs_over_row_ranges(below):
            return None
        return plan_size_of(below)


def runs_over_row_ranges(below: PlannerNode) -> bool:
    """Return whether a plan is computed by kernels over row ranges."""
    return all(not node.inputs or node.operator.has_kernel for node in postorder([below])) and placement_of(below).segment


def size_of_all(plans: Sequence[PlannerNode]) -> PlanSize | None:
    """Return the rows and bytes of several plans together; None if the size of one is unknown."""
    sizes = [size for size in map(plan_size_of, plans) if size is not None]
    return PlanSize(sum(size.rows for size in sizes), sum(size.size for size in sizes)) if len(sizes) == len(plans) else None


def bytes_gathered(site: Site) -> int:
    """Return the limit in bytes for gathered rows, which leaves memory for copies."""
    return site.work_memory // costs.COPIES_OF_GATHERED


def bytes_of_range(site: Site) -> int:
    """Return the limit in bytes for a range if every thread processes one at a time."""
    return min(bytes_gathered(site) // site.threads, MAX_BYTES_OF_ARRAY)


def ranges_for(plan_size: PlanSize, site: Site) -> float:
    """Return the number of ranges to divide rows into, so that each fits in memory and each thread gets several; infinite if no memory is left."""
    room = bytes_of_range(site)
    needed = costs.UNEVENNESS_OF_RANGES * plan_size.size / room if room else math.inf
    return 1 + max(needed, min(costs.MAX_RANGES - 1, plan_size.rows / costs.ROWS_OF_RANGE), costs.UNEVENNESS_OF_RANGES * site.threads)
