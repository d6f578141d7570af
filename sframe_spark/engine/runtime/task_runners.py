"""Task runners, which run tasks in threads, Python processes or Spark tasks, and the division of a section into tasks over row ranges."""

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
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import (
    RangeTask,
    bytes_of,
    joined_ranges,
    may_converge,
    states_between,
    summarize_range,
)
from sframe_spark.engine.runtime.worker_process_main_loop import TaskEnvironment
from sframe_spark.engine.size_estimates_and_memory_reservations import UNKNOWN_BYTES
from sframe_spark.engine.spark.callables_as_job import run_callables
from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.engine.spark.shared_file_and_row_count_checks import require_readable, require_writable
from sframe_spark.engine.task_pickling import TaskPayload, pack_tasks, pickle_by_value, translated_pickling_errors
from sframe_spark.errors import ExecutionError, ProcessNotStartedError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.row_sizes import fixed_size, row_bytes
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.process.threads import even_ranges, in_threads, raise_if_cancelled
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.progress import open_counted
from sframe_spark.session.session import get_processes
from sframe_spark.udf.function_errors import error_of_text, error_transport

LOG = logging.getLogger("sframe_spark")

Task = Callable[[], Any]
# The module that worker processes run.
MODULE = "sframe_spark.engine.runtime.worker_process_main_loop"
# Tasks over fewer rows than this are short: calling a quick function for this many rows takes about as long as starting a process.
MAX_ROWS_OF_SHORT = 4_194_304


class TaskRunner(Protocol):
    """Runs independent tasks."""

    is_out_of_process: ClassVar[bool]
    """Tasks do not share this process's memory: they and their results are pickled."""

    is_on_this_machine: ClassVar[bool]
    """Tasks run on this machine and see its files."""

    is_sequential: ClassVar[bool]
    """Tasks run one after the other, in this process."""

    def parallelism(self) -> int:
        """Return how many tasks run at a time."""

    def require_readable(self, node: PlannerNode) -> None:
        """Check that tasks can read all sources of a plan."""

    def require_writable(self, directory: str) -> None:
        """Check that this process sees the files that tasks write to a directory."""

    def run(self, callables: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Run tasks and return their results in order; the first error ends the rest.

        ``tasks`` are their row ranges, for estimating how long they take.
        """


@attrs.frozen
class SparkTaskRunner:
    """Runs tasks as one Spark job."""

    is_out_of_process: ClassVar[bool] = True
    is_on_this_machine: ClassVar[bool] = False
    is_sequential: ClassVar[bool] = False

    def parallelism(self) -> int:
        """Return the number of cores of the session."""
        return default_parallelism(get_session())

    def require_readable(self, node: PlannerNode) -> None:
        """Check, once in a session for each directory, that Spark sees the files."""
        require_readable(node)

    def require_writable(self, directory: str) -> None:
        """Check, once in a session for each directory, that Spark shares the directory, by exchanging files."""
        require_writable(directory)

    def run(self, callables: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Run a Spark job; Spark's errors are translated."""
        with translated_errors(description):
            return run_callables(callables, description, bytes_of(tasks) if tasks else None)


class LocalRunner:
    """Base class of runners on this machine: tasks see the files of this process."""

    is_on_this_machine: ClassVar[bool] = True
    is_sequential: ClassVar[bool] = False

    def parallelism(self) -> int:
        """Return the number of usable cores, up to a limit beyond which threads would only wait for Python's lock."""
        return local_threads()

    def require_readable(self, node: PlannerNode) -> None:
        """Do nothing: tasks are on the same machine."""

    def require_writable(self, directory: str) -> None:
        """Do nothing: tasks are on the same machine."""


@attrs.frozen
class ThreadRunner(LocalRunner):
    """Runs tasks in threads of this process: nothing is pickled, and Arrow's kernels run in parallel."""

    is_out_of_process: ClassVar[bool] = False

    @memory_for_batches()
    def run(self, callables: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Run tasks in threads; after Ctrl-C, all threads have ended when this raises."""
        with open_counted(len(callables), description) as done:
            return in_threads(lambda work: done(work()), callables, self.parallelism())


@attrs.frozen
class SequentialRunner(ThreadRunner):
    """Runs tasks in order in one thread: each may continue from the state in which the one before it ended."""

    is_sequential: ClassVar[bool] = True

    def parallelism(self) -> int:
        """Return one."""
        return 1


@attrs.frozen
class ProcessRunner(LocalRunner):
    """Runs tasks in Python worker processes on this machine: for users' functions and decoding in Python while Spark is not running."""

    is_out_of_process: ClassVar[bool] = True

    def run(self, callables: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Run tasks in worker processes; after Ctrl-C, the busy ones have ended when this raises.

        Raises
        ------
        SFrameError
            The first error of a task, as it was raised in the worker.
        ExecutionError
            If tasks cannot be pickled, or a worker process dies.
        """
        with translated_pickling_errors(description):
            packed_tasks, shared = pack_tasks(callables)
            common = list(sys.path), pickle_by_value(TaskEnvironment.of_this_process(shared))
        are_short = 0 < sum(task.stop - task.start for task in tasks) < MAX_ROWS_OF_SHORT
        fallback = LocalFallback(callables, description)

        def answer(number: int) -> Any:
            if not fallback.has_warned:
                try:
                    return self._answer(common, packed_tasks[number], are_short)
                except ProcessNotStartedError as error:
                    fallback.warn(error)
            return fallback.result(number)

        with open_counted(len(callables), description) as done:
            return in_threads(lambda number: done(answer(number)), range(len(callables)), self.parallelism())

    def _answer(self, common: tuple[list[str], bytes], packed_task: TaskPayload, is_short: bool) -> Any:
        with get_processes().one(MODULE, raise_if_cancelled, is_short) as worker:
            request = pickle.dumps((None if worker.received is common else common, packed_task))
            failed, payload = pickle.loads(worker.ask(request, raise_if_cancelled))
            worker.received = common
        if failed:
            # Errors of unpickling are sent in the same form as from Spark's workers.
            carried = error_transport().unpacked(payload.decode("ascii"))
            raise error_of_text(payload) or carried or ExecutionError("a function failed with an error that cannot be read")
        return pickle.loads(payload)


@attrs.define(eq=False)
class LocalFallback:
    """Runs tasks in this process if no worker process could be started.

    Parameters
    ----------
    callables, description
        As in :meth:`TaskRunner.run`.
    has_warned
        Whether the warning was logged.
    """

    callables: Sequence[Task]
    description: str
    has_warned: bool = False
    _turn: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def warn(self, reason: ProcessNotStartedError) -> None:
        """Log a warning with the reason, once."""
        with self._turn:
            if not self.has_warned:
                LOG.warning("%s: no Python process could be started (%s), so this one calls functions", self.description, reason)
            self.has_warned = True

    def result(self, number: int) -> Any:
        """Run a task and return its result; one task at a time, as users' functions need not be thread-safe."""
        with self._turn:
            return self.callables[number]()


@attrs.frozen
class InProcessRunner(LocalRunner):
    """Runs tasks in this process if no Python interpreter can be started, as in applications that embed one."""

    is_out_of_process: ClassVar[bool] = True

    def parallelism(self) -> int:
        """Return one, as users' functions need not be thread-safe."""
        return 1

    @memory_for_batches()
    def run(self, callables: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Run tasks in the calling thread."""
        with open_counted(len(callables), description) as done:
            return [done(work()) for work in callables]


def name_of(workers: TaskRunner) -> str:
    """Return the name of a task runner's tasks for log lines."""
    if isinstance(workers, InProcessRunner):
        return "range(s) by this process"
    if workers.is_out_of_process:
        return "range(s) by processes" if workers.is_on_this_machine else "task(s)"
    return "range(s), one after the other" if workers.is_sequential else "range(s) by threads"


# The division of a section into tasks: ranges of its base rows, each with the states of sequential operators before it.

# Starting a Spark task takes some ten milliseconds, so a range has at least this many rows or bytes, unless the section has fewer.
MIN_TASK_ROWS = 65_536
MIN_TASK_BYTES = 32 << 20
# Fewer bytes of numbers are read by one thread as fast as by several: each thread has to allocate batches and waits for Python's lock.
MIN_THREAD_BYTES = 6 << 20
# If a summarising pass processes at least this share of all bytes, one thread is as fast as several; if it processes less, two threads take at most
# three quarters of the time of one.
MIN_PASSED = 0.5
# The end of a range moves to the end of a row group if that is close: at most one part in this many of the range away.
NEAR = 8
# Upper limit for the bytes of a task.
LARGEST_TASK_BYTES = 1 << 30


def range_tasks(node: PlannerNode, rows: int, segments: int | None, workers: TaskRunner) -> list[RangeTask]:
    """Divide a section of ``rows`` base rows into tasks: into ``segments`` tasks if given, else into as many as are worth it."""
    workers.require_readable(node)
    plan = Pipeline.of(node)
    size = int(max((facts.length.rows or rows) * row_bytes(sizes, 0) for facts, sizes in zip(plan.facts, plan.sizes, strict=True)))
    # If all values have a fixed size and no user's function is called, computing is fast for its bytes.
    is_fast = all(fixed_size(kind) is not None for facts in plan.facts for kind in facts.schema) and not calls_user_functions(node)
    most = size // MIN_THREAD_BYTES if not workers.is_out_of_process and is_fast else None
    ranges = row_ranges(rows, size, segments, workers, most)
    # Tasks of this process share the plan with all its segments.
    divided = DividedPlan.of(plan) if workers.is_out_of_process else DividedPlan(plan, plan, (), PipelineRunner(plan))
    if workers.is_on_this_machine and len(ranges) > 1 and (segments or config.default_segments) is None:
        ranges = at_row_groups(divided.runner, ranges)
    if workers.is_sequential:
        return in_turn(divided, ranges, min(local_threads(), size // MIN_THREAD_BYTES) - 1)
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
    is_cheaper = levels and others <= len(levels) and passed >= others * MIN_PASSED * bytes_made(plan, range(len(plan.operators)))
    return SequentialRunner() if is_cheaper else workers


def bytes_made(plan: Pipeline, indices: Iterable[int]) -> float:
    """Return the bytes of a row that some operators of a plan read or compute; operators that only arrange columns do not count."""
    return sum(row_bytes(plan.sizes[index], UNKNOWN_BYTES) for index in indices if not plan.operators[index].arranges_columns)


def in_turn(divided: DividedPlan, ranges: Sequence[tuple[int, int]], ahead: int) -> list[RangeTask]:
    """Return tasks of which each continues from the states of the one before it; ``ahead`` threads prefetch rows for each."""
    tasks: list[RangeTask] = []
    for index, rows in reversed(list(enumerate(ranges))):
        task = divided.task(rows, {}, final=rows is ranges[-1])
        tasks.append(attrs.evolve(task, ahead=max(ahead, 0), then=tasks[-1] if tasks else None, waits=index > 0))
    return tasks[::-1]


def row_ranges(rows: int, size: int, segments: int | None, workers: TaskRunner, most: int | None = None) -> list[tuple[int, int]]:
    """Return the row ranges of tasks, given the bytes of all rows and the largest number of ranges that is worth it.

    There are ``segments`` ranges if given; else enough for all cores, but none too small or too large.
    """
    count = segments or config.default_segments
    if count is None:
        cores = workers.parallelism()
        worth = max(-(-rows // MIN_TASK_ROWS), size // MIN_TASK_BYTES)
        threads = worth if most is None else min(worth, most)
        count = max(1, min(rows, cores, threads), -(-rows // config.segment_rows), min(rows, size // LARGEST_TASK_BYTES))
    return even_ranges(rows, count)


def at_row_groups(runner: PipelineRunner, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges whose ends are moved to a row-group boundary close by, as a row group that two ranges share would be decoded twice."""
    starts = [start for start, _ in ranges]
    for index, (start, stop) in enumerate(ranges[:-1], 1):
        last = stop + (stop - start) // NEAR
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
