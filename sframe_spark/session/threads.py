"""Work of several threads at a time, which has ended when the caller goes on, whatever ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from sframe_spark.errors import CancelledError
from sframe_spark.session.cancel import call_cancellable
from sframe_spark.session.interrupts import interrupts_deferred
from sframe_spark.session.starting import POLL_SECONDS

Item = TypeVar("Item")
Result = TypeVar("Result")

# After Ctrl-C, for what does not end: a disk that does not answer.
MOST_SECONDS_TO_END = 5.0


class _Ending:
    """Whether the threads were told to end, and when; told by the handler of Ctrl-C, so without a lock."""

    def __init__(self) -> None:
        self._since: float | None = None

    def begin(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def has_begun(self) -> bool:
        return self._since is not None

    def is_late(self) -> bool:
        return self._since is not None and time.monotonic() > self._since + MOST_SECONDS_TO_END


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return the results of some work on each item, in order; its first error ends the rest.

    After Ctrl-C, pressed once or many times, ``KeyboardInterrupt`` is raised when all threads have ended: what they write to can be deleted.

    Parameters
    ----------
    work
        Between its steps it calls :func:`raise_if_cancelled`. A thread that does not do so for seconds after Ctrl-C is left to itself.
    items
        What is worked on.
    threads
        How many at a time.

    Examples
    --------
    >>> in_threads(abs, [1, -2, 3], 2)
    [1, 2, 3]
    """
    todo, ending = list(items), _Ending()
    # Not heard until the threads have ended: a second Ctrl-C would break off the wait for them.
    with interrupts_deferred(ending.begin):
        if len(todo) == 1:
            return [_in_a_thread(partial(work, todo[0]), ending)]
        pool = ThreadPoolExecutor(threads, thread_name_prefix="sframe_spark")
        works: list[Future[Result]] = []
        try:
            try:
                # What is set for a while here, is so there.
                works.extend(pool.submit(copy_context().run, call_cancellable, ending.has_begun, work, item) for item in todo)
            except RuntimeError:
                if works:
                    raise
                # Python ends, and waits for this thread: it starts no other.
                return [work(item) for item in todo]
            return [_result(future, ending) for future in works]
        finally:
            ending.begin()
            pool.shutdown(wait=False, cancel_futures=True)
            _wait([future for future in works if not future.cancelled()], ending)
            pool.shutdown(wait=not ending.is_late())


def _in_a_thread(work: Callable[[], Result], ending: _Ending) -> Result:
    """Return the result of one work, in a thread of its own: a pool and a future take twice as long to come and go, and small saves notice."""
    context = copy_context()
    results: list[Result] = []
    errors: list[BaseException] = []
    # Not a join: one that another signal's handler breaks off takes the thread for ended from then on.
    done = threading.Event()

    def run() -> None:
        try:
            results.append(context.run(call_cancellable, ending.has_begun, work))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, name="sframe_spark_0")
    try:
        try:
            thread.start()
        except RuntimeError:
            # Python ends, and waits for this thread: it starts no other.
            done.set()
            return work()
        _wait_for(done, ending)
    finally:
        # Whatever ends the wait, an alarm of the user's too: the thread has ended, then, and writes nothing more.
        ending.begin()
        _wait_for(done, ending)
    if done.is_set():
        thread.join()
    try:
        if errors:
            raise errors[0]
        if not results:
            raise CancelledError("the work was cancelled")
        return results[0]
    finally:
        # The traceback leads here: what it holds would stay until the garbage collector comes.
        errors.clear()


def _wait_for(done: threading.Event, ending: _Ending) -> None:
    while not done.is_set() and not ending.is_late():
        done.wait(POLL_SECONDS)


def _result(future: Future[Result], ending: _Ending) -> Result:
    _wait([future], ending)
    if not future.done():
        raise CancelledError("the work was cancelled")
    return future.result()


def _wait(works: list[Future[Result]], ending: _Ending) -> None:
    # Most have ended when they are waited for.
    while (running := [work for work in works if not work.done()]) and not ending.is_late():
        wait(running, POLL_SECONDS)
