"""The tasks of a segment section: ranges of its base rows, each with the states of running values before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs

from sframe_spark.config import config
from sframe_spark.engine.budgets import UNKNOWN_BYTES
from sframe_spark.engine.runtime.flat_plan import FlatPlan
from sframe_spark.engine.runtime.pipeline import PlanRunner, threads_here
from sframe_spark.engine.runtime.ranges import joined_ranges, states_between
from sframe_spark.engine.runtime.scheduler import InTurn, RangeWorkers
from sframe_spark.engine.runtime.summaries import may_settle
from sframe_spark.engine.runtime.tasks import RangeTask, summarize_range
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.udf_calls import calls_users
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.row_sizes import fixed_size, row_bytes

# A Spark task costs some ten milliseconds, so a range should be worth it.
LEAST_TASK_ROWS = 65_536
LEAST_TASK_BYTES = 32 << 20
# Another thread has its own memory to find for a batch, and waits for Python: numbers that are no more than this are read by one in the same time.
LEAST_THREAD_BYTES = 6 << 20
# Of all that is made. Two threads of which the pass goes through less take three quarters of the time of one that spares it, or less.
LEAST_PASSED = 0.5
# Ranges may be longer or shorter by a share of them, so that they end with row groups.
NEAR = 8
# A segment is read by a task at a time.
LARGEST_TASK_BYTES = 1 << 30


def range_tasks(node: PlannerNode, rows: int, segments: int | None, workers: RangeWorkers) -> list[RangeTask]:
    """Tasks that together make the rows of a section of so many base rows; as many as asked for, or as the rows are worth."""
    workers.require_readable(node)
    plan = FlatPlan.of(node)
    made = max((facts.length.rows or rows) * row_bytes(sizes, 0) for facts, sizes in zip(plan.facts, plan.sizes, strict=True))
    most = int(made) // LEAST_THREAD_BYTES if not workers.are_elsewhere and is_of_numbers(node, plan) else None
    ranges = row_ranges(rows, int(made), segments, workers, most)
    divided = DividedPlan.of(plan) if workers.are_elsewhere else DividedPlan.undivided(plan)
    if workers.are_here and len(ranges) > 1 and (segments or config.default_segments) is None:
        ranges = at_row_groups(divided.runner, ranges)
    if workers.are_in_turn:
        return in_turn(divided, ranges, min(threads_here(), int(made) // LEAST_THREAD_BYTES) - 1)
    return with_states(divided, ranges, workers)


def in_turn_where_sooner(node: PlannerNode, workers: RangeWorkers) -> RangeWorkers:
    """Who makes the rows of ranges: those given, or one thread in the order of the rows where threads would do no more than go through them again.

    To know running values before each range takes a pass over all rows for all of these that wait for the same ones below them. Where that goes
    through most of what is made, so many threads take as long for it all as one takes without, for which another one decodes; not where much else
    is made beside or of the running values, as threads halve the time of that.
    """
    if workers.are_elsewhere or not any(isinstance(each.operator, SequentialOperator) for each in postorder([node])):
        return workers
    plan, others = FlatPlan.of(node), workers.at_a_time() - 1
    levels = [places for places in plan.sequential_levels() if any(not may_settle(plan.operators[place]) for place in places)]
    passed = sum(bytes_made(plan, {below for place in places for below in plan.places_below(place)}) for places in levels)
    is_sooner = levels and others <= len(levels) and passed >= others * LEAST_PASSED * bytes_made(plan, range(len(plan.operators)))
    return InTurn() if is_sooner else workers


def bytes_made(plan: FlatPlan, places: Iterable[int]) -> float:
    """Bytes of a row that some places of a plan read or make; columns that are put side by side are neither."""
    return sum(row_bytes(plan.sizes[place], UNKNOWN_BYTES) for place in places if not plan.operators[place].arranges_columns)


def in_turn(divided: DividedPlan, ranges: Sequence[tuple[int, int]], ahead: int) -> list[RangeTask]:
    """Tasks each of which goes on from the states that the one before it leaves; so many threads decode for each."""
    tasks: list[RangeTask] = []
    for place, rows in reversed(list(enumerate(ranges))):
        task = divided.task(rows, {}, final=rows is ranges[-1])
        tasks.append(attrs.evolve(task, ahead=max(ahead, 0), then=tasks[-1] if tasks else None, waits=place > 0))
    return tasks[::-1]


def is_of_numbers(node: PlannerNode, plan: FlatPlan) -> bool:
    """Whether all that a plan reads and makes is of a fixed size, and no user's function is called: work that ends soon for each byte."""
    fixed = all(fixed_size(column_type) is not None for facts in plan.facts for column_type in facts.schema)
    return fixed and not calls_users(node)


def row_ranges(rows: int, size: int, segments: int | None, workers: RangeWorkers, most: int | None = None) -> list[tuple[int, int]]:
    """Row ranges of tasks, given the bytes of what is made of all rows, and how many are worth it at most.

    As many as asked for, else enough for all cores but none too small or too large.
    """
    count = segments or config.default_segments
    if count is None:
        cores = workers.at_a_time()
        worth = max(-(-rows // LEAST_TASK_ROWS), size // LEAST_TASK_BYTES)
        threads = worth if most is None else min(worth, most)
        count = max(1, min(rows, cores, threads), -(-rows // config.segment_rows), min(rows, size // LARGEST_TASK_BYTES))
    bounds = [rows * i // count for i in range(count + 1)]
    return list(pairwise(bounds))


def at_row_groups(runner: PlanRunner, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges whose ends go to where reading begins afresh, if such a row is near: a row group between two would be decoded for both."""
    starts = [start for start, _ in ranges]
    for place, (start, stop) in enumerate(ranges[:-1], 1):
        last = stop + (stop - start) // NEAR
        found = runner.before_read_afresh(2 * stop - last, last)
        starts[place] = stop if found == last else found
    return list(pairwise([*starts, ranges[-1][1]]))


def with_states(divided: DividedPlan, ranges: Sequence[tuple[int, int]], workers: RangeWorkers) -> list[RangeTask]:
    """Tasks whose sequential operators know the state before their range: a pass over the rows for all that wait for the same ones below them."""
    plan, ranges, states = divided.plan, list(ranges), [dict[int, Any]() for _ in ranges]
    for places in plan.sequential_levels():
        operators = {place: operator for place in places if isinstance(operator := plan.operators[place], SequentialOperator)}
        initial = {place: operator.initial_state(plan.input_facts(place)) for place, operator in operators.items()}
        states[0].update(initial)
        if len(ranges) == 1:
            continue
        pairs = list(zip(ranges, states, strict=True))
        tasks = [divided.task(rows, dict(known)) for rows, known in pairs[:-1]]
        works = [partial(summarize_range, task, places) for task in tasks]
        names = ", ".join(dict.fromkeys(operator.name for operator in operators.values()))
        parts = workers.run(works, f"summarising {names}", tasks)
        before = {
            place: states_between(operator, initial[place], (of_range[number] for of_range in parts))
            for number, (place, operator) in enumerate(operators.items())
        }
        ranges, states = joined_ranges(ranges, states, before)
    last = ranges[-1]
    return [divided.task(rows, known, final=rows is last) for rows, known in zip(ranges, states, strict=True)]


@attrs.frozen(eq=False)
class DividedPlan:
    """A plan that tasks share, without the segments of sources that each reads a part of; a task is told of its own.

    Parameters
    ----------
    plan
        The whole plan.
    shared
        The plan without these segments; of sources that are searched it has the columns that are read.
    places
        Where these sources are.
    runner
        Tells which rows of sources a range needs, and where reading begins afresh.
    """

    plan: FlatPlan
    shared: FlatPlan
    places: tuple[int, ...]
    runner: PlanRunner

    @classmethod
    def of(cls, plan: FlatPlan) -> DividedPlan:
        """A plan, divided."""
        places = plan.divided_places()
        shared = {place: part_of_source(plan.operators[place], 0, 0) for place in places}
        for place, operator in enumerate(plan.operators):
            if isinstance(operator, SegmentSource) and place not in places:
                shared[place] = attrs.evolve(operator, manifest=operator.manifest.about(operator.positions))
        return cls(plan, plan.with_sources(shared), places, PlanRunner(plan))

    @classmethod
    def undivided(cls, plan: FlatPlan) -> DividedPlan:
        """A plan whose tasks are sent nowhere, so that each may as well know all of it."""
        return cls(plan, plan, (), PlanRunner(plan))

    def task(self, rows: tuple[int, int], states: dict[int, Any], final: bool = True) -> RangeTask:
        """The task of a range of base rows, given the states before it."""
        own = {}
        wanted = self.runner.wanted(*rows) if self.places else []
        for place in self.places:
            low, high = min((first for first, _ in wanted[place]), default=0), max((stop for _, stop in wanted[place]), default=0)
            own[place] = part_of_source(self.plan.operators[place], low, high)
        return RangeTask(self.shared, *rows, config.batch_rows, states, final, own)


def part_of_source(source: Any, start: int, stop: int) -> SegmentSource:
    """A source that is told of no segments but those of some of its rows, which keep their numbers."""
    assert isinstance(source, SegmentSource)
    return attrs.evolve(source, manifest=source.manifest.between(source.start + start, source.start + stop, source.positions))
