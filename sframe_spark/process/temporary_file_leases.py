"""Leases: the names of temporary files and directories contain the process that owns them, so that other processes know when they may be deleted.

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
from functools import partial
from typing import Self

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.process.directory_trees import remove_tree
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.memory import has_memory_for_thread

_MARK = re.compile(r"([a-z0-9]{8})-([1-9][0-9]{0,9})-([0-9a-f]{1,16})")
# Stands for an unknown scope: differs from every result of `scope_of_numbers`, as those contain no digit 0.
UNKNOWN_SCOPE = "00000000"


@attrs.frozen
class ProcessMark:
    """The identity of a process, which is unique across reboots, machines and containers.

    Parameters
    ----------
    scope
        The scope of process numbers: one boot of one machine, and one process namespace.
    process
        The process number in that scope.
    started
        The start time of the process in ticks since boot, as numbers are reused.
    """

    scope: str
    process: int
    started: int

    def __str__(self) -> str:
        return f"{self.scope}-{self.process}-{self.started:x}"

    @classmethod
    def of_text(cls, text: str) -> Self | None:
        """Return the mark with a text; None if it is none.

        Examples
        --------
        >>> ProcessMark.of_text("abcdefgh-17-1f")
        ProcessMark(scope='abcdefgh', process=17, started=31)
        >>> ProcessMark.of_text("abcdefgh-0-1f")
        """
        match = _MARK.fullmatch(text)
        return None if match is None else cls(match[1], int(match[2]), int(match[3], 16))


def mark_of_this_process() -> ProcessMark:
    """Return the mark of this process."""
    return _mark(os.getpid())


@functools.lru_cache(maxsize=1)
def _mark(process: int) -> ProcessMark:
    """Return the mark of this process; its number is the key of the cache, as a forked process has another one."""
    status = _status("self")
    if status is None or status.process != process:
        # Without a /proc that shows this process, no other process can find out whether it is still running.
        return ProcessMark(UNKNOWN_SCOPE, process, 0)
    return ProcessMark(scope_of_numbers(), process, status.started)


def scope_of_numbers() -> str:
    """Return eight characters that identify the scope of process numbers and start times.

    Two containers may share a host name and a volume; two cloned machines may share everything except the boot.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            start_of_machine = stream.read().strip()
        namespaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "time") if os.path.lexists(f"/proc/self/ns/{kind}")]
    except OSError:
        return UNKNOWN_SCOPE
    if not start_of_machine or not namespaces:
        return UNKNOWN_SCOPE
    text = "\n".join([platform.node(), start_of_machine, *namespaces])
    return base64.b32encode(hashlib.blake2b(text.encode(), digest_size=5).digest()).decode().lower()


@attrs.frozen
class _Status:
    """What the system reports about a process."""

    process: int
    started: int
    ended: bool


def _status(process: int | str) -> _Status | None:
    """Return what the system reports about a process; None if it reports nothing."""
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
    """Return whether a process is running; None if that cannot be found out from this process.

    Examples
    --------
    >>> is_running(ProcessMark("elsewhere", 1, 2)) is None
    True
    """
    own = mark_of_this_process()
    if mark.scope != own.scope or own.scope == UNKNOWN_SCOPE:
        return None
    try:
        os.kill(mark.process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # The process belongs to another user.
        pass
    status = _status(mark.process)
    # Processes of other users may be hidden.
    return status is None or (status.started == mark.started and not status.ended)


# Names and claims: the temporary files and directories that this process owns.

PREFIX = "sframe_spark-"
HIDDEN = "."
# Spark's sockets need short paths: see `worker_sockets.LONGEST_PARENT`.
LONGEST_NAME = 44
SECONDS_BETWEEN_HEARTBEATS = 600

_NAME = re.compile(rf"\.?{re.escape(PREFIX)}(.*)-[0-9a-f]{{4}}")
_ATTEMPTS = 1000
_WHY_NO_DIRECTORY: dict[type[OSError], str] = {
    FileExistsError: "a file has that name",
    NotADirectoryError: "a file stands where a directory above it should be",
    FileNotFoundError: "the system cannot create a directory there",
}
_ANOTHER_DIRECTORY = "set config.temporary_directory (SFRAME_SPARK_TMP) to a directory that you may write to"
# How many claims are checked each time that a temporary directory is created.
_CHECKED_AT_ONCE = 64


class Holder:
    """A reference to a temporary directory.

    When it is garbage-collected, the directory may be deleted, should an interrupt have prevented that before.
    """

    __slots__ = ("__weakref__",)


def new_name() -> str:
    """Return a new name for a temporary file or directory of this process."""
    return f"{PREFIX}{mark_of_this_process()}-{secrets.token_hex(2)}"


def owner_in(name: str) -> ProcessMark | None:
    """Return the process whose mark is in a name; None if the name has no mark.

    Examples
    --------
    >>> owner_in("sframe_spark-abcdefgh-17-1f-00ff")
    ProcessMark(scope='abcdefgh', process=17, started=31)
    >>> owner_in("sframe_spark-mine")
    """
    match = _NAME.fullmatch(name)
    return None if match is None else ProcessMark.of_text(match[1])


def directory_of_system() -> str:
    """Return the system's directory for temporary files.

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
    """Create a directory for temporary data if it does not exist, and raise an error if it cannot be written to.

    Raises
    ------
    StorageError
        If it cannot be created or written to.
    """
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        reason = _WHY_NO_DIRECTORY.get(type(error), f"it cannot be created ({error.strerror})")
    else:
        if os.access(directory, os.W_OK | os.X_OK):
            return
        reason = "it cannot be written to"
    raise StorageError(f"temporary data cannot be kept in {visible(directory)}: {reason}; {_ANOTHER_DIRECTORY}") from None


def own_directory(parent: str) -> str:
    """Create a directory that belongs to this process and that only this user can enter, and return its path."""
    return _new_directory(parent, "", lambda path: os.mkdir(path, 0o700))


def own_hidden_directory(parent: str, holder: Holder | None = None) -> str:
    """Create a hidden directory that belongs to this process as long as its holder lives, with default permissions, and return its path."""
    return _new_directory(parent, HIDDEN, os.mkdir, holder)


def _new_directory(parent: str, prefix: str, make: Callable[[str], None], holder: Holder | None = None) -> str:
    CLAIMS.remove_abandoned()
    for _ in range(_ATTEMPTS):
        path = os.path.join(parent, prefix + new_name())
        # The path is claimed before it exists, as an interrupt may come at any time. If the name is claimed already, another one is tried.
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
    """Delete a file or directory if this process owns it; a forked process does not own what its parent owns."""
    owner = owner_in(os.path.basename(path))
    if owner == mark_of_this_process():
        delete(path)


def delete(path: str) -> None:
    """Delete a file or a directory tree as far as possible; links are not followed, and a Ctrl-C takes effect afterwards."""
    # What cannot be deleted is left to the next cleanup.
    with interrupts_deferred(), contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            remove_tree(path, ignore_errors=True)
        else:
            os.unlink(path)
    if not os.path.lexists(path):
        CLAIMS.discard(path)


class Claims:
    """The paths that this process owns. Their modification times are refreshed by a heartbeat, and they are deleted when the process ends."""

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Start without claims and heartbeat in a forked process, because the parent keeps its own."""
        # The lock is reentrant: the garbage collector may run while a thread holds it, and finalize a temporary dataset, which discards its paths.
        self._lock = threading.RLock()
        self._paths: dict[str, weakref.ref[object] | None] = {}
        self._has_heartbeat = False

    def add_new(self, path: str, holder: object | None = None) -> bool:
        """Claim a path and return True; if it is claimed already, do nothing and return False."""
        with interrupts_deferred(), self._lock:
            if path in self._paths:
                return False
            self.add(path, holder)
            return True

    def add(self, path: str, holder: object | None = None) -> None:
        """Claim a path for the life of its holder, or of the process if there is none, replacing any earlier holder.

        The first claim starts the heartbeat.
        """
        with interrupts_deferred(), self._lock:
            self._paths[path] = None if holder is None else weakref.ref(holder)
            if not self._has_heartbeat:
                self._has_heartbeat = self._start_heartbeat()

    def discard(self, path: str) -> None:
        """Give up the claim on a path."""
        with self._lock:
            self._paths.pop(path, None)

    def remove_abandoned(self) -> None:
        """Delete some paths whose holders no longer exist: Ctrl-C may come just before a deletion, or in a finalizer, where it is lost."""
        with interrupts_deferred(), self._lock:
            # This is a copy, as an allocation may start the garbage collector, which discards paths.
            paths = list(self._paths)[:_CHECKED_AT_ONCE]
            checked = {path: self._paths.pop(path, None) for path in paths if path in self._paths}
            # Checked paths go to the end of the queue, so each call takes the same time whatever the number of claims.
            self._paths.update(checked)
            # Decided under the lock: later, a holder may have disappeared because another one has taken over its path.
            abandoned = [path for path, holder in checked.items() if holder is not None and holder() is None]
        for path in abandoned:
            delete(path)

    def _start_heartbeat(self) -> bool:
        """Start the heartbeat; return False if there is no memory or thread for it, so that the next claim tries again."""
        if not has_memory_for_thread():
            return False
        try:
            threading.Thread(target=self._beat, name="sframe_spark heartbeat", daemon=True).start()
        except RuntimeError:
            # The system starts no more threads. The heartbeat matters only to processes that cannot see this one, and only after hours.
            return False
        return True

    def _beat(self) -> None:
        """Refresh the modification times of all paths regularly, so that processes that cannot see this one know that it is alive."""
        while True:
            time.sleep(SECONDS_BETWEEN_HEARTBEATS)
            with self._lock:
                paths = list(self._paths)
            for path in paths:
                with contextlib.suppress(OSError):
                    os.utime(path, follow_symlinks=False)

    def remove(self) -> None:
        """Delete everything that this process owns; called when the process ends."""
        with self._lock:
            paths = list(self._paths)
        for path in paths:
            remove_own(path)


CLAIMS = Claims()
atexit.register(CLAIMS.remove)
do_in_child(CLAIMS.start_over)


# Orphans: what dead processes left. They are recognised by name and owner alone, so that nothing in a directory where others can write is ever
# opened.

# A process that cannot be seen from here counts as dead after this time without a heartbeat; there is one every ten minutes.
SECONDS_WITHOUT_HEARTBEAT = 24 * 60 * 60


def remove_orphans(parent: str) -> list[str]:
    """Delete what dead processes of this user left in a directory, and return the paths."""
    paths = orphans_in(parent)
    for path in paths:
        delete(path)
    return paths


def orphans_in(parent: str) -> list[str]:
    """Return the paths of what dead processes of this user left in a directory; empty if it cannot be listed, or if anyone may rename its entries."""
    if may_be_renamed_by_anyone(parent):
        return []
    try:
        # A cheap test comes first: each save goes through all names in a directory, few of which are this package's.
        names = sorted(name for name in [name for name in os.listdir(parent) if PREFIX in name] if owner_in(name) is not None)
    except OSError:
        # The caller's own access to the directory will raise the appropriate error.
        return []
    # Read once, and only if needed.
    now = functools.cache(partial(time_in, parent))
    return [path for name in names if is_orphan(path := os.path.join(parent, name), now)]


def time_in(directory: str) -> float | None:
    """Return the time of the file system of a directory, in seconds since the epoch; None if no file can be written there.

    The clock may be that of another machine.
    """
    try:
        with tempfile.TemporaryFile(dir=directory) as stream:
            return os.fstat(stream.fileno()).st_mtime
    except OSError:
        return None


def is_orphan(path: str, now: Callable[[], float | None]) -> bool:
    """Return whether a file or directory belongs to this user, and its process is known to have ended or has had no heartbeat for a day.

    ``now`` returns the time of the file system, as :func:`time_in` does.
    """
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
    current = now()
    return current is not None and current - status.st_mtime > SECONDS_WITHOUT_HEARTBEAT


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to this user. Processes of the administrator, too, leave other users' files alone."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def may_be_renamed_by_anyone(parent: str) -> bool:
    """Return whether any user may rename entries of this directory that belong to other users."""
    try:
        mode = os.stat(parent).st_mode
    except OSError:
        return False
    return os.name == "posix" and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
