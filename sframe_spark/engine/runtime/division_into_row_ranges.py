"""The division of a section into tasks: ranges of its base rows, each with its segments and the states of sequential operators before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, joined_ranges, may_converge, states_between, summarize_range
from sframe_spark.engine.runtime.task_runners import SequentialRunner, TaskRunner
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.row_sizes import fixed_size, row_bytes
from sframe_spark.process.threads import even_ranges


def range_tasks(node: PlannerNode, rows: int, segments: int | None, workers: TaskRunner, shuffled: int | None = None) -> list[RangeTask]:
    """Divide a section of ``rows`` base rows into tasks: into ``segments`` tasks if given, else into as many as are worth it; see `row_ranges`."""
    workers.require_readable(node)
    plan = Pipeline.of(node)
    size = int(max((facts.length.rows or rows) * row_bytes(sizes, 0) for facts, sizes in zip(plan.facts, plan.sizes, strict=True)))
    # If all values have a fixed size and no user's function is called, computing is fast for its bytes.
    is_fast = all(fixed_size(kind) is not None for facts in plan.facts for kind in facts.schema) and not calls_user_functions(node)
    most = size // costs.MIN_BYTES_FOR_THREADS if not workers.is_out_of_process and is_fast else None
    ranges = row_ranges(rows, size, segments, workers, most, shuffled)
    # Tasks of this process share the plan with all its segments.
    divided = DividedPlan.of(plan) if workers.is_out_of_process else DividedPlan(plan, plan, (), PipelineRunner(plan))
    if workers.is_on_this_machine and len(ranges) > 1 and (segments or config.default_segments) is None:
        ranges = at_row_groups(divided.runner, ranges)
    if workers.is_sequential:
        return in_turn(divided, ranges, min(local_threads(), size // costs.MIN_BYTES_FOR_THREADS) - 1)
    return with_states(divided, ranges, workers)


def sequential_if_faster(node: PlannerNode, workers: TaskRunner) -> TaskRunner:
    """Return the given runner, or a sequential one if summarising running states first would cost more than parallel threads save.

    Before ranges can run in parallel, the running states at their starts are needed: each level of sequential operators takes a pass over all rows.
    If these passes process most of the bytes, parallel threads take as long as one thread that needs no passes, while other threads decode rows for
    it. If much else is computed, parallel threads save more than the passes cost.
    """
    if workers.is_out_of_process or not any(isinstance(below.operator, SequentialOperator) for below in postorder([node])):
        return workers
    plan, others = Pipeline.of(node), workers.parallelism() - 1
    levels = [indices for indices in plan.sequential_levels() if any(not may_converge(plan.operators[index]) for index in indices)]
    passed = sum(bytes_made(plan, {below for index in indices for below in plan.indices_below(index)}) for indices in levels)
    is_cheaper = (
        levels
        and others <= len(levels)
        and passed >= others * costs.MIN_SHARE_SUMMARISED_FOR_ONE_THREAD * bytes_made(plan, range(len(plan.operators)))
    )
    return SequentialRunner() if is_cheaper else workers


def bytes_made(plan: Pipeline, indices: Iterable[int]) -> float:
    """Return the bytes of a row that some operators of a plan read or compute; operators that only arrange columns do not count."""
    return sum(
        row_bytes(plan.sizes[index], costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) for index in indices if not plan.operators[index].arranges_columns
    )


def in_turn(divided: DividedPlan, ranges: Sequence[tuple[int, int]], ahead: int) -> list[RangeTask]:
    """Return tasks, each of which continues from the states of the one before it; ``ahead`` threads prefetch rows for each."""
    tasks: list[RangeTask] = []
    for index, rows in reversed(list(enumerate(ranges))):
        task = divided.task(rows, {}, final=rows is ranges[-1])
        tasks.append(attrs.evolve(task, ahead=max(ahead, 0), then=tasks[-1] if tasks else None, waits=index > 0))
    return tasks[::-1]


def row_ranges(
    rows: int, size: int, segments: int | None, workers: TaskRunner, most: int | None = None, shuffled: int | None = None
) -> list[tuple[int, int]]:
    """Return the row ranges of tasks, given the bytes of all rows and the largest number of ranges that is worth it.

    There are ``segments`` ranges if given; else enough for all cores, but none too small or too large. Tasks that give their rows to a shuffle need
    not each have the rows of a segment: ``shuffled`` is how many of them may be made for the cores' sake.
    """
    count = segments or config.default_segments
    if count is None:
        cores = workers.parallelism()
        worth = max(-(-rows // costs.MIN_ROWS_OF_TASK), size // costs.MIN_BYTES_OF_TASK)
        threads = worth if most is None else min(worth, most)
        least = max(1, min(rows, size // costs.MAX_BYTES_OF_TASK))
        if shuffled is None:
            count = max(least, min(rows, cores, threads), -(-rows // config.segment_rows))
        else:
            count = max(least, min(rows, costs.TASKS_OF_A_CORE * cores, threads, shuffled))
    return even_ranges(rows, count)


def at_row_groups(runner: PipelineRunner, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges whose ends are moved to a row-group boundary close by, as a row group that two ranges share would be decoded twice."""
    starts = [start for start, _ in ranges]
    for index, (start, stop) in enumerate(ranges[:-1], 1):
        last = stop + (stop - start) // costs.PARTS_OF_RANGE_TO_ROW_GROUP_END
        boundary = runner.before_read_afresh(2 * stop - last, last)
        starts[index] = stop if boundary == last else boundary
    return list(pairwise([*starts, ranges[-1][1]]))


def with_states(divided: DividedPlan, ranges: Sequence[tuple[int, int]], workers: TaskRunner) -> list[RangeTask]:
    """Return tasks with the states of sequential operators before each; one summarising pass for each level of these operators computes them."""
    plan, ranges, states = divided.plan, list(ranges), [dict[int, Any]() for _ in ranges]
    for indices in plan.sequential_levels():
        operators = {index: operator for index in indices if isinstance(operator := plan.operators[index], SequentialOperator)}
        initial = {index: operator.initial_state(plan.input_facts(index)) for index, operator in operators.items()}
        states[0].update(initial)
        if len(ranges) == 1:
            continue
        pairs = list(zip(ranges, states, strict=True))
        tasks = [divided.task(rows, dict(state)) for rows, state in pairs[:-1]]
        callables = [partial(summarize_range, task, indices) for task in tasks]
        names = ", ".join(dict.fromkeys(operator.name for operator in operators.values()))
        parts = workers.run(callables, f"summarising {names}", tasks)
        before = {
            index: states_between(operator, initial[index], (of_range[number] for of_range in parts))
            for number, (index, operator) in enumerate(operators.items())
        }
        ranges, states = joined_ranges(ranges, states, before)
    last = ranges[-1]
    return [divided.task(rows, state, final=rows is last) for rows, state in zip(ranges, states, strict=True)]


@attrs.frozen(eq=False)
class DividedPlan:
    """A plan that all tasks share without its lists of segments; each task has the segments of its own rows.

    Parameters
    ----------
    plan
        The whole plan.
    shared
        The plan without the segments of divided sources; sources that are looked up have only the required columns.
    indices
        The indices of the sources that are divided.
    runner
        Maps base rows to rows of the sources, and finds row-group boundaries.
    """

    plan: Pipeline
    shared: Pipeline
    indices: tuple[int, ...]
    runner: PipelineRunner

    @classmethod
    def of(cls, plan: Pipeline) -> DividedPlan:
        """Return a plan whose stored sources are divided."""
        indices = plan.divided_sources()
        shared = {index: slice_of_source(plan.operators[index], 0, 0) for index in indices}
        for index, operator in enumerate(plan.operators):
            if isinstance(operator, SegmentSource) and index not in indices:
                shared[index] = attrs.evolve(operator, manifest=operator.manifest.about(operator.positions))
        return cls(plan, plan.with_sources(shared), indices, PipelineRunner(plan))

    def task(self, rows: tuple[int, int], states: dict[int, Any], final: bool = True) -> RangeTask:
        """Return the task of a range of base rows, given the states of sequential operators before it."""
        own = {}
        required = self.runner.required(*rows) if self.indices else []
        for index in self.indices:
            low, high = min((first for first, _ in required[index]), default=0), max((stop for _, stop in required[index]), default=0)
            own[index] = slice_of_source(self.plan.operators[index], low, high)
        return RangeTask(self.shared, *rows, config.batch_rows, states, final, own)


def slice_of_source(source: Any, start: int, stop: int) -> SegmentSource:
    """Return a source with only the segments that contain some of its rows; the row numbers do not change."""
    assert isinstance(source, SegmentSource)
    return attrs.evolve(source, manifest=source.manifest.between(source.start + start, source.start + stop, source.positions))
