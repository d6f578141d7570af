"""Whose unfinished work a file or directory is: its name says so, from its first moment to its last, whatever happens to its owner.

See ``docs/decisions/002-leases.md``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Callable

from sframe_spark.errors import StorageError
from sframe_spark.process.directory_trees import remove_tree
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.memory import has_room_for_thread
from sframe_spark.process.processes import ProcessMark, mark_of_this_process
from sframe_spark.visible import visible

PREFIX = "sframe_spark-"
HIDDEN = "."
# Spark's sockets need short paths: see `sockets.LONGEST_PARENT`.
LONGEST_NAME = 44
SECONDS_BETWEEN_HEARTBEATS = 600

_NAME = re.compile(rf"\.?{re.escape(PREFIX)}([a-z0-9]{{8}})-([1-9][0-9]{{0,9}})-([0-9a-f]{{1,16}})-[0-9a-f]{{4}}")
_ATTEMPTS = 1000
_ANOTHER_DIRECTORY = "set config.temporary_directory (SFRAME_SPARK_TMP) to a directory that you may write to"
# So many claims are looked at whenever one is made.
_LOOKED_AT = 64


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


def own_directory_beside(parent: str, holder: Holder | None = None) -> str:
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
            paths = list(self._paths)[:_LOOKED_AT]
            looked_at = {path: self._paths.pop(path, None) for path in paths if path in self._paths}
            # In turn, so that the work is the same for any number of claims.
            self._paths.update(looked_at)
            # Decided while nobody can claim a path: a moment later its holder may have gone because another has taken it over.
            abandoned = [path for path, holder in looked_at.items() if holder is not None and holder() is None]
        for path in abandoned:
            delete(path)

    def _begin_to_beat(self) -> bool:
        """Start the heartbeat; False where there is no room for it, until the next path is claimed."""
        if not has_room_for_thread():
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
