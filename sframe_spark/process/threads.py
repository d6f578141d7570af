"""Calls functions in several threads, and cancels the calls on Ctrl-C.

When ``in_threads`` returns or raises, all its threads have ended. ``in_threads_ahead`` yields results while threads compute the next ones.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import chain, islice, pairwise
from queue import SimpleQueue
from typing import Any, NoReturn, TypeVar

from sframe_spark.errors import CancelledError
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.memory import affordable_threads

Item = TypeVar("Item")
Result = TypeVar("Result")

# A queue for the result or error of a call. It is not a future, whose lock is Python code: an interrupt of the waiting thread could leave it locked.
Outcome = SimpleQueue[tuple[list[Result], BaseException | None]]

# How long to wait for threads after Ctrl-C, as a disk may not respond.
MAX_SECONDS_TO_END = 5.0

# How often a waiting thread wakes up: to draw the progress bar, and to notice Ctrl-C on systems where a signal does not end a wait.
POLL_SECONDS = 0.1

# A function that returns whether the work of this thread was cancelled.
_CANCELLED: ContextVar[Callable[[], bool]] = ContextVar("sframe_spark_cancelled")


def call_cancellable(is_cancelled: Callable[[], bool], work: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in which :func:`raise_if_cancelled` works; to be used in threads, or contexts, that do nothing else."""
    _CANCELLED.set(is_cancelled)
    raise_if_cancelled()
    return work(*arguments)


def raise_if_cancelled() -> None:
    """Raise an error if the user has pressed Ctrl-C since the current action began.

    Raises
    ------
    CancelledError
        If the action was cancelled. The calling code must not catch the error; the caller of the action gets ``KeyboardInterrupt``.
    """
    cancelled = _CANCELLED.get(None)
    if cancelled is not None and cancelled():
        raise CancelledError("the query was cancelled")


def even_ranges(count: int, parts: int) -> list[tuple[int, int]]:
    """Divide ``count`` items into consecutive ranges of about equal length.

    Examples
    --------
    >>> even_ranges(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    return list(pairwise(count * part // parts for part in range(parts + 1)))


class _Ending:
    """Whether the threads are to end, and since when. It is set by the handler of Ctrl-C, so it has no lock."""

    def __init__(self) -> None:
        self._since: float | None = None

    def begin(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def is_requested(self) -> bool:
        return self._since is not None

    def is_late(self) -> bool:
        return self._since is not None and time.monotonic() > self._since + MAX_SECONDS_TO_END


class ThreadPool(ThreadPoolExecutor):
    """A thread pool that continues with the threads it has if the system starts no more.

    If there is no thread at all, submitting raises a RuntimeError, and the caller does the work itself.
    """

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return the result of a function for each item, in order, computed in threads; the first error ends the rest.

    After Ctrl-C, pressed once or many times, ``KeyboardInterrupt`` is raised when all threads have ended, so that the files they write to can be
    deleted.

    Parameters
    ----------
    work
        The function for one item. It calls :func:`raise_if_cancelled` between its steps; if it does not for seconds after Ctrl-C, it is not waited
        for.
    items
        The arguments of the calls.
    threads
        The maximum number of threads.

    Examples
    --------
    >>> in_threads(abs, [1, -2, 3], 2)
    [1, 2, 3]
    """
    todo, ending = list(items), _Ending()
    affordable = affordable_threads(min(threads, len(todo)))
    # Ctrl-C is deferred until the threads have ended: a second one would end the wait for them.
    with interrupts_deferred(ending.begin):
        # Each call gets a copy of the context, which has temporary settings.
        calls = [partial(copy_context().run, partial(call_cancellable, ending.is_requested, work, item)) for item in todo]
        if not affordable:
            return [call() for call in calls]
        pool = ThreadPool(affordable, thread_name_prefix="sframe_spark")
        futures: list[Future[Result]] = []
        try:
            try:
                futures.extend(map(pool.submit, calls))
            except RuntimeError:
                if futures:
                    raise
                # The interpreter is shutting down and waits for this thread, or the system starts no more threads.
                return [call() for call in calls]
            return list(map(partial(_result, ending), futures))
        finally:
            ending.begin()
            pool.shutdown(wait=False, cancel_futures=True)
            _wait([future for future in futures if not future.cancelled()], ending)
            pool.shutdown(wait=not ending.is_late())
            # An error has this frame in its traceback, and a future has the error: what both refer to would stay until the next garbage collection.
            futures.clear()


def _result(ending: _Ending, future: Future[Result]) -> Result:
    try:
        _wait([future], ending)
        if not future.done():
            raise CancelledError("the work was cancelled")
        return future.result()
    finally:
        # See `in_threads`.
        del future


def _wait(futures: list[Future[Result]], ending: _Ending) -> None:
    while (running := [future for future in futures if not future.done()]) and not ending.is_late():
        wait(running, POLL_SECONDS)


def in_threads_ahead(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result]:
    """Yield the result of a function for each item, in order, while threads compute the next ones; an error is raised in place of its result.

    Items are taken from the iterable by the consumer's thread, at most two more than there are threads. A single item is computed in the consumer's
    thread.

    Parameters
    ----------
    work
        The function for one item. It must leave nothing behind, as unfinished calls are not waited for when the consumer stops.
    items
        The arguments of the calls.
    threads
        The maximum number of threads.

    Examples
    --------
    >>> list(in_threads_ahead(abs, iter([1, -2, 3]), 2))
    [1, 2, 3]
    """
    calls = _calls(work, items)
    threads = affordable_threads(threads)
    todo = list(islice(calls, 2 if threads > 1 else 0))
    if len(todo) < 2:
        yield from (call() for call in chain(todo, calls))
        return
    outcomes: deque[Outcome[Result]] = deque()
    with interrupts_deferred():
        pool = ThreadPool(threads, thread_name_prefix="sframe_spark ahead")
    rest = chain(todo, calls)
    try:
        while True:
            # Submitted one by one, so that the first call runs while the next item is read.
            outcomes.extend(_submitted(pool, call) for call in islice(rest, threads + 2 - len(outcomes)))
            if not outcomes:
                return
            yield _received(outcomes.popleft())
    finally:
        # An interrupt in the middle would leave a lock locked that the interpreter waits for when it shuts down.
        with interrupts_deferred():
            pool.shutdown(wait=False, cancel_futures=True)


def _calls(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Callable[[], Result]]:
    """Yield a call for each item; if the iterable raises an error, the last call raises it."""

    def fail(error: Exception) -> NoReturn:
        raise error

    try:
        for item in items:
            yield partial(work, item)
    except Exception as error:
        yield partial(fail, error)


def _submitted(pool: ThreadPoolExecutor, call: Callable[[], Result]) -> Outcome[Result]:
    outcome: Outcome[Result] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put(([call()], None))
        except BaseException as error:
            outcome.put(([], error))

    try:
        with interrupts_deferred():
            pool.submit(copy_context().run, run)
    except RuntimeError:
        # The interpreter is shutting down, or the system starts no more threads.
        run()
    return outcome


def _received(outcome: Outcome[Result]) -> Result:
    results, error = outcome.get()
    if error is None:
        return results[0]
    try:
        raise error
    finally:
        # The traceback of the error refers to this frame.
        del error
