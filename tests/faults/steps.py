"""Every step of a save that changes the disk, so that the process can be killed, or the disk can fail, at any of them."""

from __future__ import annotations

import builtins
import contextlib
import errno
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark.storage import save

CALLS = ("mkdir", "rename", "replace", "link", "unlink", "remove", "rmdir", "fsync", "open")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Steps:
    """Counts the steps, and does something at one of them, before it or after it."""

    def __init__(self, at: int, act: Callable[[str], None], after: bool = False) -> None:
        self.count = 0
        self.names: list[str] = []
        self._at, self._act, self._after = at, act, after

    def step(self, name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Do one step."""
        number = self.count
        self.count += 1
        self.names.append(name)
        if number == self._at and not self._after:
            self._act(name)
        result = call(*arguments, **options)
        if number == self._at and self._after:
            self._act(name)
        return result


class CountedStream:
    """A file being written."""

    def __init__(self, stream: Any, steps: Steps) -> None:
        self._stream, self._steps = stream, steps

    def write(self, data: Any) -> int:
        """Write, as a step."""
        return int(self._steps.step("write", self._stream.write, data))

    def close(self) -> None:
        """Close, as a step."""
        if not self._stream.closed:
            try:
                self._steps.step("close", self._stream.close)
            finally:
                self._stream.close()

    def __enter__(self) -> CountedStream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def counted(steps: Steps) -> Iterator[None]:
    """Let the steps of the block be counted."""
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counted_call(name, getattr(os, name), steps))
        plain_open = builtins.open

        def opened(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if set(mode) & set("wax+"):
                return CountedStream(steps.step("open", plain_open, file, mode, *arguments, **options), steps)
            return plain_open(file, mode, *arguments, **options)

        patch.setattr(builtins, "open", opened)
        patch.setattr(save, "_exchange", counted_call("exchange", save._exchange, steps))
        yield


def counted_call(name: str, call: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    """A function of the system whose calls that change the disk are steps."""

    def run(*arguments: Any, **options: Any) -> Any:
        if name == "open" and not arguments[1] & WRITES:
            return call(*arguments, **options)
        return steps.step(name, call, *arguments, **options)

    return run


def kill(_: str) -> None:
    """End this process as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(number: int) -> Callable[[str], None]:
    """What the system says of a disk that fails."""

    def fail(_: str) -> None:
        raise OSError(number, os.strerror(number))

    return fail


ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES}


def in_child(work: Callable[[], None], seconds: int = 60) -> int:
    """How a forked process ended that did some work: 0, the number of an exit, or of a signal below 0."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def bytes_below(directory: str) -> int:
    """Bytes of all files in a directory and below."""
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(directory) for name in names)


def names_in(directory: str) -> list[str]:
    """Everything in a directory, hidden or not."""
    return sorted(os.listdir(directory))
