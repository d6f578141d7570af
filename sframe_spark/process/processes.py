"""Which process is which: told apart across machines, restarts, containers and reuse of process numbers."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import platform

import attrs

# Not a text that `place_of_numbers` makes: its alphabet has no digit 0.
UNKNOWN_PLACE = "00000000"


@attrs.frozen
class ProcessMark:
    """A process, named so that no other one has the same name.

    Parameters
    ----------
    place
        Where its number means this process: one start of one machine, one namespace of processes.
    process
        Its number there.
    started
        When it was started, in ticks since the machine was; numbers are given out again.
    """

    place: str
    process: int
    started: int

    def __str__(self) -> str:
        return f"{self.place}-{self.process}-{self.started:x}"


def mark_of_this_process() -> ProcessMark:
    """The mark of this process."""
    return _mark(os.getpid())


@functools.lru_cache(maxsize=1)
def _mark(process: int) -> ProcessMark:
    """The mark of this process, asked for by its number as a forked process has another one."""
    status = _status("self")
    if status is None or status.process != process:
        # Without /proc, or with that of other processes, nobody can find out whether this one still runs.
        return ProcessMark(UNKNOWN_PLACE, process, 0)
    return ProcessMark(place_of_numbers(), process, status.started)


def place_of_numbers() -> str:
    """Eight characters that stand for where process numbers mean the same processes as here, and start times the same times.

    Two containers may have one host name and a volume in common; two machines, clones of one, may have all but the start in common.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            start_of_machine = stream.read().strip()
        namespaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "time") if os.path.lexists(f"/proc/self/ns/{kind}")]
    except OSError:
        return UNKNOWN_PLACE
    if not start_of_machine or not namespaces:
        return UNKNOWN_PLACE
    text = "\n".join([platform.node(), start_of_machine, *namespaces])
    return base64.b32encode(hashlib.blake2b(text.encode(), digest_size=5).digest()).decode().lower()


@attrs.frozen
class _Status:
    """What the system says of a process."""

    process: int
    started: int
    ended: bool


def _status(process: int | str) -> _Status | None:
    """What the system says of a process, or None."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        # The name of the program, in brackets, may hold brackets and blanks.
        fields = text[text.rindex(")") + 2 :].split()
        # A process that has ended keeps its number until its parent asks how it ended.
        ended = fields[0] in "ZX" and int(fields[17]) <= 1
        return _Status(int(text.split(maxsplit=1)[0]), int(fields[19]), ended)
    except (OSError, ValueError, IndexError):
        return None


def is_running(mark: ProcessMark) -> bool | None:
    """Say whether a process runs; None where that cannot be known from here.

    Examples
    --------
    >>> is_running(ProcessMark("elsewhere", 1, 2)) is None
    True
    """
    here = mark_of_this_process()
    if mark.place != here.place or here.place == UNKNOWN_PLACE:
        return None
    try:
        os.kill(mark.process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # It is another user's.
        pass
    status = _status(mark.process)
    # Other users' processes may be hidden.
    return status is None or (status.started == mark.started and not status.ended)
