"""Who works on ranges of rows: Spark's tasks, or, where Spark would run on this machine too, threads of this process or Python processes of ours."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import attrs

from sframe_spark.engine.runtime.pipeline import threads_here
from sframe_spark.engine.runtime.tasks import RangeTask, bytes_of
from sframe_spark.engine.runtime.worker_process import Common
from sframe_spark.engine.spark.file_checks import require_readable, require_writable
from sframe_spark.engine.spark.jobs import run_tasks
from sframe_spark.engine.spark.spark_actions import translated_errors
from sframe_spark.engine.task_pickling import Parcel, dumped, packed, pickling_told
from sframe_spark.errors import ExecutionError, ProcessNotStartedError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.progress import open_counted
from sframe_spark.session.session import get_processes
from sframe_spark.udf.errors import error_of_text, error_transport

LOG = logging.getLogger("sframe_spark")

Piece = Callable[[], Any]
# What processes of ours run.
MODULE = "sframe_spark.engine.runtime.worker_process"
# So many calls of a quick function are made in the time in which a process starts.
MOST_ROWS_OF_SHORT = 4_194_304


class RangeWorkers(Protocol):
    """Works on pieces of work that do not depend on each other."""

    are_elsewhere: ClassVar[bool]
    """Results are sent, and rows in the memory of this process are not seen."""

    are_here: ClassVar[bool]
    """They are on this machine, and its files are theirs."""

    are_in_turn: ClassVar[bool]
    """A piece begins when those before it have ended, in this process."""

    def at_a_time(self) -> int:
        """How many pieces are worked on at a time."""

    def require_readable(self, node: PlannerNode) -> None:
        """Make sure that the rows of all sources of a plan are seen there."""

    def require_writable(self, directory: str) -> None:
        """Make sure that what is written to a directory there is seen here."""

    def run(self, works: Sequence[Piece], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of the pieces, in order; the first error ends the rest. ``tasks``: those that the pieces do, where that says how long they take."""


@attrs.frozen
class SparkTasks:
    """Tasks of one Spark job: processes, on whatever machines Spark has."""

    are_elsewhere: ClassVar[bool] = True
    are_here: ClassVar[bool] = False
    are_in_turn: ClassVar[bool] = False

    def at_a_time(self) -> int:
        """The cores of the session."""
        return default_parallelism(get_session())

    def require_readable(self, node: PlannerNode) -> None:
        """Let Spark look at files, once."""
        require_readable(node)

    def require_writable(self, directory: str) -> None:
        """Let a file be exchanged there, once."""
        require_writable(directory)

    def run(self, works: Sequence[Piece], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of tasks, with Spark's errors as ours."""
        with translated_errors(description):
            return run_tasks(works, description, bytes_of(tasks) if tasks else None)


class WorkersOfThisMachine:
    """What threads and processes of this machine have in common: files that this process reads and writes are theirs."""

    are_here: ClassVar[bool] = True
    are_in_turn: ClassVar[bool] = False

    def at_a_time(self) -> int:
        """One for each core that this process may use, up to a number beyond which Python itself is what is waited for."""
        return threads_here()

    def require_readable(self, node: PlannerNode) -> None:
        """Nothing: a plan can be read on the machine that it was made on."""

    def require_writable(self, directory: str) -> None:
        """Nothing: who reads what is written is on the same machine."""


@attrs.frozen
class Threads(WorkersOfThisMachine):
    """Threads of this process: nothing is started, sent or pickled, and Arrow's kernels run side by side."""

    are_elsewhere: ClassVar[bool] = False

    @memory_for_batches()
    def run(self, works: Sequence[Piece], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of threads; after Ctrl-C all of them have ended."""
        with open_counted(len(works), description) as done:
            return in_threads(lambda work: done(work()), works, self.at_a_time())


@attrs.frozen
class InTurn(Threads):
    """A thread of this process, which takes one piece after the other: each may go on from where the one before it has ended."""

    are_in_turn: ClassVar[bool] = True

    def at_a_time(self) -> int:
        """One."""
        return 1


@attrs.frozen
class Processes(WorkersOfThisMachine):
    """Python processes of ours on this machine: for users' functions, and what Python decodes, before a Spark has started."""

    are_elsewhere: ClassVar[bool] = True

    def run(self, works: Sequence[Piece], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of processes; after Ctrl-C those that were at work have ended.

        Raises
        ------
        SFrameError
            The first error of ours that one met, as it was raised there.
        ExecutionError
            If what they are sent cannot be pickled, or one of them ends.
        """
        with pickling_told(description):
            parcels, shared = packed(works)
            common = list(sys.path), dumped(Common.of_this_process(shared))
        are_short = 0 < sum(task.stop - task.start for task in tasks) < MOST_ROWS_OF_SHORT
        here = _Here(works, description)

        def answer(number: int) -> Any:
            if not here.is_told:
                try:
                    return self._answer(common, parcels[number], are_short)
                except ProcessNotStartedError as error:
                    here.tell(error)
            return here.result(number)

        with open_counted(len(works), description) as done:
            return in_threads(lambda number: done(answer(number)), range(len(works)), self.at_a_time())

    def _answer(self, common: tuple[list[str], bytes], parcel: Parcel, is_short: bool) -> Any:
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
class _Here:
    """Works that this process does itself, where no other one could be started for them.

    Parameters
    ----------
    works, description
        As in :meth:`RangeWorkers.run`.
    is_told
        Whether the user was told of it.
    """

    works: Sequence[Piece]
    description: str
    is_told: bool = False
    _turn: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def tell(self, reason: ProcessNotStartedError) -> None:
        """Say why, once."""
        with self._turn:
            if not self.is_told:
                LOG.warning("%s: no Python process could be started (%s), so this one calls functions", self.description, reason)
            self.is_told = True

    def result(self, number: int) -> Any:
        """The result of a work; users' functions were not written to be called by several threads at a time."""
        with self._turn:
            return self.works[number]()


@attrs.frozen
class ThisProcess(WorkersOfThisMachine):
    """The user's process in place of others, where there is no Python that could be started: an application that has its interpreter built in."""

    are_elsewhere: ClassVar[bool] = True

    def at_a_time(self) -> int:
        """One: functions were not written to be called by several threads at a time."""
        return 1

    @memory_for_batches()
    def run(self, works: Sequence[Piece], description: str, tasks: Sequence[RangeTask] = ()) -> list[Any]:
        """Results of the thread that asks."""
        with open_counted(len(works), description) as done:
            return [done(work()) for work in works]


def name_of(workers: RangeWorkers) -> str:
    """What those who work on ranges are called in the log."""
    if isinstance(workers, ThisProcess):
        return "range(s) by this process"
    if workers.are_elsewhere:
        return "range(s) by processes" if workers.are_here else "task(s)"
    return "range(s), one after the other" if workers.are_in_turn else "range(s) by threads"
