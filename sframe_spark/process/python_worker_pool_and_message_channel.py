"""A pool of Python worker processes, which start when first needed, are reused, and end with this process; and the channel to each of them."""

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
from sframe_spark.process.worker_python_start import environment_at_start, interpreter, start_command

# How often a wait checks whether to go on.
POLL_SECONDS = 0.05
# The bytes of the length that precedes each message.
BYTES_OF_LENGTH = 8
# A message of this length is a number that a process reports before it answers: no pickle of an answer is that short.
BYTES_OF_REPORT = 8
# The smallest file descriptor that does not belong to a standard stream: 0, 1 and 2 do, even while these streams are closed.
FIRST_NUMBER = 3


class Channel:
    """One end of a connection that carries messages. It uses no locks and starts no threads.

    Parameters
    ----------
    number
        The file descriptor of this end, which the channel closes.

    Examples
    --------
    >>> channel, number = open_pair()
    >>> other = Channel(number)
    >>> channel.send(b"a message")
    >>> other.receive()
    b'a message'
    >>> channel.close(), other.close()
    (None, None)
    """

    def __init__(self, number: int) -> None:
        self._number: int | None = number
        # A library that patches Python's sockets may have changed the mode of both ends.
        os.set_blocking(number, False)

    def send(self, message: bytes, is_over: Callable[[], bool] | None = None) -> None:
        """Send a message.

        Parameters
        ----------
        message
            The message to send.
        is_over
            Called repeatedly during a wait; returns True if the other process has ended, even if another process still has its end open. It may
            raise.

        Raises
        ------
        ConnectionError
            If no process has the other end open.
        """
        rest = memoryview(len(message).to_bytes(BYTES_OF_LENGTH, "little") + message)
        while rest:
            try:
                rest = rest[os.write(self._open_number(), rest) :]
            except BlockingIOError:
                self._wait(is_over, writes=True)

    def receive(self, is_over: Callable[[], bool] | None = None) -> bytes:
        """Wait for a message and return it.

        Parameters
        ----------
        is_over
            As in :meth:`send`.

        Raises
        ------
        EOFError
            If the other end is closed.
        ConnectionError
            If the other process has ended, or this end is closed.
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
                # Messages that the other process sent before it ended are still read.
                if has_ended:
                    raise ConnectionResetError("the process at the other end has ended") from None
                has_ended = self._wait(is_over, writes=False)
                continue
            if not count:
                raise EOFError("the other end is closed")
            rest = rest[count:]
        return content

    def _wait(self, is_over: Callable[[], bool] | None, writes: bool) -> bool:
        """Wait until the descriptor can be read, or written; return True if the other process has ended."""
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
    """Return whether a descriptor can be read or written.

    The functions are looked up in the module ``select`` at each call, because libraries such as gevent replace them to switch tasks while waiting.
    """
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(number, select.POLLOUT if writes else select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1000))
    read, written, _ = select.select([] if writes else [number], [number] if writes else [], [], seconds)
    return bool(read or written)


def open_pair() -> tuple[Channel, int]:
    """Return a channel and the file descriptor of its other end, which is for another process."""
    numbers = [end.detach() for end in socket.socketpair()]
    try:
        own, other = (above_streams(number) for number in numbers)
    except OSError:
        for number in numbers:
            with contextlib.suppress(OSError):
                os.close(number)
        raise
    # The other process blocks until a whole message has arrived.
    os.set_blocking(other, True)
    return Channel(own), other


def above_streams(number: int) -> int:
    """Return a file descriptor as it is, or, if its number is that of a standard stream, close it and return a duplicate with a larger number."""
    if number >= FIRST_NUMBER:
        return number
    # Python has no module fcntl on Windows, where no worker process is started.
    import fcntl

    other = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FIRST_NUMBER)
    os.close(number)
    return other


# Worker processes and their pool.

SECONDS_TO_END = 2.0
# Modules may be imported over a network; a process that takes longer than this is given up.
SECONDS_TO_START = 120.0
# The largest number of idle processes to keep, as several threads of the user may send requests at once.
MAX_IDLE = 8
# Starting a process takes as long as some hundred thousand calls, so short tasks get another process only when the existing
# processes have worked for this long.
SECONDS_WORTH_ANOTHER = 0.25
# The first message that a worker process sends.
READY = b"ready"


class WorkerProcess:
    """A Python process that answers one request after another.

    Parameters
    ----------
    module
        The module whose function ``serve`` answers requests. It is called with two file descriptors: a channel for requests, on which it first sends
        ``READY``, and a pipe that is closed when this process ends.

    Raises
    ------
    ProcessNotStartedError
        If the system cannot start a process, or there is no Python interpreter to start.
    """

    def __init__(self, module: str) -> None:
        program = interpreter()
        if program is None:
            raise ProcessNotStartedError("there is no Python interpreter that this program can start")
        with contextlib.ExitStack() as if_it_fails, contextlib.ExitStack() as ends_of_child:
            try:
                self._requests, requests = open_pair()
                if_it_fails.callback(self._requests.close)
                ends_of_child.callback(os.close, requests)
                # Nothing is written to this pipe: its reader sees the end of the file when no process has the write end open any more.
                life, own_life = map(above_streams, os.pipe())
                if_it_fails.callback(os.close, own_life)
                ends_of_child.callback(os.close, life)
                self._process = subprocess.Popen(
                    start_command(program, module, (requests, life)),
                    stdin=subprocess.DEVNULL, stdout=_stream(1), stderr=_stream(2),
                    pass_fds=(requests, life), env=environment_at_start(os.environ),
                )  # fmt: skip
            except (OSError, MemoryError) as error:
                raise ProcessNotStartedError(f"{type(error).__name__}: {error}") from error
            # The ends of this process, which are closed together.
            self._own_ends = if_it_fails.pop_all()
        self._is_ready = False
        self._start_before = time.monotonic() + SECONDS_TO_START
        # When the current request began; None while the process starts or is idle.
        self.began: float | None = None
        # The part that many requests share, if the process has received it already: it is sent once.
        self.received: object = None

    def ask(self, request: bytes, raise_if_abandoned: Callable[[], None], listen: Callable[[int], None] | None = None) -> bytes:
        """Send a request and return the answer.

        Parameters
        ----------
        request
            The message to send.
        raise_if_abandoned
            Raises an error if the answer is no longer needed.
        listen
            Called with each number that the process reports before it answers.

        Raises
        ------
        ExecutionError
            If the process has ended.
        ProcessNotStartedError
            If the process ended, or did not respond, before it was ready: no function of the user was called.
        """

        def has_ended() -> bool:
            raise_if_abandoned()
            # The channel alone does not show this: processes that users' functions started may have inherited its other end.
            return self._process.poll() is not None

        if not self._is_ready:
            self._wait_until_ready(has_ended)
        try:
            self.began = time.monotonic()
            self._requests.send(request, has_ended)
            while len(message := self._requests.receive(has_ended)) == BYTES_OF_REPORT:
                if listen is not None:
                    listen(int.from_bytes(message, "little"))
            return message
        except (EOFError, ConnectionError):
            raise ExecutionError(f"a Python process that called your functions {self._how_it_ended()}") from None

    def _wait_until_ready(self, has_ended: Callable[[], bool]) -> None:
        def is_over() -> bool:
            return has_ended() or time.monotonic() > self._start_before

        # If a process writes something else, its first bytes, read as a length, may ask for more memory than there is.
        with contextlib.suppress(EOFError, ConnectionError, MemoryError):
            self._is_ready = self._requests.receive(is_over) == READY
        if not self._is_ready:
            hangs = self._process.poll() is None and time.monotonic() > self._start_before
            raise ProcessNotStartedError("it did not answer" if hangs else f"it {self._how_it_ended()}")

    def seconds_at_work(self) -> float:
        """Return how long the process has been working on its current request; 0 if there is none."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return "closed its pipe: it may have closed files that are not its own"
        if code == -signal.SIGKILL:
            return "was killed: it may have taken more memory than there is; set config.batch_rows to fewer rows"
        if code < 0:
            return f"was ended by {_name_of_signal(-code)}: a library that they use may have failed"
        # If this program ignores SIGCHLD, the exit code is unknown and reported as 0.
        ended = f"ended with exit code {code}" if code else "ended"
        return f"{ended}: functions must not end their process" if self._is_ready else f"{ended} before it was ready"

    def end(self) -> None:
        """Kill the process."""
        self._close_own_ends()
        self._process.kill()
        # A process that waits for a disk ends only when the disk responds.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_END)

    def leave(self) -> None:
        """Close everything that belongs to the parent, in a forked process."""
        self._close_own_ends()
        # The worker is not a child of this process; without this, subprocess would warn that it is still running.
        self._process.returncode = 0

    def _close_own_ends(self) -> None:
        with contextlib.suppress(OSError):
            self._own_ends.close()


def _stream(number: int) -> int | None:
    """Return what a new process gets as a standard stream: None lets it inherit the stream of this process.

    DEVNULL is returned if the stream is closed here; otherwise the first file that the new process opens would get the number of the stream.
    """
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
    """A pool of idle and busy worker processes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []
        self._starting = 0
        self._seconds_worked = 0.0
        atexit.register(self.end)

    @contextmanager
    def one(self, module: str, raise_if_abandoned: Callable[[], None], is_short: bool = False) -> Iterator[WorkerProcess]:
        """Yield a process for one request. All requests of a pool go to the same module. If the block fails, the process is ended.

        Parameters
        ----------
        module
            As in :class:`WorkerProcess`.
        raise_if_abandoned
            Raises an error if the process is no longer needed.
        is_short
            Whether the request may take less time than starting a process. It then waits for a busy process, until the processes have worked long
            enough to justify another one.
        """
        worker = self._acquire(module, raise_if_abandoned, is_short)
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

    def _acquire(self, module: str, raise_if_abandoned: Callable[[], None], is_short: bool) -> WorkerProcess:
        """Return an idle process or a new one, counted as busy."""
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
                # If the system allows no more processes, wait for a busy one.
                if not isinstance(error, ProcessNotStartedError) or not self._waited_for_one(raise_if_abandoned):
                    raise
                continue
            with self._changed:
                self._starting -= 1
                self._busy.append(worker)
                self._changed.notify_all()
            return worker

    def _waited_for_one(self, raise_if_abandoned: Callable[[], None]) -> bool:
        """Wait until a process is idle; return False if there is no process to wait for."""
        with self._changed:
            while (self._busy or self._starting) and not self._idle:
                self._changed.wait(POLL_SECONDS)
                raise_if_abandoned()
            return bool(self._idle)

    def _are_enough(self) -> bool:
        """Return whether there are processes, and these have not yet worked long enough to justify another one."""
        worked = self._seconds_worked + sum(worker.seconds_at_work() for worker in self._busy)
        return bool(self._starting or self._busy) and worked < SECONDS_WORTH_ANOTHER

    def _forget(self, worker: WorkerProcess) -> None:
        with self._changed:
            self._seconds_worked += worker.seconds_at_work()
            worker.began = None
            self._busy = [other for other in self._busy if other is not worker]
            self._changed.notify_all()

    def end(self) -> None:
        """End the idle processes; also called when this process exits."""
        with self._changed:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def leave(self) -> None:
        """Forget all processes in a forked process, as they are the parent's."""
        atexit.unregister(self.end)
        for worker in (*self._idle, *self._busy):
            worker.leave()
        self._idle, self._busy = [], []


def can_start() -> bool:
    """Return whether worker processes can be started: an interpreter is known, and processes inherit file descriptors on this system."""
    return os.name == "posix" and interpreter() is not None
