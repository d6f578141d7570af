"""Work of several threads at a time, which has ended when the caller goes on, whatever ends it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, NoReturn, TypeVar

from sframe_spark.errors import CancelledError
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.memory import affordable_threads

Item = TypeVar("Item")
Result = TypeVar("Result")

# Where a thread leaves what it made, or why it could not. A future has a lock that Python code takes: an interrupt of who waits may leave it taken.
Left = SimpleQueue[tuple[list[Result], BaseException | None]]

# After Ctrl-C, for what does not end: a disk that does not answer.
MAX_SECONDS_TO_END = 5.0

# How often a waiting thread looks up: to draw the progress bar, and to notice Ctrl-C on systems where a signal does not end a wait.
POLL_SECONDS = 0.1

# Says whether the work of this thread is to end early.
_CANCELLED: ContextVar[Callable[[], bool]] = ContextVar("sframe_spark_cancelled")


def call_cancellable(is_cancelled: Callable[[], bool], work: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in which :func:`raise_if_cancelled` asks whether to go on; for threads that do nothing else."""
    _CANCELLED.set(is_cancelled)
    raise_if_cancelled()
    return work(*arguments)


def raise_if_cancelled() -> None:
    """Raise if the user has pressed Ctrl-C since the current action began.

    Raises
    ------
    CancelledError
        To be let through by the action: the caller of :func:`run_cancellable` or :func:`in_threads` sees ``KeyboardInterrupt`` instead.
    """
    cancelled = _CANCELLED.get(None)
    if cancelled is not None and cancelled():
        raise CancelledError("the query was cancelled")


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
        return self._since is not None and time.monotonic() > self._since + MAX_SECONDS_TO_END


class ThreadPool(ThreadPoolExecutor):
    """A pool that goes on with the threads that there are when the system starts no more of them.

    Without any, what is submitted is refused with a RuntimeError, and whoever submits it does it.
    """

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise


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
    room = affordable_threads(min(threads, len(todo)))
    # Not heard until the threads have ended: a second Ctrl-C would break off the wait for them.
    with interrupts_deferred(ending.begin):
        if not room:
            return [copy_context().run(call_cancellable, ending.has_begun, work, item) for item in todo]
        if len(todo) == 1:
            return [_in_a_thread(partial(work, todo[0]), ending)]
        pool = ThreadPool(room, thread_name_prefix="sframe_spark")
        works: list[Future[Result]] = []
        try:
            try:
                # What is set for a while here, is so there.
                works.extend(pool.submit(copy_context().run, call_cancellable, ending.has_begun, work, item) for item in todo)
            except RuntimeError:
                if works:
                    raise
                # Python ends, and waits for this thread, or the system starts no more threads.
                return [copy_context().run(call_cancellable, ending.has_begun, work, item) for item in todo]
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


def in_threads_ahead(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result]:
    """Yield the results of some work on each item, in order, while threads work on the next ones; an error comes where its result would.

    Whoever asks for results takes the items, and has at most two more than threads work on. A single one is worked on by nobody else.

    Parameters
    ----------
    work
        What is done; where results are not asked for any more, whatever it has begun is of no use to anybody.
    items
        What is worked on.
    threads
        How many at a time.

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
    coming: deque[Left[Result]] = deque()
    with interrupts_deferred():
        pool = ThreadPool(threads, thread_name_prefix="sframe_spark ahead")
    rest = chain(todo, calls)
    try:
        while True:
            # One after the other: the first is worked on while the next one is read.
            coming.extend(_submitted(pool, call) for call in islice(rest, threads + 2 - len(coming)))
            if not coming:
                return
            yield _taken(coming.popleft())
    finally:
        # An interrupt amid it would leave a lock taken, and the end of Python waits for it.
        with interrupts_deferred():
            pool.shutdown(wait=False, cancel_futures=True)


def _calls(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Callable[[], Result]]:
    """Yield what makes each result; where items fail, what tells the error."""
    try:
        for item in items:
            yield partial(work, item)
    except Exception as error:
        yield partial(_raise, error)


def _raise(error: Exception) -> NoReturn:
    raise error


def _submitted(pool: ThreadPoolExecutor, call: Callable[[], Result]) -> Left[Result]:
    left: Left[Result] = SimpleQueue()

    def leave() -> None:
        try:
            left.put(([call()], None))
        except BaseException as error:
            left.put(([], error))

    try:
        with interrupts_deferred():
            pool.submit(copy_context().run, leave)
    except RuntimeError:
        # Python ends, and waits for this thread: it starts no other.
        leave()
    return left


def _taken(left: Left[Result]) -> Result:
    results, error = left.get()
    if error is None:
        return results[0]
    try:
        raise error
    finally:
        # It refers to this frame.
        del error
