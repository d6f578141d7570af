"""The tasks of a segment section: ranges of its base rows, each with the states of running values before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from sframe_spark.config import config
from sframe_spark.engine.segments.ranges import joined_ranges, states_between
from sframe_spark.engine.segments.runner import FlatPlan
from sframe_spark.engine.segments.tasks import RangeTask, summarize_range
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.dispatch import run_tasks
from sframe_spark.engine.spark.probe import require_readable
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.sizes import row_bytes

# A Spark task costs some ten milliseconds, so a range should be worth it.
LEAST_TASK_ROWS = 65_536
LEAST_TASK_BYTES = 32 << 20
# A segment is read by a task at a time.
LARGEST_TASK_BYTES = 1 << 30


def range_tasks(node: PlannerNode, rows: int, segments: int | None) -> list[RangeTask]:
    """Tasks that together make the rows of a section of so many base rows; as many as asked for, or as the rows are worth."""
    require_readable(node)
    plan = FlatPlan.of(node)
    made = max((facts.length.rows or rows) * row_bytes(sizes, 0) for facts, sizes in zip(plan.facts, plan.sizes, strict=True))
    return with_states(plan, row_ranges(rows, int(made), segments))


def row_ranges(rows: int, size: int, segments: int | None) -> list[tuple[int, int]]:
    """Row ranges of tasks, given the bytes of what is made of all rows.

    As many as asked for, else enough for all cores but none too small or too large.
    """
    from sframe_spark.session.session import default_parallelism, get_session

    count = segments or config.default_segments
    if count is None:
        cores = default_parallelism(get_session())
        worth = max(-(-rows // LEAST_TASK_ROWS), size // LEAST_TASK_BYTES)
        count = max(1, min(rows, cores, worth), -(-rows // config.segment_rows), min(rows, size // LARGEST_TASK_BYTES))
    bounds = [rows * i // count for i in range(count + 1)]
    return list(pairwise(bounds))


def with_states(plan: FlatPlan, ranges: Sequence[tuple[int, int]]) -> list[RangeTask]:
    """Tasks whose sequential operators know the state before their range: one pass over partial results per level."""
    ranges, states = list(ranges), [dict[int, Any]() for _ in ranges]
    for position in plan.sequential_places():
        operator = plan.operators[position]
        assert isinstance(operator, SequentialOperator)
        initial = operator.initial_state(plan.input_facts(position))
        states[0][position] = initial
        if len(ranges) == 1:
            continue
        tasks = [RangeTask(plan, a, b, config.batch_rows, dict(s)) for (a, b), s in zip(ranges, states, strict=True)]
        works = [partial(summarize_range, task, position) for task in tasks[:-1]]
        before = states_between(operator, initial, run_range_works(works, f"summarising {operator.name}"))
        ranges, states = joined_ranges(ranges, states, position, before)
    last = len(ranges) - 1
    pairs = enumerate(zip(ranges, states, strict=True))
    return [RangeTask(plan, a, b, config.batch_rows, s, final=index == last) for index, ((a, b), s) in pairs]


def run_range_works(works: list[Any], description: str) -> list[Any]:
    """Results of task works, with Spark's errors as ours."""
    with query.translated_errors(description):
        return run_tasks(works, description)
