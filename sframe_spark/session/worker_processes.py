"""Python processes of our own that do work for this one: started when they are first needed, used again, ended with it."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Pipe

from sframe_spark.errors import ExecutionError

# A request is looked after so often: Ctrl-C ends the process that works on it.
POLL_SECONDS = 0.05
SECONDS_TO_END = 2.0
# Several threads of the user may ask at once; so many processes stay for the next.
MOST_IDLE = 8
# A process starts in the time of some hundred thousand calls: short works that come seldom are worth no second one.
SECONDS_WORTH_ANOTHER = 0.25
# It shows no progress of its own.
QUIET = {"SFRAME_SPARK_PROGRESS": "off"}
# There is one for each core, as for Spark's, which are told the same: Numpy starts no threads of its own, which take longer than all the rest of it.
ONE_CORE = {"OMP_NUM_THREADS": "1"}
# What a process runs: the directories that this package is in, then the module that answers, and two pipes.
START = "import sys, importlib; sys.path[:0] = sys.argv[3:]; importlib.import_module(sys.argv[1]).serve(*map(int, sys.argv[2].split('-')))"
# What it sends first.
READY = b"ready"


class WorkerProcess:
    """One process, which answers one request after the other.

    Parameters
    ----------
    module
        Name of the module whose ``serve`` answers: it gets the numbers of a pipe for requests, on which it says that it is ready, and of one that
        ends when this process does.
    """

    def __init__(self, module: str) -> None:
        self._requests, theirs = Pipe()
        life, self._life = Pipe(duplex=False)
        numbers = theirs.fileno(), life.fileno()
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        command = [sys.executable, "-c", START, module, "-".join(map(str, numbers)), package]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=numbers, env={**ONE_CORE, **os.environ, **QUIET})
        except BaseException:
            self._requests.close()
            self._life.close()
            raise
        finally:
            theirs.close()
            life.close()
        self._is_ready = False
        # When it began what it is at; None of one that is starting, or waits.
        self.began: float | None = None
        # What is the same for many requests is sent once.
        self.knows: object = None

    def ask(self, request: bytes, is_wanted: Callable[[], None]) -> bytes:
        """Send a request, and return the answer.

        Parameters
        ----------
        request
            What is sent.
        is_wanted
            Raises if nobody waits for the answer any more.

        Raises
        ------
        ExecutionError
            If the process has ended.
        """
        try:
            if not self._is_ready:
                self._is_ready = self._received(is_wanted) == READY
            self.began = time.monotonic()
            self._requests.send_bytes(request)
            return self._received(is_wanted)
        except (EOFError, ConnectionError):
            raise ExecutionError(f"a Python process that called your functions {self._how_it_ended()}") from None

    def _received(self, is_wanted: Callable[[], None]) -> bytes:
        while not self._requests.poll(POLL_SECONDS):
            is_wanted()
        return self._requests.recv_bytes()

    def seconds_at_work(self) -> float:
        """How long it has been at the request that it is at."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return "closed its pipe: it may have closed files that are not its own"
        if code == -signal.SIGKILL:
            return "was killed: it may have taken more memory than there is; set config.batch_rows to fewer rows"
        if code < 0:
            return f"ended by {signal.Signals(-code).name}: a library that they use may have failed"
        return f"ended with exit code {code}: functions must not end their process"

    def end(self) -> None:
        """Let the process end, whatever it is at."""
        self._requests.close()
        self._life.close()
        self._process.kill()
        self._process.wait()

    def leave(self) -> None:
        """In a forked process: let go of what is the parent's."""
        self._requests.close()
        self._life.close()
        # It is no child of this process, which would otherwise be told that it did not wait for it.
        self._process.returncode = 0


class WorkerProcesses:
    """Processes that wait for requests, and those that are at one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []
        self._starting = 0
        self._seconds_worked = 0.0
        atexit.register(self.end)

    @contextmanager
    def one(self, module: str, is_wanted: Callable[[], None], is_short: bool = False) -> Iterator[WorkerProcess]:
        """A process for one request to a module, the same one for all; it ends with the block if that fails.

        Parameters
        ----------
        module
            See :class:`WorkerProcess`.
        is_wanted
            Raises if nobody waits for a process any more.
        is_short
            The request may take less time than a process to start: while others are at work, theirs is waited for until they have had enough of it.
        """
        worker = self._taken(module, is_wanted, is_short)
        try:
            yield worker
        except BaseException:
            self._forget(worker)
            worker.end()
            raise
        with self._changed:
            self._forget(worker)
            stays = len(self._idle) < MOST_IDLE
            if stays:
                self._idle.append(worker)
        if not stays:
            worker.end()

    def _taken(self, module: str, is_wanted: Callable[[], None], is_short: bool) -> WorkerProcess:
        """A process that waits, or a new one, which counts as busy."""
        with self._changed:
            while not self._idle and is_short and self._are_enough():
                self._changed.wait(POLL_SECONDS)
                is_wanted()
            if self._idle:
                self._busy.append(self._idle.pop())
                return self._busy[-1]
            self._starting += 1
        worker: WorkerProcess | None = None
        try:
            worker = WorkerProcess(module)
        finally:
            with self._changed:
                self._starting -= 1
                if worker is not None:
                    self._busy.append(worker)
                self._changed.notify_all()
        return worker

    def _are_enough(self) -> bool:
        """Whether those that there are have not had work yet that is worth the start of another one."""
        worked = self._seconds_worked + sum(worker.seconds_at_work() for worker in self._busy)
        return bool(self._starting or self._busy) and worked < SECONDS_WORTH_ANOTHER

    def _forget(self, worker: WorkerProcess) -> None:
        with self._changed:
            self._seconds_worked += worker.seconds_at_work()
            worker.began = None
            self._busy = [each for each in self._busy if each is not worker]
            self._changed.notify_all()

    def end(self) -> None:
        """End those that wait; called when this process ends, too."""
        with self._changed:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def leave(self) -> None:
        """In a forked process: let go of all of them, which are the parent's."""
        atexit.unregister(self.end)
        for worker in (*self._idle, *self._busy):
            worker.leave()
        self._idle, self._busy = [], []


def can_start() -> bool:
    """Whether this process knows a Python to start, on a system where a process can be given pipes."""
    # Where Python is part of another program, that is what is named.
    return os.name == "posix" and os.path.basename(sys.executable or "").lower().startswith(("python", "pypy"))
