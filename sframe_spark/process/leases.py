"""Whose unfinished work a file or directory is: its name says so, from its first moment to its last, whatever happens to its owner.

See ``docs/decisions/002-leases.md``.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Callable

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.process.directory_trees import remove_tree
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.memory import has_memory_for_thread

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


# Names and claims: what belongs to this process, from its first moment to its last.

PREFIX = "sframe_spark-"
HIDDEN = "."
# Spark's sockets need short paths: see `sockets.LONGEST_PARENT`.
LONGEST_NAME = 44
SECONDS_BETWEEN_HEARTBEATS = 600

_NAME = re.compile(rf"\.?{re.escape(PREFIX)}([a-z0-9]{{8}})-([1-9][0-9]{{0,9}})-([0-9a-f]{{1,16}})-[0-9a-f]{{4}}")
_ATTEMPTS = 1000
_ANOTHER_DIRECTORY = "set config.temporary_directory (SFRAME_SPARK_TMP) to a directory that you may write to"
# So many claims are looked at whenever one is made.
_CHECKED_AT_ONCE = 64


class Holder:
    """Whoever needs something: it is deleted when nobody refers to its holder any more, if an interrupt has kept that from being done before."""

    __slots__ = ("__weakref__",)


def new_name() -> str:
    """A name for something that belongs to this process."""
    return f"{PREFIX}{mark_of_this_process()}-{secrets.token_hex(2)}"


def owner_in(name: str) -> ProcessMark | None:
    """The process that a name was made by, or None for names that are not ours.

    Examples
    --------
    >>> owner_in("sframe_spark-abcdefgh-17-1f-00ff")
    ProcessMark(place='abcdefgh', process=17, started=31)
    >>> owner_in("sframe_spark-mine")
    """
    found = _NAME.fullmatch(name)
    return None if found is None else ProcessMark(found[1], int(found[2]), int(found[3], 16))


def directory_of_system() -> str:
    """Return the directory that the system has for temporary files.

    Raises
    ------
    StorageError
        If none can be written to.
    """
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise StorageError(f"temporary data cannot be kept: {error.strerror}; {_ANOTHER_DIRECTORY}, or TMPDIR") from None


def require_directory(directory: str) -> None:
    """Make sure that a directory for temporary data is there and can be written to.

    Raises
    ------
    StorageError
        If it is not, and cannot be made.
    """
    try:
        os.makedirs(directory, exist_ok=True)
    except FileExistsError:
        reason = "a file has that name"
    except NotADirectoryError:
        reason = "a file stands where a directory above it should be"
    except FileNotFoundError:
        reason = "the system makes no directory there"
    except OSError as error:
        reason = f"it cannot be made ({error.strerror})"
    else:
        if os.access(directory, os.W_OK | os.X_OK):
            return
        reason = "it cannot be written to"
    raise StorageError(f"temporary data cannot be kept in {visible(directory)}: {reason}; {_ANOTHER_DIRECTORY}") from None


def own_directory(parent: str) -> str:
    """Make a new directory that only this user can enter and that belongs to this process."""
    return _made(parent, "", lambda path: os.mkdir(path, 0o700))


def own_hidden_directory(parent: str, holder: Holder | None = None) -> str:
    """Make a new hidden directory of this process, for as long as it is held, with the rights that any new directory there gets."""
    return _made(parent, HIDDEN, os.mkdir, holder)


def _made(parent: str, before: str, make: Callable[[str], None], holder: Holder | None = None) -> str:
    CLAIMS.remove_abandoned()
    for _ in range(_ATTEMPTS):
        path = os.path.join(parent, before + new_name())
        # Known before it exists: an interrupt may come at any moment. What has that name already stays its own holder's.
        if not CLAIMS.add_new(path, holder):
            continue
        try:
            make(path)
        except FileExistsError:
            CLAIMS.discard(path)
            continue
        except BaseException:
            remove_own(path)
            raise
        return path
    raise FileExistsError(f"no free name in {parent}")


def remove_own(path: str) -> None:
    """Delete something of this process; a process forked from its owner deletes nothing."""
    owner = owner_in(os.path.basename(path))
    if owner == mark_of_this_process():
        delete(path)


def delete(path: str) -> None:
    """Delete a file, or a directory with all that is in it, as far as that can be done; links are not followed, and Ctrl-C is heard afterwards."""
    # What cannot be deleted, or is gone, is left for the next who cleans up.
    with interrupts_deferred(), contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            remove_tree(path, ignore_errors=True)
        else:
            os.unlink(path)
    if not os.path.lexists(path):
        CLAIMS.discard(path)


class Claims:
    """What belongs to this process now: it is shown to be in use from time to time, and deleted when the process ends."""

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Forget everything, in a process that was just forked: all of it is its parent's, and so is the heartbeat."""
        # The garbage collector may run while a thread holds it, and end a temporary dataset there, whose paths are discarded.
        self._lock = threading.RLock()
        self._paths: dict[str, weakref.ref[object] | None] = {}
        self._beating = False

    def add_new(self, path: str, holder: object | None = None) -> bool:
        """Remember a path that nobody has claimed; False, and nothing is done, where somebody has."""
        with interrupts_deferred(), self._lock:
            if path in self._paths:
                return False
            self.add(path, holder)
            return True

    def add(self, path: str, holder: object | None = None) -> None:
        """Remember a path, for as long as its holder lives, or the process, whoever held it before; the first one starts the heartbeat."""
        with interrupts_deferred(), self._lock:
            self._paths[path] = None if holder is None else weakref.ref(holder)
            if not self._beating:
                self._beating = self._begin_to_beat()

    def discard(self, path: str) -> None:
        """Forget a path."""
        with self._lock:
            self._paths.pop(path, None)

    def remove_abandoned(self) -> None:
        """Delete what nobody holds any more: Ctrl-C may come just before it would have been deleted, or in a finalizer, where it is lost."""
        with interrupts_deferred(), self._lock:
            # Nothing is made while paths are gone through: that may start the garbage collector, which discards some.
            paths = list(self._paths)[:_CHECKED_AT_ONCE]
            looked_at = {path: self._paths.pop(path, None) for path in paths if path in self._paths}
            # In turn, so that the work is the same for any number of claims.
            self._paths.update(looked_at)
            # Decided while nobody can claim a path: a moment later its holder may have gone because another has taken it over.
            abandoned = [path for path, holder in looked_at.items() if holder is not None and holder() is None]
        for path in abandoned:
            delete(path)

    def _begin_to_beat(self) -> bool:
        """Start the heartbeat; False where there is no room for it, until the next path is claimed."""
        if not has_memory_for_thread():
            return False
        try:
            threading.Thread(target=self._beat, name="sframe_spark heartbeat", daemon=True).start()
        except RuntimeError:
            # The system starts no more threads. Only processes that do not see this one ask for heartbeats, and after hours.
            return False
        return True

    def _beat(self) -> None:
        """Show others, from where the process cannot be seen, that it lives."""
        while True:
            time.sleep(SECONDS_BETWEEN_HEARTBEATS)
            with self._lock:
                paths = list(self._paths)
            for path in paths:
                show_in_use(path)

    def remove(self) -> None:
        """Delete all that is left, at the end of the process."""
        with self._lock:
            paths = list(self._paths)
        for path in paths:
            remove_own(path)


def show_in_use(path: str) -> None:
    """Set the time of last change to now."""
    with contextlib.suppress(OSError):
        os.utime(path, follow_symlinks=False)


CLAIMS = Claims()
atexit.register(CLAIMS.remove)
do_in_child(CLAIMS.start_over)


# What dead processes left: found by name and owner alone, so that nothing in a directory others can write to is ever opened.

# Of processes that cannot be seen from here; a process shows itself every ten minutes.
SECONDS_WITHOUT_HEARTBEAT = 24 * 60 * 60


def remove_orphans(parent: str) -> list[str]:
    """Delete what dead processes of this user left in a directory, and return the paths."""
    paths = orphans_in(parent)
    for path in paths:
        delete(path)
    return paths


def orphans_in(parent: str) -> list[str]:
    """Paths of what dead processes of this user left in a directory; of one that cannot be listed, or that anyone may rename things in, none."""
    if may_be_renamed_by_anyone(parent):
        return []
    try:
        # Of the many names in a directory few are ours, and each save looks at all of them.
        names = sorted(name for name in [name for name in os.listdir(parent) if PREFIX in name] if owner_in(name) is not None)
    except OSError:
        # The caller's own work in it will say what is wrong.
        return []
    clock = Clock(parent)
    return [path for name in names if is_orphan(path := os.path.join(parent, name), clock)]


class Clock:
    """The time of the file system that holds a directory, asked for once and only if need be: it may be another machine's."""

    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._now: float | None = None

    def now(self) -> float | None:
        """Seconds, or None where nothing can be written."""
        if self._now is None:
            try:
                with tempfile.TemporaryFile(dir=self._parent) as stream:
                    self._now = os.fstat(stream.fileno()).st_mtime
            except OSError:
                return None
        return self._now


def is_orphan(path: str, clock: Clock) -> bool:
    """Say whether something is this user's and its process is known to have ended."""
    owner = owner_in(os.path.basename(path))
    if owner is None:
        return False
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not is_ours(status) or not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    running = is_running(owner)
    if running is not None:
        return not running
    now = clock.now()
    return now is not None and now - status.st_mtime > SECONDS_WITHOUT_HEARTBEAT


def is_ours(status: os.stat_result) -> bool:
    """Say whether a file belongs to this user; the administrator's processes leave other users' files alone, too."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def may_be_renamed_by_anyone(parent: str) -> bool:
    """Say whether any user may give another user's directory a name of ours in this directory."""
    try:
        mode = os.stat(parent).st_mode
    except OSError:
        return False
    return os.name == "posix" and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
