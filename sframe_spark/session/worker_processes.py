"""Python processes of our own that do work for this one: started when they are first needed, used again, ended with it."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Pipe

from sframe_spark.errors import ExecutionError

# A request is looked after so often: Ctrl-C ends the process that works on it.
POLL_SECONDS = 0.05
SECONDS_TO_END = 2.0
# Several threads of the user may ask at once; so many processes stay for the next.
MOST_IDLE = 8
# It shows no progress of its own.
QUIET = {"SFRAME_SPARK_PROGRESS": "off"}
# What a process runs: the directories that this package is in, then the module that answers, and two pipes.
START = "import sys, importlib; sys.path[:0] = sys.argv[3:]; importlib.import_module(sys.argv[1]).serve(*map(int, sys.argv[2].split('-')))"


class WorkerProcess:
    """One process, which answers one request after the other.

    Parameters
    ----------
    module
        Name of the module whose ``serve`` answers: it gets the numbers of a pipe for requests, and of one that ends when this process does.
    """

    def __init__(self, module: str) -> None:
        self._requests, theirs = Pipe()
        life, self._life = Pipe(duplex=False)
        numbers = theirs.fileno(), life.fileno()
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        command = [sys.executable, "-c", START, module, "-".join(map(str, numbers)), package]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=numbers, env={**os.environ, **QUIET})
        except BaseException:
            self._requests.close()
            self._life.close()
            raise
        finally:
            theirs.close()
            life.close()
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
            self._requests.send_bytes(request)
            while not self._requests.poll(POLL_SECONDS):
                is_wanted()
            return self._requests.recv_bytes()
        except (EOFError, ConnectionError):
            raise ExecutionError(f"a Python process that called your functions {self._how_it_ended()}") from None

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
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []
        atexit.register(self.end)

    @contextmanager
    def one(self, module: str) -> Iterator[WorkerProcess]:
        """A process for one request to a module, the same one for all; it ends with the block if that fails."""
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = WorkerProcess(module)
        with self._lock:
            self._busy.append(worker)
        try:
            yield worker
        except BaseException:
            self._forget(worker)
            worker.end()
            raise
        self._forget(worker)
        with self._lock:
            stays = len(self._idle) < MOST_IDLE
            if stays:
                self._idle.append(worker)
        if not stays:
            worker.end()

    def _forget(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._busy = [each for each in self._busy if each is not worker]

    def end(self) -> None:
        """End those that wait; called when this process ends, too."""
        with self._lock:
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
