"""Leases: temporary files and directories carry their owning process in their names, so that others know when they may be deleted.

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

# Never a result of `place_of_numbers`, whose alphabet has no digit 0.
UNKNOWN_PLACE = "00000000"


@attrs.frozen
class ProcessMark:
    """A process, identified across reboots, machines and containers.

    Parameters
    ----------
    place
        The scope of process numbers: one boot of one machine, and one process namespace.
    process
        Its number there.
    started
        Its start time in ticks since boot; numbers are reused.
    """

    place: str
    process: int
    started: int

    def __str__(self) -> str:
        return f"{self.place}-{self.process}-{self.started:x}"


def mark_of_this_process() -> ProcessMark:
    """Return the mark of this process."""
    return _mark(os.getpid())


@functools.lru_cache(maxsize=1)
def _mark(process: int) -> ProcessMark:
    """Return the mark of this process, cached by its number, which differs in a forked process."""
    status = _status("self")
    if status is None or status.process != process:
        # Without a /proc that shows this process, nobody can find out whether it still runs.
        return ProcessMark(UNKNOWN_PLACE, process, 0)
    return ProcessMark(place_of_numbers(), process, status.started)


def place_of_numbers() -> str:
    """Return eight characters that stand for the scope in which process numbers and start times mean the same as here.

    Two containers may share a host name and a volume; two cloned machines may share everything but the boot.
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
    """A process as the system describes it."""

    process: int
    started: int
    ended: bool


def _status(process: int | str) -> _Status | None:
    """Return what the system says of a process, or None."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        # The name of the program, in parentheses, may contain parentheses and blanks.
        fields = text[text.rindex(")") + 2 :].split()
        # A process that has ended keeps its number until its parent waits for it.
        ended = fields[0] in "ZX" and int(fields[17]) <= 1
        return _Status(int(text.split(maxsplit=1)[0]), int(fields[19]), ended)
    except (OSError, ValueError, IndexError):
        return None


def is_running(mark: ProcessMark) -> bool | None:
    """Return whether a process runs; None if that cannot be known from here.

    Examples
    --------
    >>> is_running(ProcessMark("elsewhere", 1, 2)) is None
    True
    """
    own = mark_of_this_process()
    if mark.place != own.place or own.place == UNKNOWN_PLACE:
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


# Names and claims: what this process owns.

PREFIX = "sframe_spark-"
HIDDEN = "."
# Spark's sockets need short paths: see `sockets.LONGEST_PARENT`.
LONGEST_NAME = 44
SECONDS_BETWEEN_HEARTBEATS = 600

_NAME = re.compile(rf"\.?{re.escape(PREFIX)}([a-z0-9]{{8}})-([1-9][0-9]{{0,9}})-([0-9a-f]{{1,16}})-[0-9a-f]{{4}}")
_ATTEMPTS = 1000
_ANOTHER_DIRECTORY = "set config.temporary_directory (SFRAME_SPARK_TMP) to a directory that you may write to"
# How many claims are checked whenever one is added.
_CHECKED_AT_ONCE = 64


class Holder:
    """A reference to something temporary: when its holder is garbage collected, it is deleted, should an interrupt have prevented that before."""

    __slots__ = ("__weakref__",)


def new_name() -> str:
    """Return a new name for something that belongs to this process."""
    return f"{PREFIX}{mark_of_this_process()}-{secrets.token_hex(2)}"


def owner_in(name: str) -> ProcessMark | None:
    """Return the process whose mark is in a name, or None for other names.

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
    """Create a directory for temporary data if need be, and raise if it cannot be written to.

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
    """Create a directory that only this user can enter and that belongs to this process."""
    return _made(parent, "", lambda path: os.mkdir(path, 0o700))


def own_hidden_directory(parent: str, holder: Holder | None = None) -> str:
    """Create a hidden directory of this process, for the life of its holder, with the default permissions of the parent."""
    return _made(parent, HIDDEN, os.mkdir, holder)


def _made(parent: str, before: str, make: Callable[[str], None], holder: Holder | None = None) -> str:
    CLAIMS.remove_abandoned()
    for _ in range(_ATTEMPTS):
        path = os.path.join(parent, before + new_name())
        # Claimed before it exists, as an interrupt may come at any time. If the name exists already, its own holder keeps it.
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
    """Delete something that this process owns; a process forked from its owner deletes nothing."""
    owner = owner_in(os.path.basename(path))
    if owner == mark_of_this_process():
        delete(path)


def delete(path: str) -> None:
    """Delete a file or a directory tree as far as possible; links are not followed, and Ctrl-C takes effect afterwards."""
    # What cannot be deleted is left for the next cleanup.
    with interrupts_deferred(), contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            remove_tree(path, ignore_errors=True)
        else:
            os.unlink(path)
    if not os.path.lexists(path):
        CLAIMS.discard(path)


class Claims:
    """What this process owns now: its times are refreshed by a heartbeat, and it is deleted when the process ends."""

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """In a forked process: forget everything, as it belongs to the parent, and so does the heartbeat."""
        # Reentrant: the garbage collector may run while a thread holds it, and finalize a temporary dataset, which discards its paths.
        self._lock = threading.RLock()
        self._paths: dict[str, weakref.ref[object] | None] = {}
        self._beating = False

    def add_new(self, path: str, holder: object | None = None) -> bool:
        """Claim a path; return False, and do nothing, if it is claimed already."""
        with interrupts_deferred(), self._lock:
            if path in self._paths:
                return False
            self.add(path, holder)
            return True

    def add(self, path: str, holder: object | None = None) -> None:
        """Claim a path for the life of its holder, or of the process, replacing any earlier holder; the first claim starts the heartbeat."""
        with interrupts_deferred(), self._lock:
            self._paths[path] = None if holder is None else weakref.ref(holder)
            if not self._beating:
                self._beating = self._begin_to_beat()

    def discard(self, path: str) -> None:
        """Give up the claim on a path."""
        with self._lock:
            self._paths.pop(path, None)

    def remove_abandoned(self) -> None:
        """Delete what has lost its holder: Ctrl-C may come just before a deletion, or in a finalizer, where it is lost."""
        with interrupts_deferred(), self._lock:
            # A copy: an allocation may start the garbage collector, which discards paths.
            paths = list(self._paths)[:_CHECKED_AT_ONCE]
            checked = {path: self._paths.pop(path, None) for path in paths if path in self._paths}
            # To the end of the queue, so that the work is the same for any number of claims.
            self._paths.update(checked)
            # Decided under the lock: later, a holder may have disappeared because another one has taken over its path.
            abandoned = [path for path, holder in checked.items() if holder is not None and holder() is None]
        for path in abandoned:
            delete(path)

    def _begin_to_beat(self) -> bool:
        """Start the heartbeat; return False if there is no memory for it, to try again with the next claim."""
        if not has_memory_for_thread():
            return False
        try:
            threading.Thread(target=self._beat, name="sframe_spark heartbeat", daemon=True).start()
        except RuntimeError:
            # The system starts no more threads. Heartbeats matter only to processes that cannot see this one, and only after hours.
            return False
        return True

    def _beat(self) -> None:
        """Show processes that cannot see this one that it is alive."""
        while True:
            time.sleep(SECONDS_BETWEEN_HEARTBEATS)
            with self._lock:
                paths = list(self._paths)
            for path in paths:
                show_in_use(path)

    def remove(self) -> None:
        """Delete everything that is left, at the end of the process."""
        with self._lock:
            paths = list(self._paths)
        for path in paths:
            remove_own(path)


def show_in_use(path: str) -> None:
    """Set the modification time to now."""
    with contextlib.suppress(OSError):
        os.utime(path, follow_symlinks=False)


CLAIMS = Claims()
atexit.register(CLAIMS.remove)
do_in_child(CLAIMS.start_over)


# Orphans: what dead processes left, found by name and owner alone, so that nothing in a directory others can write to is ever opened.

# After so long without a heartbeat (there is one every ten minutes), a process that cannot be seen from here is taken for dead.
SECONDS_WITHOUT_HEARTBEAT = 24 * 60 * 60


def remove_orphans(parent: str) -> list[str]:
    """Delete what dead processes of this user left in a directory, and return the paths."""
    paths = orphans_in(parent)
    for path in paths:
        delete(path)
    return paths


def orphans_in(parent: str) -> list[str]:
    """Return what dead processes of this user left in a directory; nothing if it cannot be listed, or if anyone may rename things in it."""
    if may_be_renamed_by_anyone(parent):
        return []
    try:
        # A cheap test first: each save goes through all names of a directory, few of which are ours.
        names = sorted(name for name in [name for name in os.listdir(parent) if PREFIX in name] if owner_in(name) is not None)
    except OSError:
        # The caller's own access to it will raise the right error.
        return []
    clock = Clock(parent)
    return [path for name in names if is_orphan(path := os.path.join(parent, name), clock)]


class Clock:
    """The time of the file system that holds a directory, which may be another machine's; read once, and only if needed."""

    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._now: float | None = None

    def now(self) -> float | None:
        """Return seconds, or None if nothing can be written."""
        if self._now is None:
            try:
                with tempfile.TemporaryFile(dir=self._parent) as stream:
                    self._now = os.fstat(stream.fileno()).st_mtime
            except OSError:
                return None
        return self._now


def is_orphan(path: str, clock: Clock) -> bool:
    """Return whether something belongs to this user and its process is known to have ended."""
    owner = owner_in(os.path.basename(path))
    if owner is None:
        return False
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not is_own(status) or not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    running = is_running(owner)
    if running is not None:
        return not running
    now = clock.now()
    return now is not None and now - status.st_mtime > SECONDS_WITHOUT_HEARTBEAT


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to this user; the administrator's processes leave other users' files alone, too."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def may_be_renamed_by_anyone(parent: str) -> bool:
    """Return whether any user may rename another user's directory in this directory."""
    try:
        mode = os.stat(parent).st_mode
    except OSError:
        return False
    return os.name == "posix" and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
