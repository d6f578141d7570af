"""Run a Spark action so that Ctrl-C really stops it."""

from __future__ import annotations

import contextvars
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.memory import require_room_for_thread
from sframe_spark.process.threads import _CANCELLED, POLL_SECONDS
from sframe_spark.session.descriptions import described, description_of, remote_sessions
from sframe_spark.session.progress import open_progress
from sframe_spark.session.session import get_session, is_remote
from sframe_spark.session.user import tags_of_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")


def run_cancellable(action: Callable[[], Result], description: str = "") -> Result:
    """Run a Spark action and return its result; Ctrl-C cancels its jobs before ``KeyboardInterrupt`` is raised.

    In the main thread the action runs in a worker thread while the main thread waits. In any other thread, where no
    ``KeyboardInterrupt`` ever arrives, the action runs directly.

    Parameters
    ----------
    action
        Does the work in Spark. Between two steps, and before it publishes anything, it calls
        :func:`raise_if_cancelled`.
    description
        What is being done, for the progress bar and, behind the file and line of the user's statement, for Spark's own list of jobs.

    Raises
    ------
    KeyboardInterrupt
        After all jobs of the action have ended. A second Ctrl-C gives up waiting for that.
    """
    session, text = get_session(), description_of(description)
    tags = tags_of_user()
    if threading.current_thread() is not threading.main_thread():
        with described(session, text, *tags):
            return action()
    return CancellableAction(session, action, description, text, tags).run()


class CancellableAction(Generic[Result]):
    """One action in a worker thread, with its jobs tagged so that they, and no others, can be cancelled."""

    def __init__(self, session: SparkSession, action: Callable[[], Result], description: str, listed: str = "", tags: Sequence[str] = ()) -> None:
        self._session = session
        self._action = action
        self._description = description
        self._listed = listed
        self._tags = tuple(tags)
        self._tag = f"sframe_spark-{uuid.uuid4().hex}"
        self._done = threading.Event()
        self._cancelled = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None

    def run(self) -> Result:
        """Start the worker, wait for it, and return or raise what it did."""
        # Inherits local properties (pool, job group) of this thread; the context carries `config.using`.
        from pyspark import InheritableThread

        require_room_for_thread()
        context = contextvars.copy_context()
        worker = InheritableThread(target=lambda: context.run(self._work), session=self._session)
        worker.name = f"sframe_spark {worker.name}"
        worker.daemon = True
        try:
            with interrupts_deferred():
                # Of a thread whose start is interrupted nobody knows that it runs.
                worker.start()
            self._wait()
        except KeyboardInterrupt:
            self._cancel(worker)
            raise
        if self._error is not None:
            raise self._error
        return cast("Result", self._result)

    def _work(self) -> None:
        """Run the action in the worker thread, with its jobs tagged."""
        _CANCELLED.set(self._cancelled.is_set)
        try:
            with described(self._session, self._listed, self._tag, *self._tags):
                self._result = self._action()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def _wait(self) -> None:
        """Wait for the action and show how far it is; an Event, as a thread's join cannot be interrupted safely."""
        with open_progress(self._session, self._description) as progress:
            while not self._done.wait(POLL_SECONDS):
                progress.update()

    def _cancel(self, worker: threading.Thread) -> None:
        """Cancel the jobs of the action again and again until it has ended: it may start another one meanwhile."""
        self._cancelled.set()
        while not self._done.is_set() and worker.is_alive():
            self._cancel_jobs()
            self._done.wait(POLL_SECONDS)

    def _cancel_jobs(self) -> None:
        if is_remote(self._session):
            for session in remote_sessions():
                session.interruptTag(self._tag)
        else:
            # `session.interruptTag` cancels nothing here when called from another thread than the job's.
            self._session.sparkContext.cancelJobsWithTag(self._tag)
