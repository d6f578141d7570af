"""Who works on ranges of rows: Spark's tasks, or, where Spark would run on this machine too, threads of this process or Python processes of ours."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import attrs

from sframe_spark.config import config
from sframe_spark.engine.memory_budget import UNKNOWN_BYTES
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads
from sframe_spark.engine.runtime.tasks import RangeTask, bytes_of, joined_ranges, may_converge, states_between, summarize_range
from sframe_spark.engine.runtime.worker_process import TaskEnvironment
from sframe_spark.engine.spark.actions import translated_errors
from sframe_spark.engine.spark.file_checks import require_readable, require_writable
from sframe_spark.engine.spark.jobs import run_tasks
from sframe_spark.engine.task_pickling import TaskPayload, pack_tasks, pickle_by_value, translated_pickling_errors
from sframe_spark.errors import ExecutionError, ProcessNotStartedError
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.udf_calls import calls_user_functions
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.row_sizes import fixed_size, row_bytes
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.progress import open_counted
from sframe_spark.session.session import get_processes
from sframe_spark.udf.errors import error_of_text, error_transport

LOG = logging.getLogger("sframe_spark")

Task = Callable[[], Any]
# What processes of ours run.
MODULE = "sframe_spark.engine.runtime.worker_process"
# So many calls of a quick function are made in the time in which a process starts.
MAX_ROWS_OF_SHORT = 4_194_304


class TaskRunner(Protocol):
    """Works on pieces of work that do not depend on each other."""

    is_out_of_process: ClassVar[bool]
    """Results are sent, and rows in the memory of this process are not seen."""

    is_on_this_machine: ClassVar[bool]
    """They are on this machine, and its files are theirs."""

    is_sequential: ClassVar[bool]
    """A piece begins when those before it have ended, in this process."""

    def parallelism(self) -> int:
        """How many pieces are worked on at a time."""

    def require_readable(self, node: PlannerNode) -> None:
        """Make sure that the rows of all sources of a plan are seen there."""

    def require_writable(self, directory: str) -> None:
        """Make sure that what is written to a directory there is seen here."""

    def run(self, works: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of the pieces, in order; the first error ends the rest. ``tasks``: those that the pieces do, where that says how long they take."""


@attrs.frozen
class SparkTaskRunner:
    """Tasks of one Spark job: processes, on whatever machines Spark has."""

    is_out_of_process: ClassVar[bool] = True
    is_on_this_machine: ClassVar[bool] = False
    is_sequential: ClassVar[bool] = False

    def parallelism(self) -> int:
        """The cores of the session."""
        return default_parallelism(get_session())

    def require_readable(self, node: PlannerNode) -> None:
        """Let Spark look at files, once."""
        require_readable(node)

    def require_writable(self, directory: str) -> None:
        """Let a file be exchanged there, once."""
        require_writable(directory)

    def run(self, works: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of tasks, with Spark's errors as ours."""
        with translated_errors(description):
            return run_tasks(works, description, bytes_of(tasks) if tasks else None)


class LocalRunner:
    """What threads and processes of this machine have in common: files that this process reads and writes are theirs."""

    is_on_this_machine: ClassVar[bool] = True
    is_sequential: ClassVar[bool] = False

    def parallelism(self) -> int:
        """One for each core that this process may use, up to a number beyond which Python itself is what is waited for."""
        return local_threads()

    def require_readable(self, node: PlannerNode) -> None:
        """Nothing: a plan can be read on the machine that it was made on."""

    def require_writable(self, directory: str) -> None:
        """Nothing: who reads what is written is on the same machine."""


@attrs.frozen
class ThreadRunner(LocalRunner):
    """Threads of this process: nothing is started, sent or pickled, and Arrow's kernels run side by side."""

    is_out_of_process: ClassVar[bool] = False

    @memory_for_batches()
    def run(self, works: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of threads; after Ctrl-C all of them have ended."""
        with open_counted(len(works), description) as done:
            return in_threads(lambda work: done(work()), works, self.parallelism())


@attrs.frozen
class SequentialRunner(ThreadRunner):
    """A thread of this process, which takes one piece after the other: each may go on from where the one before it has ended."""

    is_sequential: ClassVar[bool] = True

    def parallelism(self) -> int:
        """One."""
        return 1


@attrs.frozen
class ProcessRunner(LocalRunner):
    """Python processes of ours on this machine: for users' functions, and what Python decodes, before a Spark has started."""

    is_out_of_process: ClassVar[bool] = True

    def run(self, works: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of processes; after Ctrl-C those that were at work have ended.

        Raises
        ------
        SFrameError
            The first error of ours that one met, as it was raised there.
        ExecutionError
            If what they are sent cannot be pickled, or one of them ends.
        """
        with translated_pickling_errors(description):
            parcels, shared = pack_tasks(works)
            common = list(sys.path), pickle_by_value(TaskEnvironment.of_this_process(shared))
        are_short = 0 < sum(task.stop - task.start for task in tasks) < MAX_ROWS_OF_SHORT
        fallback = LocalFallback(works, description)

        def answer(number: int) -> Any:
            if not fallback.has_warned:
                try:
                    return self._answer(common, parcels[number], are_short)
                except ProcessNotStartedError as error:
                    fallback.warn(error)
            return fallback.result(number)

        with open_counted(len(works), description) as done:
            return in_threads(lambda number: done(answer(number)), range(len(works)), self.parallelism())

    def _answer(self, common: tuple[list[str], bytes], parcel: TaskPayload, is_short: bool) -> Any:
        with get_processes().one(MODULE, raise_if_cancelled, is_short) as worker:
            request = pickle.dumps((None if worker.knows is common else common, parcel))
            failed, payload = pickle.loads(worker.ask(request, raise_if_cancelled))
            worker.knows = common
        if failed:
            # What a process cannot load is told as Spark's workers tell it.
            carried = error_transport().unpacked(payload.decode("ascii"))
            raise error_of_text(payload) or carried or ExecutionError("a function failed with an error that cannot be read")
        return pickle.loads(payload)


@attrs.define(eq=False)
class LocalFallback:
    """Works that this process does itself, where no other one could be started for them.

    Parameters
    ----------
    works, description
        As in :meth:`TaskRunner.run`.
    has_warned
        Whether the user was told of it.
    """

    works: Sequence[Task]
    description: str
    has_warned: bool = False
    _turn: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def warn(self, reason: ProcessNotStartedError) -> None:
        """Say why, once."""
        with self._turn:
            if not self.has_warned:
                LOG.warning("%s: no Python process could be started (%s), so this one calls functions", self.description, reason)
            self.has_warned = True

    def result(self, number: int) -> Any:
        """The result of a work; users' functions were not written to be called by several threads at a time."""
        with self._turn:
            return self.works[number]()


@attrs.frozen
class InProcessRunner(LocalRunner):
    """The user's process in place of others, where there is no Python that could be started: an application that has its interpreter built in."""

    is_out_of_process: ClassVar[bool] = True

    def parallelism(self) -> int:
        """One: functions were not written to be called by several threads at a time."""
        return 1

    @memory_for_batches()
    def run(self, works: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of the thread that asks."""
        with open_counted(len(works), description) as done:
            return [done(work()) for work in works]


def name_of(workers: TaskRunner) -> str:
    """What those who work on ranges are called in the log."""
    if isinstance(workers, InProcessRunner):
        return "range(s) by this process"
    if workers.is_out_of_process:
        return "range(s) by processes" if workers.is_on_this_machine else "task(s)"
    return "range(s), one after the other" if workers.is_sequential else "range(s) by threads"


# The tasks of a segment section: ranges of its base rows, each with the states of running values before it.

# A Spark task costs some ten milliseconds, so a range should be worth it.
MIN_TASK_ROWS = 65_536
MIN_TASK_BYTES = 32 << 20
# Another thread has its own memory to find for a batch, and waits for Python: numbers that are no more than this are read by one in the same time.
MIN_THREAD_BYTES = 6 << 20
# Of all that is made. Two threads of which the pass goes through less take three quarters of the time of one that spares it, or less.
MIN_PASSED = 0.5
# Ranges may be longer or shorter by a share of them, so that they end with row groups.
NEAR = 8
# A segment is read by a task at a time.
LARGEST_TASK_BYTES = 1 << 30


def range_tasks(node: PlannerNode, rows: int, segments: int | None, workers: TaskRunner) -> list[RangeTask]:
    """Tasks that together make the rows of a section of so many base rows; as many as asked for, or as the rows are worth."""
    workers.require_readable(node)
    plan = Pipeline.of(node)
    made = max((facts.length.rows or rows) * row_bytes(sizes, 0) for facts, sizes in zip(plan.facts, plan.sizes, strict=True))
    most = int(made) // MIN_THREAD_BYTES if not workers.is_out_of_process and is_of_numbers(node, plan) else None
    ranges = row_ranges(rows, int(made), segments, workers, most)
    divided = DividedPlan.of(plan) if workers.is_out_of_process else DividedPlan.undivided(plan)
    if workers.is_on_this_machine and len(ranges) > 1 and (segments or config.default_segments) is None:
        ranges = at_row_groups(divided.runner, ranges)
    if workers.is_sequential:
        return in_turn(divided, ranges, min(local_threads(), int(made) // MIN_THREAD_BYTES) - 1)
    return with_states(divided, ranges, workers)


def sequential_if_faster(node: PlannerNode, workers: TaskRunner) -> TaskRunner:
    """Who makes the rows of ranges: those given, or one thread in the order of the rows where threads would do no more than go through them again.

    To know running values before each range takes a pass over all rows for all of these that wait for the same ones below them. Where that goes
    through most of what is made, so many threads take as long for it all as one takes without, for which another one decodes; not where much else
    is made beside or of the running values, as threads halve the time of that.
    """
    if workers.is_out_of_process or not any(isinstance(each.operator, SequentialOperator) for each in postorder([node])):
        return workers
    plan, others = Pipeline.of(node), workers.parallelism() - 1
    levels = [places for places in plan.sequential_levels() if any(not may_converge(plan.operators[place]) for place in places)]
    passed = sum(bytes_made(plan, {below for place in places for below in plan.places_below(place)}) for places in levels)
    is_sooner = levels and others <= len(levels) and passed >= others * MIN_PASSED * bytes_made(plan, range(len(plan.operators)))
    return SequentialRunner() if is_sooner else workers


def bytes_made(plan: Pipeline, places: Iterable[int]) -> float:
    """Bytes of a row that some places of a plan read or make; columns that are put side by side are neither."""
    return sum(row_bytes(plan.sizes[place], UNKNOWN_BYTES) for place in places if not plan.operators[place].arranges_columns)


def in_turn(divided: DividedPlan, ranges: Sequence[tuple[int, int]], ahead: int) -> list[RangeTask]:
    """Tasks each of which goes on from the states that the one before it leaves; so many threads decode for each."""
    tasks: list[RangeTask] = []
    for place, rows in reversed(list(enumerate(ranges))):
        task = divided.task(rows, {}, final=rows is ranges[-1])
        tasks.append(attrs.evolve(task, ahead=max(ahead, 0), then=tasks[-1] if tasks else None, waits=place > 0))
    return tasks[::-1]


def is_of_numbers(node: PlannerNode, plan: Pipeline) -> bool:
    """Whether all that a plan reads and makes is of a fixed size, and no user's function is called: work that ends soon for each byte."""
    fixed = all(fixed_size(column_type) is not None for facts in plan.facts for column_type in facts.schema)
    return fixed and not calls_user_functions(node)


def row_ranges(rows: int, size: int, segments: int | None, workers: TaskRunner, most: int | None = None) -> list[tuple[int, int]]:
    """Row ranges of tasks, given the bytes of what is made of all rows, and how many are worth it at most.

    As many as asked for, else enough for all cores but none too small or too large.
    """
    count = segments or config.default_segments
    if count is None:
        cores = workers.parallelism()
        worth = max(-(-rows // MIN_TASK_ROWS), size // MIN_TASK_BYTES)
        threads = worth if most is None else min(worth, most)
        count = max(1, min(rows, cores, threads), -(-rows // config.segment_rows), min(rows, size // LARGEST_TASK_BYTES))
    bounds = [rows * i // count for i in range(count + 1)]
    return list(pairwise(bounds))


def at_row_groups(runner: PipelineRunner, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges whose ends go to where reading begins afresh, if such a row is near: a row group between two would be decoded for both."""
    starts = [start for start, _ in ranges]
    for place, (start, stop) in enumerate(ranges[:-1], 1):
        last = stop + (stop - start) // NEAR
        found = runner.before_read_afresh(2 * stop - last, last)
        starts[place] = stop if found == last else found
    return list(pairwise([*starts, ranges[-1][1]]))


def with_states(divided: DividedPlan, ranges: Sequence[tuple[int, int]], workers: TaskRunner) -> list[RangeTask]:
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

    plan: Pipeline
    shared: Pipeline
    places: tuple[int, ...]
    runner: PipelineRunner

    @classmethod
    def of(cls, plan: Pipeline) -> DividedPlan:
        """A plan, divided."""
        places = plan.divided_places()
        shared = {place: slice_of_source(plan.operators[place], 0, 0) for place in places}
        for place, operator in enumerate(plan.operators):
            if isinstance(operator, SegmentSource) and place not in places:
                shared[place] = attrs.evolve(operator, manifest=operator.manifest.about(operator.positions))
        return cls(plan, plan.with_sources(shared), places, PipelineRunner(plan))

    @classmethod
    def undivided(cls, plan: Pipeline) -> DividedPlan:
        """A plan whose tasks are sent nowhere, so that each may as well know all of it."""
        return cls(plan, plan, (), PipelineRunner(plan))

    def task(self, rows: tuple[int, int], states: dict[int, Any], final: bool = True) -> RangeTask:
        """The task of a range of base rows, given the states before it."""
        own = {}
        required = self.runner.required(*rows) if self.places else []
        for place in self.places:
            low, high = min((first for first, _ in required[place]), default=0), max((stop for _, stop in required[place]), default=0)
            own[place] = slice_of_source(self.plan.operators[place], low, high)
        return RangeTask(self.shared, *rows, config.batch_rows, states, final, own)


def slice_of_source(source: Any, start: int, stop: int) -> SegmentSource:
    """A source that is told of no segments but those of some of its rows, which keep their numbers."""
    assert isinstance(source, SegmentSource)
    return attrs.evolve(source, manifest=source.manifest.between(source.start + start, source.start + stop, source.positions))
