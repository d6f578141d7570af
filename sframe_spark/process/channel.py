"""Messages between two processes of one machine, over a pair of sockets.

Whoever waits can give up: the end of a file is not seen as long as any process has the other socket open, and a process that has died may have left
others behind that do.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Callable

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
