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

from sframe_spark.storage.datasets import atomic_directory_save

CALLS = ("mkdir", "rename", "replace", "link", "unlink", "remove", "rmdir", "fsync", "open")
GIVING_NAMES = ("rename", "replace", "exchange", "link")
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
        patch.setattr(atomic_directory_save, "_exchange", counted_call("exchange", atomic_directory_save._exchange, steps))
        yield


def counted_call(name: str, call: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    """A function of the system whose calls that change the disk are steps."""

    def run(*arguments: Any, **options: Any) -> Any:
        if name == "open" and not arguments[1] & WRITES:
            return call(*arguments, **options)
        return steps.step(name, call, *arguments, **options)

    return run


class FlushedInOrder(Steps):
    """Looks at every step that gives something a name: its bytes must be on the disk before, and the name afterwards.

    A process that is killed loses nothing that it gave to the system; a machine without power does. This is what can be seen of that.
    """

    def __init__(self, target: str) -> None:
        super().__init__(-1, kill)
        self.wrong: list[str] = []
        self._target = target
        self._written: dict[Any, int] = {}
        self._flushed: set[Any] = set()
        self._new_names: dict[Any, str] = {}

    def step(self, name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Do one step, and look at what it does to the disk."""
        # A link is one more name, in a directory that is looked at when it gets its own; what leaves the target was saved before.
        if name in GIVING_NAMES and name != "link" and os.path.dirname(arguments[0]) != self._target:
            self._check_flushed(name, arguments[0])
        result = super().step(name, call, *arguments, **options)
        if name == "write":
            file = identity(call.__self__.fileno())  # type: ignore[attr-defined]
            self._written[file] = self._written.get(file, 0) + result
            self._flushed.discard(file)
        elif name == "fsync":
            self._flush(arguments[0])
        elif name in GIVING_NAMES:
            self._new_names[identity(os.path.dirname(arguments[1]))] = arguments[1]
        return result

    def _flush(self, descriptor: int) -> None:
        place = identity(descriptor)
        size = os.fstat(descriptor).st_size
        if self._written.get(place, size) == size:
            self._flushed.add(place)
            self._new_names.pop(place, None)
        else:
            self.wrong.append(f"a file of {size} bytes is flushed, {self._written[place]} were written")

    def _check_flushed(self, name: str, path: str) -> None:
        for place, _, files in os.walk(path):
            self.wrong += [f"{name} before {file} is flushed" for file in files if identity(os.path.join(place, file)) not in self._flushed]
            self.wrong += [f"{name} before the names in {place} are flushed"] if identity(place) not in self._flushed else []
        if not os.path.isdir(path) and identity(path) not in self._flushed:
            self.wrong.append(f"{name} before {path} is flushed")

    def end(self) -> list[str]:
        """All that was wrong; to be asked when the work is done."""
        return self.wrong + [f"the name {path} is not flushed" for path in self._new_names.values() if os.path.isdir(os.path.dirname(path))]


def identity(file: str | int) -> tuple[int, int]:
    """What a file is, whatever its names are."""
    found = os.stat(file)
    return found.st_dev, found.st_ino


def kill(_: str) -> None:
    """End this process at once; what it gave to the system is kept."""
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
