"""One kernel takes all rows of its input at once: rows that are few or in memory, or that threads compute within their memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_at_hand, is_small, placement_of, runs_whole_here
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.checked_kernel_calls import rows_of_all
from sframe_spark.engine.runtime.result_storage import in_one_chunk, may_stay, partial_rows, write_in_memory
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import chunks_of
from sframe_spark.engine.runtime.task_runners import ThreadRunner, name_of
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart, bytes_gathered
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Strategy, Workers
from sframe_spark.engine.shapes.stream import on_driver
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.errors import TooLargeError
from sframe_spark.message_text import in_words
from sframe_spark.operators.sources.base_and_segment_source import recorded_order
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_capabilities import range_split_of
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class WholeShape(Shape):
    """A kernel over all rows of its input, which are brought together in memory first."""

    name: ClassVar[str] = "whole"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return the driver for few rows or rows in memory, threads if they can compute the input and it fits in memory.

        An input that is read range by range is brought together by the driver only.
        """
        root, site = part.root, part.site
        if part.below is not None:
            below, operator = root.inputs[0], root.operator
            kernel = operator.whole_kernel
            is_for_driver = (
                kernel is not None and kernel.for_few_rows is None and (is_small(below, site) or (operator.makes_one_row and is_at_hand(below, site)))
            )
            return Workers.DRIVER if is_for_driver else None
        if not part.is_without_ranges:
            return None
        if runs_whole_here(root.operator):
            return Workers.THREADS
        if Strategy(self, Workers.THREADS) in part.refused:
            return None
        plan_size = part.gathered_size
        return Workers.THREADS if plan_size is not None and plan_size.size <= bytes_gathered(site) else None

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if the rows take more memory than they may."""
        if section.workers is Workers.DRIVER:
            return [Alternative.TOO_LARGE]
        return [Alternative.NO_LOWERING if runs_whole_here(section.root.operator) else Alternative.NO_ROOM]

    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Bring the rows together and run the kernel."""
        return whole(runner, section.root) if section.workers is Workers.DRIVER else gathered(runner, section.root)


WHOLE: Shape = WholeShape()


@memory_for_batches()
def whole(runner: SectionRunner, node: PlannerNode) -> PlannerNode | ReplanNeeded:
    """Run a kernel on all rows of its input at once. If these do not fit in memory, return the node over the stored rows, to be planned again."""
    below = node.inputs[0]
    in_memory = isinstance(below.operator, MemorySource)
    source = below if in_memory else on_driver(runner.into_memory(), below, placement_of(below), costs.BUDGETS_AT_HAND)
    if not isinstance(source.operator, MemorySource):
        return ReplanNeeded(node.with_inputs([source]))
    runner.log.append(f"driver: {node.operator_type} over {source.length.known_rows} rows")
    return runner.keep(rows_of_all(node.operator, source.operator.read_all(), below.facts, node.schema), node)


def gathered(runner: SectionRunner, node: PlannerNode) -> PlannerNode | ReplanNeeded:
    """Run a kernel on all rows of its input, computed by threads. If these do not fit in memory, return the node to be planned again.

    Arrow's own choice of memory stays: that for batches does not suit arrays of all rows.

    Raises
    ------
    TooLargeError
        If the rows do not fit in memory, and nothing else can compute the operator.
    """
    below, placement, workers = node.inputs[0], placement_of(node.inputs[0]), ThreadRunner()
    tasks = runner.tasks_of(below, placement, workers)
    runner.log.append(f"gathered: {node.operator_type} over {placement.rows_to_run} rows in {len(tasks)} {name_of(workers)}")
    reservation = MemoryReservation(bytes_gathered(runner.site))
    produced = workers.run([partial(partial_rows, chunks_of(task), reservation) for task in tasks], f"computing {node.operator.called()}", tasks)
    if reservation.is_full and runs_whole_here(node.operator):
        raise TooLargeError(why_no_room(node.operator, bytes_gathered(runner.site)))
    if reservation.is_full:
        runner.log.append(f"no room: the rows that {node.operator_type} reads take more memory than they may")
        return ReplanNeeded(node)
    rows = in_one_chunk(produced, below.schema)
    result = rows_of_all(node.operator, rows, below.facts, node.schema)
    del rows
    fits = result.rows <= runner.options.in_memory and result.size <= runner.site.memory_budget
    if runner.options.directory is None and (fits or may_stay()):
        return runner.keep(result, node)
    return write_in_memory(result, node.schema, runner.options, recorded_order(node))


def why_no_room(operator: Operator, room: int) -> str:
    """Return what to do where an operator without Spark lowering reads more bytes than there is room for."""
    room_text = f"more than the {in_words(room)} that config.work_memory has for them"
    split = "" if range_split_of(operator) is not None else ", or a RangeSplit, by which it is computed range by range"
    advice = f"raise config.work_memory, or define its plan_to_operator(), for Spark{split}"
    return f"the operator {operator.called()!r} needs all its rows at once, which take {room_text}: {advice}"
