"""Spark jobs: labelling them with the user's statement, and cancelling them on Ctrl-C."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import sysconfig
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from sframe_spark.message_text import visible
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.memory import require_memory_for_thread
from sframe_spark.process.threads import _CANCELLED, POLL_SECONDS
from sframe_spark.session.progress import open_progress
from sframe_spark.session.session import get_base, get_session, own_sessions
from sframe_spark.session.spark_start_and_settings import is_remote
from sframe_spark.session.spark_versions import inheriting_thread
from sframe_spark.session.users_own_spark_session import tags_of_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARIES = tuple({os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
MAX_CHARACTERS, MAX_OF_NAME = 200, 80
# Thread-local properties from which Spark takes a job's description.
DESCRIPTION, SHORT_SITE, LONG_SITE = "spark.job.description", "callSite.short", "callSite.long"

# The user's statement for which this thread works. In threads of this package no frame of the user is on the stack.
_STATEMENT: ContextVar[str] = ContextVar("sframe_spark_statement", default="")


def description_of(operation: str) -> str:
    """Return the description of an operation, which begins with the user's statement that started it.

    Examples
    --------
    >>> description_of("sort").endswith(" sort")
    True
    """
    statement = statement_of(sys._getframe(1)) or _STATEMENT.get()
    _STATEMENT.set(statement)
    return visible(f"{statement} {operation}".strip())[:MAX_CHARACTERS]


def statement_of(frame: FrameType | None) -> str:
    """Return the file and line of the innermost frame of the user's code; an empty string if there is none.

    The user's code is outside this package and outside installed libraries. If there is no frame of it, the innermost frame of a library is taken.
    """
    outside = ""
    while frame is not None:
        owner = _owner_of(frame.f_code.co_filename)
        if owner != PACKAGE:
            line = f"{os.path.basename(frame.f_code.co_filename)[-MAX_OF_NAME:]}:{frame.f_lineno}"
            if not owner:
                return line
            outside = outside or line
        frame = frame.f_back
    # The bottom frame of a thread of this package is not a statement.
    return "" if outside.startswith(("threading.py:", "thread.py:")) else outside


@lru_cache(maxsize=1024)
def _owner_of(file: str) -> str:
    """Return the directory of this package or of libraries that contains a file; empty for a file of the user."""
    path = os.path.abspath(file)
    return next((directory for directory in (PACKAGE, *LIBRARIES) if path.startswith(directory)), "frozen" if file.startswith("<frozen") else "")


@contextlib.contextmanager
def described(session: SparkSession, text: str, *tags: str) -> Iterator[None]:
    """Give Spark jobs that this thread starts in the block a description and tags; the description that was set before is restored afterwards."""
    if is_remote(session):
        with _tagged((*tags, *filter(None, [tag_of(text)]))):
            yield
        return
    context = session.sparkContext
    properties = dict.fromkeys((DESCRIPTION, SHORT_SITE, LONG_SITE), text) if text else {}
    before = {key: context.getLocalProperty(key) for key in properties}
    for key, value in properties.items():
        context.setLocalProperty(key, value)
    present = context.getJobTags() if tags else ()
    # Tags that exist already are removed by the code that added them.
    new = [tag for tag in tags if tag not in present]
    for tag in new:
        context.addJobTag(tag)
    try:
        yield
    finally:
        for tag in new:
            context.removeJobTag(tag)
        for key, old in before.items():
            # Spark takes null for "not set".
            context.setLocalProperty(key, old)


def tag_of(text: str) -> str:
    """Return a description as a Spark Connect tag, which must not contain commas; empty if the description is.

    Examples
    --------
    >>> tag_of("a,b.py:3 sort")
    'sframe_spark: a;b.py:3 sort'
    """
    return f"sframe_spark: {text.replace(',', ';')}" if text else ""


@contextlib.contextmanager
def _tagged(tags: tuple[str, ...]) -> Iterator[None]:
    """Tag, for the block, all remote sessions in which a query may run: this package's, one for each query size, and the user's, for DataFrames."""
    sessions = remote_sessions()
    new = [(session, tag) for session in sessions for tag in tags if tag not in session.getTags()]
    for session, tag in new:
        session.addTag(tag)
    try:
        yield
    finally:
        for session, tag in new:
            session.removeTag(tag)


def remote_sessions() -> list[SparkSession]:
    """Return the Spark Connect sessions in which queries of this package may run."""
    return [*own_sessions(), get_base()]


# Actions that Ctrl-C cancels.

Result = TypeVar("Result")


def run_cancellable(action: Callable[[], Result], description: str = "") -> Result:
    """Run a Spark action and return its result; Ctrl-C cancels its jobs before ``KeyboardInterrupt`` is raised.

    In the main thread, the action runs in a worker thread while the main thread waits. In any other thread, where ``KeyboardInterrupt`` is never
    raised, the action runs directly.

    Parameters
    ----------
    action
        Runs the Spark work. It calls :func:`raise_if_cancelled` between its steps, and before it publishes anything.
    description
        The operation: for the progress bar, and with the file and line of the user's statement for Spark's list of jobs.

    Raises
    ------
    KeyboardInterrupt
        After all jobs of the action have ended. A second Ctrl-C stops waiting for that.
    """
    session, text = get_session(), description_of(description)
    tags = tags_of_user()
    if threading.current_thread() is not threading.main_thread():
        with described(session, text, *tags):
            return action()
    return CancellableAction(session, action, description, text, tags).run()


class CancellableAction(Generic[Result]):
    """An action in a worker thread. Its jobs are tagged so that they, and no others, can be cancelled."""

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
        """Run the action in the worker thread, wait for it, and return its result or raise its error."""
        # The worker inherits the local properties (pool, job group) of this thread; the context has the settings of `config.using`.
        require_memory_for_thread()
        context = contextvars.copy_context()
        worker = inheriting_thread(lambda: context.run(self._work), self._session)
        worker.name = f"sframe_spark {worker.name}"
        worker.daemon = True
        try:
            with interrupts_deferred():
                # If the start were interrupted, it would be unknown whether the thread runs.
                worker.start()
            self._wait()
        except KeyboardInterrupt:
            self._cancel(worker)
            raise
        if self._error is not None:
            raise self._error
        return cast("Result", self._result)

    def _work(self) -> None:
        """Run the action, with its jobs tagged; this is the worker thread."""
        _CANCELLED.set(self._cancelled.is_set)
        try:
            with described(self._session, self._listed, self._tag, *self._tags):
                self._result = self._action()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def _wait(self) -> None:
        """Wait for the action and show progress. It waits for an Event, as joining a thread cannot be interrupted safely."""
        with open_progress(self._session, self._description) as progress:
            while not self._done.wait(POLL_SECONDS):
                progress.update()

    def _cancel(self, worker: threading.Thread) -> None:
        """Cancel the jobs of the action repeatedly until it has ended, as it may start others meanwhile."""
        self._cancelled.set()
        while not self._done.is_set() and worker.is_alive():
            if is_remote(self._session):
                for session in remote_sessions():
                    session.interruptTag(self._tag)
            else:
                # The `interruptTag` of a classic session cancels nothing unless the thread of the job calls it.
                self._session.sparkContext.cancelJobsWithTag(self._tag)
            self._done.wait(POLL_SECONDS)
