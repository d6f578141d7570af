"""Task runners, which run tasks in threads, Python processes or Spark tasks, or one after the other in this process."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.runtime.pipeline import local_threads
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, bytes_of
from sframe_spark.engine.runtime.worker_process_main_loop import TaskEnvironment
from sframe_spark.engine.spark.callables_as_job import run_callables
from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.engine.spark.messages_between_tasks import ExchangeResults, Receiver, Relay, Sender, run_exchange
from sframe_spark.engine.spark.shared_file_and_row_count_checks import require_readable, require_writable, why_unseen
from sframe_spark.engine.task_pickling import TaskPayload, pack_tasks, pickle_by_value, translated_pickling_errors
from sframe_spark.errors import ExecutionError, ProcessNotStartedError
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.progress import CountedTasks, open_counted
from sframe_spark.session.session import get_processes
from sframe_spark.session.spark_locality import is_spark_local
from sframe_spark.udf.error_transport import error_of_text, error_transport

LOG = logging.getLogger("sframe_spark")

Task = Callable[[], Any]
# The module that worker processes run.
MODULE = "sframe_spark.engine.runtime.worker_process_main_loop"


class TaskRunner(Protocol):
    """Runs independent tasks."""

    is_out_of_process: ClassVar[bool]
    """Whether tasks are treated as if they did not share this process's memory. Such runners, but for `InProcessRunner`, pickle tasks and results."""

    is_on_this_machine: ClassVar[bool]
    """Whether tasks are known to run on this machine, where they see its files."""

    is_sequential: ClassVar[bool]
    """Whether each task may continue from the state in which the one before it ended, as tasks run in order in one thread."""

    def parallelism(self) -> int:
        """Return the largest number of tasks that run at the same time."""

    def require_readable(self, node: PlannerNode) -> None:
        """Check that tasks can read all sources of a plan."""

    def require_writable(self, directory: str) -> None:
        """Check that this process sees the files that tasks write to a directory."""

    def run(self, callables: Sequence[Task], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Run tasks and return their results in order. The first error is raised, and the other tasks are ended or not begun.

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

    def exchange(
        self, senders: Sequence[Sender], receivers: Sequence[Receiver], description: str, tasks: Sequence[RangeTask], relays: Sequence[Relay] = ()
    ) -> ExchangeResults:
        """Run a Spark job in which senders send messages to receivers; Spark's errors are translated. See :func:`run_exchange`."""
        with translated_errors(description):
            return run_exchange(senders, receivers, description, bytes_of(tasks), relays)


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
        with open_counted(rows_of(callables, tasks), description) as counted:
            return in_threads(lambda number: counted.run(number, callables[number]), range(len(callables)), self.parallelism())


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
        """Run tasks in worker processes; after Ctrl-C, the processes that were busy have ended when this raises.

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
        are_short = 0 < sum(task.stop - task.start for task in tasks) < costs.MAX_ROWS_OF_SHORT_TASKS
        fallback = LocalFallback(callables, description)

        rows = rows_of(callables, tasks)

        def answer(number: int, counted: CountedTasks) -> Any:
            if not fallback.has_warned:
                try:
                    return self._answer(common, packed_tasks[number], are_short, rows[number] or 0, counted.listen(number))
                except ProcessNotStartedError as error:
                    fallback.warn(error)
            return fallback.result(number)

        with open_counted(rows, description) as counted:
            return in_threads(lambda n: counted.run(n, lambda: answer(n, counted)), range(len(callables)), self.parallelism())

    def _answer(
        self, common: tuple[list[str], bytes], packed_task: TaskPayload, is_short: bool, rows: int, listen: Callable[[int], None] | None
    ) -> Any:
        with get_processes().one(MODULE, raise_if_cancelled, is_short) as worker:
            request = pickle.dumps((None if worker.received is common else common, packed_task, None if listen is None else rows))
            failed, payload = pickle.loads(worker.ask(request, raise_if_cancelled, listen))
            worker.received = common
        if failed:
            # A worker that could not unpickle its task sends the error in the form that Spark's workers use.
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
                LOG.warning("%s: no Python process could be started (%s), so this process calls the functions", self.description, reason)
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
        with open_counted(rows_of(callables, tasks), description) as counted:
            return [counted.run(number, work) for number, work in enumerate(callables)]


def rows_of(callables: Sequence[Task], tasks: Sequence[RangeTask]) -> list[int | None]:
    """Return the number of base rows of each callable; None where it is not known."""
    return [task.stop - task.start for task in tasks] if len(tasks) == len(callables) else [None] * len(callables)


def runner_over(node: PlannerNode) -> TaskRunner:
    """Return Spark's task runner for tasks that read a materialised node; threads, if Spark's machines do not see its files."""
    leaves = [leaf for leaf in postorder([node]) if not leaf.inputs]
    is_unseen = not is_spark_local() and any(why_unseen(leaf.operator, asks=True) for leaf in leaves)
    return ThreadRunner() if is_unseen else SparkTaskRunner()


def name_of(workers: TaskRunner) -> str:
    """Return the name of a task runner's tasks for log lines."""
    if isinstance(workers, InProcessRunner):
        return "range(s) by this process"
    if workers.is_out_of_process:
        return "range(s) by processes" if workers.is_on_this_machine else "task(s)"
    return "range(s), one after the other" if workers.is_sequential else "range(s) by threads"
