"""Kernels of all rows of their input: where these come in one piece, or split by ranges of a column, in this process or in Spark's tasks."""

from __future__ import annotations

import math

from sframe_spark.compute.range_partitioning import KINDS
from sframe_spark.config import config
from sframe_spark.engine.budgets import UNKNOWN_BYTES, Weight, weight_of
from sframe_spark.engine.physical.passed_on import makes_plainly
from sframe_spark.engine.physical.placement import is_done_elsewhere, is_for_threads, placement_of, suits_threads
from sframe_spark.engine.physical.sections import Mode
from sframe_spark.engine.physical.sooner_here import is_sooner_here
from sframe_spark.engine.runtime.pipeline import threads_here
from sframe_spark.locations import is_elsewhere
from sframe_spark.planner.chunk import MOST_BYTES_OF_ARRAY
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import work_memory
from sframe_spark.storage.filesystem.temporary_datasets import temporary_root

# Gathered rows, what is found of them, and the result.
COPIES_OF_GATHERED = 4
# Fewer rows are put in order at once as soon as they are split.
LEAST_ROWS_SPLIT = 2_097_152
# Each batch of rows is cut into so many pieces at most.
MOST_RANGES = 1024
# Ranges are found by a sample: some have more rows than others.
UNEVEN = 2
# What the rows of a range take that a task puts in order, and what they may take: there are copies.
BYTES_OF_TASKS_RANGE, MOST_BYTES_OF_TASKS_RANGE = 64 << 20, 256 << 20
# Each run of rows of a task and a range takes a tenth of a millisecond to read, and 300 bytes of the driver.
MOST_PIECES = 262_144
# Of so many rows a range is put in order near the processor.
ROWS_OF_RANGE = 524_288


def gathered_mode(root: PlannerNode, refused: frozenset[Mode] = frozenset()) -> Mode | None:
    """How a kernel gets all rows of its input where threads of this process make them; None where they are Spark's, or not one kernel's."""
    weight = weight_gathered(root)
    if weight is None:
        return None
    fits = weight.size <= bytes_gathered()
    # First rows are found among all sooner than these are exchanged.
    is_quicker = root.operator.rows_of_ranges is None and weight.rows >= LEAST_ROWS_SPLIT and threads_here() > 1
    is_worth_it = not fits or is_quicker
    if is_worth_it and Mode.EXCHANGED not in refused and can_split(root) and ranges_for(weight) <= MOST_RANGES:
        return Mode.EXCHANGED
    return Mode.GATHERED if fits and Mode.GATHERED not in refused else None


def is_exchanged_by_tasks(root: PlannerNode, refused: frozenset[Mode] = frozenset()) -> bool:
    """True for a kernel of ours that Spark's tasks run on each range of a column, where Spark works elsewhere and files are shared with it.

    Of very many rows there would be too many pieces: those are for Spark's own exchange, which merges them.
    """
    if not config.small_rows or Mode.EXCHANGED_BY_TASKS in refused or len(root.inputs) != 1 or not root.operator.takes_all_rows:
        return False
    # Spark's tasks keep the first rows of each of theirs.
    if root.operator.rows_of_ranges is not None:
        return False
    below = root.inputs[0]
    if not is_done_elsewhere() or is_elsewhere(temporary_root()) or not can_split(root) or not all(map(is_for_threads, postorder([root]))):
        return False
    if not is_section(below):
        return False
    weight = weight_of(below, UNKNOWN_BYTES)
    if weight is None:
        return False
    tasks = max(-(-weight.rows // config.segment_rows), config.default_segments or 0)
    return ranges_of_tasks(weight) * tasks <= MOST_PIECES


def ranges_of_tasks(weight: Weight) -> int:
    """How many ranges rows are split into for tasks: about as many rows as a segment has, or fewer where they are long."""
    return 1 + int(max(weight.size // BYTES_OF_TASKS_RANGE, weight.rows // config.segment_rows))


def can_split(root: PlannerNode) -> bool:
    """True for a kernel of which each range of the values of a column can be made alone."""
    split = root.operator.split_by
    return split is not None and root.inputs[0].schema[split[0]].kind in KINDS


def bytes_gathered() -> int:
    """Those that rows may take of which a kernel makes others in memory: there is room for copies, too."""
    return work_memory() // COPIES_OF_GATHERED


def bytes_of_range() -> int:
    """Those that the rows of a range may take where every thread works on one, and a column of any of them is an array."""
    return min(bytes_gathered() // threads_here(), MOST_BYTES_OF_ARRAY)


def ranges_for(weight: Weight) -> float:
    """How many ranges rows are split into: as many as have room in memory, and a few for each thread; infinite where there is no room at all."""
    room = bytes_of_range()
    needed = UNEVEN * weight.size / room if room else math.inf
    return 1 + max(needed, min(MOST_RANGES - 1, weight.rows / ROWS_OF_RANGE), UNEVEN * threads_here())


def is_section(below: PlannerNode) -> bool:
    """True for a plan of which kernels make the rows range by range."""
    return all(not node.inputs or node.operator.has_kernel for node in postorder([below])) and placement_of(below).segment


def weight_gathered(root: PlannerNode) -> Weight | None:
    """The weight of all rows below a kernel that takes them, where threads of this process make them."""
    operator = root.operator
    if len(root.inputs) != 1 or not operator.takes_all_rows or not is_for_threads(root):
        return None
    below = root.inputs[0]
    if not (suits_threads(below) or is_sooner_here(below)) or not makes_plainly(root):
        return None
    if not is_section(below):
        return None
    return weight_of(below)
