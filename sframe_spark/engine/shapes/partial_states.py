"""Partial states: each row range yields a state, and the states of all ranges are merged into the result in the user's process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import (
    is_for_threads,
    needs_this_process,
    placement_of,
    suits_processes,
    suits_threads,
)
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.checked_kernel_calls import require_inferred
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import EarlyStop, combined_parts, part_of_range
from sframe_spark.engine.runtime.task_runners import TaskRunner, name_of
from sframe_spark.engine.shapes.late_materialization import NumberedRows, numbered_rows
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import calls_hashing_functions, calls_pure_functions
from sframe_spark.engine.shapes.rows_near_this_process import is_cheaper_locally
from sframe_spark.engine.shapes.section_runner import SectionRunner, task_runner_for
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import bytes_of_rows
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class PartialStatesShape(Shape):
    """An operator that decomposes over the row ranges of its input, as an aggregate or the first rows in some order do."""

    name: ClassVar[str] = "partial states"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return who computes the states, as for rows that are computed range by range, if the states of all ranges fit in the driver's memory."""
        node, site = part.root, part.site
        operator = node.operator
        if part.below is None or not isinstance(operator, DecomposableOperator):
            return None
        below = node.inputs[0]
        if not operator.decomposes([below.facts]) or not parts_are_small(operator, below):
            return None
        if is_for_threads(node) and (suits_threads(below, site) or calls_pure_functions(below, site) or are_parts_cheaper_locally(node, site)):
            return Workers.THREADS
        if needs_this_process(site) or calls_hashing_functions(below):
            return Workers.CALLING_PROCESS
        return Workers.PROCESSES if suits_processes(site) else Workers.SPARK_TASKS

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if there are too many groups."""
        return [Alternative.LARGE_PARTS]

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Compute the states, merge them, and return a source of the rows."""
        return from_parts(runner, section.root, task_runner_for(section.workers))


PARTIAL_STATES: Shape = PartialStatesShape()


def parts_are_small(operator: DecomposableOperator, below: PlannerNode) -> bool:
    """Return whether the partial states of tasks fit in the driver's memory. Only states that hold rows of the input may be too large.

    The number of groups is unknown before the tasks run. If there are too many, the rows are computed again in another way: so a group-by over calls
    of users' functions is not decomposed.
    """
    if operator.group_keys is not None and any(map(functions_of, postorder([below]))):
        return False
    rows = operator.rows_of_part
    return not rows or bytes_of_rows(below, rows) <= costs.MAX_BYTES_SENT


def are_parts_cheaper_locally(node: PlannerNode, site: Site) -> bool:
    """Return whether an operator's input runs faster in this process.

    For an operator that chooses rows by the values of some columns, it suffices that these columns are computed faster in this process.
    """
    if not site.small_rows:
        return False
    if is_cheaper_locally(node.inputs[0], site):
        return True
    numbered = numbered_rows(node)
    return numbered is not None and is_cheaper_locally(numbered.deciding, site)


def from_parts(runner: SectionRunner, node: PlannerNode, workers: TaskRunner) -> PlannerNode | ReplanNeeded:
    """Merge the partial states of row ranges, computed by tasks, into the result.

    If the states are too large, return the node to be planned again.
    """
    below, operator = node.inputs[0], node.operator
    assert isinstance(operator, DecomposableOperator)
    numbered = numbered_rows(node)
    if numbered is not None:
        return read_late(runner, node, numbered, workers)
    placement = placement_of(below)
    tasks = runner.tasks_of(below, placement, workers)
    runner.log.append(f"parts: {node.operator_type} in {len(tasks)} {name_of(workers)} over {placement.rows_to_run} rows")
    max_bytes, most = limits_of_states(runner, len(tasks))
    early_stop = EarlyStop()
    callables = [partial(part_of_range, task, operator, [below.facts], most, early_stop) for task in tasks]
    return from_states(runner, node, workers.run(callables, f"computing {node.operator.called()}", tasks), max_bytes)


def limits_of_states(runner: SectionRunner, tasks: int) -> tuple[int, int]:
    """Return the limits in bytes for the merged state of some tasks, and for that of each."""
    max_bytes = max(
        costs.MIN_BYTES_OF_PARTIAL_STATE, min(costs.MAX_BYTES_OF_PARTIAL_STATES, runner.site.work_memory // costs.COPIES_OF_PARTIAL_STATES)
    )
    return max_bytes, max(max_bytes // tasks, min(costs.MIN_BYTES_OF_PARTIAL_STATE, costs.MAX_BYTES_OF_PARTIAL_STATES_SENT // tasks))


def from_states(runner: SectionRunner, node: PlannerNode, states: Sequence[Any], max_bytes: int) -> PlannerNode | ReplanNeeded:
    """Merge partial states into the result; if they are too large, return the node to be planned again."""
    operator, facts = node.operator, [node.inputs[0].facts]
    assert isinstance(operator, DecomposableOperator)
    part = combined_parts(operator, states, facts, max_bytes)
    if part is TOO_LARGE:
        runner.log.append(f"too many: {node.operator_type} has more groups than are put together here")
        return ReplanNeeded(node)
    return runner.keep(require_inferred(operator, (), operator.rows_from(part, facts), node.schema), node)


def read_late(runner: SectionRunner, node: PlannerNode, numbered: NumberedRows, workers: TaskRunner) -> PlannerNode | ReplanNeeded:
    """Late materialization: read all columns of only those rows whose row ids the node has chosen."""
    inner = runner.into_memory()
    top = from_parts(inner, numbered.top, workers)
    runner.tasks = inner.tasks
    if isinstance(top, ReplanNeeded):
        return ReplanNeeded(node)
    runner.log.append(f"driver: {top.length.known_rows} rows of {numbered.source.operator_type} by number")
    return runner.keep(require_inferred(node.operator, (), numbered.rows(top), node.schema), node)
