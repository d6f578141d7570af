"""Python processes of our own that do work for this one: started when they are first needed, used again, ended with it."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sframe_spark.errors import ExecutionError, ProcessNotStartedError
from sframe_spark.process.interpreter import environment_at_start, interpreter, start_command

# How often somebody who waits is asked whether to go on.
POLL_SECONDS = 0.05
# The length of a message comes before it.
BYTES_OF_LENGTH = 8
# Numbers of files below are those of the standard streams, wherever these are closed.
FIRST_NUMBER = 3


class Channel:
    """One of two ends. It has no locks and starts no threads.

    Parameters
    ----------
    number
        The number of its file, which belongs to it from now on.

    Examples
    --------
    >>> here, number = open_pair()
    >>> there = Channel(number)
    >>> here.send(b"a message")
    >>> there.receive()
    b'a message'
    >>> here.close(), there.close()
    (None, None)
    """

    def __init__(self, number: int) -> None:
        self._number: int | None = number
        # A library that patches Python's sockets may have set either, for both ends alike.
        os.set_blocking(number, False)

    def send(self, message: bytes, is_over: Callable[[], bool] | None = None) -> None:
        """Send a message.

        Parameters
        ----------
        message
            What is sent.
        is_over
            Asked again and again during a wait; True says that nobody is at the other end, whoever has it open. It may raise, too.

        Raises
        ------
        ConnectionError
            If nobody is at the other end.
        """
        rest = memoryview(len(message).to_bytes(BYTES_OF_LENGTH, "little") + message)
        while rest:
            try:
                rest = rest[os.write(self._open_number(), rest) :]
            except BlockingIOError:
                self._wait(is_over, writes=True)

    def receive(self, is_over: Callable[[], bool] | None = None) -> bytes:
        """Receive a message.

        Parameters
        ----------
        is_over
            See :meth:`send`.

        Raises
        ------
        EOFError
            If the other end is closed.
        ConnectionError
            If nobody is at the other end.
        """
        return bytes(self._received(int.from_bytes(self._received(BYTES_OF_LENGTH, is_over), "little"), is_over))

    def _received(self, size: int, is_over: Callable[[], bool] | None) -> bytearray:
        content = bytearray(size)
        rest = memoryview(content)
        has_ended = False
        while rest:
            try:
                count = os.readv(self._open_number(), [rest])
            except BlockingIOError:
                # What the other one has sent before its end is read first.
                if has_ended:
                    raise ConnectionResetError("the process at the other end has ended") from None
                has_ended = self._wait(is_over, writes=False)
                continue
            if not count:
                raise EOFError("the other end is closed")
            rest = rest[count:]
        return content

    def _wait(self, is_over: Callable[[], bool] | None, writes: bool) -> bool:
        """Wait until something can be read, or written; True if there is nobody for whom to wait."""
        while not _is_ready(self._open_number(), writes, None if is_over is None else POLL_SECONDS):
            if is_over is not None and is_over():
                if writes:
                    raise BrokenPipeError("the process at the other end has ended")
                return True
        return False

    def _open_number(self) -> int:
        if self._number is None:
            raise ConnectionResetError("this end is closed")
        return self._number

    def close(self) -> None:
        """Close this end."""
        number, self._number = self._number, None
        if number is not None:
            with contextlib.suppress(OSError):
                os.close(number)


def _is_ready(number: int, writes: bool, seconds: float | None) -> bool:
    """Whether something can be read from a file, or written; asked of `select` by name, as a library that patches it lets other work go on."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(number, select.POLLOUT if writes else select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1000))
    read, written, _ = select.select([] if writes else [number], [number] if writes else [], [], seconds)
    return bool(read or written)


def open_pair() -> tuple[Channel, int]:
    """A channel, and the number of the file of its other end, which a process is to be given."""
    ours, theirs = socket.socketpair()
    numbers = [ours.detach(), theirs.detach()]
    try:
        here, there = (above_streams(number) for number in numbers)
    except OSError:
        for number in numbers:
            with contextlib.suppress(OSError):
                os.close(number)
        raise
    # The process that gets it waits for whole messages.
    os.set_blocking(there, True)
    return Channel(here), there


def open_life() -> tuple[int, int]:
    """Numbers of the two ends of a pipe that nothing is written to: who reads the first one is told when nobody has the second one open any more."""
    read, write = os.pipe()
    return above_streams(read), above_streams(write)


def above_streams(number: int) -> int:
    """The number of an open file, or another one for it where that is a number of a standard stream, as it is where these are closed."""
    if number >= FIRST_NUMBER:
        return number
    # Not part of every Python; where it is not, no process is started.
    import fcntl

    other = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FIRST_NUMBER)
    os.close(number)
    return other


# The processes, and the pool of them.

SECONDS_TO_END = 2.0
# Modules may come over a network. Whatever says nothing for longer is not waited for.
SECONDS_TO_START = 120.0
# Several threads of the user may ask at once; so many processes stay for the next.
MAX_IDLE = 8
# A process starts in the time of some hundred thousand calls: short works that come seldom are worth no second one.
SECONDS_WORTH_ANOTHER = 0.25
# What it sends first.
READY = b"ready"


class WorkerProcess:
    """One process, which answers one request after the other.

    Parameters
    ----------
    module
        Name of the module whose ``serve`` answers: it gets the numbers of a channel for requests, on which it says that it is ready, and of a pipe
        that ends when this process does.

    Raises
    ------
    ProcessNotStartedError
        If the system starts no process, or there is no Python interpreter to start.
    """

    def __init__(self, module: str) -> None:
        program = interpreter()
        if program is None:
            raise ProcessNotStartedError("there is no Python interpreter that this program could start")
        with contextlib.ExitStack() as if_it_fails, contextlib.ExitStack() as theirs:
            try:
                self._requests, requests = open_pair()
                if_it_fails.callback(self._requests.close)
                theirs.callback(os.close, requests)
                life, self._life = open_life()
                if_it_fails.callback(os.close, self._life)
                theirs.callback(os.close, life)
                self._process = subprocess.Popen(
                    start_command(program, module, (requests, life)),
                    stdin=subprocess.DEVNULL, stdout=_stream(1), stderr=_stream(2),
                    pass_fds=(requests, life), env=environment_at_start(os.environ),
                )  # fmt: skip
            except (OSError, MemoryError) as error:
                raise ProcessNotStartedError(f"{type(error).__name__}: {error}") from error
            if_it_fails.pop_all()
        self._is_ready = False
        self._is_left = False
        self._start_before = time.monotonic() + SECONDS_TO_START
        # When it began what it is at; None of one that is starting, or waits.
        self.began: float | None = None
        # What is the same for many requests is sent once.
        self.knows: object = None

    def ask(self, request: bytes, raise_if_abandoned: Callable[[], None]) -> bytes:
        """Send a request, and return the answer.

        Parameters
        ----------
        request
            What is sent.
        raise_if_abandoned
            Raises if nobody waits for the answer any more.

        Raises
        ------
        ExecutionError
            If the process has ended.
        ProcessNotStartedError
            If it has ended, or hangs, before it was ready: no function of the user's was called.
        """

        def has_ended() -> bool:
            raise_if_abandoned()
            # Not the end of the channel: processes that functions have started may have it open.
            return self._process.poll() is not None

        if not self._is_ready:
            self._wait_until_ready(has_ended)
        try:
            self.began = time.monotonic()
            self._requests.send(request, has_ended)
            return self._requests.receive(has_ended)
        except (EOFError, ConnectionError):
            raise ExecutionError(f"a Python process that called your functions {self._how_it_ended()}") from None

    def _wait_until_ready(self, has_ended: Callable[[], bool]) -> None:
        def is_over() -> bool:
            return has_ended() or time.monotonic() > self._start_before

        # A length that was never meant as one is more than there is memory for.
        with contextlib.suppress(EOFError, ConnectionError, MemoryError):
            self._is_ready = self._requests.receive(is_over) == READY
        if not self._is_ready:
            hangs = self._process.poll() is None and time.monotonic() > self._start_before
            raise ProcessNotStartedError("it did not answer" if hangs else f"it {self._how_it_ended()}")

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
            return f"ended by {_name_of_signal(-code)}: a library that they use may have failed"
        # Where this program ignores how its processes end, the system does not say it.
        ended = f"ended with exit code {code}" if code else "ended"
        return f"{ended}: functions must not end their process" if self._is_ready else f"{ended} before it was ready"

    def end(self) -> None:
        """Let the process end, whatever it is at."""
        self._let_go()
        self._process.kill()
        # One that waits for a disk ends when that answers.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_END)

    def leave(self) -> None:
        """In a forked process: let go of what is the parent's."""
        self._let_go()
        # It is no child of this process, which would otherwise be told that it did not wait for it.
        self._process.returncode = 0

    def _let_go(self) -> None:
        self._requests.close()
        if not self._is_left:
            self._is_left = True
            with contextlib.suppress(OSError):
                os.close(self._life)


def _stream(number: int) -> int | None:
    """What a process writes to: what this one does, or nothing where that is closed; files that it opens would have that number."""
    try:
        os.fstat(number)
    except OSError:
        return subprocess.DEVNULL
    return None


def _name_of_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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
    def one(self, module: str, raise_if_abandoned: Callable[[], None], is_short: bool = False) -> Iterator[WorkerProcess]:
        """A process for one request to a module, the same one for all; it ends with the block if that fails.

        Parameters
        ----------
        module
            See :class:`WorkerProcess`.
        raise_if_abandoned
            Raises if nobody waits for a process any more.
        is_short
            The request may take less time than a process to start: while others are at work, theirs is waited for until they have had enough of it.
        """
        worker = self._taken(module, raise_if_abandoned, is_short)
        try:
            yield worker
        except BaseException:
            self._forget(worker)
            worker.end()
            raise
        with self._changed:
            self._forget(worker)
            stays = len(self._idle) < MAX_IDLE
            if stays:
                self._idle.append(worker)
        if not stays:
            worker.end()

    def _taken(self, module: str, raise_if_abandoned: Callable[[], None], is_short: bool) -> WorkerProcess:
        """A process that waits, or a new one, which counts as busy."""
        while True:
            with self._changed:
                while not self._idle and is_short and self._are_enough():
                    self._changed.wait(POLL_SECONDS)
                    raise_if_abandoned()
                if self._idle:
                    self._busy.append(self._idle.pop())
                    return self._busy[-1]
                self._starting += 1
            try:
                worker = WorkerProcess(module)
            except BaseException as error:
                with self._changed:
                    self._starting -= 1
                    self._changed.notify_all()
                # The system has no room for one more: who has one lets others have it.
                if not isinstance(error, ProcessNotStartedError) or not self._waited_for_one(raise_if_abandoned):
                    raise
                continue
            with self._changed:
                self._starting -= 1
                self._busy.append(worker)
                self._changed.notify_all()
            return worker

    def _waited_for_one(self, raise_if_abandoned: Callable[[], None]) -> bool:
        """Wait until a process that is at work has done it, or there is none."""
        with self._changed:
            while (self._busy or self._starting) and not self._idle:
                self._changed.wait(POLL_SECONDS)
                raise_if_abandoned()
            return bool(self._idle)

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
    """Whether this process knows a Python interpreter to start, on a system where a process can be given files."""
    return os.name == "posix" and interpreter() is not None
